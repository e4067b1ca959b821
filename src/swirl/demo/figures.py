"""The demonstration's figures, laid out as in the paper's Figure 2."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

from swirl import metrics, plots
from swirl.alignment import confusion
from swirl.datasets import HOME, SIDE, WATER, Dataset
from swirl.model import SWIRL

GRID = (SIDE, SIDE)
MARKS = {"home": HOME, "water": WATER}


def matched_modes(model: SWIRL, test: Any, n_true: int = 2) -> np.ndarray:
    """For each true mode, the fitted mode that shares most steps with it, over all test sessions."""
    together = np.asarray(confusion(test.modes, model.predict(test), n_true, len(model.initial_modes_)))
    rows, columns = linear_sum_assignment(-together)
    partner = np.argmax(together, axis=1)
    partner[rows] = columns
    return partner


def write_figures(
    output: Path,
    data: Dataset,
    test: Any,
    canonical_truth: np.ndarray,
    truth_row: dict[str, Any],
    fits: dict[str, SWIRL],
) -> dict[str, str]:
    """Draw everything into `output`; return file name → caption."""
    truth = data.truth
    if truth is None:
        raise ValueError("data: expected a dataset whose truth is known")
    captions = {}
    s2 = fits["S-2"]
    order = matched_modes(s2, test)
    panels = plots.reward_panels(
        {"true": truth.rewards, "true, least norm": canonical_truth, "S-2": s2.reward_table("canonical")[order]},
        GRID,
        mode_names=list(truth.mode_names),
        marks=MARKS,
    )
    captions[_save(panels, output / "rewards")] = (
        "True and recovered rewards r(s_t, s_{t−1}), each map stretched over 0 to 1. Each cell is split by the "
        "previous location (key on the right); light grey: no such move. Rewards are known only up to a gauge: the "
        "second row is the least-norm reward with the same policy as the true one, which S-2 can be compared with."
    )
    strip = _segments(test, truth.mode_names, fits)
    captions[_save(strip, output / "segments")] = (
        "Modes of one test session: the truth and what each model infers (Viterbi), with visits to water and home; "
        "below, S-2's probability of each mode."
    )
    boxes = _boxes(test, truth.rewards, data, truth_row, fits)
    captions[_save(boxes, output / "scores")] = (
        "Every restart of every model (boxes: quartiles, whiskers 1.5 · IQR): held-out log-likelihood, segmentation "
        "accuracy and reward correlation (canonical gauge). Dashed: the truth's own score on the same sessions."
    )
    switching = _switching(s2, order, truth.mode_transitions)
    captions[_save(switching, output / "switching")] = (
        "Probability of leaving each mode at each location: true (top) and recovered by S-2 (bottom)."
    )
    return captions


def _save(figure: Figure, path: Path) -> str:
    plots.save(figure, path, overwrite=True, dpi=200)
    return f"{path.name}.png"


def _segments(test: Any, names: tuple[str, ...], fits: dict[str, SWIRL]) -> Figure:
    session = test[0]
    paths = {"truth": np.asarray(session.modes[0])}
    for name, model in fits.items():
        if model.n_modes == 1:
            continue
        rename = np.argsort(matched_modes(model, test))
        paths[name] = rename[model.predict(session)[0]]
    states = np.asarray(session.states[0])
    s2 = fits["S-2"]
    posterior = s2.predict_proba(session)[0][:, matched_modes(s2, test)]
    figure = Figure(figsize=(9.0, 3.4), dpi=150, layout="constrained")
    plots.segmentation_strip(
        paths,
        ax=figure.add_subplot(),
        mode_names=list(names),
        events={"water visits": np.flatnonzero(states == WATER), "home visits": np.flatnonzero(states == HOME)},
        posterior=posterior,
        title="A test session",
    )
    return figure


def _boxes(
    test: Any, true_rewards: np.ndarray, data: Dataset, truth_row: dict[str, Any], fits: dict[str, SWIRL]
) -> Figure:
    values: dict[str, dict[str, list[float]]] = {"test_log_likelihood": {}, "accuracy": {}, "reward_canonical": {}}
    for name, model in fits.items():
        for index in range(len(model.restarts_)):
            restart = model.use_restart(index)
            row = {
                "test_log_likelihood": restart.score(test),
                "accuracy": metrics.segmentation_accuracy(test.modes, restart.predict(test)),
                "reward_canonical": metrics.reward_correlation(true_rewards, restart.reward_table(), env=data.env),
            }
            for key, value in row.items():
                values[key].setdefault(name, []).append(float(value))
    labels = {
        "test_log_likelihood": "test log-likelihood (nats/step)",
        "accuracy": "segmentation accuracy",
        "reward_canonical": "reward correlation",
    }
    figure = Figure(figsize=(10.0, 3.0), dpi=150, layout="constrained")
    for ax, (key, per_model) in zip(figure.subplots(1, 3), values.items(), strict=True):
        plots.score_boxes(per_model, ax=ax, reference=truth_row[key], label=labels[key])
    return figure


def _switching(model: SWIRL, order: np.ndarray, true: np.ndarray) -> Figure:
    recovered = model.mode_transitions_[:, order][:, :, order]
    figure = Figure(figsize=(6.2, 5.0), dpi=150, layout="constrained")
    axes = figure.subplots(2, 2)
    for row, (label, table) in enumerate({"true": true, "S-2": recovered}.items()):
        for mode, name in enumerate(("water", "home")):
            plots.mode_transition_map(
                1 - table[:, mode, mode],
                GRID,
                ax=axes[row, mode],
                vmax=0.36 if mode == 0 else 0.15,
                marks=MARKS,
                title=f"{label}: leaving the {name} mode",
            )
    return figure
