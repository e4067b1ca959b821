"""The labyrinth's studies of choice: modes, history, temperature, starts (paper App. B)."""

from typing import Any

import numpy as np

from swirl.estimators.swirl import SWIRL
from swirl.inference.mode_matching import adjusted_rand_index
from swirl.priors import in_units
from swirl.reproduce.labyrinth import figures
from swirl.reproduce.labyrinth.fits import BEYOND_NAME, N_MODES, OF, SESSION, SWEPT, Labyrinth
from swirl.text import minus
from swirl.workflows.html import Numbers, Section, Text

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
    caption = (
        f"Test score against the number of modes, mean ± 1 SD over {maze.scale.n_runs} single starts (paper App. B)."
    )
    drawing = figures.modes_sweep(caption, table, numbers, {"counts": counted})
    other = numbers[-1] if tiny else 4
    pair = {f"S-2, {k} modes": fitted["S-2", k] for k in sorted({N_MODES, other})}
    names = {label: maze.mode_names(model)[0] for label, model in pair.items()}
    strips = figures.segments_of_session(
        "segments_by_modes",
        f"A test session under S-2 with {N_MODES} and {other} modes.",
        maze.test.states[SESSION],
        {label: model.predict(maze.test)[SESSION] for label, model in pair.items()},
        names,
    )
    label = f"S-2, {other} modes"
    maps = figures.maps(
        "maps_four_modes",
        f"Reward maps of S-2 with {other} modes; below, log-odds of each move against the average "
        "mode, which no gauge changes.",
        pair[label],
        names[label],
        maze.env,
    )
    return Section("How many modes", [drawing, strips, maps])


def how_much_history(
    maze: Labyrinth, models: dict[str, SWIRL], scores: Any, order_counts: dict[int, float], longer: tuple[str, ...]
) -> Section:
    """Test score against the history length, and whether longer histories segment alike."""
    runs = {name: [row[OF] for row in scores[name]] for name in longer}
    lines = {f"counts of order {order}": value for order, value in order_counts.items()}
    boxes = figures.boxes(
        "history_length",
        f"Test score for history lengths L over {maze.scale.n_runs} single starts, {N_MODES} modes "
        "(paper App. B). A model of length L has a policy of order max(1, L − 1).",
        runs,
        lines,
    )
    paths = {name: models[name].predict(maze.test) for name in longer}
    names = {name: maze.mode_names(models[name])[0] for name in longer}
    strips = figures.segments_of_session(
        "segments_by_history",
        "A test session under each history length.",
        maze.test.states[SESSION],
        {name: paths[name][SESSION] for name in longer},
        names,
    )
    values = np.array([[adjusted_rand_index(paths[a], paths[b]) for b in longer] for a in longer])
    agreement = figures.agreement(
        "history_agreement",
        "Adjusted Rand index between the Viterbi segmentations of all test sessions.",
        values,
        longer,
    )
    pairs = ", ".join(f"{name} {values[1, i]:.2f}" for i, name in enumerate(longer) if i > 1)
    words = (
        "The paper reads the segments of S-3 and S-4 as very close to those of S-2. Measured over all test sessions, "
        f"the adjusted Rand index with S-2 is {pairs or 'not computed'} (0 is chance, 1 the same): the modes of a "
        "longer history are others."
    )
    top = longer[-1]
    maps = figures.maps(
        "maps_longest",
        f"Reward maps of {top} (averaged over earlier states, stretched to 0–1) and log-odds of moves.",
        models[top],
        names[top],
        maze.env,
    )
    return Section("How much history", [boxes, strips, agreement, Text(words), maps])


def temperature(maze: Labyrinth, model: SWIRL, tiny: bool) -> Section:
    """S-2 at several temperatures, under the same prior and under the same prior in units of the temperature."""
    rows = []
    prior = maze.settings("S-2")["reward_prior"]
    for temperature in TEMPERATURES[-2:] if tiny else TEMPERATURES:
        fitted = model if temperature == 1.0 else maze.named("S-2", temperature=temperature)
        scaled = in_units(prior, temperature)
        same = model if temperature == 1.0 else maze.named("S-2", temperature=temperature, reward_prior=scaled)
        rows.append(
            {
                "temperature": temperature,
                "same prior": fitted.score(maze.test, of=OF),
                "prior in units of the temperature": same.score(maze.test, of=OF),
            }
        )
    words = (
        "For a free reward the temperature is not identified: the policy depends on V/α only. So under a prior of the "
        "same meaning (strength ∝ 1/α²) every temperature gives the same fit, up to where EM stops; under the same "
        "numbers a smaller temperature is a weaker prior, and that is all that changes. The paper's finding that small "
        "temperatures suit some modes is a finding about regularisation."
    )
    return Section("Temperature", [Text(words), Numbers("temperature", f"S-2, {N_MODES} modes, test score.", rows)])


def do_starts_agree(
    maze: Labyrinth, model: SWIRL, rows: list[dict[str, Any]], best: SWIRL, beyond_rows: list[dict[str, Any]]
) -> Section:
    """Spread of the test scores over starts, and agreement between the segmentations of the best."""
    blocks: list[Any] = []
    for label, fitted, scored in (("S-2", model, rows), (BEYOND_NAME, best, beyond_rows)):
        order = sorted(range(len(scored)), key=lambda i: -scored[i]["objective"])[:5]

        def compute(fitted: SWIRL = fitted, order: list[int] = order) -> list[dict[str, Any]]:
            paths = [fitted.use_restart(i).predict(maze.test) for i in order]
            return [{"values": [[adjusted_rand_index(a, b) for b in paths] for a in paths]}]

        values = np.array(maze.rows(f"start agreement {label}", fitted, compute)[0]["values"])
        names = [f"start {i}" for i in order]
        spread = [row[OF] for row in scored]
        caption = minus(
            f"{label}: adjusted Rand index between the test segmentations of the starts with the best training "
            f"objective. Test score over all {len(spread)} starts: {np.min(spread):.4f} to {np.max(spread):.4f}."
        )
        blocks.append(
            figures.agreement(f"start_agreement_{'s2' if label == 'S-2' else 'beyond'}", caption, values, names)
        )
    return Section("Do different starts agree?", blocks)
