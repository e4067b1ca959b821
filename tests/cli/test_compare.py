"""`swirl compare`, its file, and `swirl name`: which model, how many modes, and what they are called."""

import html
import json
import shlex
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import swirl
from swirl import datasets
from swirl.analysis.comparison_json import read_comparison, write_comparison
from swirl.analysis.comparison_result import Comparison
from swirl.analysis.grid_search import Choice
from swirl.cli.app import app
from swirl.cli.compare import _with_grid, fit_words
from swirl.io.environment_files import write_environment
from swirl.io.export_tables import to_frame, write_table
from swirl.plots.model_comparison import mode_curves
from swirl.report.comparison import panel_values
from swirl.workflows.goals import read_goals

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments], env={"SWIRL_DEBUG": None, "COLUMNS": "120"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sessions of three animals, and one comparison of counts with a table-of-states model of 2 or 3 modes."""
    place = tmp_path_factory.mktemp("compare é")
    data = datasets.gridworld(n_sessions=12, n_steps=40, random_state=1)
    steps = to_frame(data.trajectories)
    steps["subject"] = "m" + (steps["session"].astype(int) % 3).astype(str)
    write_table(steps, place / "sessions.csv")
    write_environment(data.env, place / "grid.csv")
    done = run(
        "compare", place / "sessions.csv", "--env", place / "grid.csv", "--models", "Markov-1,ARHMM", "--modes", "2,3",
        "--restarts", 1, "--max-iter", 3, "--hold-out-subjects", "m2", "--folds", 2, "--fits", place / "fits",
        "--goals", "corner=0,far=(4, 3)+24", "-o", place / "comparison.json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    (place / "said.txt").write_text(done.stdout)
    (place / "noted.txt").write_text(done.stderr)
    return place


@pytest.mark.slow
def test_it_says_who_won_and_what_was_scored(folder):
    said = (folder / "said.txt").read_text()
    facts = json.loads((folder / "comparison.json").read_text())
    assert facts["verdict"] in said
    assert "| Markov-1 | 1 |" in said
    assert "4 test sessions scored, once" in said
    assert facts["test_sessions"]["subject"] == ["m2"] * 4
    assert facts["run"]["config"]["compare"]["modes"] == [2, 3]
    assert facts["run"]["config"]["hold_out_subjects"] == ["m2"]


@pytest.mark.slow
def test_what_to_do_next_is_about_the_model_that_training_folds_picked(folder):
    last = (folder / "said.txt").read_text().strip().splitlines()[-1]
    picked = read_comparison(folder / "comparison.json").picked()
    assert last.startswith("Next: swirl fit ")
    assert f" --model {picked} " in last


@pytest.mark.slow
def test_goals_are_compared_by_name(folder, tmp_path):
    command = ["compare", folder / "sessions.csv", "--env", folder / "grid.csv", "--models", "Markov-1,ARHMM,Goals-2"]
    command += ["--goals", "4,20", "--modes", 2, "--restarts", 1, "--max-iter", 3, "--hold-out", 4, "--folds", 0]
    done = run(*command, "-o", tmp_path / "c.json", "--fits", tmp_path / "fits")
    assert done.exit_code == 0, done.output
    assert "| Goals-2 | 3 |" in done.stdout
    goals, tables = (swirl.load(tmp_path / "fits" / f"{name}.nc") for name in ("Goals-2", "ARHMM"))
    assert (goals.reward, goals.history, tables.n_modes) == (swirl.rewards.Goals((4, 20)), 2, 2)
    echoed, other = (model.run_["config"]["model"] for model in (goals, tables))
    assert (echoed["name"], echoed["modes"], echoed["reward"]["places"]) == ("Goals-2", 3, [[4], [20]])
    assert "reward" not in other


def test_the_next_command_has_goals_only_where_the_model_has():
    given = {"--reward": None, "--goals": "4,20"}
    assert fit_words("Goals", 3, given) == ["--goals", "4,20", "--model", "Goals"]
    assert fit_words("S-1", 2, given) == ["--model", "S-1", "--modes", "2"]


@pytest.mark.slow
def test_goals_are_asked_for_in_terminal_file_and_report(folder):
    said = (folder / "said.txt").read_text()
    table = said.split("Where is it going, and do modes agree with runs:")[1]
    assert "| model | modes | which goal next | place +1 | place +5 | place +20 |" in table
    assert max(map(len, table.split("Saved to")[0].splitlines())) <= 100
    facts = json.loads((folder / "comparison.json").read_text())
    assert facts["panel"]["goals"] == {"corner": [0], "far": [23, 24]}
    assert facts["run"]["config"]["compare"]["goals"] == "corner=0,far=(4, 3)+24"
    read = read_comparison(folder / "comparison.json")
    assert str(read.panel.text(read.labels, leave_out=["score"])) in said
    model = swirl.load(folder / "fits" / "Markov-1.nc")
    data = swirl.Trajectories.from_csv(folder / "sessions.csv", state_names=model.env.state_names)
    _, test = data.split(subjects="m2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loss = swirl.metrics.panel({"m": model}, test, {"corner": 0, "far": [23, 24]}).value("m", "next_goal")
    assert facts["panel"]["models"]["Markov-1"]["next_goal"] == pytest.approx(loss)
    told = panel_values(read)
    assert told["panel_title"] == "Where is it going, and do modes agree with runs"
    assert told["panel"][0]["header"] == ["model", "modes", "which goal next", "place +1", "place +5", "place +20"]
    assert told["panel"][0]["rows"][-1][0] == "base rate"
    assert panel_values(replace(read, panel=None)) == {"panel": []}


def test_a_damaged_panel_is_no_comparison(folder, tmp_path):
    facts = json.loads((folder / "comparison.json").read_text())
    facts["panel"]["sums"]["place_5"] = [[1.0]]
    (tmp_path / "c.json").write_text(json.dumps(facts))
    with pytest.raises(ValueError, match=r"damaged comparison \(a panel of"):
        read_comparison(tmp_path / "c.json")
    (tmp_path / "c.json").write_text(json.dumps({key: value for key, value in facts.items() if key != "panel"}))
    assert read_comparison(tmp_path / "c.json").panel is None  # of an older swirl


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("0,(0, 1)", {"0": [0], "(0, 1)": [1]}),
        ("home=(0, 0)+1, water=24", {"home": [0, 1], "water": [24]}),
        ({"home": [0, "(0, 1)"], "water": 24}, {"home": [0, 1], "water": [24]}),
        (None, None),
    ],
)
def test_goals_in_words(given, expected):
    assert read_goals(given, datasets.gridworld_env()) == expected


def test_goals_that_are_none_are_all_named():
    with pytest.raises(ValueError, match=r"no state 'lake'; there are (.|\n)*no state '25'"):
        read_goals("water=lake,home=0+25", datasets.gridworld_env())
    with pytest.raises(ValueError, match="'a' is there twice"):
        read_goals("a=1,a=2", datasets.gridworld_env())
    with pytest.raises(ValueError, match="goals: the list is empty; give one or more"):
        read_goals(" , ", datasets.gridworld_env())


@pytest.mark.slow
def test_without_fits_the_command_to_fit_is_named(folder, tmp_path):
    command = ["compare", folder / "sessions.csv", "--env", folder / "grid.csv", "--models", "Markov-1,ARHMM"]
    command += ["--modes", 2, "--restarts", 1, "--max-iter", 3, "--hold-out", 4, "--seed", 3, "--folds", 0]
    done = run(*command, "-o", tmp_path / "c.json")
    assert done.exit_code == 0, done.output
    why, last = done.stdout.strip().splitlines()[-2:]
    assert why == "To go on with ARHMM: the only model with several modes."
    assert "To fit: 2 models, then each on all training sessions." in done.stderr
    words = shlex.split(last.removeprefix("Next: "))
    first, second = words[: words.index("&&")], words[words.index("&&") + 1 :]
    assert first[:3] == ["swirl", "fit", str(folder / "sessions.csv")]
    assert " ".join(first[5:]) == "--restarts 1 --max-iter 3 --seed 3 --model ARHMM --modes 2 -o fit.nc"
    assert second == ["swirl", "report", "fit.nc", "--comparison", str(tmp_path / "c.json"), "-o", "report.html"]


def test_the_test_scores_do_not_pick_the_model_to_go_on_with():
    better_on_test = np.array([[-9.0, -9.0], [-4.0, -5.5]])
    assert made().picked() == "S-1"
    assert made(log_likelihoods=better_on_test).best == "Markov"
    assert made(log_likelihoods=better_on_test).picked() == "S-1"
    none = made(log_likelihoods=better_on_test, modes={"S-1": 1, "Markov": 1})
    assert none.picked() == "S-1"  # on the folds it is ahead


def test_a_model_that_has_no_room_is_named_before_any_is_fitted(folder):
    done = run(
        "compare", folder / "sessions.csv", "--env", folder / "grid.csv", "--models", "Markov,S-20", "--modes", 2
    )
    assert done.exit_code == 2
    said = " ".join(done.stderr.split())
    assert "S-20: The fit may need up to" in said
    assert "What would fit: history=" in said or "; or history=" in said
    assert "Or compare without S-20 (--models)." in said


def test_a_warning_is_a_note_said_once(folder):
    assert (folder / "noted.txt").read_text().count("Note: never visited in training: 1 state") == 1
    assert ".py" not in (folder / "noted.txt").read_text()


@pytest.mark.filterwarnings("ignore::swirl.estimators.base.UnseenStatesWarning")
def test_the_scores_are_those_of_the_saved_fits(folder):
    data = swirl.Trajectories.from_csv(
        folder / "sessions.csv", state_names=swirl.load(folder / "fits" / "ARHMM.nc").env.state_names
    )
    _, test = data.split(subjects="m2")
    facts = json.loads((folder / "comparison.json").read_text())["models"]
    for name in ("Markov-1", "ARHMM"):
        model = swirl.load(folder / "fits" / f"{name}.nc")
        score = model.score(test, of="next_state")
        assert facts[name]["score_per_step"] == pytest.approx(score, abs=1e-12)
        assert model.run_["config"]["model"]["name"] == name
    assert swirl.load(folder / "fits" / "ARHMM.nc").n_modes == facts["ARHMM"]["chosen"]["n_modes"]


def test_the_number_of_modes_was_chosen_on_folds_of_the_rest(folder):
    result = read_comparison(folder / "comparison.json")
    choice = result.choices["ARHMM"]
    assert choice.candidates == [{"n_modes": 1}, {"n_modes": 2}, {"n_modes": 3}]
    assert choice.scores.shape == (3, 2)
    assert choice.log_likelihoods.shape == (3, 8)
    assert set(choice.subjects) == {"m0", "m1"}
    assert result.chosen["ARHMM"] == choice.best
    assert "One mode was added" in (folder / "said.txt").read_text()
    assert result.n_modes("Markov-1") == 1


@pytest.mark.slow
def test_a_report_takes_the_comparison(folder, tmp_path):
    done = run(
        "report", folder / "fits" / "Markov-1.nc", "--comparison", folder / "comparison.json", "--draws", 0,
        "-o", tmp_path / "report.html",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    page = (tmp_path / "report.html").read_text()
    assert "Model comparison" in page
    assert "<summary>Where is it going, and do modes agree with runs: more scores" in page
    assert '<th scope="col">which goal next</th>' in page
    assert json.loads((folder / "comparison.json").read_text())["verdict"] in page


@pytest.mark.slow
def test_without_env_the_test_does_not_shape_the_environment(tmp_path):
    rng = np.random.default_rng(0)
    rows = [(s, t, rng.integers(3), rng.integers(2)) for s in range(6) for t in range(30)]
    rows += [("0", t, *own) for t, own in enumerate([(3, 2), (0, 2)], start=30)]  # of the test session alone
    pd.DataFrame(rows, columns=["session", "t", "state", "action"]).astype({"session": str}).to_csv(
        tmp_path / "s.csv", index=False
    )
    command = ["compare", tmp_path / "s.csv", "--hold-out", 6, "--models", "Markov-0,Markov-1", "--folds", 0]
    done = run(*command, "--score", "next_state", "-o", tmp_path / "c.json")
    assert done.exit_code == 0, done.output
    assert "estimated from the sessions that are fitted" in done.stdout
    # 29 → 30 may lead nowhere that was seen; of state 3 nothing is known; action 2 was never taken.
    assert "3 of 32 steps of the test sessions" in " ".join(done.stdout.split())
    written = json.loads((tmp_path / "c.json").read_text())
    assert written["scored"] == "next_state"
    assert "place_5" in written["panel"]["sums"]  # forecasts too are honest now
    refused = run(*command, "--impossible", "error", "-o", tmp_path / "d.json")
    assert refused.exit_code == 2
    assert "observed where not available" in refused.stderr


def test_settings_reach_the_models_that_take_them():
    from swirl.workflows.compare import _arguments
    from swirl.workflows.config import checked

    values = {"data": "x.csv", "model": {"history": 3, "switching": "state-net", "discount": 0.9}}
    run = checked({**values, "compare": {"models": ["S-1", "IQ-Learn"]}})
    assert {key: _arguments(run)[key] for key in ("history", "switching", "discount")} == {
        "history": 3, "switching": "state-net", "discount": 0.9
    }  # fmt: skip
    assert "history" not in _arguments(checked({**values, "compare": {"models": ["S-1", "Markov"]}}))


@pytest.mark.slow
def test_one_test_session_is_json_and_no_nan_is_printed(tmp_path, folder):
    command = ["compare", folder / "sessions.csv", "--env", folder / "grid.csv", "--models", "Markov-0,Markov-1"]
    command += ["--hold-out", 12, "--force", "-o", tmp_path / "c.json"]
    done = run(*command, "--json")
    assert "To fit" not in done.stderr
    facts = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(name))
    assert json.loads((tmp_path / "c.json").read_text())["run"]["config"]["hold_out"] == 12
    assert facts["remarks"] == [
        "The same animals are on both sides (m0): the test is of other sessions, not of other animals.",
        "Tested on 1 animal (m0): this says nothing about other animals.",
    ]
    assert facts["models"][1]["half_width"] is None
    assert "nan" not in run(*command).stdout


@pytest.mark.slow
def test_whole_animals_are_held_out_where_five_are_known(tmp_path, folder):
    steps = pd.read_csv(folder / "sessions.csv")
    command = ["compare", tmp_path / "s.csv", "--env", folder / "grid.csv", "--models", "Markov-0", "--force"]
    for n_animals in (4, 5):
        steps["subject"] = "m" + (steps["session"] % n_animals).astype(str)
        steps.to_csv(tmp_path / "s.csv", index=False)
        done = run(*command, "-o", tmp_path / "c.json")
        assert done.exit_code == 0, done.output
        written = json.loads((tmp_path / "c.json").read_text())
        if n_animals == 5:
            assert written["run"]["config"]["hold_out_subjects"] == ["m0"]
            assert set(written["test_sessions"]["subject"]) == {"m0"}
            assert "both sides" not in done.output
        else:
            assert written["run"]["config"]["hold_out"] == 5
            assert "The same animals are on both sides (m0, m1, m2)" in done.stdout
    asked = run(*command, "--hold-out", 4, "-o", tmp_path / "c.json")
    assert "The same animals are on both sides (m0, m4, m3)" in asked.stdout


def test_the_reward_can_be_given_and_is_in_the_row(tmp_path, folder):
    command = ["compare", folder / "sessions.csv", "--env", folder / "grid.csv", "--models", "MaxEnt", "--max-iter", 1]
    command += ["--restarts", 1, "--reward", "state-action", "-o", tmp_path / "c.json", "--fits", tmp_path / "fits"]
    done = run(*command)
    assert done.exit_code == 0, done.output
    assert "| MaxEnt (state-action) | 1 |" in done.stdout
    assert read_comparison(tmp_path / "c.json").label("MaxEnt") == "MaxEnt (state-action)"
    assert swirl.load(tmp_path / "fits" / "MaxEnt.nc").reward == "state-action"
    assert "MaxEnt (state-action) did not converge" in done.stdout


def test_few_animals_have_wide_intervals():
    gains = np.array([[-3.0, -5.0], [-4.0, -5.5]])
    _, half = made(log_likelihoods=gains, subjects=("a", "b")).difference("S-1", "Markov")
    assert half == pytest.approx(12.706 * np.sqrt(2 * (0.25**2 + 0.25**2)) / 10, rel=1e-3)


def made(**changes):
    facts = {
        "of": "action",
        "n_scored": 10,
        "names": ("S-1", "Markov"),
        "models": {},
        "log_likelihoods": np.array([[-3.0, -5.0], [-4.0, -5.5]]),
        "steps": np.array([5, 5]),
        "subjects": ("a", None),
        "seconds": np.array([1.0, 2.0]),
        "chosen": {"S-1": {"n_modes": 3, "reward_prior": swirl.priors.Gaussian(2.0)}},
        "choices": {"S-1": Choice([{"n_modes": 3}, {"n_modes": 2}], np.array([[-1.0, -3], [-2.0, -3]]))},
        "sessions": ("x", "y"),
        "modes": {"S-1": 3, "Markov": 1},
        "on_folds": Choice(
            [{"model": "S-1", "n_modes": 3}, {"model": "Markov"}],
            np.array([[-1.0], [-2.0]]),
            np.array([[-5.0, -5.0], [-9.0, -11.0]]),
            np.array([5, 5]),
            ("a", None),
        ),
        "one_mode": {"S-1": "Markov"},
        "labels": {"S-1": "S-1 (state-action)"},
        "converged": {"S-1": False, "Markov": True},
        "notes": ("Made by hand.",),
    }
    return Comparison(**{**facts, **changes})


def test_a_comparison_comes_back_from_its_file(tmp_path):
    again = read_comparison(write_comparison(tmp_path / "c.json", made(), run={"seed": 1}))
    assert again.scores == made().scores
    assert again.subjects == ("a", None)
    assert again.sessions == ("x", "y")
    assert again.n_modes("S-1") == 3
    assert again.chosen == {"S-1": {"n_modes": 3, "reward_prior": "Gaussian(strength=2.0)"}}
    assert again.choices["S-1"].best == {"n_modes": 2}  # of two folds, the second alike
    assert again.on_folds.candidates == made().on_folds.candidates
    np.testing.assert_array_equal(again.on_folds.log_likelihoods, made().on_folds.log_likelihoods)
    assert again.on_folds.subjects == ("a", None)
    assert again.contest() == made().contest() == ("S-1", "Markov", None, False)
    assert str(again) == str(made())
    assert again.remarks()[0] == "Made by hand."
    assert "S-1 (state-action) did not converge" in str(again)
    with pytest.raises(FileExistsError, match="exists already"):
        write_comparison(tmp_path / "c.json", made())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not a comparison"),
        ("[1, 2]", "not a comparison"),
        ('{"kind": "swirl comparison", "schema_version": 9}', "schema version 9"),
        ('{"kind": "swirl comparison", "schema_version": 1}', "damaged"),
        ("[" * 100_000, "not a comparison"),
    ],
)
def test_a_file_that_is_no_comparison(tmp_path, text, told):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(ValueError, match=told):
        read_comparison(tmp_path / "c.json")


def test_a_comparison_of_an_older_version_is_read(tmp_path):
    facts = json.loads(write_comparison(tmp_path / "c.json", made()).read_text())
    for name in ("models_on_training_folds", "notes", "remarks"):
        del facts[name]
    for model in facts["models"].values():
        for name in ("label", "one_mode", "converged"):
            del model[name]
    for name in ("log_likelihoods", "scored_steps", "subject"):
        del facts["training_folds"]["S-1"][name]
    (tmp_path / "c.json").write_text(json.dumps(facts))
    old = read_comparison(tmp_path / "c.json")
    assert old.choices["S-1"].unit == "fold"
    assert old.contest() == ("S-1", None, "Markov", False)


def test_a_damaged_comparison(tmp_path):
    facts = json.loads(write_comparison(tmp_path / "c.json", made()).read_text())
    facts["models"]["S-1"]["log_likelihoods"] = [-1.0]
    (tmp_path / "c.json").write_text(json.dumps(facts))
    with pytest.raises(ValueError, match="damaged comparison"):
        read_comparison(tmp_path / "c.json")


def test_errors_by_modes_leave_out_what_makes_a_fold_hard_for_all():
    scores = np.array([[-1.0, -3.0], [-1.2, -3.2]])  # one fold is harder, the difference is the same in both
    tried = Choice([{"n_modes": 2}, {"n_modes": 3}], scores)
    curve = mode_curves(made(choices={"S-1": tried}))["S-1"]
    np.testing.assert_allclose(curve["error"], 0, atol=1e-12)
    np.testing.assert_allclose(curve["mean"], [-2.0, -2.2])
    assert mode_curves(made(choices={})) == {}


MISTAKES = {
    "no data": (["compare"], "no data"),
    "modes that are no numbers": (["compare", "sessions.csv", "--modes", "two"], "--modes two: expected whole numbers"),
    "a model twice": (["compare", "sessions.csv", "--models", "S-1,S-1"], "S-1 is there twice"),
    "a model that is none": (["compare", "sessions.csv", "--models", "S2"], "no such model"),
    "two ways to hold out": (
        ["compare", "sessions.csv", "--hold-out", "3", "--hold-out-subjects", "m1"], "give one of them"
    ),
    "an animal that is none": (["compare", "sessions.csv", "--hold-out-subjects", "m7"], "no subject 'm7'"),
    "all animals held out": (["compare", "sessions.csv", "--hold-out-subjects", "m0,m1,m2"], "leaves none to fit"),
    "fits over others": (["compare", "sessions.csv", "-o", "new.json", "--fits", "fits"], "holds fits already"),
    "too few sessions to choose on": (
        ["compare", "two.csv", "--models", "ARHMM", "--hold-out", "2"], "cannot be cut into folds"
    ),
    "no comparison for a report": (
        ["report", "fits/Markov-1.nc", "--comparison", "sessions.csv", "-o", "new.html"], "is not a comparison"
    ),
    "names for other modes": (["name", "fits/ARHMM.nc", "water"], "one for each mode"),
    "the same name twice": (["name", "fits/Markov-1.nc", "a", "a"], "one for each mode"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_likely_mistake_is_told_in_words(folder, name, monkeypatch):
    monkeypatch.chdir(folder)
    if not (folder / "two.csv").exists():
        steps = pd.read_csv(folder / "sessions.csv")
        steps[steps["session"] < 2].drop(columns="subject").to_csv(folder / "two.csv", index=False)
    arguments, told = MISTAKES[name]
    arguments = [*arguments, "-o", "new.json"] if arguments[0] == "compare" and "-o" not in arguments else arguments
    before = sorted(path.name for path in folder.rglob("*"))
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert told in " ".join(done.stderr.split())
    assert "Traceback" not in done.output
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_named_modes_are_kept_and_shown(folder, tmp_path):
    fit = tmp_path / "fit.nc"
    fit.write_bytes((folder / "fits" / "ARHMM.nc").read_bytes())
    n_modes = swirl.load(fit).n_modes
    names = ["water", "home", "explore"][:n_modes]
    before = swirl.load(fit)
    done = run("name", fit, *names)
    assert done.exit_code == 0, done.output
    assert "mode 0  water" in done.stdout
    after = swirl.load(fit)
    assert after.mode_names_ == tuple(names)
    np.testing.assert_array_equal(after.mode_transitions_, before.mode_transitions_)
    assert after.run_ == before.run_
    done = run("export", fit, "--data", folder / "sessions.csv", "-o", tmp_path / "steps.csv")
    assert done.exit_code == 0, done.output
    assert set(pd.read_csv(tmp_path / "steps.csv")["mode"]) <= set(names)


def test_a_new_fit_forgets_names_and_an_aligned_one_takes_those_of_its_reference():
    world = datasets.gridworld(n_sessions=2, n_steps=20)
    named = world.true_model().name_modes(["water", "home"])
    assert world.true_model().align_to(named).mode_names_ == ("water", "home")
    assert named.align_to(world.true_model()).mode_names_ is None
    model = swirl.make("ARHMM", world.env, n_restarts=1, max_iter=1).fit(world.trajectories).name_modes(["a", "b"])
    assert model.use_restart(0).mode_names_ is None


def test_a_file_keeps_the_versions_of_its_fit(tmp_path, monkeypatch):
    from swirl.estimators import save_load
    from swirl.io import netcdf

    world = datasets.gridworld(n_sessions=2, n_steps=20)
    model = swirl.make("Markov-1", world.env, strength=1.0).fit(world.trajectories)
    monkeypatch.setattr(save_load, "versions", lambda: {"swirl": "0.0.1"})
    model.save(tmp_path / "old.nc")
    monkeypatch.setattr(save_load, "versions", lambda: {"swirl": "9.9.9"})
    loaded = swirl.load(tmp_path / "old.nc")
    loaded.save(tmp_path / "named.nc")
    assert netcdf.read(tmp_path / "named.nc")[1]["versions"] == {"swirl": "0.0.1"}
    loaded.fit(world.trajectories).save(tmp_path / "new.nc")
    assert netcdf.read(tmp_path / "new.nc")[1]["versions"] == {"swirl": "9.9.9"}


QUICK = ["--restarts", 1, "--max-iter", 5, "--hold-out-subjects", "m2", "--scheduler", "here"]


@pytest.fixture(scope="module")
def chosen(folder):
    """One choice on a small grid."""
    (folder / "small.toml").write_text(
        "[grid]\nmodes = [1, 2]\nhistory = [1]\nswitching = ['independent', 'state']\nfolds = 2\nrepeats = 2\n"
    )
    done = run(
        "compare", folder / "sessions.csv", "--env", folder / "grid.csv", "--grid", folder / "small.toml", *QUICK,
        "--folder", folder / "tasks", "--fits", folder / "chosen", "-o", folder / "chosen.json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.slow
def test_a_grid_is_answered_in_sentences(folder, chosen):
    facts = json.loads((folder / "chosen.json").read_text())
    choice = facts["choice"]
    assert len(choice["candidates"]) == 3
    assert choice["how_sure"] in chosen.stdout
    assert choice["effects"]
    assert all(effect["sentence"] in chosen.stdout for effect in choice["effects"])
    assert all(row["free_parameters"] > 0 for row in choice["candidates"])
    assert facts["test_sessions"]["subject"] == ["m2"] * 4
    assert "Markov" in facts["models"]
    told = chosen.stdout.strip().splitlines()[-1]
    assert told.startswith("Next: swirl fit ")
    assert f" --modes {choice['best']['n_modes']} " in told


@pytest.mark.slow
@pytest.mark.parametrize("one_mode", [False, True])
def test_a_grid_has_one_verdict_in_terminal_file_and_report(folder, chosen, tmp_path, monkeypatch, one_mode):
    """Folds that choose one mode had said "No case" on the terminal, and the file what the test says of two."""
    if one_mode:
        monkeypatch.setattr(Choice, "best_index", property(lambda own: 0))
        monkeypatch.setattr("swirl.analysis.comparison_result._half_widths", lambda n: 0.1)  # as many animals would
    done = run(
        "compare", folder / "sessions.csv", "--env", folder / "grid.csv", "--grid", folder / "small.toml", *QUICK,
        "--folder", folder / "tasks", "-o", tmp_path / "c.json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    said, facts = done.stdout.split("\n\n")[1], json.loads((tmp_path / "c.json").read_text())
    made = ["--comparison", tmp_path / "c.json", "--draws", 0, "-o", tmp_path / "p.html"]
    page = run("report", folder / "chosen" / "Markov.nc", *made)
    assert page.exit_code == 0, page.output
    assert said == facts["verdict"] == facts["choice"]["verdict"]
    assert html.escape(said) in (tmp_path / "p.html").read_text()
    if one_mode:
        assert said.startswith("No case for modes: one mode is enough for modes 1, history 1 (training folds).")
        assert " But on the test modes 2, history 1, switching " in said
        assert said.endswith("folds and test disagree, so record more sessions before you say either.")


def test_folds_hold_for_the_default_grid_too():
    """--folds holds for the default grid too."""
    asked = {"models": None, "modes": None, "goals": None, "score": None, "folds": 4}
    made = _with_grid("default", None, {"data": "sessions.csv", "compare": asked})
    assert (made.grid.folds, made.grid.history) == (4, [1, 2])


@pytest.mark.slow
def test_a_grid_goes_on_where_it_was(folder, chosen):
    files = {path: path.stat().st_mtime_ns for path in (folder / "tasks" / "results").iterdir()}
    assert len(files) == 3 * 2 * 2 + 3 + 1  # counts are fitted to all sessions too
    again = run(
        "compare", folder / "sessions.csv", "--env", folder / "grid.csv", "--grid", folder / "small.toml", *QUICK,
        "--folder", folder / "tasks", "-o", folder / "again.json", "--json",
    )  # fmt: skip
    assert again.exit_code == 0, again.output
    assert {path: path.stat().st_mtime_ns for path in (folder / "tasks" / "results").iterdir()} == files
    assert (
        json.loads(again.stdout)["how_sure"] == json.loads((folder / "chosen.json").read_text())["choice"]["how_sure"]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--grid", "default", "--modes", "1,2"], "--modes: with --grid, the file says what is tried"),
        (["--grid", "{}/grid.csv"], "grid.csv"),
        (["--grid", "{}/empty.toml"], "the file has no [grid]"),
        (["--grid", "{}/one.toml"], "settings are chosen on 2 folds or more"),
    ],
)
def test_what_goes_wrong_with_a_grid_is_told(folder, options, words):
    (folder / "empty.toml").write_text("[model]\nhistory = 1\n")
    (folder / "one.toml").write_text("[grid]\nmodes = [1, 2]\nfolds = 0\n")
    given = [option.format(folder) for option in options]
    done = run("compare", folder / "sessions.csv", "--env", folder / "grid.csv", *given, "-o", folder / "no.json")
    assert done.exit_code != 0
    assert words in " ".join(done.output.split())
    assert not (folder / "no.json").exists()


@pytest.mark.slow
def test_models_are_compared_on_tasks_too(folder):
    """To the same scores; what the folder has is not fitted again."""
    asked = [
        "compare", folder / "sessions.csv", "--env", folder / "grid.csv", "--models", "Markov-1,ARHMM",
        "--modes", "2,3",
        "--restarts", 1, "--max-iter", 3, "--hold-out-subjects", "m2", "--folds", 2, "--scheduler", "here",
        "--goals", "corner=0,far=(4, 3)+24", "--folder", folder / "kept", "--fits", folder / "fits of tasks",
    ]  # fmt: skip
    done = run(*asked, "-o", folder / "on tasks.json")
    assert done.exit_code == 0, done.output
    first, second = (json.loads((folder / name).read_text()) for name in ("comparison.json", "on tasks.json"))
    for facts in (first, second):
        for row in facts["models"].values():
            row.pop("seconds")
    assert first["models"]
    assert first == second
    files = {path: path.stat().st_mtime_ns for path in (folder / "kept" / "results").iterdir()}
    # ARHMM with 1 to 3 modes and, as it might have ended with one, Markov-1 on two folds; three to all sessions
    assert len(files) == (3 + 1) * 2 + 3
    again = run(*asked, "--force", "-o", folder / "on tasks again.json", "--quiet")
    assert again.exit_code == 0, again.output
    assert {path: path.stat().st_mtime_ns for path in (folder / "kept" / "results").iterdir()} == files
