"""One writer of pages: sections of blocks become one HTML file that opens offline and asks for nothing.

A block is text, a table, a figure with the numbers it draws, or what a page has to itself (`Markup`).
"""

import base64
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from swirl.text import cell, minus

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 66rem; margin: 2.5rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; line-height: 1.25; overflow-wrap: anywhere; } h2 { font-size: 1.25rem; margin-top: 2.6rem; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; } .table { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .93rem; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #8884; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } th.words, td.words { text-align: left; white-space: normal; }
td.words { min-width: 14rem; }
figure { margin: 1.8rem 0; } img { max-width: 100%; background: white; padding: .5rem; border-radius: 6px;
box-sizing: border-box; } figcaption, .small, caption { font-size: .87rem; opacity: .85; text-align: left; }
caption { padding-bottom: .4rem; }
"""


@dataclass(frozen=True)
class Text:
    """A paragraph; `**bold**` is the only mark-up. `kind` is a class of the page's style."""

    words: str
    kind: str = ""


@dataclass(frozen=True)
class Numbers:
    """A table: rows with the same keys; floats are shown with `decimals`."""

    name: str
    caption: str
    rows: list[dict[str, Any]]
    decimals: int = 4


@dataclass(frozen=True)
class Drawing:
    """A figure, and the tidy rows that hold every number it draws."""

    name: str
    caption: str
    figure: Any
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class Markup:
    """HTML as it stands: whatever came from outside must be `escaped` in it."""

    html: str


Block = Text | Numbers | Drawing | Markup


@dataclass(frozen=True)
class Section:
    """A heading and its blocks; the contents name it by `short` and lead to `name`, where these are given."""

    title: str
    blocks: Sequence[Block]
    short: str = ""
    name: str = ""


@dataclass(frozen=True)
class Prose:
    """The words of a page, in a file beside its code: paragraphs by name, filled with values.

    In the file each paragraph stands under a heading `## name`; its lines are joined. `{value:.2f}` or `{row[key]}` are
    filled as by `str.format`, and negative numbers get a minus sign. A block's caption goes by the block's name.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "text.md"
    ...     _ = file.write_text("## gain\\nIt gains\\n{gain:.2f} nats.\\n")
    ...     Prose(file)("gain", gain=-0.5)
    'It gains −0.50 nats.'
    """

    file: Path

    @cached_property
    def paragraphs(self) -> dict[str, str]:
        """The paragraphs as they stand in the file, read when the first is asked for."""
        _, *parts = re.split(r"^## (.+)$", self.file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        names = [name.strip() for name in parts[::2]]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{self.file}: paragraphs named twice: {', '.join(twice)}")
        return {n: re.sub(r"\s*\n\s*", " ", words.strip()) for n, words in zip(names, parts[1::2], strict=True)}

    def __call__(self, name: str, /, **values: Any) -> str:
        """Return a paragraph, filled."""
        if name not in self.paragraphs:
            raise ValueError(f"{self.file}: no paragraph {name!r}; there are {', '.join(self.paragraphs)}")
        try:
            return minus(self.paragraphs[name].format(**values))
        except (KeyError, IndexError) as error:
            raise ValueError(f"{self.file}: paragraph {name!r} asks for {error}, got {', '.join(values)}") from error

    def text(self, name: str, kind: str = "", /, **values: Any) -> Text:
        """Return a paragraph as a block; `kind` is that of `Text`."""
        return Text(self(name, **values), kind)

    def numbers(self, name: str, rows: list[dict[str, Any]], decimals: int = 4, /, **values: Any) -> Numbers:
        """Return a table whose caption is the paragraph of its name."""
        return Numbers(name, self(name, **values), rows, decimals)

    def drawing(self, name: str, figure: Any, rows: list[dict[str, Any]], /, **values: Any) -> Drawing:
        """Return a figure whose caption is the paragraph of its name."""
        return Drawing(name, self(name, **values), figure, rows)


def tidy_rows(
    axes: Mapping[str, Iterable[Any]], values: Mapping[str, Any], where: Any = None, **same: Any
) -> list[dict[str, Any]]:
    """Arrays as rows: one for each cell, with its place along the axes and what each array has there.

    Parameters
    ----------
    axes
        Names of the axes, and what stands along them.
    values
        Columns and their arrays, which have these axes.
    where
        Which cells, as an array of truth; all of them by default.
    same
        Columns that are the same in every row; they come first.

    Examples
    --------
    >>> tidy_rows({"mode": ["water", "home"], "state": [0]}, {"reward": [[1.5], [2.0]]}, model="S-2")[1]
    {'model': 'S-2', 'mode': 'home', 'state': 0, 'reward': 2.0}
    """
    labels, arrays = [list(along) for along in axes.values()], {k: np.asarray(v) for k, v in values.items()}
    shape = tuple(map(len, labels))
    cells = np.argwhere(np.ones(shape, bool) if where is None else where)
    return [
        {
            **same,
            **{axis: along[i] for axis, along, i in zip(axes, labels, at, strict=True)},
            **{name: array[tuple(at)].item() for name, array in arrays.items()},
        }
        for at in cells
    ]


def page(
    title: str,
    sections: Sequence[Section],
    *,
    lead: Sequence[Block] = (),
    footer: str = "",
    contents: bool = True,
    brand: Markup | None = None,
    style: str = STYLE,
    script: str = "",
    pictures: Path | None = None,
) -> str:
    """Return a page as HTML.

    Parameters
    ----------
    title, lead, sections, footer
        From top to bottom.
    contents
        Whether links to the sections stand under the lead.
    brand
        Stands over the contents, which are then a list beside the page, as the style of the report has it.
    style, script
        Of the whole page.
    pictures
        Folder with a PNG of each drawing, by its name.

    Examples
    --------
    >>> made = page("Rise & fall", [Section("Scores", [Text("It **rose**.")])])
    >>> "<h1>Rise &amp; fall</h1>" in made, '<h2>Scores</h2><p>It <strong>rose</strong>.</p>' in made
    (True, True)
    """
    names = [section.name or f"s{i}" for i, section in enumerate(sections)]
    links = [f'<a href="#{n}">{escaped(s.short or s.title)}</a>' for n, s in zip(names, sections, strict=True)]
    beside = under = ""
    if brand is not None:
        items = "".join(f"<li>{link}</li>" for link in links)
        beside = f'<nav id="contents" aria-label="Contents">{brand.html}<ol>{items}</ol></nav>\n'
    elif contents:
        under = f'<nav aria-label="Contents">{"".join(links)}</nav>'
    body = "".join(
        f'<section id="{name}" aria-label="{escaped(section.title)}"><h2>{escaped(section.title)}</h2>'
        f"{''.join(_html(block, pictures) for block in section.blocks)}</section>\n"
        for name, section in zip(names, sections, strict=True)
    )
    allowed = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    allowed += "; script-src 'unsafe-inline'" if script else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{allowed}">
<meta name="color-scheme" content="light dark"><title>{escaped(title)}</title>
{f"<script>{script}</script>" if script else ""}<style>{style}</style></head><body>
{beside}<main><header><h1>{escaped(title)}</h1></header>
{"".join(_html(block, pictures) for block in lead)}{under}
{body}{f'<p class="small">{escaped(footer)}</p>' if footer else ""}
</main></body></html>
"""


def escaped(words: str) -> str:
    """Words as HTML, also inside an attribute.

    >>> escaped('"a" < b')
    '&quot;a&quot; &lt; b'
    """
    return html.escape(words)


def embedded(png: bytes) -> str:
    """A picture as an address that holds all of it.

    >>> embedded(b"PNG")
    'data:image/png;base64,UE5H'
    """
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def _html(block: Block, pictures: Path | None) -> str:
    if isinstance(block, Markup):
        return block.html
    if isinstance(block, Text):
        kind = f' class="{block.kind}"' if block.kind else ""
        parts = escaped(block.words).split("**")
        words = "".join(f"<strong>{part}</strong>" if i % 2 else part for i, part in enumerate(parts))
        return f"<p{kind}>{words}</p>"
    caption = escaped(block.caption)
    if isinstance(block, Drawing):
        if pictures is None:
            raise ValueError(f"pictures=None: expected the folder with {block.name}.png, which this page draws")
        address = embedded((pictures / f"{block.name}.png").read_bytes())
        note = f"{caption} Numbers: <code>tables/{block.name}.csv</code>."
        return f'<figure><img alt="{caption}" src="{address}"><figcaption>{note}</figcaption></figure>'
    names = list(block.rows[0]) if block.rows else []
    # A column with a long text reads from the left, its heading too.
    wordy = {name for name in names if any(isinstance(r[name], str) and len(r[name]) > 24 for r in block.rows)}
    kinds = {name: ' class="words"' if name in wordy else "" for name in names}
    head = "".join(f"<th{kinds[name]}>{escaped(name)}</th>" for name in names)
    rows = ""
    for row in block.rows:
        cells = (f"<td{kinds[name]}>{escaped(cell(row[name], block.decimals))}</td>" for name in names)
        rows += f"<tr>{''.join(cells)}</tr>"
    return f'<div class="table"><table><caption>{caption}</caption><tr>{head}</tr>{rows}</table></div>'
