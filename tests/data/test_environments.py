"""Environments from files: what is written is read back, and every fault is told with its line."""

import numpy as np
import pytest

from swirl import MDP, Trajectories, datasets
from swirl.analysis.state_summaries import actions_are_states
from swirl.data.environments import fully_connected, infer_actions, observed_moves
from swirl.io.environment_files import environment_for, read_environment, write_environment


def names(env):
    """Names of states and actions; the names "0", "1", … are no more than the numbers."""
    numbered = tuple(map(str, range(env.n_states)))
    return (numbered if env.state_names is None else env.state_names, env.action_names)


def same(one, other):
    return (
        np.array_equal(one.dense(), other.dense())
        and np.array_equal(one.available, other.available)
        and names(one) == names(other)
    )


@pytest.mark.parametrize(
    "env",
    [
        datasets.gridworld_env(),
        datasets.gridworld_env(slip=0.3),
        datasets.labyrinth_env(legal_only=True),
        MDP.deterministic([[1, 0], [0, 1]]),
    ],
    ids=["names and places", "probabilities", "a maze", "numbers"],
)
def test_an_environment_comes_back_from_its_files(env, tmp_path):
    write_environment(env, tmp_path / "with space ü.csv")
    again = read_environment(tmp_path / "with space ü.csv")
    assert same(env, again)
    if env.coordinates is not None:
        np.testing.assert_array_equal(again.coordinates, np.asarray(env.coordinates)[:, :2])


def test_files_are_not_overwritten(tmp_path):
    env = MDP.deterministic([[1, 0], [0, 1]], state_names=["a", "b"])
    write_environment(env, tmp_path / "env.csv")
    with pytest.raises(FileExistsError, match=r"env\.csv exists already"):
        write_environment(env, tmp_path / "env.csv")
    (tmp_path / "env.csv").unlink()
    with pytest.raises(FileExistsError, match=r"states\.csv exists already"):
        write_environment(env, tmp_path / "env.csv")
    assert not (tmp_path / "env.csv").exists()
    write_environment(env, tmp_path / "env.csv", overwrite=True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("from,to\na,b\n", "line 1: no column state, action, next_state among from, to"),
        ("state,action,next_state\na,go\n", "line 2: 2 cells, but the header has 3"),
        ("state,action,next_state\na,,b\n", "line 2, column action: empty"),
        ("state,action,next_state,p\na,go,b,half\n", "line 2, column p: 'half' is not a number"),
        ("state,action,next_state\n", "holds no rows"),
        ("", "holds no rows"),
    ],
)
def test_faults_of_an_edge_list(text, told, tmp_path):
    file = tmp_path / "env.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=told):
        read_environment(file)


def test_faults_of_a_table_of_states(tmp_path):
    file = tmp_path / "env.csv"
    file.write_text("state;action;next_state\na;go;b\nb;go;a\n")
    states = tmp_path / "env.states.csv"
    states.write_text("name,x,y\na,0,0\n")
    with pytest.raises(ValueError, match=r"state 'b' is not in env\.states\.csv"):
        read_environment(file)
    states.write_text("name,x,y\na,0,0\nb,left,0\n")
    with pytest.raises(ValueError, match="line 3, column x: 'left' is not a number"):
        read_environment(file)
    states.write_text("name,x,y\nb,1,0\na,0,0\n")
    env = read_environment(file)
    assert env.state_names == ("b", "a")  # the table gives the order
    assert env.coordinates.tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "env.csv").write_bytes(b"\xfd\xfe\x00\x81")
    with pytest.raises(ValueError, match="not text in UTF-8"):
        read_environment(tmp_path / "env.csv")


def test_shorthands():
    data = Trajectories([[0, 1, 0, 2], [2, 1]], gaps=[[2], []])
    assert same(environment_for(data, "syllables"), fully_connected(3))
    seen = observed_moves(data)  # 0→1, then a gap, 0→2, and 2→1
    assert same(environment_for(data), seen)
    assert seen.available.astype(int).tolist() == [[0, 1, 1], [1, 1, 1], [0, 1, 0]]
    acted = Trajectories([[0, 1, 0]], [[0, 0]])
    assert same(environment_for(acted), MDP.estimate(acted))


@pytest.mark.parametrize(
    "data",
    [Trajectories([[0, 1, 1, 2]]), Trajectories([[0, 1], [2, 0]], [[1, 1], [0]], n_actions=3)],
    ids=["a state follows itself", "an action stays"],
)
def test_syllables_that_repeat_may_follow_themselves(data):
    env = environment_for(data, "syllables")
    assert same(env, fully_connected(3, stay=True))
    assert env.available.all()
    assert actions_are_states(env)
    env.check(data)


def test_across_a_gap_nothing_follows_itself():
    data = Trajectories([[0, 1, 1, 2]], gaps=[[2]])
    assert same(environment_for(data, "syllables"), fully_connected(3))


def test_actions_are_inferred_where_just_one_leads_there():
    env = datasets.labyrinth_env()
    data = Trajectories([[0, 0, 1, 3, 1]], gaps=[[4]])
    filled = infer_actions(data, env)
    into_left = int(filled.actions[0][1])
    assert env.dense()[0, into_left, 1] == 1
    assert filled.actions[0][0] == -1  # several actions stay at node 0
    assert filled.actions[0][3] == -1  # what led across the gap was not seen
    kept = infer_actions(Trajectories([[0, 1]], [[2]], n_actions=4), env)
    assert kept.actions[0][0] == 2  # what was recorded stays


def test_many_states_give_the_same_actions():
    rng = np.random.default_rng(0)
    n = 600
    following = np.stack([rng.permutation(n) for _ in range(2)], axis=1)
    env = MDP.deterministic(following)
    states = [0]
    chosen = rng.integers(0, 2, 50)
    for action in chosen:
        states.append(int(following[states[-1], action]))
    assert infer_actions(Trajectories([states], n_states=n), env).actions[0][:-1].tolist() == chosen.tolist()


def test_a_state_outside_the_environment_is_told():
    with pytest.raises(ValueError, match="session 0, step 1: state 5, but the environment has 2 states"):
        infer_actions(Trajectories([[0, 5]]), MDP.deterministic([[1], [0]]))


def test_an_action_that_is_the_next_state_has_its_number(tmp_path):
    (tmp_path / "env.csv").write_text("state,action,next_state\nb,a,a\na,b,b\nb,c,c\nc,b,b\n")
    env = read_environment(tmp_path / "env.csv")
    assert env.action_names == env.state_names == ("b", "a", "c")
    assert actions_are_states(env)
    (tmp_path / "env.csv").write_text("state,action,next_state\n0,1,1\n1,2,2\n2,1,1\n2,2,2\n")
    assert actions_are_states(read_environment(tmp_path / "env.csv"))  # nothing leads to 0
    (tmp_path / "env.csv").write_text("state,action,next_state\nb,go,a\na,go,b\n")
    assert read_environment(tmp_path / "env.csv").action_names == ("go",)


def test_numbers_with_holes_are_names(tmp_path):
    (tmp_path / "env.csv").write_text("state,action,next_state\n7,x,3\n3,y,12\n12,x,7\n")
    env = read_environment(tmp_path / "env.csv")
    assert env.state_names == ("3", "7", "12")
    assert env.available.sum() == 3
