"""Where states lie, what each mode is rewarded for there and where it goes: the tables behind the maps.

Means over earlier states are unweighted, as in `SWIRL.reward_map` and `SWIRL.state_policies`.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.baselines.iq_learn import IQLearn
from swirl.discrete import DiscreteEstimator, option_successors
from swirl.history import Histories
from swirl.mdp import MDP
from swirl.model import SWIRL
from swirl.report.case import Case
from swirl.report.facts import switch_counts
from swirl.report.plain import rounded
from swirl.rewards.gauge import GaugeTooLargeError

MOST_NUMBERS = 400_000  # in one table with previous states; beyond that the page would grow fat
MOST_HISTORIES = 60_000  # for the least-norm reward, which is a linear problem of that size
MOST_IN_TABLE = 60  # states in a table of states by states
GAUGES = {"fitted": "as fitted", "canonical": "least norm"}


@dataclass(frozen=True)
class Groups:
    """Full-length histories put together by their newest state, or by their newest two."""

    histories: Histories
    state: Int[np.ndarray, "group"]
    previous: Int[np.ndarray, "group"] | None
    member: Int[np.ndarray, "full"]
    """Group of each full-length history."""

    def mean(self, table: Float[np.ndarray, "mode history *rest"]) -> Float[np.ndarray, "mode group *rest"]:
        """Mean over the histories of each group; NaN (no such action) is left out."""
        full = table[:, self.histories.full_length]
        known = np.isfinite(full)
        total = np.zeros((len(self.state), len(table), *table.shape[2:]))
        count = np.zeros_like(total)
        np.add.at(total, self.member, np.where(known, full, 0.0).swapaxes(0, 1))
        np.add.at(count, self.member, known.astype(float).swapaxes(0, 1))
        return np.where(count > 0, total / np.maximum(count, 1), np.nan).swapaxes(0, 1)

    def every(self, flag: Bool[np.ndarray, "history"]) -> Bool[np.ndarray, "group"]:
        """Whether the flag holds for all histories of a group."""
        fails = np.bincount(self.member, weights=~flag[self.histories.full_length], minlength=len(self.state))
        return fails == 0


def by_state(histories: Histories) -> Groups:
    """One group per state.

    >>> ring = Histories.reachable(MDP.deterministic([[0, 1], [1, 0]]).successors, 2)
    >>> by_state(ring).mean(np.arange(6.0)[None]).tolist()  # 0 after 0 and 1: numbers 2 and 4; 1 after them: 3 and 5
    [[3.0, 4.0]]
    """
    return Groups(histories, np.arange(histories.n_states), None, histories.states[histories.full_length])


def by_pair(histories: Histories) -> Groups:
    """One group per state and the state before it; only for histories of two states or more.

    >>> ring = Histories.reachable(MDP.deterministic([[0, 1], [1, 0]]).successors, 2)
    >>> groups = by_pair(ring)
    >>> groups.previous.tolist(), groups.state.tolist()
    ([0, 0, 1, 1], [0, 1, 0, 1])
    """
    full = histories.table[histories.full_length]
    numbers, member = np.unique(full[:, 1] * histories.n_states + full[:, 0], return_inverse=True)
    previous, state = np.divmod(numbers, histories.n_states)
    return Groups(histories, state, previous, member.reshape(-1))


def places(env: MDP) -> dict[str, Any] | None:
    """Positions in units of the smallest distance, neighbours, and whether cells of a grid fit; None without places.

    >>> places(MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]]))
    {'kind': 'grid', 'xy': [[0, 0], [1, 0]], 'corridors': [[0, 1]]}
    """
    from swirl.plots.layout import layout

    if env.coordinates is None or not np.isfinite(env.coordinates).all():
        return None
    drawn = layout(env)
    xy = drawn.places / drawn.unit
    xy = xy - xy.min(axis=0)
    width, height = np.ptp(xy, axis=0) + 1
    on_lattice = np.abs(xy - np.round(xy)).max() < 0.02
    short = drawn.lengths.max(initial=0.0) < 1.5 * drawn.unit  # neighbours, also across the corner
    distinct = len(np.unique(np.round(xy), axis=0)) == len(xy)
    grid = bool(on_lattice and short and distinct and len(xy) >= 0.6 * width * height)
    corridors = drawn.corridors.tolist() if len(drawn.moves) else []
    return {"kind": "grid" if grid else "graph", "xy": rounded(xy), "corridors": corridors}


def move_table(
    model: Any, histories: Histories
) -> tuple[Int[np.ndarray, "state move"], Float[np.ndarray, "state option move"]]:
    """The states that can follow each state (−1 where there are fewer), and how probably each option leads there.

    >>> import swirl
    >>> truth = swirl.datasets.gridworld(n_sessions=3, n_steps=80).true_model()
    >>> following, reach = move_table(truth, truth._histories)
    >>> following[0].tolist(), reach[0].sum(axis=1).tolist()
    ([0, 1, 5, -1, -1], [1.0, 1.0, 1.0, 1.0, 1.0])
    """
    n_states = histories.n_states
    options = option_successors(histories, model.target)
    target = histories.states[np.asarray(options.next)[:n_states]]  # the first histories are the states alone
    weight = np.asarray(options.probability)[:n_states] * np.asarray(options.available)[:n_states, :, None]
    following = [np.unique(target[s][weight[s] > 0]) for s in range(n_states)]
    widest = max(len(row) for row in following)
    table = np.full((n_states, widest), -1, np.int64)
    reach = np.zeros((n_states, target.shape[1], widest))
    for s, row in enumerate(following):
        table[s, : len(row)] = row
        option, branch = np.nonzero(weight[s] > 0)
        np.add.at(reach[s], (option, np.searchsorted(row, target[s][option, branch])), weight[s][option, branch])
    return table, reach


def map_facts(case: Case) -> dict[str, Any] | None:
    """Everything that the maps and tables of a model are drawn from; None where it has no labelled states.

    Keys: kind ("grid", "graph" or "table"), xy, corridors, following, moves [mode][state][move] and, by previous
    state, pairs, pair_moves; gauges: for each the reward [mode][state], [mode][pair] and, where it has an action,
    [mode][state][action]; unknown: states that the training data say nothing about.
    """
    model = case.model
    if not isinstance(model, DiscreteEstimator) or case.env is None:
        return None
    histories, table = model._histories, model._table()
    if len(table) != case.n_modes:  # a policy for each bin of time, not for each mode
        return None
    following, reach = move_table(model, histories)
    states = by_state(histories)
    moves = _moves(states, table, reach)
    facts: dict[str, Any] = places(case.env) or {"kind": "table", "xy": None, "corridors": []}
    facts |= {
        "following": [[int(s) for s in row if s >= 0] for row in following],
        "moves": rounded(moves, 3),
        "pairs": None,
        "pair_moves": None,
        "pairs_left_out": False,
        "gauges": [],
        "per_action": False,
        "unknown": [False] * case.n_states,
        "pair_unknown": None,
        "history": histories.length,
        "shown": _shown(case) if facts["kind"] == "table" else list(range(case.n_states)),
    }
    pairs = by_pair(histories) if histories.length > 1 else None
    if pairs is not None and len(pairs.state) * case.n_modes * max(reach.shape[1:]) > MOST_NUMBERS:
        pairs, facts["pairs_left_out"] = None, True
    if pairs is not None and pairs.previous is not None:
        facts["pairs"] = {"state": pairs.state.tolist(), "previous": pairs.previous.tolist()}
        by_previous = _moves(pairs, table, reach)
        if np.nanmax(np.abs(by_previous - moves[:, pairs.state]), initial=0.0) > 1e-6:
            facts["pair_moves"] = rounded(by_previous, 3)
    _add_rewards(facts, model, states, pairs)
    return facts


def _shown(case: Case) -> list[int]:
    """The states that a table has room for: all, or the most visited ones, in order."""
    visits = np.bincount(np.concatenate(case.data.states), minlength=case.n_states)
    return np.sort(np.argsort(-visits, kind="stable")[:MOST_IN_TABLE]).tolist()


def _moves(groups: Groups, table: np.ndarray, reach: np.ndarray) -> Float[np.ndarray, "mode group move"]:
    """P(s' | group) in each mode."""
    chosen = np.nan_to_num(groups.mean(table))
    return np.einsum("kgo,goj->kgj", chosen, reach[groups.state])


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
    if facts["per_action"]:  # its fitted gauge is the log-policy, whose mean counts a state's choices
        facts["gauges"].reverse()
    uninformed = getattr(model, "uninformed_", None)
    if uninformed is not None:
        facts["unknown"] = states.every(uninformed).tolist()
        facts["pair_unknown"] = None if pairs is None else pairs.every(uninformed).tolist()


def _rewards(model: Any, gauge: str) -> np.ndarray | None:
    """Rewards in a gauge, None where the model has none or the gauge cannot be had."""
    if not isinstance(model, SWIRL | IQLearn):
        return None
    if gauge == "fitted":
        return model.rewards_
    if model.env is None or model._histories.n_histories > MOST_HISTORIES:
        return None
    with suppress(GaugeTooLargeError):
        return model._gauged_rewards(gauge) if isinstance(model, SWIRL) else model._canonical(model.rewards_)
    return None


def switching_facts(case: Case) -> dict[str, Any] | None:
    """P(next mode | mode, state) and the decoded switches by state; None for one mode.

    >>> import swirl
    >>> from swirl.report.case import read_case
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> facts = switching_facts(read_case(world.true_model(), world.trajectories))
    >>> facts["by_state"], facts["probability"][0][1][23]  # water to home, at the water
    (True, 0.36)
    """
    if case.n_modes < 2:
        return None
    table = np.asarray(case.model.mode_transitions_).transpose(1, 2, 0)
    spread = np.ptp(table, axis=2).max()
    seen = np.zeros(case.n_states, bool)
    seen[np.unique(np.concatenate(case.data.states))] = True
    if getattr(case.model, "seen_states_", None) is not None:
        seen |= np.asarray(case.model.seen_states_)
    counts = switch_counts(case.modes, case.data.states, case.data.gaps, case.n_modes, case.n_states)
    return {
        "by_state": bool(table.shape[2] > 1 and spread > 1e-6),
        "probability": rounded(table),
        "counts": counts.tolist(),
        "seen": seen.tolist(),
        "mean": rounded(_visited_mean(case, table)),
    }


def _visited_mean(case: Case, table: np.ndarray) -> Float[np.ndarray, "mode next_mode"]:
    """P(next mode | mode) averaged over the steps decoded as that mode: what the animal met with."""
    n_states = table.shape[2]
    mean = np.full(table.shape[:2], np.nan)
    states = np.concatenate(case.data.states) if n_states > 1 else np.zeros(case.data.n_steps, np.int64)
    modes = np.concatenate(case.modes)
    for mode in range(len(table)):
        visits = np.bincount(states[modes == mode], minlength=n_states)
        weight = visits / visits.sum() if visits.sum() else np.full(n_states, 1 / n_states)
        mean[mode] = table[mode] @ weight
    return mean
