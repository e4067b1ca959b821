"""Choosing on training folds: whole sessions, whole subjects, and nothing of the test."""

import numpy as np
import pytest

from small_worlds import recording, world
from swirl.model import SWIRL
from swirl.priors import Dirichlet
from swirl.selection import Choice, choose, folds
from swirl.trajectories import Trajectories

MODEL = SWIRL(world(), n_modes=1, history=1, reward="state-action", switching="independent", n_restarts=1, max_iter=5)
GRID = {"reward_prior": [Dirichlet(1.0), Dirichlet(1000.0)], "tol": [1e-3, 1e-5]}


def test_folds_are_a_partition_of_the_sessions():
    for n_folds in (2, 3, 6):
        parts = folds(recording(), n_folds)
        assert sorted(np.concatenate(parts).tolist()) == list(range(6))
        sizes = [len(part) for part in parts]
        assert max(sizes) - min(sizes) <= 1


def test_a_subject_is_never_on_both_sides():
    data = Trajectories([[0, 1]] * 6, subjects=["a", "a", "b", "c", "c", "b"])
    parts = folds(data, 3)
    owners = [{data.subjects[i] for i in part} for part in parts]
    assert sorted(map(sorted, owners)) == [["a"], ["b"], ["c"]]
    few = folds(Trajectories([[0, 1]] * 6, subjects=["a"] * 6), 3)  # one subject: by session
    assert [len(part) for part in few] == [2, 2, 2]


@pytest.mark.parametrize("n_folds", [1, 7])
def test_too_few_or_too_many_folds_are_refused(n_folds):
    with pytest.raises(ValueError, match=f"n_folds={n_folds}: expected 2 up to the number of sessions, 6"):
        folds(recording(), n_folds)


def test_the_best_on_average_is_chosen_and_the_model_is_untouched():
    choice = choose(MODEL, recording(), GRID, n_folds=2)
    assert choice.best["reward_prior"] == Dirichlet(1.0)
    assert choice.scores.shape == (4, 2)
    assert choice.candidates[int(np.argmax(choice.means))] == choice.best
    assert MODEL.reward_prior is None
    assert not hasattr(MODEL, "rewards_")
    # Each score is that of a plain fit on the rest.
    test = folds(recording(), 2)[1]
    train = np.setdiff1d(np.arange(6), test)
    fresh = SWIRL(**{**MODEL.get_params(), **choice.candidates[0]})
    assert choice.scores[0, 1] == fresh.fit(recording()[train]).score(recording()[test])
    table = choice.table()
    assert [row["score"] for row in table] == sorted(choice.means, reverse=True)
    assert {"reward_prior", "tol", "score", "standard_error"} == set(table[0])


def test_the_table_is_ordered_and_has_errors():
    choice = Choice([{"x": 1}, {"x": 2}], np.array([[0.0, 2.0], [3.0, 3.0]]))
    assert choice.table() == [
        {"x": 2, "score": 3.0, "standard_error": 0.0},
        {"x": 1, "score": 1.0, "standard_error": 1.0},
    ]


@pytest.mark.parametrize("grid", [{}, {"colour": [1]}, {"tol": []}])
def test_a_grid_that_says_nothing_is_refused(grid):
    with pytest.raises(ValueError, match="grid: expected at least one value"):
        choose(MODEL, recording(), grid)


@pytest.mark.parametrize(
    ("model", "grid", "words"),
    [
        ("S-2", {"n_modes": [2]}, "expected a model"),
        (None, [2, 3], "a dict of lists"),
        (None, {"n_modes": 2}, "a list of values to try"),
        (None, {"switching": "state"}, "a list of values to try"),
    ],
)
def test_what_people_type_first_is_explained(model, grid, words):
    model = SWIRL(world()) if model is None else model
    with pytest.raises(ValueError, match=words):
        choose(model, recording(), grid)


def test_a_subject_is_never_split_between_folds():
    data = Trajectories([[0, 1]] * 6, subjects=["a", "b"] * 3)
    assert [fold.tolist() for fold in folds(data, 2)] == [[0, 2, 4], [1, 3, 5]]
    with pytest.raises(ValueError, match="n_folds=3: there are only 2 subjects"):
        folds(data, 3)
