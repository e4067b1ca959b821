"""Predictive checks of the spontaneous experiment: models are simulated with the recorded restarts of the history."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
from jaxtyping import Int

from swirl.analysis.behaviour import switch_rate
from swirl.analysis.predictive_checks import PredictiveChecks
from swirl.analysis.significance import LEVEL
from swirl.data.segments import bouts_of, find_segments
from swirl.data.trajectories import Trajectories
from swirl.datasets import SYLLABLES
from swirl.plots.style import TICK_SIZE, printed, tidy
from swirl.reproduce.cache import Ledger, fit_inputs
from swirl.reproduce.fit_checks import check_table
from swirl.reproduce.page import Rows
from swirl.reproduce.spontaneous import TEXT
from swirl.reproduce.spontaneous.figures import MODEL_COLOURS, WATCHED
from swirl.workflows.html import Block, Drawing, Text


def check_figure(checks: Mapping[str, PredictiveChecks], shown: Sequence[tuple[str, str, str]]) -> Drawing:
    """Statistics of the data beside those of simulated data, as a strip for each statistic."""
    columns = 3
    figure = printed(7.0, 1.5 * -(-len(shown) // columns) + 0.3)
    axes = figure.subplots(-(-len(shown) // columns), columns, squeeze=False).ravel()
    rows: Rows = []
    for ax, statistic in zip(axes, shown, strict=False):
        what, of, summary = statistic
        for lane, (name, check) in enumerate(checks.items()):
            drawn = check.simulated[statistic]
            spread = np.linspace(-0.16, 0.16, len(drawn)) if len(drawn) > 1 else np.zeros(1)
            colour = MODEL_COLOURS.get(name, "#7F7F7F")
            ax.plot(drawn, lane + spread, ".", markersize=4, color=colour, alpha=0.7)
            same = {"statistic": what, "of": of, "summary": summary}
            rows += [{**same, "source": name, "draw": i, "value": value} for i, value in enumerate(drawn.tolist())]
            # Decoded modes are each model's own, so the data have a value for each model.
            ax.plot([check.real[statistic]] * 2, [lane - 0.34, lane + 0.34], color="#262626", linewidth=1.6)
            rows.append({**same, "source": f"data, by {name}", "draw": None, "value": check.real[statistic]})
        tidy(ax, title=fill(", ".join(part for part in (what, of) if part), 26))
        ax.set_xlabel(summary, fontsize=TICK_SIZE)
        ax.set_yticks(range(len(checks)), list(checks))
        ax.set_ylim(len(checks) - 0.5, -0.5)
        ax.margins(x=0.12)
        ax.locator_params(axis="x", nbins=4)
    for ax in axes[len(shown) :]:
        ax.set_axis_off()
    return TEXT.drawing("predictive-checks", figure, rows, n_draws=next(iter(checks.values())).n_draws)


def draw_choices(
    model: Any, data: Trajectories, n_draws: int, random_state: int = 0
) -> tuple[Int[np.ndarray, "draw session time"], Int[np.ndarray, "draw session time"]]:
    """Simulate states and actions of a model of one state, for sessions of equal length.

    The next state is the simulated action where the recorded steps join up, and the recorded state where they do not:
    what was cut out there is not the model's to say.
    """
    policies = model.policies_ if model.target == "action" else model.emission_table()
    choice, switch = np.cumsum(policies, axis=-1), np.cumsum(model.mode_transitions_, axis=-1)
    recorded, done = np.stack(data.states), np.stack(data.actions)
    rng = np.random.default_rng(random_state)
    shape = (n_draws, len(recorded))

    def draw(cumulative: np.ndarray) -> np.ndarray:
        below = cumulative < rng.random((*shape, 1)) * cumulative[..., -1:]
        return below.sum(axis=-1)

    states, actions = np.empty((2, *shape, recorded.shape[1]), dtype=np.int64)
    modes = draw(np.broadcast_to(np.cumsum(model.initial_modes_), (*shape, len(model.initial_modes_))))
    now = np.broadcast_to(recorded[:, 0], shape)
    for t in range(recorded.shape[1]):
        states[..., t], actions[..., t] = now, draw(choice[modes, now])
        modes = draw(switch[now, modes])
        if t + 1 < recorded.shape[1]:
            now = np.where(done[:, t] == recorded[:, t + 1], actions[..., t], recorded[:, t + 1])
    return states, actions


def choice_statistics(
    states: Sequence[np.ndarray], actions: Sequence[np.ndarray], modes: Sequence[np.ndarray], names: Sequence[str]
) -> dict[tuple[str, str, str], float]:
    """What a simulation should share with the data, by (what, of, summary).

    >>> states, actions = [np.array([0, 1, 0, 2])], [np.array([1, 0, 2, 2])]
    >>> found = choice_statistics(states, actions, [np.array([0, 0, 1, 1])], ["h1", "h2"])
    >>> found["self-transitions", "", "share of steps"], found["back to the syllable before", "", "share of steps"]
    (0.25, 0.3333333333333333)
    """
    found: dict[tuple[str, str, str], float] = {}
    chosen = np.concatenate(actions)
    for name in WATCHED:
        syllable = SYLLABLES.index(name)
        shares = np.array([(path == syllable).mean() for path in actions])
        found["next syllable", name, "share of steps"] = float((chosen == syllable).mean())
        found["next syllable", name, "SD over sessions"] = float(shares.std())
    found["self-transitions", "", "share of steps"] = float((chosen == np.concatenate(states)).mean())
    back = [(a[1:] == s[:-1]) & (s[1:] != s[:-1]) for s, a in zip(states, actions, strict=True)]
    found["back to the syllable before", "", "share of steps"] = float(np.concatenate(back).mean())
    again = [a[1:] == a[:-1] for a in actions]
    found["same next syllable again", "", "share of steps"] = float(np.concatenate(again).mean())
    fifth = max(min(map(len, actions)) // 5, 1)
    drift = [(a[-fifth:] == 0).mean() - (a[:fifth] == 0).mean() for a in actions]
    found["into Pause, last less first fifth", "", "share of steps"] = float(np.mean(drift))
    found["decoded modes", "", "switches per 100 steps"] = switch_rate(modes)
    path = np.concatenate(modes)
    for mode, (name, bouts) in enumerate(zip(names, bouts_of(find_segments(modes), len(names)), strict=True)):
        found["decoded modes", name, "mean dwell (steps)"] = bouts.mean
        found["decoded modes", name, "share of steps"] = float((path == mode).mean())
    return found


def checks_of(
    ledger: Ledger, name: str, model: Any, test: Trajectories, names: Sequence[str], n_draws: int
) -> PredictiveChecks:
    """Compare the test sessions with what the model simulates at the same states."""

    def statistics(states: Sequence[np.ndarray], actions: Sequence[np.ndarray]) -> dict[tuple[str, str, str], float]:
        data = Trajectories(states, actions, n_states=test.n_states, n_actions=test.n_actions)
        return choice_statistics(states, actions, model.predict(data), names)

    def compute() -> Rows:
        real = statistics(test.states, test.actions)
        simulated = zip(*draw_choices(model, test, n_draws), strict=True)
        drawn = [statistics(list(states), list(actions)) for states, actions in simulated]
        return [{"statistic": key, "real": value, "simulated": [d[key] for d in drawn]} for key, value in real.items()]

    inputs = {**fit_inputs(model, test), "fitted to": model.data_fingerprint_, "n_draws": n_draws, "names": list(names)}
    rows = ledger.rows(f"{name}-checks", inputs, compute)
    keys = [tuple(row["statistic"]) for row in rows]
    real = dict(zip(keys, (row["real"] for row in rows), strict=True))
    return PredictiveChecks(real, {k: np.array(row["simulated"]) for k, row in zip(keys, rows, strict=True)}, {}, {})


def check_blocks(checks: Mapping[str, PredictiveChecks]) -> list[Block]:
    """Do S-1 and the rARHMM, let run, behave as the animals did?"""
    table = [{key: value for key, value in row.items() if key != "draws"} for row in check_table(checks)]
    failed = [
        f"{row['statistic']}{' of ' + row['of'] if row['of'] else ''} ({row['summary']})"
        for row in table
        if row["model"] == "S-1" and row["corrected_p_value"] <= LEVEL
    ]
    ours, named = checks["S-1"], f": {'; '.join(failed)}" if failed else ""
    words = TEXT("restarts of the history", n=len(ours.real), n_failed=len(failed), level=LEVEL, failed=named)
    if any("SD over sessions" in name for name in failed):
        words += " " + TEXT("sessions differ")
    shown = [key for key in ours.real if key[0] != "decoded modes" or not key[1] or "dwell" in key[2]]
    least = 2 / (1 + ours.n_draws)
    numbers = TEXT.numbers("predictive-checks-table", table, 3, least=least, corrected=ours.words)
    return [check_figure(checks, shown), Text(words), numbers]
