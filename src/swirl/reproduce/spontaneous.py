"""Spontaneous behaviour (paper §4.3): nine syllables, up to eight modes, dopamine beside the reward.

State = current syllable, action = next syllable, so rewards are r(s, a) and S-1 has the likelihood of the rARHMM
(DESIGN §2d).  Priors are chosen on folds of the sessions that are in neither test set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from swirl.baselines import BackoffMarkov
from swirl.comparison import Comparison
from swirl.datasets import spontaneous
from swirl.mdp import MDP
from swirl.model import SWIRL
from swirl.priors import Dirichlet, Gaussian, HabitGoals
from swirl.registry import make
from swirl.reproduce import spontaneous_figures as figures
from swirl.reproduce.ledger import Ledger, fit_inputs
from swirl.reproduce.page import Experiment, Numbers, Section, Text
from swirl.reproduce.published import SPONTANEOUS
from swirl.reproduce.settings import Scale
from swirl.rewards import Habit
from swirl.signals import signal_test
from swirl.trajectories import Trajectories

MODELS = ("MaxEnt", "ARHMM", "rARHMM", "I-1", "I-2", "S-1", "S-2")
BEYOND = "habit + goals"  # a habit of two syllables that all modes share, and goals of each mode: not in the paper
PLAIN = "S-2 without back-off"
ENDED = "S-1 run to the end"
AIMS = {"S-1": -1.548}
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
SECOND = 2  # the second split's test sessions are 2, 7, 12, …


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
        return self.sessions[[i for i in range(len(self.sessions)) if i % 5 not in (0, SECOND)]]

    def split(self, offset: int = 0) -> tuple[Trajectories, Trajectories]:
        """Training and test sessions."""
        return self.sessions.split(every=5, offset=offset)

    @property
    def tiny(self) -> bool:
        """Whether this is a test: fewer models and choices."""
        return self.scale.name == "tiny"

    def choose(self, label: str, model: Any, what: str, values: list[Any]) -> dict[str, Any]:
        """Choose one argument on three folds of the untested sessions; in a test, the first value mostly."""
        if self.tiny and "S-1-reward" not in label:
            return {what: values[0]}
        values = values[:2] if self.tiny else values
        return self.ledger.chosen(label, model, self.untested, {what: values}, of="action")


def run(scale: Scale, ledger: Ledger) -> Experiment:
    """Compute and lay out the experiment."""
    data = spontaneous()
    sessions = data.trajectories[: max(15, round(scale.share * len(data.trajectories)))]
    work = Work(scale, ledger, data.env, sessions)
    wanted = ("MaxEnt", "rARHMM", "S-1", "S-2") if work.tiny else (*MODELS, BEYOND)
    chosen = {name: choose_settings(work, name) for name in wanted}
    fits = fit_all(work, chosen)
    rows = [row for (name, n_modes), model in fits.items() for row in scores(work, f"{name}-K={n_modes}", model)]
    best: dict[str, Any] = {name: fits[name, 1 if name == "MaxEnt" else work.headline] for name in chosen}
    plain = build(work, "S-2", work.headline, {**chosen["S-2"], "reward_prior": Dirichlet(1.0)})
    best[PLAIN] = ledger.fit(f"{PLAIN}-K={work.headline}", plain, work.split()[0])
    if not work.tiny:
        best[ENDED] = to_the_end(work, chosen["S-1"])
    best |= counts(work, work.env, work.split()[0], "first")
    compared = compare(best, work.split()[1])
    s1 = best["S-1"]
    names = [f"h{mode + 1}" for mode in range(work.headline)]
    dopamine = dopamine_rows(work, s1, names, "S-1") + dopamine_rows(work, best["MaxEnt"], ["one mode"], "MaxEnt")
    _, test = work.split()
    n_draws = 19 if work.tiny else 99
    checks = {name: figures.checks_of(ledger, name, best[name], test, names, n_draws) for name in ("S-1", "rARHMM")}
    restarted = {name: best[name] for name in ("S-1", ENDED, "S-2", BEYOND) if name in best}
    sections = [
        Section("Ours beside the published", headline(work, compared, rows, dopamine)),
        Section("Test score against the number of modes", score_blocks(work, compared, rows, chosen)),
        *([Section("Beyond the paper: a shared habit", habit_blocks(work, fits))] if BEYOND in best else []),
        Section("S-1 and the rARHMM are one family", family_blocks(work, chosen)),
        Section("Discount and temperature", gauge_blocks(work, chosen)),
        Section("Reward maps and dopamine", figures.map_blocks(s1, names, dopamine)),
        Section("Segments of all sessions", figures.segment_blocks(work.sessions, s1, names)),
        Section("Predictive checks", figures.check_blocks(checks)),
        Section("Do restarts agree?", figures.agreement_blocks(restarted, test)),
        Section("A second split", second_blocks(work, chosen)),
        Section("The clean reading", clean_blocks(work, s1)),
    ]
    about = {
        "sessions": f"{len(work.sessions)} of {len(data.trajectories)}",
        "scored test steps": compared.n_scored,
        "single starts of each fit": scale.n_runs,
    }
    title = "Spontaneous behaviour: modes of syllables, and dopamine (paper §4.3)"
    return Experiment("spontaneous", title, first_line(work, compared), sections, about)


# ---------------------------------------------------------------------- fits, and choices on training folds


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
    prior = "emission_prior" if "ARHMM" in name else "reward_prior"
    found: dict[str, Any] = {}

    def settle(what: str, values: list[Any]) -> None:
        model = build(work, name, work.headline, found, n_restarts=max(1, work.scale.n_runs // 2))
        found.update(work.choose(f"choose-{name}-{what}", model, what, values))

    if name == BEYOND:
        found["reward_prior"] = HABITS[0]
        settle("reward", [Habit(1), Habit(2)])
        settle(prior, HABITS)
        found["switching"] = "state"
    else:
        settle(prior, TWO_STATES if name.endswith("-2") else ONE_STATE)
    if name == "MaxEnt":
        return found
    if name in ("rARHMM", "S-1", "S-2"):
        settle("switching", ["state", "state-table"])
    settle("switching_prior", SWITCHING[found.get("switching", "independent")])
    return found


def fit_all(work: Work, chosen: Mapping[str, dict[str, Any]]) -> dict[tuple[str, int], Any]:
    """Fit every model with every number of modes."""
    train, _ = work.split()
    return {
        (name, n_modes): work.ledger.fit(f"{name}-K={n_modes}", build(work, name, n_modes, settings), train)
        for name, settings in chosen.items()
        for n_modes in ((1,) if name == "MaxEnt" else work.modes)
    }


def to_the_end(work: Work, settings: Mapping[str, Any]) -> Any:
    """Fit S-1 from twice as many starts, with a hundred times the tolerance's care."""
    model = build(work, "S-1", work.headline, {**settings, "tol": 1e-7}, n_restarts=2 * work.scale.n_runs)
    model.set_params(max_iter=4 * work.scale.max_iter)
    return work.ledger.fit(f"S-1-to-the-end-K={work.headline}", model, work.split()[0])


def counts(work: Work, env: MDP, train: Trajectories, label: str) -> dict[str, Any]:
    """Smoothed counts without modes; their strengths are chosen on folds of the training sessions."""
    orders = {"order-1 counts": 1, "order-2 counts": 2, "counts": "auto"}
    return {
        name: work.ledger.fit(
            f"{label}-{name}", BackoffMarkov(env, order=order, max_order=4, impossible="forget"), train
        )
        for name, order in orders.items()
    }


def scores(work: Work, label: str, model: Any, test: Trajectories | None = None) -> list[dict[str, Any]]:
    """Test score and training objective of each single start."""
    test = work.split()[1] if test is None else test

    def compute() -> list[dict[str, Any]]:
        return [
            {
                "run": i,
                "score": model.use_restart(i).score(test, of="action"),
                "objective": restart.objective_trace[-1],
            }
            for i, restart in enumerate(model.restarts_)
        ]

    name, _, n_modes = label.rpartition("-K=")
    inputs = {**fit_inputs(model, test), "fitted to": model.data_fingerprint_}
    return [
        {"model": name, "modes": int(n_modes), **row} for row in work.ledger.rows(f"{label}-scores", inputs, compute)
    ]


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


# ---------------------------------------------------------------------- what the tables say


def first_line(work: Work, compared: Comparison) -> str:
    """Say which model wins on the test sessions."""
    found, k = compared.scores, work.headline
    modeless = [name for name in found if "counts" in name or name == "MaxEnt"]
    best = max((name for name in found if name not in modeless), key=lambda name: found[name])
    published = max((name for name in MODELS if name in found), key=lambda name: found[name])
    simple = max(modeless, key=lambda name: found[name])
    gain, half = compared.difference(best, simple)
    order = f" (order {getattr(compared.models['counts'], 'order_', None)})" if simple == "counts" else ""
    margin = f"by {nats(abs(gain))} ± {half:.4f} nats per step"
    ours = f"{best} with {k} modes ({nats(found[best])})"
    rival = f"{simple}{order} without modes ({nats(found[simple])})"
    steps = f"{compared.n_scored:,} test steps"
    verdict = f"{ours} wins on {steps}: ahead of {rival} {margin}"
    if gain < -half:
        verdict = f"{rival} wins on {steps}: ahead of {ours} {margin}"
    elif gain <= half:
        verdict = f"{ours} and {rival} are within noise on {steps}: apart {margin}"
    met = "met" if found["S-1"] >= AIMS["S-1"] else "missed"
    beside = f"published {nats(SPONTANEOUS['S-1'].value)}; aim {nats(AIMS['S-1'])}, {met}"
    if not work.scale.full:
        beside = "only part of the sessions: not to be compared with the published"
    return (
        f"{verdict}. Of the paper's models the best is {published} ({nats(found[published])}); S-1 scores "
        f"{nats(found['S-1'])} ({beside}); the rARHMM, the same likelihood family, {nats(found['rARHMM'])}."
    )


def nats(value: float) -> str:
    """A score in words.

    >>> nats(-1.55107)
    '−1.5511'
    """
    return f"{value:.4f}".replace("-", "−")


def headline(
    work: Work, compared: Comparison, rows: list[dict[str, Any]], dopamine: list[dict[str, Any]]
) -> list[Numbers | Text]:
    """Our figures beside the published ones and the aims."""
    found, k = compared.scores, work.headline
    order = getattr(compared.models["counts"], "order_", None)
    table = []
    for name in compared.names:
        runs = [row["score"] for row in rows if row["model"] == name and row["modes"] == (1 if name == "MaxEnt" else k)]
        spread = "no modes" if "counts" in name else ""
        if len(runs) > 1:
            spread = f"{len(runs)} starts: {nats(float(np.mean(runs)))} ± {np.std(runs):.4f}"
        published = SPONTANEOUS[name].value if name in SPONTANEOUS else None
        aim = AIMS.get(name, found["S-1"] if name == "S-2" else None)
        comment = {
            "MaxEnt": "order-1 counts by another name: r(s, a) is free",
            "S-2": "aim: not below S-1",
            PLAIN: "pseudo-count 1, otherwise as S-2",
            BEYOND: "not in the paper",
            ENDED: "tolerance 1e-7, twice the starts: is it the optimiser that keeps S-1 from its aim?",
            "counts": f"order {order}, chosen on training folds",
        }.get(name, "published in a figure only" if name in MODELS and published is None else "")
        table.append(
            {
                "quantity": f"{name}, test score" + ("" if "counts" in name or name == "MaxEnt" else f", {k} modes"),
                "ours": found[name],
                "published": published,
                "aim": aim,
                "met": None if aim is None or not work.scale.full else bool(found[name] >= aim),
                "comment": "; ".join(part for part in (comment, spread) if part),
            }
        )
    correlations = sorted((row["correlation"] for row in dopamine if row["mode"] != "one mode"), reverse=True)
    for place, (ours, theirs) in enumerate(zip(correlations, (0.48, 0.40), strict=False)):
        table.append(
            {
                "quantity": f"correlation with dopamine, {('highest', 'second')[place]} mode",
                "ours": ours,
                "published": theirs,
                "aim": None,
                "met": None,
                "comment": "depends on the gauge (see there)",
            }
        )
    gain, half = compared.difference("S-2", "S-1")
    moved, moved_half = compared.difference("S-2", PLAIN)
    text = (
        "The model of each row is the best of its starts by the training objective; nats per step over "
        f"{compared.n_scored:,} scored steps of {len(compared.steps)} test sessions (every fifth). S-2 less S-1 (95 %, "
        f"paired by session): {nats(gain)} ± {half:.4f}. Back-off from two syllables to one moves S-2 by "
        f"{nats(moved)} ± {moved_half:.4f}. "
        + (
            "The paper, which has S-2 below S-1 and concludes that syllables are Markovian, compares priors as much as "
            "memories. "
            if moved > moved_half
            else ""
        )
        + "Sessions are not labelled by mouse, so the split is most likely within animals."
        + ("" if work.scale.full else " Only part of the sessions: levels do not compare with the published.")
    )
    return [Numbers("ours-and-published", "Ours beside the published, nats per step.", table), Text(text)]


def score_blocks(
    work: Work, compared: Comparison, rows: list[dict[str, Any]], chosen: Mapping[str, dict[str, Any]]
) -> list[Any]:
    """The paper's Figure 4B, and the priors behind it."""
    found = compared.scores
    references = {name: found[name] for name in ("order-1 counts", "order-2 counts")}
    settings = [
        {
            "model": name,
            "prior of rewards or tables": repr(values.get("reward_prior", values.get("emission_prior"))),
            "switching": str(values.get("switching", "independent" if name != "MaxEnt" else "none")),
            "prior of switching": repr(values["switching_prior"]) if "switching_prior" in values else "—",
        }
        for name, values in chosen.items()
    ]
    text = (
        f"Choices were made at {work.headline} modes on three folds of the {len(work.untested)} sessions that are in "
        "neither test set, by the same grids for every model of the same order and form of switching, and then used "
        "for every number of modes. Gaussian priors are on the logits; with backoff, longer histories are shrunk more."
    )
    return [
        figures.score_figure(rows, references, compared.n_scored, work.scale.n_runs),
        Text(text),
        Numbers("chosen", "What training folds chose.", settings),
    ]


def family_blocks(work: Work, chosen: Mapping[str, dict[str, Any]]) -> list[Any]:
    """S-1 and rARHMM under the same priors and starts; S-2 with and without back-off."""
    train, _ = work.split()
    table = []
    cases: list[tuple[str, str, Any]] = [("S-1", "rARHMM", chosen["S-1"]["reward_prior"])]
    cases += [("S-1", "rARHMM", Dirichlet(c)) for c in ((10.0,) if work.tiny else (1.0, 10.0))]
    if "I-1" in chosen:
        cases.append(("I-1", "ARHMM", chosen["I-1"]["reward_prior"]))
    for ours, theirs, prior in cases:
        switching = {key: value for key, value in chosen[ours].items() if key != "reward_prior"}
        runs = {}
        for name, key in ((ours, "reward_prior"), (theirs, "emission_prior")):
            model = build(work, name, work.headline, {**switching, key: prior})
            label = f"{name}-{prior!r}-K={work.headline}"
            runs[name] = [row["score"] for row in scores(work, label, work.ledger.fit(label, model, train))]
        table.append(
            {
                "models": f"{ours}, {theirs}",
                "prior of both": repr(prior),
                f"mean over {work.scale.n_runs} starts": float(np.mean(runs[ours])),
                "SD": float(np.std(runs[ours])),
                "largest difference of a start": float(np.abs(np.subtract(runs[ours], runs[theirs])).max()),
            }
        )
    text = (
        "Where the action is the next state and r(s, a) is free, every table of next syllables is some reward's "
        "policy: S-1 **is** the rARHMM's likelihood family and I-1 the ARHMM's. With the same prior, switching and "
        "starts they give the same scores to rounding; a change of prior moves both alike, by more than the paper's "
        "models differ. The gap that the paper shows between them is prior or optimiser, not what rewards add."
    )
    return [Text(text), Numbers("one-family", "Same prior, switching and starts; test score.", table, decimals=6)]


def gauge_blocks(work: Work, chosen: Mapping[str, dict[str, Any]]) -> list[Any]:
    """Scores for two discounts and four temperatures."""
    train, test = work.split()
    warm = (1.0, 0.01) if work.tiny else (1.0, 0.5, 0.1, 0.01)
    cases: list[tuple[str, float, float, dict[str, Any]]] = [
        ("r(s, a), prior on the policy", discount, temperature, chosen["S-1"])
        for discount, temperature in [(0.7, 1.0), *((0.95, t) for t in warm)]
    ]
    state = {"reward": "state", "switching": "state"}
    for t in () if work.tiny else warm:
        cases.append(("r(s, previous s), λ = 1", 0.95, t, {**state, "reward_prior": Gaussian(1.0)}))
    for t in () if work.tiny else warm:
        cases.append(("r(s, previous s), λ = 1/α²", 0.95, t, {**state, "reward_prior": Gaussian(t**-2)}))
    table = []
    for what, discount, temperature, settings in cases:
        name = "S-1" if settings.get("reward") is None else "S-2"
        n_modes = work.headline if name == "S-1" else min(2, work.headline)
        settings = {**settings, "discount": discount, "temperature": temperature}
        label = f"{name}-{discount}-{temperature}-{settings['reward_prior']!r}-K={n_modes}"
        model = work.ledger.fit(label, build(work, name, n_modes, settings), train)
        table.append(
            {
                "reward": what,
                "modes": n_modes,
                "discount": discount,
                "temperature": temperature,
                "test score": model.score(test, of="action"),
                "SD of rewards": float(np.nanstd(model.rewards_)),
            }
        )
    text = (
        "For free rewards neither is identified: the policy depends on (γ/α) V alone. With r(s, a) and a prior on the "
        "policy the scores are the same number; only the reward's units change. With a normal prior of strength λ in "
        "units of reward, the temperature changes what λ means: on the policy it is worth λα², so the same λ is a "
        "weaker prior at a low temperature, and λ/α² gives the same fit at every temperature. Where the paper prefers "
        "higher temperatures on these data, it is not the likelihood of a free reward that tells them apart."
    )
    return [Text(text), Numbers("discount-temperature", "Discount γ and temperature α.", table, decimals=5)]


def habit_blocks(work: Work, fits: Mapping[tuple[str, int], Any]) -> list[Any]:
    """Does the model with a shared habit need its modes?"""
    _, test = work.split()
    compared = compare({str(k): fits[BEYOND, k] for k in work.modes}, test)
    table = []
    for k in work.modes:
        gain, half = compared.difference(str(k), "1")
        table.append(
            {
                "modes": k,
                "test score": compared.scores[str(k)],
                "gain over one mode": gain if k > 1 else None,
                "± 95 %": half if k > 1 else None,
                "least share of steps of a mode": float(fits[BEYOND, k].occupancy_.min()),
            }
        )
    text = (
        "A habit of the last two syllables, the same in every mode, plus a few goals of each mode, adding in value: "
        "V_z(h) = habit(h) + goal_z(newest states). Most of what follows what does not depend on the mode; a model "
        "that learns it once, from all steps, has more left for what the modes change. How many states goals see, and "
        "both priors, were chosen on the same folds as for the other models. The paper has no such model."
    )
    caption = f"Best of {work.scale.n_runs} starts by training objective; {compared.n_scored:,} scored steps."
    return [Text(text), Numbers("habit-and-goals", caption, table)]


def dopamine_rows(work: Work, model: SWIRL, names: Sequence[str], label: str) -> list[dict[str, Any]]:
    """Correlation of reward and dopamine in each mode, in two gauges, with p-values under circular shifts."""
    n_shifts = 19 if work.tiny else 100 * work.scale.n_draws - 1
    data = work.sessions

    def compute() -> list[dict[str, Any]]:
        modes, signal = model.predict(data), (data.signals or {})["dopamine"]
        steps = [int(sum((path == mode).sum() for path in modes)) for mode in range(len(names))]

        def test(rewards: np.ndarray, within_state: bool = False) -> Any:
            return signal_test(
                rewards, modes, data.states, data.actions, signal, n_shifts=n_shifts, within_state=within_state
            ).table()

        fitted = test(model.reward_table("fitted"))
        canonical, within = test(model.reward_table("canonical")), test(model.reward_table("fitted"), True)
        return [
            {
                "mode": name,
                "share of steps": steps[i] / sum(steps),
                "correlation": fitted["correlation"][i],
                "p": fitted["p_value"][i],
                "null 2.5 %": fitted["null_low"][i],
                "null 97.5 %": fitted["null_high"][i],
                "canonical gauge": canonical["correlation"][i],
                "canonical p": canonical["p_value"][i],
                "within states": within["correlation"][i],
                "within p": within["p_value"][i],
            }
            for i, name in enumerate(names)
        ]

    inputs = {**fit_inputs(model, data), "fitted to": model.data_fingerprint_, "n_shifts": n_shifts}
    return work.ledger.rows(f"{label}-dopamine", inputs, compute)


# ---------------------------------------------------------------------- restarts, the second split, the clean reading


def second_blocks(work: Work, chosen: Mapping[str, dict[str, Any]]) -> list[Any]:
    """The headline numbers on the second split."""
    table = {}
    for offset in (0, SECOND):
        train, test = work.split(offset)
        models: dict[str, Any] = {
            name: work.ledger.fit(
                f"{name}-K={work.headline}" if offset == 0 else f"second-{name}-K={work.headline}",
                build(work, name, work.headline, chosen[name]),
                train,
            )
            for name in ("S-1", "rARHMM", "S-2", BEYOND)
            if name in chosen
        }
        table[offset] = compare({**models, **counts(work, work.env, train, "first" if offset == 0 else "second")}, test)
    first, second = table[0], table[SECOND]
    rows = []
    for name in first.names:
        gain, half = second.difference(name, "counts")
        rows.append(
            {
                "model": name,
                "first split": first.scores[name],
                "second split": second.scores[name],
                "second: ahead of counts by": None if name == "counts" else gain,
                "± 95 %": None if name == "counts" else half,
            }
        )
    same = (
        sorted(first.names, key=lambda n: -first.scores[n])[0]
        == sorted(second.names, key=lambda n: -second.scores[n])[0]
    )
    text = (
        f"Test sessions {SECOND}, {SECOND + 5}, {SECOND + 10}, …: in no fold that chose a setting, and scored "
        f"once ({second.n_scored:,} steps). (What the settings are chosen from was laid down while looking at folds of "
        "the first split's training sessions, of which these are a quarter, and the models that are shown after a look "
        "at its test sessions; no score of these sessions as a test had a part in it.) The same model "
        f"{'wins' if same else 'does not win'} on both. Levels differ between the splits because sessions do; "
        "differences between models are what to compare."
    )
    return [Text(text), Numbers("second-split", f"{work.headline} modes; both splits.", rows)]


def clean_blocks(work: Work, paper: SWIRL) -> list[Any]:
    """The same question on the clean reading of the recordings."""
    data = spontaneous("clean")
    sessions = data.trajectories[: max(15, round(work.scale.share * len(data.trajectories)))]
    clean = Work(work.scale, work.ledger, data.env, sessions)
    train, test = clean.split()
    k = work.headline
    start = build(clean, "S-1", k, {}, n_restarts=max(1, work.scale.n_runs // 2))
    priors = [Dirichlet(c) for c in (1.0, 0.3, 3.0)]
    prior = clean.choose("clean-S-1-prior", start, "reward_prior", priors)
    models: dict[str, Any] = {
        f"S-1, {n} mode{'s' * (n > 1)}": work.ledger.fit(f"clean-S-1-K={n}", build(clean, "S-1", n, prior), train)
        for n in ((k,) if work.tiny else (1, k))
    }
    modes = models[f"S-1, {k} modes"]
    models |= counts(clean, data.env, train, "clean")
    compared = compare(models, test)
    rows = []
    for name in compared.names:
        gain, half = compared.difference(name, "counts")
        own = name != "counts"
        rows.append(
            {"model": name, "test score": compared.scores[name], "ahead of counts by": gain if own else None,
             "± 95 %": half if own else None}
        )  # fmt: skip
    certain = [float(np.mean(np.concatenate([p.max(axis=1) for p in m.predict_proba(t)]))) for m, t in
               ((modes, test), (paper, work.split()[1]))]  # fmt: skip
    gain, half = compared.difference(f"S-1, {k} modes", "counts")
    segments = sum(len(gaps) + 1 for gaps in sessions.gaps)
    actions = sum(int((a >= 0).sum()) for a in sessions.actions)
    text = (
        f"The clean reading relabels, merges runs and puts a gap wherever a syllable outside the nine was cut out: "
        f"{len(sessions)} sessions, {segments:,} segments of {actions / segments:.1f} actions on average, at each of "
        "which the mode chain restarts: a mode has hardly time to show. The most probable mode of a step has a "
        f"probability of {certain[0]:.2f} on average (in the paper's preparation {certain[1]:.2f}; {1 / k:.2f} would "
        f"be no knowledge at all). S-1 with {k} modes less the best counts: {nats(gain)} ± {half:.4f}. "
        + (
            "What modes gain over one mode there, a longer memory for syllables gives without any mode: this reading "
            "makes no case for modes. "
            if gain <= half
            else ""
        )
        + "In the paper's preparation a mode is followed across steps that were not adjacent in time."
    )
    caption = f"Clean reading, {compared.n_scored:,} scored steps of every fifth session; other steps than above."
    return [Text(text), Numbers("clean-reading", caption, rows)]
