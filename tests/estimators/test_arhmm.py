"""ARHMM over labelled states: against a plain Baum–Welch, enumeration, hmmlearn and dynamax, and what a user meets."""

import warnings
from copy import copy
from functools import cache

import jax
import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM
from sklearn.base import clone

from reference_messages import enumerate_paths, forward_loop, pairs_loop, smooth_loop
from small_worlds import N_ACTIONS, N_MODES, N_STATES, recording, truth, world
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.arhmm import ARHMM
from swirl.estimators.base import UnseenStatesWarning
from swirl.estimators.registry import load
from swirl.precision import float64
from swirl.priors import Cauchy, Dirichlet, Gaussian

pytestmark = pytest.mark.slow  # compiles programs of its own

KINDS = ("deterministic", "stochastic")
QUICK = {"n_restarts": 2, "max_iter": 12, "tol": 1e-12}
SYLLABLES = MDP.deterministic(np.tile(np.arange(N_STATES), (N_STATES, 1)))


@cache
def fitted(kind="deterministic", history=1, switching="state-table"):
    return ARHMM(world(kind), history=history, switching=switching, **QUICK).fit(recording(kind))


def bare(data):
    """The same sessions without actions."""
    return Trajectories(data.states, gaps=data.gaps, n_states=data.n_states, n_actions=data.n_actions)


def possible(env):
    """States that can follow each state, in ascending order, from the dense table."""
    reach = (env.dense() * env.available[:, :, None]).sum(axis=1)
    return [np.flatnonzero(row > 0).tolist() for row in reach]


def segments(data, env, history):
    """(session, states, history at each step newest first, next state or None) of each segment, by plain loops."""
    dense = env.dense()
    for i in range(len(data)):
        states, actions = data.states[i].tolist(), data.actions[i].tolist()
        for a, b in data.segments(i):
            pasts = [tuple(states[t - lag] if t - lag >= a else -1 for lag in range(history)) for t in range(a, b)]
            after = [states[t + 1] if t + 1 < b else None for t in range(a, b)]
            for t in range(a, b):
                if env.is_deterministic and actions[t] >= 0:  # the action says where it led, at the end too
                    after[t - a] = int(np.argmax(dense[states[t], actions[t]]))
            yield i, states[a:b], pasts, after


def told_later(data, env):
    """Where the next state is known only when it is there, so that the filter must wait: [session][step]."""
    later = [np.zeros(len(s), bool) for s in data.states]
    for i in range(len(data)):
        for a, b in data.segments(i):
            later[i][a : b - 1] = True
        if env.is_deterministic:
            later[i][data.actions[i] >= 0] = False
    return later


def chains_of(model, data):
    """(session, log_initial, log_transitions, log_likelihoods) of each segment, from the fitted arrays alone."""
    rows = {tuple(h): i for i, h in enumerate(model.histories_.tolist())}
    ranks = possible(model.env)
    with np.errstate(divide="ignore"):
        log_initial, log_table, log_p = (
            np.log(x) for x in (model.initial_modes_, model.mode_transitions_, model.emissions_)
        )
    for i, states, pasts, after in segments(data, model.env, model.histories_.shape[1]):
        neutral = np.zeros(len(log_initial))
        steps = [
            neutral if s is None else log_p[:, rows[past], ranks[past[0]].index(s)]
            for past, s in zip(pasts, after, strict=True)
        ]
        yield i, log_initial, log_table[states], np.array(steps)


# EM


def baum_welch(data, env, history, initial, table, emissions, *, pooled, emission_prior, switching_prior):
    """One iteration in plain numpy: new parameters, the likelihood and the objective of the old ones, occupancy.

    emissions: mode → {history: {next state: probability}}; table [state, mode, next_mode].
    """
    n_modes, ranks = len(initial), possible(env)
    starts, switches = np.zeros(n_modes), np.zeros_like(table)
    weights = [{h: dict.fromkeys(row, 0.0) for h, row in emissions[z].items()} for z in range(n_modes)]
    log_likelihood = 0.0
    for _, states, pasts, after in segments(data, env, history):
        steps = np.ones((len(states), n_modes))
        for t, (past, s) in enumerate(zip(pasts, after, strict=True)):
            if s is not None:
                steps[t] = [emissions[z][past][s] for z in range(n_modes)]
        chain = (np.log(initial), np.log(table[states]), np.log(steps))
        log_likelihood += forward_loop(*chain)[0].sum()
        marginals, pairs = smooth_loop(*chain), pairs_loop(*chain)
        starts += marginals[0]
        for t, (past, s) in enumerate(zip(pasts, after, strict=True)):
            switches[states[t]] += pairs[t]
            for z in range(n_modes):
                if s is not None:
                    weights[z][past][s] += marginals[t, z]
    occupancy = np.array([sum(sum(row.values()) for row in weights[z].values()) for z in range(n_modes)])
    pseudocounts = switching_prior.pseudocount + switching_prior.stay * np.eye(n_modes)
    log_prior = np.log(initial).sum() + sum(
        emission_prior.pseudocount * np.log(p) for mode in emissions for row in mode.values() for p in row.values()
    )
    tables = [table[0]] if pooled else list(table)
    log_prior += sum((pseudocounts * np.log(x)).sum() for x in tables)
    # M-step
    smoothed = (switches.sum(axis=0) if pooled else switches) + pseudocounts
    new_table = np.broadcast_to(smoothed / smoothed.sum(axis=-1, keepdims=True), table.shape)
    new_emissions = []
    for z in range(n_modes):
        mode = {}
        for h, row in weights[z].items():
            total = sum(row.values()) + emission_prior.pseudocount * len(ranks[h[0]])
            mode[h] = {s: (w + emission_prior.pseudocount) / total for s, w in row.items()}
        new_emissions.append(mode)
    new_initial = (starts + 1) / (starts + 1).sum()
    return (new_initial, new_table, new_emissions), log_likelihood, log_likelihood + log_prior, occupancy


def starting_point(model, index):
    """The random start of restart `index`, as plain probabilities."""
    histories = Histories.reachable(model.env.successors, model.history)
    rng = np.random.default_rng(model.random_state).spawn(model.n_restarts)[index]
    start = model.build_components(histories).random_parameters(rng, 1.0)
    table = np.broadcast_to(np.exp(start.switching), (N_STATES, N_MODES, N_MODES))
    ranks, emissions = possible(model.env), []
    for z in range(N_MODES):
        mode = {}
        for i, h in enumerate(histories.table.tolist()):
            own = ranks[h[0]]
            p = np.exp(start.emissions[z, i, : len(own)])
            mode[tuple(h)] = dict(zip(own, (p / p.sum()).tolist(), strict=True))
        emissions.append(mode)
    return np.exp(start.log_initial), table, emissions


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "history", "switching"),
    [
        ("deterministic", 1, "independent"),
        ("stochastic", 1, "independent"),
        ("deterministic", 2, "state-table"),
        ("stochastic", 2, "state-table"),
    ],
)
def test_every_iteration_is_that_of_a_plain_baum_welch(kind, history, switching):
    data, env, n_iterations = recording(kind), world(kind), 4
    priors = {"emission_prior": Dirichlet(0.5), "switching_prior": Dirichlet(0.3, stay=2.0)}
    model = ARHMM(env, history=history, switching=switching, n_restarts=2, max_iter=1, **priors)
    plain = [starting_point(model, r) for r in range(2)]
    for iteration in range(n_iterations):
        model.fit(data, resume=iteration > 0)  # one M-step at a time
        for r in range(2):
            options = {"pooled": switching == "independent", **priors}
            new, before, objective, _ = baum_welch(data, env, history, *plain[r], **options)
            _, after, _, occupancy = baum_welch(data, env, history, *new, **options)
            plain[r] = new
            mine = model.use_restart(r)
            np.testing.assert_allclose(mine.log_likelihoods_, [before, after], rtol=1e-10)
            assert mine.objective_trace_[0] == pytest.approx(objective, rel=1e-10)
            order = np.argsort(-occupancy)
            np.testing.assert_allclose(mine.occupancy_, occupancy[order] / occupancy.sum(), atol=1e-10)
            np.testing.assert_allclose(mine.initial_modes_, new[0][order], atol=1e-10)
            np.testing.assert_allclose(mine.mode_transitions_, new[1][:, order][:, :, order], atol=1e-10)
            for z, mode in enumerate(order):
                for i, h in enumerate(mine.histories_.tolist()):
                    own = list(new[2][mode][tuple(h)].values())
                    np.testing.assert_allclose(mine.emissions_[z, i, : len(own)], own, atol=1e-10)


@pytest.mark.parametrize(
    "options",
    [
        {"switching": "independent"},
        pytest.param({"switching": "state"}, marks=pytest.mark.slow),
        pytest.param({"switching": "state-table"}, marks=pytest.mark.slow),
        pytest.param(
            {"switching": "state", "history": 2, "emission_prior": Gaussian(1.0, backoff=4.0)}, marks=pytest.mark.slow
        ),
    ],
)
def test_the_objective_never_falls(options):
    model = ARHMM(world(), n_restarts=2, max_iter=40, tol=1e-12, **options).fit(recording())
    for restart in model.restarts_:
        assert restart.status in ("converged", "iterations ran out")
        assert np.diff(restart.objective_trace).min() >= -1e-9 * abs(restart.objective)
    assert model.objective_trace_[-1] > model.objective_trace_[0] + 1
    assert model.score(recording()) * model.n_observed_ == pytest.approx(model.log_likelihoods_[-1], rel=1e-9)
    assert model.objective_trace_[-1] == max(r.objective for r in model.restarts_)


def test_the_order_of_sessions_does_not_matter():
    data, model = recording(), fitted()
    backwards = clone(model).fit(data[::-1])
    np.testing.assert_allclose(backwards.objective_trace_, model.objective_trace_, rtol=1e-9)
    np.testing.assert_allclose(backwards.emissions_, model.emissions_, atol=1e-7)


@pytest.mark.slow
def test_modes_that_behave_differently_are_found():
    """Two syllable grammars that hardly overlap, kept for long: the path of modes comes out."""
    rng = np.random.default_rng(0)
    states, modes = [], []
    for _ in range(6):
        s, z = [0], [int(rng.integers(2))]
        while len(s) < 50:
            step = 1 if z[-1] == 0 else -1
            s.append((s[-1] + step) % N_STATES if rng.random() < 0.9 else int(rng.integers(N_STATES)))
            z.append(z[-1] if rng.random() < 0.97 else 1 - z[-1])
        states.append(s)
        modes.append(z)
    model = ARHMM(SYLLABLES, n_restarts=2, max_iter=60).fit(Trajectories(states))
    path, truly = np.concatenate(model.predict(Trajectories(states))), np.concatenate(modes)
    assert max(np.mean(path == truly), np.mean(path != truly)) > 0.9


# The likelihood


@pytest.mark.slow
@pytest.mark.parametrize("history", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_likelihood_and_decoding_by_enumeration_of_mode_paths(kind, history):
    base = recording(kind)
    short = Trajectories(
        [base.states[0][:6], base.states[1][:8], base.states[2][:5], base.states[3][:1]],
        [base.actions[0][:6], [*base.actions[1][:2], -1, *base.actions[1][3:8]], np.full(5, -1), [-1]],
        gaps=[[], [3, 4], [2], []],
        n_states=N_STATES,
        n_actions=N_ACTIONS,
    )
    model = fitted(kind, history)
    expected, smoothed, filtered, predicted = np.zeros(4), *([[] for _ in range(4)] for _ in range(3))
    for i, *chain in chains_of(model, short):
        for mine, part in zip((filtered, predicted), forward_loop(*chain)[1:], strict=True):
            mine[i] += list(part)
        paths, log_joint = enumerate_paths(*chain)
        expected[i] += np.log(np.exp(log_joint).sum())
        weights = np.exp(log_joint) / np.exp(log_joint).sum()
        smoothed[i] += [[weights[paths[:, t] == z].sum() for z in range(N_MODES)] for t in range(paths.shape[1])]
    np.testing.assert_allclose(model.log_likelihood(short), expected, rtol=1e-10, atol=1e-12)
    for mine, theirs in zip(model.predict_proba(short), smoothed, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-10)
    for i, later in enumerate(told_later(short, world(kind))):
        causal = np.where(later[:, None], predicted[i], filtered[i])
        np.testing.assert_allclose(model.filter_proba(short)[i], causal, atol=1e-10)
        assert later.any() or i in (1, 3), "the test has something to wait for"
    assert abs(expected[3]) < 1e-15  # a lone step says nothing
    n = sum(s is not None for *_, after in segments(short, world(kind), history) for s in after)
    assert model.n_scored(short) == n
    assert model.score(short) == pytest.approx(expected.sum() / n, rel=1e-10)


@pytest.mark.slow
def test_independent_switching_is_a_categorical_hmm_of_pairs():
    """hmmlearn: the symbol (s, s') with p_z(s, s') = p_z(s'|s) / S has S^−T times the likelihood."""
    data = Trajectories(recording().states, n_states=N_STATES)
    model = ARHMM(SYLLABLES, **QUICK).fit(data)
    hmm = CategoricalHMM(n_components=N_MODES, n_features=N_STATES**2)
    hmm.startprob_, hmm.transmat_ = model.initial_modes_, model.mode_transitions_[0]
    hmm.emissionprob_ = model.emission_table().reshape(N_MODES, -1) / N_STATES
    smoothed, paths, log_likelihoods = model.predict_proba(data), model.predict(data), model.log_likelihood(data)
    for i, s in enumerate(data.states):
        pairs = (s[:-1] * N_STATES + s[1:])[:, None]
        expected = hmm.score(pairs) + len(pairs) * np.log(N_STATES)
        assert log_likelihoods[i] == pytest.approx(expected, rel=1e-10)
        np.testing.assert_allclose(smoothed[i][:-1], hmm.predict_proba(pairs), atol=1e-10)
        np.testing.assert_array_equal(paths[i][:-1], hmm.predict(pairs))


# Which steps count


@pytest.mark.parametrize("kind", KINDS)
def test_scored_steps_are_those_of_swirls_next_state_score(kind):
    swirl, model = truth(kind), fitted(kind)
    full = recording(kind)
    mixed = Trajectories(
        full.states, [np.full(50, -1) if i % 2 else a for i, a in enumerate(full.actions)], gaps=full.gaps,
        n_states=N_STATES, n_actions=N_ACTIONS,
    )  # fmt: skip
    for data in (full, bare(full), mixed):
        mine, theirs = model.scored_steps(data), swirl.scored_steps(data, of="next_state")
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(a, b)
        assert model.n_scored(data) == swirl.n_scored(data, of="next_state") == sum(a.sum() for a in mine)
    ends = [[b - 1 for _, b in full.segments(i)] for i in range(len(full))]
    for i, steps in enumerate(model.scored_steps(bare(full))):
        assert np.flatnonzero(~steps).tolist() == ends[i]
    for i, steps in enumerate(model.scored_steps(full)):  # in a deterministic world the action says what follows
        untold = [t for t in ends[i] if kind == "stochastic" or full.actions[i][t] < 0]
        assert np.flatnonzero(~steps).tolist() == untold
    assert any((a[:-1] < 0).any() for a in full.actions), "missing actions take nothing away"


def test_the_last_step_counts_only_when_an_action_says_where_it_led():
    model = fitted()
    states, actions = [0, 1, 2, 3], [0, 0, 0, 0]
    told, untold = (
        Trajectories([states], [a], n_states=N_STATES, n_actions=N_ACTIONS) for a in (actions, [*actions[:3], -1])
    )
    extended = Trajectories([[*states, 4]], [[*actions, -1]], n_states=N_STATES, n_actions=N_ACTIONS)
    assert (model.n_scored(told), model.n_scored(untold), model.n_scored(extended)) == (4, 3, 4)
    np.testing.assert_allclose(model.log_likelihood(told), model.log_likelihood(extended), rtol=1e-12)
    assert model.log_likelihood(untold)[0] > model.log_likelihood(told)[0] + 1e-3
    # At the untold step nothing is learnt of the mode.
    filtered = model.filter_proba(untold)[0]
    np.testing.assert_allclose(filtered[3], filtered[2] @ model.mode_transitions_[states[2]], atol=1e-12)


def test_a_gap_cuts_history_and_modes():
    model, s = fitted("stochastic", 2), recording("stochastic").states[1][:12]
    cut = Trajectories([s], gaps=[[5]], n_states=N_STATES, n_actions=N_ACTIONS)
    apart = Trajectories([s[:5], s[5:]], n_states=N_STATES, n_actions=N_ACTIONS)
    whole = Trajectories([s], n_states=N_STATES, n_actions=N_ACTIONS)
    np.testing.assert_allclose(model.log_likelihood(cut), model.log_likelihood(apart).sum(), rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(cut)[0], np.concatenate(model.predict_proba(apart)), atol=1e-12)
    assert abs(model.log_likelihood(whole)[0] - model.log_likelihood(cut)[0]) > 1e-3


def test_states_alone_are_enough():
    data = bare(recording())
    model = ARHMM(world(), **QUICK).fit(data)
    assert model.n_observed_ == model.n_scored(data) == data.n_steps - 7
    assert model.log_likelihood(data).sum() == pytest.approx(model.log_likelihoods_[-1], rel=1e-9)
    lone = Trajectories([[0], [3]], n_states=N_STATES, n_actions=N_ACTIONS)
    with pytest.raises(ValueError, match="no state is followed by another in any session, so there is nothing to fit"):
        ARHMM(world()).fit(lone)
    with pytest.raises(ValueError, match="no next state was observed in any session, so there is nothing to score"):
        model.score(lone)


def test_an_impossible_move_restarts_the_history_and_perhaps_the_modes():
    model = fitted("stochastic", 2)
    jump = Trajectories([[0, 1, 4, 0, 1, 2]], n_states=N_STATES, n_actions=N_ACTIONS)
    with pytest.raises(ValueError, match="session 0"):
        model.score(jump)
    cut = Trajectories([[0, 1, 4, 0, 1, 2]], gaps=[[2]], n_states=N_STATES, n_actions=N_ACTIONS)
    gap = copy(model).set_params(impossible="gap")
    np.testing.assert_allclose(gap.log_likelihood(jump), model.log_likelihood(cut), rtol=1e-12)
    forget = copy(model).set_params(impossible="forget")
    assert forget.n_scored(jump) == gap.n_scored(jump) == 4
    assert abs(forget.log_likelihood(jump)[0] - gap.log_likelihood(jump)[0]) > 1e-6


# The other currency


def test_actions_are_scored_only_where_the_next_state_names_them():
    model = fitted()
    assert model.score_types == ("next_state",)  # two actions of state 2 stay there
    with pytest.raises(ValueError, match="of='action': ARHMM gives probabilities of the next state"):
        model.score(recording(), of="action")
    assert fitted("stochastic").score_types == ("next_state",)
    states = recording().states
    data = Trajectories(states, [s[1:] for s in states])
    named = ARHMM(SYLLABLES, **QUICK).fit(data)
    assert named.score_types == ("next_state", "action")
    np.testing.assert_allclose(named.log_likelihood(data, of="action"), named.log_likelihood(data), rtol=1e-13)
    assert named.n_scored(data, of="action") == named.n_scored(data)
    # Without actions there is nothing to score of them.
    half = Trajectories(states, [s[1:] if i else np.full(50, -1) for i, s in enumerate(states)])
    assert named.n_scored(half, of="action") == named.n_scored(half) - 49


# What a fit leaves behind


@pytest.mark.parametrize("history", [1, 2, 3])
def test_emission_table_has_the_probability_of_each_next_state(history):
    model, ranks = fitted("stochastic", history), possible(world("stochastic"))
    table = model.emission_table()
    assert table.shape == (N_MODES, *[N_STATES] * (history + 1))
    exists = np.zeros((N_STATES,) * history, dtype=bool)
    for i, h in enumerate(model.histories_.tolist()):
        if h[-1] < 0:
            continue
        exists[tuple(h)] = True
        for z in range(N_MODES):
            expected = np.zeros(N_STATES)
            expected[ranks[h[0]]] = model.emissions_[z, i, : len(ranks[h[0]])]
            np.testing.assert_array_equal(table[(z, *h)], expected)
    np.testing.assert_allclose(table[:, exists].sum(axis=-1), 1, rtol=1e-12)
    assert np.isnan(table[:, ~exists]).all()
    if history > 1:  # (s, s⁻) exists just where s can follow s⁻
        newest = exists.reshape(N_STATES, N_STATES, -1).any(axis=-1)
        assert [np.flatnonzero(newest[:, s]).tolist() for s in range(N_STATES)] == ranks


def test_shapes_sums_and_moves():
    model, ranks = fitted(), possible(world())
    width = max(map(len, ranks))
    assert model.moves_.tolist() == [[*own, *[-1] * (width - len(own))] for own in ranks]
    assert model.emissions_.shape == (N_MODES, N_STATES, width)
    assert (model.emissions_[:, model.moves_ < 0] == 0).all()
    assert (model.emissions_[:, model.moves_ >= 0] > 0).all()
    for name in ("emissions_", "mode_transitions_", "initial_modes_", "initial_states_", "occupancy_"):
        np.testing.assert_allclose(getattr(model, name).sum(axis=-1), 1, rtol=1e-12)
    assert (np.diff(model.occupancy_) <= 0).all()
    assert fitted(switching="state").mode_transitions_.shape == (N_STATES, N_MODES, N_MODES)


@pytest.mark.slow
def test_samples_have_the_frequencies_of_the_fit():
    for kind in KINDS:
        model, env = fitted(kind), world(kind)
        drawn = model.sample(200, 80, random_state=2)
        counts = np.zeros((N_MODES, N_STATES, N_STATES))
        for s, z in zip(drawn.states, drawn.modes, strict=True):
            np.add.at(counts, (z[:-1], s[:-1], s[1:]), 1)
        totals, table = counts.sum(axis=2, keepdims=True), model.emission_table()
        error = 4.5 * np.sqrt(table * (1 - table) / np.maximum(totals, 1)) + 1e-9
        checked = np.broadcast_to(totals > 100, counts.shape)
        assert (np.abs(counts / np.maximum(totals, 1) - table) < error)[checked].all()
        assert checked.sum() > 20
        if kind == "deterministic":
            dense = env.dense()
            assert all(env.available[s, a].all() for s, a in zip(drawn.states, drawn.actions, strict=True))
            assert all(
                (dense[s[:-1], a[:-1], s[1:]] == 1).all() for s, a in zip(drawn.states, drawn.actions, strict=True)
            )
        else:
            assert all((a == -1).all() for a in drawn.actions)
        assert np.isfinite(model.score(drawn))


def test_unseen_states_score_finitely_with_a_warning_that_counts():
    ring = MDP.deterministic([[(s + 1) % 5, (s - 1) % 5, s] for s in range(5)])
    walk = [0, 1, 2, 1, 0, 0, 1, 1, 2, 2, 1]
    for switching in ("independent", "state-table"):
        model = ARHMM(ring, switching=switching, n_restarts=2, max_iter=5).fit(Trajectories([walk], n_states=5))
        test = Trajectories([[2, 3, 4, 4, 3], [1, 0, 1]], n_states=5, n_actions=3)
        expected = r"never visited in training: 2 states \(3, 4\), at 4 of 8 steps"
        with pytest.warns(UnseenStatesWarning, match=expected):
            assert np.isfinite(model.score(test))
        np.testing.assert_allclose(model.emissions_[:, 3:], 1 / 3, rtol=1e-12)  # there the prior decides


def test_save_load_and_resume(tmp_path):
    data = recording("stochastic")
    model = ARHMM(
        world("stochastic"),
        history=2,
        switching="state-table",
        emission_prior=Dirichlet(0.7),
        **{**QUICK, "max_iter": 3},
    ).fit(data)
    again = load(model.save(tmp_path / "arhmm.nc"))
    assert isinstance(again, ARHMM)
    assert repr(again) == repr(model)
    for name in ARHMM.stored:
        np.testing.assert_array_equal(getattr(again, f"{name}_"), getattr(model, f"{name}_"))
    assert again.fit_report_ == model.fit_report_
    np.testing.assert_array_equal(again.log_likelihood(data), model.log_likelihood(data))
    np.testing.assert_array_equal(again.emission_table(), model.emission_table())
    a, b = again.sample(2, 10, random_state=3), model.sample(2, 10, random_state=3)
    assert [x.tolist() for x in a.states] == [x.tolist() for x in b.states]
    other = 1 - model.best_restart_
    np.testing.assert_array_equal(again.use_restart(other).emissions_, model.use_restart(other).emissions_)
    assert model.use_restart(other).objective_trace_[-1] < model.objective_trace_[-1]
    assert model.best_restart_ == 1 - other  # a copy was returned
    # A loaded model goes on where the saved one stopped; in all as one fit of six steps.
    np.testing.assert_allclose(again.fit(data, resume=True).emissions_, model.fit(data, resume=True).emissions_)
    at_once = clone(model).set_params(max_iter=6).fit(data)
    np.testing.assert_allclose(again.emissions_, at_once.emissions_, atol=1e-9)
    assert again.objective_trace_[-1] == pytest.approx(at_once.objective_trace_[-1], rel=1e-12)
    with pytest.raises(ValueError, match="resume=True: the last fit was of another model"):
        again.set_params(history=1).fit(data, resume=True)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"history": 0}, "history=0: expected a whole number, at least 1"),
        ({"n_modes": 0}, "n_modes=0: expected a whole number, at least 1"),
        ({"emission_prior": Cauchy()}, "emission_prior=.*: expected priors.Dirichlet or priors.Gaussian"),
        ({"switching": "sometimes"}, "switching='sometimes': expected 'independent'"),
        ({"switching": "state", "switching_prior": Dirichlet()}, "switching='state' takes a priors.Gaussian"),
        ({"env": None}, "env is NoneType: expected swirl.MDP"),
    ],
)
def test_wrong_arguments_are_told_in_words(options, told):
    with pytest.raises(ValueError, match=told):
        ARHMM(world()).set_params(**options).fit(recording())


# Last, since importing dynamax makes JAX compile everything anew


@pytest.mark.parametrize("kind", KINDS)  # one session, two segments of one length: compiled once
def test_recurrent_switching_is_dynamax_with_a_matrix_for_each_step(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = pytest.importorskip("dynamax.hidden_markov_model")
    model, data = fitted(kind, 2), recording(kind)[:1]
    expected = np.zeros(len(data))
    filtered, predicted, smoothed = ([np.zeros((0, N_MODES))] * len(data) for _ in range(3))
    with float64():
        for i, log_initial, log_transitions, log_likelihoods in chains_of(model, data):
            arguments = (np.exp(log_initial), np.exp(log_transitions[:-1]), log_likelihoods)
            posterior = models.hmm_smoother(*(jax.numpy.asarray(x) for x in arguments))
            expected[i] += float(posterior.marginal_loglik)
            filtered[i] = np.concatenate([filtered[i], posterior.filtered_probs])
            predicted[i] = np.concatenate([predicted[i], posterior.predicted_probs])
            smoothed[i] = np.concatenate([smoothed[i], posterior.smoothed_probs])
    np.testing.assert_allclose(model.log_likelihood(data), expected, rtol=1e-10)
    # What the next state alone says enters one step later: there the filter is still what dynamax predicts.
    for i, (later, mine) in enumerate(zip(told_later(data, world(kind)), model.filter_proba(data), strict=True)):
        np.testing.assert_allclose(mine, np.where(later[:, None], predicted[i], filtered[i]), atol=1e-10)
        assert later.any()
    for mine, theirs in zip(model.predict_proba(data), smoothed, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-10)
