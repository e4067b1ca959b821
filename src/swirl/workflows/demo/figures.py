"""The demonstration's figures, laid out as in the paper's Figure 2; each once more, narrow, for a telephone.

They are as wide as figures are printed, and the narrow ones as a single column, at 300 dots to the inch.
"""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

from swirl import plots
from swirl.analysis import metrics
from swirl.datasets import HOME, SIDE, WATER, Dataset
from swirl.estimators.swirl import SWIRL
from swirl.inference.mode_matching import confusion
from swirl.plots.style import COLUMNS, TICK_SIZE, printed

GRID = (SIDE, SIDE)
MARKS = {"home": HOME, "water": WATER}
NARROW = COLUMNS[0] / 25.4  # inches: on a telephone letters then are nearly as large as those of the page
DPI = 300


@dataclass(frozen=True)
class Picture:
    """A figure as the page shows it: its file, the same drawn narrow (PNG), and its width in inches."""

    file: Path
    narrow: bytes
    width: float


def matched_modes(model: SWIRL, test: Any, n_true: int = 2) -> np.ndarray:
    """For each true mode, the fitted mode that shares most steps with it, over all test sessions."""
    together = np.asarray(confusion(test.modes, model.predict(test), n_true, len(model.initial_modes_)))
    rows, columns = linear_sum_assignment(-together)
    partner = np.argmax(together, axis=1)
    partner[rows] = columns
    return partner


def measures(model: Any, test: Any, true_rewards: np.ndarray, table: np.ndarray | None = None) -> dict[str, float]:
    """What a fit is measured by where the truth is known; `table` is its reward, where it is not the fitted one."""
    table = model.reward_table() if table is None else table
    return {
        "test_log_likelihood": float(model.score(test)),
        "accuracy": float(metrics.segmentation_accuracy(test.modes, model.predict(test))),
        "reward_canonical": float(metrics.reward_correlation(true_rewards, table, env=model.env)),
        "reward_paper": float(metrics.reward_correlation(true_rewards, table, "paper", env=model.env)),
    }


def write_figures(
    folder: Path,
    data: Dataset,
    test: Any,
    canonical_truth: np.ndarray,
    truth_row: dict[str, Any],
    fits: dict[str, SWIRL],
) -> dict[str, Picture]:
    """Draw everything into `folder`; return the pictures by name."""
    truth = data.truth
    if truth is None:
        raise ValueError("data: expected a dataset whose truth is known")
    s2 = fits["S-2"]
    order = matched_modes(s2, test)
    tables = {"true": truth.rewards, "true, least norm": canonical_truth, "S-2": s2.reward_table("canonical")[order]}
    names = list(truth.mode_names)
    paths, posterior = _decoded(test, fits)
    scores = _scores(test, truth.rewards, fits)
    drawn = {
        "rewards": tuple(
            plots.reward_panels(tables, GRID, mode_names=names, marks=MARKS, slim=slim) for slim in (False, True)
        ),
        "segments": tuple(
            _segments(test, truth.mode_names, paths, posterior, size) for size in ((7.0, 3.0), (NARROW, 3.8))
        ),
        "scores": (_boxes(scores, truth_row, (1, 3), (7.0, 2.5)), _boxes(scores, truth_row, (3, 1), (NARROW, 6.6))),
        "switching": tuple(_switching(s2, order, truth.mode_transitions, size) for size in ((4.7, 4.0), (NARROW, 3.1))),
    }
    return {name: _save(wide, narrow, folder / name) for name, (wide, narrow) in drawn.items()}


def _save(wide: Figure, narrow: Figure, path: Path) -> Picture:
    [file] = plots.save(wide, path, ("png",), overwrite=True, dpi=DPI)
    drawn = BytesIO()
    narrow.savefig(drawn, format="png", dpi=DPI, metadata={"Software": None}, facecolor="white")
    return Picture(file, drawn.getvalue(), float(wide.get_size_inches()[0]))


def _decoded(test: Any, fits: dict[str, SWIRL]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Modes of the first test session, true and inferred, and S-2's probability of each, by their true numbers."""
    session = test[0]
    paths = {"truth": np.asarray(session.modes[0])}
    for name, model in fits.items():
        if model.n_modes > 1:
            paths[name] = np.argsort(matched_modes(model, test))[model.predict(session)[0]]
    s2 = fits["S-2"]
    return paths, s2.predict_proba(session)[0][:, matched_modes(s2, test)]


def _segments(
    test: Any, names: tuple[str, ...], paths: dict[str, np.ndarray], posterior: np.ndarray, size: tuple[float, float]
) -> Figure:
    states = np.asarray(test.states[0])
    figure = printed(*size)
    plots.segmentation_strip(
        paths,
        ax=figure.add_subplot(),
        mode_names=list(names),
        events={"water visits": np.flatnonzero(states == WATER), "home visits": np.flatnonzero(states == HOME)},
        posterior=posterior,
        title="A test session",
    )
    return figure


def _scores(test: Any, true_rewards: np.ndarray, fits: dict[str, SWIRL]) -> dict[str, list[dict[str, float]]]:
    """What every restart of every model came to."""
    return {
        name: [measures(model.use_restart(index), test, true_rewards) for index in range(len(model.restarts_))]
        for name, model in fits.items()
    }


def _boxes(
    scores: dict[str, list[dict[str, float]]],
    truth_row: dict[str, Any],
    shape: tuple[int, int],
    size: tuple[float, float],
) -> Figure:
    labels = {
        "test_log_likelihood": "test log-likelihood (nats/step)",
        "accuracy": "segmentation accuracy",
        "reward_canonical": "reward correlation",
    }
    figure = printed(*size)
    for ax, (key, label) in zip(figure.subplots(*shape), labels.items(), strict=True):
        values = {name: [row[key] for row in rows] for name, rows in scores.items()}
        plots.score_boxes(values, ax=ax, reference=truth_row[key], reference_label="", label=label)
        # Over the line, at the left, where the simplest model is far below it: beside the axes it would take width.
        ax.annotate(
            "truth", (0.01, truth_row[key]), (0, 2), xycoords=("axes fraction", "data"), textcoords="offset points",
            va="bottom", fontsize=TICK_SIZE, color="#B84F00", annotation_clip=False,
        )  # fmt: skip
    return figure


def _switching(model: SWIRL, order: np.ndarray, true: np.ndarray, size: tuple[float, float]) -> Figure:
    recovered = model.mode_transitions_[:, order][:, :, order]
    figure = printed(*size)
    axes = figure.subplots(2, 2)
    for row, (label, table) in enumerate({"true": true, "S-2": recovered}.items()):
        for mode, name in enumerate(("water", "home")):
            plots.mode_transition_map(
                1 - table[:, mode, mode],
                GRID,
                ax=axes[row, mode],
                vmax=0.36 if mode == 0 else 0.15,
                marks=MARKS,
                title=f"{label}: leaving {name}",
            )
    return figure
