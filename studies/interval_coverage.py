"""How often do 95 % intervals hold the truth: those of the observed information and of the bootstrap?

    python studies/interval_coverage.py --jobs 16         # all draws; says what they will cost, then starts
    python studies/interval_coverage.py --only "stochastic grid, S-1" --draws 10   # known draws are not made again
    python studies/interval_coverage.py --quick           # one small draw; nothing is written

Each draw is a data set simulated from a known truth that the model can reach (where animals differ none is true, and
intervals are held against the nearest one), one fit of the right form, and its intervals: those of the information;
the same as if no animals were known; and in some worlds those of a bootstrap with 20 refits.
"Policies" are counted by how probable the choice is in truth, and their widths held against the exact binomial interval
(Clopper & Pearson) of as many visits and choices as a data set is expected to hold. "Switching" is each probability of
going from one mode to another at a place, by how many such switches a data set is expected to hold.

Writes studies/results/interval_coverage.json (every draw) and .md. Stopped and started again, it goes on where it was.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import draws
import numpy as np
from bootstrap_coverage import true_model
from modes_claimed import slipping
from scipy.stats import beta

from swirl.analysis.bootstrap import bootstrap
from swirl.analysis.information import information
from swirl.analysis.intervals import Intervals, log_odds
from swirl.analysis.metrics import segmentation_accuracy
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld_env
from swirl.estimators.swirl import SWIRL
from swirl.inference.mode_matching import match_by_distance
from swirl.priors import Cauchy, Gaussian

COMMAND = "python studies/interval_coverage.py"
METHODS = ("information", "as if no animals were known", "bootstrap")
REFITS = 20
FEW, MANY = 5, 20  # switches from one mode to another at a place that a data set is expected to hold
FAR = 0.1  # by which a fit that decodes worse than the truth has found other modes
NAMES = {
    "preferences": "log-odds against the other modes", "rewards": "canonical rewards",
    "occupancy": "share of steps", "leaving": "leaving a mode", "initial_modes": "first mode",
}  # fmt: skip
RARE = f"switching, fewer than {FEW}"
SWITCHING = (f"switching, {MANY} or more", f"switching, {FEW} to {MANY}", RARE)
POLICIES = {
    "policies, p < 0.02": 0.02,
    "policies, 0.02 to 0.1": 0.1,
    "policies, 0.1 to 0.9": 0.9,
    "policies, p > 0.9": 1.0,
}
"""Up to which probability a choice belongs to each group."""
RARE_CHOICE = "log-odds where p < 0.02"
GOAL = "place of greatest reward"
DIFFERENT = "animals that differ, S-1 (no model is true)"


@dataclass(frozen=True)
class World:
    """A truth, the form of the model that is fitted, and how much of it is recorded."""

    truth: Callable[[], SWIRL]
    settings: dict[str, Any]
    n_sessions: int
    n_steps: int = 250
    draws: int = 20
    seconds: float = 8.0
    """Of one core, for one draw."""
    sample: Callable[[int, int, int], Trajectories] | None = None
    """Number of sessions, of steps, seed: where no model is true, and `truth` is the nearest one."""
    refits: bool = False
    """Whether the bootstrap is asked too."""


def pursuing(
    goals: tuple[int, ...],
    worth: float,
    *,
    at_goal: float,
    elsewhere: float,
    slip: float = 0.0,
    per_action: bool = False,
) -> SWIRL:
    """Modes that are rewarded for being at one place each, and end by additive switching, log P = A[z, z'] + b[s, z'].

    At its goal a mode ends with probability `at_goal`, about, and `elsewhere` elsewhere.
    """
    env = gridworld_env() if not slip else slipping(gridworld_env(), slip)
    n = len(goals)
    rewards = np.zeros((n, env.n_states))
    rewards[np.arange(n), goals] = worth
    stay = np.log((1 - elsewhere) / (elsewhere / (n - 1))) * np.eye(n)
    push = np.zeros((env.n_states, n))
    push[list(goals)] = -np.log(at_goal / (1 - at_goal) * (1 - elsewhere) / elsewhere) * np.eye(n)
    odds = stay + push[:, None]
    table = np.exp(odds) / np.exp(odds).sum(axis=-1, keepdims=True)
    if per_action:
        rewards = np.repeat(rewards[:, :, None], env.n_actions, axis=2)
    return SWIRL.from_parameters(
        env, history=1, rewards=rewards, mode_transitions=table, initial_modes=np.full(n, 1 / n)
    )


def animals(n_sessions: int, n_steps: int, seed: int) -> Trajectories:
    """Animals that differ, with two sessions each: in how much they want, and in how soon they want something else."""
    rng = np.random.default_rng(seed)
    parts, names = [], []
    for animal in range(n_sessions // 2):
        how = {"at_goal": float(rng.uniform(0.1, 0.5)), "elsewhere": float(rng.uniform(0.004, 0.02))}
        own = pursuing((14, 20), float(rng.uniform(0.6, 2.4)), slip=0.2, **how)
        parts.append(own.sample(2, n_steps, random_state=int(rng.integers(2**30))))
        names += [f"animal {animal}"] * 2
    states, actions, modes = (
        [path for part in parts for path in getattr(part, n)] for n in ("states", "actions", "modes")
    )
    return Trajectories(states, actions, subjects=names, modes=modes, n_states=25, n_actions=5)


RING = MDP.deterministic([[(s + 1) % 6, (s - 1) % 6, s, (s + 3) % 6] for s in range(6)])
APART = ((0.91, 0.05, 0.03, 0.01), (0.96, 0.03, 0.005, 0.005), (0.6, 0.35, 0.04, 0.01))
CLOSE = ((0.55, 0.3, 0.1, 0.05), (0.7, 0.2, 0.06, 0.04))
LEAVE = np.array([0.04, 0.06])


def habits(choices: tuple[tuple[float, ...], ...], rate: float = 1.0) -> SWIRL:
    """Six places, four actions, two modes with an order of actions each; `choices`: how probable these are, by place.

    Modes that are `CLOSE` differ in half of the places only.
    """
    order = np.array([[0, 2, 1, 3], [1, 3, 0, 2]])
    policies = np.empty((2, 6, 4))
    for mode, place in np.ndindex(2, 6):
        own = order[0] if choices is CLOSE and place % 2 else order[mode]
        policies[mode, place, own] = choices[(mode + place) % len(choices)]
    leave = rate * LEAVE
    table = np.array([[1 - leave[0], leave[0]], [leave[1], 1 - leave[1]]])
    return SWIRL.from_parameters(
        RING,
        history=1,
        rewards=np.log(policies),
        mode_transitions=np.repeat(table[None], 6, axis=0),
        initial_modes=LEAVE[::-1] / LEAVE.sum(),
    )


def differing(n_animals: int, spread: float = 0.7) -> Callable[[int, int, int], Trajectories]:
    """Animals alike in what they do, whose rates of leaving both modes differ: their logarithms by so much, mean 1."""

    def sample(n_sessions: int, n_steps: int, seed: int) -> Trajectories:
        rng = np.random.default_rng(seed)
        each = n_sessions // n_animals
        rates = np.exp(spread * rng.standard_normal(n_animals) - spread**2 / 2)
        parts = [habits(APART, rate).sample(each, n_steps, random_state=int(rng.integers(2**30))) for rate in rates]
        states, actions, modes = (
            [path for part in parts for path in getattr(part, name)] for name in ("states", "actions", "modes")
        )
        names = [f"animal {i}" for i in range(n_animals) for _ in range(each)]
        return Trajectories(states, actions, subjects=names, modes=modes, n_states=6, n_actions=4)

    return sample


@cache
def nearest() -> SWIRL:
    """The one model that is nearest to all such animals, from 600 of them."""
    env = slipping(gridworld_env(), 0.2)
    return SWIRL(env, n_modes=2, history=1, reward_prior=DENSE, n_restarts=2).fit(animals(1200, 150, 10**6))


DENSE = Gaussian(0.1, backoff=3.0, of="value")
S_2 = {"n_modes": 2, "history": 2, "reward_prior": Cauchy()}
FREE = {"n_modes": 2, "history": 1, "reward": "state-action", "switching": "independent"}
SHORT = {"n_steps": 100, "draws": 60, "seconds": 5.0}
CLEAR = "two modes well apart"
WORLDS: dict[str, World] = {
    CLEAR: World(lambda: habits(APART), FREE, 20, **{**SHORT, "seconds": 10.0}, refits=True),
    "two modes close together": World(lambda: habits(CLOSE), FREE, 20, **SHORT),
    "20 animals alike": World(lambda: habits(APART), FREE, 20, **SHORT, sample=differing(20, 0.0)),
    "20 animals that differ in rate, a session each": World(
        lambda: habits(APART), FREE, 20, **SHORT, sample=differing(20)
    ),
    "10 animals that differ in rate, 4 sessions each": World(
        lambda: habits(APART), FREE, 40, **SHORT, sample=differing(10)
    ),
    "6 animals that differ in rate, 4 sessions each": World(
        lambda: habits(APART), FREE, 24, **SHORT, sample=differing(6)
    ),
    "gridworld, S-2, 8 sessions": World(true_model, S_2, 8),
    "gridworld, S-2, 20 sessions": World(true_model, S_2, 20),
    "gridworld, S-2, 100 sessions": World(true_model, S_2, 100, seconds=16.0, draws=10),
    "stochastic grid, S-1": World(
        lambda: pursuing((14, 20), 1.5, at_goal=0.3, elsewhere=0.01, slip=0.2),
        {"n_modes": 2, "history": 1, "reward_prior": DENSE},
        20,
        seconds=20.0,
        refits=True,
    ),
    "stochastic grid, three modes, S-1": World(
        lambda: pursuing((2, 14, 20), 1.5, at_goal=0.3, elsewhere=0.01, slip=0.2),
        {"n_modes": 3, "history": 1, "reward_prior": DENSE, "n_restarts": 6},
        60,
        seconds=16.0,
    ),
    "stochastic grid, modes that seldom end, S-1": World(
        lambda: pursuing((14, 20), 1.5, at_goal=0.02, elsewhere=0.004, slip=0.2),
        {"n_modes": 2, "history": 1, "reward_prior": DENSE},
        40,
        150,
    ),
    "stochastic grid, modes that seldom end, I-1": World(
        lambda: pursuing((14, 20), 1.5, at_goal=0.0012, elsewhere=0.0012, slip=0.2),
        {"n_modes": 2, "history": 1, "reward_prior": DENSE, "switching": "independent", "n_restarts": 6},
        40,
        150,
    ),
    "stochastic grid, I-1, r(s, a)": World(
        lambda: pursuing((14, 20), 1.5, at_goal=0.01, elsewhere=0.01, slip=0.2, per_action=True),
        FREE,
        40,
    ),
    DIFFERENT: World(nearest, {"n_modes": 2, "history": 1, "reward_prior": DENSE}, 40, 150, sample=animals),
}


def true_values(model: SWIRL, n_steps: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """What intervals should hold, and how often a session is in each state and mode; exact, by going forward."""
    policies, switching, env = model.state_policies(), model.mode_transitions_, model.env
    n_modes = len(policies)
    moves = np.zeros((n_modes, env.n_states, env.n_states))
    following, probability = np.asarray(env.successors.next), np.asarray(env.successors.probability)
    for state, action, branch in np.ndindex(*following.shape):
        moves[:, state, following[state, action, branch]] += (
            policies[:, state, action] * probability[state, action, branch]
        )
    now = model.initial_states_[:, None] * model.initial_modes_
    visits, before = np.zeros_like(now), np.zeros_like(now)
    for _ in range(n_steps):
        before = visits
        visits = visits + now
        now = np.einsum("sz,szy,zsx->xy", now, switching, moves)
    stays = np.einsum("szz->sz", switching)
    rewards = model.reward_map("canonical")
    values = {
        "policies": policies,
        "preferences": log_odds(policies),
        "rewards": rewards - rewards.mean(axis=1, keepdims=True),
        "occupancy": visits.sum(axis=0) / n_steps,
        "leaving": 1 - (before * stays).sum(axis=0) / before.sum(axis=0),
        "initial_modes": model.initial_modes_,
        "mode_transitions": switching,
    }
    return values, before


def groups(name: str, true: np.ndarray, visits: np.ndarray) -> dict[str, np.ndarray]:
    """Which entries of a quantity count together."""
    if name == "policies":
        there, group = (true > 0) & (true < 1), np.searchsorted([*POLICIES.values()], true)
        kinds = {kind: there & (group == i) for i, kind in enumerate(POLICIES)}
        return {kind: kept for kind, kept in kinds.items() if kept.any()}
    if name != "mode_transitions":
        return {NAMES[name]: np.isfinite(true)}
    expected = visits[:, :, None] * true
    out = np.repeat(~np.eye(true.shape[1], dtype=bool)[None], len(true), axis=0)
    if np.ptp(true, axis=0).max() < 1e-12:  # one table for all places: it counts once
        expected = np.broadcast_to(expected.sum(axis=0), true.shape)
        out[1:] = False
    kinds = (expected >= MANY, (expected >= FEW) & (expected < MANY), expected < FEW)
    return {group: out & kind for group, kind in zip(SWITCHING, kinds, strict=True) if (out & kind).any()}


def binomial_width(p: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Width of the exact 95 % interval of n p events among n."""
    events, others = np.maximum(n * p, 1e-12), np.maximum(n * (1 - p), 1e-12)
    return beta.ppf(0.975, events + 1, others) - beta.ppf(0.025, events, others + 1)


def judged(found: Intervals, values: dict[str, np.ndarray], visits: np.ndarray) -> dict[str, list[float]]:
    """Of each group of intervals: how many hold the truth, how many there are, their mean width; of policies also that
    of the exact binomial intervals.
    """
    order = np.argsort(match_by_distance(values["policies"], found.fitted["policies"]))
    told: dict[str, list[float]] = {}
    for name, true in values.items():
        low, high = (in_order(end, name, order) for end in found.interval(name))
        inside, width = (low <= true + 1e-12) & (true <= high + 1e-12), high - low
        kinds = groups(name, true, visits)
        if name == "preferences" and (rare := np.isfinite(true) & (values["policies"] < 0.02)).any():
            kinds[RARE_CHOICE] = rare
        for group, kept in kinds.items():
            told[group] = [int(inside[kept].sum()), int(kept.sum()), round(float(width[kept].mean()), 4)]
            if name == "policies":
                least = binomial_width(true, np.broadcast_to(visits.T[:, :, None], true.shape))
                told[group].append(round(float(least[kept].mean()), 4))
    shares, best = found.best_places()[order], values["rewards"].argmax(axis=1)
    held = [shares[mode][shares[mode] > shares[mode][place]].sum() < 0.95 for mode, place in enumerate(best)]
    width = np.mean([np.searchsorted(np.cumsum(np.sort(own)[::-1]), 0.95 - 1e-9) + 1 for own in shares])
    told[GOAL] = [int(sum(held)), len(held), float(width)]
    return told


def in_order(table: np.ndarray, name: str, order: np.ndarray) -> np.ndarray:
    """A table of the fit with its modes in the order of the truth's."""
    return table[:, order][:, :, order] if name == "mode_transitions" else table[order]


def one_draw(world: str, seed: int, refits: int = REFITS, **settings: Any) -> dict[str, Any]:
    """Simulate a world, fit, and ask for intervals in three ways."""
    began = time.perf_counter()
    own = WORLDS[world]
    truth = own.truth()
    n_sessions, n_steps = settings.pop("n_sessions", own.n_sessions), settings.pop("n_steps", own.n_steps)
    values, visits = true_values(truth, n_steps)
    number = seed + 10_000 * list(WORLDS).index(world)
    data = own.sample(n_sessions, n_steps, number) if own.sample else truth.sample(n_sessions, n_steps, number)
    if own.sample:  # what the nearest model says of shares and first modes is not what the animals come to
        values = {name: true for name, true in values.items() if name not in ("occupancy", "leaving", "initial_modes")}
    model = SWIRL(truth.env, **{"n_restarts": 3, "random_state": seed, **own.settings, **settings}).fit(data)
    ways = {
        "information": lambda: information(model, data, random_state=seed),
        "bootstrap": lambda: bootstrap(model, data, n_draws=refits, random_state=seed),
    }
    accuracy = [segmentation_accuracy(data.modes, one.predict(data)) for one in (truth, model)]
    row: dict[str, Any] = {"world": world, "seed": seed, "accuracy": accuracy}
    for method in ways if refits and own.refits else ["information"]:
        asked = time.perf_counter()
        try:
            found = ways[method]()
        except ValueError as fault:  # refused, with a reason
            row[method] = {"refused": str(fault)}
            continue
        spent = time.perf_counter() - asked
        row[method] = {"covered": judged(found, values, visits * n_sessions), "seconds": spent}
        if found.between is not None:
            row[METHODS[1]] = {"covered": judged(replace(found, between=None), values, visits * n_sessions)}
    return row | {"seconds": time.perf_counter() - began}


def coverage(
    found: list[dict[str, Any]], method: str, group: str
) -> tuple[float, float, float, int, float | None] | None:
    """Share of intervals that hold the truth, its standard error over draws, mean width, how many there were, and the
    mean width in units of the exact binomial ones (policies).
    """
    own = [row[method]["covered"][group] for row in found if group in row.get(method, {}).get("covered", {})]
    if not own:
        return None
    inside, n, width = np.array([told[:3] for told in own], dtype=float).T
    error = np.std(inside / n, ddof=1) / np.sqrt(len(own)) if len(own) > 1 else float("nan")
    exact = [told[3] for told in own if len(told) > 3]
    ratio = float(np.mean(width) / np.mean(exact)) if exact else None
    return float(inside.sum() / n.sum()), float(error), float(np.mean(width)), int(n.sum()), ratio


def with_true_modes(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Draws whose fit has the true modes: no interval is about another optimum."""
    return [row for row in found if row["accuracy"][1] >= row["accuracy"][0] - FAR]


def with_true_model(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Draws of worlds whose truth the model can reach, without animals."""
    return [row for row in found if WORLDS[row["world"]].sample is None]


def rows_of(found: list[dict[str, Any]]) -> list[str]:
    """Groups that there are, in the order of the table."""
    known = {group for row in found for method in METHODS for group in row.get(method, {}).get("covered", {})}
    order = [*POLICIES, *NAMES.values(), RARE_CHOICE, GOAL, *SWITCHING]
    return [group for group in order if group in known]


def table(found: list[dict[str, Any]]) -> str:
    """Coverage of each quantity by each method, and mean widths."""
    methods = [method for method in METHODS if any(method in row for row in found)]
    lines = ["| 95 % intervals of | " + " | ".join(methods) + " |", "|:--|" + "--:|" * len(methods)]
    for group in rows_of(found):
        cells = []
        for method in methods:
            told = coverage(found, method, group)
            if told is None:
                cells.append("—")
                continue
            ratio = "" if told[4] is None else f", {told[4]:.2f} of the binomial one"
            cells.append(f"{100 * told[0]:.1f} ± {100 * told[1]:.1f} % (width {told[2]:.3g}{ratio})")
        lines.append(f"| {group} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def refusals(found: list[dict[str, Any]]) -> dict[str, int]:
    """How often each method gave a reason and no intervals."""
    return {method: sum("refused" in row.get(method, {}) for row in found) for method in METHODS}


def short_of(found: list[dict[str, Any]], method: str, least: float) -> list[str]:
    """Groups in which fewer intervals hold the truth, beyond two standard errors."""
    told = {group: coverage(found, method, group) for group in rows_of(found)}
    return [group for group, own in told.items() if own is not None and own[0] + 2 * own[1] < least]


def page(found: list[dict[str, Any]], made: str) -> str:
    """The results in words."""
    left = [world for world, own in WORLDS.items() if sum(row["world"] == world for row in found) < own.draws]
    parts = ["# Do the intervals hold?", f"`{COMMAND}` ({made})"]
    if left:
        parts.append(f"Not all draws have been made yet: {'; '.join(left)}.")
    seconds = {
        method: np.median(told)
        for method in METHODS
        if (told := [row[method]["seconds"] for row in found if "seconds" in row.get(method, {})])
    }
    parts.append(
        f"{len(found)} data sets. Share of 95 % intervals that hold the truth, ± its standard error over data sets, "
        "and their mean width (of the place of greatest reward: how many places make up 95 % of the draws). Seconds "
        f"for all intervals of one fit, median: {', '.join(f'{name} {own:.1f}' for name, own in seconds.items())}. "
        f"Refused: {', '.join(f'{name} {n}' for name, n in refusals(found).items())}. Policies: by how probable the "
        "choice is; “of the binomial one”: mean width in units of the exact binomial interval of the visits and "
        "choices that a data set is expected to hold. Switching: by how many such switches it is expected to hold. "
        "“As if no animals were known”: the same intervals without the part that how the animals differ has in them."
    )
    right = with_true_modes(found)
    there = with_true_model(right)
    parts += [
        f"In {len(found) - len(right)} of them the fit has other modes than the truth (it decodes {FAR:.0%} fewer "
        "steps rightly): another optimum, or too little data. No interval is about that, and they are left out below, "
        "but for the last table.",
        "## All worlds whose truth the model can reach, where the fit has the true modes",
        table(there),
        reading(there),
    ]
    for world, told in WORLDS.items():
        own = [row for row in right if row["world"] == world]
        if own:
            parts += [f"## {world}", f"{len(own)} draws of {told.n_sessions} × {told.n_steps} steps.", table(own)]
    parts += ["## All data sets, other modes among them", table(found)]
    return "\n\n".join(parts) + "\n"


def reading(found: list[dict[str, Any]]) -> str:
    """What the figures say."""
    lines = []
    for method in METHODS:
        if any(method in row for row in found):
            worst = short_of(found, method, 0.95)
            lines.append(f"- **{method}**: below 95 % beyond two standard errors: {'; '.join(worst) or 'none'}.")
    return "\n".join(lines)


def write(found: list[dict[str, Any]], folder: Path) -> None:
    """Write what is known so far."""
    found = sorted(found, key=lambda row: (list(WORLDS).index(row["world"]), row["seed"]))
    draws.write(found, folder, "interval_coverage", COMMAND, page)


def main() -> None:
    """Make the draws that are not known yet."""
    refits = (REFITS, "of each bootstrap; 0: none")
    options = draws.options(__doc__.splitlines()[0], list(WORLDS), refits=refits)
    if options.quick:
        small = {"n_sessions": 8, "n_steps": 60, "n_restarts": 1, "max_iter": 200, "refits": 4}
        print(table([one_draw(world, 0, **small) for world in options.only or [CLEAR]]))
        return
    found = draws.known(options.output, "interval_coverage")

    def keep(row: dict[str, Any]) -> None:
        found.append(row)
        write(found, options.output)

    left = draws.left(found, {world: own.draws for world, own in WORLDS.items()}, options)
    cost = lambda case: WORLDS[case[0]].seconds  # noqa: E731
    settings = {"jobs": options.jobs, "limit": options.limit, "refits": options.refits}
    draws.make(one_draw, left, seconds=cost, keep=keep, **settings)
    print(table(found))


if __name__ == "__main__":
    main()
