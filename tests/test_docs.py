"""The documentation is true as far as that can be told without building it.

Links lead somewhere, commands and their options exist, Python is Python, and the citation agrees with the package.
`make docs` runs every example.
"""

import importlib.util
import re
import shlex
import sys
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from swirl import __version__
from swirl.cli.app import app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXT = {page: page.read_text(encoding="utf-8") for page in PAGES}

FENCE = re.compile(
    r"^(?P<ticks>```+|:::+)(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=ticks)\s*$", flags=re.DOTALL | re.MULTILINE
)
LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
INLINE = re.compile(r"(?<!`)`(?P<code>swirl [^`]+)`(?!`)")
ENDS_COMMAND = {"&&", "||", "|", ";", ">", "<", "2>", ">>"}


def fences(page: Path) -> list[tuple[str, str]]:
    """(what stands behind the ticks, what stands inside) of each fence."""
    return [(found["info"].strip(), found["body"]) for found in FENCE.finditer(TEXT[page])]


def prose(page: Path) -> str:
    return FENCE.sub("", TEXT[page])


def anchor(heading: str) -> str:
    """The name of a heading in a link, as MyST makes it."""
    plain = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    """What a link may lead to: headings, and places with a name of their own."""
    named = set(re.findall(r"^\(([\w-]+)\)=$", TEXT[page], flags=re.MULTILINE))
    return named | {anchor(heading) for heading in re.findall(r"^#+ (.*)$", prose(page), flags=re.MULTILINE)}


def shell_lines(page: Path) -> list[str]:
    """Lines to be typed in a terminal: of sh fences, and of cells that begin with %%bash."""
    lines: list[str] = []
    for info, body in fences(page):
        if info == "sh" or (info.startswith("{code-cell}") and body.lstrip().startswith("%%bash")):
            lines += body.splitlines()
    return lines


def swirl_calls(line: str) -> list[list[str]]:
    """The arguments of each call of swirl in a line of shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = "#"
    calls: list[list[str]] = []
    current: list[str] | None = None
    begins = True
    for token in lexer:
        if token in ENDS_COMMAND:
            current, begins = None, True
        elif begins:
            current = [] if token == "swirl" else None
            begins = False
            if current is not None:
                calls.append(current)
        elif current is not None:
            current.append(token)
    return calls


def resolved(arguments: list[str]) -> tuple[object, object, list[str]]:
    """The command that arguments name, its context, and what is left for it."""
    command = get_command(app)
    context, rest = typer.Context(command, info_name="swirl"), list(arguments)
    while hasattr(command, "list_commands") and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        if name not in command.list_commands(context):
            raise ValueError(f"there is no command {name!r} in swirl {' '.join(arguments)}")
        command = command.get_command(context, name)
        context = typer.Context(command, info_name=name, parent=context)
    return command, context, rest


def check_call(arguments: list[str]) -> None:
    """Parse a whole call as the program would, without running it."""
    command, context, rest = resolved(arguments)
    if not {"--help", "--version"} & set(rest):
        command.make_context(context.info_name, rest, parent=context.parent)


def check_mention(arguments: list[str]) -> None:
    """A call in a sentence may lack arguments, but what it names must exist."""
    command, context, rest = resolved([x for x in arguments if x not in ("…", "COMMAND")])
    options = command.get_params(context)
    known = {name for option in options for name in (*option.opts, *option.secondary_opts)}
    unknown = [x for x in rest if re.match(r"--?[a-z]", x) and x.split("=")[0] not in known | {"-h"}]
    if unknown:
        raise ValueError(f"swirl {' '.join(arguments)}: there is no option {', '.join(unknown)}")


PRIVATE = re.compile(
    r"at your fingertips|earn (?:its|their) keep|up to a gauge\b(?!\]\()|the house is built|goes on where it was"
    r"|(?:starts?|begins?|fitted|drawn) anew|rewards? sees?\b|set(?:s|ting)? (?:\w+ ){1,3}beside|you are told"
    r"|is the fit the fit|give(?:s|n)? back (?:the )?(?:modes|truth)"
)
"""Words that readers stumbled over; what they were replaced by is plain English."""


def test_pages_and_help_are_in_plain_english():
    spec = importlib.util.spec_from_file_location("docs_command_line", DOCS / "extensions" / "command_line.py")
    program = importlib.util.module_from_spec(spec)  # tests have a module of that name as well
    spec.loader.exec_module(program)
    texts = {page.name: prose(page) for page in PAGES if page.name not in ("design.md", "results.md")}
    texts["README.md"] = (ROOT / "README.md").read_text(encoding="utf-8")
    texts |= {" ".join(path): program.described(path, *command) for path, *command in program.commands()}
    found = [f"{name}: {words}" for name, text in texts.items() for words in PRIVATE.findall(" ".join(text.split()))]
    assert found == []


def test_links_and_images_lead_somewhere():
    broken = []
    for page in PAGES:
        for target in LINK.findall(prose(page)):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, place = target.partition("#")
            other = (page.parent / file).resolve() if file else page
            if not other.exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
            elif place and other in TEXT and place not in anchors(other):
                broken.append(f"{page.relative_to(ROOT)}: {target} (no such heading)")
    assert broken == []


def test_what_the_code_rests_on_is_in_the_repository():
    places = anchors(ROOT / "docs" / "design.md")
    files = [path for part in ("src", "tests", "benchmarks", "studies", "docs") for path in (ROOT / part).rglob("*.py")]
    outside = re.compile(r"\b(?:DESIGN|STYLE\.md|ARCHITECTURE)\b")
    broken = []
    for path in {*files, *PAGES} - {Path(__file__)}:
        text = path.read_text(encoding="utf-8")
        broken += [f"{path.name}: {each}" for each in re.findall(r"design\.md#([\w-]+)", text) if each not in places]
        broken += [f"{path.name}: {each}" for each in outside.findall(text)]
    assert broken == []


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in PAGES:
        for info, body in fences(page):
            if info.startswith("{toctree}"):
                entries = [line.strip() for line in body.splitlines() if line.strip() and not line.startswith(":")]
                listed |= {(page.parent / f"{entry}.md").resolve() for entry in entries}
    assert {page for page in PAGES if page.resolve() not in listed} == {DOCS / "index.md"}
    assert [page for page in listed if not page.exists()] == []


def test_includes_are_there():
    for page in PAGES:
        for info, _ in fences(page):
            if found := re.match(r"\{(?:literal)?include\}\s*(\S+)", info):
                assert (page.parent / found[1]).is_file(), f"{page.name} includes {found[1]}"


def test_commands_and_their_options_exist():
    calls = [(page, call) for page in PAGES for line in shell_lines(page) for call in swirl_calls(line)]
    assert len(calls) > 20  # the pages are about commands: if none were found, the search is broken
    faults = []
    for page, call in calls:
        try:
            check_call(call)
        except Exception as fault:
            faults.append(f"{page.relative_to(ROOT)}: swirl {shlex.join(call)}: {fault or type(fault).__name__}")
    assert faults == []


def test_commands_in_sentences_exist():
    mentions = [(page, found["code"]) for page in PAGES for found in INLINE.finditer(prose(page))]
    assert len(mentions) > 20
    faults = []
    for page, code in mentions:
        for call in swirl_calls(code.split("|")[0]):
            try:
                check_mention(call)
            except ValueError as fault:
                faults.append(f"{page.relative_to(ROOT)}: {fault}")
    assert faults == []


@pytest.mark.parametrize(
    "line",
    [
        "swirl fitt x.csv",
        "swirl fit x.csv --mods 2",
        "swirl fit x.csv --modes two",
        "swirl import mosek x",
        "swirl apply",
    ],
)
def test_a_wrong_command_would_be_found(line):
    [call] = swirl_calls(f"cd here && {line} || echo no # swirl nonsense")
    with pytest.raises(Exception, match=r".+|^$"):
        check_call(call)


def test_python_that_is_not_run_compiles():
    for page in PAGES:
        for info, body in fences(page):
            if info == "python":
                compile(body, str(page), "exec")


def test_the_citation_agrees_with_the_package():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: CITATION.cff is not parsed")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert str(citation.get("version", __version__)) == __version__
    paper = citation["preferred-citation"]
    page = TEXT[DOCS / "cite.md"]
    assert paper["title"] in " ".join(page.replace(">", "").split())
    for author in paper["authors"]:
        assert f"{author['given-names']} {author['family-names']}" in page
        assert f"{author['family-names']}, {author['given-names']}" in page


def test_docstrings_are_escaped_for_the_reference():
    sys.path.insert(0, str(DOCS / "extensions"))
    try:
        from plain_docstrings import escape_lines
    finally:
        sys.path.pop(0)
    lines = ["rewards_ of P(s'|s), `initial_modes_`.", ">>> model.rewards_ | 1", "table::", "", "    a_|b"]
    escape_lines(None, "function", "f", None, None, lines)
    assert lines == ["rewards\\_ of P(s'\\|s), `initial_modes_`.", ">>> model.rewards_ | 1", "table::", "", "    a_|b"]
