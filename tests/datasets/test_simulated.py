"""The simulated gridworld: design.md#recordings constants, data that come from its truth, and slips."""

import numpy as np
import pytest

from swirl import datasets
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.datasets import HOME, WATER, gridworld, gridworld_env, gridworld_rewards, gridworld_switching
from swirl.estimators.swirl import SWIRL


@pytest.fixture(scope="module")
def data():
    return gridworld(n_sessions=40, n_steps=100)


def test_moves_stay_inside_the_grid():
    env = gridworld_env()
    assert (env.n_states, env.n_actions, env.is_deterministic) == (25, 5, True)
    assert env.action_names == ("up", "left", "down", "right", "stay")
    following = env.successors.next[..., 0]
    assert following[12].tolist() == [7, 11, 17, 13, 12]
    assert following[0].tolist() == [0, 0, 5, 1, 0]
    assert following[24].tolist() == [19, 23, 24, 24, 24]


def test_rewards_are_the_papers():
    water, home = gridworld_rewards()
    assert water[WATER, WATER - 1] == water[WATER - 1, WATER] == 1  # arriving from elsewhere, and leaving
    assert water[WATER, WATER] == 0
    assert home[HOME, HOME] == home[HOME, 1] == 1
    assert home[1, HOME] == 0
    assert np.isnan(water[0, 24])
    known = np.isfinite(water)
    assert known.sum() == 105  # 25 stays and 2 · 40 moves between neighbours
    assert set(water[known]) == set(home[known]) == {0.0, 1.0}


def test_switching_is_the_papers():
    table = gridworld_switching()
    np.testing.assert_allclose(table.sum(axis=2), 1)
    assert table[WATER, 0, 1] == 0.36
    assert table[HOME, 1, 0] == 0.15
    assert table[12, 0, 1] == 0.004
    assert table[12, 1, 0] == 0.002
    assert 0.01 <= table[WATER - 1, 0, 1] <= 0.04


def test_the_data_are_drawn_from_the_truth(data):
    truth = data.truth
    assert truth.mode_names == ("water", "home")
    assert [m.tolist() for m in truth.modes] == [m.tolist() for m in data.trajectories.modes]
    model = SWIRL.from_parameters(
        data.env,
        history=2,
        rewards=truth.rewards,
        mode_transitions=truth.mode_transitions,
        initial_modes=truth.initial_modes,
        discount=truth.discount,
        temperature=truth.temperature,
    )
    # A draw scores as the model expects of itself: another draw of the same size scores alike.
    again = gridworld(n_sessions=40, n_steps=100, random_state=1).trajectories
    assert model.score(data.trajectories) == pytest.approx(model.score(again), abs=0.05)
    starts = np.array([s[0] for s in data.trajectories.states])
    assert len(np.unique(starts)) > 12


def test_the_seed_decides():
    a, b, c = (gridworld(n_sessions=2, n_steps=30, random_state=seed).trajectories for seed in (0, 0, 1))
    assert a.fingerprint() == b.fingerprint() != c.fingerprint()


def test_without_slips_the_data_are_those_of_the_first_version():
    """Fingerprints taken before slips existed: benchmarks and studies rest on these very draws."""
    made = gridworld(n_sessions=40, n_steps=100, slip=0.0)
    assert made.trajectories.fingerprint() == "0f04f6ada5c56a94953fa3d3c816b7f675ff792774078a4451a484c3a065bbad"
    modes = Trajectories(made.truth.modes).fingerprint()
    assert modes == "b39577cf5fe550a5b7f1c4a985d094a5d40b53f813facb82df3e4e8f49a34183"


def test_a_slip_has_the_outcome_of_a_random_action():
    slip, dense, certain = 0.3, gridworld_env(slip=0.3).dense(), gridworld_env()
    following = certain.successors.next[..., 0]
    expected = np.zeros_like(dense)
    for s in range(25):
        for a in range(5):
            expected[s, a, following[s, a]] += 1 - slip
            for b in range(5):
                expected[s, a, following[s, b]] += slip / 5
    np.testing.assert_allclose(dense, expected, atol=1e-15)
    slippery = gridworld_env(slip=0.3)
    assert slippery.n_branches == 5
    assert slippery.action_names == certain.action_names
    assert slippery.state_names == certain.state_names
    np.testing.assert_array_equal(slippery.coordinates, certain.coordinates)


@pytest.fixture(scope="module")
def slippery():
    return gridworld(n_sessions=100, n_steps=200, slip=0.3)


def planned(env, rewards, discount=0.95):
    """Soft-optimal policy [state, action] by plain sweeps over V(s, s⁻), with dense arrays."""
    dense, rewards = env.dense(), np.nan_to_num(rewards)
    values = np.zeros((25, 25))
    for _ in range(600):
        future = discount * np.einsum("sax,xs->sa", dense, values)  # the next pair is (s', s)
        values = rewards + np.log(np.exp(future).sum(axis=1))[:, None]
    future = discount * np.einsum("sax,xs->sa", dense, values)
    return np.exp(future) / np.exp(future).sum(axis=1, keepdims=True)


@pytest.mark.slow
def test_the_agent_plans_with_slips(slippery):
    model = slippery.true_model()
    newest = model.histories_[:, 0]
    for mode, rewards in enumerate(gridworld_rewards()):
        policy = planned(slippery.env, rewards)
        np.testing.assert_allclose(model.policies_[mode], policy[newest], atol=1e-8)
        assert np.abs(policy - planned(gridworld_env(), rewards)).max() > 0.01  # slips make a difference


@pytest.mark.slow
def test_the_slippery_data_are_drawn_from_their_truth(slippery):
    env, model, data = slippery.env, slippery.true_model(), slippery.trajectories
    env.check(data)
    states, actions, modes = (np.stack(part) for part in (data.states, data.actions, slippery.truth.modes))
    # Actions: at each (mode, cell) with many visits the shares are the policy's.
    chosen = np.zeros((2, 25, 5))
    np.add.at(chosen, (modes, states, actions), 1)
    n = chosen.sum(axis=2, keepdims=True)
    policy = model.policies_[:, :25]  # the histories of one state come first
    error = (chosen - n * policy) / np.sqrt(np.maximum(n * policy * (1 - policy), 1))
    assert np.abs(error).max() < 4.5
    # Outcomes: a slip shows when it is not to the cell that was chosen.
    meant = gridworld_env().successors.next[states[:, :-1], actions[:, :-1], 0]
    visible = 1 - env.dense()[states[:, :-1], actions[:, :-1], meant]
    missed = states[:, 1:] != meant
    assert missed.mean() == pytest.approx(visible.mean(), abs=0.01)
    again = gridworld(n_sessions=100, n_steps=200, random_state=1, slip=0.3).trajectories
    assert model.score(data) == pytest.approx(model.score(again), abs=0.03)


@pytest.mark.parametrize("slip", [-0.1, 1.0, 1, 1.5, float("nan"), float("inf"), True])
def test_a_slip_that_is_no_probability_is_told(slip):
    with pytest.raises(ValueError, match=rf"slip={slip!r}: give a probability ≥ 0 and below 1"):
        gridworld_env(slip)


def test_all_faults_of_a_gridworld_are_told_at_once():
    with pytest.raises(ValueError, match=r"(?s)cannot be simulated: 3 faults.*n_sessions=0.*n_steps=-1.*slip=1"):
        gridworld(n_sessions=0, n_steps=-1, slip=1)


def test_a_true_model_needs_a_truth():
    recorded = datasets.Dataset(MDP.deterministic([[1], [0]]), Trajectories([[0, 1, 0]], [[0, 0]]))
    with pytest.raises(ValueError, match="truth behind these recordings is not known: fit a model"):
        recorded.true_model()


def test_every_public_name_is_there():
    for name in datasets.__all__:
        assert getattr(datasets, name) is not None
    assert callable(datasets.gridworld)  # the function, not the file of that name
    assert callable(datasets.random_walk)
