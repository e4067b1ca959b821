"""The online filter against the batch filter, and its behaviour when the world surprises it."""

import numpy as np
import pytest
from scipy.special import expit

from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.swirl import SWIRL
from swirl.inference import messages
from swirl.inference.online_filter import OnlineFilter

N_MODES, N_STATES, N_ACTIONS = 3, 4, 2
STAY, ON = np.eye(N_STATES), np.roll(np.eye(N_STATES), 1, axis=1)
RING = MDP.deterministic([[s, (s + 1) % N_STATES] for s in range(N_STATES)])  # action 0 stays, action 1 goes on
SLIPPERY = MDP(np.stack([0.7 * STAY + 0.3 * ON, 0.4 * STAY + 0.6 * ON], axis=1))  # either action may do either


def ring(seed=0, impossible="error", lags=3, env=RING):
    """A ring of four states with random policies and switching."""
    rng = np.random.default_rng(seed)
    histories = {(s, *[-1] * (lags - 1)) for s in range(N_STATES)}
    grown = set(histories)
    while grown:
        grown = {(n, *h[:-1]) for h in grown for n in (h[0], (h[0] + 1) % N_STATES)} - histories
        histories |= grown
    histories = np.array(sorted(histories))
    arrays = {
        "initial_modes": rng.dirichlet(np.ones(N_MODES)),
        "mode_transitions": rng.dirichlet(np.ones(N_MODES), size=(N_STATES, N_MODES)),
        "policies": rng.dirichlet(np.ones(N_ACTIONS), size=(N_MODES, len(histories))),
        "histories": histories,
        "env": env,
    }
    return arrays, OnlineFilter(**arrays, impossible=impossible)


def walk(rng, n_steps):
    actions = rng.integers(N_ACTIONS, size=n_steps)
    states = (rng.integers(N_STATES) + np.concatenate([[0], np.cumsum(actions[:-1])])) % N_STATES
    actions[rng.random(n_steps) < 0.2] = -1
    return states, actions


def batch_filter(arrays, states, actions, restarts=()):
    """The same by `messages.filter_sessions`, with histories and what unseen actions may have been the slow way."""
    lags, transitions = arrays["histories"].shape[1], arrays["env"].dense()
    log_likelihoods, later = np.zeros((len(states), N_MODES)), np.zeros((len(states), 1), bool)
    history = [-1] * lags
    for t, (state, action) in enumerate(zip(states, actions, strict=True)):
        history = [state, *([-1] * (lags - 1) if t in restarts else history[:-1])]
        (row,) = np.flatnonzero((arrays["histories"] == history).all(axis=1))
        if action >= 0:
            log_likelihoods[t] = np.log(arrays["policies"][:, row, action])
        elif t + 1 < len(states) and t + 1 not in restarts:  # what the next state says, known only when it is there
            chances = [transitions[state, a, states[t + 1]] for a in range(N_ACTIONS)]
            joint = [sum(arrays["policies"][z, row, a] * chances[a] for a in range(N_ACTIONS)) for z in range(N_MODES)]
            log_likelihoods[t], later[t] = np.log(joint), True
    (filtered,), _, (predicted,) = messages.filter_sessions(
        np.log(arrays["initial_modes"]), np.log(arrays["mode_transitions"]), [states], [log_likelihoods]
    )
    return np.where(later, predicted, filtered)


@pytest.mark.parametrize("lags", [1, 3])
@pytest.mark.parametrize("env", [RING, SLIPPERY], ids=["deterministic", "stochastic"])
def test_equals_the_batch_filter_step_by_step(lags, env):
    arrays, online = ring(lags=lags, env=env)
    states, actions = walk(np.random.default_rng(1), 60)
    assert (actions < 0).sum() > 5
    expected = batch_filter(arrays, states, actions)
    for t in range(60):
        got = online.update(states[t], actions[t])
        np.testing.assert_allclose(got, expected[t], rtol=0, atol=1e-12, err_msg=f"step {t}")


@pytest.mark.parametrize("switch", [0.0, 1e-300])
def test_a_mode_whose_share_no_double_can_hold_is_called_back(switch):
    """600 steps for mode 0, then 700 for mode 1, by e² each: in between mode 1 has e^−1200."""
    rewards = np.array([[[1.0, -1.0]], [[-1.0, 1.0]]])
    model = SWIRL.from_parameters(
        MDP.deterministic([[0, 0]]),
        history=1,
        rewards=rewards,
        mode_transitions=np.array([[1 - switch, switch], [switch, 1 - switch]]),
        initial_modes=[0.5, 0.5],
    )
    actions = np.repeat([0, 1], [600, 700])
    data = Trajectories([np.zeros(1300, dtype=int)], [actions], n_states=1, n_actions=2)
    online = model.online_filter()
    got = np.array([online.update(0, action) for action in actions])
    np.testing.assert_allclose(got, model.filter_proba(data)[0], rtol=1e-9, atol=1e-300)
    if switch == 0.0:  # one mode for ever: the evidence simply adds up
        evidence = 2.0 * np.cumsum(np.where(actions == 0, 1.0, -1.0))
        np.testing.assert_allclose(got[:, 0], expit(evidence), rtol=1e-9)
        np.testing.assert_allclose(got[:, 1], expit(-evidence), rtol=1e-9, atol=1e-300)
        assert got[599, 1] == 0.0
        assert got[-1, 1] == 1.0


def test_a_mode_that_cannot_be_is_never_called():
    """Modes that cannot begin and cannot be switched to: −∞ is not a NaN."""
    arrays, _ = ring(lags=1)
    arrays["mode_transitions"] = np.broadcast_to(np.eye(N_MODES), (N_STATES, N_MODES, N_MODES))
    arrays["initial_modes"] = np.array([1.0, 0.0, 0.0])
    online = OnlineFilter(**arrays)
    for state, action in ((0, 1), (1, -1), (1, 0)):
        np.testing.assert_array_equal(online.update(state, action), [1.0, 0.0, 0.0])
        np.testing.assert_array_equal(online.predict(), [1.0, 0.0, 0.0])


def test_predict_is_the_filter_pushed_through_the_switching():
    arrays, online = ring()
    np.testing.assert_allclose(online.predict(), arrays["initial_modes"], rtol=1e-14)
    filtered = online.update(2, 1)
    np.testing.assert_allclose(online.predict(), filtered @ arrays["mode_transitions"][2], rtol=1e-14)
    # The action at state 3 is not seen: nothing is learnt of it until the next state is there.
    before = online.predict()
    unseen = online.update(3)
    np.testing.assert_allclose(unseen, before, rtol=1e-14)
    predicted = online.predict()
    np.testing.assert_allclose(predicted, unseen @ arrays["mode_transitions"][3], rtol=1e-14)
    (row,) = np.flatnonzero((arrays["histories"] == [3, 2, -1]).all(axis=1))
    learnt = unseen * arrays["policies"][:, row, 1]  # state 0 follows state 3: it was action 1
    arrived = online.update(0)
    np.testing.assert_allclose(arrived, learnt / learnt.sum() @ arrays["mode_transitions"][3], rtol=1e-13)
    assert np.abs(arrived - predicted).max() > 1e-3


def test_reset_starts_a_new_segment():
    _, online = ring()
    states, actions = walk(np.random.default_rng(2), 10)
    first = [online.update(s, a) for s, a in zip(states, actions, strict=True)]
    online.reset()
    second = [online.update(s, a) for s, a in zip(states, actions, strict=True)]
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("states", "actions", "restart"),
    [
        ([0, 1, 3, 3, 0], [1, 0, 0, 1, -1], 2),  # nothing leads from 1 to 3
        ([0, 1, 3, 3, 0], [1, -1, 0, -1, 0], 2),  # and nothing is learnt of the action that was not seen
        ([0, 1, 2, 2, 3], [1, 0, -1, 1, -1], 2),  # 1 to 2 is possible, not by the action that was taken
    ],
)
def test_forget_restarts_the_history_and_keeps_the_mode_chain(states, actions, restart):
    arrays, online = ring(impossible="forget")
    states, actions = np.array(states), np.array(actions)
    expected = batch_filter(arrays, states, actions, restarts={restart})
    got = [online.update(s, a) for s, a in zip(states, actions, strict=True)]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


def test_what_is_returned_is_the_callers_own():
    _, online = ring()
    _, again = ring()
    online.predict()[:] = 9.0
    online.update(0)[:] = 9.0
    online.update(0, 1)[:] = 9.0
    again.update(0)
    again.update(0, 1)
    np.testing.assert_array_equal(online.predict(), again.predict())
    online.reset()
    again.reset()
    np.testing.assert_array_equal(online.predict(), again.predict())


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ((4, 0), "step 2: state=4, expected 0 to 3"),
        ((-1, 0), "step 2: state=-1, expected 0 to 3"),
        ((1, 2), "step 2: action=2, expected 0 to 1, or -1"),
        (
            (3, 0),
            r"step 2: state=3 cannot follow state=1: action=0, which was taken, does not lead there.*reset\(\).*forget",
        ),
        (
            (2, 0),
            r"step 2: state=2 cannot follow state=1: action=0, which was taken, does not lead there.*reset\(\).*forget",
        ),
    ],
)
def test_a_wrong_step_is_explained_and_changes_nothing(step, message):
    _, online = ring()
    online.update(0, 1)
    online.update(1, 0)
    before = online.predict()
    with pytest.raises(ValueError, match=message):
        online.update(*step)
    np.testing.assert_array_equal(online.predict(), before)
    online.update(1, 1)


def test_a_move_that_no_action_makes_is_explained_and_changes_nothing():
    _, online = ring()
    online.update(0, 1)
    online.update(1)
    before = online.predict()
    with pytest.raises(ValueError, match=r"step 2: state=3 cannot follow state=1: no action leads there.*reset\(\)"):
        online.update(3, 0)
    np.testing.assert_array_equal(online.predict(), before)
    online.update(1, 1)


def test_an_impossible_action():
    for impossible in ("error", "forget"):
        arrays, _ = ring()
        arrays["policies"][:, :, :] = [1.0, 0.0]
        online = OnlineFilter(**arrays, impossible=impossible)
        if impossible == "error":
            with pytest.raises(ValueError, match="action=1 is impossible in every mode"):
                online.update(0, 1)
        else:
            np.testing.assert_allclose(online.update(0, 1), arrays["initial_modes"], rtol=1e-14)


@pytest.mark.parametrize("impossible", ["error", "forget"])
def test_a_state_without_a_first_history(impossible):
    arrays, _ = ring()
    known = ~(arrays["histories"] == [2, -1, -1]).all(axis=1)
    arrays["histories"], arrays["policies"] = arrays["histories"][known], arrays["policies"][:, known]
    with pytest.raises(ValueError, match=r"history \(2, -1, -1\) \(newest first\) is not known; add it to histories"):
        OnlineFilter(**arrays, impossible=impossible).update(2)


def test_all_faults_of_the_model_are_named_at_once():
    arrays, _ = ring()
    arrays["policies"] = arrays["policies"] * 2
    arrays["initial_modes"][0] = np.nan
    arrays["histories"] = arrays["histories"] + 1
    arrays["env"] = MDP.deterministic([[0, 1, 0], [1, 0, 0]])
    told = r"histories holds 0 to 4.*initial_modes.*policies.*env has 2 states and 3 actions, expected 4 and 2"
    with pytest.raises(ValueError, match=told):
        OnlineFilter(**arrays)


@pytest.mark.parametrize("last", [0, -1])
def test_a_gap_restarts_the_history_and_the_modes(last):
    arrays, online = ring(impossible="gap")
    rows = {tuple(history): i for i, history in enumerate(arrays["histories"].tolist())}
    unreachable = next(s for s in range(len(arrays["mode_transitions"])) if (s, 0, -1) not in rows)
    online.update(0, last)
    after = online.update(unreachable, 0)
    fresh = OnlineFilter(**arrays).update(unreachable, 0)
    np.testing.assert_allclose(after, fresh)


def test_the_former_name_of_impossible_still_works():
    arrays, _ = ring()
    with pytest.warns(DeprecationWarning, match="OnlineFilter: unknown is called impossible now"):
        assert OnlineFilter(**arrays, unknown="gap").impossible == "gap"
