"""The report itself: gather the facts, fill the page, write it whole or not at all."""

from functools import cache
from pathlib import Path
from typing import Any

from swirl.errors import needing, renamed
from swirl.io.atomic_write import check_target, write_text

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("core", "labels", "figures", "tables", "maps", "rewards", "goals", "switching", "session", "timeline")
SCRIPTS += ("replay", "print", "start")


@renamed(bootstrap="intervals")
def write(
    path: Any,
    model: Any,
    data: Any,
    *,
    comparison: Any = None,
    signal: str | None = None,
    signal_window: Any = None,
    signal_bin: float | None = None,
    title: str | None = None,
    run: dict[str, Any] | None = None,
    n_draws: int = 5,
    intervals: Any = None,
    fit_file: Any = None,
    overwrite: bool = False,
) -> Path:
    """Write a report on a fitted model as one HTML file and return its path; see `build` for the arguments.

    The file opens without a network and asks for nothing. An existing file is left alone unless `overwrite`.

    >>> import tempfile, swirl
    >>> data = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/report.html", data.true_model(), data.trajectories, n_draws=0).stat().st_size < 6e6
    True
    """
    path = Path(path)
    check_target(path, overwrite=overwrite)  # before the work
    page = build(
        model,
        data,
        comparison=comparison,
        signal=signal,
        signal_window=signal_window,
        signal_bin=signal_bin,
        title=title,
        run=run,
        n_draws=n_draws,
        intervals=intervals,
        fit_file=fit_file,
    )
    return write_text(path, page, overwrite=overwrite)


@renamed(bootstrap="intervals")
def build(
    model: Any,
    data: Any,
    *,
    comparison: Any = None,
    signal: str | None = None,
    signal_window: Any = None,
    signal_bin: float | None = None,
    title: str | None = None,
    run: dict[str, Any] | None = None,
    n_draws: int = 5,
    intervals: Any = None,
    fit_file: Any = None,
) -> str:
    """Make a report on a fitted model as one self-contained HTML page.

    Parameters
    ----------
    model
        Any fitted model of `swirl.models()`; sections that do not apply to it are left out.
    data
        `Trajectories` to report on: those it was fitted to, or others.
    comparison
        What `swirl.compare` returned, for a section on how the models did.
    signal
        Name of one of `data.signals`, for the timeline and a section on the signal by mode.
    signal_window, signal_bin
        How far before and after the start of a mode the signal is drawn: by default (10, 20), in steps. With
        `signal_bin`, the width of a bin, it is drawn over time, and both are in the unit of the data's times.
    title
        Heading of the page.
    run
        Where the fit came from, for the last section: such as config, command, data file, seconds.
    n_draws
        Simulated data sets for the predictive checks; 0 leaves them out.
    intervals
        What `swirl.uncertainty.information` or `swirl.uncertainty.bootstrap` returned; or ``"information"``, or a
        number of refits for a bootstrap (the data must then be those of the fit). None: the page says how to get them.
    fit_file
        Where the model is saved, for commands that the page proposes; None: they say fit.nc.

    Examples
    --------
    >>> import swirl
    >>> data = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> "<h2" in build(data.true_model(), data.trajectories, n_draws=0)
    True
    """
    environment = _templates()
    from swirl.report.formatting import to_json
    from swirl.report.page import contents

    if not isinstance(n_draws, int) or isinstance(n_draws, bool) or n_draws < 0:
        raise ValueError(f"n_draws={n_draws!r}: expected a whole number; 0 leaves the predictive checks out")
    page, facts = contents(
        model,
        data,
        comparison=comparison,
        signal=signal,
        signal_window=signal_window,
        signal_bin=signal_bin,
        title=title,
        run=run,
        n_draws=n_draws,
        intervals=intervals,
        fit_file=fit_file,
    )
    return environment.get_template("page.html.j2").render(
        **page,
        facts=to_json(facts),
        plotly=_plotly(),
        style=_asset("style.css"),
        script="\n".join(_asset(f"{name}.js") for name in SCRIPTS),
    )


def _templates() -> Any:
    with needing("the report needs plotly and jinja2", "report"):
        import jinja2
        import plotly.offline  # noqa: F401
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip


@cache
def _plotly() -> str:
    """plotly.js, packed: a third of its size, and none of the addresses in it can be mistaken for a request."""
    from plotly.offline import get_plotlyjs

    from swirl.report.formatting import squeezed

    return squeezed(get_plotlyjs())


@cache
def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
