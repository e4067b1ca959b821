"""The writer of pages that reproduce, check and demo share; tests/reproduce/test_page.py has its tables and figures."""

import pytest

from swirl.workflows.html import Drawing, Markup, Section, Text, page


def test_contents_lead_to_the_sections_in_order():
    sections = [Section("What & why", [Text("a")], short="Why <", name="why"), Section("Then", [Text("b", "lead")])]
    made = page("T", sections, lead=[Text("first")], footer="Made & done")
    assert '<a href="#why">Why &lt;</a><a href="#s1">Then</a>' in made
    order = ["<h1>T</h1>", "<p>first</p>", "<nav", 'id="why"', "<h2>What &amp; why</h2><p>a</p>", 'id="s1"']
    places = [made.index(words) for words in [*order, '<p class="lead">b</p>', "Made &amp; done"]]
    assert places == sorted(places)
    assert "<nav" not in page("T", sections, contents=False)


def test_contents_beside_the_page():
    made = page("T", [Section("A", [Markup("<hr>")])], brand=Markup("<b>swirl</b>"))
    assert '<nav id="contents" aria-label="Contents"><b>swirl</b><ol><li><a href="#s0">A</a></li></ol></nav>' in made
    assert made.count("<nav") == 1
    assert "<h2>A</h2><hr>" in made


def test_only_a_page_with_a_script_allows_scripts():
    assert "script" not in page("T", [])
    made = page("T", [], script="start()")
    assert "script-src 'unsafe-inline'" in made
    assert "<script>start()</script>" in made


def test_a_drawing_needs_its_picture():
    with pytest.raises(ValueError, match=r"expected the folder with curve\.png"):
        page("T", [Section("A", [Drawing("curve", "c", None, [])])])
