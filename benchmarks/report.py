"""Tables for people and values for machines; timing helpers that every section shares."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Options:
    """What the command line chose."""

    quick: bool = False
    rival_iterations: int = 3


@dataclass(frozen=True)
class Table:
    """Rows under headings, with what must be said beside them."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        cells = [list(self.columns)] + [[_text(value) for value in row] for row in self.rows]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = [
            "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(pairs))
            for pairs in (list(zip(row, widths, strict=True)) for row in cells)
        ]
        lines.insert(1, "-" * len(lines[0]))
        return "\n".join([self.title, "", *lines, *(f"  {note}" for note in self.notes)])


@dataclass(frozen=True)
class Section:
    """What one section measured."""

    tables: Sequence[Table]
    values: dict[str, Any] = field(default_factory=dict)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def interleaved(functions: dict[str, Callable[[], Any]], *, repeats: int) -> dict[str, float]:
    """Least time of each function, in turns: what each needs when nothing disturbs it."""
    for function in functions.values():
        function()
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            times[name].append(once(function)[0])
    return {name: min(values) for name, values in times.items()}


def once(function: Callable[[], Any]) -> tuple[float, Any]:
    """Time one call, and its result."""
    began = time.perf_counter()
    result = function()
    return time.perf_counter() - began, result
