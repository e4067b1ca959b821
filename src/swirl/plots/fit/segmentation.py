"""When a mode is on: sessions cut into modes, how common each is as time goes on, and how long bouts last."""

from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter

from swirl.analysis.decoded import DecodedFit
from swirl.analysis.predictive_checks import simulated_like
from swirl.analysis.state_summaries import DoesNotApply
from swirl.data.segments import bouts_of, find_segments
from swirl.estimators.base import quietly
from swirl.io.export_tables import segments_frame
from swirl.plots.durations import bout_durations
from swirl.plots.fit.panels import Drawn, colours, long_table
from swirl.plots.segments import mode_prevalence, mode_raster, padded, prevalence, segmentation_strip
from swirl.plots.style import printed

MAX_STEPS = 2_000  # of a session in the segmentation strip
MAX_SESSIONS = 4  # in the segmentation strips
MAX_COLUMNS = 3_000  # steps drawn in a raster: beyond that every second, third, … is
SIMULATED = 20_000  # steps from which the model's bout lengths are read, at least


def segmentation(fit: DecodedFit) -> Drawn:
    """Draw modes and their probabilities over the first sessions."""
    import pandas as pd

    fit.several_modes()
    n = min(MAX_SESSIONS, len(fit.data))
    truth = fit.data.modes
    height = 1.15 + (0.22 if truth is not None else 0.0)
    figure = printed(6.6, 0.35 + height * n)
    tables = []
    for session, ax in enumerate(figure.subplots(n, 1, squeeze=False)[:, 0]):
        length = len(fit.modes[session])
        part = slice(0, MAX_STEPS)
        strips = {"modes": fit.modes[session][part]}
        if truth is not None:
            strips = {"truth": np.asarray(truth[session])[part], **strips}
        share = fit.posterior[session][part]
        cut = f", first {MAX_STEPS:,} of {length:,} steps" if length > MAX_STEPS else ""
        segmentation_strip(
            strips, mode_names=fit.mode_names, colours=colours(fit), posterior=share, ax=ax,
            title=f"session {fit.data.names[session]}{cut}", xlabel="step" if session == n - 1 else "",
        )  # fmt: skip
        if session and (legend := ax.get_legend()) is not None:
            legend.remove()
        columns = {
            "session": fit.data.names[session],
            "step": np.arange(len(share)),
            "mode": fit.names(strips["modes"]),
        }
        tables.append(pd.DataFrame(columns | {f"p_{name}": p for name, p in zip(fit.mode_names, share.T, strict=True)}))
    return figure, pd.concat(tables, ignore_index=True)


def raster(fit: DecodedFit) -> Drawn:
    """Draw the modes of all sessions."""
    fit.several_modes()
    rows, every = _thinned(fit.modes)
    figure = printed(6.0, float(np.clip(1.1 + 0.05 * len(rows), 1.7, 5.0)))
    ax = mode_raster(rows, mode_names=fit.mode_names, colours=colours(fit), ax=figure.add_subplot())
    _stretch(ax, every)
    return figure, segments_frame(fit.data, fit.modes, fit.mode_names)


def mode_shares(fit: DecodedFit) -> Drawn:
    """Draw how common each mode is as a session goes on."""
    fit.several_modes()
    rows, every = _thinned(fit.modes)
    window = max(1, max(map(len, rows)) // 30)
    figure = printed(6.0, 2.3)
    ax = mode_prevalence(rows, window=window, mode_names=fit.mode_names, colours=colours(fit), ax=figure.add_subplot())
    _stretch(ax, every)
    mean, error = prevalence(padded(rows), fit.n_modes, window)
    words = {"mode": fit.mode_names, "step": np.arange(mean.shape[1]) * every}
    table = long_table(words, {"share": mean, "standard_error": error}, np.isfinite(mean.ravel()))
    return figure, table.assign(window_steps=window * every)


def durations(fit: DecodedFit) -> Drawn:
    """Draw how long bouts last, beside those of sessions like the real ones that the model simulates."""
    import pandas as pd

    fit.several_modes()
    if not any(own.longest for own in fit.bouts):
        raise DoesNotApply("the start of no bout was seen")
    enough = int(np.argmax(np.append(np.cumsum(fit.data.lengths) >= SIMULATED, True)))
    like = fit.data[: enough + 1]
    paths, gaps = [], []
    for seed in range(-(-SIMULATED // int(like.lengths.sum()))):
        made = simulated_like(fit.model, like, seed)
        with quietly():  # a simulation may go where the animals were not seen
            paths += fit.model.predict(made)
        gaps += like.gaps
    simulated = bouts_of(find_segments(paths, gaps), fit.n_modes)
    figure = printed(4.2, 2.7)
    bout_durations(
        fit.bouts, expected=simulated, expected_label="simulated by the model", mode_names=fit.mode_names,
        colours=colours(fit), ax=figure.add_subplot(),
    )  # fmt: skip
    tables = []
    for source, bouts in (("data", fit.bouts), ("model", simulated)):
        for name, own in zip(fit.mode_names, bouts, strict=True):
            length, share = own.survival()
            at_least, first = np.unique(length, return_index=True)
            known = {"of": source, "mode": name, "at_least": at_least, "share": share[first]}
            tables.append(pd.DataFrame(known | {"bouts": len(own.length), "cut": len(own.cut)}))
    return figure, pd.concat(tables, ignore_index=True)


def _thinned(modes: list[np.ndarray]) -> tuple[list[np.ndarray], int]:
    """Sessions with every n-th step, so that a raster has no more columns than can be seen."""
    every = -(-max(map(len, modes)) // MAX_COLUMNS)
    return [path[::every] for path in modes], every


def _stretch(ax: Any, every: int) -> None:
    """Number the steps of a thinned raster as they were."""
    if every > 1:
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x * every:,.0f}"))
