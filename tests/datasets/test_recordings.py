"""The published recordings against facts counted by hand, and their preparations against plain loops."""

import doctest
import os
from pathlib import Path

import numpy as np
import pytest

from swirl import datasets
from swirl.data.encoding import encode
from swirl.data.histories import Histories
from swirl.datasets import (
    SYLLABLES,
    download,
    labyrinth,
    labyrinth_bout_env,
    labyrinth_env,
    spontaneous,
    spontaneous_env,
)
from swirl.datasets.spontaneous import _segments


@pytest.fixture(autouse=True)
def folder(monkeypatch):
    root = Path(os.environ.get("SWIRL_DATA_DIR") or Path(__file__).parents[3] / "shared" / "data")
    if not root.is_dir():
        pytest.skip(f"the published recordings are not at {root}: run `swirl fetch --output {root}`")
    monkeypatch.setenv("SWIRL_DATA_DIR", str(root))


@pytest.fixture(scope="module")
def memory():
    return {}


@pytest.fixture
def recordings(memory, folder):
    def get(load, preparation):
        key = (load.__name__, preparation)
        if key not in memory:
            memory[key] = load(preparation)
        return memory[key]

    return get


def raw(name):
    return np.load(download.find(name))


def test_labyrinth_as_published(recordings):
    data = recordings(labyrinth, "paper")
    recorded = raw("labyrinth/emissions500new.npy")
    np.testing.assert_array_equal(np.stack(data.trajectories.states), recorded[..., 0])
    np.testing.assert_array_equal(np.stack(data.trajectories.actions), recorded[..., 1])
    np.testing.assert_array_equal(data.env.dense(), raw("labyrinth/trans_probs.npy"))
    assert data.env.available.all()
    data.env.check(data.trajectories)
    assert len(data.trajectories) == 238
    assert set(data.trajectories.lengths.tolist()) == {500}
    assert data.trajectories.n_observed_actions == 238 * 500
    assert not any(gaps.size for gaps in data.trajectories.gaps)
    assert data.trajectories.subjects == (None,) * 238
    assert data.truth is None


def test_labyrinth_facts(recordings):
    data = recordings(labyrinth, "paper").trajectories
    exits = [(states == 0) & (actions == 3) for states, actions in zip(data.states, data.actions, strict=True)]
    assert sum(int(window[:-1].sum()) for window in exits) == 1_482
    assert min(int((states == 116).sum()) for states in data.states) == 7
    assert min(int((states == 0).sum()) for states in data.states) == 7


def test_the_clean_labyrinth_ends_segments_at_exits_and_nowhere_else(recordings):
    paper, clean = recordings(labyrinth, "paper"), recordings(labyrinth, "clean")
    clean.env.check(clean.trajectories)
    n_gaps = 0
    for i in range(238):
        states, actions = clean.trajectories.states[i], clean.trajectories.actions[i]
        np.testing.assert_array_equal(states, paper.trajectories.states[i])
        np.testing.assert_array_equal(actions, paper.trajectories.actions[i])
        expected = [t + 1 for t in range(499) if states[t] == 0 and actions[t] == 3]
        assert clean.trajectories.gaps[i].tolist() == expected
        # Within a segment every step goes along a corridor.
        moved = np.diff(states) != 0
        assert np.flatnonzero(~moved).tolist() == [t - 1 for t in expected]
        n_gaps += len(expected)
    assert n_gaps == 1_482


def test_the_maze_of_bouts_is_the_legal_one_with_an_exit():
    legal, bouts = labyrinth_env(legal_only=True), labyrinth_bout_env()
    differ = np.argwhere(legal.available != bouts.available)
    assert differ.tolist() == [[0, 3]]
    assert bouts.available[0].tolist() == [True, True, False, True]
    np.testing.assert_array_equal(bouts.successors.next, labyrinth_env().successors.next)
    assert (bouts.state_names, bouts.action_names) == (legal.state_names, legal.action_names)
    np.testing.assert_array_equal(bouts.coordinates, legal.coordinates)


def test_spontaneous_is_the_authors_preparation(recordings):
    data = recordings(spontaneous, "paper").trajectories
    syllables, dopamine = raw("spontaneous/seqs.npy"), raw("spontaneous/z_features.npy")
    kept = []
    for row in range(180):
        relabelled = [0 if s == 4 else s - 1 if s > 4 else s for s in syllables[row].tolist()]
        pairs = [j for j in range(2_499) if relabelled[j] < 9 and relabelled[j + 1] < 9]
        if len(pairs) > 300:
            pairs = pairs[:300]
            i = len(kept)
            kept.append(str(row))
            assert data.states[i].tolist() == [relabelled[j] for j in pairs]
            assert data.actions[i].tolist() == [relabelled[j + 1] for j in pairs]
            assert data.signals["dopamine"][i].tolist() == [float(dopamine[row, j + 1]) for j in pairs]
            assert data.times[i].tolist() == pairs
    assert data.names == tuple(kept)
    assert len(kept) == 159


def test_spontaneous_facts(recordings):
    dataset = recordings(spontaneous, "paper")
    data = dataset.trajectories
    assert set(data.lengths.tolist()) == {300}
    states, actions, times = map(np.stack, (data.states, data.actions, data.times))
    assert np.mean(np.diff(times) == 1) == pytest.approx(0.458, abs=5e-4)
    assert np.mean(actions[:, :-1] == states[:, 1:]) == pytest.approx(0.546, abs=5e-4)
    assert np.mean(states == actions) == pytest.approx(0.074, abs=5e-4)
    assert data.state_names == data.action_names == dataset.env.state_names == SYLLABLES
    assert SYLLABLES == ("Pause", "Walk", "↑", "←", "Groom", "→", "Sniff", "Sniff↑", "Run")


def test_spontaneous_needs_to_forget(recordings):
    dataset = recordings(spontaneous, "paper")
    with pytest.raises(ValueError, match='impossible="forget"'):
        dataset.env.check(dataset.trajectories)
    histories = Histories.reachable(dataset.env.successors, length=2)
    encoded = encode(dataset.trajectories, dataset.env, histories, impossible="forget")
    assert len(encoded.chains) - 1 == 159, "the mode chain goes on"
    short = np.count_nonzero(histories.table[encoded.histories][:, 1] == -1)
    joined = sum(
        int(np.sum(actions[:-1] == states[1:]))
        for states, actions in zip(dataset.trajectories.states, dataset.trajectories.actions, strict=True)
    )
    assert short == 159 * 300 - joined


def test_clean_spontaneous_by_a_plain_loop(recordings):
    """Walk through each recording syllable by syllable, with no array in sight."""
    data = recordings(spontaneous, "clean").trajectories
    syllables, dopamine = raw("spontaneous/seqs.npy"), raw("spontaneous/z_features.npy")
    assert data.names == tuple(map(str, range(180)))
    for row in (0, 77, 179):
        runs = []
        for j, s in enumerate(syllables[row].tolist()):
            s = 0 if s == 4 else s - 1 if s > 4 else s
            if runs and runs[-1][0] == s:
                runs[-1][1] = max(runs[-1][1], float(dopamine[row, j]))
            else:
                runs.append([s, float(dopamine[row, j]), j])
        segments, current = [], []
        for run in [*runs, [99, 0.0, -1]]:
            if run[0] < 9:
                current.append(run)
            else:
                segments += [current] if len(current) > 1 else []
                current = []
        steps = [
            (run[0], following[0] if following else -1, following[1] if following else np.nan, run[2])
            for segment in segments
            for run, following in zip(segment, [*segment[1:], None], strict=True)
        ]
        states, actions, peaks, times = zip(*steps, strict=True)
        assert data.states[row].tolist() == list(states)
        assert data.actions[row].tolist() == list(actions)
        np.testing.assert_array_equal(data.signals["dopamine"][row], peaks)
        assert data.times[row].tolist() == list(times)
        assert data.gaps[row].tolist() == np.cumsum([len(segment) for segment in segments])[:-1].tolist()


def test_clean_spontaneous_fits_its_environment(recordings):
    dataset = recordings(spontaneous, "clean")
    dataset.env.check(dataset.trajectories)
    assert not dataset.env.available.diagonal().any()
    assert dataset.env.available.sum() == 72
    flat = dataset.trajectories.flat()
    ends = np.append(flat.starts[1:], True)
    np.testing.assert_array_equal(flat.actions == -1, ends)
    np.testing.assert_array_equal(flat.actions[~ends], flat.states[1:][~ends[:-1]])
    np.testing.assert_array_equal(np.isnan(np.concatenate(dataset.trajectories.signals["dopamine"])), ends)
    # The figures of the docstring.
    assert flat.starts.sum() == 38_973
    assert dataset.trajectories.n_observed_actions == 68_846


@pytest.mark.parametrize(
    ("syllables", "states", "actions", "gaps"),
    [
        ([1, 0, 0, 2], [1, 0, 2], [0, 2, -1], []),  # a run is merged
        ([1, 2, 50, 3, 1], [1, 2, 3, 1], [2, -1, 1, -1], [2]),  # what is cut out leaves a gap
        ([1, 2, 50, 2, 1], [1, 2, 2, 1], [2, -1, 1, -1], [2]),  # … also between equal syllables: no run
        ([50, 1, 2, 50, 3, 50], [1, 2], [2, -1], []),  # alone between gaps
        ([1, 50, 2, 50, 3], None, None, None),
    ],
)
def test_merging_and_cutting(syllables, states, actions, gaps):
    dopamine = np.arange(len(syllables), dtype=float)
    prepared = _segments(np.array(syllables), dopamine)
    if states is None:
        assert prepared is None
    else:
        assert [prepared[0].tolist(), prepared[1].tolist(), prepared[4].tolist()] == [states, actions, gaps]


def test_environment_of_syllables():
    env = spontaneous_env()
    np.testing.assert_array_equal(env.dense(), np.broadcast_to(np.eye(9), (9, 9, 9)))
    assert env.available.all()


@pytest.mark.parametrize("load", [labyrinth, spontaneous])
def test_other_preparations_are_refused(load):
    with pytest.raises(ValueError, match=r"preparation='raw': expected \"paper\""):
        load("raw")


@pytest.mark.parametrize("load", [labyrinth, spontaneous])
def test_the_examples_in_the_docstrings_are_true(load):
    """They need the data, so doctest skips them elsewhere."""
    text = load.__doc__.replace("# doctest: +SKIP", "")
    example = doctest.DocTestParser().get_doctest(text, {load.__name__: load}, load.__name__, None, 0)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert runner.run(example) == (0, 2)


def test_names_are_exported_once():
    for name in ("labyrinth", "spontaneous", "rosenberg"):
        assert callable(getattr(datasets, name))
        assert name in datasets.__all__
