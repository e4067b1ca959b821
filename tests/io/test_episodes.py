"""Episodes become sessions: hand-counted lists, a real Minari dataset, and what is refused."""

import gc
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from swirl import MDP, Trajectories
from swirl.io.episodes import from_episodes


def listed(arrays):
    return [array.tolist() for array in arrays]


def test_t_plus_one_observations_leave_the_last_action_and_reward_open():
    first = {"observations": np.array([0, 1, 2]), "actions": np.array([1, 0]), "rewards": np.array([0.0, 2.5])}
    second = SimpleNamespace(id=7, obs=np.array([2, 0]), acts=np.array([1]), rews=np.array([-1.0]))
    sessions = from_episodes([first, second], subjects=["a", "b"])
    assert listed(sessions.states) == [[0, 1, 2], [2, 0]]
    assert listed(sessions.actions) == [[1, 0, -1], [1, -1]]
    np.testing.assert_array_equal(sessions.signals["reward"][0], [0.0, 2.5, np.nan])
    np.testing.assert_array_equal(sessions.signals["reward"][1], [-1.0, np.nan])
    assert sessions.names == ("0", "7")
    assert sessions.subjects == ("a", "b")
    assert sessions.state_names is None
    assert sessions.notes == ("2 episodes with 3 actions",)
    assert sessions.n_steps == 5


def test_as_many_actions_as_observations_are_taken_as_they_stand():
    sessions = from_episodes([{"observations": [0, 1], "actions": [1, 1], "rewards": [1, 2]}], names=["mine"])
    assert listed(sessions.actions) == [[1, 1]]
    assert listed(sessions.signals["reward"]) == [[1.0, 2.0]]
    assert sessions.names == ("mine",)


def test_rewards_that_some_episodes_lack_are_nan_and_those_that_all_lack_are_none():
    bare = {"observations": [0, 1], "actions": [0]}
    assert from_episodes([bare]).signals is None
    both = from_episodes([bare, {**bare, "rewards": [3.0]}])
    np.testing.assert_array_equal(np.stack(both.signals["reward"]), [[np.nan, np.nan], [3.0, np.nan]])


def test_one_hot_rows_are_labels_with_a_known_number():
    sessions = from_episodes([{"observations": np.eye(4)[[2, 0, 2]], "actions": np.eye(3, dtype=int)[[1, 2]]}])
    assert listed(sessions.states) == [[2, 0, 2]]
    assert listed(sessions.actions) == [[1, 2, -1]]
    assert sessions.state_names == ("0", "1", "2", "3")
    assert sessions.action_names == ("0", "1", "2")


def test_a_column_of_integers_is_one_label_per_step():
    sessions = from_episodes([{"observations": [[3], [1], [1]], "actions": [[0], [1]]}])
    assert listed(sessions.states) == [[3, 1, 1]]


def test_an_episode_without_an_action_is_dropped_with_its_name_and_subject():
    rest, empty = {"observations": [0, 1], "actions": [0]}, {"observations": [0], "actions": []}
    sessions = from_episodes([empty, rest], names=["a", "b"], subjects=[1, 2])
    assert (sessions.names, sessions.subjects) == (("b",), (2,))
    assert "dropped 1 episode without an action" in sessions.notes
    with pytest.raises(ValueError, match="none of 1 episode has an action"):
        from_episodes([empty])


@pytest.fixture
def minari_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return pytest.importorskip("minari")


def collect(minari, env, actions, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Minari misses an author and so on, and leaves its temporary folders to Python
        collector = minari.DataCollector(env)
        for seed, episode in enumerate(actions):
            collector.reset(seed=seed)
            for action in episode:
                collector.step(action)
        collector.create_dataset(name)
        del collector
        gc.collect()


@pytest.mark.slow
def test_a_minari_dataset_of_the_frozen_lake(minari_datasets):
    gymnasium = pytest.importorskip("gymnasium")
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    # Right, right, down, down, down, right: round the holes to the goal, field 15 of the 4 × 4. Then: down into a hole.
    collect(minari_datasets, lake, [[2, 2, 1, 1, 1, 2], [2, 1]], "lake/small-v0")
    sessions = from_episodes(minari_datasets.load_dataset("lake/small-v0"))
    assert listed(sessions.states) == [[0, 1, 2, 6, 10, 14, 15], [0, 1, 5]]
    assert listed(sessions.actions) == [[2, 2, 1, 1, 1, 2, -1], [2, 1, -1]]
    np.testing.assert_array_equal(sessions.signals["reward"][0], [0, 0, 0, 0, 0, 1, np.nan])
    assert sessions.names == ("0", "1")
    assert sessions.state_names == tuple(map(str, range(16)))
    assert sessions.action_names == ("0", "1", "2", "3")
    assert sessions.n_states == 16


def test_the_start_of_a_space_is_subtracted():
    spaces = pytest.importorskip("gymnasium").spaces
    data = SimpleNamespace(
        iterate_episodes=lambda: iter([SimpleNamespace(id=0, observations=[5, 7], actions=[-1], rewards=[1.0])]),
        observation_space=spaces.Discrete(4, start=5),
        action_space=spaces.Discrete(2, start=-1),
    )
    sessions = from_episodes(data)
    assert listed(sessions.states) == [[0, 2]]
    assert listed(sessions.actions) == [[0, -1]]
    assert sessions.state_names == ("5", "6", "7", "8")
    assert sessions.action_names == ("-1", "0")
    data.observation_space = spaces.Discrete(2, start=5)
    with pytest.raises(ValueError, match=r"episode 0: observations hold 7 at step 1: the space .* has 5 to 6"):
        from_episodes(data)
    data.observation_space = spaces.MultiDiscrete([9])  # its start is an array
    assert listed(from_episodes(data).states) == [[5, 7]]


@pytest.mark.parametrize(
    ("episodes", "words"),
    [
        ([{"observations": [[0.1, 2.0], [0.3, 1.0]], "actions": [0]}], "make them discrete first"),
        ([{"observations": [0.0, 1.0], "actions": [0]}], r"type float64: expected integers"),
        ([{"observations": [0, 1], "actions": [[0.5, 0.5]]}], "episode 0: actions have shape"),
        ([{"observations": [[0, 2], [1, 1]], "actions": [0]}], "number the combinations"),
        ([{"observations": {"agent": [0, 1]}, "actions": [0]}], "choose one part"),
        ([{"observations": ([0, 1], [1, 1]), "actions": [0]}], "choose one part"),
        ([{"observations": [[0], [1, 2]], "actions": [0]}], "episode 0: observations are ragged"),
        ([{"observations": np.eye(3), "actions": [0, 0]}, {"observations": np.eye(2), "actions": [0]}], "widths"),
        ([{"observations": [0, 1, 2], "actions": [0]}], r"3 observations and 1 action: expected T \+ 1 and T"),
        ([{"observations": [0], "actions": [0, 1]}], "1 observation and 2 actions"),
        ([{"observations": [0, 1]}], "episodes 0 have no actions"),
        ([{"observations": [0, 1], "actions": [0], "rewards": [1.0, 2.0]}], "rewards have shape .2,.* 1 action"),
        ([{"observations": [0, 1], "actions": [0], "rewards": [[1.0], [1.0, 2.0]]}], "expected one number per action"),
        ({"observations": [0, 1], "actions": [0]}, r"a single one is wrapped: \[episode\]"),
        (SimpleNamespace(observations=[0, 1], actions=[0]), r"wrapped: \[episode\]"),
        ("lake/small-v0", r"minari.load_dataset\('lake/small-v0'\)"),
        ([], "episodes is empty"),
    ],
)
def test_what_cannot_be_read_is_told(episodes, words):
    with pytest.raises(ValueError, match=words):
        from_episodes(episodes)


def test_faults_of_states_and_actions_and_labels_are_told_at_once():
    with pytest.raises(ValueError, match="2 faults"):
        from_episodes([{"observations": [0.5, 1.5], "actions": ["left"]}])
    with pytest.raises(ValueError, match=r"names has 2 labels.*1 sessions"):
        from_episodes([{"observations": [0, 1], "actions": [0]}], names=["a", "b"])


@pytest.mark.parametrize("slippery", [True, False])
def test_an_environment_of_gymnasium_is_an_mdp(slippery):
    gymnasium = pytest.importorskip("gymnasium")
    lake = gymnasium.make("FrozenLake-v1", is_slippery=slippery)
    env = MDP.from_gymnasium(lake, action_names=["left", "down", "right", "up"])
    assert (env.n_states, env.n_actions, env.is_deterministic) == (16, 4, not slippery)
    for state, action in np.ndindex(16, 4):
        expected = np.zeros(16)
        for share, end, *_ in lake.unwrapped.P[state][action]:
            expected[end] += share
        np.testing.assert_allclose(env.dense()[state, action], expected)
    states, actions = [lake.reset(seed=0)[0]], []
    for step in range(20):
        actions.append(step % 4)
        states.append(lake.step(actions[-1])[0])
    env.check(Trajectories([states], [actions]))
    with pytest.raises(ValueError, match=r"expected an environment that tells its transitions \(env\.unwrapped\.P\)"):
        MDP.from_gymnasium(gymnasium.make("CartPole-v1"))


def test_sessions_go_out_and_come_back():
    data = Trajectories([[0, 1, 1], [1, 0]], [[1, 0], [1]], subjects=["m1", "m2"], names=["a", "b"], n_states=2)
    again = Trajectories.from_dataframe(data.to_dataframe())
    assert [path.tolist() for path in again.states] == [path.tolist() for path in data.states]
    assert again.subjects == data.subjects
    table = data.to_xarray(modes=[[0, 0, 1], [1, 1]])
    assert table["mode"].values.tolist() == [0, 0, 1, 1, 1]
    assert table["session"].values.tolist() == ["a"] * 3 + ["b"] * 2
