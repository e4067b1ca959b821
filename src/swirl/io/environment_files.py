"""Environments as users write them: an edge list, and a table of states beside it.

The edge list is a CSV with columns `state, action, next_state` and, where an action may end in several places, `p`.
The table of states (`name, x, y`) stands beside it as `<same name>.states.csv`, and is optional: it gives states their
order and their places on a map.
"""

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from swirl.data.environments import check_table_size, fully_connected, observed_moves
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories, common_names
from swirl.errors import Faults
from swirl.io import open_table
from swirl.io.atomic_write import check_target, whole_files
from swirl.io.columns import MAX_LABEL
from swirl.io.text_table import number as number_in
from swirl.text import did_you_mean, numbered, some

__all__ = ["environment_for", "read_environment", "write_environment"]

_EXPECTED = "expected a CSV with the columns state, action, next_state (and p where an action has several ends)"
_TOLERANCE = 1e-6  # as in `MDP`


def states_beside(path: Any) -> Path:
    """Where the table of states of an edge list is looked for.

    >>> states_beside("maze/env.csv").name
    'env.states.csv'
    """
    path = Path(path)
    return path.with_name(f"{path.stem}.states.csv")


def read_environment(path: Any, states: Any = None) -> MDP:
    """Read an edge list, with the table of states beside it where there is one.

    Labels 0, 1, 2, … without holes are numbers; others are names, in the order of the table of states, else of first
    appearance (whole numbers with holes: in their own).

    Parameters
    ----------
    path
        CSV with columns state, action, next_state and perhaps p.
    states
        CSV with columns name (or state), x, y; by default `<same name>.states.csv` where that exists.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "env.csv"
    >>> _ = file.write_text("state,action,next_state\\nhome,go,water\\nwater,go,home\\nwater,drink,water\\n")
    >>> read_environment(file).state_names
    ('home', 'water')
    """
    path, faults, cannot = Path(path), Faults(), f"{path} cannot be read as an environment"
    if not path.exists() and (meant := did_you_mean(path, SHORTHANDS)):
        raise ValueError(f"{path} does not exist{meant}")
    rows = open_table.rows(path, ("state", "action", "next_state"), faults, _EXPECTED)
    beside = Path(states) if states is not None else states_beside(path)
    listed: open_table.Rows = []
    if states is not None or beside.exists():
        listed = open_table.rows(beside, ("name",), faults, "expected name, x, y", also="state")
    faults.raise_if_any(cannot)
    names = [row["name"] for _, row in listed]
    found = [row[column] for _, row in rows for column in ("state", "next_state")]
    unknown = sorted(set(found) - set(names)) if names else []
    if unknown:
        faults.add(f"{path}: state {some([repr(x) for x in unknown])} is not in {beside.name}: add it there")
    repeated = sorted(name for name, n in Counter(names).items() if n > 1)
    if repeated:
        faults.add(f"{beside}: name {some([repr(x) for x in repeated])} is there more than once")
    state_names, action_names = _names(names or found), _names([row["action"] for _, row in rows])
    if all(row["action"] == row["next_state"] for _, row in rows):
        action_names = state_names  # the action is the next state: it has its number too
    _check_numbers(path, rows, state_names, action_names, faults)
    probabilities = _probabilities(path, rows, faults)
    left = {row["state"] for _, row in rows}
    if stuck := [repr(name) for name in state_names or () if name not in left]:
        faults.add(f"{path}: no line starts in state {some(stuck)}: give each at least one action; a resting one stays")
    faults.raise_if_any(cannot)
    number = _numbering(state_names, names or found)
    action_number = _numbering(action_names, [row["action"] for _, row in rows])
    edges = []
    for (_, row), p in zip(rows, probabilities, strict=True):
        edge = (number[row["state"]], action_number[row["action"]], number[row["next_state"]])
        edges.append(edge if p is None else (*edge, p))
    coordinates = _coordinates(beside, listed, number, faults)
    faults.raise_if_any(cannot)
    try:
        check_table_size(max(number.values()) + 1, max(action_number.values()) + 1)
        return MDP.from_edges(
            edges,
            n_states=None if state_names else max(number.values()) + 1,
            state_names=state_names,
            action_names=action_names,
            coordinates=coordinates,
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _names(found: list[str]) -> tuple[str, ...] | None:
    """Different labels in order of appearance; None where they are 0, 1, 2, … and need no names.

    Whole numbers with holes (syllables of which some were dropped) are names, in the order of numbers.

    >>> _names(["0", "2", "1", "2"]), _names(["7", "12", "3"]), _names(["home", "7"])
    (None, ('3', '7', '12'), ('home', '7'))
    """
    labels = tuple(dict.fromkeys(found))
    if not all(label.isascii() and label.isdigit() for label in labels):
        return labels
    if len({label.lstrip("0") for label in labels}) < len(labels) or max(map(len, labels)) > len(str(MAX_LABEL)):
        return None  # 01 beside 1, or numbers that no table is laid out for: told elsewhere
    ordered = sorted(labels, key=int)
    return None if int(ordered[-1]) == len(ordered) - 1 else tuple(ordered)


def _numbering(names: tuple[str, ...] | None, found: list[str]) -> dict[str, int]:
    if names is None:
        return {label: int(label) for label in found}
    return {name: i for i, name in enumerate(names)}


def _check_numbers(path: Path, rows: open_table.Rows, state_names: Any, action_names: Any, faults: Faults) -> None:
    """Labels that are numbers count from 0: before a table with a row for each is laid out."""
    columns = ["state", "next_state"] * (state_names is None) + ["action"] * (action_names is None)
    for column in columns:
        large = [(line, row[column]) for line, row in rows if len(row[column].lstrip("0")) > len(str(MAX_LABEL))]
        for line, label in large[:3]:
            shown = label if len(label) < 30 else f"{label[:20]}…"
            faults.add(
                f"{path}, line {line}, column {column}: {shown} is larger than {MAX_LABEL:,}: labels that are "
                "numbers count from 0; number them so, or give names"
            )


def _probabilities(path: Path, rows: open_table.Rows, faults: Faults) -> list[float | None]:
    """The column p, None where it is empty; that each action has one certain end, or probabilities that sum to 1."""
    found: list[float | None] = []
    ends: dict[tuple[str, str], list[tuple[int, str, float | None]]] = {}
    before = len(faults)
    for line, row in rows:
        text = row.get("p", "")
        p = number_in(text) if text else None
        if p is not None and not 0 <= p <= 1 + _TOLERANCE:
            words = "is not a number" if np.isnan(p) else "is not a probability: give a number between 0 and 1"
            faults.add(f"{path}, line {line}, column p: {text!r} {words}")
        found.append(p)
        ends.setdefault((row["state"], row["action"]), []).append((line, row["next_state"], p))
    if len(faults) > before:
        return found
    for (state, action), leads in ends.items():
        what = f"{path}, {numbered('line', [line for line, _, _ in leads])}: action {action!r} in state {state!r}"
        total = sum(p for _, _, p in leads if p is not None)
        if any(p is None for _, _, p in leads):
            if len({(end, p) for _, end, p in leads}) > 1:
                faults.add(f"{what} leads to {some([repr(end) for _, end, _ in leads])}, without p: add p to each line")
        elif abs(total - 1) > _TOLERANCE:
            faults.add(f"{what} has probabilities that sum to {total:.8g}, not to 1: correct p")
    return found


def _coordinates(path: Path, listed: open_table.Rows, number: dict[str, int], faults: Faults) -> np.ndarray | None:
    """The columns x and y of the table of states; None where it has none."""
    if not listed or not {"x", "y"} <= set(listed[0][1]):
        return None
    coordinates = np.full((max(number.values()) + 1, 2), np.nan)
    for line, row in listed:
        for axis, column in enumerate(("x", "y")):
            value = number_in(row[column])
            if not np.isfinite(value):
                faults.add(f"{path}, line {line}, column {column}: {row[column]!r} is not a number")
            else:
                coordinates[number[row["name"]], axis] = value
    missing = np.flatnonzero(np.isnan(coordinates).any(axis=1))
    if missing.size and not len(faults):
        faults.add(f"{path}: no x and y for state {some(missing.tolist())}: list every state, or none")
    return coordinates


def write_environment(env: MDP, path: Any, *, overwrite: bool = False) -> list[Path]:
    """Write an edge list, and the table of states beside it where states have names or places.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "env.csv"
    >>> [written.name for written in write_environment(MDP.deterministic([[1, 0], [0, 1]]), file)]
    ['env.csv']
    >>> read_environment(file)
    MDP(2 states, 2 actions, deterministic)
    """
    path = Path(path)
    states = env.state_names or [str(s) for s in range(env.n_states)]
    actions = env.action_names or [str(a) for a in range(env.n_actions)]
    with_table = env.state_names is not None or env.coordinates is not None
    wanted = [path, states_beside(path)] if with_table else [path]
    for file in wanted:
        check_target(file, overwrite=overwrite)  # of both, before either is written
    sure = env.is_deterministic
    probability = np.asarray(env.successors.probability)
    following = np.asarray(env.successors.next)
    lines: list[tuple[str, ...]] = [
        ("state", "action", "next_state") if sure else ("state", "action", "next_state", "p")
    ]
    for s, a in np.argwhere(env.available).tolist():
        for branch in np.flatnonzero(probability[s, a] > 0).tolist():
            edge = (states[s], actions[a], states[int(following[s, a, branch])])
            lines.append(edge if sure else (*edge, repr(float(probability[s, a, branch]))))
    tables = [lines]
    if with_table:
        header = ("name",) if env.coordinates is None else ("name", "x", "y")
        places = [()] * env.n_states if env.coordinates is None else np.asarray(env.coordinates)[:, :2].tolist()
        tables.append([header, *[(states[s], *map(repr, place)) for s, place in enumerate(places)]])
    with whole_files(wanted, overwrite=overwrite) as temporaries:
        for temporary, table in zip(temporaries, tables, strict=True):
            with temporary.open("w", newline="", encoding="utf-8") as opened:
                csv.writer(opened, lineterminator="\n").writerows(table)
    return wanted


SHORTHANDS = ("syllables", "observed")


def environment_for(data: Trajectories | Iterable[Trajectories], wanted: Any = None) -> MDP:
    """The environment of a command: a file, or a shorthand, or (by default) what the data themselves show.

    Parameters
    ----------
    data
        Sessions, or parts of them that can be read more than once (`StreamedTrajectories`).
    wanted
        Path of an edge list; "syllables", any state may follow any other (and itself, where one does in the data), and
        the action is the next state; "observed", the moves that occur in the data, with their frequencies; None is
        "observed".

    Examples
    --------
    >>> environment_for(Trajectories([[0, 1, 0, 2]], [[0, 1, 0]]), "syllables")
    MDP(3 states, 3 actions, deterministic, 3 of 9 (state, action) not available)
    """
    parts = [data] if isinstance(data, Trajectories) else data
    if wanted == "syllables":
        n_states, names, stay = 0, [], False
        for part in parts:
            # A state may follow itself by the last action of a segment too, whose end was not seen.
            flat = part.flat()
            last = np.append(flat.starts[1:], True)
            following = np.where(last, flat.actions, np.append(flat.states[1:], -1))
            n_states = max(n_states, part.n_states)
            names.append((part.state_names, None))
            stay = stay or bool((following == flat.states).any())
        return fully_connected(n_states, common_names(names)[0], stay=stay)
    if wanted in (None, "observed"):
        sizes = [(part.n_states, part.n_actions, part.n_observed_actions) for part in parts]
        n_states, n_actions, n_seen = np.max(sizes, axis=0).tolist()
        if not n_seen:
            return observed_moves(parts)
        check_table_size(n_states, n_actions)
        return MDP.estimate(data)
    return read_environment(wanted)
