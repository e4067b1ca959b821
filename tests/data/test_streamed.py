"""Recordings larger than memory: read in parts, they give what they give as a whole."""

import numpy as np
import pandas as pd
import pytest

from small_worlds import recording, world
from swirl import SWIRL, StreamedTrajectories, Trajectories
from swirl.data import streamed
from swirl.data.streamed import read_ahead
from swirl.datasets import gridworld
from swirl.estimators.arhmm import ARHMM
from swirl.estimators.iq_learn import IQLearn
from swirl.io.environment_files import environment_for
from swirl.priors import Gaussian

WORLD = gridworld(n_sessions=13, n_steps=60)


def awkward():
    """Sessions of many lengths with gaps, missing actions and missing ends."""
    rng = np.random.default_rng(0)
    states, actions, gaps = [], [], []
    for i, (s, a) in enumerate(zip(WORLD.trajectories.states, WORLD.trajectories.actions, strict=True)):
        n = int(rng.integers(5, 60))
        states.append(s[:n])
        actions.append(np.where(rng.random(n) < (0.3 if i % 3 else 0.0), -1, a[:n]))
        gaps.append([int(rng.integers(1, n))] if i % 2 else [])
    return Trajectories(states, actions, gaps=gaps, n_states=25, n_actions=5)


def in_parts(data, n=3):
    return StreamedTrajectories(lambda: (data[i : i + n] for i in range(0, len(data), n)))


@pytest.mark.parametrize(
    "engine", ["compiled", *(pytest.param(name, marks=pytest.mark.slow) for name in ("scan", "associative"))]
)
def test_a_fit_in_parts_is_the_fit_of_the_whole(engine):
    data = awkward()
    settings = {"n_modes": 2, "history": 2, "n_restarts": 2, "max_iter": 8}
    settings["reward_prior"] = Gaussian(0.02, backoff=3.0, of="value")
    whole = SWIRL(WORLD.env, **settings).fit(data, engine=engine)
    parts = SWIRL(WORLD.env, **settings).fit(in_parts(data), engine=engine)
    for one, other in zip(whole.restarts_, parts.restarts_, strict=True):
        np.testing.assert_allclose(one.objective_trace, other.objective_trace, rtol=1e-10)
    np.testing.assert_allclose(whole.rewards_, parts.rewards_, atol=1e-7)
    for name in ("initial_states_", "seen_states_", "uninformed_", "n_steps_", "n_observed_", "training_sessions_"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name), err_msg=name)
    assert parts.fit_report_ == whole.fit_report_  # the sample is all there is
    assert parts.fitted_to(data).all()


@pytest.mark.slow
def test_other_models_and_forms_read_parts_too():
    data = awkward()
    for make in (
        lambda: ARHMM(WORLD.env, n_restarts=2, max_iter=5),
        lambda: SWIRL(WORLD.env, reward="state-action", n_restarts=2, max_iter=5),
        lambda: SWIRL(WORLD.env, switching="fixed", n_restarts=2, max_iter=5),
    ):
        whole, parts = make().fit(data), make().fit(in_parts(data, 13))
        # An M-step stops where little more is gained: the last bit of a count can give it one step more or less.
        np.testing.assert_allclose(whole.objective_trace_, parts.objective_trace_, rtol=1e-7)


def test_scores_add_up_over_parts():
    data, model = awkward(), WORLD.true_model()
    parts = in_parts(data)
    assert model.score(parts) == pytest.approx(model.score(data), abs=1e-12)
    assert model.score(parts, of="next_state") == pytest.approx(model.score(data, of="next_state"), abs=1e-12)
    np.testing.assert_allclose(model.log_likelihood(parts), model.log_likelihood(data), atol=1e-10)
    np.testing.assert_allclose(model.session_scores(parts), model.session_scores(data), atol=1e-10)
    assert model.n_scored(parts) == model.n_scored(data)


def test_what_needs_all_at_once_says_so_and_what_to_do():
    parts = in_parts(awkward())
    with pytest.raises(ValueError, match=r"one part after the other, such as \[model.predict\(part\) for part in data"):
        WORLD.true_model().predict(parts)
    with pytest.raises(ValueError, match=r"IQLearn needs all of it in memory.*data.sample\(\)"):
        IQLearn(WORLD.env).fit(parts)


def test_an_inventory_samples_sessions_from_all_parts(monkeypatch):
    monkeypatch.setattr(streamed, "SAMPLE", 200)
    data = Trajectories([np.full(40, i % 25) for i in range(30)], n_states=25)
    parts = in_parts(data, 4)
    assert parts.n_steps == 1200
    kept = [int(states[0]) for states in parts.sample().states]
    assert kept == [0, 8, 16, 24 % 25]  # every eighth of thirty
    assert parts.sample().names == ("0", "8", "16", "24")
    assert parts.fingerprint() == in_parts(data, 7).fingerprint() != in_parts(data[1:], 7).fingerprint()
    assert repr(parts) == "StreamedTrajectories(30 sessions, 1,200 steps)"


def test_one_session_longer_than_a_sample_is_kept(monkeypatch):
    monkeypatch.setattr(streamed, "SAMPLE", 3)
    assert in_parts(Trajectories([[0, 1, 0, 1, 0], [1, 0, 1, 0]])).sample().n_steps == 9


def test_arrays_are_read_where_they_lie(tmp_path):
    states = np.arange(24, dtype=np.int8).reshape(6, 4) % 5
    actions = np.where(states == 2, -1, states).astype(np.int16)
    np.save(tmp_path / "s.npy", states)
    np.save(tmp_path / "a.npy", actions)
    data = StreamedTrajectories.from_arrays(tmp_path / "s.npy", str(tmp_path / "a.npy"), part=9)
    assert [len(part) for part in data] == [2, 2, 2]
    together = Trajectories.concatenate(list(data))
    np.testing.assert_array_equal(together.states, states)
    np.testing.assert_array_equal(together.actions, actions)
    assert (together.n_states, together.n_actions, together.names[-1]) == (5, 5, "5")
    ragged = StreamedTrajectories.from_arrays(states.reshape(-1), offsets=[0, 1, 20, 24], part=4)
    assert [part.lengths.tolist() for part in ragged] == [[1], [19], [4]]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"states": np.zeros((2, 3))}, "states holds float64: expected whole numbers"),
        ({"states": np.zeros(3, int)}, r"shape \(3,\) and offsets are not given"),
        ({"states": np.zeros(3, int), "offsets": [0, 2]}, "rise from 0 to the 3 steps"),
        ({"states": np.zeros(3, int), "offsets": [0, 2, 2, 3]}, "rise from 0"),
        ({"states": np.zeros((2, 3), int), "actions": np.zeros((2, 2), int)}, r"actions has shape \(2, 2\)"),
        ({"states": np.zeros((2, 3), int), "part": 0}, "part=0: expected a whole number"),
        ({"states": "nowhere.npy"}, "nowhere.npy is not there"),
        ({"states": np.zeros((2, 3), int), "scratch": "nowhere"}, "scratch='nowhere': expected a folder"),
    ],
)
def test_bad_arrays_are_told(settings, told):
    with pytest.raises(ValueError, match=told):
        StreamedTrajectories.from_arrays(**settings)


def test_bad_parts_are_told():
    with pytest.raises(ValueError, match="parts is list: expected a function"):
        StreamedTrajectories([Trajectories([[0, 1]])])
    with pytest.raises(ValueError, match="parts gave nothing"):
        list(StreamedTrajectories(list))
    with pytest.raises(ValueError, match=r"parts gave int: expected swirl.Trajectories"):
        list(StreamedTrajectories(lambda: [3]))
    with pytest.raises(ValueError, match="nothing to fit"):
        SWIRL(world()).fit(StreamedTrajectories(lambda: [Trajectories([[0]])]))
    with pytest.raises(ValueError, match="nothing to fit"):
        ARHMM(world()).fit(StreamedTrajectories(lambda: [Trajectories([[0]], n_states=4)] * 2))


def test_a_pass_may_be_left_early_and_errors_come_through():
    seen = []

    def source():
        for i in range(5):
            seen.append(i)
            yield i
        raise RuntimeError("the disk is gone")

    for item in read_ahead(source()):
        if item == 1:
            break
    assert seen == [0, 1, 2]  # one ahead, no more
    with pytest.raises(RuntimeError, match="disk"):
        list(read_ahead(source()))


def table(n_sessions=7, names=("home", "water", "arm")):
    rng = np.random.default_rng(1)
    rows = [
        {"session": f"day {i:02d}", "t": float(t), "state": names[int(rng.integers(len(names)))], "action": int(t % 2)}
        for i in range(n_sessions)
        for t in range(int(rng.integers(2, 9)))
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("categorical", [False, True])
def test_parquet_is_read_some_sessions_at_a_time(tmp_path, categorical):
    pytest.importorskip("pyarrow")
    frame = table()
    if categorical:
        frame["session"] = frame["session"].astype("category")
    frame.to_parquet(tmp_path / "all.parquet", row_group_size=5)
    whole = Trajectories.from_parquet(tmp_path / "all.parquet")
    data = StreamedTrajectories.from_parquet(tmp_path / "all.parquet", part=6)
    parts = list(data)
    assert len(parts) > 3
    together = Trajectories.concatenate(parts)
    assert (together.names, together.state_names) == (whole.names, whole.state_names)
    assert data.session_fingerprints().tolist() == whole.session_fingerprints().tolist()


def test_names_are_those_of_all_files(tmp_path):
    pytest.importorskip("pyarrow")
    table(2, ("home", "water")).to_parquet(tmp_path / "1.parquet")
    table(1, ("arm", "water")).assign(session="later").to_parquet(tmp_path / "2.parquet")
    parts = list(StreamedTrajectories.from_parquet([tmp_path / "1.parquet", tmp_path / "2.parquet"]))
    assert {part.state_names for part in parts} == {("arm", "home", "water")}
    given = StreamedTrajectories.from_parquet(
        [tmp_path / "1.parquet"], state_names=["water", "home"], action_names=["0", "1"]
    )
    assert next(iter(given)).state_names == ("water", "home")


def test_parquet_without_sessions_is_one_per_file(tmp_path):
    pytest.importorskip("pyarrow")
    for day in "12":
        pd.DataFrame({"state": [0, int(day), 1]}).to_parquet(tmp_path / f"{day}.parquet")
    data = StreamedTrajectories.from_parquet(sorted(tmp_path.iterdir()))
    assert [part.names for part in data] == [("1",), ("2",)]


def test_bad_parquet_is_told(tmp_path):
    pytest.importorskip("pyarrow")
    mixed = pd.concat([table(3), table(1)])
    mixed.to_parquet(tmp_path / "mixed.parquet")
    with pytest.raises(ValueError, match=r"session 'day 00' are not next to each other.*sort it by session"):
        list(StreamedTrajectories.from_parquet(tmp_path / "mixed.parquet", part=4))
    table(2).assign(session=[None] + ["a"] * (len(table(2)) - 1)).to_parquet(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match="1 rows have no session"):
        list(StreamedTrajectories.from_parquet(tmp_path / "none.parquet"))
    for paths, told in (([], "paths is empty"), (tmp_path / "no.parquet", r"no\.parquet is not there")):
        with pytest.raises(ValueError, match=told):
            StreamedTrajectories.from_parquet(paths)


@pytest.mark.parametrize("wanted", ["observed", "syllables"])
@pytest.mark.parametrize("with_actions", [True, False])
def test_the_environment_of_parts_is_that_of_the_whole(wanted, with_actions):
    """Also where no part has seen all the labels."""
    whole = recording()
    if not with_actions:
        whole = Trajectories(whole.states)
    parts = [
        Trajectories([whole.states[i]], [whole.actions[i]] if with_actions else None, gaps=[whole.gaps[i]])
        for i in range(len(whole))
    ]
    together = Trajectories(whole.states, whole.actions if with_actions else None, gaps=whole.gaps)
    expected, got = environment_for(together, wanted), environment_for(StreamedTrajectories(lambda: parts), wanted)
    np.testing.assert_array_equal(got.available, expected.available)
    np.testing.assert_allclose(got.dense(), expected.dense(), rtol=1e-12)


def test_sessions_told_by_several_columns_are_read_in_parts(tmp_path):
    rows = [(mouse, day, 0.5 * t, "AB"[t % 2]) for mouse in ("m1", "m2") for day in (1, 2) for t in range(5)]
    table = pd.DataFrame(rows, columns=["mouse", "session", "t", "state"])
    table.to_parquet(tmp_path / "all.parquet")
    columns = {"session": ("mouse", "session"), "subject": "mouse"}
    whole = Trajectories.from_parquet(tmp_path / "all.parquet", columns, signals=())
    parts = list(StreamedTrajectories.from_parquet(tmp_path / "all.parquet", columns, part=6))
    assert len(parts) > 1
    assert [name for part in parts for name in part.names] == list(whole.names) == ["m1 1", "m1 2", "m2 1", "m2 2"]
    assert [each for part in parts for each in part.subjects] == list(whole.subjects)
    with pytest.raises(
        ValueError, match=r"session '1' are not next to each other.*say so: columns=\{'session': \('mouse'"
    ):
        list(StreamedTrajectories.from_parquet(tmp_path / "all.parquet", {"subject": "mouse"}, part=6))
