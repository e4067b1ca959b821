"""Sections of the gridworld page: tables, and figures with the tidy rows of every number that they draw."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from swirl.analysis.predictive_checks import ENOUGH
from swirl.analysis.significance import LEVEL
from swirl.data.mdp import MDP
from swirl.reproduce.gridworld.figures import (
    Rows,
    agreement_drawing,
    box_drawing,
    check_drawing,
    policy_drawing,
    reward_drawing,
    switching_drawing,
)
from swirl.reproduce.published import GRIDWORLD
from swirl.workflows.html import Block, Numbers, Text

SHORT = {
    "test_log_likelihood": "test LL",
    "accuracy": "accuracy",
    "reward_canonical": "reward r, canonical",
    "reward_paper": "reward r, paper's",
}
LL = "test_log_likelihood"
READINGS = ("forget", "gap")  # of moves that the environment rules out
N_BEST = 5  # runs whose segmentations are compared one by one


def rewards(
    maps: Mapping[str, Float[np.ndarray, "mode state previous"]],
    policies: Mapping[str, Float[np.ndarray, "mode state action"]],
    switching: Mapping[str, Float[np.ndarray, "state mode next_mode"]],
    best: Mapping[str, Mapping[str, Any]],
    env: MDP,
) -> list[Block]:
    """True and recovered rewards, with pictures that need no gauge beside them."""
    caption = (
        "Rewards r(s_t, s_{t−1}), each map stretched over 0 to 1; a cell is split by the previous location, light grey "
        "where there is no such move. The second column has the same policy as the first and is what the third is to "
        "be compared with; the fourth is as the fit left it. S-2: best run by training objective."
    )
    far = ", ".join(f"{name} {row['policy_divergence']:.4f}" for name, row in best.items())
    words = f"Kullback–Leibler divergence of the policies from the true ones, mean over test steps, nats: {far}."
    return [
        reward_drawing("rewards", caption, maps),
        policy_drawing(policies, env),
        Text(words),
        switching_drawing(switching),
    ]


def starts(
    runs: Rows,
    pairs: Rows,
    truth: Mapping[str, float],
    counted: Mapping[str, Any],
    lines: Mapping[str, tuple[str, float]],
) -> list[Block]:
    """Spread and agreement of single starts."""
    names = list(dict.fromkeys(row["model"] for row in runs))
    n_runs = sum(row["model"] == names[0] for row in runs)
    rows: Rows = []
    for name in ("truth", *names, counted["model"]):
        own = [row for row in runs if row["model"] == name]
        chosen = {"truth": {**truth, "policy_divergence": 0.0}, counted["model"]: counted}.get(name)
        chosen = chosen or next(row for row in own if row["best"])
        row = {"model": name, **{SHORT[key]: chosen.get(key) for key in SHORT}}
        row["policies, KL from the truth's"] = chosen.get("policy_divergence")
        row["SD of LL over runs"] = float(np.std([row[LL] for row in own], ddof=1)) if len(own) > 1 else None
        rows.append(row)
    agreement = []
    for name in dict.fromkeys(row["model"] for row in pairs):
        own = [row for row in pairs if row["model"] == name]
        among = [row for row in own if row["run"] >= 0]
        top = [row["ari"] for row in among if max(row["rank"], row["other_rank"]) < min(3, n_runs)]
        agreement.append(
            {
                "model": name,
                "ARI, best three runs": float(np.mean(top)) if top else None,
                "ARI, every two runs": float(np.mean([row["ari"] for row in among])) if among else None,
                "least": min((row["ari"] for row in among), default=None),
                "ARI with the true modes, best run": next(
                    row["ari"] for row in own if row["run"] < 0 and row["other_rank"] == 0
                ),
            }
        )
    caption = (
        f"{n_runs} single starts of each model (boxes: quartiles, whiskers to 1.5 · IQR, as in the paper; dots: the "
        "runs). Dashed: the truth's own score on these sessions; for the paper's reward measure, what the least-norm "
        "member of the true reward reaches."
    )
    return [
        box_drawing("starts", caption, runs, "model", lines),
        Numbers(
            "models",
            "Best run by training objective; LL in nats/step; the count model's order was chosen on training folds.",
            rows,
        ),
        agreement_drawing(pairs, N_BEST),
        Numbers("restart-agreement", "Adjusted Rand index between test segmentations, mean over pairs.", agreement, 3),
    ]


def robustness(noisy: Rows, lines: Mapping[str, tuple[str, float]]) -> list[Block]:
    """S-2 fitted to damaged data, impossible moves read in two ways."""
    rows: Rows = []
    for reading, level in dict.fromkeys((row["reading"], row["percent"]) for row in noisy):
        own = [row for row in noisy if (row["reading"], row["percent"]) == (reading, level)]
        medians = {SHORT[key]: float(np.median([row[key] for row in own])) for key in SHORT}
        rows.append({"impossible moves": reading, "% permuted": level, **medians, "draws": len(own)})
    ends = {reading: [row for row in rows if row["impossible moves"] == reading] for reading in READINGS}
    told = []
    for reading, own in ends.items():
        low, high = own[0], own[-1]
        told.append(
            f"with **{reading}** the median canonical correlation goes from {low['reward r, canonical']:.3f} at "
            f"{low['% permuted']} % to {high['reward r, canonical']:.3f} at {high['% permuted']} %, the accuracy from "
            f"{low['accuracy']:.1%} to {high['accuracy']:.1%}"
        )
    words = (
        "A permuted state makes moves that the environment rules out, and a model can read them in two ways. "
        "**Forget** restarts the history and lets the chain of modes go on, across a place where the animal was not. "
        f"**Gap** restarts the chain of modes as well. Here {'; '.join(told)}. The paper shows its results as figures "
        "only: high accuracy below 10 %, stable from 10 to 30 %, hard beyond."
    )
    drawings = [
        box_drawing(
            f"robustness-{reading}",
            "S-2 fitted to training data in which a share of the states and of the actions changed places at random "
            f"(impossible moves: {reading}), {rows[0]['draws']} draws each, best of two starts; the test sessions are "
            "clean. Draws at 0 % differ in their starts only. Dashed as above.",
            [row for row in noisy if row["reading"] == reading],
            "percent",
            lines,
            "states and actions permuted in training (%)",
        )
        for reading in READINGS
    ]
    table = Numbers("robustness-medians", "Medians over draws; LL in nats per step on the test sessions.", rows)
    return [Text(words), *drawings, table]


def model_free(free: Rows, maps: Mapping[str, np.ndarray], truth: Mapping[str, float]) -> list[Block]:
    """Model-free S-2: what IQ-Learn finds, read out in two ways."""
    shown = {name: maps[name] for name in ("true", "true, least norm")}
    for row in free:
        if (row["kind"], row["strength"]) != ("projected", 0.5):
            shown[f"{row['kind']},\nλ = {row['strength']:g}"] = np.array(row["table"])
    rows = [{"read out": row["kind"], "λ": row["strength"], **{SHORT[key]: row[key] for key in SHORT}} for row in free]
    rows.append({"read out": "truth", "λ": None, **{SHORT[key]: truth[key] for key in SHORT}})
    projected, marginal = free[0]["reward_paper"], free[-1]["reward_paper"]
    words = (
        "IQ-Learn with χ² is likelihood with a penalty ½ λ r² on the reward of each visited step (λ = ½ is the "
        "paper's; the package's default is smaller, as ½ biases the policies), so model-free S-2 is a state-action S-2 "
        "and its r(h, a) has to be turned into an r(h). The **marginal** Σ_a π(a|h) r(h, a) is the paper's way; what "
        "it shows depends on the gauge that the penalty picked. **Projected** is the r(h) whose policy is nearest to "
        "the fitted one, of least norm: the part that the data tell. In the paper's measure, where it reports "
        f"{GRIDWORLD['model-free reward correlation'].value}, marginalising at λ = {free[-1]['strength']:g} gives "
        f"{marginal:.3f} and projecting at λ = {free[0]['strength']:g} gives {projected:.3f}."
    )
    caption = (
        "Rewards r(s_t, s_{t−1}) of model-free S-2 beside the true ones, each map stretched over 0 to 1; λ is the "
        "strength of IQ-Learn's penalty. Best run by training objective."
    )
    return [
        reward_drawing("model-free", caption, shown),
        Numbers("model-free-measures", "On the test sessions; LL in nats per step.", rows),
        Text(words),
    ]


def checks(table: Rows, values: Rows) -> list[Block]:
    """Does a fitted model, let run, behave as the data do?"""
    n_draws = max(row["draws"] for row in table)
    models = list(dict.fromkeys(row["model"] for row in table))
    wide: dict[str, dict[str, Any]] = {}
    missed: dict[str, list[str]] = {name: [] for name in models}
    for row in table:
        of = f" ({row['of']})" if row["of"] else ""
        called = f"{row['statistic']}{of}: {row['summary']}"
        line = wide.setdefault(called, {"statistic": called})
        shown = ("p_value", "corrected_p_value")
        shown = shown if row["model"] == "truth" else ("real", "low", "high", *shown)
        heads = {"real": "data", "p_value": "p", "corrected_p_value": "corrected p"}
        line.update({f"{row['model']} {heads.get(key, key)}": row[key] for key in shown})
        if row["corrected_p_value"] <= LEVEL:
            missed[row["model"]].append(called)
    named = {name: f" ({'; '.join(found)})" if found else "" for name, found in missed.items()}
    counts = ", ".join(f"**{name}** {len(found)}{named[name]}" for name, found in missed.items())
    words = (
        f"Of {len(wide)} statistics, those of the data that differ from what a model simulates (p ≤ {LEVEL}, corrected "
        f"for {len(wide)} statistics at once): {counts}. A true model has one or more in one case of twenty."
    )
    if n_draws < ENOUGH:
        words += f" {n_draws} simulated data sets are too few to find any: {ENOUGH} are needed."
    caption = (
        f"The test sessions against {n_draws} simulated data sets: the data, 2.5 and 97.5 % of the simulated, "
        f"two-sided p of each by itself (never below {2 / (n_draws + 1):.3f}) and corrected for {len(wide)} statistics "
        "(step-down maximum over the simulations). Modes are decoded by the model."
    )
    return [Text(words), check_drawing(values, n_draws), Numbers("predictive-checks", caption, list(wide.values()), 3)]
