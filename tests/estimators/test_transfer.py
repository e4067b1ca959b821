"""The same rewards, or goals and habit, in another environment."""

import warnings
from functools import cache

import numpy as np
import pytest

from small_worlds import world
from swirl.data.local_shape import name_moves, name_moves_as_in, place_kinds
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld_env
from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.registry import load, make
from swirl.estimators.swirl import SWIRL
from swirl.estimators.transfer import GaugeWarning
from swirl.inference.mstep import Parameters
from swirl.precision import float64, numpy_tree
from swirl.rewards import Goals
from swirl.rewards.goals import GoalsParameters
from swirl.switching import Leaving

GOALS = Goals((4, 20), kinds=0, moves="action")


def gaps(rows):
    """The 5 × 5 grid with a wall right of its third column, open in some rows: who walks into it stays."""
    grid = gridworld_env()
    following = np.array(grid.successors.next)[:, :, 0]
    for row in set(range(5)) - set(rows):
        left, right = 5 * row + 2, 5 * row + 3
        following[left, following[left] == right] = left
        following[right, following[right] == left] = right
    return MDP.deterministic(
        following, state_names=grid.state_names, action_names=grid.action_names, coordinates=grid.coordinates
    )


BEFORE, AFTER = gaps([0, 4]), gaps([4])


@cache
def walker(env):
    """A walker that explores, goes to one corner or to the other, and drops a goal once it is there."""
    truth = SWIRL(env, n_modes=3, history=2, reward=GOALS, switching="until-reached", n_restarts=1, max_iter=1)
    walk = Trajectories([np.zeros(5, int)], [np.full(5, 4)], n_states=25, n_actions=env.n_actions)
    problem = truth.em_problem(walk)
    habit = np.zeros_like(problem.components.random_parameters(np.random.default_rng(0), 0.0).emissions.habit)
    leave = np.log([[[0.9, 0.1], [0.5, 0.5]], [[0.99, 0.01], [0.1, 0.9]], [[0.99, 0.01], [0.1, 0.9]]])
    parameters = Parameters(
        np.log([0.2, 0.4, 0.4]), Leaving(leave, np.log([0.2, 0.4, 0.4])),
        GoalsParameters(habit, np.log([[1.0], [2.0], [2.0]])),
    )  # fmt: skip
    with float64():
        tables = numpy_tree(problem.components.tables(parameters))
    rows = problem.context[1]
    policies = np.exp(tables.log_emissions.T.reshape(3, -1, env.n_actions))[:, rows[: env.n_states]]
    return SWIRL.from_parameters(
        env, history=1, rewards=np.log(policies), mode_transitions=np.exp(tables.log_transitions),
        initial_modes=[0.2, 0.4, 0.4], discount=1e-9,
    )  # a reward r(s, a) that is the log-policy, and no future: the same policy  # fmt: skip


@cache
def fitted(form=GOALS, history=2, max_iter=2000, n_sessions=40):
    model = SWIRL(
        BEFORE, n_modes=3, history=history, reward=form, switching="until-reached", n_restarts=1, max_iter=max_iter
    )
    return model.fit(walker(BEFORE).sample(n_sessions, 150, random_state=1))


@cache
def tabular(reward, history=1):
    """Random rewards, as if fitted."""
    rng = np.random.default_rng(3)
    shape = (2, *[25] * history, *([5] if reward == "state-action" else []))
    return SWIRL.from_parameters(
        BEFORE, history=history, rewards=rng.standard_normal(shape), mode_transitions=[[0.9, 0.1], [0.2, 0.8]],
        initial_modes=[0.5, 0.5], temperature=[1.0, 0.5],
    )  # fmt: skip


@pytest.mark.parametrize(
    "form",
    [
        ("state", 2),
        pytest.param(("state", 1), marks=pytest.mark.slow),
        pytest.param(("state-action", 1), marks=pytest.mark.slow),
    ],
)
def test_the_same_environment_changes_nothing(form):
    model = tabular(*form)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        moved = model.transfer(BEFORE)
    np.testing.assert_allclose(moved.policies_, model.policies_, atol=1e-6)
    np.testing.assert_allclose(moved.rewards_, model.rewards_)
    np.testing.assert_array_equal(moved.mode_transitions_, model.mode_transitions_)
    assert moved.label == model.label


@pytest.mark.slow
@pytest.mark.parametrize(
    "form",
    [
        Goals((4, 20), kinds=1, moves="action", place_history=2),
        Goals((4, 20), kinds=2, moves="compass"),
        Goals((4, (20, 21)), kinds=1, moves="next"),
    ],
    ids=lambda form: form.moves,
)
def test_goals_keep_their_habit(form):
    model = fitted(form, history=3, max_iter=3, n_sessions=4)
    back = model.transfer(BEFORE)
    np.testing.assert_allclose(back.policies_, model.policies_, atol=1e-6)
    np.testing.assert_allclose(back.rewards_, model.rewards_)
    moved, explores = model.transfer(AFTER), model.mode_names_.index("explore")
    here = {tuple(row): i for i, row in enumerate(model.histories_.tolist())}
    both = [(here[tuple(row)], i) for i, row in enumerate(moved.histories_.tolist()) if row[0] not in (2, 3)]
    assert len(both) > 400
    old, new = (np.array(x) for x in zip(*both, strict=True))
    assert np.ptp(model.policies_[explores, old]) > 0.05
    # where nothing has changed the habit is the same, whatever the kinds of places would be there
    np.testing.assert_allclose(moved.policies_[explores, new], model.policies_[explores, old], atol=1e-6)


@pytest.mark.slow
def test_goals_go_there_and_back(tmp_path):
    model = fitted(max_iter=3, n_sessions=4)
    moved = model.transfer(AFTER)
    assert (moved.mode_names_, moved.label, moved.env) == (model.mode_names_, "Goals-2", AFTER)
    other = model.align_to(fitted(max_iter=1, n_sessions=4))
    np.testing.assert_allclose(other.transfer(AFTER).transfer(BEFORE).policies_, other.policies_, atol=1e-6)
    read = load(model.save(tmp_path / "goals.nc")).transfer(AFTER)
    np.testing.assert_allclose(read.policies_, moved.policies_, atol=1e-6)
    again = load(moved.save(tmp_path / "there.nc"))
    sampled = again.sample(2, 20)
    assert again.score(sampled) == pytest.approx(moved.score(sampled))
    with pytest.raises(ValueError, match="was made from parameters and has no restarts"):
        again.transfer(BEFORE)


def test_rewards_of_states_go_anywhere():
    """Taking a way away: r(s), and r(s, s⁻) of what is left, have the policies of the same rewards planned there."""
    for history in (1, 2):
        model = tabular("state", history)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            moved = model.transfer(AFTER)
        table = model.reward_table()
        if history == 2:  # staying at the wall is not new: the grid lets one stay anywhere
            assert set(map(tuple, moved.histories_)) < set(map(tuple, model.histories_))
        planned = SWIRL.from_parameters(
            AFTER, history=history, rewards=table, mode_transitions=model.mode_transitions_,
            initial_modes=model.initial_modes_, temperature=[1.0, 0.5],
        )  # fmt: skip
        full = moved._histories.full_length
        np.testing.assert_allclose(moved.policies_[:, full], planned.policies_[:, full], atol=1e-6)
        assert np.abs(moved.policies_[:, :25] - model.policies_[:, :25]).max() > 0.05


@pytest.mark.slow
def test_a_gauge_that_matters_there_is_told():
    """Rewards r(s, a) may be shaped by any potential here; where an action leads elsewhere that is no longer free."""
    model = tabular("state-action")
    turned = MDP.deterministic(np.asarray(BEFORE.successors.next)[:, [1, 0, 3, 2, 4], 0])
    with pytest.warns(GaugeWarning, match=r"the mean total variation between them is 0\.\d+, over the states") as told:
        moved = model.transfer(turned)
    assert len(told) == 1
    assert np.isnan(moved.rewards_).sum() == 0
    sampled = moved.sample(3, 30)
    assert moved.score(sampled) < 0
    assert len(moved.predict(sampled)) == 3


def test_what_was_never_possible_takes_a_mean():
    model, opened = tabular("state", 2), gaps([0, 2, 4])
    with pytest.warns(GaugeWarning):  # the mean is of one member of the class
        moved = model.transfer(opened)
    table, new = model.reward_table(), moved.reward_table()
    into = np.nanmean(table[:, 13], axis=1)
    np.testing.assert_allclose(new[:, 13, 12], into)
    np.testing.assert_array_equal(np.where(np.isnan(table), 0, new), np.nan_to_num(table))


@pytest.mark.parametrize(
    ("env", "told"),
    [
        (world(), "env has 5 states, but the model was fitted with 25.*\\n.*env has 3 actions"),
        (
            MDP.deterministic(np.tile(np.arange(25)[:, None], 5), state_names=[f"room {i}" for i in range(25)]),
            r"env calls state 0 'room 0', but where the model was fitted it is '\(0, 0\)' \(25 such states in all\)",
        ),
    ],
)
def test_another_world_is_refused(env, told):
    with pytest.raises(ValueError, match=told):
        tabular("state").transfer(env)


@pytest.mark.parametrize("by", ["action", "compass", "next"])
def test_moves_keep_their_names(by):
    kinds = place_kinds(BEFORE, 1)
    here, there = name_moves(BEFORE, kinds, by), name_moves_as_in(BEFORE, AFTER, kinds, by)
    same = np.array(BEFORE.successors.next)[..., 0] == np.array(AFTER.successors.next)[..., 0]
    np.testing.assert_array_equal(there.choices[same], here.choices[same])
    back = name_moves_as_in(BEFORE, BEFORE, kinds, by)
    np.testing.assert_array_equal(back.choices, here.choices)
    np.testing.assert_array_equal(back.passed, here.passed)
    stay = here.of(np.array([2]), np.array([2]))
    blocked = there.choices[2, ~same[2]]
    if by == "action":
        np.testing.assert_array_equal(blocked, here.choices[2, ~same[2]])  # it is tried as it was
    else:
        np.testing.assert_array_equal(blocked, stay)


@pytest.mark.slow
def test_a_move_without_a_name_is_done_neither_more_nor_less():
    """A ring; then one can also cross it: by the kind of place that it leads to, that has no name."""
    ring = MDP.deterministic([[(s + 1) % 6, (s - 1) % 6, -1] for s in range(6)])
    crossed = MDP.deterministic([[(s + 1) % 6, (s - 1) % 6, (s + 3) % 6] for s in range(6)])
    rng = np.random.default_rng(0)
    steps = np.where(rng.random((4, 60)) < 0.9, 0, 1)
    states = np.cumsum(np.concatenate([np.zeros((4, 1), int), np.where(steps == 0, 1, -1)], axis=1), axis=1) % 6
    data = Trajectories(list(states[:, :-1]), list(steps), n_states=6, n_actions=3)
    model = make("Goals-1", ring, places=(), moves="action", n_restarts=1, max_iter=20).fit(data)
    moved = model.transfer(crossed)
    odds = moved.policies_[0] / moved.policies_[0][:, 1:2]
    np.testing.assert_allclose(odds[:, 0], model.policies_[0][:, 0] / model.policies_[0][:, 1])
    habit = model.restarts_[0].parameters.emissions.habit
    np.testing.assert_allclose(np.log(moved.policies_[0, 0, 2] / moved.policies_[0, 0, 0]), -habit[0, 0], atol=1e-6)


@pytest.mark.slow
def test_goals_find_the_way_round_where_counts_do_not():
    model = fitted()
    moved = model.transfer(AFTER)
    truth = walker(AFTER)
    new = truth.sample(40, 150, random_state=2)
    either = MDP((BEFORE.dense() + AFTER.dense()) / 2)  # in which all sessions can be read
    counts = BackoffMarkov(either, order=2).fit(walker(BEFORE).sample(40, 150, random_state=1))
    score = moved.score(new)
    assert score > truth.score(new) - 0.02
    assert score > counts.score(new) + 0.1


@pytest.mark.slow
def test_rewards_of_states_find_it_too_and_those_of_actions_do_not():
    data, new = walker(BEFORE).sample(40, 150, random_state=1), walker(AFTER).sample(40, 150, random_state=2)
    of_states = make("S-1", BEFORE, n_modes=3, n_restarts=2).fit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert of_states.transfer(AFTER).score(new) > walker(AFTER).score(new) - 0.02
    of_actions = make("S-1", BEFORE, n_modes=3, n_restarts=2, reward="state-action").fit(data)
    with pytest.warns(GaugeWarning, match="mean total variation between them is 0.5"):
        assert of_actions.transfer(AFTER).score(new) < walker(AFTER).score(new) - 0.05
