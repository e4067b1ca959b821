"""The simulated gridworld (paper §4.1, App. B "Robustness", App. C): what the models find where the truth is known."""

from dataclasses import dataclass
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
from jaxtyping import Float

from swirl.analysis import metrics
from swirl.analysis.predictive_checks import predictive_checks
from swirl.data.trajectories import Trajectories
from swirl.datasets import GRIDWORLD_MODES, HOME, WATER, Dataset, Truth, gridworld
from swirl.estimators.iq_learn import IQLearn
from swirl.estimators.registry import make
from swirl.estimators.swirl import SWIRL
from swirl.inference.mode_matching import adjusted_rand_index, match_by_overlap
from swirl.priors import Cauchy
from swirl.reproduce.cache import Ledger, fit_inputs
from swirl.reproduce.fit_checks import check_table, endings, scored_starts
from swirl.reproduce.gridworld import TEXT, sections
from swirl.reproduce.page import SCORED_BY_US, Experiment, Published, Rows, beside
from swirl.reproduce.robustness import perturb
from swirl.reproduce.scale import Scale
from swirl.text import cell
from swirl.workflows.demo.figures import matched_modes, measures
from swirl.workflows.html import Block, Section

MODELS = ("MaxEnt", "I-1", "I-2", "S-1", "S-2")
LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
STRENGTHS = (0.01, 0.5)  # IQ-Learn's penalty: the package's default, and ½, which is the paper's χ²
PUBLISHED = {
    "S-2 reward correlation": Published(0.825, "paper, Fig. 2", "in the fitted gauge"),
    "model-free reward correlation": Published(0.737, "paper, App. C"),
    "S-2 test LL": Published(-1.4641, SCORED_BY_US, "on the authors' draw, where the truth scores −1.4634"),
    "S-2 accuracy": Published(0.917, SCORED_BY_US, "on the authors' draw, where the truth scores 0.918"),
}


@dataclass(frozen=True)
class World:
    """One draw of the gridworld, split, with the model that made it."""

    data: Dataset
    given: Truth
    truth: SWIRL
    train: Trajectories
    test: Trajectories

    def measures(self, model: Any, table: np.ndarray | None = None) -> dict[str, float]:
        """What a fit is measured by, on the test sessions."""
        return measures(model, self.test, self.given.rewards, table)

    @property
    def least_norm(self) -> float:
        """What the true reward's own least-norm member reaches in the paper's measure."""
        table = self.truth.reward_table("canonical")
        return float(metrics.reward_correlation(self.given.rewards, table, "paper", env=self.data.env))


def world(scale: Scale, offset: int = 0) -> World:
    """Simulate and split: every fifth session, from `offset` on, is for testing.

    >>> from swirl.reproduce.scale import TINY
    >>> made = world(TINY)
    >>> len(made.train), len(made.test)
    (16, 4)
    """
    data = gridworld(n_sessions=max(20, int(200 * scale.share)), random_state=0)
    if data.truth is None:
        raise ValueError("the gridworld is simulated, so its truth is known")
    train, test = data.trajectories.split(every=5, offset=offset)
    return World(data, data.truth, data.true_model(), train, test)


def model_of(name: str, here: World, scale: Scale, **settings: Any) -> Any:
    """A model of the experiment, not yet fitted; everything but its name and prior is at the package's defaults."""
    modes = {} if name in ("MaxEnt", "Markov") else {"n_modes": 2}
    if name != "Markov":
        modes |= {"n_restarts": scale.n_runs, "max_iter": scale.max_iter}
        modes |= {"reward_prior": Cauchy()}  # what S-2 chooses here by itself; the same for every model
    return make(name, here.data.env, **{**modes, **settings})


def run(scale: Scale, ledger: Ledger) -> Experiment:
    """Fit, measure and draw everything that the paper reports of the gridworld."""
    here, again = world(scale), world(scale, offset=2)
    names = ("MaxEnt", "S-2") if scale.name == "tiny" else MODELS
    plans = {name: model_of(name, here, scale) for name in names}
    fits: dict[str, SWIRL] = {name: ledger.fit(name, plan, here.train) for name, plan in plans.items()}
    tiny = {"max_order": 2} if scale.name == "tiny" else {}
    counts = ledger.fit("counts", model_of("Markov", here, scale, **tiny), here.train)
    second = ledger.fit("S-2 second split", model_of("S-2", again, scale), again.train)
    runs: Rows = []
    pairs: Rows = []
    for name, fit in fits.items():
        inputs = {**fit_inputs(plans[name], here.train), "test": here.test.fingerprint()}
        runs += scored_starts(ledger, f"{name} runs", inputs, fit, partial(start_row, name, fit, here))
        if fit.n_modes > 1:
            pairs += ledger.rows(f"{name} pairs", inputs, lambda name=name, fit=fit: pair_rows(name, fit, here))
    noisy = robustness_rows(scale, ledger, here)
    free = {strength: model_free(strength, scale, ledger, here) for strength in STRENGTHS}
    checks, values = check_rows(scale, ledger, here, fits, plans)

    truth = here.measures(here.truth)
    best = {row["model"]: row for row in runs if row["best"]}
    counted = {"model": f"order-{counts.order_} counts", "test_log_likelihood": float(counts.score(here.test))}
    second_split = (again.measures(second), again.measures(again.truth))
    s2, order = fits["S-2"], matched_modes(fits["S-2"], here.test)
    maps = {
        "true": here.given.rewards,
        "true, least norm": here.truth.reward_table("canonical"),
        "S-2, least norm": s2.reward_table("canonical")[order],
        "S-2, fitted gauge": s2.reward_table()[order],
    }
    policies = {"truth": state_policies(here.truth), "S-2": state_policies(s2)[order]}
    switching = {"true": here.given.mode_transitions, "S-2": s2.mode_transitions_[:, order][:, :, order]}
    lines = {
        "reward_paper": ("least norm", here.least_norm),
        "test_log_likelihood": ("truth", truth["test_log_likelihood"]),
        "accuracy": ("truth", truth["accuracy"]),
    }
    n_scored = here.truth.n_scored(here.test)
    return Experiment(
        "gridworld",
        "Gridworld: what the models find where the truth is known",
        first_line(best, truth, counted, n_scored),
        [
            Section("Ours beside the published", beside_blocks(best["S-2"], truth, second_split, free, here, n_scored)),
            Section(
                "True and recovered rewards (Fig. 2A)", sections.rewards(maps, policies, switching, best, here.data.env)
            ),
            Section("Single starts of five models (Fig. 2B)", sections.starts(runs, pairs, truth, counted, lines)),
            Section("Robustness: permuted training data (App. B)", sections.robustness(noisy, lines)),
            Section(
                "Model-free S-2 (App. C)",
                sections.model_free(
                    [row for rows in free.values() for row in rows],
                    maps,
                    truth,
                    PUBLISHED["model-free reward correlation"],
                ),
            ),
            Section("Posterior predictive checks", sections.checks(checks, values)),
            endings({**fits, "S-2, second split": second}),
        ],
        {
            "sessions": f"{len(here.train)} for training, {len(here.test)} for testing, {here.train.lengths[0]} steps",
            "scored steps": n_scored,
            "runs": scale.n_runs,
        },
    )


# ---------------------------------------------------------------------- computing


def start_row(name: str, fit: SWIRL, here: World, index: int, start: SWIRL) -> dict[str, Any]:
    """The measures of a single start of a fit."""
    row = {"model": name, "run": index, "best": index == fit.best_restart_}
    row |= {"objective": fit.restarts_[index].objective, "converged": fit.restarts_[index].converged}
    return {**row, **here.measures(start), "policy_divergence": policy_divergence(start, here)}


def pair_rows(name: str, fit: SWIRL, here: World) -> Rows:
    """ARI between the test segmentations of every two runs, and of every run and the truth (run −1)."""
    paths = {-1: here.test.modes or []}
    paths |= {index: fit.use_restart(index).predict(here.test) for index in range(len(fit.restarts_))}
    rank = {-1: -1} | {int(i): n for n, i in enumerate(np.argsort([-r.objective for r in fit.restarts_]))}
    return [
        {"model": name, "run": a, "other": b, "rank": rank[a], "other_rank": rank[b]}
        | {"ari": adjusted_rand_index(paths[a], paths[b])}
        for a, b in combinations(paths, 2)
    ]


def state_policies(model: SWIRL) -> Float[np.ndarray, "mode state action"]:
    """Policies by the present state; with r(s_t, s_{t−1}) they depend on no more (design.md#what-a-policy-sees)."""
    states = model.histories_[:, 0]
    return np.stack([model.policies_[:, states == s].mean(axis=1) for s in range(model.env.n_states)], axis=1)


def policy_divergence(model: SWIRL, here: World) -> float:
    """Mean of KL(true policy ‖ fitted policy) over the test steps, in nats, with the modes matched: free of gauge."""
    true, fitted = state_policies(here.truth), state_policies(model)[matched_modes(model, here.test)]
    divergence = np.sum(true * (np.log(true) - np.log(fitted)), axis=-1)
    modes, states = np.concatenate(here.test.modes or []), np.concatenate(here.test.states)
    return float(divergence[modes, states].mean())


def robustness_rows(scale: Scale, ledger: Ledger, here: World) -> Rows:
    """S-2 fitted to permuted training data, a row per reading, level and draw; the test sessions stay clean."""
    levels = LEVELS[:2] if scale.name == "tiny" else LEVELS
    rows: Rows = []
    for reading, level, draw in product(sections.READINGS, levels, range(scale.n_draws)):
        model = model_of("S-2", here, scale, n_restarts=2, impossible=reading, random_state=draw)

        def compute(model: Any = model, reading: str = reading, level: float = level, draw: int = draw) -> Rows:
            fit = model.fit(perturb(here.train, level, random_state=draw))
            return [{"reading": reading, "percent": round(100 * level), "draw": draw, **here.measures(fit)}]

        inputs = {**fit_inputs(model, here.train), "test": here.test.fingerprint(), "level": level, "draw": draw}
        rows += ledger.rows(f"permuted {level:.0%} {reading} draw {draw}", inputs, compute)
    return rows


def model_free(strength: float, scale: Scale, ledger: Ledger, here: World) -> Rows:
    """Model-free S-2: a row for each way of reading a reward r(h) from r(h, a), with its table and measures."""
    plan = IQLearn(
        here.data.env, n_modes=2, strength=strength, n_restarts=scale.n_runs, max_iter=scale.max_iter, random_state=0
    )
    fit = ledger.fit(f"model-free {strength:g}", plan, here.train)

    def compute() -> Rows:
        order = np.argsort(match_by_overlap(here.test.modes or [], fit.predict(here.test), 2, 2))
        rows = []
        for kind in ("projected", "marginal"):
            table = fit.state_reward_table(kind)
            rows.append({"strength": strength, "kind": kind, **here.measures(fit, table), "table": table[order]})
        return rows

    inputs = {**fit_inputs(plan, here.train), "test": here.test.fingerprint()}
    return ledger.rows(f"model-free {strength:g} rewards", inputs, compute)


def check_rows(
    scale: Scale, ledger: Ledger, here: World, fits: dict[str, SWIRL], plans: dict[str, Any]
) -> tuple[Rows, Rows]:
    """Predictive checks of S-1, S-2 and the truth: the table of statistics, and what is drawn of them."""
    # No p-value is below 2 / (draws + 1): 99 draws can say 0.02.
    n_draws = max(99, scale.n_draws) if scale.full else max(19, scale.n_draws) if scale.name == "quick" else 2
    rows: Rows = []
    checked = {name: fits[name] for name in ("S-1", "S-2") if name in fits} | {"truth": here.truth}
    for name, model in checked.items():

        def compute(name: str = name, model: SWIRL = model) -> Rows:
            places = {"water": WATER, "home": HOME}
            checks = predictive_checks(model, here.test, places=places, n_draws=n_draws, random_state=0)
            order = matched_modes(model, here.test)
            names = {f"mode {order[mode]}": called for mode, called in enumerate(GRIDWORLD_MODES)}
            table = [{**row, "of": names.get(row["of"], row["of"])} for row in check_table({name: checks})]
            return [{"table": table, "values": value_rows(name, checks, names)}]

        inputs = {"n_draws": n_draws, "test": here.test.fingerprint(), "of": name}
        inputs |= {"missing actions": "as in the data", "corrected": "maximum"}
        if name in plans:
            inputs |= fit_inputs(plans[name], here.train)
        rows += ledger.rows(f"{name} predictive checks", inputs, compute)
    table = [row for part in rows for row in part["table"]]
    return table, [row for part in rows for row in part["values"] if row["model"] != "truth"]


def value_rows(model: str, checks: Any, names: dict[str, str]) -> Rows:
    """How often each value occurs in the data and in each simulated data set, modes called by their names."""
    rows: Rows = []
    for (what, of), real in checks.real_values.items():
        if what not in ("dwell time", "return interval", "occupancy"):
            continue
        sets = {"real": real} | {str(i): drawn for i, drawn in enumerate(checks.simulated_values[what, of])}
        for data, found in sets.items():
            value, count = (range(len(found)), found) if what == "occupancy" else np.unique(found, return_counts=True)
            rows += [
                {"model": model, "statistic": what, "of": names.get(of, of), "data": data, "value": v, "count": n}
                for v, n in zip(value, count, strict=True)
            ]
    return rows


# ---------------------------------------------------------------------- telling


def first_line(best: dict[str, Any], truth: dict[str, float], counted: dict[str, Any], n_scored: int) -> str:
    """What the experiment found, in one sentence; where another model is ahead of S-2, that comes first."""
    ours = best["S-2"]
    score = {row["model"]: row["test_log_likelihood"] for row in (*best.values(), counted)}
    rivals = sorted((name for name in score if name != "S-2"), key=lambda name: -score[name])
    ahead = f"{rivals[0]} is ahead of S-2: " if score[rivals[0]] > score["S-2"] else ""
    # The best other model, and the count model in any case.
    others = ", ".join(f"{name} {cell(score[name], 4)}" for name in dict.fromkeys([rivals[0], counted["model"]]))
    known = PUBLISHED["S-2 reward correlation"].value
    return TEXT("first line", ahead=ahead, ours=ours, truth=truth, beside=others, n_scored=n_scored, published=known)


def beside_blocks(
    ours: dict[str, Any],
    truth: dict[str, float],
    second_split: tuple[dict[str, float], dict[str, float]],
    free: dict[float, Rows],
    here: World,
    n_scored: int,
) -> list[Block]:
    """Set our figures beside the published ones and the aims."""
    rows: Rows = []

    def add(quantity: str, value: float, known: Published | None, aim: str | None, met: bool | None, said: str) -> None:
        if known is not None:
            said += f"; published: {known.source}{', ' + known.note if known.note else ''}"
        rows.append(beside(quantity, value, known, aim, met, said))

    for split, row, true in (("", ours, truth), (", second split", *second_split)):
        measured = ("test LL", "accuracy", "reward correlation")
        source = {name: None if split else PUBLISHED[f"S-2 {name}"] for name in measured}
        score, accuracy = row["test_log_likelihood"], row["accuracy"]
        gap, points = score - true["test_log_likelihood"], 100 * (accuracy - true["accuracy"])
        said = f"the truth's own {cell(true['test_log_likelihood'], 4)}"
        add(f"S-2 test LL{split}", score, source["test LL"], None, None, said)
        add(f"S-2 test LL − truth's{split}", gap, None, "±0.002", abs(gap) <= 0.002, "same draw, same sessions")
        said = f"the truth's own {true['accuracy']:.4f}"
        add(f"S-2 accuracy{split}", accuracy, source["accuracy"], None, None, said)
        add(f"S-2 accuracy − truth's, points{split}", points, None, "±1", abs(points) <= 1, "same draw, same sessions")
        r = row["reward_canonical"]
        add(f"S-2 reward r, canonical{split}", r, None, "≥ 0.98", r >= 0.98, "mean over modes, least-norm members")
        r, said = row["reward_paper"], f"the truth's own least-norm member has {here.least_norm:.3f}"
        add(f"S-2 reward r, paper's measure{split}", r, source["reward correlation"], "≥ 0.92", r >= 0.92, said)
    projected, published = free[STRENGTHS[0]][0], PUBLISHED["model-free reward correlation"]
    r = projected["reward_canonical"]
    add("model-free reward r, canonical", r, None, "≥ 0.95", r >= 0.95, "projected on rewards r(s, s⁻)")
    add("model-free reward r, paper's measure", projected["reward_paper"], published, None, None, "projected likewise")
    for row in (free[strength][1] for strength in STRENGTHS):
        said = "marginalised as in the paper: depends on the gauge that the penalty picks"
        quantity = f"model-free reward r, paper's measure, marginal, λ = {row['strength']:g}"
        add(quantity, row["reward_paper"], published, None, None, said)
    n_train, n_test = len(here.train), len(here.test)
    return [TEXT.numbers("beside", rows, n_train=n_train, n_test=n_test, n_scored=n_scored), TEXT.text("gauge")]
