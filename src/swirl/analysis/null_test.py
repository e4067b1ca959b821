"""Would data without it look the same?  Tests by simulation: are there modes at all, and what do they depend on?

A richer model always fits better than a simpler one inside it, so a gain alone says nothing.  The test simulates
sessions from the simpler model, as many and as long as the real ones, with the same gaps and missing actions; fits both
models to each; and counts how often the gain in log-likelihood is as large as the real one:

    p = (1 + b) / (1 + B)        b of B simulations gain as much or more

so p is never below 1 / (1 + B).  Prior and restarts are the same in all fits; the prior is the one that the simpler
model chooses on the real sessions, where it is left open.

For "modes" the simulations come from the best model without modes: the simpler model itself, or counts of what followed
the last states (`Markov`, its order chosen on folds), whichever predicts held-out sessions better.  A history that is
too short would otherwise look like modes.  Moves that the environment rules out are in no simulation: with
``impossible="gap"`` simulations have the same gaps, with ``"forget"`` their histories are longer than the real ones.

What it cannot tell: sessions or animals that differ from one another look like modes that never change
(`NullTest.within`).  `studies/null.py` has how often each test is wrong where nothing is there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from jaxtyping import Float

from swirl.analysis.grid_search import score_on_folds, with_modes, worded
from swirl.analysis.predictive_checks import simulated_like
from swirl.analysis.significance import LEVEL
from swirl.analysis.tasks import Engine, Folder, Progress, Shared, Task, carried_out, results
from swirl.data.folds import max_folds
from swirl.data.trajectories import Trajectories
from swirl.estimators.base import HiddenModeEstimator, as_trajectories, quietly
from swirl.estimators.fit_warnings import NOTHING
from swirl.estimators.registry import make
from swirl.text import InNotebooks, counted, number

__all__ = ["NullTest", "null_test"]

Question = Literal["modes", "switching", "history"]
QUESTIONS: tuple[Question, ...] = ("modes", "switching", "history")
WITHIN = 0.1  # share of the sessions in which the mode must change, lest modes be sessions


@dataclass(frozen=True)
class NullTest(InNotebooks):
    """A gain of a richer model, beside those where there is nothing to gain; print it for the answer."""

    question: Question
    simple: dict[str, Any]
    """Settings of the simpler model that the richer one differs in."""
    rich: dict[str, Any]
    gain: float
    """Log-likelihood of the richer fit minus that of the simpler one, on the sessions that both are fitted to."""
    simulated: Float[np.ndarray, "simulation"]
    """The same for each simulated data set."""
    simulator: str
    """What simulated them, in words."""
    n_steps: int
    within: float
    """Share of the sessions in which the decoded mode of the richer fit changes; of "modes" only, else NaN."""
    converged: float
    """Share of all fits that ended as they should."""

    @property
    def as_large(self) -> int:
        """How many simulations gain as much as the real sessions, or more."""
        least = self.gain - NOTHING * self.n_steps  # gains of rounding are alike
        return int((~(self.simulated < least)).sum())  # one that is not a number speaks for nothing

    @property
    def p_value(self) -> float:
        """(1 + b) / (1 + B)."""
        return (1 + self.as_large) / (1 + len(self.simulated))

    @property
    def floor(self) -> float:
        """The smallest p-value that so many simulations can give."""
        return 1 / (1 + len(self.simulated))

    @property
    def supported(self) -> bool:
        """Whether p is 0.05 or less."""
        return self.p_value <= LEVEL

    def verdict(self) -> str:
        """The answer in a sentence."""
        there, absent = ANSWERS[self.question]
        floor = f", the smallest that {len(self.simulated)} simulations can give" if self.as_large == 0 else ""
        told = f"{there if self.supported else absent} (p = {self.p_value:.2g}{floor})."
        if not self.supported and self.floor > LEVEL:
            told = f"Too few simulations to decide: p cannot be below {self.floor:.2g}; 19 are the fewest."
        if self.supported and self.within < WITHIN:
            told += (
                f" But the mode changes in only {self.within:.0%} of the sessions: these may be differences between "
                "sessions or animals."
            )
        return told

    def __str__(self) -> str:
        low, high, gain = (round(float(nats), 6) for nats in (self.simulated.min(), self.simulated.max(), self.gain))
        per_step = gain / self.n_steps
        lines = [
            self.verdict(),
            "",
            f"{worded(self.rich)} gains {number(gain, 4)} nats over {worded(self.simple)} "
            f"({number(per_step, 3)} per step).",
            f"{counted(len(self.simulated), 'data set')} simulated by {self.simulator}: {number(low, 4)} to "
            f"{number(high, 4)} nats; {self.as_large} as large.",
        ]
        if self.converged < 1:
            lines.append(f"{1 - self.converged:.0%} of the fits had not converged: raise max_iter.")
        return "\n".join(lines)

    def facts(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        named = ("question", "simple", "rich", "gain", "simulator", "n_steps", "within", "converged", "p_value")
        told = {name: getattr(self, name) for name in (*named, "floor", "supported")}
        return {"verdict": self.verdict(), **told, "simulated": self.simulated.tolist()}


ANSWERS = {
    "modes": ("Modes are supported", "Modes are not supported: sessions without modes gain as much"),
    "switching": (
        "Switching depends on the state",
        "No sign that switching depends on the state: without it the gain is as large",
    ),
    "history": (
        "Reward depends on the history",
        "No sign that reward depends on the history: without it the gain is as large",
    ),
}


def null_test(
    model: Any,
    data: Any,
    question: Question | str = "modes",
    *,
    n_simulations: int = 19,
    random_state: int = 0,
    folder: Folder | None = None,
    engine: Engine | None = None,
    callback: Callable[[Progress], Any] | None = None,
) -> NullTest:
    """Test by simulation whether sessions support a richer model.

    Parameters
    ----------
    model
        The richer model, such as ``swirl.make("S-2", env, n_modes=2)``; it is not changed.
    data
        The sessions.
    question
        ``"modes"``: against one mode.  ``"switching"``: against switching that does not depend on the state.
        ``"history"``: against a history of one state.
    n_simulations
        B; 19 are the fewest that can give p = 0.05, 99 give 0.01.
    folder, engine
        Where results are kept and where the work is done (`swirl.analysis.tasks`).
    callback
        Called with a `Progress` after each simulation.

    Examples
    --------
    >>> from swirl import SWIRL, datasets  # takes some seconds
    >>> world = datasets.gridworld(n_sessions=30, n_steps=100)
    >>> model = SWIRL(world.env, n_modes=2, history=1, n_restarts=2)
    >>> print(null_test(model, world.trajectories).verdict())
    Modes are supported (p = 0.05, the smallest that 19 simulations can give).
    """
    data = as_trajectories(data)
    if question not in QUESTIONS:
        raise ValueError(f"question={question!r}: expected one of {', '.join(QUESTIONS)}")
    asked = cast(Question, question)
    if isinstance(n_simulations, bool) or not isinstance(n_simulations, int) or n_simulations < 1:
        raise ValueError(f"n_simulations={n_simulations!r}: expected a whole number, at least 1 (19 for p = 0.05)")
    check_simulated(model)
    simple, rich = _pair(model, asked)
    own = model.get_params()
    if own.get("env") is not None and (own.get("impossible") or own["env"].default_impossible) == "gap":
        data = data.with_gaps([steps + 1 for steps in own["env"].impossible_transitions(data)])  # simulations have them
    with quietly():
        begun: Any = type(model)(**{**model.get_params(), **simple}).fit_to_score(data, progress=False)
    settled = {**begun.fitted_params}  # with the prior that it chose
    pair = [type(model)(**{**settled, **own}) for own in (simple, rich)]
    simulator, words = (begun, f"the fit with {worded(simple)}")
    if question == "modes":
        simulator, words = _best_without_modes(begun, pair[0], data)
    shared = Shared({"simulator": simulator, "simple": pair[0], "rich": pair[1], "data": data})
    seeds = np.random.SeedSequence(random_state).generate_state(n_simulations).tolist()
    tasks = [Task(gain_of, {"seed": None}, shared, {"simulation": "none, the real sessions"})]
    tasks += [Task(gain_of, {"seed": int(seed)}, shared, {"simulation": i}) for i, seed in enumerate(seeds)]
    if folder is not None:
        folder.ask(tasks, {"question": question})
    found = results(tasks, carried_out(tasks, folder=folder, engine=engine, callback=callback))
    if not np.isfinite(found[0]["gain"]):
        raise ValueError("the fits to the sessions did not come to a finite likelihood: use a stronger prior")
    return NullTest(
        asked,
        simple,
        rich,
        found[0]["gain"],
        np.array([own["gain"] for own in found[1:]]),
        words,
        data.n_steps,
        found[0]["within"] if question == "modes" else float("nan"),
        float(np.mean([own["converged"] for own in found])),
    )


def check_simulated(model: Any, argument: str = "model") -> None:
    """Refuse a model that cannot be simulated and fitted again, by EM, to what it simulated."""
    name = type(model).__name__
    if not isinstance(model, HiddenModeEstimator) or not model.fitted_by_em:
        raise ValueError(f"{argument} is {name}: expected one that EM fits, such as swirl.SWIRL(env)")
    if model.own_signals:
        raise ValueError(f"{argument} is {name}, of signals: simulations have states and actions only")


def gain_of(
    simulator: HiddenModeEstimator,
    simple: HiddenModeEstimator,
    rich: HiddenModeEstimator,
    data: Trajectories,
    seed: int | None,
    told: Callable[[Any], None] | None = None,
) -> dict[str, Any]:
    """Fit both models to the sessions, or to sessions simulated like them, and return the gain of the richer one."""
    drawn = data if seed is None else simulated_like(simulator, data, seed)
    found, converged, changes = [], [], []
    with quietly():
        for model in (simple, rich):
            fitted: Any = type(model)(**model.get_params()).fit_to_score(drawn, progress=False, callback=told)
            found.append(float(fitted.log_likelihood(drawn).sum()))
            converged.append(bool(fitted.converged_))
            changes = [bool((np.diff(path) != 0).any()) for path in fitted.predict(drawn)]
    return {"gain": found[1] - found[0], "converged": all(converged), "within": float(np.mean(changes))}


def _pair(model: Any, question: Question) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the simpler and the richer model differ in."""
    own = model.get_params()
    n_modes = own.get("n_modes")
    if question == "modes":
        one = with_modes(model, 1)
        if one is None or not isinstance(n_modes, int) or n_modes < 2:
            raise ValueError(f"model has n_modes={n_modes}: expected two or more, without settings for each mode")
        return one, {name: own[name] for name in one}
    if question == "switching":
        if n_modes == 1 or own["switching"] in ("independent", "fixed"):
            raise ValueError(
                f"model has n_modes={n_modes}, switching={own['switching']!r}: expected two modes or more, and "
                'switching by the state, as in switching="state"'
            )
        return {"switching": "independent"}, {"switching": own["switching"]}
    if own["history"] < 2:
        raise ValueError("model has history=1: expected 2 or more, to test against 1")
    return {"history": 1}, {"history": own["history"]}


def _best_without_modes(fitted: Any, simple: Any, data: Trajectories) -> tuple[Any, str]:
    """The model without modes that predicts held-out sessions best: the simpler one, or counts."""
    of = simple.score_type_of(data)
    words = "the best model without modes (n_modes=1)"
    if fitted.histories is None:
        return fitted, words
    counts = make("Markov", fitted.world, target=fitted.target, impossible=fitted.fitted_params.get("impossible"))
    n_folds = max_folds(data, 3)
    if n_folds < 2:
        return fitted, words
    scores = [score_on_folds(model, data, [{}], n_folds=n_folds, of=of).means[0] for model in (simple, counts)]
    if scores[0] >= scores[1]:
        return fitted, words
    counts.fit(data)
    return counts, f"the best model without modes (Markov, order {counts.order_})"
