"""What an experiment has to show, and how it becomes a folder: figures, tidy tables, results.json and two pages.

An experiment is a list of sections, a section a list of blocks: text, a table, or a figure with the numbers it draws.
The same blocks make index.html (one file that opens offline) and results.md.
"""

import base64
import html
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swirl.plots import save
from swirl.text import cell, plain

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 66rem; margin: 2.5rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { font-size: 1.25rem; margin-top: 2.6rem; }
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
    """A paragraph; `**bold**` is the only mark-up."""

    words: str


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


Block = Text | Numbers | Drawing


@dataclass(frozen=True)
class Section:
    """A heading and its blocks."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Experiment:
    """Everything that one experiment has to show."""

    name: str
    title: str
    first: str
    """The first line of the results: what a reader should know before all else."""
    sections: Sequence[Section]
    about: dict[str, Any] = field(default_factory=dict)
    """Command, versions, seconds, numbers of scored steps."""

    @property
    def blocks(self) -> list[Block]:
        """All blocks in order."""
        return [block for section in self.sections for block in section.blocks]


def write(
    experiment: Experiment, folder: Path, *, formats: Sequence[str] = ("png", "svg", "pdf"), dpi: int = 200
) -> Path:
    """Write figures/, tables/, results.json, results.md and index.html into `folder`; return the page."""
    names = [block.name for block in experiment.blocks if not isinstance(block, Text)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or "png" not in formats:
        raise ValueError(f"blocks named twice: {twice}; formats: {list(formats)}, expected distinct names and a png")
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    for block in experiment.blocks:
        if isinstance(block, Drawing):
            save(block.figure, folder / "figures" / block.name, formats, overwrite=True, dpi=dpi)
        if not isinstance(block, Text):
            _write_csv(block.rows, folder / "tables" / f"{block.name}.csv")
    results = {
        "experiment": experiment.name,
        "first": experiment.first,
        "about": experiment.about,
        "tables": {block.name: block.rows for block in experiment.blocks if isinstance(block, Numbers)},
    }
    text = json.dumps(plain(results, nan=False), indent=1, default=str, allow_nan=False)
    (folder / "results.json").write_text(text, encoding="utf-8")
    (folder / "results.md").write_text(to_markdown(experiment), encoding="utf-8")
    page = folder / "index.html"
    page.write_text(to_html(experiment, folder), encoding="utf-8")
    return page


def _write_csv(rows: list[dict[str, Any]], path: Path) -> None:
    import pandas as pd

    pd.DataFrame(rows).to_csv(path, index=False)


def to_markdown(
    experiment: Experiment, *, figures: str = "figures", level: int = 1, most_rows: int | None = None
) -> str:
    """The experiment as Markdown.

    Parameters
    ----------
    figures
        Folder that its pictures are linked from.
    level
        Of its heading.
    most_rows
        Longer tables are only mentioned.
    """
    lines = [f"{'#' * level} {experiment.title}", "", f"**{experiment.first}**", ""]
    for section in experiment.sections:
        lines += [f"{'#' * (level + 1)} {section.title}", ""]
        for block in section.blocks:
            if isinstance(block, Text):
                lines += [block.words, ""]
            elif isinstance(block, Numbers):
                long = most_rows is not None and len(block.rows) > most_rows
                table = [f"({len(block.rows)} rows: tables/{block.name}.csv)"] if long else _markdown_table(block)
                lines += [*table, "", f"*{block.caption}*", ""]
            else:
                lines += [f"![{block.caption}]({figures}/{block.name}.png)", "", f"*{block.caption}*", ""]
    lines += [f"Made by: {_about(experiment)}", ""]
    return "\n".join(lines)


def _markdown_table(block: Numbers) -> list[str]:
    if not block.rows:
        return ["(no rows)"]
    names = list(block.rows[0])
    cells = [names, *([cell(row[name], block.decimals) for name in names] for row in block.rows)]
    lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in cells]
    return [lines[0], "|" + "|".join([":---"] + ["---:"] * (len(names) - 1)) + "|", *lines[1:]]


def to_html(experiment: Experiment, folder: Path) -> str:
    """The experiment as one page, with its pictures (figures/*.png under `folder`) inside."""
    links = "".join(f'<a href="#s{i}">{html.escape(s.title)}</a>' for i, s in enumerate(experiment.sections))
    body = ""
    for i, section in enumerate(experiment.sections):
        body += f'<h2 id="s{i}">{html.escape(section.title)}</h2>' + "".join(_html(b, folder) for b in section.blocks)
    return (
        _head(experiment.title)
        + f"<h1>{html.escape(experiment.title)}</h1><p><strong>{html.escape(experiment.first)}</strong></p>"
        f'<nav>{links}</nav>{body}<p class="small">Made by: {html.escape(_about(experiment))}</p></body></html>\n'
    )


def _html(block: Block, folder: Path) -> str:
    if isinstance(block, Text):
        return f"<p>{_bold(html.escape(block.words))}</p>"
    caption = html.escape(block.caption)
    if isinstance(block, Drawing):
        data = base64.b64encode((folder / "figures" / f"{block.name}.png").read_bytes()).decode("ascii")
        note = f"{caption} Numbers: <code>tables/{block.name}.csv</code>."
        return (
            f'<figure><img alt="{caption}" src="data:image/png;base64,{data}"><figcaption>{note}</figcaption></figure>'
        )
    names = list(block.rows[0]) if block.rows else []
    # A column with a long text reads from the left, its heading too.
    wordy = {name for name in names if any(isinstance(r[name], str) and len(r[name]) > 24 for r in block.rows)}
    kind = {name: ' class="words"' if name in wordy else "" for name in names}
    head = "".join(f"<th{kind[name]}>{html.escape(name)}</th>" for name in names)
    rows = ""
    for row in block.rows:
        cells = (f"<td{kind[name]}>{html.escape(cell(row[name], block.decimals))}</td>" for name in names)
        rows += f"<tr>{''.join(cells)}</tr>"
    return f'<div class="table"><table><caption>{caption}</caption><tr>{head}</tr>{rows}</table></div>'


def _bold(text: str) -> str:
    parts = text.split("**")
    return "".join(f"<strong>{part}</strong>" if i % 2 else part for i, part in enumerate(parts))


def _about(experiment: Experiment) -> str:
    return "; ".join(f"{name}: {value}" for name, value in experiment.about.items())


def write_contents(folder: Path, names: Sequence[str]) -> Path:
    """Write index.html into `folder`: the first line of each experiment that is there, and the way to its page."""
    parts = ""
    for name in names:
        results = folder / name / "results.json"
        if results.exists():
            first = json.loads(results.read_text(encoding="utf-8"))["first"]
            link = f'<a href="{html.escape(name)}/index.html">{html.escape(name)}</a>'
            parts += f"<h2>{link}</h2><p>{html.escape(first)}</p>"
    page = folder / "index.html"
    title = "The paper, reproduced"
    page.write_text(f"{_head(title)}<h1>{title}</h1>{parts}</body></html>\n", encoding="utf-8")
    return page


def _head(title: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>"
    )
