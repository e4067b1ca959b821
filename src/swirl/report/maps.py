"""Where states lie, what each mode is rewarded for there and where it goes: the tables behind the maps."""

from contextlib import suppress
from typing import Any

import numpy as np
from jaxtyping import Float

from swirl.analysis.decoded import DecodedFit
from swirl.analysis.state_summaries import Groups, Onward, by_pair, by_state, most_visited, onward
from swirl.data.geometry import edges, has_places, lattice, layout
from swirl.data.mdp import MDP
from swirl.rewards.gauge import GaugeTooLargeError
from swirl.text import rounded

MAX_NUMBERS = 400_000  # in one table with previous states; beyond that the page would grow fat
MAX_HISTORIES = 60_000  # for the least-norm reward, which is a linear problem of that size
MAX_IN_TABLE = 60  # states in a table of states by states
GAUGES = {"canonical": "least norm", "fitted": "as fitted"}  # the first is shown first: it is the one to compare


def places(env: MDP) -> dict[str, Any]:
    """How states are drawn: as "grid", "graph" or "table", where they lie, and what is joined (`geometry`).

    Positions are in units of the smallest distance; `cell` is the width and height of a grid's cells.

    >>> places(MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]]))
    {'kind': 'grid', 'xy': [[0, 0], [1, 0]], 'cell': [1, 1], 'corridors': [[0, 1]]}
    """
    if not has_places(env):
        return {"kind": "table", "xy": None, "cell": None, "corridors": []}
    drawn, cells = layout(env), lattice(env)
    corridors = drawn.corridors.tolist()
    if cells is None:
        xy = (drawn.places - drawn.places.min(axis=0)) / drawn.unit
        return {"kind": "graph", "xy": rounded(xy), "cell": None, "corridors": corridors}
    cell = np.array([1.0, cells.aspect]) / min(1.0, cells.aspect)
    xy = np.stack([cells.column, cells.shape[0] - 1 - cells.row], axis=1) * cell
    return {"kind": "grid", "xy": rounded(xy), "cell": rounded(cell), "corridors": corridors}


def map_facts(fit: DecodedFit) -> dict[str, Any] | None:
    """Everything that the maps and tables of a model are drawn from; None where it has no labelled states.

    Keys: kind ("grid", "graph" or "table"), xy, cell, corridors, following, edges, moves [mode][state][move] and, by
    previous state, pairs, pair_moves; gauges: for each the reward [mode][state], [mode][pair] and, where it has an
    action, [mode][state][action]; unknown: states that the training data say nothing about.
    """
    model = fit.model
    histories, table = model.histories, model.choice_table()
    if table is None or fit.env is None:
        return None
    ways, states = onward(histories, model.target), by_state(histories)
    moves = _moves(states, table, ways)
    facts = places(fit.env)
    most = MAX_IN_TABLE if facts["kind"] == "table" else fit.n_states
    facts |= {
        "following": [[int(s) for s in row if s >= 0] for row in ways.following],
        "moves": rounded(moves, 3),
        "pairs": None,
        "pair_moves": None,
        "pairs_left_out": False,
        "gauges": [],
        "per_action": False,
        "unknown": [False] * fit.n_states,
        "pair_unknown": None,
        "history": histories.length,
        "edges": _edges(fit.env, fit.state_names),
        "shown": most_visited(fit.data.states, fit.n_states, most),
        "no_least_norm": False,
    }
    pairs = by_pair(histories) if histories.length > 1 else None
    if pairs is not None and len(pairs.state) * fit.n_modes * max(table.shape[2], moves.shape[2]) > MAX_NUMBERS:
        pairs, facts["pairs_left_out"] = None, True
    if pairs is not None and pairs.previous is not None:
        facts["pairs"] = {"state": pairs.state.tolist(), "previous": pairs.previous.tolist()}
        by_previous = _moves(pairs, table, ways)
        if np.nanmax(np.abs(by_previous - moves[:, pairs.state]), initial=0.0) > 1e-6:
            facts["pair_moves"] = rounded(by_previous, 3)
    _add_rewards(facts, model, states, pairs)
    return facts


def _edges(env: MDP, names: list[str]) -> dict[str, Any] | None:
    """What rows and columns of a grid are called in the names of its cells: written at its edge where names do not fit.

    >>> _edges(MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]]), ["A1", "A2"])
    {'rows': ['A'], 'columns': ['1', '2'], 'words': 'the two parts of each name'}
    """
    cells = lattice(env)
    found = None if cells is None else edges(cells, names)
    if found is None:
        return None
    words = {"row": "the row and the column of (row, column)", "y": "the x and the y of (x, y)"}
    return {
        "rows": found.rows,
        "columns": found.columns,
        "words": words.get(found.words[0], "the two parts of each name"),
    }


def _moves(groups: Groups, table: np.ndarray, ways: Onward) -> Float[np.ndarray, "mode group move"]:
    """P(s' | group) in each mode."""
    return ways.shares(groups, np.nan_to_num(groups.mean(table)))


def _add_rewards(facts: dict[str, Any], model: Any, states: Groups, pairs: Groups | None) -> None:
    known = [(name, rewards) for name in GAUGES if (rewards := _rewards(model, name)) is not None]
    for name, rewards in known:
        per_action = rewards.ndim == 3
        one = np.nanmean(np.where(np.isfinite(rewards), rewards, np.nan), axis=2) if per_action else rewards
        gauge: dict[str, Any] = {"name": name, "label": GAUGES[name], "state": rounded(states.mean(one))}
        gauge["pair"] = None if pairs is None else rounded(pairs.mean(one))
        if per_action and facts["kind"] == "table":
            gauge["action"] = rounded(states.mean(rewards))
            gauge["pair_action"] = None if pairs is None else rounded(pairs.mean(rewards))
        facts["per_action"] = per_action
        facts["gauges"].append(gauge)
    facts["no_least_norm"] = bool(known) and known[0][0] != "canonical"
    if model.uninformed_ is not None:
        facts["unknown"] = states.every(model.uninformed_).tolist()
        facts["pair_unknown"] = None if pairs is None else pairs.every(model.uninformed_).tolist()


def _rewards(model: Any, gauge: str) -> np.ndarray | None:
    """Rewards in a gauge, None where the model has none or the gauge cannot be had."""
    if gauge not in model.gauges or (gauge != "fitted" and model.histories.n_histories > MAX_HISTORIES):
        return None
    with suppress(GaugeTooLargeError):
        return model.reward_tables(gauge)
    return None
