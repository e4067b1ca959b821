"""Rows that are ticks of a clock become one step for each stay: by the plain loop, and where a stay must end."""

import numpy as np
import pytest

from swirl.data.segments import JUMP
from swirl.data.trajectories import Trajectories
from swirl.io.label_runs import merge_stays


def ticks(seed=0, timed=True):
    """Sessions with stays, gaps, missing actions and signals with NaN; one session of a single row."""
    rng = np.random.default_rng(seed)
    lengths = [60, 1, 45]
    states = [np.repeat(rng.integers(3, size=n), rng.integers(1, 5, size=n))[:n] for n in lengths]
    # 3 is to stay; 0 to 2 lead on, now and then to where the animal is already.
    actions = [
        np.append(np.where(rng.random(n - 1) < 0.9, np.where(s[1:] == s[:-1], 3, s[1:]), -1), 3).astype(int)
        for s, n in zip(states, lengths, strict=True)
    ]
    signal = [np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)) for n in lengths]
    return Trajectories(
        states=states,
        actions=actions,
        gaps=[[20, 21], [], [30]],
        times=[np.cumsum(rng.uniform(0.8, 1.2, size=n)) for n in lengths] if timed else None,
        signals={"dff": signal, "place": [rng.normal(size=(n, 2)) for n in lengths]},
        names=["a", "b", "c"],
        subjects=["m1", "m1", "m2"],
        groups=["drug", "drug", "saline"],
    )


def merged_by_loop(data):
    """Session by session, row by row."""
    periods = [np.nan] * len(data)
    if data.times is not None:
        steps = [
            [t[i + 1] - t[i] for i in range(len(t) - 1) if i + 1 not in gaps]
            for t, gaps in zip(data.times, data.gaps, strict=True)
        ]
        periods = [np.median(x or [np.median([np.median(y) for y in steps if y])]) for x in steps]
    led_on = {
        int(a[t])
        for s, a, g in zip(data.states, data.actions, data.gaps, strict=True)
        for t in range(len(s) - 1)
        if t + 1 not in g and s[t] != s[t + 1]
    }
    sessions = []
    for i, states in enumerate(data.states):
        gaps = set(data.gaps[i].tolist())
        steps = []
        for t, state in enumerate(states.tolist()):
            if t == 0 or t in gaps or state != states[t - 1]:
                steps.append({"state": state, "rows": [], "gap": t in gaps})
            steps[-1]["rows"].append(t)
        for n, step in enumerate(steps):
            rows = step["rows"]
            at_end = n + 1 == len(steps) or steps[n + 1]["gap"]
            step["action"] = int(data.actions[i][rows[-1]])
            if at_end and step["action"] not in led_on:
                step["action"] = -1
            if data.times is None:
                step["dwell"] = len(rows)
            else:
                clock = data.times[i]
                leave = clock[rows[-1]] + periods[i] if at_end else clock[steps[n + 1]["rows"][0]]
                step["dwell"] = leave - clock[rows[0]]
            seen = [x for x in data.signals["dff"][i][rows] if not np.isnan(x)]
            step["dff"] = sum(seen) / len(seen) if seen else np.nan
            step["place"] = data.signals["place"][i][rows].mean(axis=0)
        sessions.append(steps)
    return sessions


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_merging_equals_the_plain_loop(seed, timed):
    data = ticks(seed, timed)
    merged, expected = merge_stays(data), merged_by_loop(data)
    for i, steps in enumerate(expected):
        assert merged.states[i].tolist() == [step["state"] for step in steps]
        assert merged.actions[i].tolist() == [step["action"] for step in steps]
        assert merged.gaps[i].tolist() == [n for n, step in enumerate(steps) if step["gap"]]
        for name in ("dwell", "dff", "place"):
            np.testing.assert_allclose(merged.signals[name][i], [step[name] for step in steps], atol=1e-8)
        if timed:
            assert merged.times[i].tolist() == [data.times[i][step["rows"][0]] for step in steps]
    assert (merged.times is None) == (not timed)
    assert (merged.names, merged.subjects, merged.groups) == (data.names, data.subjects, data.groups)
    assert (merged.n_states, merged.n_actions) == (data.n_states, data.n_actions)


@pytest.mark.parametrize("timed", [True, False])
def test_to_merge_twice_is_to_merge_once(timed):
    once = merge_stays(ticks(3, timed))
    twice = merge_stays(once)
    assert twice.notes[-1].startswith("nothing to merge: ")
    for i in range(len(once)):
        assert twice.states[i].tolist() == once.states[i].tolist()
        assert twice.actions[i].tolist() == once.actions[i].tolist()
        assert twice.gaps[i].tolist() == once.gaps[i].tolist()
        for name in once.signals:
            np.testing.assert_allclose(twice.signals[name][i], once.signals[name][i], atol=1e-8)


def test_long_rests_of_merged_sessions_are_no_lost_rows():
    ways = np.tile([0, 1, 2, 1], 20)
    stays = np.where(np.arange(80) == 40, 30, 1)  # one rest of 30 s
    data = Trajectories([np.repeat(ways, stays)], times=[np.arange(stays.sum(), dtype=float)])
    once = merge_stays(data)
    assert once.n_steps == 80
    assert once.signals["dwell"][0][40] == 30
    assert merge_stays(once).gaps[0].tolist() == []


def test_a_stay_never_goes_on_in_the_next_session_or_after_a_gap():
    merged = merge_stays(Trajectories([[0, 0, 0, 0], [0, 0]], gaps=[[2], []]))
    assert [states.tolist() for states in merged.states] == [[0, 0], [0]]
    assert merged.gaps[0].tolist() == [1]
    assert [dwell.tolist() for dwell in merged.signals["dwell"]] == [[2, 2], [2]]
    assert merged.notes == (
        "6 rows became 3 steps, as rows in which the animal stays belong to one step; dwell is how long it lasts (in "
        "rows), and other signals are means over its rows",
    )


def test_a_jump_of_the_clock_ends_a_stay():
    times = np.append(np.arange(50), 60 + np.arange(50)).astype(float)
    states = np.repeat([0, 1, 0, 1], [20, 40, 20, 20])
    merged = merge_stays(Trajectories([states], times=[times]))
    assert merged.states[0].tolist() == [0, 1, 1, 0, 1]
    assert merged.gaps[0].tolist() == [2]
    assert merged.signals["dwell"][0].tolist() == [20, 30, 10, 20, 20]  # one tick after the last row
    assert merged.notes[-1] == f"marked 1 gap where rows are lost: times jump there by more than {JUMP} median steps"


def test_without_a_clock_that_ticks_there_are_no_lost_rows():
    times = np.cumsum(np.random.default_rng(0).exponential(5.0, size=200))
    merged = merge_stays(Trajectories([np.arange(200) // 2 % 3], times=[times]))
    assert merged.gaps[0].size == 0
    np.testing.assert_allclose(merged.signals["dwell"][0][:-1], np.diff(times[::2]))


def test_an_action_that_only_stays_is_not_left_at_the_end():
    merged = merge_stays(Trajectories([[0, 0, 1, 1]], [["stay", "go", "stay", "stay"]], action_names=["go", "stay"]))
    assert merged.actions[0].tolist() == [0, -1]


def test_a_dwell_with_channels_is_refused():
    with pytest.raises(ValueError, match=r"'dwell' has 2 channels, .*; rename its columns"):
        merge_stays(Trajectories([[0, 0]], signals={"dwell": [np.zeros((2, 2))]}))
