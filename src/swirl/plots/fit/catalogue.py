"""All figures of a fit, in memory or in a folder, each with the tidy table of the numbers that it draws."""

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from swirl.analysis.comparison_result import Comparison
from swirl.analysis.decoded import DecodedFit, decode
from swirl.analysis.state_summaries import DoesNotApply
from swirl.io.export_tables import write_table
from swirl.plots.fit import goals, policies, rewards, scores, segmentation, signals
from swirl.plots.style import save
from swirl.text import did_you_mean

FORMATS = ("pdf", "png", "svg")

# Name → what it shows, and the function that draws it; in this order they are drawn and listed.
FIGURES: dict[str, tuple[str, Callable[[DecodedFit], tuple[Figure, Any]]]] = {
    "rewards": (
        "Reward of each state in each mode: the one of least norm among those that explain the same behaviour. Each "
        "mode has a scale of its own. Beside it see `preferences`.",
        rewards.rewards,
    ),
    "rewards_by_previous": (
        "Reward of each state by the state before, of least norm. Grey: no such move, or nothing known of it.",
        rewards.rewards_by_previous,
    ),
    "rewards_by_action": (
        "Reward of each action in each state, r(h, a), in the fitted gauge.",
        rewards.rewards_by_action,
    ),
    "reward_at_one_place": (
        "Reward at the place where it depends most on the state before. Such differences depend on the gauge.",
        rewards.reward_at_one_place,
    ),
    "policies": ("Where each mode goes from each state.", policies.policies),
    "preferences": ("Log-odds of each move against the average of the modes, free of gauge.", policies.preferred_moves),
    "paths": ("What was done in each mode: moves, where bouts start and end, and single bouts.", policies.paths),
    "usage": ("Share of each mode's steps in each state.", policies.usage),
    "transitions": ("Probability of switching from mode to mode, by state.", policies.transitions),
    "goals": ("The goals of modes, each in the colour of its mode.", goals.goals),
    "time_to_goal": (
        "Steps from taking up a goal until it is reached, against the fewest possible: medians and quartiles of "
        "decoded pursuits, larger where there are more; on the line there is no shorter way.",
        goals.time_to_goals,
    ),
    "segmentation": (
        "Modes (most likely path) and their probabilities in the first sessions.",
        segmentation.segmentation,
    ),
    "raster": ("Modes of all sessions; its table lists the bouts.", segmentation.raster),
    "mode_shares": (
        "Share of each mode as a session goes on, over sessions, ±1.96 standard errors.",
        segmentation.mode_shares,
    ),
    "durations": (
        "Share of bouts that last at least so long (Kaplan–Meier); dashed: sessions that the model simulates, decoded.",
        segmentation.durations,
    ),
    "objective": ("Objective of every restart over EM iterations.", scores.objective),
    "restart_agreement": ("Adjusted Rand index between the modes of the best restarts.", scores.restarts),
    "signal_by_mode": (
        "Mean of the signal in each mode ± SEM over sessions, or subjects where several are known.",
        signals.signal_means,
    ),
    "signal_around_starts": (
        "Course of the signal around the start of each mode ± SEM; grey: circular shifts of the signal, 95 % at each "
        "lag; p: of the greatest departure over all lags, from shifted signals (a place alone can make it small), and "
        "from other visits to the same places (the mode can).",
        signals.signal_around_starts,
    ),
    "signal_and_reward": (
        "Correlation in each mode of the signal with the reward of an action (or of where it leads), within states; it "
        "depends on the gauge.",
        signals.signal_and_reward,
    ),
    "model_scores": (
        "Score of each compared model on the held-out sessions, to the best, with 95 % intervals; hollow: no modes.",
        scores.model_scores,
    ),
    "model_scores_by_modes": (
        "Score of each compared model on folds of the training sessions, by its number of modes.",
        scores.model_scores_by_modes,
    ),
}


@dataclass(frozen=True)
class Drawing:
    """A figure, what it shows, and the numbers that it draws."""

    name: str
    caption: str
    figure: Figure
    table: Any
    """A tidy pandas DataFrame."""


def draw(
    model: Any, data: Any, *, signal: str | None = None, mode_names: Sequence[str] | None = None,
    comparison: Comparison | None = None, only: Sequence[str] | None = None,
    signal_window: Any = None, signal_bin: float | None = None,
) -> tuple[dict[str, Drawing], dict[str, str]]:  # fmt: skip
    """Draw what a fit has something for; return the drawings, and why the others were left out.

    Parameters
    ----------
    model
        A fitted model.
    data
        `Trajectories`: the sessions it was fitted to, or others of the same environment.
    signal
        Name of one of `data.signals`, to be set beside the modes.
    mode_names
        One name per mode; by default those that the model was given.
    comparison
        What `swirl.compare` returned, for figures of the model beside others.
    only
        Names from `FIGURES`; by default all. One of these that does not apply is a fault.
    signal_window, signal_bin
        How far before and after the start of a mode the signal is drawn: by default (10, 20), in steps. With
        `signal_bin`, the width of a bin, it is drawn over time, and both are in the unit of the data's times.

    Examples
    --------
    >>> from swirl import MDP, Trajectories, make
    >>> data = Trajectories([[0, 1, 0, 0]], [[1, 1, 0]])
    >>> model = make("Markov-1", MDP.deterministic([[0, 1], [1, 0]]), strength=1.0).fit(data)
    >>> drawn, left_out = draw(model, data)
    >>> list(drawn), left_out["raster"]
    (['policies', 'paths', 'usage'], 'the model has one mode')
    """
    wanted = list(FIGURES) if only is None else _known(only)
    fit = decode(
        model, data, signal=signal, mode_names=mode_names, comparison=comparison, signal_window=signal_window,
        signal_bin=signal_bin,
    )  # fmt: skip
    drawn: dict[str, Drawing] = {}
    left_out: dict[str, str] = {}
    for name in wanted:
        caption, function = FIGURES[name]
        try:
            figure, table = function(fit)
        except DoesNotApply as reason:
            left_out[name] = str(reason)
            continue
        drawn[name] = Drawing(name, caption, figure, table)
    if only is not None and left_out:
        said = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ValueError(f"only: some figures do not apply to this fit ({said}); leave them out")
    return drawn, left_out


def write(
    folder: Any, model: Any, data: Any, *, signal: str | None = None, mode_names: Sequence[str] | None = None,
    comparison: Comparison | None = None, only: Sequence[str] | None = None,
    formats: Sequence[str] = ("pdf", "png"), overwrite: bool = False,
    signal_window: Any = None, signal_bin: float | None = None,
) -> tuple[dict[str, list[Path]], dict[str, str]]:  # fmt: skip
    """Write the figures of a fit and their tables (CSV) into a folder; return the files, and what was left out and why.

    Nothing appears in the folder before everything is drawn, and no file that is there is replaced unless told.

    Parameters
    ----------
    model, data, signal, mode_names, comparison, only, signal_window, signal_bin
        As for `draw`.
    folder
        Made where it is not there; the folder above must be.
    formats
        Some of pdf, png and svg.

    Examples
    --------
    >>> from swirl import MDP, Trajectories, make
    >>> data = Trajectories([[0, 1, 0, 0]], [[1, 1, 0]])
    >>> model = make("Markov-1", MDP.deterministic([[0, 1], [1, 0]]), strength=1.0).fit(data)
    >>> folder = tempfile.TemporaryDirectory()
    >>> files, _ = write(folder.name, model, data, only=["usage"], formats=["png"])
    >>> [file.name for file in files["usage"]]
    ['usage.png', 'usage.csv']
    >>> folder.cleanup()
    """
    folder = Path(folder)
    endings = check_target(folder, only, formats, overwrite)
    drawn, left_out = draw(
        model, data, signal=signal, mode_names=mode_names, comparison=comparison, only=only,
        signal_window=signal_window, signal_bin=signal_bin,
    )  # fmt: skip
    files: dict[str, list[Path]] = {}
    # Written beside and moved when all are there: a figure that fails leaves the folder as it was, or unmade.
    place = folder if folder.exists() else folder.parent
    with tempfile.TemporaryDirectory(prefix=f".writing-{folder.name}-", dir=place) as staging:
        for name, drawing in drawn.items():
            save(drawing.figure, Path(staging) / name, endings)
            write_table(drawing.table, Path(staging) / f"{name}.csv")
        folder.mkdir(exist_ok=True)
        for name in drawn:
            files[name] = [folder / f"{name}.{ending}" for ending in (*endings, "csv")]
            for file in files[name]:
                os.replace(Path(staging) / file.name, file)
    return files, left_out


def check_target(folder: Path, only: Sequence[str] | None, formats: Sequence[str], overwrite: bool) -> list[str]:
    """Refuse formats that are none, a folder that cannot be made, and files that are there; return the formats.

    >>> check_target(Path("."), ["rewards"], ["PDF", "pdf"], overwrite=True)
    ['pdf']
    """
    endings = list(dict.fromkeys(str(name).strip().lower().lstrip(".") for name in formats))
    unknown = [name for name in endings if name not in FORMATS]
    if unknown or not endings:
        raise ValueError(f"formats: got {', '.join(unknown) or 'none'}, expected some of {', '.join(FORMATS)}")
    wanted = list(FIGURES) if only is None else _known(only)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file: give a folder for the figures")
    if not folder.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {str(folder.parent)!r} does not exist: make it, or choose another")
    there = [folder / f"{name}.{ending}" for name in wanted for ending in (*endings, "csv")]
    there = [file for file in there if file.exists()]
    if there and not overwrite:
        more = f" (and {len(there) - 1} more)" if len(there) > 1 else ""
        raise FileExistsError(
            f"{there[0]} exists already{more}: choose another folder, or allow overwriting (--force, overwrite=True)"
        )
    return endings


def _known(only: Sequence[str]) -> list[str]:
    """The names in the order of `FIGURES`, or word of those that are none."""
    names = [name.strip() for name in ([only] if isinstance(only, str) else only)]
    unknown = [name for name in names if name not in FIGURES]
    if unknown:
        hint = did_you_mean(unknown[0], FIGURES, f"there are {', '.join(FIGURES)}")
        raise ValueError(f"only: no figure is called {', '.join(map(repr, unknown))}{hint}")
    return [name for name in FIGURES if name in names]
