"""Spontaneous behaviour (paper §4.3): nine syllables, up to eight modes, dopamine beside the reward.

State = current syllable, action = next syllable, so rewards are r(s, a) and S-1 has the likelihood of the rARHMM
(design.md#what-a-policy-sees).  Priors are chosen on folds of the sessions that are in neither test set.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from swirl.analysis.comparison_result import Comparison
from swirl.datasets import spontaneous
from swirl.priors import Dirichlet
from swirl.reproduce.cache import Ledger
from swirl.reproduce.fit_checks import endings
from swirl.reproduce.page import Experiment
from swirl.reproduce.published import SPONTANEOUS
from swirl.reproduce.scale import Scale
from swirl.reproduce.spontaneous import figures
from swirl.reproduce.spontaneous.checks import check_blocks, checks_of
from swirl.reproduce.spontaneous.fits import (
    BEYOND,
    MODELS,
    PLAIN,
    Work,
    build,
    choose_settings,
    compare,
    counts,
    fit_all,
    nats,
    scores,
)
from swirl.reproduce.spontaneous.sections import (
    clean_blocks,
    dopamine_rows,
    family_blocks,
    gauge_blocks,
    habit_blocks,
    second_blocks,
)
from swirl.workflows.html import Numbers, Section, Text

AIMS = {"S-1": -1.548}


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
    best |= counts(work, work.env, work.split()[0], "first")
    compared = compare(best, work.split()[1])
    s1 = best["S-1"]
    names = [f"h{mode + 1}" for mode in range(work.headline)]
    dopamine = dopamine_rows(work, s1, names, "S-1") + dopamine_rows(work, best["MaxEnt"], ["one mode"], "MaxEnt")
    _, test = work.split()
    n_draws = 19 if work.tiny else 99
    checks = {name: checks_of(ledger, name, best[name], test, names, n_draws) for name in ("S-1", "rARHMM")}
    restarted = {name: best[name] for name in ("S-1", "S-2", BEYOND) if name in best}
    sections = [
        Section("Ours beside the published", headline(work, compared, rows, dopamine)),
        Section("Test score against the number of modes", score_blocks(work, compared, rows, chosen)),
        *([Section("Beyond the paper: a shared habit", habit_blocks(work, fits))] if BEYOND in best else []),
        Section("S-1 and the rARHMM are one family", family_blocks(work, chosen)),
        Section("Discount and temperature", gauge_blocks(work, chosen)),
        Section("Reward maps and dopamine", figures.map_blocks(s1, names, dopamine)),
        Section("Segments of all sessions", figures.segment_blocks(work.sessions, s1, names)),
        Section("Predictive checks", check_blocks(checks)),
        Section("Do restarts agree?", figures.agreement_blocks(restarted, test)),
        Section("A second split", second_blocks(work, chosen)),
        Section("The clean reading", clean_blocks(work, s1)),
        endings({name: fit for name, fit in best.items() if "counts" not in name}),
    ]
    about = {
        "sessions": f"{len(work.sessions)} of {len(data.trajectories)}",
        "scored test steps": compared.n_scored,
        "single starts of each fit": scale.n_runs,
    }
    title = "Spontaneous behaviour: modes of syllables, and dopamine (paper §4.3)"
    return Experiment("spontaneous", title, first_line(work, compared), sections, about)


def first_line(work: Work, compared: Comparison) -> str:
    """Say which model wins on the test sessions."""
    found, k = compared.scores, work.headline
    modeless = [name for name in found if "counts" in name or name == "MaxEnt"]
    best = max((name for name in found if name not in modeless), key=lambda name: found[name])
    published = max((name for name in MODELS if name in found), key=lambda name: found[name])
    simple = max(modeless, key=lambda name: found[name])
    gain, half = compared.difference(best, simple)
    order = f" (order {compared.models['counts'].chosen_['order']})" if simple == "counts" else ""
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


def headline(
    work: Work, compared: Comparison, rows: list[dict[str, Any]], dopamine: list[dict[str, Any]]
) -> list[Numbers | Text]:
    """Our figures beside the published ones and the aims."""
    found, k = compared.scores, work.headline
    order = compared.models["counts"].chosen_["order"]
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
