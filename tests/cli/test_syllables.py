"""An ordinary MoSeq recording, 57 syllables of which any may follow any other, through the commands of the README."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import swirl
from swirl.cli.app import app

N, SESSIONS, STEPS = 57, 6, 50
runner = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with other column names, drawn from two modes that string syllables together in their own ways."""
    place, rng = tmp_path_factory.mktemp("syllables"), np.random.default_rng(0)
    following = np.stack([[rng.permutation(np.delete(np.arange(N), s))[:3] for s in range(N)] for _ in range(2)])
    rows = []
    for session in range(SESSIONS):
        mode, syllable = session % 2, int(rng.integers(N))
        for _ in range(STEPS):
            rows.append((f"s{session}", f"m{session % 3}", syllable))
            syllable = int(rng.choice(following[mode, syllable]))
            mode = mode if rng.random() < 0.95 else 1 - mode
    rows += [("all", "m0", s) for s in range(N)]  # every syllable occurs
    pd.DataFrame(rows, columns=["uuid", "mouse", "syllable"]).to_csv(place / "raw.csv", index=False)
    return place


def run(*arguments):
    """Run a command that must succeed."""
    words = [str(argument) for argument in arguments]
    done = runner.invoke(app, words, env={"SWIRL_DEBUG": None, "COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.slow
def test_the_readme_holds_with_57_syllables(folder):
    sessions, comparison, fit = folder / "sessions.csv", folder / "comparison.json", folder / "fit.nc"
    columns = ("--session", "uuid", "--subject", "mouse", "--state", "syllable")
    said = run("import", "table", folder / "raw.csv", *columns, "-o", sessions)
    assert "57 states" in said
    said = run("check", sessions, "--env", "syllables")
    assert "a fit would run" in said
    assert "3,192 reachable" in said
    quick = ("--restarts", 1, "--max-iter", 2)
    run("compare", sessions, "--env", "syllables", "--models", "Markov,rARHMM", "--modes", 2, *quick, "-o", comparison,
        "--fits", folder / "fits")  # fmt: skip
    names = json.loads(comparison.read_text())["models"]
    assert set(names) == {"Markov", "rARHMM", "rARHMM, one mode"}
    run("fit", sessions, "--env", "syllables", "--modes", 2, "--history", 1, "--reward", "state-action", *quick,
        "-o", fit)  # fmt: skip
    report = folder / "report.html"
    run("report", fit, "--comparison", comparison, "-o", report)
    assert 10**5 < report.stat().st_size < 4 * 10**6
    run("name", fit, "roam", "rest")
    run("apply", fit, sessions, "-o", folder / "modes.csv")
    assert len(pd.read_csv(folder / "modes.csv")) == SESSIONS * STEPS + N
    for ending in ("csv", "mat"):
        run("export", fit, "-o", folder / f"out.{ending}")
    # The counts, too, can be looked at: of the contexts that were seen.
    counts = swirl.load(folder / "fits" / "Markov.nc")
    assert len(counts.fold_scores_) == 7
    assert len(counts.histories_) < 7 * (SESSIONS * STEPS + 2 * N)
    run("report", folder / "fits" / "Markov.nc", "-o", folder / "counts.html")


@pytest.mark.slow
def test_a_history_that_cannot_be_had_says_which_can():
    data = swirl.Trajectories([np.arange(N)] * 2, n_states=N, n_actions=N)
    env = swirl.MDP.deterministic(np.tile(np.arange(N), (N, 1)))
    with pytest.raises(ValueError, match=r"history=6: more than 20,000,000 .* longest history .* is 4 \(10,744,"):
        swirl.make("rARHMM", env, n_modes=2, history=6).fit(data)
