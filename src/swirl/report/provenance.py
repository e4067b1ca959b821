"""Where a report comes from: versions, seed, data, command and configuration."""

import json
from importlib.metadata import version
from typing import Any

from swirl.archive import versions_of
from swirl.report.case import Case


def provenance(case: Case, data: dict[str, Any], run: dict[str, Any] | None) -> dict[str, Any]:
    """Rows of (what, value) for a table, and the configuration as JSON text.

    >>> import swirl
    >>> from swirl.report.case import read_case
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> about = provenance(read_case(world.true_model(), world.trajectories), {"fingerprint": "ab"}, {"seconds": 3.2})
    >>> [row for row in about["rows"] if row[0] in ("data (SHA-256)", "seconds")]
    [('data (SHA-256)', 'ab'), ('seconds', '3.2')]
    """
    model = case.model
    rows = [("model", repr(model)), ("data (SHA-256)", data["fingerprint"])]
    trained = getattr(model, "data_fingerprint_", None)
    if trained is not None and not data.get("same_as_training"):
        rows.append(("fitted to (SHA-256)", trained))
    if getattr(model, "fit_report_", None) is not None and hasattr(model, "random_state"):
        rows.append(("seed", str(model.random_state)))
    run = dict(run or {})
    config = run.pop("config", None)
    rows += [(str(name), _text(value)) for name, value in run.items() if value is not None]
    rows.append(("fitted with", _listed(versions_of(model))))
    rows.append(("page made with", _listed({name: version(name) for name in ("swirl-irl", "plotly", "jinja2")})))
    return {"rows": rows, "config": None if config is None else _text(config, indent=2)}


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def _text(value: Any, indent: int | None = None) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return " ".join(value)  # a command
    return json.dumps(value, indent=indent, default=str, ensure_ascii=False)
