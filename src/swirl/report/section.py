"""What a section of the report is, and what every section is made from."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from swirl.analysis.decoded import DecodedFit
from swirl.analysis.intervals import Intervals

Found = TypeVar("Found")


@dataclass(frozen=True)
class Section:
    """One section of the page; its text is the template `assets/sections/<name>.html.j2`."""

    name: str
    """Also its address in the page."""
    heading: str
    values: dict[str, Any]
    """What its template fills in: `own` there."""
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Figures for plotly, by the names under which the template places them."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What the page's script reads: `R.facts` there."""


@dataclass(frozen=True)
class ReportedFit(DecodedFit):
    """A decoded fit, and what was asked of its report: all that a section is made from."""

    run: dict[str, Any] | None = None
    """Where the fit came from."""
    n_draws: int = 0
    """Simulated data sets for the predictive checks."""
    intervals: Intervals | None = None
    file: str = "fit.nc"
    """Where the fit is saved, as a command has it."""
    _found: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, find: Callable[["ReportedFit"], Found]) -> Found:
        """What a function finds in this fit, for sections that share it: it is called the first time only."""
        if find not in self._found:
            self._found[find] = find(self)
        return self._found[find]
