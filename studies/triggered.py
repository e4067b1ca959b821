"""Is a signal tied to a mode, or to the places where the mode begins? How often each test says so, true or not.

    python studies/triggered.py --jobs 16   # 400 draws of each world
    python studies/triggered.py --quick     # two draws of each world; nothing is written

Modes are given, so nothing is fitted. Ten sessions of 1,000 steps; an animal walks among eight (or 40) places in
a ring, and mode 1 begins and ends as each world says. Its starts are tested in two ways: against signals that
are shifted in a circle, and among visits to the same places (`place_p_value`). Worlds in which the signal knows nothing
of modes count false positives; those in which the mode drives the signal count what is found.

Writes studies/results/triggered.json and .md (command, versions and every draw inside).
"""

from typing import Any, NamedTuple

import numpy as np
from draws import Draw, known, left, make, options, write
from scipy.signal import lfilter
from scipy.stats import binomtest

from swirl.analysis.triggered_average import mode_triggered_average
from swirl.data.trajectories import Trajectories

NAME = "triggered"
SESSIONS, STEPS = 10, 1000
WATER = 3
SHIFTS, LEVEL, DRAWS = 199, 0.05, 400
COMMAND = "python studies/triggered.py --jobs 16"


class World(NamedTuple):
    """What there is, in words and in numbers; all signals have noise of standard deviation 1."""

    words: str
    """The world for a reader."""
    at_place: float = 0.05
    """Probability that mode 1 begins at a step at the water; 0.05 elsewhere, where it is anything."""
    elsewhere: float = 0.02
    place: float = 0.0
    """Height of the place field at the water."""
    mode: float = 0.0
    """How much higher the signal is in mode 1."""
    ar: float = 0.0
    """Autocorrelation of the noise from step to step."""
    bleach: float = 0.0
    """How much the signal loses over a session."""
    commoner: bool = False
    """Whether mode 1 becomes commoner over a session: from never to twice the probability above."""
    steers: bool = False
    """Whether mode 1 walks to the water, instead of anywhere."""
    slow: float = 0.0
    """What stays of the place and the mode in the signal from step to step."""
    places: int = 8
    """How many there are; of many, each is visited rarely."""


WORLDS = {
    "none": World("neither", 0.02),
    "place": World("a place field; modes begin there", 0.4, 0.0, place=1.0),
    "place, often elsewhere": World("a place field; modes begin there more often than elsewhere", 0.4, place=1.0),
    "place, steered": World("a place field; the mode walks there", 0.02, place=1.0, steers=True),
    "place, steered, begins there": World("a place field; the mode begins and stays there", 0.4, place=1.0,
                                          steers=True),
    "slow place": World("a place field, smeared over some steps; modes begin there", 0.4, 0.0, place=1.0, slow=0.7),
    "autocorrelated": World("noise of AR(1) 0.98", 0.02, ar=0.98),
    "place, autocorrelated": World("a place field and noise of AR(1) 0.98", 0.4, 0.0, place=1.0, ar=0.98),
    "bleaching": World("bleaching; the mode becomes commoner", 0.02, bleach=3.0, commoner=True),
    "place, bleaching": World("a place field and bleaching; the mode becomes commoner", 0.4, 0.0, place=1.0, bleach=3.0,
                              commoner=True),
    "all": World("a place field, bleaching, noise of AR(1) 0.98; the mode becomes commoner", 0.4, 0.0, place=1.0,
                 ar=0.98, bleach=3.0, commoner=True),
    "many places, bleaching": World("bleaching, 40 places; the mode becomes commoner", 0.05, 0.05, bleach=3.0,
                                    commoner=True, places=40),
    "mode": World("the mode drives the signal", 0.02, mode=0.5),
    "mode at places": World("the mode drives the signal; it begins at one place", 0.4, 0.0, mode=0.5),
    "mode, steered": World("the mode drives the signal, and walks to a place", 0.02, mode=0.5, steers=True),
    "mode, autocorrelated": World("the mode drives the signal; noise of AR(1) 0.98", 0.02, mode=0.5, ar=0.98),
    "mode, bleaching": World("the mode drives the signal; bleaching; it becomes commoner", 0.02, mode=0.5, bleach=3.0,
                             commoner=True),
    "both": World("the mode and the place drive the signal; it begins there", 0.4, place=1.0, mode=0.5),
}  # fmt: skip


def drawn(world: World, rng: np.random.Generator, n_steps: int = STEPS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw the places, modes and signal of one session."""
    states, modes = np.zeros((2, n_steps), dtype=np.int64)
    states[0] = rng.integers(world.places)
    chances, turns = rng.random((2, n_steps))
    wanders = rng.choice([-1, 0, 1], size=n_steps, p=[0.4, 0.2, 0.4])
    for t in range(1, n_steps):
        at = states[t - 1]
        towards = np.sign((WATER - at + world.places // 2) % world.places - world.places // 2)  # 0 there: it stays
        steered = world.steers and modes[t - 1] and turns[t] < 0.6
        states[t] = (at + (towards if steered else wanders[t])) % world.places
        begins = world.at_place if states[t] == WATER else world.elsewhere
        begins *= 2 * t / n_steps if world.commoner else 1
        modes[t] = chances[t] > 0.1 if modes[t - 1] else chances[t] < begins
    driven = world.place * (states == WATER) + world.mode * modes
    driven = lfilter([1 - world.slow], [1, -world.slow], driven)
    noise = lfilter([np.sqrt(1 - world.ar**2)], [1, -world.ar], rng.normal(size=n_steps + 500))[500:]
    return states, modes, driven + noise + world.bleach * np.exp(-2 * np.arange(n_steps) / n_steps)


def one_draw(world: str, seed: int, n_sessions: int = SESSIONS, n_steps: int = STEPS, **settings: Any) -> Draw:
    """Test one recording of a world in both ways."""
    del settings
    rng = np.random.default_rng([list(WORLDS).index(world), seed])
    states, modes, signal = zip(*(drawn(WORLDS[world], rng, n_steps) for _ in range(n_sessions)), strict=True)
    data = Trajectories(list(states), signals={"dff": list(signal)})
    found = mode_triggered_average(data, list(modes), "dff", mode=1, n_modes=2, n_shifts=SHIFTS, random_state=seed)
    return {
        "world": world,
        "seed": seed,
        "shift": float(found.p_value[0, 0]),
        "place": float(found.place_p_value[0, 0]),
        "events": int(found.n_events[0]),
        "exchanged": int(found.n_exchanged[0]) if found.n_exchanged is not None else 0,
        "meaning": found.meaning(1),
    }


def share(rows: list[Draw], test: str) -> str:
    """Share of draws in which a test is passed, with its exact binomial interval."""
    n_passed = sum(row[test] <= LEVEL for row in rows)
    low, high = binomtest(n_passed, len(rows)).proportion_ci()
    return f"{100 * n_passed / len(rows):.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def table(found: list[Draw]) -> str:
    """One row per world, those without a tie to modes first."""
    lines = ["| world | tied to the mode? | draws | shifted signals | the same places | starts, that tell |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for name, world in sorted(WORLDS.items(), key=lambda item: item[1].mode > 0):
        if rows := [row for row in found if row["world"] == name]:
            events, left_over = (np.mean([row[key] for row in rows]) for key in ("events", "exchanged"))
            lines.append(f"| {world.words} | {'yes' if world.mode else 'no'} | {len(rows)} | {share(rows, 'shift')} | "
                         f"{share(rows, 'place')} | {events:.0f}, {left_over:.0f} |")  # fmt: skip
    return "\n".join(lines)


def page(found: list[Draw], made_with: str) -> str:
    """The page of the documentation."""
    return f"""# A signal of modes, or of places?

How often each test of `mode_triggered_average` has p ≤ 0.05, with exact binomial 95 % intervals. Modes are given.
Where the signal is not tied to the mode, 5 % is right; where it is, more is better.

- *Shifted signals*: `p_value`, against signals shifted in a circle.
- *The same places*: `place_p_value`, which takes out what places and slow drifts explain, and exchanges starts among
  visits to the same place at about the same time.
- *Starts, that tell*: all of them, and those with other visits to compare with.

A draw is ten sessions of 1,000 steps; noise has a standard deviation of 1, the place field a height of 1, bleaching
takes 2.6, and a mode lifts the signal by 0.5.

{table(found)}

A place, or a mode that becomes commoner while the signal bleaches, makes the first test small. The second is about the
mode; it cannot tell a mode from its places where the mode begins at every visit, and says so.

`{COMMAND}`, {made_with}.
"""


def main() -> None:
    """Make the draws that are asked for, and write them."""
    wanted = options("A signal of modes, or of places?", list(WORLDS))
    if wanted.quick:
        print(table([one_draw(world, seed, 4, 300) for world in WORLDS for seed in range(2)]))
        return
    found = known(wanted.output, NAME)
    cases = left(found, dict.fromkeys(WORLDS, DRAWS), wanted)

    def keep(draw: Draw) -> None:
        found.append(draw)
        if len(found) % 50 == 0:
            save()

    def save() -> None:
        order = list(WORLDS)
        found.sort(key=lambda row: (order.index(row["world"]), row["seed"]))
        write(found, wanted.output, NAME, COMMAND, page)

    make(one_draw, cases, seconds=lambda _: 1.0, jobs=wanted.jobs, limit=wanted.limit, keep=keep)
    save()


if __name__ == "__main__":
    main()
