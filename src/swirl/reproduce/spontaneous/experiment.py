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
from swirl.reproduce.page import SCORED_BY_US, Experiment, Published, Rows, beside
from swirl.reproduce.scale import Scale
from swirl.reproduce.spontaneous import TEXT, figures
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
    scores,
)
from swirl.reproduce.spontaneous.sections import (
    clean_blocks,
    dopamine_elsewhere,
    dopamine_rows,
    family_blocks,
    gauge_blocks,
    habit_blocks,
    second_blocks,
)
from swirl.text import cell
from swirl.workflows.html import Block, Section, Text

AIMS = {"S-1": -1.548}
PUBLISHED = {
    "S-1": Published(-1.5567, SCORED_BY_US, "five modes"),
    "S-2": Published(-1.5726, SCORED_BY_US, "five modes, with back-off"),
    "dopamine, highest mode": Published(0.48, "paper, Fig. 4"),
    "dopamine, second mode": Published(0.40, "paper, Fig. 4"),
}


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
        Section(
            "Reward maps and dopamine", [*figures.map_blocks(s1, names, dopamine), *dopamine_elsewhere(work, names)]
        ),
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
    ours = f"{best} with {k} modes ({found[best]:.4f})"
    rival = f"{simple}{order} without modes ({found[simple]:.4f})"
    margin = {"n_scored": compared.n_scored, "margin": abs(gain), "half": half}
    if -half <= gain <= half:
        verdict = TEXT("within noise", ours=ours, rival=rival, **margin)
    else:
        winner, other = (ours, rival) if gain > 0 else (rival, ours)
        verdict = TEXT("wins", winner=winner, other=other, **margin)
    met = "met" if found["S-1"] >= AIMS["S-1"] else "missed"
    aimed = f"published {PUBLISHED['S-1'].value}; aim {AIMS['S-1']:.4f}, {met}"
    if not work.scale.full:
        aimed = "only part of the sessions: not to be compared with the published"
    score = {**found, "published": found[published]}
    return TEXT("first line", verdict=verdict, published=published, score=score, beside=aimed)


def headline(work: Work, compared: Comparison, rows: Rows, dopamine: Rows) -> list[Block]:
    """Our figures beside the published ones and the aims."""
    found, k = compared.scores, work.headline
    order = compared.models["counts"].chosen_["order"]
    table: Rows = []
    for name in compared.names:
        runs = [row["score"] for row in rows if row["model"] == name and row["modes"] == (1 if name == "MaxEnt" else k)]
        spread = "no modes" if "counts" in name else ""
        if len(runs) > 1:
            spread = f"{len(runs)} starts: {cell(float(np.mean(runs)), 4)} ± {np.std(runs):.4f}"
        published = PUBLISHED.get(name)
        aim = AIMS.get(name, found["S-1"] if name == "S-2" else None)
        comment = {
            "MaxEnt": "order-1 counts by another name: r(s, a) is free",
            "S-2": "aim: not below S-1",
            PLAIN: "pseudo-count 1, otherwise as S-2",
            BEYOND: "not in the paper",
            "counts": f"order {order}, chosen on training folds",
        }.get(name, "published in a figure only" if name in MODELS and published is None else "")
        met = None if aim is None or not work.scale.full else bool(found[name] >= aim)
        with_modes = "" if "counts" in name or name == "MaxEnt" else f", {k} modes"
        said = "; ".join(part for part in (comment, spread) if part)
        table.append(beside(f"{name}, test score{with_modes}", found[name], published, aim, met, said))
    correlations = sorted((row["correlation"] for row in dopamine if row["mode"] != "one mode"), reverse=True)
    for place, ours in zip(("highest", "second"), correlations, strict=False):
        quantity, theirs = f"correlation with dopamine, {place} mode", PUBLISHED[f"dopamine, {place} mode"]
        table.append(beside(quantity, ours, theirs, said="depends on the gauge (see there)"))
    gain, half = compared.difference("S-2", "S-1")
    moved, moved_half = compared.difference("S-2", PLAIN)
    n_sessions, n_scored = len(compared.steps), compared.n_scored
    margins = {"gain": gain, "half": half, "moved": moved, "moved_half": moved_half}
    parts = [TEXT("headline", n_scored=n_scored, n_sessions=n_sessions, **margins)]
    parts += [TEXT("priors or memories")] if moved > moved_half else []
    parts.append(TEXT("no mouse labels"))
    parts += [] if work.scale.full else [TEXT("part of the sessions")]
    return [TEXT.numbers("ours-and-published", table), Text(" ".join(parts))]


def score_blocks(work: Work, compared: Comparison, rows: Rows, chosen: Mapping[str, dict[str, Any]]) -> list[Block]:
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
    return [
        figures.score_figure(rows, references, compared.n_scored, work.scale.n_runs),
        TEXT.text("choices", n_modes=work.headline, n_sessions=len(work.untested)),
        TEXT.numbers("chosen", settings),
    ]
