"""The examination as one HTML page: findings first, then what is there, lengths of sessions and where the time goes."""

from swirl._version import __version__
from swirl.workflows.check.findings import Finding, percent, place_words
from swirl.workflows.check.summary import Checkup
from swirl.workflows.html import STYLE, Markup, Section, Text, escaped, page

OWN_STYLE = """
:root { --fault: #c4314b; --warning: #b7791f; --note: #3b6fb6; } body { max-width: 54rem; }
.facts, .bars { width: 100%; } .facts th, .facts td { text-align: left; vertical-align: top; padding-left: 0; }
.facts td { white-space: normal; overflow-wrap: anywhere; } .facts th { font-weight: 600; }
.bars td, .bars th { border: 0; padding: .1rem .6rem .1rem 0; font-weight: 400; text-align: left; }
.bars th { max-width: 14rem; overflow: hidden; text-overflow: ellipsis; }
.bars td:nth-child(2) { width: 70%; } svg { display: block; width: 100%; height: .9rem; fill: var(--note); }
.finding { border-left: .3rem solid var(--level); padding: .1rem 0 .1rem 1rem; margin: 1.2rem 0; break-inside: avoid; }
.finding p { margin: .3rem 0; } .level { color: var(--level); font-weight: 700; } .verdict { font-size: 1.1rem; }
ul { font-size: .87rem; padding-left: 1.1rem; overflow-wrap: anywhere; }
"""


def to_html(found: Checkup, title: str, environment: str | None = None) -> str:
    """Return a `Checkup` as one self-contained page.

    >>> from swirl.workflows.check import examine
    >>> from swirl.data.trajectories import Trajectories
    >>> "<h1>Check of a &lt; b</h1>" in to_html(examine(Trajectories([[0, 1, 0]])), "Check of a < b")
    True
    """
    facts = [("environment", environment or "not given"), *found.facts()]
    rows = "\n".join(f"<tr><th>{escaped(name)}</th><td>{escaped(words)}</td></tr>" for name, words in facts)
    lengths = [
        (f"{x['from']:,}" + (f" to {x['to']:,}" if x["to"] > x["from"] else ""), x["sessions"], f"{x['sessions']:,}")
        for x in found.sessions["lengths"]["histogram"]
    ]
    top = [(x["name"], x["share"], percent(x["share"])) for x in found.states["top"]]
    more = found.states["visited"] - len(top)
    beyond = f", the first {len(top)}; {more:,} more were visited" if more > 0 else ""
    return page(
        title,
        [
            Section("What is there", [Markup(f'<table class="facts">\n{rows}\n</table>')]),
            Section("Lengths of sessions", [Text("Steps, and how many sessions have so many."), _bars(lengths)]),
            Section("Where the time goes", [Text(f"States by their share of the steps{beyond}."), _bars(top)]),
        ],
        lead=[Text(found.verdict, "verdict"), *map(_card, found.findings)],
        footer=f"Made by swirl {__version__}.",
        contents=False,
        style=STYLE + OWN_STYLE,
    )


def _card(finding: Finding) -> Markup:
    places = "".join(f"<li>{escaped(place_words(place))}</li>" for place in finding.places)
    return Markup(
        f'<div class="finding" style="--level: var(--{finding.level})">'
        f'<p><span class="level">{finding.level}</span> {escaped(finding.says)}</p>'
        f"{f'<ul>{places}</ul>' if places else ''}<p>→ {escaped(finding.do)}</p></div>"
    )


def _bars(bars: list[tuple[str, int | float, str]]) -> Markup:
    """Bars with a name before and a number after; drawn between, so that text stays readable on a phone."""
    largest = max((size for _, size, _ in bars), default=1) or 1
    rows = "\n".join(
        f'<tr><th>{escaped(name)}</th><td><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{100 * size / largest:.2f}" height="10"/></svg></td><td>{escaped(words)}</td></tr>'
        for name, size, words in bars
    )
    return Markup(f'<table class="bars">\n{rows}\n</table>')
