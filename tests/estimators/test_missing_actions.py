"""A missing action is latent: what was observed has the likelihood of a sum over the actions that fit.

The oracle enumerates every path of modes *and* every sequence of unseen actions; it shares no code with the package
except the policies.
"""

from itertools import pairwise, product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from swirl import MDP, SWIRL, Trajectories
from swirl.estimators.arhmm import ARHMM
from swirl.estimators.iq_learn import IQLearn
from swirl.inference.em import unpack
from swirl.inference.engines import choose
from swirl.precision import float64, numpy_tree

TOLERANCE = 1e-10


def world(kind: str) -> MDP:
    if kind == "walls":  # actions that share a successor, as at the walls of a grid
        return MDP.deterministic([[0, 0, 1], [0, 2, 1], [1, 2, 2]])
    if kind == "chance":
        table = np.random.default_rng(1).dirichlet(np.ones(3), size=(3, 3))
        table[0, 0] = [0, 0.4, 0.6]  # not everything is possible
        available = np.ones((3, 3), bool)
        available[2, 1] = False
        return MDP(table, available=available)
    return MDP.deterministic([[0, 1, 2]] * 3)  # syllables: the next state says the action


def truth(env: MDP, history: int, form: str, seed: int = 0) -> SWIRL:
    rng = np.random.default_rng(seed)
    shape = (2, *(3,) * history) + ((3,) if form == "state-action" else ())
    return SWIRL.from_parameters(
        env,
        history=history,
        rewards=2 * rng.standard_normal(shape),
        mode_transitions=rng.dirichlet(np.ones(2), size=(3, 2)),
        initial_modes=[0.7, 0.3],
        impossible="gap",
    )


def masked(data: Trajectories, share: float, seed: int) -> Trajectories:
    rng = np.random.default_rng(seed)
    actions = [np.where(rng.random(len(a)) < share, -1, a) for a in data.actions]
    return Trajectories(data.states, actions, gaps=data.gaps, n_states=data.n_states, n_actions=data.n_actions)


def segments(data: Trajectories):
    for states, actions, gaps in zip(data.states, data.actions, data.gaps, strict=True):
        edges = [0, *gaps.tolist(), len(states)]
        for first, last in pairwise(edges):
            yield states[first:last].tolist(), actions[first:last].tolist()


class Enumeration:
    """Every path of (mode, action) of one segment with its weight."""

    def __init__(self, model: SWIRL, states: list[int], actions: list[int], until: int | None = None):
        rows = {tuple(h): i for i, h in enumerate(model.histories_.tolist())}
        length, transitions = model.histories_.shape[1], model.env.dense()
        T = len(states) if until is None else until + 1  # nothing after step `until` is known
        self.paths, self.weights, self.histories = [], [], []
        for t in range(T):
            h = tuple(states[max(t - length + 1, 0) : t + 1][::-1])
            self.histories.append(rows[h + (-1,) * (length - len(h))])
        unseen = [list(range(model.env.n_actions)) if a < 0 else [a] for a in actions[:T]]
        for modes in product(range(2), repeat=T):
            for chosen in product(*unseen):
                weight = model.initial_modes_[modes[0]]
                for t in range(T):
                    weight *= model.policies_[modes[t], self.histories[t], chosen[t]]
                    if t + 1 < T:
                        weight *= model.mode_transitions_[states[t], modes[t], modes[t + 1]]
                        if actions[t] < 0:  # a seen action leaves out the constant
                            weight *= transitions[states[t], chosen[t], states[t + 1]]
                if weight > 0:
                    self.paths.append((modes, chosen))
                    self.weights.append(weight)
        self.weights = np.array(self.weights)

    @property
    def log_likelihood(self) -> float:
        return float(np.log(self.weights.sum()))

    def marginals(self, t: int) -> np.ndarray:
        of_mode = [self.weights[[modes[t] == z for modes, _ in self.paths]].sum() for z in range(2)]
        return np.array(of_mode) / self.weights.sum()


CASES = [
    (kind, history, form)
    for kind in ("walls", "chance", "syllables")
    for history, form in ((1, "state"), (2, "state"), (1, "state-action"))
]


def drawn(model: SWIRL, share: float, seed: int) -> Trajectories:
    data = model.sample(2, 6, random_state=seed)
    gapped = Trajectories(data.states, data.actions, gaps=[[], [4]], n_states=3, n_actions=3)
    return masked(gapped, share, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "history", "form"), CASES)
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_the_likelihood_is_that_of_what_was_observed(kind, history, form, share):
    model = truth(world(kind), history, form)
    data = drawn(model, share, seed=3)
    expected = [Enumeration(model, *segment) for segment in segments(data)]
    ours = model.log_likelihood(data)
    assert ours.sum() == pytest.approx(sum(e.log_likelihood for e in expected), abs=TOLERANCE)
    smoothed = [e.marginals(t) for e in expected for t in range(len(e.histories))]
    np.testing.assert_allclose(np.concatenate(model.predict_proba(data)), smoothed, atol=TOLERANCE)
    for path, probabilities in zip(model.predict(data), model.predict_proba(data), strict=True):
        assert path.shape == probabilities.shape[:1]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "history", "form"), CASES)
def test_the_filter_never_sees_the_next_state(kind, history, form):
    model = truth(world(kind), history, form)
    data = drawn(model, 0.5, seed=4)
    expected = [
        Enumeration(model, states, actions, until=t).marginals(t)
        for states, actions in segments(data)
        for t in range(len(states))
    ]
    np.testing.assert_allclose(np.concatenate(model.filter_proba(data)), expected, atol=TOLERANCE)
    online, found = model.online_filter(), []
    for states, actions in segments(data):
        online.reset()
        found += [online.update(s, a) for s, a in zip(states, actions, strict=True)]
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "history", "form"), CASES)
def test_expected_counts_of_every_engine(kind, history, form):
    env = world(kind)
    model = SWIRL(env, n_modes=2, history=history, reward=form)
    reader = truth(env, history, form)  # takes the parameters below, for the oracle to read
    data = drawn(reader, 0.5, seed=5)
    problem = model._problem(data)
    parameters = problem.components.random_parameters(np.random.default_rng(0), 1.0)
    plain, _ = unpack(problem.components, parameters)
    rows = problem.context[1]
    reader.policies_ = np.exp(plain.log_emissions.T.reshape(2, -1, env.n_actions)[:, rows])
    reader.mode_transitions_, reader.initial_modes_ = np.exp(plain.log_transitions), np.exp(plain.log_initial)
    chosen_at, total, moved = np.zeros(reader.policies_.shape), 0.0, np.zeros((3, 2, 2))
    for states, actions in segments(data):
        e = Enumeration(reader, states, actions)
        total += e.log_likelihood
        for (modes, chosen), weight in zip(e.paths, e.weights / e.weights.sum(), strict=True):
            for t, h in enumerate(e.histories):
                if actions[t] >= 0 or t + 1 < len(states):  # where nothing follows nothing is learnt
                    chosen_at[modes[t], h, chosen[t]] += weight
                if t + 1 < len(states):
                    moved[states[t], modes[t], modes[t + 1]] += weight
    expected = np.zeros((2, rows.max() + 1, env.n_actions))
    np.add.at(expected, (slice(None), rows), chosen_at)
    for engine in ("compiled", "associative", "scan"):
        with float64():
            own = jax.tree.map(jnp.asarray, parameters)
            tables = jax.tree.map(lambda leaf: np.asarray(leaf)[None], problem.components.tables(own))
            counts = numpy_tree(choose(engine, problem.chains, tables).counts(tables))
            resolved = np.asarray(problem.components.emission_counts(own, counts.emissions[0]))
        np.testing.assert_allclose(resolved.T.reshape(expected.shape), expected, atol=TOLERANCE, err_msg=engine)
        np.testing.assert_allclose(counts.transitions[0], moved, atol=TOLERANCE, err_msg=engine)
        assert float(counts.log_likelihood[0]) == pytest.approx(total, abs=TOLERANCE)


@pytest.mark.slow
def test_the_expected_log_likelihood_has_its_maximum_at_the_truth():
    """All sequences of a small world and all masks, 60 % missing: no sampling noise at all."""
    env = MDP.deterministic([[0, 1], [0, 1]])
    policies = np.log([[[0.9, 0.1], [0.2, 0.8]], [[0.2, 0.8], [0.7, 0.3]]])

    def at(switch: float) -> SWIRL:
        return SWIRL.from_parameters(
            env,
            history=1,
            rewards=policies,
            mode_transitions=[[1 - switch, switch], [switch, 1 - switch]],
            initial_modes=[0.5, 0.5],
            discount=1e-9,
        )

    T = 4
    states, actions, chances = [], [], []
    for path in product(range(2), repeat=T):
        for mask in product([False, True], repeat=T):
            seen = [-1 if hidden else a for a, hidden in zip(path, mask, strict=True)]
            states.append([0, *path[:-1]])
            actions.append(seen)
            chances.append(0.6 ** sum(mask) * 0.4 ** (T - sum(mask)))
    full = Trajectories(states, [list(p) for p in product(range(2), repeat=T) for _ in range(2**T)], n_states=2)
    weights = np.exp(at(0.2).log_likelihood(full)) * np.array(chances)
    data = Trajectories(states, actions, n_states=2, n_actions=2)
    grid = np.arange(0.10, 0.31, 0.02)
    expected = [float(weights @ at(switch).log_likelihood(data)) for switch in grid]
    assert grid[int(np.argmax(expected))] == pytest.approx(0.20)


@pytest.mark.slow
def test_an_action_that_the_states_say_is_as_good_as_seen():
    """On syllables a missing action costs nothing but the last step of a segment."""
    model = truth(world("syllables"), 2, "state-action")
    data = model.sample(3, 40, random_state=0)
    blank = Trajectories(data.states, n_states=3, n_actions=3)
    shorter = Trajectories(data.states, [a[:-1] for a in data.actions], n_states=3, n_actions=3)
    np.testing.assert_allclose(model.log_likelihood(blank), model.log_likelihood(shorter), atol=TOLERANCE)
    for ours, theirs in zip(model.predict(blank), model.predict(shorter), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert model.score(blank, of="next_state") == pytest.approx(model.score(shorter, of="action"))
    fits = [
        SWIRL(model.env, history=1, reward="state-action", n_restarts=2, max_iter=15).fit(d) for d in (blank, shorter)
    ]
    np.testing.assert_allclose(fits[0].objective_trace_, fits[1].objective_trace_, atol=1e-8)
    np.testing.assert_allclose(fits[0].policies_, fits[1].policies_, atol=1e-8)


def test_scores_count_what_was_seen():
    model = truth(world("walls"), 1, "state")
    data = drawn(model, 0.5, seed=6)
    seen = sum(int((a >= 0).sum()) for a in data.actions)
    assert model.n_scored(data, of="action") == seen
    deterministic_ends = sum(int(a[-1] >= 0) for _, a in segments(data))
    followed = sum(len(s) - 1 for s, _ in segments(data))
    assert model.n_scored(data, of="next_state") == followed + deterministic_ends
    blank = Trajectories(data.states, gaps=data.gaps, n_states=3, n_actions=3)
    with pytest.raises(ValueError, match=r'of="next_state"'):
        model.score(blank)
    assert np.isfinite(model.score(blank, of="next_state"))


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_models_that_emit_states_do_not_care(share):
    """The next state is all an ARHMM reads: whether the action was noted changes nothing."""
    env = world("walls")
    data = truth(env, 1, "state").sample(6, 50, random_state=1)
    seen = Trajectories(data.states, [a[:-1] for a in data.actions], n_states=3, n_actions=3)
    fits = [ARHMM(env, n_restarts=2, max_iter=10).fit(d) for d in (seen, masked(seen, share, 0))]
    np.testing.assert_allclose(fits[0].objective_trace_, fits[1].objective_trace_, atol=1e-9)
    of = [fits[0].score(d, of="next_state") for d in (seen, masked(seen, share, 0))]
    assert of[0] == pytest.approx(of[1])


@pytest.mark.slow
def test_every_em_step_rises_with_missing_actions():
    env = world("chance")
    data = masked(truth(env, 2, "state").sample(10, 60, random_state=2), 0.6, 0)
    for model in (
        SWIRL(env, history=2, n_restarts=3, max_iter=30),
        SWIRL(env, history=2, reward="state-action", n_restarts=3, max_iter=30),
        IQLearn(env, history=1, n_restarts=2, max_iter=20, strength=0.0),
    ):
        for restart in model.fit(data).restarts_:
            assert np.diff(restart.objective_trace).min() > -1e-8 * abs(restart.objective)


@pytest.mark.slow
def test_impossible_moves_without_an_action_follow_the_rule():
    env = MDP.deterministic([[0, 1], [1, 2], [2, 0]])
    data = Trajectories([[0, 1, 0, 1]], [[-1, -1, -1]], n_states=3, n_actions=2)
    arguments = {
        "history": 1,
        "rewards": np.eye(3)[:2],
        "mode_transitions": [[0.9, 0.1], [0.2, 0.8]],
        "initial_modes": [0.5, 0.5],
    }
    with pytest.raises(ValueError, match="impossible transition"):
        SWIRL.from_parameters(env, **arguments).log_likelihood(data)
    for rule in ("gap", "forget"):
        model = SWIRL.from_parameters(env, **arguments, impossible=rule)
        assert model.n_scored(data, of="next_state") == 2
        online = model.online_filter()
        found = np.array([online.update(s) for s in data.states[0]])
        np.testing.assert_allclose(found, model.filter_proba(data)[0], atol=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["gap", "forget"])
@pytest.mark.parametrize("history", [1, 2])
def test_the_online_filter_is_the_batch_filter_where_a_move_contradicts_its_action(rule, history):
    model = truth(world("walls"), history, "state-action").set_params(impossible=rule)
    drawn = model.sample(1, 30, random_state=3)
    states = drawn.states[0].copy()
    states[10:20] = (states[10:20] + 1) % 3  # the tracking is off for a while
    actions = np.where(np.arange(30) % 7 == 3, -1, drawn.actions[0])
    data = Trajectories([states], [actions], n_states=3, n_actions=3)
    assert len(model.env.impossible_transitions(data)[0]) > 3
    online = model.online_filter()
    found = np.array([online.update(s, a) for s, a in zip(states, actions, strict=True)])
    np.testing.assert_allclose(found, model.filter_proba(data)[0], atol=TOLERANCE)
    strict = model.online_filter(impossible="error")
    with pytest.raises(ValueError, match="cannot follow"):
        [strict.update(s, a) for s, a in zip(states, actions, strict=True)]


@pytest.mark.slow
def test_what_is_all_but_impossible_has_a_finite_likelihood():
    """Policies below exp(−745), which no float64 holds, are kept as logarithms."""
    env = MDP.deterministic([[0, 1], [0, 1]])
    model = SWIRL.from_parameters(
        env,
        history=1,
        rewards=[[0.0, 1.0]],
        mode_transitions=[[1.0]],
        initial_modes=[1.0],
        temperature=0.0005,
    )
    data = Trajectories([[1, 0, 1]], [[0, 1, 1]])
    assert model.policies_.min() == 0.0
    assert -2000 < model.log_likelihood(data)[0] < -1000
    assert np.isfinite(model.log_likelihood(data, of="next_state")).all()
    np.testing.assert_allclose(model.online_filter().update(1, 0), [1.0])
