"""Which sessions a model was fitted to is known, kept in its file, and told apart in the report."""

import numpy as np
import pytest

import swirl
from swirl.analysis.decoded import decode
from swirl.datasets import gridworld
from swirl.report.methods import methods_paragraph
from swirl.report.summary import data_facts, fit_facts, fit_sentences


@pytest.fixture(scope="module")
def split():
    world = gridworld(n_sessions=6, n_steps=40)
    train, test = world.trajectories.split(every=3)
    model = swirl.make("Markov-0", world.env, strength=1.0).fit(train)
    return world.trajectories, train, test, model


def test_a_model_knows_its_sessions_again(split, tmp_path):
    everything, train, test, model = split
    assert model.fitted_to(everything).tolist() == [False, True, True, False, True, True]
    assert model.fitted_to(train).all()
    assert not model.fitted_to(test).any()
    again = swirl.load(model.save(tmp_path / "fit.nc"))
    np.testing.assert_array_equal(again.fitted_to(everything), model.fitted_to(everything))
    assert gridworld(n_sessions=1, n_steps=5).true_model().fitted_to(train) is None


def test_a_session_is_told_by_all_that_is_fitted():
    from swirl import Trajectories

    plain = Trajectories([[0, 1, 1]], [[1, 0]], n_states=2, n_actions=2).session_fingerprints()
    assert Trajectories([[0, 1, 1]], [[1, 1]], n_states=2, n_actions=2).session_fingerprints() != plain
    assert Trajectories([[0, 1, 1]], [[1, 0]], gaps=[[1]], n_states=2, n_actions=2).session_fingerprints() != plain
    one, two = ([[0.0, 1.0, 2.0]], [[0.0, 1.0, 3.0]])
    marks = [Trajectories([[0, 1, 1]], signals={"x": x}).session_fingerprints("x") for x in (one, two)]
    assert marks[0] != marks[1]


def test_the_report_tells_the_two_scores_apart(split):
    everything, train, test, model = split
    case = decode(model, everything)
    fit, data = fit_facts(case), data_facts(case)
    assert fit["scores"]["others"] == (pytest.approx(model.score(test)), model.n_scored(test))
    assert fit["scores"]["fitted"] == (pytest.approx(model.score(train)), model.n_scored(train))
    assert data["fitted_sessions"] == 4
    said = " ".join(fit_sentences(fit, data))
    assert "on 2 sessions that it was not fitted to (80 steps)" in said
    assert "on the 4 sessions that it was fitted to (160 steps)" in said
    methods = methods_paragraph(case, data, fit)
    assert "4 of the sessions were used for fitting" in methods
    assert "On 2 sessions not used for fitting (80 steps), the score was" in methods


def test_a_report_on_the_training_sessions_claims_no_held_out_score(split):
    _, train, _, model = split
    case = decode(model, train)
    fit, data = fit_facts(case), data_facts(case)
    assert fit["scores"]["others"] is None
    assert "not used for fitting" not in methods_paragraph(case, data, fit)
    assert "not fitted to" not in " ".join(fit_sentences(fit, data))


def test_of_sessions_that_are_alike_as_many_as_were_fitted():
    world = gridworld(n_sessions=2, n_steps=10)
    one, two = world.trajectories[0], world.trajectories[1]
    model = swirl.make("Markov-0", world.env, strength=1.0).fit(swirl.Trajectories.concatenate([one, two, one]))
    seen = swirl.Trajectories.concatenate([one, one, one, two, two])
    assert model.fitted_to(seen).tolist() == [True, True, False, True, False]


def test_sessions_that_are_not_known_again_are_not_called_held_out(split):
    _, train, _, model = split
    shorter = swirl.Trajectories(
        [s[:-1] for s in train.states], [a[:-1] for a in train.actions], n_states=25, n_actions=5
    )
    case = decode(model, shorter)
    fit, data = fit_facts(case), data_facts(case)
    assert fit["scores"]["others"] is None
    assert "none of these sessions is, as it stands, one that it was fitted to" in " ".join(fit_sentences(fit, data))
    assert "not used for fitting" not in methods_paragraph(case, data, fit)
