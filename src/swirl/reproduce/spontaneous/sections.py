"""Parts of the spontaneous experiment beside the scores.

Families of models, discount and temperature, habit, dopamine, the second split, the clean reading.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swirl.analysis.reward_signal import signal_test
from swirl.analysis.significance import holm
from swirl.datasets import spontaneous
from swirl.estimators.swirl import SWIRL
from swirl.priors import Dirichlet, Gaussian
from swirl.reproduce.cache import fit_inputs
from swirl.reproduce.scale import SECOND
from swirl.reproduce.spontaneous.fits import BEYOND, Work, build, compare, counts, nats, scores
from swirl.workflows.html import Numbers, Text


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
    """Correlation of reward and dopamine in each mode, in two gauges, with p-values under circular shifts.

    "corrected" ones are for all modes of the model (Holm), in each gauge by itself.
    """
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
    rows = work.ledger.rows(f"{label}-dopamine", inputs, compute)
    corrected = {name: holm(np.array([row[name] for row in rows], float)) for name in ("p", "canonical p", "within p")}
    return [
        {key: value for name, old in row.items() for key, value in _beside(name, old, i, corrected)}
        for i, row in enumerate(rows)
    ]


def _beside(name: str, value: Any, i: int, corrected: Mapping[str, np.ndarray]) -> list[tuple[str, Any]]:
    """A column and, after a p-value, the corrected one."""
    more = [(f"{name}, corrected", float(corrected[name][i]))] if name in corrected else []
    return [(name, value), *more]


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
