"""A comparison as a JSON file: readable by people, by `swirl report` and by any other program."""

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from swirl.analysis.comparison_result import Comparison
from swirl.analysis.grid_search import Choice
from swirl.analysis.panel import Panel
from swirl.estimators.base import WORDS
from swirl.estimators.save_load import versions
from swirl.io.atomic_write import write_text
from swirl.text import plain

KIND = "swirl comparison"
SCHEMA_VERSION = 1


def write_comparison(
    path: Any,
    comparison: Comparison,
    *,
    run: dict[str, Any] | None = None,
    choice: dict[str, Any] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a comparison, and the run that it came from, as JSON; the fitted models stay out of it.

    `choice`: how its models were chosen, where they were (`ModelChoice.facts`).

    >>> import tempfile
    >>> scores = np.array([[-3.0, -5.0], [-4.0, -5.5]])
    >>> made = Comparison("action", 10, ("S-1", "Markov"), {}, scores, np.array([5, 5]), ("a", "b"), np.ones(2), {},
    ...     modes={"S-1": 2, "Markov": 1})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     str(read_comparison(write_comparison(f"{folder}/comparison.json", made))) == str(made)
    True
    """
    facts = {
        "kind": KIND,
        "schema_version": SCHEMA_VERSION,
        "verdict": comparison.verdict(),
        "scored": comparison.of,
        "unit": "nats, summed over the scored steps of a session",
        "models": {
            name: {
                "modes": comparison.n_modes(name),
                "label": comparison.label(name),
                "one_mode": comparison.one_mode.get(name),
                "converged": comparison.has_converged(name),
                "score_per_step": comparison.scores[name],
                "seconds": float(seconds),
                "chosen": plain(comparison.chosen.get(name, {}), other=str),
                "log_likelihoods": row.tolist(),
            }
            for name, row, seconds in zip(comparison.names, comparison.log_likelihoods, comparison.seconds, strict=True)
        },
        "test_sessions": {
            "name": list(comparison.sessions) or None,
            "subject": [None if subject is None else str(subject) for subject in comparison.subjects],
            "scored_steps": comparison.steps.tolist(),
        },
        "training_folds": {name: _folds(choice) for name, choice in comparison.choices.items()},
        "models_on_training_folds": None if comparison.on_folds is None else _folds(comparison.on_folds),
        "panel": None if comparison.panel is None else _panel_facts(comparison.panel),
        "about": comparison.about,
        "notes": list(comparison.notes),
        "remarks": comparison.remarks(),
        "versions": versions(),
        "choice": plain(choice, nan=False, other=repr),
        "run": run,
    }
    return write_text(path, json.dumps(facts, indent=1, ensure_ascii=False) + "\n", overwrite=overwrite)


def read_comparison(path: Any) -> Comparison:
    """Read what `write_comparison` wrote; it prints and draws as the comparison did, without the fitted models."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: give a file that `swirl compare` saved")
    facts: Any = None
    with contextlib.suppress(ValueError, RecursionError):  # of text that is no JSON, or no text
        facts = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(facts, dict) or facts.get("kind") != KIND:
        raise ValueError(f"{path} is not a comparison: give a JSON file that `swirl compare` saved")
    if facts.get("schema_version") != SCHEMA_VERSION:
        raise ValueError(
            f"{path} has schema version {facts.get('schema_version')!r}, this swirl reads {SCHEMA_VERSION}: install a "
            "newer one with pip install --upgrade swirl-irl"
        )
    try:
        return _comparison(facts)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise ValueError(f"{path} is a damaged comparison ({fault}): run swirl compare again") from None


def _comparison(facts: dict[str, Any]) -> Comparison:
    models, tested = facts["models"], facts["test_sessions"]
    steps = np.array(tested["scored_steps"], dtype=np.int64)
    scores = np.array([model["log_likelihoods"] for model in models.values()], dtype=float)
    if facts["scored"] not in WORDS or scores.shape != (len(models), len(steps)) or not models or steps.sum() < 1:
        raise ValueError(f"scores of shape {scores.shape} for {len(models)} models and {len(steps)} sessions")
    return Comparison(
        of=facts["scored"],
        n_scored=int(steps.sum()),
        names=tuple(models),
        models={},
        log_likelihoods=scores,
        steps=steps,
        subjects=tuple(tested["subject"]),
        seconds=np.array([model["seconds"] for model in models.values()], dtype=float),
        chosen={name: model["chosen"] for name, model in models.items() if model["chosen"]},
        choices={name: _choice(table) for name, table in facts["training_folds"].items()},
        sessions=tuple(tested["name"] or ()),
        modes={name: int(model["modes"]) for name, model in models.items()},
        on_folds=_choice(facts["models_on_training_folds"]) if facts.get("models_on_training_folds") else None,
        one_mode={name: model["one_mode"] for name, model in models.items() if model.get("one_mode")},
        labels={name: model["label"] for name, model in models.items() if model.get("label", name) != name},
        converged={name: bool(model.get("converged", True)) for name, model in models.items()},
        notes=tuple(facts.get("notes", ())),
        panel=_panel(facts["panel"], tuple(tested["subject"])) if facts.get("panel") else None,
        about=facts.get("about"),
    )


def _panel_facts(panel: Panel) -> dict[str, Any]:
    """Rows to read, and the sums of each session that they and their intervals are made of."""
    return {
        "scored": panel.of,
        "goals": {name: list(place) for name, place in panel.goals.items()},
        "models": {row["model"]: plain(row, nan=False) for row in panel.rows},
        "base_rates": panel.base_rates,
        "sums": {measure: rows.tolist() for measure, rows in panel.sums.items()},
        "steps": {measure: rows.tolist() for measure, rows in panel.steps.items()},
    }


def _panel(facts: dict[str, Any], subjects: tuple[Any, ...]) -> Panel:
    rows = facts["models"]
    sums = {measure: np.array(values, dtype=float) for measure, values in facts["sums"].items()}
    shape = (len(rows), len(subjects))
    if not rows or any(values.shape != shape for values in sums.values()):
        raise ValueError(f"a panel of {len(rows)} models and {len(subjects)} sessions with sums of another shape")
    of_modes = [*(f"f1_{goal}" for goal in facts["goals"]), *(["runs_ari"] if facts["goals"] else []), "same_twice"]
    return Panel(
        facts["scored"],
        tuple(rows),
        tuple(int(row["modes"]) for row in rows.values()),
        sums,
        {measure: np.array(facts["steps"][measure], dtype=np.int64) for measure in sums},
        {measure: float(rate) for measure, rate in facts["base_rates"].items()},
        {measure: np.array([row[measure] for row in rows.values()], dtype=float) for measure in of_modes},
        subjects,
        {goal: tuple(int(s) for s in place) for goal, place in facts["goals"].items()},
    )


def _folds(choice: Choice) -> dict[str, Any]:
    return {
        "candidates": plain(choice.candidates, other=repr),
        "score_per_step": choice.scores.tolist(),
        "log_likelihoods": choice.log_likelihoods.tolist() if choice.log_likelihoods is not None else None,
        "scored_steps": choice.steps.tolist() if choice.steps is not None else None,
        "subject": [None if subject is None else str(subject) for subject in choice.subjects],
        "by_repeat": choice.by_repeat.tolist() if choice.by_repeat is not None else None,
    }


def _choice(table: dict[str, Any]) -> Choice:
    """A choice as it was; files of older versions have only the scores of folds."""
    rows, steps, repeats = (table.get(name) for name in ("log_likelihoods", "scored_steps", "by_repeat"))
    return Choice(
        table["candidates"],
        np.array(table["score_per_step"], dtype=float),
        None if rows is None else np.array(rows, dtype=float),
        None if steps is None else np.array(steps, dtype=np.int64),
        tuple(table.get("subject", ())),
        None if repeats is None else np.array(repeats, dtype=float),
    )
