"""The verdict on a fit: worlds in which it must not say trust, and one in which it must."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import swirl
from small_worlds import recording, world
from swirl import datasets, report
from swirl.analysis import metrics
from swirl.analysis.verdicts import fit_halves, verdict
from swirl.cli.app import app
from swirl.data.trajectories import Trajectories
from swirl.estimators import fit_warnings
from swirl.estimators.fit_warnings import Halves, RestartAgreement, Verdict, against, verdict_of
from swirl.estimators.swirl import SWIRL
from swirl.io.export_tables import to_frame, write_table
from swirl.priors import Cauchy, Gaussian

AHEAD, BEHIND, LEVEL = (0.05, 0.01), (-0.05, 0.01), (0.005, 0.01)
ALL_SAME = RestartAgreement(0, 2, np.ones(3), np.zeros(3), np.zeros(3))
ALONE = RestartAgreement(0, 2, np.array([1, 0.1, 0.1]), np.array([0, 0.3, 0.3]), np.array([0, 90.0, 80]))
ONE_OF_3 = "only one of 3 starting points came to this result"


def told(**changes):
    return Halves(**{"n_modes": 2, "agreement": 0.98, "over_one": AHEAD, "more": LEVEL, "counts": BEHIND} | changes)


@pytest.mark.parametrize(
    ("changes", "level", "first"),
    [
        ({}, "trust", "agree on the mode at 98 %"),
        ({"agreement": fit_warnings.SAME_MODES - 0.01}, "with care", "at 92 % of the steps only"),
        ({"agreement": fit_warnings.OTHER_MODES - 0.01}, "don't", "at 79 % of the steps only"),
        ({"over_one": LEVEL}, "don't", "no better than the same model with one mode (+0.0050 ± 0.0100"),
        ({"over_one": BEHIND}, "don't", "no better than the same model with one mode"),
        ({"over_one": (2e-17, 1e-17)}, "don't", "no better than the same model with one mode (+0.0000"),
        ({"over_one": (2e-17, 0.0), "more": (1e-16, 0.0), "counts": (1e-16, 0.0)}, "don't", "no better"),
        ({"over_one": None}, "with care", "could not be scored"),
        ({"more": AHEAD}, "with care", "3 modes would predict better (+0.0500 ± 0.0100"),
        ({"counts": AHEAD}, "with care", "plain counts"),
        ({"counts": None}, "trust", "agree"),
        ({"agreement": 0.5, "counts": AHEAD}, "don't", "at 50 % of the steps only"),
        (
            {"n_modes": 1, "over_one": None, "agreement": 1.0, "more": AHEAD},
            "with care",
            "2 modes would predict better",
        ),
        ({"n_modes": 1, "over_one": None, "agreement": 1.0}, "trust", "2 modes would predict no better"),
        (
            {"n_modes": 1, "over_one": None, "more": (-1e-9, 1e-9), "agreement": 1.0},
            "with care",
            "had the animal a cho",
        ),
    ],
)
def test_each_reason_has_its_level(changes, level, first):
    found = told(**changes).verdict()
    assert found.level == level
    assert first in found.reasons[0]


def ended(**known):
    """A model of which no more than that is known."""
    model = SWIRL(datasets.gridworld_env())
    vars(model).update(known)
    return model


@pytest.mark.parametrize(
    ("model", "agreement", "level", "reason"),
    [
        ({"converged_": False}, ALL_SAME, "don't", "the fit had not settled"),
        (
            {"converged_": True},
            RestartAgreement(0, 2, np.array([1, 1, 0.1]), np.array([0, 0, 0.3]), np.array([0, 0, 2.0])),
            "don't",
            "of the starting points 1 other is within 2 nats of it with other modes (ARI 0.10)",
        ),
        (
            {"converged_": True},
            ALONE,
            "with care",
            ONE_OF_3,
        ),
        ({"converged_": True, "restarts_": [0]}, None, "with care", "there was a single starting point"),
        ({"converged_": True, "restarts_": [0, 1]}, None, "with care", "whether its starting points"),
        ({"converged_": True, "occupancy_": np.array([0.99, 0.01])}, ALL_SAME, "with care", "one mode has only 1.0 %"),
    ],
)
def test_what_the_fit_says_against_itself(model, agreement, level, reason):
    found = against(ended(**model), agreement)
    assert found is not None
    assert found.level == level
    assert found.reasons[0].startswith(reason)


def test_a_fit_that_was_not_checked_is_never_trusted():
    assert verdict_of(ended(), None) is None  # counts, or a model made from parameters
    fit = ended(converged_=True, occupancy_=np.array([0.5, 0.5]))
    assert against(fit, ALL_SAME) is None
    assert verdict_of(fit, ALL_SAME).level == "with care"
    fit.verdict_ = told().verdict()
    assert verdict_of(fit, ALL_SAME).level == "trust"


def near(error):
    """Six of eight restarts ended together, 7 nats behind, with other modes."""
    numbers = np.array([0, 0, *[1] * 6])
    given = np.where(numbers, 0.49, 1.0), 0.12 * numbers, 7.01 * numbers, numbers, np.where(numbers, error, np.nan)
    return RestartAgreement(0, 2, *given)


def test_a_solution_that_is_near_is_a_reason_for_care_and_no_more():
    fit = ended(converged_=True, occupancy_=np.array([0.5, 0.5]))
    fit.verdict_ = told().verdict()
    found = verdict_of(fit, near(error=8.0))
    assert found.level == "with care"
    assert found.reasons[0].startswith("most starting points (6 of 8) ended together 7 nats behind")
    assert found.reasons[0].endswith("and the data hardly decide between the two")
    fit.verdict_ = found  # as kept in the file: said once
    assert verdict_of(fit, near(error=8.0)) == found
    fit.verdict_ = told(agreement=0.5).verdict()  # what is worse comes first
    worse = verdict_of(fit, near(error=8.0))
    assert (worse.level, worse.reasons[-1]) == ("don't", found.reasons[0])


def test_a_clear_optimum_is_trusted():
    fit = ended(converged_=True, occupancy_=np.array([0.5, 0.5]))
    fit.verdict_ = told().verdict()
    assert verdict_of(fit, near(error=3.0)) == told().verdict()


def line(n_sessions, n_steps):
    """A walker on a line of four states, who likes one end of it."""
    env = swirl.MDP.deterministic([[0, 1], [0, 2], [1, 3], [2, 3]])
    truth = SWIRL.from_parameters(
        env, history=1, rewards=np.array([[0.3, 0, 0, 0]]), mode_transitions=[[1.0]], initial_modes=[1.0]
    )
    return env, truth.sample(n_sessions, n_steps, random_state=5)


@pytest.mark.slow
def test_one_session_says_nothing_of_others():
    env, data = line(1, 200)
    fit = SWIRL(env, n_modes=1, history=1, n_restarts=2, reward_prior=Gaussian()).fit(data)
    found = verdict(fit, data)
    assert found == fit.verdict_ == Verdict("with care", found.reasons)
    assert found.reasons[0].startswith("there is a single session")


@pytest.mark.slow
@pytest.mark.parametrize("n_sessions", [2, 3])
def test_halves_of_one_session_are_compared_but_for_counts(n_sessions):
    """Nothing can be chosen on folds of one session; the verdict had been "could not be compared" and no more."""
    env, data = line(n_sessions, 100)
    fit = SWIRL(env, n_modes=1, history=1, n_restarts=2, reward_prior=Gaussian()).fit(data)
    found = verdict(fit, data)
    assert (found.halves.counts, len(found.halves.more)) == (None, 2)
    assert found.level == "with care"
    assert f"with {n_sessions} sessions plain counts could not be tuned, so they were left out" in found.reasons
    enough = verdict(fit, line(4, 100)[1])
    assert "could not be tuned" not in str(enough)
    assert enough.halves.counts is not None


@pytest.mark.slow
def test_modes_that_are_there_are_trusted_and_the_verdict_is_kept(tmp_path):
    world = datasets.gridworld(n_sessions=40, n_steps=150, random_state=3)
    data = world.trajectories
    fit = SWIRL(world.env, n_restarts=3, reward_prior=Cauchy()).fit(data)
    told_of = []
    found = verdict(fit, data, callback=told_of.append)
    assert found.level == "trust", found
    right, best = (metrics.segmentation_accuracy(data.modes, m.predict(data)) for m in (fit, world.true_model()))
    assert right > best - 0.03
    assert told_of[0] == "n_modes=2, fold 1 of 2"
    assert len(told_of) == 8  # counts too
    again = swirl.load(fit.save(tmp_path / "fit.nc"))
    assert again.verdict_ == found
    assert again.use_restart((again.best_restart_ + 1) % 3).verdict_ is None  # that was of other modes
    page = report.write(tmp_path / "fit.html", again, data, n_draws=1).read_text(encoding="utf-8")
    assert "Trust these modes" in page
    fit.restart_agreement_ = ALONE  # both are said, the worse one counts
    assert verdict(fit, data) == Verdict("with care", (ONE_OF_3, *found.reasons), found.halves)


@pytest.mark.slow
def test_modes_that_are_not_there_are_not_trusted():
    env, data = line(30, 100)
    for seed in range(3):
        part = data[10 * seed : 10 * seed + 10]
        fit = SWIRL(env, history=1, n_restarts=3, random_state=seed).fit(part)
        fit.restart_agreement_ = ALONE  # the less is known of the restarts, the more the halves matter
        found = verdict(fit, part)
        assert found.level == "don't"
        assert found.reasons[0].startswith(("fits to either half", "each half predicts the other no better"))
        assert ONE_OF_3 in found.reasons


@pytest.fixture(scope="module")
def settled():
    """A fit with nothing against it, of a model that has a temperature for each mode."""
    env, data = line(6, 30)
    fit = SWIRL(env, history=1, n_restarts=2, max_iter=300, reward_prior=Gaussian(), temperature=[1.0, 0.5]).fit(data)
    fit.restart_agreement_ = RestartAgreement(0, 2, np.ones(2), np.zeros(2), np.zeros(2))
    fit.converged_, fit.occupancy_ = True, np.array([0.5, 0.5])
    assert against(fit, fit.restart_agreement_) is None
    return fit, data


@pytest.mark.slow
def test_settings_for_each_mode_leave_other_numbers_of_modes_out(settled):
    fit, data = settled
    halves = fit_halves(fit, data)
    assert halves.over_one is None
    assert halves.more is None
    assert halves.counts is not None
    assert 0.5 <= halves.agreement <= 1
    assert verdict(fit, data).level != "trust"


@pytest.mark.slow
def test_halves_that_cannot_be_scored_are_said_to_be_so(settled, monkeypatch):
    fit, data = settled

    def unscorable(*_, **__):
        raise ValueError("fold 1 of 2: nothing was observed in it")

    monkeypatch.setattr("swirl.analysis.verdicts.fit_halves", unscorable)
    found = verdict(fit, data)
    assert found.level == "with care"
    assert "nothing was observed" in found.reasons[0]


def stopped(*_, **__):
    """As Ctrl-C after an iteration would: EM ends well, but is not done."""
    raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize(("agreement", "doubted"), [(0.58, True), (0.98, False)])
def test_halves_that_disagree_may_have_had_too_few_starting_points(settled, monkeypatch, agreement, doubted):
    fit, data = settled
    monkeypatch.setattr("swirl.analysis.verdicts.fit_halves", lambda *_, **__: told(agreement=agreement))
    found = verdict(fit, data)
    assert found.level == ("don't" if doubted else "trust")
    assert ("each half was fitted from 2 starting points, as the fit was" in found.reasons[-1]) is doubted


def test_ctrl_c_during_the_folds_is_never_a_result(settled, monkeypatch):
    fit, data = settled
    monkeypatch.setattr("swirl.inference.engines.improve_restarts", stopped)
    assert SWIRL(**fit.get_params()).fit(data, progress=False).restarts_[0].status == "interrupted"
    with pytest.raises(KeyboardInterrupt):
        fit_halves(fit, data)


@pytest.mark.slow
def test_ctrl_c_during_the_verdict_keeps_the_fit(tmp_path, monkeypatch):
    _, data = line(6, 30)
    write_table(to_frame(Trajectories(data.states, data.actions)), tmp_path / "s.csv")
    monkeypatch.setattr("swirl.analysis.verdicts.verdict", stopped)
    command = ["fit", str(tmp_path / "s.csv"), "--modes", "2", "--history", "1", "--max-iter", "2", "--restarts", "2"]
    done = CliRunner().invoke(app, [*command, "-o", str(tmp_path / "fit.nc")])
    assert done.exit_code == 0, done.output
    assert swirl.load(tmp_path / "fit.nc").n_modes == 2


@pytest.mark.slow
def test_the_terminal_begins_with_the_verdict(tmp_path):
    _, data = line(6, 30)
    write_table(to_frame(Trajectories(data.states, data.actions)), tmp_path / "s.csv")
    command = ["fit", str(tmp_path / "s.csv"), "--modes", "2", "--history", "1", "--max-iter", "2", "--restarts", "2"]
    done = CliRunner().invoke(app, [*command, "-o", str(tmp_path / "fit.nc")])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("verdict       don't trust it\n              – the fit had not settled")
    done = CliRunner().invoke(app, [*command, "--no-verdict", "--json", "-o", str(tmp_path / "other.nc")])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["verdict"]["level"] == "don't"
    assert swirl.load(tmp_path / "other.nc").verdict_ is None


@pytest.mark.slow
def test_goals_are_judged_against_the_habit_alone():
    data = datasets.gridworld(n_sessions=6, n_steps=40)
    model = swirl.make("Goals-1", data.env, places=(4,), n_restarts=1, max_iter=2).fit(data.trajectories)
    said = []
    found = fit_halves(model, data.trajectories, callback=said.append)
    assert found.n_modes == 2
    assert found.more is None  # nothing says where a third would go
    assert found.over_one is not None
    assert any("places=()" in words for words in said)


@pytest.mark.slow
@pytest.mark.parametrize("impossible", ["gap", "forget"])
def test_moves_that_the_environment_rules_out_do_not_keep_counts_away(impossible):
    """Counts had refused such data, and with them the halves: "could not be compared"."""
    states = [path.copy() for path in recording().states]
    env = world()
    path = states[0]
    path[5] = next(s for s in range(5) if s not in np.asarray(env.successors.next)[path[4]])
    actions = [np.full(len(own), -1) if i == 0 else own for i, own in enumerate(recording().actions)]
    broken = Trajectories(states, actions, n_states=5, n_actions=3)
    model = SWIRL(
        env, n_modes=2, history=1, reward="state-action", impossible=impossible, n_restarts=1, max_iter=30, tol=1.0
    )
    halves = fit_halves(model.fit(broken), broken)
    assert halves.counts is not None
