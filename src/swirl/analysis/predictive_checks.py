"""Predictive checks: does a fitted model, let run, behave as the animals did?

The model simulates data sets of the same size; each statistic of the real data is set beside its distribution over
the simulated ones.  Parameters are the fitted ones, without their uncertainty, so the ranges are on the narrow side.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from swirl.analysis.behaviour import at, backtracking_rate, occupancy, return_intervals, switch_rate, visit_rate
from swirl.analysis.significance import LEVEL, max_corrected, strays
from swirl.data.segments import Bouts, bouts_of, find_segments, split_at_gaps
from swirl.data.trajectories import Trajectories
from swirl.data.trajectory_checks import MISSING
from swirl.estimators.base import as_trajectories, quietly

__all__ = ["PredictiveChecks", "predictive_checks", "simulated_like"]

Statistic = tuple[str, str, str]
"""What, of which mode or place ("" = all), and which summary of it."""
TRIES = 100  # batches of sessions drawn before giving up on `accept`
ENOUGH = round(2 / LEVEL) - 1  # data sets without which no p-value can come down to the level


@dataclass(frozen=True)
class PredictiveChecks:
    """Statistics of the real data beside those of simulated data.

    Attributes
    ----------
    real
        Scalar summaries, by (what, of, summary).
    simulated
        The same for each simulated data set, [draw].
    real_values
        What the summaries are of, for drawing, by (what, of): pooled dwell times (of bouts seen from start to end) and
        return intervals, visit rates of each session, occupancy of each state.
    simulated_values
        The same, one array for each draw.
    simulated_bouts
        The bouts of each mode in each draw.
    """

    real: dict[Statistic, float]
    simulated: dict[Statistic, Float[np.ndarray, "draw"]]
    real_values: dict[tuple[str, str], np.ndarray]
    simulated_values: dict[tuple[str, str], list[np.ndarray]]
    simulated_bouts: tuple[list[Bouts], ...] = ()

    @property
    def n_draws(self) -> int:
        """Number of simulated data sets."""
        return len(next(iter(self.simulated.values())))

    def p_value(self, statistic: Statistic) -> float:
        """Two-sided predictive p-value: 2 min(share ≥, share ≤), the real data counted among the draws, at most 1.

        It cannot be less than 2 / (n_draws + 1); NaN where the statistic is not defined.
        """
        real, drawn = self.real[statistic], self.simulated[statistic]
        drawn = drawn[np.isfinite(drawn)]
        if not np.isfinite(real) or not len(drawn):
            return np.nan
        tail = 1 + min(int((drawn >= real).sum()), int((drawn <= real).sum()))
        return min(1.0, 2 * tail / (1 + len(drawn)))

    @cached_property
    def corrected(self) -> dict[Statistic, float]:
        """P-values corrected for all statistics of the table together (`significance.max_corrected`).

        How often *any* statistic of a simulated data set strays as far from the others as this one does in the real
        data: were the model true, a table would have a value of 0.05 or less once in twenty times. Never below
        `p_value`, so 39 simulated data sets are the fewest that can say 0.05; Holm's correction of 21 p-values would
        want 839. NaN where `p_value` is.
        """
        values = np.array([[self.real[name], *self.simulated[name]] for name in self.real]).T
        found = zip(self.real, max_corrected(strays(values)), strict=True)
        return {name: float(np.maximum(p, self.p_value(name))) for name, p in found}

    @property
    def n_tests(self) -> int:
        """How many statistics have a p-value: the size of the family that is corrected for."""
        return int(np.isfinite(list(self.corrected.values())).sum())

    @property
    def words(self) -> str:
        """What the corrected p-values are corrected for, and whether there were draws enough to tell anything."""
        told = f"corrected p-values are for {self.n_tests} statistics together (step-down maximum over the simulations)"
        if self.n_draws >= ENOUGH:
            return told
        return f"{told}; with {self.n_draws} simulated data sets none can be as small as {LEVEL}: {ENOUGH} are needed"

    def table(self) -> Any:
        """One row per statistic, as a pandas DataFrame.

        real, simulated 2.5 %, 50 % and 97.5 %, p_value (of that statistic alone), corrected_p_value (`corrected`),
        tests (how many that one is for) and draws.
        """
        import pandas as pd

        rows = []
        for (what, of, summary), real in self.real.items():
            drawn = self.simulated[what, of, summary]
            drawn = drawn[np.isfinite(drawn)]
            low, middle, high = np.quantile(drawn, [0.025, 0.5, 0.975]) if len(drawn) else [np.nan] * 3
            row = {"statistic": what, "of": of, "summary": summary, "real": real, "low": low, "median": middle}
            p_values = {"p_value": self.p_value((what, of, summary))}
            p_values["corrected_p_value"] = self.corrected[what, of, summary]
            rows.append({**row, "high": high, **p_values, "tests": self.n_tests, "draws": len(drawn)})
        return pd.DataFrame(rows)


def predictive_checks(
    model: Any,
    data: Any,
    *,
    places: Mapping[str, Any] | None = None,
    n_draws: int = 39,
    random_state: int = 0,
    accept: Callable[[np.ndarray], bool] | None = None,
) -> PredictiveChecks:
    """Compare data with data sets simulated from a fitted model, of the same session lengths.

    Modes are Viterbi paths on both sides: real modes are not known, and decoding has errors of its own, so decoded
    must be compared with decoded, and at equal evidence: an action that is missing in the data is missing at the same
    step of every simulation. A segment between gaps is simulated by itself: the model's chain restarts there.
    Where data hold transitions that the environment rules out, mark them first
    (``data.with_gaps([t + 1 for t in env.impossible_transitions(data)])``): no simulation has any.

    Parameters
    ----------
    model
        A fitted model, with `sample` and `predict`.
    data
        `Trajectories`; sessions the model was not fitted to make the stricter check.
    places
        For each name, the state or states, such as {"water": 23, "home": 0}; None: no statistics of places.
    n_draws
        Simulated data sets. A p-value, corrected or not, is never below 2 / (n_draws + 1): 39 for 0.05, 199 for 0.01.
    accept
        How the real sessions were chosen, where they were: a function of a session's states. Simulated sessions
        for which it is False are drawn again. (The labyrinth's windows all hold 7 visits to port and home or more;
        a model that has no part in that choice would seem to visit too seldom.)

    Returns
    -------
    PredictiveChecks
        Dwell times (median and mean with the bouts that were cut, as `swirl.data.segments.Bouts` has them; where too
        few ended, the least they can be) and share of each mode, switches, occupancy (of each place, its entropy, and
        its distance to the other data sets'), return intervals and visit rates of each place, backtracking and
        staying.

    Examples
    --------
    >>> from swirl.datasets import gridworld
    >>> from swirl.estimators.swirl import SWIRL
    >>> data = gridworld(n_sessions=10, n_steps=100)
    >>> t = data.truth
    >>> truth = SWIRL.from_parameters(data.env, history=2, rewards=t.rewards, mode_transitions=t.mode_transitions,
    ...                               initial_modes=t.initial_modes)
    >>> checks = predictive_checks(truth, data.trajectories, places={"water": 23, "home": 0}, n_draws=9)
    >>> table = checks.table()
    >>> table[table["statistic"] == "visits per 100 steps"][["of", "summary"]].values.tolist()
    [['water', 'mean'], ['water', 'SD over sessions'], ['home', 'mean'], ['home', 'SD over sessions']]
    """
    data = as_trajectories(data)
    if n_draws < 1:
        raise ValueError(f"n_draws={n_draws}: expected 1 or more simulated data sets")
    places = {} if places is None else places
    sets = [(split_at_gaps(data.states, data.gaps), split_at_gaps(model.predict(data), data.gaps))]
    n_states = data.n_states
    for seed in np.random.SeedSequence(random_state).generate_state(n_draws):
        drawn = simulated_like(model, data, int(seed), accept)
        with quietly():  # a simulation may go where the animals were not seen in training
            sets.append((split_at_gaps(drawn.states, drawn.gaps), split_at_gaps(model.predict(drawn), drawn.gaps)))
        n_states = max(n_states, drawn.n_states)
    n_modes = 1 + max(int(path.max()) for _, decoded in sets for path in decoded)

    bouts = [bouts_of(find_segments(decoded), n_modes) for _, decoded in sets]
    values = [_values(*one, own, places, n_states) for one, own in zip(sets, bouts, strict=True)]
    scalars = [_summaries(*one, own, places, v) for one, own, v in zip(sets, bouts, values, strict=True)]
    # Each data set, real or simulated, against the mean of all others: were the model true, all would be alike.
    shares = np.array([v["occupancy", ""] for v in values])
    others = (shares.sum(axis=0) - shares) / n_draws
    for scalar, distance in zip(scalars, 0.5 * np.abs(shares - others).sum(axis=1), strict=True):
        scalar["occupancy", "", "distance to the other data sets"] = float(distance)
    real, drawn = scalars[0], scalars[1:]
    return PredictiveChecks(
        real,
        {name: np.array([scalar[name] for scalar in drawn]) for name in real},
        values[0],
        {name: [v[name] for v in values[1:]] for name in values[0]},
        tuple(bouts[1:]),
    )


def simulated_like(
    model: Any, data: Trajectories, random_state: int, accept: Callable[[np.ndarray], bool] | None = None
) -> Trajectories:
    """Simulate data with the sessions, gaps and missing actions of real data.

    Each segment is simulated by itself; the start of a longer simulated session is distributed as a shorter one. What
    a decoder is told of the simulation is what it is told of the data, so that decoded modes can be compared.
    `accept` as in `predictive_checks`, asked of each segment.

    Examples
    --------
    >>> from swirl.datasets import gridworld
    >>> truth = gridworld(n_sessions=1, n_steps=10).true_model()
    >>> drawn = simulated_like(truth, Trajectories([[0, 1, 2, 7], [3, 3]], [[1, -1, 1, -1], [-1, -1]]), 0)
    >>> drawn.lengths.tolist(), [(actions < 0).tolist() for actions in drawn.actions]
    ([4, 2], [[False, True, False, True], [True, True]])
    """
    seeds = np.random.default_rng(random_state)
    pieces = split_at_gaps(data.states, data.gaps)
    lengths = np.array([len(piece) for piece in pieces])
    states: list[Any] = [None] * len(lengths)
    actions, signals = list(states), list(states)
    missing = np.arange(len(lengths))
    for _ in range(TRIES):
        drawn = model.sample(len(missing), int(lengths[missing].max()), random_state=int(seeds.integers(2**31)))
        for k, (i, path, action) in enumerate(zip(missing, drawn.states, drawn.actions, strict=True)):
            if accept is None or accept(path[: lengths[i]]):
                states[i], actions[i] = path[: lengths[i]], action[: lengths[i]]
                signals[i] = {name: values[k][: lengths[i]] for name, values in (drawn.signals or {}).items()}
        missing = np.array([i for i in missing if states[i] is None], dtype=np.int64)
        if not len(missing):
            ends = np.cumsum(data.lengths)[:-1]
            known = np.concatenate(data.actions) != MISSING
            return Trajectories(
                np.split(np.concatenate(states), ends),
                np.split(np.where(known, np.concatenate(actions), MISSING), ends),
                gaps=data.gaps,
                n_states=drawn.n_states,
                n_actions=drawn.n_actions,
                signals={name: np.split(np.concatenate([one[name] for one in signals]), ends) for name in signals[0]},
            )
    raise ValueError(
        f"accept: {len(missing)} of {len(lengths)} simulated sessions were refused {TRIES} times each, so the model "
        "hardly ever behaves so: leave accept out, and read the difference from the table"
    )


def _values(
    states: Sequence[Any], modes: Sequence[Any], bouts: list[Bouts], places: Mapping[str, Any], n_states: int
) -> dict[tuple[str, str], np.ndarray]:
    """What is summarised, by (what, of)."""
    values = {("dwell time", f"mode {k}"): own.length for k, own in enumerate(bouts)}
    values["mode share", ""] = occupancy(modes, len(bouts))
    values["occupancy", ""] = occupancy(states, n_states)
    for name, place in places.items():
        values["return interval", name] = return_intervals(states, place)
        values["visits per 100 steps", name] = visit_rate(states, place)
    return values


def _summaries(
    states: Sequence[Any],
    modes: Sequence[Any],
    bouts: list[Bouts],
    places: Mapping[str, Any],
    values: dict[tuple[str, str], np.ndarray],
) -> dict[Statistic, float]:
    """Scalar summaries, by (what, of, summary)."""
    scalars: dict[Statistic, float] = {}
    for mode, own in enumerate(bouts):
        median = own.median if np.isfinite(own.median) or not own.longest else float(own.longest)
        scalars["dwell time", f"mode {mode}", "median"] = median
        scalars["dwell time", f"mode {mode}", "mean"] = own.at_risk / max(own.exits, 1) if own.at_risk else np.nan
    for what, of in values:
        if what == "return interval":
            known = len(values[what, of]) > 0
            scalars[what, of, "median"] = float(np.median(values[what, of])) if known else np.nan
            scalars[what, of, "mean"] = float(np.mean(values[what, of])) if known else np.nan
        elif what == "visits per 100 steps":
            scalars[what, of, "mean"] = float(np.mean(values[what, of]))
            scalars[what, of, "SD over sessions"] = float(np.std(values[what, of]))
    for mode, share in enumerate(values["mode share", ""]):
        scalars["mode share", f"mode {mode}", "share"] = float(share)
    scalars["switches per 100 steps", "", "rate"] = switch_rate(modes)
    steps = np.concatenate(states)
    for name, place in places.items():
        scalars["occupancy", name, "share"] = float(at(steps, place).mean())
    share = values["occupancy", ""][values["occupancy", ""] > 0]
    scalars["occupancy", "", "entropy"] = float(-np.sum(share * np.log(share)))
    scalars["backtracking", "", "rate"] = backtracking_rate(states)
    stays = np.concatenate([path[1:] == path[:-1] for path in states])
    scalars["staying", "", "rate"] = float(stays.mean()) if len(stays) else np.nan
    return scalars
