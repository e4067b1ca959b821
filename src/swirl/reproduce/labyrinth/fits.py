"""The labyrinth's models: what is fitted, on which sessions, and how their settings were chosen.

Every choice is made on folds of sessions that are in neither split's test (`Ledger.chosen`, and
studies/labyrinth_choice.py for the model beyond the paper); test sessions are only scored.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from swirl import datasets
from swirl.analysis import mode_names as naming
from swirl.data.trajectories import Trajectories
from swirl.datasets.labyrinth import LABYRINTH_HOME, LABYRINTH_WATER
from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.registry import make
from swirl.estimators.swirl import SWIRL
from swirl.priors import Cauchy, Dirichlet, Gaussian, HabitGoals
from swirl.reproduce.cache import Ledger
from swirl.reproduce.fit_checks import scored_starts
from swirl.reproduce.page import Rows
from swirl.reproduce.scale import EVERY, Scale, untested
from swirl.rewards.forms import Habit

PLACES = {"water": LABYRINTH_WATER, "home": LABYRINTH_HOME}
ENDS = {"water": [LABYRINTH_WATER], "home": [LABYRINTH_HOME, 1, 2]}  # where a segment ends: home, or just in from it
MARKS = {"water port": LABYRINTH_WATER, "home": LABYRINTH_HOME}
N_MODES = 3
SWEPT = ("I-1", "I-2", "S-1", "S-2")
BEYOND_NAME = "habit + goals"
SESSION = 0  # of the test sessions, for the strips: the first, whatever it looks like
OF = "next_state"  # the currency of all comparisons: at node 0 two actions stay (design.md#recordings)

# What studies/labyrinth_choice.py chose on folds (studies/results/labyrinth_choice.md).
BEYOND = {
    "n_modes": 3,
    "history": 7,
    "reward": Habit(goal_history=2),
    "reward_prior": HabitGoals(habit=Gaussian(0.03, backoff=4.0), goal=Gaussian(0.2, backoff=1.3)),
    "switching_prior": Gaussian(8.0),
}
ONE_MODE = {
    "n_modes": 1,
    "history": 8,
    "reward": Habit(goal_history=2),
    "reward_prior": HabitGoals(habit=Gaussian(0.1, backoff=2.5), goal=Gaussian(0.4, backoff=2.5)),
}

# Priors to choose among, the same for every model of r(h).
REWARD_PRIORS = (
    Cauchy(),
    Gaussian(0.02, backoff=3.0, of="value"),
    Gaussian(0.05, backoff=3.0, of="value"),
    Gaussian(0.2, backoff=3.0, of="value"),
)
SWITCHING_PRIORS = {"S": (Gaussian(0.1), Gaussian(2.0)), "I": (Dirichlet(1.0), Dirichlet(1.0, stay=100.0))}


@dataclass
class Labyrinth:
    """Sessions, split as the paper splits them, and the models fitted to them.

    Parameters
    ----------
    offset
        Sessions offset, offset + 5, … are the test; the paper's split is 0.
    preparation
        How the recordings are read (`datasets.labyrinth`).
    """

    scale: Scale
    ledger: Ledger
    offset: int = 0
    preparation: str = "paper"
    _settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    _names: dict[SWIRL, tuple[tuple[str, ...], Rows]] = field(default_factory=dict)

    @cached_property
    def data(self) -> Trajectories:
        """Windows of 500 steps."""
        everything = datasets.labyrinth(self.preparation).trajectories
        return everything[: max(20, round(self.scale.share * len(everything)))]

    @cached_property
    def env(self) -> Any:
        """The maze."""
        return datasets.labyrinth_bout_env() if self.preparation == "clean" else datasets.labyrinth_env()

    @cached_property
    def train(self) -> Trajectories:
        """Four of five sessions."""
        return self.data.split(every=EVERY, offset=self.offset)[0]

    @cached_property
    def test(self) -> Trajectories:
        """Every fifth session."""
        return self.data.split(every=EVERY, offset=self.offset)[1]

    def other_split(self, offset: int) -> "Labyrinth":
        """The same sessions split otherwise; the settings are the same."""
        return Labyrinth(self.scale, self.ledger, offset, self.preparation, self._settings)

    def reading(self, preparation: str) -> "Labyrinth":
        """The same sessions read otherwise; the settings are the same."""
        return Labyrinth(self.scale, self.ledger, self.offset, preparation, self._settings)

    @property
    def _headline(self) -> bool:
        return self.offset == 0 and self.preparation == "paper"

    def _label(self, text: str) -> str:
        split = f" split {self.offset}" if self.offset else ""
        return text + split + (f" {self.preparation}" if self.preparation != "paper" else "")

    def settings(self, name: str) -> dict[str, Any]:
        """Priors of a named model with three modes, chosen on folds of the sessions in neither test."""
        if name not in self._settings:
            modes: dict[str, Any] = {} if name == "MaxEnt" else {"n_modes": N_MODES}
            modes |= {"n_restarts": min(3, self.scale.n_runs), "max_iter": self.scale.max_iter_folds}
            small = make(name, self.env, **modes)
            rewards = {"tiny": REWARD_PRIORS[2:3], "quick": REWARD_PRIORS[1:3]}.get(self.scale.name, REWARD_PRIORS)
            grid: dict[str, Any] = {"reward_prior": rewards}
            if name != "MaxEnt":
                grid["switching_prior"] = SWITCHING_PRIORS[name[0]][: 2 if self.scale.full else 1]
            self._settings[name] = self.ledger.chosen(f"choice {name}", small, untested(self.data), grid, of=OF)
        return self._settings[name]

    def named(self, name: str, n_modes: int = N_MODES, **changes: Any) -> SWIRL:
        """A model of the paper, by name, with its chosen priors: `scale.n_runs` single starts."""
        modes = {} if name == "MaxEnt" else {"n_modes": n_modes}
        n_runs = 1 if name == "MaxEnt" else self.scale.n_runs  # convex: every start ends in the same place
        settings = {**self.settings(name), **modes, **changes}
        model = make(name, self.env, n_restarts=n_runs, max_iter=self.scale.max_iter, **settings)
        told = modes | {key: value for key, value in changes.items() if key in ("temperature", "discount")}
        what = " ".join(f"{key}={value}" for key, value in told.items())
        return self.ledger.fit(self._label(f"{name} {what}"), model, self.train)

    def beyond(self, settings: str = "chosen") -> SWIRL:
        """Shared habit + mode goals, as the folds chose it.

        Parameters
        ----------
        settings
            "chosen"; "one mode", as the folds chose the model with one mode; or "same settings", the chosen one with
            its modes taken away.
        """
        options = {"chosen": BEYOND, "one mode": ONE_MODE, "same settings": {**BEYOND, "n_modes": 1}}[settings]
        tiny = {"history": 2} if self.scale.name == "tiny" else {}
        n_runs = 1 if options["n_modes"] == 1 else 2 * self.scale.n_runs
        if not self._headline:
            n_runs = max(1, n_runs // 2)  # a confirmation: fewer starts can only make it worse
        model = SWIRL(self.env, **{**options, **tiny}, n_restarts=n_runs, max_iter=self.scale.max_iter)
        return self.ledger.fit(self._label(f"habit and goals {options['n_modes']} modes"), model, self.train)

    def counts(self, order: int | Literal["auto"] = "auto") -> BackoffMarkov:
        """The count model of next states; order and smoothing are chosen on folds of the training sessions."""
        most = 2 if self.scale.name == "tiny" else 7
        model = BackoffMarkov(self.env, order=order, target="next_state", max_order=most)
        return self.ledger.fit(self._label(f"counts order {order}"), model, self.train)

    # ------------------------------------------------------------------ what the fits come to

    def run_scores(self, label: str, model: SWIRL) -> Rows:
        """Test scores of each single start, with its training objective; `best` marks the fit."""

        def measure(i: int, run: SWIRL) -> dict[str, Any]:
            return {
                "run": i,
                "next_state": run.score(self.test, of="next_state"),
                "action": run.score(self.test, of="action"),
                "objective": run.restarts_[i].objective / run.n_observed_,
                "least_occupied": float(run.occupancy_.min()),
                "best": i == model.best_restart_,
            }

        inputs = {"what": "run scores", "of": label, **self._inputs(model)}
        return scored_starts(self.ledger, self._label(f"scores {label}"), inputs, model, measure)

    def mode_names(self, model: SWIRL) -> tuple[tuple[str, ...], Rows]:
        """Names of the modes by what they do on the training sessions (`mode_names.name_modes`), and the evidence."""
        if model not in self._names:
            states = self.train.states
            n_modes = len(model.initial_modes_)
            names, evidence = naming.name_modes(model.predict(self.train), states, PLACES, n_modes=n_modes)
            self._names[model] = names, evidence.reset_index().to_dict("records")
        return self._names[model]

    def rows(self, label: str, model: Any, compute: Callable[[], Rows]) -> Rows:
        """A table that depends on one fitted model and the sessions."""
        return self.ledger.rows(self._label(label), {"what": label, **self._inputs(model)}, compute)

    def _inputs(self, model: Any) -> dict[str, Any]:
        """What a table depends on; how a fit ended, and its policies' sum of squares, tell it from others."""
        identity = f"{type(model).__name__} {model.fit_report_ or ''} {np.sum(model.choice_table() ** 2):.9f}"
        return {"data": self.data.fingerprint(), "key": identity, "offset": self.offset}
