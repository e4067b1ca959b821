"""Provenance: where a report comes from, versions, seed, data, command and configuration."""

import json
import re
from importlib.metadata import version
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from swirl.analysis.decoded import DecodedFit
from swirl.estimators.save_load import versions_of
from swirl.report.section import ReportedFit, Section
from swirl.report.summary import data_facts
from swirl.text import number

CALLED = {"data": "data file", "data_fingerprint": "data file (SHA-256)", "seconds": "fitted in"}


def provenance_section(fit: ReportedFit) -> Section:
    """A table of what is known, and the configuration."""
    return Section("provenance", "Provenance", provenance(fit, fit.once(data_facts), fit.run))


def provenance(fit: DecodedFit, data: dict[str, Any], run: dict[str, Any] | None) -> dict[str, Any]:
    """Rows of (what, value) for a table, and the configuration as JSON text.

    Of files only the names are told: a page is mailed, and folders are nobody's business.

    >>> import swirl
    >>> from swirl.analysis.decoded import decode
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> fit = decode(world.true_model(), world.trajectories)
    >>> about = provenance(fit, {"fingerprint": "ab"}, {"seconds": 3.2345})
    >>> [row for row in about["rows"] if row[0] in ("data (SHA-256)", "fitted in")]
    [('data (SHA-256)', 'ab'), ('fitted in', '3.2 s')]
    """
    model = fit.model
    rows = [("model", repr(model)), ("data (SHA-256)", data["fingerprint"])]
    trained = model.data_fingerprint_
    if trained is not None and not data.get("same_as_training"):
        rows.append(("fitted to (SHA-256)", trained))
    seed = (model.fitted_params if model.fitted_by_em else model.get_params()).get("random_state")
    if model.fit_report_ is not None and seed is not None:
        rows.append(("seed", str(seed)))
    run = dict(run or {})
    config = run.pop("config", None)
    if run.get("data_fingerprint") in (data["fingerprint"], trained):
        run.pop("data_fingerprint", None)  # told above
    if isinstance(run.get("seconds"), float | int):
        run["seconds"] = f"{number(float(run['seconds']), 2)} s"
    told = {name: _text(without_folders(value)) for name, value in run.items() if value is not None}
    rows += [(CALLED.get(str(name), str(name)), value) for name, value in told.items()]
    rows.append(("fitted with", _listed(versions_of(model))))
    rows.append(("page made with", _listed({name: version(name) for name in ("swirl-irl", "plotly", "jinja2")})))
    return {"rows": rows, "config": None if config is None else _text(without_folders(config), indent=2)}


def without_folders(value: Any) -> Any:
    r"""Absolute paths as the names of their files, in whatever they stand.

    >>> without_folders({"data": "/home/me/mice.csv", "out": ["swirl fit C:\\mice\\a.csv -o /tmp/x/fit.nc"]})
    {'data': 'mice.csv', 'out': ['swirl fit a.csv -o fit.nc']}
    """
    if isinstance(value, dict):
        return {name: without_folders(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_folders(item) for item in value]
    if isinstance(value, PurePosixPath | PureWindowsPath):
        return value.name
    if not isinstance(value, str):
        return value
    if PurePosixPath(value).is_absolute() and "\n" not in value:
        return PurePosixPath(value).name or value
    if PureWindowsPath(value).is_absolute() and PureWindowsPath(value).drive:
        return PureWindowsPath(value).name or value
    # Inside a command: from a slash (or drive) at the start of a word to the last one.
    return re.sub(r"""(?<![^\s='"])(?:/|[A-Za-z]:[\\/])(?:[^\s'"/\\]+[/\\])*(?=[^\s'"/\\])""", "", value)


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def _text(value: Any, indent: int | None = None) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return " ".join(value)  # a command
    return json.dumps(value, indent=indent, default=str, ensure_ascii=False)
