"""The labyrinth beyond the paper: shared habit + mode goals against its rivals, on two splits and two readings."""

from typing import Any

import numpy as np

from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.swirl import SWIRL
from swirl.reproduce.labyrinth import figures
from swirl.reproduce.labyrinth.behaviour import behaviour_rows, summary_rows
from swirl.reproduce.labyrinth.fits import BEYOND_NAME, N_MODES, OF, SESSION, SWEPT, Labyrinth
from swirl.reproduce.scale import SECOND
from swirl.workflows.html import Numbers, Section, Text

RIVALS = {  # of the model beyond the paper: how each is called in tables
    "one mode": "one mode, tuned by itself",
    "same settings": "one mode, same settings",
    "counts": "counts",
}


def against_rivals(maze: Labyrinth, best: SWIRL, counts: BackoffMarkov) -> dict[str, dict[str, Any]]:
    """The model beyond the paper against itself with one mode and against counts, paired by test session."""
    rows = {}
    own = best.log_likelihood(maze.test, of=OF)
    steps = best.n_scored(maze.test, of=OF)
    for name in RIVALS:
        rival = counts if name == "counts" else maze.beyond(name)
        gain = own - rival.log_likelihood(maze.test, of=OF)
        half = 1.96 * np.std(gain, ddof=1) * np.sqrt(len(gain)) / steps
        rows[name] = {
            "score": rival.score(maze.test, of=OF),
            "gain": gain.sum() / steps,
            "low": gain.sum() / steps - half,
            "high": gain.sum() / steps + half,
            "sessions ahead": float(np.mean(gain > 0)),
        }
    rows[BEYOND_NAME] = {
        "score": own.sum() / steps,
        "steps": steps,
        "action": best.score(maze.test, of="action"),
        "least occupied": float(best.occupancy_.min()),
        "modes": len(best.initial_modes_),
        "order of counts": counts.order_,
    }
    return rows


def interval(row: dict[str, Any]) -> str:
    """A gain and its interval in words."""
    return f"{row['gain']:+.4f}, 95 % interval {row['low']:+.4f} to {row['high']:+.4f}"


def counts_order(ours: dict[str, Any]) -> int:
    """Order that the training folds chose for the counts."""
    return int(ours["order of counts"])


def beyond(
    maze: Labyrinth, best: SWIRL, models: dict[str, SWIRL], ahead: dict[str, Any], runs: list[dict[str, Any]]
) -> Section:
    """What it gains, what its modes are, and whether they agree with what the animals did."""
    names, evidence = maze.mode_names(best)
    ours = ahead[BEYOND_NAME]
    rows = [
        {
            "model": f"{BEYOND_NAME}, {ours['modes']} modes",
            "score": ours["score"],
            "gain": None,
            "low": None,
            "high": None,
        }
    ]
    called = {**RIVALS, "counts": f"counts, order {counts_order(ours)}"}
    rows += [
        {"model": called[rival], **{key: ahead[rival][key] for key in ("score", "gain", "low", "high")}}
        for rival in RIVALS
    ]
    words = (
        "V of a mode is a habit that all modes share, on the last seven states, plus that mode's goals, on two: both "
        "parts of back-off, longer parts shrunk more, adding in V. Number of modes, history, goals' history and all "
        "priors were chosen on folds of the sessions in neither split's test (studies/labyrinth_choice.py), among "
        "models whose modes each hold 5 % of the steps or more; so were the one-mode model's. The counts' were chosen "
        "on folds of all training sessions."
    )
    table = Numbers(
        "beyond",
        "Test score, and the gain of the model with modes over each rival with its 95 % interval (paired by session).",
        rows,
    )
    maps = figures.maps(
        "maps_beyond", "Shared habit + mode goals: reward maps and log-odds of moves.", best, names, maze.env
    )
    compared = {name: models[name] for name in SWEPT if name in models} | {BEYOND_NAME: best}
    truth = behaviour_rows(maze, compared)
    behaviour = Numbers(
        "behaviour",
        "Do the modes agree with what the animals did? Runs: stretches of three steps or more, each nearer "
        "to the port (home), that end there. F1 of the mode so named; normalised mutual information and adjusted Rand "
        "index of the whole segmentation with the labels water run / home run / other. Test sessions.",
        truth,
        decimals=3,
    )
    shared = {row["model"]: row["mutual information"] for row in truth}
    more = "more" if shared[BEYOND_NAME] > shared["S-2"] else "less"
    behaviour_words = (
        f"Behaviourally: the modes of {BEYOND_NAME} say {more} about runs to water and home than those of S-2 do "
        f"(normalised mutual information {shared[BEYOND_NAME]:.3f} against {shared['S-2']:.3f})."
    )
    if more == "less":
        behaviour_words += (
            " What predicts best and what reads best are not the same model: a long habit already knows where a run "
            "leads, and leaves other things to the modes."
        )
    strips = figures.segments_of_session(
        "segments_beyond",
        "A test session under S-2 and under shared habit + mode goals.",
        maze.test.states[SESSION],
        {name: compared[name].predict(maze.test)[SESSION] for name in ("S-2", BEYOND_NAME)},
        {name: maze.mode_names(compared[name])[0] for name in ("S-2", BEYOND_NAME)},
    )
    numbers = Numbers(
        "segment_numbers_beyond",
        "Segments of shared habit + mode goals, as for the others.",
        summary_rows(maze, BEYOND_NAME, best.predict(maze.test), names),
        decimals=2,
    )
    rule = Numbers("mode_names_beyond", "Evidence for the names.", evidence, decimals=2)
    spread = Numbers("beyond_runs", "Every start.", runs)
    return Section(
        "Beyond the paper: shared habit + mode goals",
        [Text(words), table, maps, behaviour, Text(behaviour_words), strips, numbers, rule, spread],
    )


def second_split(maze: Labyrinth, first: dict[str, float], ahead: dict[str, Any], tiny: bool) -> Section:
    """The headline models on test sessions that no choice has seen."""
    other = maze.other_split(offset=SECOND)
    scores = {} if tiny else {name: (first[name], other.named(name).score(other.test, of=OF)) for name in first}
    rows = side_by_side(other, scores, ahead, ("first split", "second split"), tiny)
    words = (
        f"The same models with sessions {SECOND}, {SECOND + 5}, {SECOND + 10}, … held out, fitted anew with the same "
        "settings. No fold that chose a setting had these sessions in it, and as a test they are scored once. (An "
        "earlier version of this page chose on folds of the first split's training sessions, which these are among; "
        "what to choose from was laid down then.)"
    )
    return Section("A second split", [Text(words), Numbers("second_split", "Test score of the next state.", rows)])


def clean_reading(maze: Labyrinth, first: dict[str, float], ahead: dict[str, Any]) -> Section:
    """The headline models on the recordings with a break wherever the animal left the maze."""
    clean = maze.reading("clean")
    tiny = maze.scale.name == "tiny"
    scores = {name: (score, clean.named(name).score(clean.test, of=OF)) for name, score in first.items()}
    rows = side_by_side(clean, scores, ahead, ("paper's reading", "clean reading"), tiny)
    exits = sum(len(gaps) for gaps in clean.data.gaps)
    words = (
        f"The paper joins bouts: an animal that leaves the maze is at node 0 again in the next step. Here each of the "
        f"{exits:,} exits ends a segment, and history and mode chain start anew, {len(clean.data) + exits:,} segments "
        "in all; the decision to leave is still scored. The windows, the split, the scored steps and all settings are "
        "those of the paper's reading."
    )
    return Section(
        "The clean reading",
        [Text(words), Numbers("clean_reading", "Test score of the next state, both readings.", rows)],
    )


def side_by_side(
    other: Labyrinth,
    scores: dict[str, tuple[float, float]],
    ahead: dict[str, Any],
    columns: tuple[str, str],
    tiny: bool,
) -> list[dict[str, Any]]:
    """Scores and gains here and elsewhere, in two columns."""
    counts = other.counts()
    counted = {"counts": {"score": counts.score(other.test, of=OF)}}
    again = counted if tiny else against_rivals(other, other.beyond(), counts)
    pairs = [(f"{name}, {N_MODES} modes", *pair) for name, pair in scores.items()]
    pairs += [(RIVALS.get(name, name), ahead[name]["score"], again[name]["score"]) for name in again]
    for rival in () if tiny else RIVALS:
        pairs.append((f"gain over {RIVALS[rival]}", ahead[rival]["gain"], again[rival]["gain"]))
        pairs.append(("  lower end of the 95 % interval", ahead[rival]["low"], again[rival]["low"]))
    return [{"model": name, columns[0]: one, columns[1]: two} for name, one, two in pairs]
