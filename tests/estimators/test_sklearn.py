"""scikit-learn's habits hold on sessions: clone, cross-validation, grid search."""

import numpy as np
import pytest

from small_worlds import N_STATES, recording, world
from swirl.estimators.swirl import SWIRL
from swirl.priors import Dirichlet
from swirl.rewards import Linear
from swirl.switching import Fixed

base = pytest.importorskip("sklearn.base")
selection = pytest.importorskip("sklearn.model_selection")

OPTIONS = {
    "n_modes": 1,
    "history": 1,
    "reward": "state-action",
    "switching": "independent",
    "n_restarts": 1,
    "max_iter": 5,
}


def model(**options):
    return SWIRL(world(), **{**OPTIONS, **options})


def test_clone_copies_the_options_and_not_the_fit():
    prior = Dirichlet(0.5)
    first = model(reward_prior=prior).fit(recording())
    copy = base.clone(first)
    assert not hasattr(copy, "rewards_")
    assert copy.reward_prior == prior
    assert {k: v for k, v in copy.get_params().items() if k not in ("env", "reward_prior")} == {
        k: v for k, v in first.get_params().items() if k not in ("env", "reward_prior")
    }
    np.testing.assert_array_equal(copy.fit(recording()).rewards_, first.rewards_)


def test_clone_copies_options_with_arrays():
    first = model(reward=Linear(np.eye(N_STATES)), switching=Fixed(np.eye(1)))
    copy = base.clone(first)
    np.testing.assert_array_equal(copy.reward.features, np.eye(N_STATES))
    np.testing.assert_array_equal(copy.switching.table, np.eye(1))


def test_arguments_are_stored_verbatim_and_resolved_in_fit():
    given = {"n_modes": 0, "temperature": "hot", "discount": 7}
    made = SWIRL(world())
    made.set_params(**given)  # nothing is checked before fit
    assert {name: made.get_params()[name] for name in given} == given
    with pytest.raises(ValueError, match="3 faults"):
        made.fit(recording())


def test_cross_validation_over_sessions():
    scores = selection.cross_val_score(model(), recording(), cv=3)
    for score, test in zip(scores, ([0, 1], [2, 3], [4, 5]), strict=True):
        train = np.setdiff1d(np.arange(6), test)
        assert score == pytest.approx(model().fit(recording()[train]).score(recording()[test]), rel=1e-12)


def test_grid_search_over_sessions():
    grid = {"reward_prior": [Dirichlet(1000.0), Dirichlet(1.0)], "tol": [1e-3]}
    search = selection.GridSearchCV(model(), grid, cv=2).fit(recording())
    assert search.best_params_["reward_prior"] == Dirichlet(1.0)
    assert search.best_estimator_.score(recording()) == search.score(recording())
    assert len(search.predict(recording())) == 6


def test_set_params_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="colour: no such parameter; there are env, n_modes"):
        model().set_params(colour=1)


def test_repr_shows_what_differs_from_the_defaults():
    assert "n_modes=1" in repr(model())
    assert "tol" not in repr(model())
