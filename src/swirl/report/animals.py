"""The share of its time that each animal spends in each mode, by group: animals are what is compared, not steps.

Where steps last equally long, or it is not known how long, steps are counted; else the share of time comes first and is
what is tested, as that is what "how long it stays" means, and shares of steps stand beside, untested.

One dot each, side by side by group; boxes where there are too many for dots. Groups are compared by a permutation test
whose unit is the animal; where another solution of the fit is as good or near, what it says stands beside.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from swirl.analysis.decoded import DecodedFit
from swirl.analysis.group_test import compare_groups, group_test
from swirl.analysis.mode_signal import read_units
from swirl.analysis.significance import LEVEL
from swirl.plots.style import named_mode_colours
from swirl.report.caveats import OtherSolution, other_solutions, unsettled
from swirl.report.figures import LEGEND, axis, figure, label, points
from swirl.report.section import ReportedFit, Section
from swirl.text import counted, listed, minus, number, percent, rounded

NO_GROUP = "no group"
MAX_DOTS = 60  # animals that are drawn one by one; beyond that, boxes
MAX_TOLD = 6  # groups that are told in a sentence


def animals_section(fit: ReportedFit) -> Section | None:
    """A figure and sentences; None for one mode, or for one animal."""
    facts = animal_facts(fit)
    if facts is None:
        return None
    test = group_words(facts, fit.mode_names, fit.once(other_solutions))
    values = {
        "noun": facts["noun"],
        "of": facts["of"],
        "dots": facts["dots"],
        "groups": facts["groups"],
        "words": animal_sentences(facts, fit.mode_names),
        "test": test,
        "caveat": unsettled(fit) if test else "",
        "note": animal_note(facts),
    }
    heading = "Animals" if facts["noun"] == "animal" else "Sessions"
    return Section("animals", heading, values, {"animals": animal_figure(fit, facts)})


def animal_facts(fit: DecodedFit) -> dict[str, Any] | None:
    """Share of each mode in the time, or in the steps, of each animal (or session, where animals are not known).

    `of` says which: "time" where durations are known and unequal (`DecodedFit.durations`); each row then has the shares
    of steps as well. None for one mode, or for one animal. An animal that was in several groups counts once in each.

    >>> import swirl
    >>> from swirl.analysis.decoded import decode
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> facts = animal_facts(decode(world.true_model(), world.trajectories))
    >>> facts["noun"], facts["of"], facts["groups"], [row["steps"] for row in facts["rows"]]
    ('session', 'steps', [], [80, 80, 80])
    """
    if fit.n_modes < 2:
        return None
    over, names, unit_of = read_units(fit.data, None)
    known = [group for group in dict.fromkeys(fit.data.groups) if group is not None]
    lasted = [None] * len(fit.data) if fit.durations is None else fit.durations.lasted
    found: dict[tuple[int, Any], np.ndarray] = {}
    n_unknown = 0
    for unit, group, path, own in zip(unit_of.tolist(), fit.data.groups, fit.modes, lasted, strict=True):
        counts, times = found.setdefault((unit, group), np.zeros((2, fit.n_modes)))
        counts += np.bincount(path[path >= 0], minlength=fit.n_modes)
        if own is not None:
            timed = (path >= 0) & np.isfinite(own)
            n_unknown += int((path >= 0).sum() - timed.sum())
            times += np.bincount(path[timed], weights=own[timed], minlength=fit.n_modes)
    rows = []
    for (unit, group), (counts, times) in found.items():
        first = counts if fit.durations is None else times
        if not first.sum():
            continue
        row = {
            "name": names[unit],
            "group": (NO_GROUP if group is None else str(group)) if known else None,
            "steps": int(counts.sum()),
            "shares": (first / first.sum()).tolist(),
        }
        if fit.durations is not None:
            row |= {"time": float(times.sum()), "step_shares": (counts / counts.sum()).tolist()}
        rows.append(row)
    if len(rows) < 2:
        return None
    groups = [str(group) for group in known] + [NO_GROUP] * any(row["group"] == NO_GROUP for row in rows)
    return {
        "noun": "animal" if over == "subject" else "session",
        "of": "steps" if fit.durations is None else "time",
        "known": None if fit.durations is None else fit.durations.words,
        "unknown": n_unknown,
        "not_taken": fit.durations_not_taken,
        "rows": rows,
        "dots": len(rows) <= MAX_DOTS,
        "groups": groups,
        "crossed": len(rows) > len({unit for unit, _ in found}),
        "alone": _alone(fit),
        "summary": {group: _summary(rows, group) for group in groups or [None]},
    }


def _alone(fit: DecodedFit) -> str | None:
    """The animal that all sessions are of; None where there are several, or one is not known."""
    subjects = set(fit.data.subjects)
    return None if None in subjects or len(subjects) > 1 else str(subjects.pop())


def _summary(rows: list[dict[str, Any]], group: str | None) -> dict[str, Any]:
    """Mean, least and greatest share of each mode over the animals of a group; of time, also the mean of steps."""
    own = [row for row in rows if group is None or row["group"] == group]
    shares = np.array([row["shares"] for row in own])
    told = {"n": len(shares), "mean": shares.mean(axis=0), "low": shares.min(axis=0), "high": shares.max(axis=0)}
    if "step_shares" in own[0]:
        told["steps"] = np.mean([row["step_shares"] for row in own], axis=0)
    return told


def animal_sentences(facts: dict[str, Any], mode_names: list[str]) -> list[str]:
    r"""Each mode's mean share and its range over animals, group by group.

    >>> both = {"n": 2, "mean": [0.4], "low": [0.3], "high": [0.5]}
    >>> facts = {"noun": "animal", "groups": ["saline", "drug"], "summary": {"saline": both, "drug": both | {"n": 1}}}
    >>> animal_sentences(facts, ["mode 0"])[0].replace("\xa0", " ")
    'mode 0: saline 40 % (2 animals, 30 to 50 %), drug 40 % (1 animal).'

    Shares of time have that of steps beside them:

    >>> facts["summary"] = {"saline": both | {"steps": [0.2]}}
    >>> animal_sentences(facts, ["mode 0"])[0].replace("\xa0", " ")
    'mode 0: saline 40 % (2 animals, 30 to 50 %; 20 % of the steps).'
    """
    told = list(facts["summary"].items())[:MAX_TOLD]
    lines = []
    for mode, name in enumerate(mode_names):
        parts = []
        for group, found in told:
            span = "" if found["n"] < 2 else f", {_span(found['low'][mode], found['high'][mode])}"
            span += f"; {percent(found['steps'][mode])} of the steps" if "steps" in found else ""
            lead = "" if group is None else f"{group} "
            parts.append(f"{lead}{percent(found['mean'][mode])} ({counted(found['n'], facts['noun'])}{span})")
        lines.append(f"{name}: {', '.join(parts)}.")
    return lines


def _span(low: float, high: float) -> str:
    first, last = percent(low), percent(high)
    return last if first == last else f"{first.removesuffix(chr(0xA0) + '%')} to {last}"


def animal_note(facts: dict[str, Any]) -> str:
    """Say what a dot is, how long steps lasted, and what may be compared.

    >>> facts = {"noun": "animal", "groups": ["a", "b"], "crossed": False, "summary": {}, "of": "steps"}
    >>> facts |= {"not_taken": "", "alone": None}
    >>> animal_note(facts)[:63]
    'Compare animals, not steps: the steps of one animal are no inde'
    >>> animal_note(facts | {"of": "time", "known": "the signal dwell", "unknown": 0})[85:]
    'Shares are of the time, as steps last unequally long (the signal dwell).'
    """
    lines = ["Compare animals, not steps: the steps of one animal are no independent observations."]
    if facts["of"] == "time":
        lines.append(f"Shares are of the time, as steps last unequally long ({facts['known']}).")
        if facts["unknown"]:
            lines.append(f"How long {counted(facts['unknown'], 'step')} lasted is not known: left out of the time.")
    elif facts["not_taken"]:
        lines.append(f"Shares are of steps: {facts['not_taken']}.")
    if facts["noun"] == "session" and facts["alone"] is not None:
        lines.append(f"All sessions are of one animal, {facts['alone']}: how animals differ cannot be seen.")
    elif facts["noun"] == "session":
        lines.append(
            "Which animal a session is from is not known here, so sessions stand in for animals; a column of subjects "
            "(or subjects=…) would tell."
        )
    if facts["crossed"]:
        lines.append("An animal that was in several groups has a dot in each.")
    if len(facts["groups"]) > 1:
        left = list(facts["summary"])[MAX_TOLD:]
        lines.append(f"Not told in words: {listed(left)}." if left else "")
    return " ".join(line for line in lines if line)


def group_words(facts: dict[str, Any], mode_names: list[str], others: Sequence[OtherSolution] = ()) -> list[str]:
    """Whether the groups differ, tested with the animal as the unit; or why that was not tested; nothing for no groups.

    What `others` say, solutions of the same fit that are as good or near, comes first where it is the opposite.

    >>> rows = [{"name": i, "group": g, "shares": [s, 1 - s]}
    ...         for i, (g, s) in enumerate(zip("aaabbb", (0.2, 0.3, 0.25, 0.6, 0.7, 0.65)))]
    >>> facts = {"noun": "animal", "of": "steps", "groups": ["a", "b"], "crossed": False, "rows": rows}
    >>> group_words(facts, ["food", "nest"])[0][:69]
    'No difference could be shown: food p = 0.1, nest p = 0.1 (corrected: '
    """
    groups = [group for group in facts["groups"] if group != NO_GROUP]
    if len(groups) < 2:
        return []
    if facts["noun"] != "animal" and facts["alone"] is not None:
        return [
            f"Groups were not tested: all sessions are of one animal, {facts['alone']}, and what differs between its "
            "sessions says nothing of other animals."
        ]
    if facts["noun"] != "animal":
        return ["Groups were not tested: which session is of which animal is not known."]
    rows = [row for row in facts["rows"] if row["group"] in groups]
    try:
        found = _tested(rows, groups, facts, mode_names)
    except ValueError as error:
        return [f"Groups were not tested: {error}."]
    of_time = ", its share of the time" if facts["of"] == "time" else ""
    differ = [name for name, p in zip(mode_names, found["corrected"], strict=True) if p <= LEVEL]
    each = ", ".join(f"{name} p = {number(p, 2)}" for name, p in zip(mode_names, found["p"], strict=True))
    corrected = "; ".join(number(p, 2) for p in found["corrected"])
    where, in_time = ("the time in ", " in time") if facts["of"] == "time" else ("", "")
    lead = f"The groups differ in {where}{listed(differ)}" if differ else f"No difference{in_time} could be shown"
    opposite, elsewhere = _other_words(found, groups, mode_names, others)
    told = [
        *([opposite] if opposite else []),
        f"{lead}: {each} (corrected: {corrected}).",
        *([elsewhere] if elsewhere else []),
        *found["intervals"],
        f"Permutation test, one value per animal{of_time}: in {found['ways']} to deal the group labels to the "
        "animals, how often do the groups lie as far apart? Corrected: for all modes together. Shares of one animal "
        "sum to 1, so the modes are not separate findings.",
    ]
    if facts["of"] == "time":
        told.append("Shares of steps, in which a long step counts like a short one, stand beside and are not tested.")
    if found["least"] > LEVEL:
        told.append(
            f"With so few animals p cannot be below {number(found['least'], 2)}: this test cannot show a difference "
            "here, whatever the animals did."
        )
    return told


def _other_words(
    found: dict[str, Any], groups: list[str], mode_names: list[str], others: Sequence[OtherSolution]
) -> tuple[str, str]:
    """The warning to begin with, where another solution reverses a difference, and the differences that it has.

    Of several solutions the best that reverses one is told, else the best.
    """
    tested = []
    for other in others:
        facts = animal_facts(other.fit)
        rows = [] if facts is None else [row for row in facts["rows"] if row["group"] in groups]
        try:
            there = _tested(rows, groups, facts or {"crossed": False, "of": "steps"}, mode_names)
        except ValueError:  # such as an animal without a step of known mode
            continue
        tested.append((other, there, _reversed(found, there, mode_names)))
    if not tested:
        return "", ""
    other, there, turned = next((one for one in tested if one[2]), tested[0])
    ps = [f"p = {number(p, 2)}" for p in there["p"]]
    if there["difference"] is None:
        each = ", ".join(f"{name} {p}" for name, p in zip(mode_names, ps, strict=True))
        return "", f"In {other.words} with other modes, it is {each}."
    points = [f"{name} {_points(d)} ({p})" for name, d, p in zip(mode_names, there["difference"], ps, strict=True)]
    here = ", ".join(f"{name} {_points(d)}" for name, d in zip(mode_names, found["difference"], strict=True))
    elsewhere = (
        f"In {other.words} with other modes, the difference of {groups[1]} minus {groups[0]} is {', '.join(points)}; "
        f"here it is {here}."
    )
    if not turned:
        return "", elsewhere
    opposite = f"Do not rely on this difference: {other.words} reverses the sign of {listed(turned)}."
    return opposite, elsewhere


def _reversed(here: dict[str, Any], there: dict[str, Any], mode_names: list[str]) -> list[str]:
    """Modes in which a difference is claimed, and is the opposite elsewhere."""
    if here["difference"] is None or there["difference"] is None:
        return []
    numbers = zip(mode_names, here["corrected"], here["difference"], there["difference"], strict=True)
    return [name for name, p, mine, theirs in numbers if p <= LEVEL and mine * theirs < 0]


def _points(difference: float) -> str:
    signed = _signed(difference)
    return f"{signed} {'point' if signed[1:] == '1' else 'points'}"


def _signed(difference: float) -> str:
    """A difference of shares in points, with a decimal where it is less than one.

    >>> _signed(0.262), _signed(-0.004), _signed(-0.0003)
    ('+26', '−0.4', '0')
    """
    points = 100 * difference
    words = f"{points:+.{1 if abs(points) < 0.95 else 0}f}"
    return minus(words) if float(words) else "0"


def _tested(
    rows: list[dict[str, Any]], groups: list[str], facts: dict[str, Any], mode_names: list[str]
) -> dict[str, Any]:
    """P-values of each mode: of two groups with the interval of their difference, of more by one test for all."""
    import pandas as pd

    shares = np.array([row["shares"] for row in rows])
    if len(groups) == 2:
        index = pd.MultiIndex.from_tuples([(row["group"], row["name"]) for row in rows], names=["group", "subject"])
        two = compare_groups(pd.DataFrame(shares, index=index, columns=list(mode_names)), groups)
        spans = ", ".join(
            f"{name} {_points(d)} ({_signed(low)} to {_signed(high)})"
            for name, d, low, high in zip(mode_names, two.difference, two.low, two.high, strict=True)
        )
        ways = f"{'all' if two.exact else 'random'} {two.n_ways:,} ways"
        of = f"in shares of an animal’s {facts['of']}, with {percent(two.level)} intervals"
        told = [f"{groups[1]} minus {groups[0]}, {of}: {spans}."]
        return {"p": two.p_value, "corrected": two.corrected_p_value, "least": two.least_p_value, "ways": ways,
                "intervals": told, "difference": two.difference}  # fmt: skip
    if facts["crossed"]:
        raise ValueError("some animals were in several of more than two groups, so their values are not independent")
    more = group_test(shares, [row["group"] for row in rows])
    ways = f"{'all' if more.exact else 'random'} {more.n_shuffles:,} ways"
    return {"p": more.p_value, "corrected": more.corrected, "least": more.least, "ways": ways, "intervals": [],
            "difference": None}  # fmt: skip


SYMBOLS = ("circle", "circle-open", "diamond", "diamond-open", "square", "square-open", "triangle-up", "x")


def animal_figure(fit: DecodedFit, facts: dict[str, Any]) -> dict[str, Any]:
    """Modes along the axis in their colours; a group has a place beside the others, and a sign of its own."""
    groups = facts["groups"] or [None]
    width = 0.72 / len(groups)
    traces, shapes = [], []
    for g, group in enumerate(groups):
        rows = [row for row in facts["rows"] if group is None or row["group"] == group]
        middle = (g - (len(groups) - 1) / 2) * width
        shares = np.array([row["shares"] for row in rows])
        if not facts["dots"]:
            traces += [_box(fit, k, k + middle, width, shares[:, k], group) for k in range(fit.n_modes)]
            continue
        traces.append(_dots(fit, rows, middle, width, SYMBOLS[g % len(SYMBOLS)], group))
        shapes += [_mean(k + middle, width, y) for k, y in enumerate(shares.mean(axis=0).tolist())]
        if len(groups) > 1:  # a sign in the legend, in no mode's colour
            sign = {"symbol": SYMBOLS[g % len(SYMBOLS)], "size": 10, "color": "@soft", "line": {"width": 2}}
            traces.append(points(label(group), [None], [None], marker=sign))
    highest = max(max(row["shares"]) for row in facts["rows"])
    x = {
        "tickvals": list(range(fit.n_modes)),
        "ticktext": [label(name) for name in fit.mode_names],
        "range": [-0.5, fit.n_modes - 0.5],
        "showgrid": False,
    }
    y = axis(f"share of the {facts['noun']}’s {facts['of']}", tickformat=".0%", range=[0, min(1.03, 1.12 * highest)])
    told, legend = len(groups) > 1 and facts["dots"], LEGEND | {"itemclick": False}
    drawn = figure(traces, 340, x, y, shapes=shapes, showlegend=told, legend=legend)
    return drawn | {"csv": _table(facts, fit.mode_names)}


def _table(facts: dict[str, Any], mode_names: list[str]) -> list[list[Any]]:
    """Head and a row for each animal: its shares, and of time also those of steps."""
    head = [facts["noun"], "group", "steps", *mode_names]
    rows = [[row["name"], row["group"], row["steps"], *rounded(row["shares"])] for row in facts["rows"]]
    if facts["of"] == "time":
        head[3:] = ["time", *(f"{name}, share of {of}" for of in ("time", "steps") for name in mode_names)]
        for told, row in zip(rows, facts["rows"], strict=True):
            told[3:] = [row["time"], *rounded([*row["shares"], *row["step_shares"]])]
    return [head, *rows]


def _dots(
    fit: DecodedFit, rows: list[dict[str, Any]], middle: float, width: float, symbol: str, group: str | None
) -> dict[str, Any]:
    # An animal has the same place within its group in every mode, so that it can be followed by eye.
    aside = 0.6 * width * (np.linspace(-0.5, 0.5, len(rows)) if len(rows) > 1 else np.zeros(1))
    modes, colours = range(fit.n_modes), named_mode_colours(fit.mode_names)
    also = "" if group is None else f", {label(group)}"
    look = {"symbol": symbol, "size": 9, "opacity": 0.9, "line": {"width": 2 if symbol.endswith("open") else 0}}
    return points(
        "" if group is None else label(group),
        [round(k + middle + float(dx), 4) for k in modes for dx in aside],
        rounded([row["shares"][k] for k in modes for row in rows]),
        showlegend=False,
        marker=look | {"color": [colours[k] for k in modes for _ in rows]},
        text=[f"{label(row['name'])}{also}" for _ in modes for row in rows],
        customdata=[_hover(row, k) for k in modes for row in rows],
        hovertemplate="%{text}: %{y:.1%} of %{customdata}<extra></extra>",
    )


def _hover(row: dict[str, Any], mode: int) -> str:
    """What a share is of: "80 steps", or "the time, 35 % of 80 steps"."""
    steps = counted(row["steps"], "step")
    return f"the time, {percent(row['step_shares'][mode])} of {steps}" if "step_shares" in row else steps


def _mean(at: float, width: float, y: float) -> dict[str, Any]:
    half, line = 0.42 * width, {"color": "@ink", "width": 2}
    return {"type": "line", "x0": round(at - half, 4), "x1": round(at + half, 4), "y0": y, "y1": y, "line": line}


def _box(fit: DecodedFit, mode: int, at: float, width: float, shares: np.ndarray, group: str | None) -> dict[str, Any]:
    low, first, median, third, high = (rounded([value]) for value in np.quantile(shares, [0, 0.25, 0.5, 0.75, 1]))
    return {
        "type": "box",
        "name": ", ".join(label(name) for name in (group, fit.mode_names[mode]) if name is not None),
        "x": [round(at, 4)],
        "q1": first,
        "median": median,
        "q3": third,
        "lowerfence": low,
        "upperfence": high,
        "width": 0.7 * width,
        "line": {"color": named_mode_colours(fit.mode_names)[mode], "width": 1.8},
    }
