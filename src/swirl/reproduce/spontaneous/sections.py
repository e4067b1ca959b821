"""Parts of the spontaneous experiment beside the scores.

Families of models, discount and temperature, habit, dopamine, the second split, the clean reading.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swirl.analysis.reward_signal import signal_test
from swirl.analysis.significance import LEVEL, holm
from swirl.datasets import spontaneous
from swirl.estimators.swirl import SWIRL
from swirl.priors import Dirichlet, Gaussian
from swirl.reproduce.cache import fit_inputs
from swirl.reproduce.page import Rows
from swirl.reproduce.scale import SECOND
from swirl.reproduce.spontaneous import TEXT
from swirl.reproduce.spontaneous.fits import (
    AS_GOOD,
    BEYOND,
    Work,
    ahead,
    build,
    compare,
    counts,
    scores,
    settings_as_good,
)
from swirl.workflows.html import Block, Text


def family_blocks(work: Work, chosen: Mapping[str, dict[str, Any]]) -> list[Block]:
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
    return [TEXT.text("family"), TEXT.numbers("one-family", table, 6)]


def gauge_blocks(work: Work, chosen: Mapping[str, dict[str, Any]]) -> list[Block]:
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
    return [TEXT.text("not identified"), TEXT.numbers("discount-temperature", table, 5)]


def habit_blocks(work: Work, fits: Mapping[tuple[str, int], Any]) -> list[Block]:
    """Does the model with a shared habit need its modes?"""
    _, test = work.split()
    compared = compare({str(k): fits[BEYOND, k] for k in work.modes}, test)
    table = [
        {
            "modes": k,
            "test score": compared.scores[str(k)],
            **ahead(compared, str(k), "1", "gain over one mode"),
            "least share of a mode (expected)": float(fits[BEYOND, k].occupancy_.min()),
        }
        for k in work.modes
    ]
    numbers = TEXT.numbers("habit-and-goals", table, n_runs=work.scale.n_runs, n_scored=compared.n_scored)
    return [TEXT.text("shared habit"), numbers]


def dopamine_rows(work: Work, model: SWIRL, names: Sequence[str], label: str) -> Rows:
    """Correlation of reward and dopamine in each mode, in two gauges, with p-values under circular shifts.

    "corrected" ones are for all modes of the model (Holm), in each gauge by itself.
    """
    n_shifts = 19 if work.tiny else 100 * work.scale.n_draws - 1
    data = work.sessions

    def compute() -> Rows:
        modes, signal = model.predict(data), (data.signals or {})["dopamine"]
        steps = [int(sum((path == mode).sum() for path in modes)) for mode in range(len(names))]

        def test(gauge: Any, within: bool = False) -> Any:
            rewards = model.reward_table(gauge)
            return signal_test(
                rewards, modes, data.states, data.actions, signal, n_shifts=n_shifts, within_state=within
            ).table()

        fitted, canonical, within = test("fitted"), test("canonical"), test("fitted", True)
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
    rows = work.ledger.rows(f"{label}-dopamine", inputs, compute)
    corrected = {name: holm(np.array([row[name] for row in rows], float)) for name in ("p", "canonical p", "within p")}
    table = []
    for i, row in enumerate(rows):  # each corrected p-value stands after its own
        wide: dict[str, Any] = {}
        for name, value in row.items():
            wide[name] = value
            if name in corrected:
                wide[f"{name}, corrected"] = float(corrected[name][i])
        table.append(wide)
    return table


def dopamine_elsewhere(work: Work, names: Sequence[str]) -> list[Block]:
    """The same test under every setting of S-1 that the folds find as good as the chosen one."""
    train, test = work.split()
    table = []
    for i, (settings, behind) in enumerate(settings_as_good(work, "S-1")):
        priors = {what: repr(value) for what, value in settings.items() if what != "switching"}
        label = "S-1" if i == 0 else f"S-1-{'-'.join(priors.values())}"  # the first is the chosen one
        model = work.ledger.fit(f"{label}-K={work.headline}", build(work, "S-1", work.headline, settings), train)
        rows = dopamine_rows(work, model, names, label)
        highest = max(rows, key=lambda row: row["correlation"])
        table.append(
            {
                **priors,
                "switching": settings["switching"],
                "behind on the folds, nats in 1,000 steps": 1000 * behind,
                "test score": model.score(test, of="action"),
                "highest correlation": highest["correlation"],
                "its share of steps": highest["share of steps"],
                "its p, corrected": highest["p, corrected"],
                "modes that stand out": sum(row["p, corrected"] <= LEVEL for row in rows),
                "in the canonical gauge": sum(row["canonical p, corrected"] <= LEVEL for row in rows),
            }
        )
    clear = sum(row["modes that stand out"] > 0 for row in table)
    verdict = TEXT("settled") if clear in (0, len(table)) else TEXT("not settled")
    words = TEXT.text("elsewhere", n=len(table), clear=clear or "None", as_good=AS_GOOD, verdict=verdict)
    return [words, TEXT.numbers("dopamine-elsewhere", table, 3)] if len(table) > 1 else []


def second_blocks(work: Work, chosen: Mapping[str, dict[str, Any]]) -> list[Block]:
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
    rows = [
        {
            "model": name,
            "first split": first.scores[name],
            "second split": second.scores[name],
            **ahead(second, name, "counts", "second: ahead of counts by"),
        }
        for name in first.names
    ]
    best = [max(split.names, key=lambda name, split=split: split.scores[name]) for split in (first, second)]
    words = TEXT.text(
        "other sessions",
        sessions=f"{SECOND}, {SECOND + 5}, {SECOND + 10}",
        n_scored=second.n_scored,
        wins="wins" if best[0] == best[1] else "does not win",
    )
    return [words, TEXT.numbers("second-split", rows, n_modes=work.headline)]


def clean_blocks(work: Work, paper: SWIRL) -> list[Block]:
    """The same question on the clean reading of the recordings."""
    data = spontaneous("clean")
    sessions = data.trajectories[: max(15, round(work.scale.share * len(data.trajectories)))]
    clean = Work(work.scale, work.ledger, data.env, sessions)
    train, test = clean.split()
    k = work.headline
    start = build(clean, "S-1", k, {}, n_restarts=max(1, work.scale.n_runs // 2))
    priors = [Dirichlet(c) for c in (1.0, 0.3, 3.0)]
    prior, _ = clean.choose("clean-S-1-prior", start, {"reward_prior": priors})[0]
    models: dict[str, Any] = {
        f"S-1, {n} mode{'s' * (n > 1)}": work.ledger.fit(f"clean-S-1-K={n}", build(clean, "S-1", n, prior), train)
        for n in ((k,) if work.tiny else (1, k))
    }
    modes = models[f"S-1, {k} modes"]
    models |= counts(clean, data.env, train, "clean")
    compared = compare(models, test)
    rows = [
        {"model": name, "test score": compared.scores[name], **ahead(compared, name, "counts", "ahead of counts by")}
        for name in compared.names
    ]
    certain = [
        float(np.mean(np.concatenate([p.max(axis=1) for p in model.predict_proba(data)])))
        for model, data in ((modes, test), (paper, work.split()[1]))
    ]
    gain, half = compared.difference(f"S-1, {k} modes", "counts")
    segments = sum(len(gaps) + 1 for gaps in sessions.gaps)
    words = TEXT(
        "gaps",
        n_sessions=len(sessions),
        n_segments=segments,
        length=sum(int((a >= 0).sum()) for a in sessions.actions) / segments,
        certain=certain,
        no_knowledge=1 / k,
        n_modes=k,
        gain=gain,
        half=half,
    )
    if gain <= half:
        words += " " + TEXT("no case for modes")
    words += " " + TEXT("across gaps")
    return [Text(words), TEXT.numbers("clean-reading", rows, n_scored=compared.n_scored)]
