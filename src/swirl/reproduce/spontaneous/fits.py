"""The spontaneous experiment's models: sessions, priors to choose from, fits and scores.

Priors are chosen on folds of the sessions that are in neither test set.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from swirl.analysis.comparison_result import Comparison
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.registry import make
from swirl.estimators.swirl import SWIRL
from swirl.priors import Dirichlet, Gaussian, HabitGoals
from swirl.reproduce.cache import Ledger, fit_inputs
from swirl.reproduce.fit_checks import scored_starts
from swirl.reproduce.page import Rows
from swirl.reproduce.scale import EVERY, Scale, untested
from swirl.rewards import Habit

MODELS = ("MaxEnt", "ARHMM", "rARHMM", "I-1", "I-2", "S-1", "S-2")
BEYOND = "habit + goals"  # a habit of two syllables that all modes share, and goals of each mode: not in the paper
PLAIN = "S-2 without back-off"
AS_GOOD = 0.001  # nats per step on the folds
N_MODES = {"full": (1, 2, 3, 4, 5, 6, 7, 8), "quick": (1, 2, 5), "tiny": (2,)}
# What training folds choose from: the same for models of the same order and switching, so that none is tuned harder.
ONE_STATE = [*(Dirichlet(c) for c in (0.1, 0.3, 1.0, 3.0)), *(Gaussian(c) for c in (0.1, 0.3, 1.0))]
TWO_STATES = [Dirichlet(0.3), *(Gaussian(c, backoff=b) for c in (0.1, 0.3, 1.0) for b in (10.0, 30.0, 100.0))]
HABITS = [
    HabitGoals(Gaussian(0.05, backoff=b), Gaussian(c, backoff=2.0)) for c in (0.1, 0.5) for b in (10.0, 30.0, 100.0)
]
SWITCHING: dict[str, list[Any]] = {
    "independent": [Dirichlet(1.0), Dirichlet(0.1), Dirichlet(1.0, stay=20.0), Dirichlet(0.1, stay=200.0)],
    "state": [Gaussian(0.1), Gaussian(1.0), Gaussian(3.0), Gaussian(10.0)],
    "state-table": [Dirichlet(0.1, stay=1.0), Dirichlet(2.0), Dirichlet(2.0, stay=5.0), Dirichlet(10.0, stay=20.0)],
}


@dataclass(frozen=True)
class Work:
    """The sessions, how much to compute, and where it is kept."""

    scale: Scale
    ledger: Ledger
    env: MDP
    sessions: Trajectories

    @property
    def modes(self) -> tuple[int, ...]:
        """Numbers of modes to try."""
        return N_MODES[self.scale.name]

    @property
    def headline(self) -> int:
        """Five modes, the paper's choice; fewer in a test."""
        return 5 if 5 in self.modes else self.modes[-1]

    @property
    def untested(self) -> Trajectories:
        """Sessions in neither test set: all choices are made on these."""
        return untested(self.sessions)

    def split(self, offset: int = 0) -> tuple[Trajectories, Trajectories]:
        """Training and test sessions."""
        return self.sessions.split(every=EVERY, offset=offset)

    @property
    def tiny(self) -> bool:
        """Whether this is a test: fewer models and choices."""
        return self.scale.name == "tiny"

    def choose(
        self, label: str, model: Any, grid: dict[str, list[Any]], within: float = AS_GOOD
    ) -> list[tuple[dict[str, Any], float]]:
        """Choose settings on three folds of the untested sessions; after them those less than `within` behind.

        Each with how far it is behind. In a test, the first value mostly.
        """
        if self.tiny and "S-1-reward" not in label:
            return [({what: values[0] for what, values in grid.items()}, 0.0)]
        grid = {what: values[:2] for what, values in grid.items()} if self.tiny else grid
        model.set_params(max_iter=self.scale.max_iter_folds)
        return self.ledger.near(label, model, self.untested, grid, within, of="action")


def build(work: Work, name: str, n_modes: int, settings: Mapping[str, Any], n_restarts: int | None = None) -> Any:
    """Make a model of the experiment by name."""
    arguments: dict[str, Any] = {"impossible": "forget", "max_iter": work.scale.max_iter, **settings}
    arguments["n_restarts"] = n_restarts or work.scale.n_runs
    if name == BEYOND:  # three states in the reward: the policy sees two
        return SWIRL(work.env, history=3, n_modes=n_modes, **arguments)
    if name != "MaxEnt":
        arguments["n_modes"] = n_modes
    if "ARHMM" not in name:
        arguments.setdefault("reward", "state-action")
    return make(name, work.env, **arguments)


def choose_settings(work: Work, name: str) -> dict[str, Any]:
    """Choose the prior, the form of switching and its prior, in this order, on folds of the untested sessions."""
    return {what: values[0] for what, values in near_values(work, name).items()}


def near_values(work: Work, name: str) -> dict[str, list[Any]]:
    """Of each argument the chosen value, then those less than `AS_GOOD` below it where the others are as chosen."""
    prior = "emission_prior" if "ARHMM" in name else "reward_prior"
    found: dict[str, Any] = {}
    near: dict[str, list[Any]] = {}

    def settle(what: str, values: list[Any]) -> None:
        model = build(work, name, work.headline, found, n_restarts=max(1, work.scale.n_runs // 2))
        near[what] = [one[what] for one, _ in work.choose(f"choose-{name}-{what}", model, {what: values})]
        found[what] = near[what][0]

    if name == BEYOND:
        found["reward_prior"] = HABITS[0]
        settle("reward", [Habit(1), Habit(2)])
        settle(prior, HABITS)
        found["switching"] = "state"
    else:
        settle(prior, TWO_STATES if name.endswith("-2") else ONE_STATE)
    if name in ("rARHMM", "S-1", "S-2"):
        settle("switching", ["state", "state-table"])
    if name != "MaxEnt":
        settle("switching_prior", SWITCHING[found.get("switching", "independent")])
    return {what: near.get(what, [value]) for what, value in found.items()}


def settings_as_good(work: Work, name: str) -> list[tuple[dict[str, Any], float]]:
    """The chosen settings, then those less than `AS_GOOD` below the best on the folds, each with how far it is behind.

    Values that are as good one by one need not be so together, so all combinations of them are scored.
    """
    near = near_values(work, name)
    chosen = {what: values[0] for what, values in near.items()}
    several = {what: values for what, values in near.items() if len(values) > 1}
    if not several:
        return [(chosen, 0.0)]
    model = build(work, name, work.headline, chosen, n_restarts=max(1, work.scale.n_runs // 2))
    scored = work.choose(f"choose-{name}-reward-and-others", model, several, np.inf)
    together = [({**chosen, **one}, behind) for one, behind in scored]
    first = [(one, behind) for one, behind in together if one == chosen]
    return first + [(one, behind) for one, behind in together if one != chosen and behind < AS_GOOD]


def fit_all(work: Work, chosen: Mapping[str, dict[str, Any]]) -> dict[tuple[str, int], Any]:
    """Fit every model with every number of modes."""
    train, _ = work.split()
    return {
        (name, n_modes): work.ledger.fit(f"{name}-K={n_modes}", build(work, name, n_modes, settings), train)
        for name, settings in chosen.items()
        for n_modes in ((1,) if name == "MaxEnt" else work.modes)
    }


def counts(work: Work, env: MDP, train: Trajectories, label: str) -> dict[str, Any]:
    """Smoothed counts without modes; their strengths are chosen on folds of the training sessions."""
    orders = {"order-1 counts": 1, "order-2 counts": 2, "counts": "auto"}
    models = {name: BackoffMarkov(env, order=n, max_order=4, impossible="forget") for name, n in orders.items()}
    return {name: work.ledger.fit(f"{label}-{name}", model, train) for name, model in models.items()}


def scores(work: Work, label: str, model: Any, test: Trajectories | None = None) -> Rows:
    """Test score and training objective of each single start."""
    test = work.split()[1] if test is None else test

    def measure(i: int, start: Any) -> dict[str, Any]:
        return {"run": i, "score": start.score(test, of="action"), "objective": start.restarts_[i].objective}

    name, _, n_modes = label.rpartition("-K=")
    inputs = {**fit_inputs(model, test), "fitted to": model.data_fingerprint_}
    rows = scored_starts(work.ledger, f"{label}-scores", inputs, model, measure)
    return [{"model": name, "modes": int(n_modes), **row} for row in rows]


def compare(models: Mapping[str, Any], test: Trajectories) -> Comparison:
    """Score fitted models once on the same steps."""
    steps = {name: model.n_scored(test) for name, model in models.items()}
    if len(set(steps.values())) > 1:
        raise ValueError(f"models score different numbers of steps: {steps}")
    return Comparison(
        of="action",
        n_scored=next(iter(steps.values())),
        names=tuple(models),
        models=dict(models),
        log_likelihoods=np.array([model.log_likelihood(test, of="action") for model in models.values()]),
        steps=np.array([int((actions >= 0).sum()) for actions in test.actions]),
        subjects=test.subjects,
        seconds=np.zeros(len(models)),
        chosen={},
    )


def ahead(compared: Comparison, name: str, reference: str, column: str) -> dict[str, float | None]:
    """Two columns: by how much a model is ahead of another, and half its 95 % interval; nothing beside itself."""
    gain, half = (None, None) if name == reference else compared.difference(name, reference)
    return {column: gain, "± 95 %": half}
