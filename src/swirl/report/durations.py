"""Durations: how long a mode lasts, in the data and in what the model simulates."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from swirl.analysis.decoded import DecodedFit
from swirl.data.segments import Bouts
from swirl.estimators.base import quietly
from swirl.plots.style import named_mode_colours
from swirl.report.checks import check_facts
from swirl.report.figures import LEGEND, axis, figure, lines
from swirl.report.section import ReportedFit, Section
from swirl.text import counted, listed, number, rounded

MAX_POINTS = 400  # of a survival curve
DIFFERS = 1.25  # times longer or shorter: then decoded bouts and the model's clearly differ


def durations_section(fit: ReportedFit) -> Section | None:
    """A survival curve of the bouts of each mode; None for one mode."""
    checks = fit.once(check_facts)
    if fit.n_modes < 2:
        return None
    with quietly():  # the report says it in words
        lengths = [float(length) for length in fit.model.bout_lengths(fit.data)]
    bouts = bout_facts(fit, checks, lengths)
    drawn = bout_figures(fit, bouts)
    values = {
        "bouts": drawn,
        "n_draws": checks["n_draws"] if checks else 0,
        "model": model_sentence(fit.bouts, lengths, fit.mode_names),
    }
    return Section("durations", "Durations", values, {f"bouts-{mode}": one for mode, one in enumerate(drawn)})


def bout_facts(fit: DecodedFit, checks: dict[str, Any] | None, lengths: Sequence[float]) -> list[dict[str, Any]]:
    """Bouts of each mode in words and as survival curves, of the data and, where there are checks, of each simulation.

    `lengths`: the mean by the fitted switching.
    """
    return [
        {
            "words": bout_words(own, lengths[mode]),
            "real": _points(own),
            "simulated": [_points(bouts[mode]) for bouts in (checks["bouts"] if checks else [])],
        }
        for mode, own in enumerate(fit.bouts)
    ]


def bout_words(own: Bouts, model: float) -> str:
    """Say how long the bouts of a mode last, as decoded and by the fitted switching.

    >>> bout_words(Bouts(np.array([2, 4]), np.array([9, 3]), 3, 21), 6.83)
    '4 bouts, 2 of them cut: median 4 steps, mean 7 steps (2.75 to 32.8). By the fitted switching: mean 6.83 steps.'
    """
    n, cut = len(own.length) + len(own.cut), len(own.cut)
    told = counted(n, "bout") + (f", {cut} of them cut" if cut else "")
    means = [f"median {own.median_words}"] if own.median_words else []
    if own.exits:
        low, high = own.mean_interval()
        means.append(f"mean {own.mean_words} ({number(low)} to {number(high)})")
    elif own.at_risk:
        means.append(f"mean {own.mean_words}")
    told += f": {', '.join(means)}" if means else ""
    return f"{told}. By the fitted switching: mean {number(model)} steps." if np.isfinite(model) else f"{told}."


def model_sentence(bouts: Sequence[Bouts], lengths: Sequence[float], names: Sequence[str]) -> str:
    r"""Say where decoded bouts last clearly longer or shorter than the fitted switching has it, and why that can be.

    >>> many = Bouts(np.array([], int), np.array([], int), exits=100, at_risk=2000)
    >>> model_sentence([many, many], [13.7, 19.0], ["food", "nest"])[:97]
    'Decoded bouts last longer than the model says: food (mean 20 steps, 13.7 by the fitted switching)'
    >>> model_sentence([many], [18.0], ["food"])
    ''
    """
    told = {True: [], False: []}
    for own, length, name in zip(bouts, lengths, names, strict=True):
        if clearly_differ(own, length):
            longer = length < own.mean_interval()[0]
            told[longer].append(f"{name} (mean {own.mean_words}, {number(length)} by the fitted switching)")
    sentences = []
    if told[True]:
        sentences.append(
            f"Decoded bouts last longer than the model says: {listed(told[True])}. The model leaves a mode with the "
            "same probability however long it has lasted, so many of its bouts are short. Decoding drops short bouts."
        )
    if told[False]:
        sentences.append(
            f"Decoded bouts are shorter than the model says: {listed(told[False])}. These sessions switch more often "
            "than those that the switching was fitted to, or a prior keeps the model in its modes."
        )
    return " ".join(sentences)


def clearly_differ(own: Bouts, model: float) -> bool:
    """Whether the mean bout by the model is outside the 95 % interval of the decoded one and a quarter off.

    >>> many = Bouts(np.array([], int), np.array([], int), exits=100, at_risk=2000)
    >>> clearly_differ(many, 13.7), clearly_differ(many, 18.0)
    (True, False)
    >>> clearly_differ(Bouts(np.array([], int), np.array([], int), exits=2, at_risk=40), 13.7)  # so few say little
    False
    """
    low, high = own.mean_interval()
    outside = model < low or model > high
    return outside and not 1 / DIFFERS <= model / (own.mean if own.exits else low) <= DIFFERS


def _points(own: Bouts) -> dict[str, list[Any]]:
    """The curve of some bouts, at no more lengths than are seen."""
    length, share = own.survival()
    if len(length) > MAX_POINTS:
        kept = np.unique(np.append(np.geomspace(1, len(length), MAX_POINTS).astype(int) - 1, len(length) - 2))
        length, share = length[kept], share[kept]
    return {"length": length.tolist(), "share": rounded(share)}


def bout_figures(fit: DecodedFit, bouts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One small figure per mode: share of bouts that last at least so long, data dark, simulations pale."""
    curves = [curve for bout in bouts for curve in (bout["real"], *bout["simulated"])]
    longest = max([1, *(length for curve in curves for length in curve["length"][-1:])])
    reach, ticks = [0, float(np.log10(longest)) + 0.05], [1, 3, 10, 30, 100, 300, 1000, 3000, 10000]
    x = axis("bout of at least … steps", type="log", range=reach, tickangle=0, tickvals=ticks)
    y = axis("share of bouts", range=[0, 1.04], tickformat=".0%")
    figures = []
    for name, colour, bout in zip(fit.mode_names, named_mode_colours(fit.mode_names), bouts, strict=True):
        simulated = [curve for curve in bout["simulated"] if curve["length"]]
        traces = [_curve(curve, "simulated", colour, 1.2, 0.38, i == 0) for i, curve in enumerate(simulated)]
        traces.append(_curve(bout["real"], "data", colour, 3.0, 1.0, True))
        drawn = figure(traces, 260, x, y, showlegend=len(traces) > 1, legend=LEGEND)
        figures.append(drawn | {"title": name, "words": bout["words"]})
    return figures


def _curve(curve: dict[str, Any], name: str, colour: str, width: float, opacity: float, legend: bool) -> dict[str, Any]:
    return lines(
        name,
        curve["length"],
        curve["share"],
        legendgroup=name,
        showlegend=legend,
        line={"color": colour, "width": width, "shape": "vh"},
        opacity=opacity,
        hovertemplate="%{y:.0%} last %{x} steps or more<extra>" + name + "</extra>",
    )
