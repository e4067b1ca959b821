"""What an experiment has to show, and how it becomes a folder: figures, tidy tables, results.json and two pages.

An experiment is a list of sections, a section a list of blocks: text, a table, or a figure with the numbers it draws.
The same blocks make index.html (one file that opens offline) and results.md.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from swirl.io.atomic_write import whole_file, write_text
from swirl.plots import save
from swirl.plots.style import printed
from swirl.text import cell, plain
from swirl.workflows.html import Block, Drawing, Markup, Numbers, Section, Text, escaped, page

Rows = list[dict[str, Any]]


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


@dataclass(frozen=True)
class Published:
    """A figure that the paper or its authors' files report, and where it stands."""

    value: float
    source: str
    note: str = ""


# The parameters in the authors' repository (github.com/BRAINML-GT/SWIRL), scored by the same filter as ours on the same
# sessions: the paper prints most of its scores as figures only.
SCORED_BY_US = "the authors' parameters, scored by us"


def beside(
    quantity: str, ours: Any, published: Published | None = None, aim: Any = None, met: Any = None, said: str = ""
) -> dict[str, Any]:
    """A row of a table of our figures beside the published ones and the aims; `said` is its comment."""
    known = None if published is None else published.value
    return {"quantity": quantity, "ours": ours, "published": known, "aim": aim, "met": met, "comment": said}


def grouped(rows: Rows, *keys: str) -> dict[Any, Rows]:
    """Rows by what they have under a key, or under several, in the order of their first.

    >>> grouped([{"model": "S-2", "run": 0}, {"model": "S-1", "run": 0}, {"model": "S-2", "run": 1}], "model")["S-2"]
    [{'model': 'S-2', 'run': 0}, {'model': 'S-2', 'run': 1}]
    """
    found: dict[Any, Rows] = {}
    for row in rows:
        found.setdefault(row[keys[0]] if len(keys) == 1 else tuple(row[key] for key in keys), []).append(row)
    return found


def panels(n_columns: int, n_rows: int = 1, width: float = 3.2, height: float = 3.2) -> tuple[Figure, np.ndarray]:
    """Return a figure with panels of equal width and height, as wide as a column of print, and its axes, row by row."""
    figure = printed(width * n_columns, height * n_rows)
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def write(
    experiment: Experiment, folder: Path, *, formats: Sequence[str] = ("png", "svg", "pdf"), dpi: int = 300
) -> Path:
    """Write figures/, tables/, results.json, results.md and index.html into `folder`; return the page."""
    tables = [block for block in experiment.blocks if isinstance(block, Numbers | Drawing)]
    names = [block.name for block in tables]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or "png" not in formats:
        raise ValueError(f"blocks named twice: {twice}; formats: {list(formats)}, expected distinct names and a png")
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    for block in tables:
        if isinstance(block, Drawing):
            save(block.figure, folder / "figures" / block.name, formats, overwrite=True, dpi=dpi)
        _write_csv(block.rows, folder / "tables" / f"{block.name}.csv")
    results = {
        "experiment": experiment.name,
        "first": experiment.first,
        "about": experiment.about,
        "tables": {block.name: block.rows for block in tables if isinstance(block, Numbers)},
    }
    text = json.dumps(plain(results, nan=False), indent=1, default=str, allow_nan=False)
    write_text(folder / "results.json", text, overwrite=True)
    write_text(folder / "results.md", to_markdown(experiment), overwrite=True)
    made = page(
        experiment.title,
        experiment.sections,
        lead=[Text(f"**{experiment.first}**")],
        footer=f"Made by: {_about(experiment)}",
        pictures=folder / "figures",
    )
    return write_text(folder / "index.html", made, overwrite=True)


def _write_csv(rows: list[dict[str, Any]], path: Path) -> None:
    import pandas as pd

    with whole_file(path, overwrite=True) as temporary:
        pd.DataFrame(rows).to_csv(temporary, index=False)


def to_markdown(
    experiment: Experiment, *, figures: str = "figures", level: int = 1, max_rows: int | None = None
) -> str:
    """The experiment as Markdown.

    Parameters
    ----------
    figures
        Folder that its pictures are linked from.
    level
        Of its heading.
    max_rows
        Longer tables are only mentioned.
    """
    lines = [f"{'#' * level} {experiment.title}", "", f"**{experiment.first}**", ""]
    for section in experiment.sections:
        lines += [f"{'#' * (level + 1)} {section.title}", ""]
        for block in section.blocks:
            if isinstance(block, Text):
                lines += [block.words, ""]
            elif isinstance(block, Numbers):
                long = max_rows is not None and len(block.rows) > max_rows
                table = [f"({len(block.rows)} rows: tables/{block.name}.csv)"] if long else _markdown_table(block)
                lines += [*table, "", f"*{block.caption}*", ""]
            elif isinstance(block, Drawing):
                lines += [f"![{block.caption}]({figures}/{block.name}.png)", "", f"*{block.caption}*", ""]
    lines += [f"Made by: {_about(experiment)}", ""]
    return "\n".join(lines)


def _markdown_table(block: Numbers) -> list[str]:
    if not block.rows:
        return ["(no rows)"]
    names = list(block.rows[0])
    cells = [names, *([cell(row[name], block.decimals) for name in names] for row in block.rows)]
    lines = ["| " + " | ".join(words.replace("|", r"\|") for words in row) + " |" for row in cells]
    return [lines[0], "|" + "|".join([":---"] + ["---:"] * (len(names) - 1)) + "|", *lines[1:]]


def _about(experiment: Experiment) -> str:
    return "; ".join(f"{name}: {value}" for name, value in experiment.about.items())


def write_contents(folder: Path, names: Sequence[str]) -> Path:
    """Write index.html into `folder`: the first line of each experiment that is there, and the way to its page."""
    parts = []
    for name in names:
        results = folder / name / "results.json"
        if results.exists():
            first = json.loads(results.read_text(encoding="utf-8"))["first"]
            parts.append(Markup(f'<h2><a href="{escaped(name)}/index.html">{escaped(name)}</a></h2>'))
            parts.append(Text(first))
    made = page("The paper, reproduced", [], lead=parts, contents=False)
    return write_text(folder / "index.html", made, overwrite=True)
