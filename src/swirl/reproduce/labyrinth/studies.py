"""The labyrinth's studies of choice: modes, history, temperature, starts (paper App. B)."""

from typing import Any

import numpy as np

from swirl.estimators.swirl import SWIRL
from swirl.priors import in_units
from swirl.reproduce.fit_checks import agreement, best_starts
from swirl.reproduce.labyrinth import TEXT, figures
from swirl.reproduce.labyrinth.fits import BEYOND_NAME, N_MODES, OF, SWEPT, Labyrinth
from swirl.reproduce.page import Rows
from swirl.workflows.html import Drawing, Section

TEMPERATURES = (0.01, 0.1, 0.5, 1.0)


def how_many_modes(maze: Labyrinth, models: dict[str, SWIRL], counted: float, tiny: bool) -> Section:
    """Test score against the number of modes; S-2 with three and with four of them."""
    numbers = (N_MODES,) if tiny else (2, 3, 4, 5)
    table: dict[str, np.ndarray] = {}
    fitted = {}
    for name in SWEPT[3:] if tiny else SWEPT:
        columns = []
        for k in numbers:
            fitted[name, k] = models[name] if k == N_MODES else maze.named(name, k)
            columns.append([row[OF] for row in maze.run_scores(f"{name} {k} modes", fitted[name, k])])
        table[name] = np.array(columns)
    other = numbers[-1] if tiny else 4
    strips = figures.segments_of_session(maze, {f"S-2, {k} modes": fitted["S-2", k] for k in sorted({N_MODES, other})})
    sweep = figures.modes_sweep(table, numbers, {"counts": counted})
    return Section(
        "How many modes",
        [
            TEXT.drawing("score_by_modes", *sweep, n_runs=maze.scale.n_runs),
            TEXT.drawing("segments_by_modes", *strips, n_modes=N_MODES, other=other),
            TEXT.drawing("maps_four_modes", *figures.maps(maze, fitted["S-2", other]), other=other),
        ],
    )


def how_much_history(
    maze: Labyrinth, models: dict[str, SWIRL], scores: Any, order_counts: dict[int, float], longer: tuple[str, ...]
) -> Section:
    """Test score against the history length, and whether longer histories segment alike."""
    runs = {name: [row[OF] for row in scores[name]] for name in longer}
    lines = {f"counts of order {order}": value for order, value in order_counts.items()}
    values = agreement([models[name].predict(maze.test) for name in longer])
    pairs = ", ".join(f"{name} {values[1, i]:.2f}" for i, name in enumerate(longer) if i > 1)
    strips = figures.segments_of_session(maze, {name: models[name] for name in longer})
    return Section(
        "How much history",
        [
            TEXT.drawing("history_length", *figures.boxes(runs, lines), n_runs=maze.scale.n_runs, n_modes=N_MODES),
            TEXT.drawing("segments_by_history", *strips),
            TEXT.drawing("history_agreement", *figures.agreement(values, longer)),
            TEXT.text("longer histories", pairs=pairs or "not computed"),
            TEXT.drawing("maps_longest", *figures.maps(maze, models[longer[-1]]), longest=longer[-1]),
        ],
    )


def temperature(maze: Labyrinth, model: SWIRL, tiny: bool) -> Section:
    """S-2 at several temperatures, under the same prior and under the same prior in units of the temperature."""
    prior = maze.settings("S-2")["reward_prior"]

    def score(**changes: Any) -> float:
        return (model if changes["temperature"] == 1.0 else maze.named("S-2", **changes)).score(maze.test, of=OF)

    rows = [
        {
            "temperature": t,
            "same prior": score(temperature=t),
            "prior in units of the temperature": score(temperature=t, reward_prior=in_units(prior, t)),
        }
        for t in (TEMPERATURES[-2:] if tiny else TEMPERATURES)
    ]
    return Section("Temperature", [TEXT.text("not identified"), TEXT.numbers("temperature", rows, n_modes=N_MODES)])


def do_starts_agree(maze: Labyrinth, model: SWIRL, rows: Rows, best: SWIRL, beyond_rows: Rows) -> Section:
    """Spread of the test scores over starts, and agreement between the segmentations of the best."""
    blocks: list[Drawing] = []
    for label, name, fitted, scored in (("S-2", "s2", model, rows), (BEYOND_NAME, "beyond", best, beyond_rows)):
        order = best_starts(fitted)

        def compute(fitted: SWIRL = fitted, order: list[int] = order) -> Rows:
            return [{"values": agreement([fitted.use_restart(i).predict(maze.test) for i in order])}]

        values = np.array(maze.rows(f"start agreement {label}", fitted, compute)[0]["values"])
        spread = [row[OF] for row in scored]
        caption = TEXT("start agreement", label=label, n_starts=len(spread), low=min(spread), high=max(spread))
        drawn = figures.agreement(values, [f"start {i}" for i in order])
        blocks.append(Drawing(f"start_agreement_{name}", caption, *drawn))
    return Section("Do different starts agree?", blocks)
