"""Environments from users' files: an edge list, a table of states, discretised places, syllables; actions inferred.

The edge list is a CSV with columns `state, action, next_state` and, where an action may end in several places, `p`.
The table of states (`name, x, y`) stands beside it as `<same name>.states.csv`, and is optional: it gives states their
order and their places on a map.
"""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from swirl.faults import Faults, some
from swirl.mdp import MDP
from swirl.trajectories import Trajectories

SHORTHANDS = ("syllables", "observed")
_EXPECTED = "expected a CSV with the columns state, action, next_state (and p where an action has several ends)"


def states_beside(path: Any) -> Path:
    """Where the table of states of an edge list is looked for.

    >>> states_beside("maze/env.csv").name
    'env.states.csv'
    """
    path = Path(path)
    return path.with_name(f"{path.stem}.states.csv")


def read_environment(path: Any, states: Any = None) -> MDP:
    """Read an edge list, with the table of states beside it where there is one.

    Labels that are all whole numbers are taken as numbers 0, 1, 2, …; others are names, in the order of the table of
    states, else of first appearance.

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
    path, faults = Path(path), Faults()
    rows = _rows(path, ("state", "action", "next_state"), faults)
    beside = Path(states) if states is not None else states_beside(path)
    listed = _rows(beside, ("name",), faults) if states is not None or beside.exists() else []
    faults.raise_if_any(f"{path} cannot be read as an environment")
    action_names = _names([row["action"] for _, row in rows])
    names = [row["name"] for _, row in listed]
    found = [row[column] for _, row in rows for column in ("state", "next_state")]
    state_names = _names(names or found)
    unknown = sorted(set(found) - set(names)) if names else []
    if unknown:
        faults.add(f"{path}: state {some([repr(x) for x in unknown])} is not in {beside.name}: add it there")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        faults.add(f"{beside}: name {some([repr(x) for x in repeated])} stands there more than once")
    faults.raise_if_any(f"{path} cannot be read as an environment")
    number = _numbering(state_names, names or found)
    action_number = _numbering(action_names, [row["action"] for _, row in rows])
    edges = []
    for line, row in rows:
        edge = (number[row["state"]], action_number[row["action"]], number[row["next_state"]])
        p = row.get("p", "")
        if p:
            value = _number(p)
            if value is None:
                faults.add(f"{path}, line {line}, column p: {p!r} is not a number")
                continue
            edges.append((*edge, value))
        else:
            edges.append(edge)
    coordinates = _coordinates(beside, listed, number, faults)
    faults.raise_if_any(f"{path} cannot be read as an environment")
    return MDP.from_edges(
        edges,
        n_states=None if state_names else max(number.values()) + 1,
        state_names=state_names,
        action_names=action_names,
        coordinates=coordinates,
    )


def _rows(path: Path, needed: tuple[str, ...], faults: Faults) -> list[tuple[int, dict[str, str]]]:
    """Lines of a small CSV as dicts with stripped values, with their line numbers."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8: {_EXPECTED}; save it as CSV UTF-8") from None
    first = text.split("\n", 1)[0]
    reader = csv.reader(text.splitlines(), delimiter=max(",;\t", key=first.count))
    rows: list[tuple[int, dict[str, str]]] = []
    header: list[str] = []
    for cells in reader:
        cells = [cell.strip() for cell in cells]
        if not any(cells):
            continue
        if not header:
            header = [cell.lower() for cell in cells]
            if "name" in needed and "name" not in header and "state" in header:
                header[header.index("state")] = "name"
            missing = [name for name in needed if name not in header]
            if missing:
                faults.add(f"{path}, line {reader.line_num}: no column {some(missing)} among {some(header, 10)}; "
                           + (_EXPECTED if "state" in needed else "expected name, x, y"))  # fmt: skip
                return []
            continue
        if len(cells) != len(header):
            faults.add(f"{path}, line {reader.line_num}: {len(cells)} cells, but the header has {len(header)}")
            continue
        row = dict(zip(header, cells, strict=True))
        empty = [name for name in needed if not row[name]]
        if empty:
            faults.add(f"{path}, line {reader.line_num}, column {empty[0]}: empty; give a label")
            continue
        rows.append((reader.line_num, row))
    if not rows and not len(faults):
        faults.add(f"{path} holds no rows: {_EXPECTED if 'state' in needed else 'expected name, x, y'}")
    return rows


def _is_number(label: str) -> bool:
    return label.isascii() and label.isdigit()


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def _names(found: list[str]) -> tuple[str, ...] | None:
    """Different labels in order of appearance; None where all are whole numbers."""
    if all(_is_number(label) for label in found):
        return None
    return tuple(dict.fromkeys(found))


def _numbering(names: tuple[str, ...] | None, found: list[str]) -> dict[str, int]:
    if names is None:
        return {label: int(label) for label in found}
    return {name: i for i, name in enumerate(names)}


def _coordinates(
    path: Path, listed: list[tuple[int, dict[str, str]]], number: dict[str, int], faults: Faults
) -> np.ndarray | None:
    """The columns x and y of the table of states; None where it has none."""
    if not listed or not {"x", "y"} <= set(listed[0][1]):
        return None
    coordinates = np.full((max(number.values()) + 1, 2), np.nan)
    for line, row in listed:
        for axis, column in enumerate(("x", "y")):
            value = _number(row[column])
            if value is None:
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
    states, actions = env.state_names, env.action_names
    with_table = states is not None or env.coordinates is not None
    wanted = [path, states_beside(path)] if with_table else [path]
    there = [file for file in wanted if file.exists()]
    if there and not overwrite:
        raise FileExistsError(f"{there[0]} exists already: choose another name, or allow overwriting (--force)")
    sure = env.is_deterministic
    probability = np.asarray(env.successors.probability)
    following = np.asarray(env.successors.next)
    lines = [("state", "action", "next_state") if sure else ("state", "action", "next_state", "p")]
    for s, a in np.argwhere(env.available).tolist():
        for branch in np.flatnonzero(probability[s, a] > 0).tolist():
            target = int(following[s, a, branch])
            edge = (_label(s, states), _label(a, actions), _label(target, states))
            lines.append(edge if sure else (*edge, repr(float(probability[s, a, branch]))))
    _write_csv(path, lines)
    if with_table:
        header = ("name",) if env.coordinates is None else ("name", "x", "y")
        places = [()] * env.n_states if env.coordinates is None else np.asarray(env.coordinates)[:, :2].tolist()
        table = [(_label(s, states), *map(repr, place)) for s, place in enumerate(places)]
        _write_csv(wanted[1], [header, *table])
    return wanted


def _label(number: int, names: tuple[str, ...] | None) -> str:
    return str(number) if names is None else names[number]


def _write_csv(path: Path, lines: list[tuple[str, ...]]) -> None:
    """Write beside, then move: a file is there whole or not at all."""
    temporary = path.with_name(f".{path.name}.writing")
    with temporary.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)
    temporary.replace(path)


def any_may_follow_any(n_states: int, state_names: Any = None) -> MDP:
    """Make the environment of syllables: the action is the next state, and every state may follow every other.

    >>> any_may_follow_any(3).available.astype(int).tolist()
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    """
    following = np.tile(np.arange(n_states), (n_states, 1))
    available = ~np.eye(n_states, dtype=bool) if n_states > 1 else np.ones((1, 1), bool)
    return MDP.deterministic(following, available=available, state_names=state_names, action_names=state_names)


def environment_of_places(places: Any) -> MDP:
    """Make the environment of a grid, of polygons or of a graph's nodes (`importers.places`)."""
    return MDP.from_edges(
        places.edges(),
        n_states=len(places.state_names),
        n_actions=len(places.action_names),
        state_names=places.state_names,
        action_names=places.action_names,
        coordinates=places.coordinates,
    )


def environment_for(data: Trajectories, wanted: Any = None) -> MDP:
    """The environment of a command: a file, or a shorthand, or (by default) what the data themselves show.

    Parameters
    ----------
    wanted
        Path of an edge list; "syllables", any state may follow any other, and the action is the next state;
        "observed", the moves that occur in the data, with their frequencies; None is "observed".

    Examples
    --------
    >>> environment_for(Trajectories([[0, 1, 0, 2]], [[0, 1, 0]]), "syllables")
    MDP(3 states, 3 actions, deterministic, 3 of 9 (state, action) not available)
    """
    if wanted == "syllables":
        return any_may_follow_any(data.n_states, data.state_names)
    if wanted in (None, "observed"):
        return MDP.estimate(data) if data.n_observed_actions else moves_seen(data)
    return read_environment(wanted)


def moves_seen(data: Trajectories) -> MDP:
    """Make an environment of the moves in data without actions: the action is the next state.

    >>> moves_seen(Trajectories([[0, 1, 0, 2]])).available.astype(int).tolist()
    [[0, 1, 1], [1, 0, 0], [1, 1, 1]]
    """
    n, flat = data.n_states, data.flat()
    available = np.zeros((n, n), bool)
    inside = np.flatnonzero(~flat.starts[1:])
    available[flat.states[inside], flat.states[inside + 1]] = True
    available[~available.any(axis=1)] = True  # never seen to be left: anything may follow
    following = np.tile(np.arange(n), (n, 1))
    names = data.state_names
    return MDP.deterministic(following, available=available, state_names=names, action_names=names)


def infer_actions(data: Trajectories, env: MDP) -> Trajectories:
    """Fill in the missing actions wherever just one available action leads from a state to the next.

    >>> env = MDP.deterministic([[1, 0], [0, 1]])
    >>> infer_actions(Trajectories([[0, 1, 1, 0]]), env).actions[0]
    array([ 0,  1,  0, -1])
    """
    available, following = np.asarray(env.available), np.asarray(env.successors.next)
    possible = (np.asarray(env.successors.probability) > 0) & available[..., None]
    s, a, branch = np.nonzero(possible)
    reach = np.zeros((env.n_states, env.n_states, env.n_actions), bool) if env.n_states <= 512 else None
    unique: dict[tuple[int, int], int] | np.ndarray
    if reach is not None:
        reach[s, following[s, a, branch], a] = True
        unique = np.where(reach.sum(axis=2) == 1, reach.argmax(axis=2), -1)
    else:  # too many pairs of states for a table
        unique = {}
        for move in dict.fromkeys(zip(s.tolist(), following[s, a, branch].tolist(), a.tolist(), strict=True)):
            pair = (move[0], move[1])
            unique[pair] = -1 if pair in unique else move[2]
    actions = []
    for i, states in enumerate(data.states):
        own = data.actions[i].copy()
        if states.max() >= env.n_states:
            raise ValueError(f"{data.where(i, int(states.argmax()))}: state {states.max()}, but the environment has "
                             f"{env.n_states} states: give the environment of these data")  # fmt: skip
        now, after = states[:-1], states[1:]
        if isinstance(unique, dict):
            found = np.array([unique.get(pair, -1) for pair in zip(now.tolist(), after.tolist(), strict=True)], int)
        else:
            found = unique[now, after]
        inside = np.ones(len(now), bool)
        inside[data.gaps[i] - 1] = False  # what followed a segment's last step was not seen
        fill = inside & (own[:-1] == -1)
        own[:-1][fill] = found[fill]
        actions.append(own)
    return data.with_actions(actions, n_actions=env.n_actions, action_names=env.action_names)
