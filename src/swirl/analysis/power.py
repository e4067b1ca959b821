"""How many sessions do I need?  Power by simulation, from a fit or from a sketch of what one expects.

A true model simulates data sets of each design (so many animals, sessions of each, steps of a session); the same model
is fitted to each from fresh starts, with the prior chosen anew; its modes are matched to the true ones; and what was
given back is measured:

    modes      m = (right − base) / (ceiling − base)
               right, ceiling: share of the steps that the fit, and the true model itself, decode as the true mode;
               base: naming the commonest mode everywhere.  1: as well as the true model can, 0: nothing learnt.
    goals      g = the least over modes of (r[best] − mean r) / (max r − mean r)
               r: the true mode's least-norm reward of each place (design.md#gauge); best: the place that the fit has
               highest.  1: the true goal.
    policies   d = mean of ½ Σ_a |π_z(a|s) − π̂_z(a|s)| over the steps
    switching  e = Σ_{z,s} w[z,s] ½ Σ_z' |P_z(z'|z,s) − P̂_z(z'|z,s)| / Σ_{z,s} w[z,s] (1 − P_z(z|z,s))
               w: steps in each true mode and state.  0: right, 1: as wrong as a model that never switches.

A design suffices where at least a wanted share of its data sets reach the target, there and in every larger design.
A goal and a switch belong to a mode, so a data set gives them back only if it gives back the modes as well.  Where the
true model itself can hardly tell its modes apart (`MIN_TOLD`), no data set does, however large.

What it cannot tell: animals are as the true model says.  Where that is wrong (other modes, a longer memory, animals
that differ more), more are needed than it says.  `studies/power.py` has how often its shares hold.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from numbers import Real
from typing import Any, cast

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.analysis.bootstrap import choices_by_state, place_rewards
from swirl.analysis.null_test import check_simulated
from swirl.analysis.significance import LEVEL
from swirl.analysis.tasks import Engine, Folder, Progress, Shared, Task, carried_out, results
from swirl.data.trajectories import Trajectories
from swirl.data.trajectory_checks import MISSING
from swirl.errors import Faults
from swirl.estimators.base import HiddenModeEstimator, quietly
from swirl.estimators.em_estimator import whole_number
from swirl.estimators.swirl import SWIRL
from swirl.inference.mode_matching import match_by_overlap
from swirl.priors import Adaptive
from swirl.text import InNotebooks, counted, listed, percent

__all__ = ["Design", "Power", "Target", "power_analysis"]

QUESTIONS = ("modes", "goals", "policies", "switching")
SESSIONS = (2, 4, 8, 16, 32)
MIN_TOLD = 0.2
"""What the true model must decode, of the steps that naming the commonest mode everywhere gets wrong."""
ROUNDING = 1e-9
SAME_POLICY = 1e-3  # how far policies that are planned from given rewards may be from the fitted ones


@dataclass(frozen=True, order=True)
class Design:
    """An experiment by its size.

    >>> str(Design(4, 3, 400)), str(Design(1, 12, 400))
    ('4 animals with 3 sessions of 400 steps each', '12 sessions of 400 steps')
    """

    n_animals: int
    n_sessions: int
    """Of each animal."""
    n_steps: int
    """Of each session."""

    @property
    def total(self) -> int:
        """Steps in all."""
        return self.n_animals * self.n_sessions * self.n_steps

    def within(self, other: "Design") -> bool:
        """Whether the other is as large in every respect, or larger."""
        return all(a <= b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True))

    def __str__(self) -> str:
        sessions = f"{counted(self.n_sessions, 'session')} of {counted(self.n_steps, 'step')}"
        each = " each" if self.n_sessions > 1 else ""
        return sessions if self.n_animals == 1 else f"{counted(self.n_animals, 'animal')} with {sessions}{each}"


@dataclass(frozen=True)
class Target:
    """What counts as given back; see the top of `swirl.analysis.power` for the measures."""

    modes: float | int = 0.9
    """m, of what the true model itself decodes beyond the commonest mode."""
    goals: float | int = 0.5
    """g, in the worst mode: what its best place is worth to the true mode, above the mean place."""
    policies: float | int = 0.1
    """d at most: one choice in ten would be made otherwise."""
    switching: float | int = 0.3
    """e at most, of all switching there is."""
    right: float | int | None = None
    """Share of all steps in the right mode, besides; None: not asked."""


@dataclass(frozen=True)
class Power(InNotebooks):
    """How often simulated data sets of each design give back the truth; print it for the answer.

    Examples
    --------
    >>> def of(right):
    ...     return {"right": np.array(right), "ceiling": np.full((2, 3), 0.9), "base": np.full((2, 3), 0.5)}
    >>> found = Power((Design(1, 4, 100), Design(1, 8, 100)), of([[0.6, 0.9, 0.7], [0.9, 0.9, 0.9]]), ("modes",))
    >>> print(found.verdict())
    8 sessions of 100 steps suffice: 3 of 3 simulated data sets gave back the modes (95 % interval 29 to 100 %).
    """

    designs: tuple[Design, ...]
    measures: dict[str, Float[np.ndarray, "design simulation"]]
    """right, ceiling, base, goals, policies, switching and converged of each data set, as they are called above."""
    questions: tuple[str, ...]
    """What is asked for, all of it together."""
    target: Target = Target()
    power: float | int = 0.8
    """Share of the data sets that must reach the target."""
    between_animals: float | int = 0.0
    missing_actions: float | int = 0.0

    @property
    def n_simulations(self) -> int:
        """Data sets of each design."""
        return int(self.measures["right"].shape[1])

    @property
    def told(self) -> Float[np.ndarray, "design simulation"]:
        """What the true model decodes, of the steps that naming the commonest mode everywhere gets wrong."""
        return _gain(self.measures["ceiling"], self.measures["base"], np.ones_like(self.measures["base"]))

    @property
    def recovered(self) -> Float[np.ndarray, "design simulation"]:
        """m of each data set."""
        return _gain(self.measures["right"], self.measures["base"], self.measures["ceiling"])

    def reached(self, question: str | None = None) -> Bool[np.ndarray, "design simulation"]:
        """Which data sets gave back what is asked for: one question (with the modes), or None: all."""
        if question is None:
            return np.logical_and.reduce([self.reached(each) for each in self.questions])
        modes = (self.told >= MIN_TOLD) & (self.recovered >= self.target.modes - ROUNDING)
        if self.target.right is not None:
            modes &= self.measures["right"] >= self.target.right - ROUNDING
        if question == "modes":
            return modes
        if question == "goals":
            return modes & (self.measures["goals"] >= self.target.goals - ROUNDING)
        return modes & (self.measures[question] <= vars(self.target)[question] + ROUNDING)

    def counts(self, question: str | None = None) -> Int[np.ndarray, "design"]:
        """How many data sets of each design gave it back."""
        return self.reached(question).sum(axis=1)

    def intervals(self, question: str | None = None) -> Float[np.ndarray, "design 2"]:
        """95 % interval of the share of data sets, for each design."""
        return np.array([share_interval(int(n), self.n_simulations) for n in self.counts(question)])

    def smallest(self, question: str | None = None) -> Design | None:
        """The design with the fewest steps that suffices, as do all that are larger; None: none does."""
        enough = self.counts(question) >= self.power * self.n_simulations - ROUNDING
        found = [
            design
            for design in self.designs
            if all(fine for other, fine in zip(self.designs, enough, strict=True) if design.within(other))
        ]
        return min(found, key=lambda design: (design.total, design), default=None)

    def told_of(self, design: Design, question: str | None = None) -> str:
        """How many data sets of a design gave it back, in words."""
        i = self.designs.index(design)
        low, high = self.intervals(question)[i]
        asked = self.questions if question is None else ("modes", question) if question != "modes" else ("modes",)
        what = listed([f"the {name}" for name in dict.fromkeys(asked)])
        share = f"{int(self.counts(question)[i])} of {self.n_simulations} simulated data sets gave back {what}"
        return f"{share} (95 % interval {100 * low:.0f} to {100 * high:.0f} %)"

    def verdict(self, question: str | None = None) -> str:
        """The answer in a sentence or two."""
        best = self.smallest(question)
        if best is not None:
            fewer = any(other != best and other.within(best) for other in self.designs)
            more = "" if fewer else " Fewer were not tried."
            return (
                f"{_as_begun(str(best))} suffice{'s' if _is_one(best) else ''}: {self.told_of(best, question)}.{more}"
            )
        largest = max(self.designs, key=lambda design: design.total)
        i = self.designs.index(largest)
        right, ceiling, base = (float(self.measures[name][i].mean()) for name in ("right", "ceiling", "base"))
        itself = f"the true model itself has {percent(ceiling, space=' ')} of the steps in the right mode"
        if float(self.told[i].mean()) < MIN_TOLD:
            return (
                f"No amount of data will distinguish these modes: {itself}, naming the commonest mode everywhere "
                f"{percent(base, space=' ')}. Modes that differ more, or last longer, can be distinguished."
            )
        if self.target.right is not None and ceiling < self.target.right:
            return (
                f"No amount of data will do: {itself}, and {percent(self.target.right, space=' ')} are asked for. Ask "
                "for less."
            )
        held = min(self.questions, key=lambda name: int(self.counts(name)[i])) if question is None else None
        words = (
            "" if held is None else f" What lacks most: the {held}, {counted(int(self.counts(held)[i]), 'data set')}."
        )
        share = (
            f"{percent(right, space=' ')} of the steps in the right mode, the true model {percent(ceiling, space=' ')}"
        )
        return (
            f"No design that was tried suffices. With the largest, {largest}, {self.told_of(largest, question)}; on "
            f"average the fits have {share}.{words} Try more."
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row for each design: how many data sets gave back what, with intervals, and the means of the measures."""
        found = []
        for i, design in enumerate(self.designs):
            row: dict[str, Any] = {**asdict(design), "steps": design.total, "simulations": self.n_simulations}
            for question in (None, *self.questions):
                low, high = self.intervals(question)[i].tolist()
                reached = int(self.counts(question)[i])
                row[question or "all"] = {"reached": reached, "low": low, "high": high}
            means = {name: float(values[i].mean()) for name, values in self.measures.items()}
            found.append({**row, "recovered": float(self.recovered[i].mean()), "means": means})
        return found

    def __str__(self) -> str:
        lines = [self.verdict(), ""]
        if len(self.questions) > 1:
            for question in self.questions:
                best = self.smallest(question)
                lines.append(f"{question}: " + ("none of these suffices" if best is None else f"{best}"))
            lines.append("")
        heads = ["design", *(("all",) if len(self.questions) > 1 else ()), *self.questions, "steps right", "ceiling"]
        table = [heads]
        for row in self.rows():
            design = Design(row["n_animals"], row["n_sessions"], row["n_steps"])
            shares = [f"{row[name]['reached']}/{self.n_simulations}" for name in heads[1:-2]]
            means = [percent(row["means"][name], space=" ") for name in ("right", "ceiling")]
            table.append([str(design), *shares, *means])
        widths = [max(len(line[i]) for line in table) for i in range(len(heads))]
        for line in table:
            cells = [line[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(line[1:], widths[1:], strict=True))]
            lines.append("  ".join(cells))
        return "\n".join([*lines, *self._remarks()])

    def _remarks(self) -> list[str]:
        """What to know besides."""
        found = []
        best = self.smallest()
        if best is not None and self.intervals()[self.designs.index(best)][0] < self.power:
            found.append(
                f"The interval reaches below {percent(self.power, space=' ')}: more simulations would narrow it."
            )
        if len({design.n_animals for design in self.designs}) > 1 and not self.between_animals:
            found.append("All animals are alike here (between_animals = 0): another one is just more sessions.")
        unfinished = 1 - float(self.measures["converged"].mean()) if "converged" in self.measures else 0.0
        if unfinished > 0:
            found.append(f"{percent(unfinished, space=' ')} of the fits had not converged: raise max_iter.")
        return ["", *found] if found else []

    def facts(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        best = self.smallest()
        return {
            "verdict": self.verdict(),
            "answer": None if best is None else asdict(best),
            "answers": {name: None if (own := self.smallest(name)) is None else asdict(own) for name in self.questions},
            "questions": list(self.questions),
            "target": asdict(self.target),
            "power": self.power,
            "between_animals": self.between_animals,
            "missing_actions": self.missing_actions,
            "designs": self.rows(),
            "measures": {name: values.tolist() for name, values in self.measures.items()},
        }


def _is_one(design: Design) -> bool:
    return design.n_animals == 1 and design.n_sessions == 1


def _as_begun(words: str) -> str:
    return words[:1].upper() + words[1:]


def _gain(reached: np.ndarray, least: np.ndarray, most: np.ndarray) -> np.ndarray:
    """(reached − least) / (most − least); nothing was gained where there is nothing to gain."""
    room = most - least
    return np.divide(reached - least, room, out=np.zeros_like(room), where=room > ROUNDING)


def share_interval(n: int, of: int) -> tuple[float, float]:
    """95 % interval of a probability from n cases of so many: never too narrow (Clopper and Pearson 1934).

    >>> [round(end, 3) for end in share_interval(18, 20)]
    [0.683, 0.988]
    """
    from scipy.special import betaincinv

    low = 0.0 if n == 0 else float(betaincinv(n, of - n + 1, LEVEL / 2))
    return low, 1.0 if n == of else float(betaincinv(n + 1, of - n, 1 - LEVEL / 2))


def power_analysis(
    truth: Any,
    *,
    model: Any = None,
    n_sessions: int | Sequence[int] = SESSIONS,
    n_steps: int | Sequence[int] = 200,
    n_animals: int | Sequence[int] = 1,
    between_animals: float | int = 0.0,
    missing_actions: float | int = 0.0,
    questions: Sequence[str] | None = None,
    target: Target | None = None,
    power: float | int = 0.8,
    n_simulations: int = 20,
    random_state: int = 0,
    folder: Folder | None = None,
    engine: Engine | None = None,
    callback: Callable[[Progress], Any] | None = None,
) -> Power:
    """Find by simulation how many sessions give back modes, goals and switching.

    Parameters
    ----------
    truth
        A fitted model, or one with given parameters (`SWIRL.from_parameters`, `datasets.sketched`).
    model
        What is fitted to each data set; None: the same model, its prior chosen anew where the fit chose it.
    n_sessions, n_steps, n_animals
        Sessions of each animal, steps of a session, animals: lists, of which all combinations are tried.
    between_animals
        How much animals differ: the standard deviation of what each adds to the reward of each place, in each mode. One
        fit is made to all animals together. At 0 another animal is just more sessions.
    missing_actions
        Share of the actions that are not recorded; 1: states alone.
    questions
        Some of ``"modes"``, ``"goals"``, ``"policies"`` and ``"switching"``; None: modes, goals (where rewards are not
        of places, policies) and switching.
    target
        What counts as given back.
    power
        Share of the data sets that must reach it.
    n_simulations
        Data sets of each design: 20 know a share to about ± 20 %, 100 to ± 9 %.
    folder, engine
        Where results are kept and where the work is done (`swirl.analysis.tasks`). A folder of before is added to.
    callback
        Called with a `Progress` after each fit.

    Examples
    --------
    >>> from swirl import datasets  # takes some seconds
    >>> truth = datasets.sketched(datasets.gridworld_env(), [4, 20], dwell=20)
    >>> model = SWIRL(truth.env, history=1, reward="state-action", n_restarts=1, max_iter=30)
    >>> found = power_analysis(truth, model=model, n_sessions=[2, 4], n_steps=40, n_simulations=2)
    >>> found.questions, found.measures["right"].shape
    (('modes', 'policies', 'switching'), (2, 2))
    """
    truth_faults(truth)
    fitted = model_of(truth) if model is None else model
    asked = _check(truth, fitted, questions, target, power, between_animals, missing_actions, n_simulations)
    designs = designs_of(n_animals, n_sessions, n_steps)
    if between_animals:
        animal_like(truth, 0.0, np.random.default_rng(0))  # refuses what it cannot make
    shared = Shared(
        {
            "truth": truth,
            "model": fitted,
            "between_animals": float(between_animals),
            "missing_actions": float(missing_actions),
        }
    )
    # Round by round: what is left to do is told from whole rounds, and designs of later runs change no seed.
    tasks = []
    for i, design in product(range(n_simulations), designs):
        own = {"design": design, "seed": seed_of(random_state, design, i)}
        tasks.append(Task(recovery, own, shared, {**asdict(design), "simulation": i}, cost=float(design.total)))
    if folder is not None:
        folder.ask(tasks, {"questions": list(asked)})
    found = results(tasks, carried_out(tasks, folder=folder, engine=engine, callback=callback))
    names = list(found[0])
    measured = {
        name: np.array([_number(own[name]) for own in found]).reshape(n_simulations, len(designs)).T for name in names
    }
    return Power(designs, measured, asked, target or Target(), power, float(between_animals), float(missing_actions))


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def seed_of(random_state: int, design: Design, i: int) -> int:
    """Seed of the i-th data set of a design: the same whatever else is asked for.

    >>> seed_of(0, Design(1, 4, 100), 0) == seed_of(0, Design(1, 4, 100), 1)
    False
    """
    return int(np.random.SeedSequence([random_state, *asdict(design).values(), i]).generate_state(1)[0] >> 1)


def designs_of(
    n_animals: int | Sequence[int], n_sessions: int | Sequence[int], n_steps: int | Sequence[int]
) -> tuple[Design, ...]:
    """All combinations, the smallest first; a fault where one is no size.

    >>> [str(design) for design in designs_of(1, [8, 4], 100)]
    ['4 sessions of 100 steps', '8 sessions of 100 steps']
    """
    faults, sizes = Faults(), []
    for name, given in (("n_animals", n_animals), ("n_sessions", n_sessions), ("n_steps", n_steps)):
        values = list(given) if isinstance(given, Sequence | np.ndarray) else [given]
        if not values:
            faults.add(f"{name} is empty: expected one or more whole numbers")
        for value in values:
            whole_number(name, value, 2 if name == "n_steps" else 1, faults)
        sizes.append(values)
    faults.raise_if_any()
    found = {Design(*map(int, case)) for case in product(*sizes)}
    return tuple(sorted(found, key=lambda design: (design.total, design)))


def truth_faults(truth: Any) -> None:
    """Refuse what cannot be simulated and fitted again."""
    check_simulated(truth, "truth")
    truth.check_fitted()
    if len(truth.initial_modes_) < 2:
        raise ValueError("truth has one mode: expected two or more, for there to be modes to find")


def model_of(truth: Any) -> Any:
    """The model that a truth is an instance of, not fitted: the prior is chosen anew where the fit chose it.

    >>> from swirl.datasets import gridworld
    >>> model_of(gridworld(n_sessions=2, n_steps=20).true_model())
    SWIRL(MDP(25 states, 5 actions, deterministic))
    """
    own = dict(truth.get_params())
    if truth.prior_scores_ is not None and not isinstance(own.get("reward_prior"), Adaptive):
        own["reward_prior"] = None
    if not truth.restarts_ and truth.fit_report_ is None:  # given parameters: their switching is not to be known
        own["switching"] = "state" if truth.switches_by_state else "independent"
    return type(truth)(**own)


def _check(
    truth: Any,
    model: Any,
    questions: Sequence[str] | None,
    target: Target | None,
    power: Any,
    between_animals: Any,
    missing_actions: Any,
    n_simulations: Any,
) -> tuple[str, ...]:
    """What is asked for; all faults at once."""
    check_simulated(model, "model")
    faults = Faults()
    own, n_modes = model.get_params().get("n_modes"), len(truth.initial_modes_)
    if own != n_modes:
        faults.add(f"model has n_modes={own}: expected {n_modes}, as many as the truth has")
    whole_number("n_simulations", n_simulations, 1, faults)
    for name, value, most in (
        ("power", power, 1.0), ("between_animals", between_animals, np.inf), ("missing_actions", missing_actions, 1.0),
    ):  # fmt: skip
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= most:
            faults.add(f"{name}={value!r}: expected a number {'from 0 to 1' if most == 1 else 'of at least 0'}")
    for name, value in asdict(target or Target()).items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) <= 1):
            faults.add(f"target.{name}={value!r}: expected a number above 0, and at most 1")
    there = has_goals(truth) and model.get_params().get("reward") == truth.get_params().get("reward")
    switches = bool(_leaving(truth).max() > ROUNDING)
    if questions is None:
        asked = ("modes", "goals" if there else "policies", *(["switching"] if switches else []))
    else:
        asked = tuple(name for name in QUESTIONS if name in questions)
        unknown = [name for name in questions if name not in QUESTIONS]
        if unknown or not asked:
            faults.add(f"questions={list(questions)}: expected some of {', '.join(QUESTIONS)}")
        if "goals" in asked and not there:
            faults.add(
                "questions: goals need rewards of places, in the truth and in the model; ask for policies instead"
            )
        if "switching" in asked and not switches:
            faults.add("questions: the modes of the truth never switch, so there is no switching to find")
    faults.raise_if_any()
    return asked


def has_goals(truth: Any) -> bool:
    """Whether some mode wants some places more than others, in a model whose rewards are of places."""
    if not truth.gauges or truth.reward_tables("fitted").ndim != 2:
        return False
    worth = place_rewards(truth)
    return worth is not None and bool((np.nanmax(worth, axis=1) - np.nanmin(worth, axis=1) > ROUNDING).any())


def _leaving(model: Any) -> Float[np.ndarray, "state mode"]:
    """How likely each mode ends, in each state."""
    return 1 - np.diagonal(model.mode_transitions_, axis1=1, axis2=2)


def animal_like(truth: Any, spread: float | int, rng: np.random.Generator) -> SWIRL:
    """An animal whose reward of each place differs from the truth's, in each mode, by a normal number of that spread.

    >>> from swirl.datasets import gridworld
    >>> truth = gridworld(n_sessions=2, n_steps=20).true_model()
    >>> bool(np.allclose(animal_like(truth, 0.0, np.random.default_rng(0)).policies_, truth.policies_))
    True
    """
    if not truth.gauges or truth.histories is None:
        raise ValueError(f"between_animals: {type(truth).__name__} has no rewards in which animals could differ; use 0")
    rewards, histories = truth.reward_tables("fitted"), truth.histories
    moved = spread * rng.standard_normal((len(rewards), histories.n_states))[:, histories.states]
    settings = truth.fitted_params
    animal = SWIRL.from_parameters(
        truth.world,
        history=histories.length,
        rewards=rewards + (moved if rewards.ndim == 2 else moved[:, :, None]),
        histories=histories.table,
        mode_transitions=truth.mode_transitions_,
        initial_modes=truth.initial_modes_,
        temperature=truth.mode_temperatures_,
        discount=settings["discount"],
    )
    if not spread and np.abs(animal.policies_ - truth.policies_).max() > SAME_POLICY:
        raise ValueError(
            "between_animals: the policies of this model are not planned from its rewards alone (a habit, or goals), "
            "so animals cannot be made from other rewards; use 0"
        )
    animal.initial_states_ = truth.initial_states_
    return animal


def simulated(
    truth: Any, design: Design, rng: np.random.Generator, between_animals: float | int, missing_actions: float | int
) -> tuple[Trajectories, list[Int[np.ndarray, "time"]]]:
    """Sessions of a design, and what the model of each animal itself decodes."""
    parts, decoded = [], []
    for animal in range(design.n_animals):
        own = animal_like(truth, between_animals, rng) if between_animals else truth
        drawn = own.sample(design.n_sessions, design.n_steps, random_state=int(rng.integers(2**31)))
        actions = [np.where(rng.random(len(path)) < missing_actions, MISSING, path) for path in drawn.actions]
        part = Trajectories(
            drawn.states,
            actions,
            modes=drawn.modes,
            subjects=[f"animal {animal}"] * design.n_sessions,
            n_states=drawn.n_states,
            n_actions=drawn.n_actions,
        )
        parts.append(part)
        with quietly():
            decoded += own.predict(part)
    return Trajectories.concatenate(parts), decoded


def recovery(
    truth: HiddenModeEstimator,
    model: HiddenModeEstimator,
    between_animals: float,
    missing_actions: float,
    design: Design,
    seed: int,
    told: Callable[[Any], None] | None = None,
) -> dict[str, Any]:
    """Simulate a data set, fit the model to it, and measure what was given back (the top of this module has how)."""
    data, ideal = simulated(truth, design, np.random.default_rng(seed), between_animals, missing_actions)
    true = np.concatenate(cast(list, data.modes))
    states = np.concatenate(data.states)
    n_modes = len(truth.initial_modes_)
    with quietly():
        fitted: Any = type(model)(**{**model.get_params(), "random_state": seed}).fit_to_score(
            data, progress=False, callback=told
        )
        decoded = fitted.predict(data)
    match = match_by_overlap(cast(list, data.modes), decoded, n_modes, n_modes)
    order = np.argsort(match)
    weights = np.zeros((n_modes, truth.mode_transitions_.shape[0]))
    np.add.at(weights, (true, states), 1.0)
    return {
        "right": float(np.mean(match[np.concatenate(decoded)] == true)),
        "ceiling": float(np.mean(np.concatenate(ideal) == true)),
        "base": float(np.bincount(true).max() / len(true)),
        "goals": _goals_found(truth, fitted, order),
        "policies": _policies_apart(truth, fitted, order, weights),
        "switching": _switching_apart(truth, fitted, order, weights),
        "converged": bool(fitted.converged_),
    }


def _goals_found(truth: Any, fitted: Any, order: Int[np.ndarray, "mode"]) -> float | None:
    """The least over modes of what the fit's best place is worth to the true mode; None where there are no goals."""
    if not has_goals(truth):
        return None
    worth, found = place_rewards(truth), place_rewards(fitted)
    if worth is None or found is None:
        return None
    scores = []
    for true, own in zip(worth, found[order], strict=True):
        above = true - np.nanmean(true)
        if np.nanmax(above) > ROUNDING:  # a mode that explores has no goal
            scores.append(float(above[np.nanargmax(own)] / np.nanmax(above)))
    return min(scores)


def _policies_apart(
    truth: Any, fitted: Any, order: Int[np.ndarray, "mode"], weights: Float[np.ndarray, "mode state"]
) -> float | None:
    """Mean total-variation distance of the choices over the steps; None where there is no table of choices."""
    one, other = choices_by_state(truth), choices_by_state(fitted)
    if one is None or other is None:
        return None
    apart = 0.5 * np.abs(one - other[order]).sum(axis=-1)
    return float(np.sum(weights * apart) / weights.sum())


def _switching_apart(
    truth: Any, fitted: Any, order: Int[np.ndarray, "mode"], weights: Float[np.ndarray, "mode state"]
) -> float | None:
    """Misplaced switching over all there is; None where modes never switch."""
    apart = 0.5 * np.abs(truth.mode_transitions_ - fitted.mode_transitions_[:, order][:, :, order]).sum(axis=-1)
    there = float(np.sum(weights * _leaving(truth).T))
    return float(np.sum(weights * apart.T) / there) if there > ROUNDING else None


def cost(designs: Sequence[Design], n_simulations: int) -> str:
    """What will be done, in words.

    >>> cost([Design(1, 4, 100), Design(1, 8, 100)], 20)
    '40 fits: 20 data sets of each of 2 designs, 400 to 800 steps'
    """
    totals = sorted(design.total for design in designs)
    steps = f"{totals[0]:,} to {totals[-1]:,} steps" if totals[0] < totals[-1] else f"{totals[0]:,} steps"
    sets = counted(n_simulations, "data set")
    return (
        f"{counted(len(designs) * n_simulations, 'fit')}: {sets} of each of {counted(len(designs), 'design')}, {steps}"
    )
