"""Damaged data: what changes, what stays, and that a model can read them."""

import numpy as np
import pytest

from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld
from swirl.estimators.swirl import SWIRL
from swirl.reproduce.robustness import perturb


def numbered(missing=()):
    """Every state and action occurs once, so that each can be followed."""
    actions = np.arange(60)
    actions[list(missing)] = -1
    return Trajectories(
        np.split(np.arange(60), [25, 31]),
        np.split(actions, [25, 31]),
        gaps=[[3], [], []],
        subjects=["a", "b", "a"],
        modes=np.split(np.arange(60) % 2, [25, 31]),
        signals={"x": np.split(np.linspace(0, 1, 60), [25, 31])},
        n_states=70,
        names=["i", "j", "k"],
    )


def flat(paths):
    return np.concatenate(paths)


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_only_the_chosen_share_moves_and_nothing_is_lost(share):
    data = numbered()
    damaged = perturb(data, share, random_state=3)
    moved = flat(damaged.states) != flat(data.states)
    acted = flat(damaged.actions) != flat(data.actions)
    assert (moved | acted).sum() <= round(60 * share)  # one set of steps for both
    assert moved.sum() >= round(60 * share) - 5  # few stay by chance
    assert sorted(flat(damaged.states)) == list(range(60))
    assert sorted(flat(damaged.actions)) == list(range(60))
    assert (flat(damaged.states) != flat(damaged.actions)).any()  # by permutations of their own


def test_states_move_between_sessions_and_all_else_stays():
    data = numbered()
    damaged = perturb(data, 1.0)
    assert set(damaged.states[1].tolist()) != set(data.states[1].tolist())
    np.testing.assert_array_equal(damaged.lengths, data.lengths)
    for name in ("subjects", "names", "n_states", "n_actions"):
        assert getattr(damaged, name) == getattr(data, name)
    for name in ("gaps", "modes"):
        for a, b in zip(getattr(damaged, name), getattr(data, name), strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(flat(damaged.signals["x"]), flat(data.signals["x"]))


def test_missing_actions_stay_missing():
    damaged = perturb(numbered(missing=[0, 30, 59]), 1.0)
    assert np.flatnonzero(flat(damaged.actions) < 0).tolist() == [0, 30, 59]


def test_none_and_seeds():
    data = numbered()
    assert perturb(data, 0).fingerprint() == data.fingerprint()
    assert perturb(data, 0.5, 1).fingerprint() == perturb(data, 0.5, 1).fingerprint()
    assert perturb(data, 0.5, 1).fingerprint() != perturb(data, 0.5, 2).fingerprint()
    assert data.fingerprint() == numbered().fingerprint()  # the given data are untouched
    with pytest.raises(ValueError, match=r"share=1\.2: expected a share"):
        perturb(data, 1.2)


@pytest.mark.slow
def test_a_model_that_forgets_reads_the_result_and_a_strict_one_refuses():
    made = gridworld(n_sessions=6, n_steps=60)
    damaged = perturb(made.trajectories, 0.3)
    t = made.truth
    given = {"history": 2, "rewards": t.rewards, "mode_transitions": t.mode_transitions}
    model = SWIRL.from_parameters(made.env, **given, initial_modes=t.initial_modes, impossible="forget")
    assert model.score(damaged) < model.score(made.trajectories) - 0.1
    with pytest.raises(ValueError, match="impossible transition"):
        model.set_params(impossible="error").score(damaged)
