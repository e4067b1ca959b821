"""Signal by mode: a user's signal, its mean in each, and its course around the start of each."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from swirl.analysis.decoded import DecodedFit, clock
from swirl.analysis.mode_signal import signal_by_mode, signal_called
from swirl.analysis.significance import LEVEL
from swirl.analysis.triggered_average import SHIFTS, mode_triggered_average
from swirl.plots.style import named_mode_colours
from swirl.report.caveats import OtherSolution, other_solutions, unsettled
from swirl.report.figures import LEGEND, axis, figure, label, lines, points
from swirl.report.section import ReportedFit, Section
from swirl.text import counted, number, rounded


def signal_section(fit: ReportedFit) -> Section | None:
    """Its mean in each mode and around the onsets of each; None where no signal was asked for, or for one mode."""
    facts = fit.once(signal_facts)
    if facts is None:
        return None
    values = {
        "name": facts["name"],
        "over": facts["over"],
        "fitted": facts["name"] in fit.model.own_signals,
        "lags": _lag_words(fit, facts["clock"]),
        "tests": _test_rows(facts),
        "level": LEVEL,
        "weights": " Each step counts once, however long it lasted." if fit.durations is not None else "",
        "caveat": unsettled(fit),
        "elsewhere": elsewhere_words(facts, fit.mode_names, fit.once(other_solutions)),
    }
    figures = {"signal-mean": mean_figure(fit, facts), "signal-onset": onset_figure(fit, facts)}
    return Section("signal", "Signal by mode", values, figures)


def _test_rows(facts: dict[str, Any]) -> list[dict[str, str]]:
    """Both tests of each mode, and what they mean, as the page shows them."""
    rows = []
    for test, onsets in zip(facts["tests"], facts["onsets"], strict=True):
        p, places = (
            number(test[kind], 2) + (f" ({number(test[f'corrected_{kind}'], 2)})" if test[kind] is not None else "")
            for kind in ("p", "place_p")
        )
        of = f"{test['exchanged']:,} of {onsets:,}"
        rows.append({"p": p, "places": places, "exchanged": of, "meaning": test["meaning"]})
    return rows


def _lag_words(fit: DecodedFit, clock: str) -> str:
    """Say what lags are, where that is not plain."""
    if clock != "step":
        return " A step counts at the time when it began, and where its length is recorded also while it lasted."
    if fit.durations is not None and fit.data.times is not None:
        return " Steps last unequally long: for lags in time make the page again with --signal-bin WIDTH."
    return ""


def check_signal(fit: DecodedFit) -> None:
    """Refuse a signal that has several channels."""
    if fit.signal is None:
        return
    widest = max(np.asarray(part).reshape(len(part), -1).shape[1] for part in signal_called(fit.data, fit.signal))
    if widest > 1:
        raise ValueError(
            f"signal={fit.signal!r} has {widest} channels: the report draws one; put the one you mean into a signal of "
            "its own, Trajectories(..., signals={'name': [one array per session]})"
        )


def signal_facts(fit: DecodedFit) -> dict[str, Any] | None:
    """Mean and onset average of the signal in each mode, with standard errors over sessions (or subjects).

    None where no signal was asked for, or for one mode. Keys: name; over ("session" or "subject"); of each mode mean,
    sem, units (sessions or subjects with such steps) and steps; lags, and the clock that they are of; of each mode and
    lag course and spread; of each mode onsets, and tests: p-values against shifted signals and against other visits to
    the same places, alone and corrected for all modes, and what they mean.
    """
    if fit.signal is None or fit.n_modes < 2:
        return None
    means = signal_by_mode(fit.data, fit.modes, fit.signal, n_modes=fit.n_modes)
    around = fit.window
    average = mode_triggered_average(
        fit.data, fit.modes, fit.signal, before=around.before, after=around.after, bin=around.bin, n_modes=fit.n_modes,
        n_shifts=SHIFTS,
    )  # fmt: skip
    p_values = {"p": average.p_value, "corrected_p": average.corrected_p_value, "place_p": average.place_p_value}
    p_values["corrected_place_p"] = average.corrected_place_p_value
    columns = {name: rounded(values[:, 0]) for name, values in p_values.items()}
    columns["exchanged"] = average.n_exchanged.tolist()
    columns["meaning"] = [average.meaning(mode) for mode in average.modes]
    return {
        "name": fit.signal,
        "over": means.over,
        "mean": rounded(means.mean[:, 0]),
        "sem": rounded(means.sem[:, 0]),
        "units": means.n_units[:, 0].tolist(),
        "steps": means.n_steps[:, 0].tolist(),
        "lags": rounded(average.lags, 6) if average.seconds else average.lags.astype(int).tolist(),
        "clock": clock(fit.data.times if average.seconds else None),
        "course": rounded(average.mean[:, :, 0]),
        "spread": rounded(average.sem[:, :, 0]),
        "onsets": average.n_events.tolist(),
        "tests": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    }


def elsewhere_words(facts: dict[str, Any], mode_names: list[str], others: Sequence[OtherSolution]) -> str:
    """What the means are in another solution that is as good or near; first of all whether their order is reversed.

    Of several the best that reverses an order is told, else the best; nothing where there is none.
    """
    if not others:
        return ""
    here, found = np.array(facts["mean"], dtype=float), []  # None: NaN
    for other in others:
        means = signal_by_mode(other.fit.data, other.fit.modes, facts["name"], n_modes=len(mode_names))
        there = means.mean[:, 0]
        found.append((other, there, _turned(here, there, mode_names)))
    other, there, turned = next((one for one in found if one[2]), found[0])
    each = zip(mode_names, here, there, strict=True)
    means = ", ".join(f"{name} {number(theirs)} (here {number(mine)})" for name, mine, theirs in each)
    first = f"{other.words[0].upper()}{other.words[1:]} has {turned} in the opposite order. " if turned else ""
    return f"{first}In {other.words} with other modes, the means are {means}."


def _turned(here: np.ndarray, there: np.ndarray, names: list[str]) -> str:
    """Two modes whose means stand in the opposite order elsewhere: those that are furthest apart here."""
    apart, elsewhere = np.subtract.outer(here, here), np.subtract.outer(there, there)
    turned = np.where(apart * elsewhere < 0, np.abs(apart), 0.0)  # NaN is not turned
    i, j = np.unravel_index(int(turned.argmax()), turned.shape)
    return f"{names[i]} and {names[j]}" if turned[i, j] else ""


def mean_figure(fit: DecodedFit, facts: dict[str, Any]) -> dict[str, Any]:
    """Mean ± standard error of the signal in each mode."""
    name, half = label(facts["name"]), [value or 0 for value in facts["sem"]]
    counts = zip(facts["units"], facts["steps"], strict=True)
    means = points(
        name,
        fit.mode_names,
        facts["mean"],
        error_y={"type": "data", "array": half, "color": "@soft", "thickness": 2, "width": 6},
        marker={"color": named_mode_colours(fit.mode_names), "size": 14, "line": {"width": 1, "color": "@paper"}},
        customdata=[[counted(n, facts["over"]), counted(steps, "step")] for n, steps in counts],
        hovertemplate="%{x}: %{y:.4g}<br>%{customdata[0]}, %{customdata[1]}<extra></extra>",
    )
    x = {"type": "category", "showgrid": False, "range": [-0.6, fit.n_modes - 0.4]}
    return figure([means], 300, x, axis(f"mean {name}"), showlegend=False)


def onset_figure(fit: DecodedFit, facts: dict[str, Any]) -> dict[str, Any]:
    """Mean signal around the onset of each mode, with a band of ± one standard error."""
    traces: list[dict[str, Any]] = []
    for mode, (name, colour) in enumerate(zip(fit.mode_names, named_mode_colours(fit.mode_names), strict=True)):
        if not facts["onsets"][mode]:
            continue
        course = zip(facts["lags"], facts["course"][mode], facts["spread"][mode], strict=True)
        known = [(lag, y, half or 0) for lag, y, half in course if y is not None]
        lags, middle = [lag for lag, _, _ in known], [y for _, y, _ in known]
        around = [y + half for _, y, half in known] + [y - half for _, y, half in known[::-1]]
        unseen = {"showlegend": False, "line": {"width": 0}, "hoverinfo": "skip"}
        area = {"fill": "toself", "fillcolor": colour, "opacity": 0.18, "legendgroup": name}
        told, thick = f"{name} ({facts['onsets'][mode]:,} onsets)", {"color": colour, "width": 2.5}
        traces.append(lines(f"{name} ± SEM", lags + lags[::-1], around) | area | unseen)
        traces.append(lines(told, lags, middle, legendgroup=name, line=thick))
    dotted = {"color": "@soft", "width": 1, "dash": "dot"}
    onset = {"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "paper", "line": dotted}
    x = axis(f"{facts['clock'].replace('step', 'steps')} from the onset of the mode")
    y = axis(label(facts["name"]))
    return figure(traces, 320, x, y, shapes=[onset], legend=LEGEND)
