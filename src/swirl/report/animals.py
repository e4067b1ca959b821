"""How much of its time each animal spends in each mode, by group: animals are what is compared, not steps."""

from typing import Any

import numpy as np

from swirl.faults import counted
from swirl.report.case import Case
from swirl.report.plain import listed, percent
from swirl.triggered.given import read_units

NO_GROUP = "no group"
MOST_DOTS = 60  # animals that are drawn one by one; beyond that, boxes
MOST_TOLD = 6  # groups that are told in a sentence


def animal_facts(case: Case) -> dict[str, Any] | None:
    """Share of each mode in the decoded steps of each animal (or session, where animals are not known).

    None for one mode, or for one animal. An animal that was in several groups counts once in each.

    >>> import swirl
    >>> from swirl.report.case import read_case
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> facts = animal_facts(read_case(world.true_model(), world.trajectories))
    >>> facts["noun"], facts["groups"], [row["steps"] for row in facts["rows"]]
    ('session', [], [80, 80, 80])
    """
    if case.n_modes < 2:
        return None
    over, names, unit_of = read_units(case.data, None)
    known = [group for group in dict.fromkeys(case.data.groups) if group is not None]
    found: dict[tuple[int, Any], np.ndarray] = {}
    for unit, group, path in zip(unit_of.tolist(), case.data.groups, case.modes, strict=True):
        counts = found.setdefault((unit, group), np.zeros(case.n_modes, np.int64))
        counts += np.bincount(path[path >= 0], minlength=case.n_modes)
    rows = [
        {
            "name": names[unit],
            "group": (NO_GROUP if group is None else str(group)) if known else None,
            "steps": int(counts.sum()),
            "shares": (counts / counts.sum()).tolist(),
        }
        for (unit, group), counts in found.items()
        if counts.sum()
    ]
    if len(rows) < 2:
        return None
    groups = [str(group) for group in known] + [NO_GROUP] * any(row["group"] == NO_GROUP for row in rows)
    return {
        "noun": "animal" if over == "subject" else "session",
        "rows": rows,
        "dots": len(rows) <= MOST_DOTS,
        "groups": groups,
        "crossed": len(rows) > len({unit for unit, _ in found}),
        "summary": {group: _summary(rows, group) for group in groups or [None]},
    }


def _summary(rows: list[dict[str, Any]], group: str | None) -> dict[str, Any]:
    """Mean, least and greatest share of each mode over the animals of a group."""
    shares = np.array([row["shares"] for row in rows if group is None or row["group"] == group])
    return {"n": len(shares), "mean": shares.mean(axis=0), "low": shares.min(axis=0), "high": shares.max(axis=0)}


def animal_sentences(facts: dict[str, Any], mode_names: list[str]) -> list[str]:
    r"""Each mode's mean share and its range over animals, group by group; no test is made.

    >>> both = {"n": 2, "mean": [0.4], "low": [0.3], "high": [0.5]}
    >>> facts = {"noun": "animal", "groups": ["saline", "drug"], "summary": {"saline": both, "drug": both | {"n": 1}}}
    >>> animal_sentences(facts, ["mode 0"])[0].replace("\xa0", " ")
    'mode 0: saline 40 % (2 animals, 30 to 50 %), drug 40 % (1 animal).'
    """
    told = list(facts["summary"].items())[:MOST_TOLD]
    lines = []
    for mode, name in enumerate(mode_names):
        parts = []
        for group, found in told:
            span = "" if found["n"] < 2 else f", {_span(found['low'][mode], found['high'][mode])}"
            lead = "" if group is None else f"{group} "
            parts.append(f"{lead}{percent(found['mean'][mode])} ({counted(found['n'], facts['noun'])}{span})")
        lines.append(f"{name}: {', '.join(parts)}.")
    return lines


def _span(low: float, high: float) -> str:
    first, last = percent(low), percent(high)
    return last if first == last else f"{first.removesuffix(chr(0xA0) + '%')} to {last}"


def animal_note(facts: dict[str, Any]) -> str:
    """Say what a dot is, and what may be compared.

    >>> animal_note({"noun": "animal", "groups": ["a", "b"], "crossed": False, "summary": {}})[:63]
    'Compare animals, not steps: the steps of one animal are no inde'
    """
    lines = ["Compare animals, not steps: the steps of one animal are no independent observations."]
    if facts["noun"] == "session":
        lines.append(
            "Which animal a session is from is not known here, so sessions stand in for animals; a column of subjects "
            "(or subjects=…) would tell."
        )
    if facts["crossed"]:
        lines.append("An animal that was in several groups has a dot in each.")
    if len(facts["groups"]) > 1:
        lines.append("Means and ranges describe these animals; no test was made.")
        left = list(facts["summary"])[MOST_TOLD:]
        lines.append(f"Not told in words: {listed(left)}." if left else "")
    return " ".join(line for line in lines if line)
