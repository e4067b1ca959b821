"""Back-off Markov models against counts in a dict, choices against brute force, and what a user meets."""

from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from small_worlds import N_ACTIONS, N_STATES, world
from swirl.data.encoding import encode
from swirl.data.folds import folds
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators import markov
from swirl.estimators.base import NotFittedError, UnseenStatesWarning
from swirl.estimators.contexts import UNTOLD
from swirl.estimators.discrete import option_successors, options
from swirl.estimators.markov import BackoffMarkov, mix
from swirl.estimators.registry import load

KINDS, TARGETS = ("deterministic", "stochastic"), ("action", "next_state")
KAPPAS = (2.0, 0.7, 5.0, 0.3)  # one for each order, no two alike
ARRAYS = ("policies_", "strengths_", "fold_scores_", "histories_", "initial_states_", "seen_states_")


# The oracle: counts in dicts, the recursion as it is written, no code of swirl but the containers


def evidence(data, env, target):
    """(session, the segment's states newest first, {option that fits: P(what was seen | option)}) of each step."""
    dense = env.dense() * env.available[:, :, None]
    for i in range(len(data)):
        states, actions = data.states[i].tolist(), data.actions[i].tolist()
        for first, end in data.segments(i):
            for t in range(first, end):
                s, a, after = states[t], actions[t], states[t + 1] if t + 1 < end else None
                if target == "next_state":
                    if a >= 0 and env.is_deterministic:
                        after = int(np.argmax(dense[s, a]))
                    fits = {} if after is None else {after: 1.0}
                elif a >= 0:
                    fits = {a: 1.0}
                else:
                    fits = {} if after is None else {a: p for a, p in enumerate(dense[s, :, after].tolist()) if p > 0}
                yield i, tuple(states[first : t + 1][::-1]), fits


def choices(data, env, target):
    """(session, the segment's states newest first, what was chosen or None) of each step."""
    for i, path, fits in evidence(data, env, target):
        yield i, path, next(iter(fits)) if list(fits.values()) == [1.0] else None


def options_of(env, target):
    """What can be chosen in each state."""
    if target == "action":
        return [np.flatnonzero(row).tolist() for row in env.available]
    reach = env.dense() * env.available[:, :, None]
    return [np.flatnonzero(row).tolist() for row in reach.sum(axis=1) > 0]


def newest(path, order):
    """The last `order` states; −1 before the start."""
    return (*path, *[-1] * order)[:order]


class Counted:
    """p_n(o|h) = (N_n(h,o) + κ_n p_{n−1}(o|h)) / (N_n(h) + κ_n), over the options of the state."""

    def __init__(self, data, env, target, strengths):
        self.options, self.strengths = options_of(env, target), strengths
        steps = [(path, fits) for _, path, fits in evidence(data, env, target) if fits]
        certain = [(path, dict.fromkeys(fits, 1.0)) for path, fits in steps if len(fits) == 1]
        unclear = [(path, fits) for path, fits in steps if len(fits) > 1]
        self.count(certain)
        for _ in range(markov.TURNS if unclear else 0):
            before = [sum(self(path, o) * reach for o, reach in fits.items()) for path, fits in unclear]
            spread = []
            for (path, fits), total in zip(unclear, before, strict=True):
                spread.append((path, {o: self(path, o) * reach / total for o, reach in fits.items()}))
            self.count(certain + spread)
            after = [sum(self(path, o) * reach for o, reach in fits.items()) for path, fits in unclear]
            if max(abs(a - b) for a, b in zip(after, before, strict=True)) < markov.SETTLED:
                break

    def count(self, steps):
        self.counts = defaultdict(Counter)
        for path, weights in steps:
            for order in range(len(self.strengths)):
                for option, weight in weights.items():
                    self.counts[newest(path, order)][option] += weight

    def __call__(self, path, option, order=None):
        order = len(self.strengths) - 1 if order is None else order
        own = self.options[path[0]]
        if option not in own:
            return 0.0
        if order < 0:
            return 1 / len(own)
        counts, strength = self.counts[newest(path, order)], self.strengths[order]
        below = self(path, option, order - 1)
        return (counts[option] + strength * below) / (sum(counts[o] for o in own) + strength)

    def log_likelihoods(self, data, env, target):
        """Of each session, of what is seen: log Σ_a p(a|h) P(s'|s,a) where an action is missing."""
        totals = np.zeros(len(data))
        for i, path, fits in evidence(data, env, target):
            if fits:
                totals[i] += np.log(sum(self(path, o) * reach for o, reach in fits.items()))
        return totals


# The same counts as a table over every reachable history: what the model did before it knew only what it saw


def dense_table(data, env, target, strengths):
    """p_n at every reachable history, of data whose every option is seen; and these histories."""
    histories = Histories.reachable(env.successors, max(len(strengths) - 1, 1))
    encoded = encode(data, env, histories, impossible="gap")
    chosen = options(encoded, env, histories, target)
    known = chosen >= 0
    tables = option_successors(histories, target)
    available, rank = np.asarray(tables.available), np.arange(tables.n_actions)
    stands_for = rank if target == "action" else histories.states[np.asarray(tables.next)[..., 0]]
    table = available / available.sum(axis=1, keepdims=True)
    for order, strength in enumerate(strengths):
        cells = np.broadcast_to(stands_for, available.shape)
        if order:
            cells = histories.suffixes(order)[:, None] * len(rank) + rank
        totals = np.bincount(cells[encoded.histories[known], chosen[known]], minlength=int(cells.max()) + 1)
        table = mix(np.where(available, totals[cells], 0.0), table, strength)
    return table, histories


@cache
def walk(kind="deterministic", seed=0, lengths=(50, 20, 35, 1, 2, 50), missing=0.1):
    """A lopsided random walk with some actions missing (plain numpy: nothing to compile)."""
    env, rng = world(kind), np.random.default_rng(seed)
    dense, states, actions = env.dense(), [], []
    for length in lengths:
        s, a = [int(rng.integers(N_STATES))], []
        for _ in range(length):
            weights = env.available[s[-1]] * np.array([1.0, 3.0, 2.0 if len(s) > 1 and s[-2] == s[-1] else 0.5])
            a.append(int(rng.choice(N_ACTIONS, p=weights / weights.sum())))
            s.append(int(rng.choice(N_STATES, p=dense[s[-1], a[-1]])))
        states.append(s[:-1])
        actions.append(np.where(rng.random(length) < missing, -1, a))
    return Trajectories(states, actions, n_states=N_STATES, n_actions=N_ACTIONS)


@cache
def sessions(kind="deterministic", subjects=False, missing=0.1):
    """Sessions of different lengths with gaps; two are short, one has no action at all."""
    base = walk(kind, missing=missing)
    actions = [np.full(len(a), -1) if i == 2 else a for i, a in enumerate(base.actions)]
    return Trajectories(
        base.states,
        actions,
        gaps=[[7, 8, 25], [], [11], [], [], [49]],
        subjects=["a", "b", "b", "a", "c", "c"] if subjects else None,
        n_states=N_STATES,
        n_actions=N_ACTIONS,
    )


@cache
def fitted(kind="deterministic", target="action", order=2):
    return BackoffMarkov(world(kind), order=order, strength=KAPPAS[: order + 1], target=target).fit(sessions(kind))


def meaning(model, target):
    """What each option of each history stands for, None where it is none: [history][option]."""
    own = options_of(model.env, target)
    width = model.policies_.shape[2]
    if target == "action":
        return [[a if a in own[h[0]] else None for a in range(width)] for h in model.histories_]
    return [[*own[h[0]], *[None] * (width - len(own[h[0]]))] for h in model.histories_]


# Probabilities


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_are_those_of_counts_in_a_dict(kind, target, order):
    model, data = fitted(kind, target, order), sessions(kind)
    oracle = Counted(data, world(kind), target, KAPPAS[: order + 1])
    assert model.histories_.shape[1] == max(order, 1)
    for h, row, stands_for in zip(model.histories_, model.policies_[0], meaning(model, target), strict=True):
        path, own = tuple(s for s in h.tolist() if s >= 0), min(order, int((h != UNTOLD).sum()))
        np.testing.assert_allclose(row, [0.0 if o is None else oracle(path, o, own) for o in stands_for], atol=1e-13)
    some = walk(kind, seed=1, missing=0.0)  # with contexts that training did not see
    expected = oracle.log_likelihoods(some, world(kind), target)
    np.testing.assert_allclose(model.log_likelihood(some, of=target), expected, rtol=1e-12)
    n = sum(chosen is not None for _, _, chosen in choices(some, world(kind), target))
    assert model.n_scored(some, of=target) == n
    assert model.score(some, of=target) == pytest.approx(expected.sum() / n, rel=1e-12)


@pytest.mark.parametrize("order", [0, 1, 2, 4])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_seen_contexts_give_what_a_table_of_all_histories_gives(kind, target, order):
    strengths, env = (*KAPPAS, 0.5)[: order + 1], world(kind)
    data = walk(kind, missing=0.0)
    model = BackoffMarkov(env, order=order, strength=strengths, target=target).fit(data)
    table, histories = dense_table(data, env, target, strengths)
    if order > 2:
        assert len(np.unique(histories.table[encode(data, env, histories).histories], axis=0)) < histories.n_histories
    contexts = model._histories
    assert contexts.n_histories <= N_STATES + max(order, 1) * (data.n_steps + N_STATES)
    for h, row in zip(histories.table, table, strict=True):  # follow each history there is, seen or not
        path = h[h >= 0][::-1]
        starts = np.zeros(len(path), bool)
        starts[0] = len(path) < histories.length or histories.length == 1
        if not starts[0]:  # full length: it did not start there
            path, starts = np.append([path[0]], path), np.append([True], starts)
        at = contexts.follow(path, starts)[-1]
        np.testing.assert_allclose(model.policies_[0, at], row, rtol=1e-12, atol=1e-15)


def test_moves_between_contexts_are_those_of_reading_the_path():
    model = fitted("stochastic", "action", 3)
    contexts, rng = model._histories, np.random.default_rng(0)
    tables, moves = contexts.successors, contexts.moves
    for _ in range(200):
        path = [int(rng.integers(N_STATES))]
        by_action = by_move = path[0]  # the first rows are starts
        for _ in range(6):
            starts = np.arange(len(path)) == 0
            at = contexts.follow(np.array(path), starts)[-1]
            assert at == by_action == by_move
            a = int(rng.choice(np.flatnonzero(np.asarray(tables.available)[at])))
            b = int(rng.choice(np.flatnonzero(np.asarray(tables.probability)[at, a])))
            by_action = int(np.asarray(tables.next)[at, a, b])
            rank = contexts.ranks(np.array(path[-1:]), contexts.states[[by_action]])[0]
            by_move = int(np.asarray(moves.next)[at, rank, 0])
            path.append(int(contexts.states[by_action]))


def test_many_syllables_cost_what_was_seen():
    n, rng = 57, np.random.default_rng(0)
    syllables = MDP.deterministic(np.tile(np.arange(n), (n, 1)))
    states = [s.tolist() for s in rng.integers(n, size=(4, 60))]
    data = Trajectories(states, [s[1:] for s in states], n_states=n, n_actions=n)
    for target in TARGETS:
        model = BackoffMarkov(syllables, order=6, strength=1.0, target=target).fit(data)
        assert len(model.histories_) <= 2 * n + 6 * data.n_steps
        assert np.isfinite(model.score(data))
        assert np.isfinite(model.score(model.sample(2, 30)))
    assert len(BackoffMarkov(syllables).fit(data).fold_scores_) == 7


@pytest.mark.parametrize("target", TARGETS)
def test_one_strength_serves_every_order(target):
    once = BackoffMarkov(world(), order=2, strength=1.7, target=target).fit(sessions())
    thrice = BackoffMarkov(world(), order=2, strength=(1.7, 1.7, 1.7), target=target).fit(sessions())
    np.testing.assert_array_equal(once.policies_, thrice.policies_)
    assert once.strengths_.tolist() == [1.7] * 3


def test_history_does_not_cross_a_gap():
    env = MDP.deterministic([[0, 1], [0, 1]])
    states, actions = [[0, 1, 0, 1, 1, 0]], [[1, 0, 1, 1, 0, 0]]
    whole = BackoffMarkov(env, order=2, strength=1.0).fit(Trajectories(states, actions))
    cut = BackoffMarkov(env, order=2, strength=1.0).fit(Trajectories(states, actions, gaps=[[2]]))
    row = {tuple(h): p for h, p in zip(cut.histories_.tolist(), cut.policies_[0], strict=True)}
    # At state 0: action 1 twice, action 0 once (the last step); order 0 has three of each in all.
    lower = (np.array([1, 2]) + np.array([3.5, 3.5]) / 7) / 4
    np.testing.assert_allclose(row[0, -1], (np.array([0, 2]) + lower) / 3)  # the session's start and the gap
    np.testing.assert_allclose(row[0, 1], (np.array([1, 0]) + lower) / 2)  # once: the last step, not the gap
    assert (0, 0) not in row  # never: what order 1 says
    np.testing.assert_allclose(row[0, UNTOLD], lower)
    assert whole.log_likelihood(Trajectories(states, actions)) > cut.log_likelihood(Trajectories(states, actions))


def test_order_zero_of_next_states_is_their_marginal_among_the_possible():
    data = sessions("stochastic")
    model = BackoffMarkov(world("stochastic"), order=0, strength=1e-12, target="next_state").fit(data)
    after = [s[t + 1] for i, s in enumerate(data.states) for a, b in data.segments(i) for t in range(a, b - 1)]
    marginal = np.bincount(after, minlength=N_STATES)
    for state, possible in enumerate(options_of(world("stochastic"), "next_state")):
        expected = marginal[possible] / marginal[possible].sum()
        np.testing.assert_allclose(model.policies_[0, state, : len(possible)], expected, atol=1e-9)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_sum_to_one_over_what_there_is(kind, target):
    model = fitted(kind, target, 3)
    exists = np.array([[o is not None for o in row] for row in meaning(model, target)])
    assert not exists.all()
    np.testing.assert_allclose(model.policies_.sum(axis=2), 1, rtol=1e-13)
    assert (model.policies_[0][~exists] == 0).all()
    assert (model.policies_[0][exists] > 0).all()


def test_both_scores_and_when_they_are_one():
    syllables = MDP.deterministic(np.tile(np.arange(3), (3, 1)))
    states = [[0, 1, 1, 2, 0, 0, 1], [2, 2, 1, 0]]
    data = Trajectories(states, [s[1:] for s in states])
    by = {t: BackoffMarkov(syllables, order=1, strength=(2.0, 1.0), target=t).fit(data) for t in TARGETS}
    assert by["action"].score_types == TARGETS
    assert by["next_state"].score_types == TARGETS[::-1]
    for model in by.values():
        for of in TARGETS:
            np.testing.assert_allclose(model.log_likelihood(data, of=of), by["action"].log_likelihood(data), rtol=1e-13)
    shared = fitted("deterministic", "next_state")  # two actions of state 2 lead to the same place
    assert shared.score_types == ("next_state",)
    with pytest.raises(ValueError, match="of='action': BackoffMarkov gives probabilities of the next state"):
        shared.score(sessions(), of="action")
    merged = fitted("deterministic", "action")
    assert merged.score(walk(seed=1), of="next_state") > merged.score(walk(seed=1), of="action")


# What is chosen on folds


@pytest.mark.parametrize("subjects", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_choices_are_the_best_of_the_folds(target, subjects, monkeypatch):
    grid = (0.1, 1.0, 10.0, 100.0)
    monkeypatch.setattr(markov, "STRENGTHS", grid)
    data, n_folds = sessions(subjects=subjects), 3
    model = BackoffMarkov(world(), max_order=2, target=target, n_folds=n_folds).fit(data)
    full = BackoffMarkov(world(), order=2, target=target, n_folds=n_folds).fit(data)

    def held_out(strengths):
        total = steps = 0
        for fold in folds(data, n_folds):
            rest = data[np.setdiff1d(np.arange(len(data)), fold)]
            oracle = Counted(rest, world(), target, strengths)
            total += oracle.log_likelihoods(data[fold], world(), target).sum()
            steps += sum(bool(fits) for _, _, fits in evidence(data[fold], world(), target))
        return total / steps

    chosen = []
    for order in range(3):
        tried = [held_out([*chosen, strength]) for strength in grid]
        assert len(np.unique(np.round(tried, 9))) == len(grid)
        chosen.append(grid[int(np.argmax(tried))])
        assert full.fold_scores_[order] == pytest.approx(max(tried), rel=1e-12)
    assert full.strengths_.tolist() == chosen
    np.testing.assert_array_equal(model.fold_scores_, full.fold_scores_)
    assert model.order_ == int(np.argmax(full.fold_scores_))
    assert model.strengths_.tolist() == chosen[: model.order_ + 1]
    # The table is that of the whole training set with what was chosen.
    again = BackoffMarkov(world(), order=model.order_, strength=chosen[: model.order_ + 1], target=target).fit(data)
    np.testing.assert_array_equal(again.policies_, model.policies_)
    assert model.histories_.shape[1] == max(model.order_, 1)
    assert "chosen on training folds" in model.fit_report_


def test_fold_scores_are_plain_fits_scored_on_the_rest():
    """The same through the public interface, every step of every fold counting alike."""
    data, strengths = walk(missing=0.0), (3.0, 1.0)
    model = BackoffMarkov(world(), strength=strengths, max_order=1, n_folds=2).fit(data)
    total = steps = 0
    for fold in folds(data, 2):
        rest = data[np.setdiff1d(np.arange(len(data)), fold)]
        fresh = BackoffMarkov(world(), order=1, strength=strengths).fit(rest)
        total, steps = total + fresh.log_likelihood(data[fold]).sum(), steps + fresh.n_scored(data[fold])
    assert model.fold_scores_[1] == pytest.approx(total / steps, rel=1e-12)


def test_nothing_is_chosen_when_all_is_given():
    model = BackoffMarkov(world(), order=1, strength=2.0, n_folds=99).fit(sessions())  # no folds are made
    assert np.isnan(model.fold_scores_).all()
    assert "as given" in model.fit_report_
    only_order = BackoffMarkov(world(), strength=2.0, max_order=2).fit(sessions())
    assert set(only_order.strengths_) == {2.0}
    assert np.isfinite(only_order.fold_scores_).all()


def test_long_memory_is_found_where_it_is():
    """The next step depends on the last two states: order 2 wins over 1, and over the needless 3."""
    env, rng = MDP.deterministic([[0, 1], [0, 1]]), np.random.default_rng(0)
    states = []
    for _ in range(6):
        s = [0, 0]
        while len(s) < 200:
            s.append(int(rng.random() < (0.9 if s[-1] == s[-2] else 0.1)))
        states.append(s)
    data = Trajectories(states, [s[1:] for s in states])
    model = BackoffMarkov(env, max_order=3).fit(data)
    assert model.order_ >= 2
    assert model.fold_scores_[2] > model.fold_scores_[1] + 0.1
    memoryless = Trajectories(list(rng.integers(2, size=(6, 200))), n_states=2)
    assert BackoffMarkov(env, max_order=3, target="next_state").fit(memoryless).fold_scores_.min() > -0.70


def test_scoring_leaves_the_fit_alone_and_sessions_do_not_meet():
    train, test = walk(seed=1).split(every=3)
    model = BackoffMarkov(world(), max_order=2).fit(train)
    before = {name: getattr(model, name).copy() for name in ARRAYS}
    together = model.log_likelihood(test)
    for i in range(len(test)):
        np.testing.assert_allclose(model.log_likelihood(test[[i]]), together[i], rtol=1e-12)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(model, name), before[name])
    # Other test sessions, the same fit.
    other = Trajectories(train.states, train.actions, gaps=train.gaps, n_states=N_STATES, n_actions=N_ACTIONS)
    np.testing.assert_array_equal(BackoffMarkov(world(), max_order=2).fit(other).policies_, model.policies_)


# States that training never saw


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("order", [0, 1, 3])
def test_unseen_states_score_finitely_with_a_warning_that_counts(target, order):
    ring = MDP.deterministic([[(s + 1) % 6, (s - 1) % 6, s] for s in range(6)])
    model = BackoffMarkov(ring, order=order, strength=1.0, target=target)
    model.fit(Trajectories([[0, 1, 2, 1, 0]], [[0, 0, 1, 1, 2]], n_states=6))
    test = Trajectories([[2, 3, 4, 4, 3], [1, 0, 1]], [[0, 0, 2, 1], [1, 0]], n_states=6, n_actions=3)
    expected = r"never visited in training: 2 states \(3, 4\), at 4 of 8 steps"
    with pytest.warns(UnseenStatesWarning, match=expected) as caught:
        score = model.score(test)
    assert len(caught) == 1
    assert np.isfinite(score)
    if order:  # at an unseen state nothing is left but order 0
        below = BackoffMarkov(ring, order=0, strength=1.0, target=target)
        below.fit(Trajectories([[0, 1, 2, 1, 0]], [[0, 0, 1, 1, 2]], n_states=6))
        rows = np.isin(model.histories_[:, 0], [3, 4, 5])
        np.testing.assert_allclose(model.policies_[0, rows], below.policies_[0, model.histories_[rows, 0]], rtol=1e-13)


# The interface


def test_save_and_load_are_the_same_model(tmp_path):
    for target, given in (("action", {"order": 2}), ("next_state", {"order": 0, "strength": 2.5})):
        model = BackoffMarkov(world(), target=target, **given).fit(sessions())
        again = load(model.save(tmp_path / f"{target}.nc"))
        assert isinstance(again, BackoffMarkov)
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
        assert again.order_ == model.order_
        assert isinstance(again.order_, int)
        assert repr(again) == repr(model)
        np.testing.assert_array_equal(again.log_likelihood(walk(seed=1)), model.log_likelihood(walk(seed=1)))
        a, b = again.sample(2, 10, random_state=3), model.sample(2, 10, random_state=3)
        assert [x.tolist() for x in a.states] == [x.tolist() for x in b.states]
    listed = BackoffMarkov(world(), order=1, strength=[3.0, 0.5]).fit(sessions())
    again = load(listed.save(tmp_path / "listed.nc"))
    np.testing.assert_array_equal(again.fit(sessions()).policies_, listed.policies_)


def test_clone_and_refit():
    model = BackoffMarkov(world(), order=1, strength=(1.0, 2.0), target="next_state", n_folds=2)
    copied = clone(model)
    for name, value in model.get_params().items():
        assert name == "env" or getattr(copied, name) == value
    assert not hasattr(clone(model.fit(sessions())), "policies_")
    copied.set_params(order=2, strength="auto").fit(sessions())
    assert copied.order_ == 2
    assert model.order_ == 1


def test_decoding_knows_one_mode():
    model = fitted()
    assert (np.concatenate(model.predict(sessions())) == 0).all()
    assert (np.concatenate(model.predict_proba(sessions())) == 1).all()
    assert [len(p) for p in model.filter_proba(sessions())] == sessions().lengths.tolist()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"order": -1}, 'order=-1: expected a whole number, at least 0 or "auto"'),
        ({"order": 1.5}, "order=1.5: expected a whole number"),
        ({"order": True}, "order=True: expected a whole number"),
        ({"order": "best"}, "order='best': expected a whole number"),
        ({"max_order": -1}, "max_order=-1: expected a whole number, at least 0"),
        ({"strength": 0.0}, "strength=0.0: expected a number > 0"),
        ({"strength": np.inf}, "strength=inf: expected a number > 0"),
        ({"strength": None}, "strength=None: expected a number > 0"),
        ({"strength": "strong"}, "strength='strong': expected a number > 0"),
        ({"order": 1, "strength": [1.0, 2.0, 3.0]}, "strength has 3 entries: expected one, or order [+] 1 = 2"),
        ({"strength": [1.0, 2.0], "max_order": 4}, "strength has 2 entries: expected one, or max_order [+] 1 = 5"),
        ({"strength": []}, "strength has 0 entries"),
        ({"target": "state"}, 'target=\'state\': expected "action" or "next_state"'),
        ({"n_folds": 1}, "n_folds=1: expected a whole number, at least 2"),
        ({"env": np.eye(3)}, "env is ndarray: expected swirl.MDP"),
    ],
)
def test_wrong_arguments_are_told_in_words(options, told):
    model = BackoffMarkov(world()).set_params(**options)  # kept as given; fit complains
    with pytest.raises(ValueError, match=told):
        model.fit(sessions())


def test_all_faults_are_told_at_once():
    with pytest.raises(ValueError, match="BackoffMarkov cannot be fitted: 4 faults") as told:
        BackoffMarkov(world()).set_params(order=-1, strength=-2.0, target="both", n_folds=0).fit(sessions())
    assert all(word in str(told.value) for word in ("order=-1", "strength=-2.0", "target='both'", "n_folds=0"))


def test_nothing_to_count_and_nothing_fitted():
    blind = Trajectories([[0, 1, 2]], n_states=N_STATES, n_actions=N_ACTIONS)
    lone = Trajectories([[0], [1]], n_states=N_STATES, n_actions=N_ACTIONS)
    for target, word in (("action", "action"), ("next_state", "next state")):
        with pytest.raises(ValueError, match=f"no {word} was observed in any session, and none follows from the"):
            BackoffMarkov(world(), order=1, strength=1.0, target=target).fit(lone)
    with pytest.raises(NotFittedError, match="this BackoffMarkov is not fitted yet"):
        BackoffMarkov(world()).score(sessions())
    with pytest.raises(ValueError, match="no action was observed in any session, so there is nothing to score"):
        fitted().score(blind)


def test_states_alone_are_enough_for_next_states():
    data = sessions()
    bare = Trajectories(data.states, gaps=data.gaps, n_states=N_STATES, n_actions=N_ACTIONS)
    model = BackoffMarkov(world(), order=2, strength=KAPPAS[:3], target="next_state").fit(bare)
    expected = Counted(bare, world(), "next_state", KAPPAS[:3]).log_likelihoods(bare, world(), "next_state")
    np.testing.assert_allclose(model.log_likelihood(bare), expected, rtol=1e-12)
    assert model.n_scored(bare) == data.n_steps - sum(len(data.segments(i)) for i in range(len(data)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_states_alone_are_enough_for_actions(kind):
    """Every action is latent: the table settles, and explains where the animal went better than chance does."""
    data = walk(kind, missing=1.0, lengths=(60, 60, 60))
    model = BackoffMarkov(world(kind), order=1, strength=1.0).fit(data)
    assert model.n_observed_ == 3 * 59
    assert "177 observed steps counted, 177 of them without their action, by where they led" in model.fit_report_
    oracle = Counted(data, world(kind), "action", (1.0, 1.0))
    for state, row in enumerate(model.policies_[0]):
        np.testing.assert_allclose(row, [oracle((state,), a) for a in range(N_ACTIONS)], atol=1e-12)
    uniform = BackoffMarkov(world(kind), order=0, strength=1e9).fit(data)
    assert model.score(data, of="next_state") > uniform.score(data, of="next_state") + 0.02
    with pytest.raises(ValueError, match="no action was observed in any session, so there is nothing to score"):
        model.score(data, of="action")


def test_one_action_that_fits_is_a_plain_count():
    """Where the next state says which action was taken, data without actions give the fit of data with them."""
    syllables = MDP.deterministic(np.tile(np.arange(4), (4, 1)))
    states = [s.tolist() for s in np.random.default_rng(0).integers(4, size=(5, 40))]
    seen = Trajectories(states, [s[1:] for s in states], n_states=4, n_actions=4)
    bare = Trajectories(states, n_states=4, n_actions=4)
    for target in TARGETS:
        a, b = (BackoffMarkov(syllables, max_order=2, target=target).fit(data) for data in (seen, bare))
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_missing_actions_do_not_bend_the_table():
    """Actions hidden by where they led, which is seen, are made up for; the others alone are no fair sample."""
    full, rng = walk("stochastic", lengths=(3000,) * 3, missing=0.0), np.random.default_rng(1)
    actions, shown = [], np.zeros((N_STATES, N_ACTIONS))
    for s, a in zip(full.states, full.actions, strict=True):
        stays = np.append(np.diff(s), 1) == 0
        actions.append(np.where(stays & (rng.random(len(s)) < 0.8), -1, a))
        np.add.at(shown, (s, actions[-1]), actions[-1] >= 0)
    some = Trajectories(full.states, actions, n_states=N_STATES, n_actions=N_ACTIONS)
    truth, ours = (BackoffMarkov(world("stochastic"), order=1, strength=1.0).fit(d).policies_[0] for d in (full, some))
    bent = np.abs(shown / shown.sum(axis=1, keepdims=True) - truth).max()
    assert bent > 0.15
    assert np.abs(ours - truth).max() < bent / 3


def test_an_older_file_with_every_history_still_reads():
    data, env = walk(missing=0.0), world()
    model = BackoffMarkov(env, order=3, strength=KAPPAS).fit(data)
    before = model.log_likelihood(walk(seed=1))
    table, histories = dense_table(data, env, "action", KAPPAS)
    model.histories_, model.policies_ = histories.table, table[None]
    model._restore()
    np.testing.assert_allclose(model.log_likelihood(walk(seed=1)), before, rtol=1e-12)


def test_an_impossible_move_restarts_the_history():
    ring = MDP.deterministic([[(s + 1) % 4, s] for s in range(4)])
    jump = Trajectories([[0, 1, 3, 0, 1]], [[0, -1, 0, 0, 1]], n_states=4)
    cut = Trajectories([[0, 1, 3, 0, 1]], [[0, -1, 0, 0, 1]], gaps=[[2]], n_states=4)
    expected = BackoffMarkov(ring, order=2, strength=1.0).fit(cut)
    with pytest.raises(ValueError, match="session 0"):
        BackoffMarkov(ring, order=2, strength=1.0).fit(jump)
    for impossible in ("gap", "forget"):
        model = BackoffMarkov(ring, order=2, strength=1.0, impossible=impossible).fit(jump)
        np.testing.assert_array_equal(model.policies_, expected.policies_)


# Sampling


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_samples_have_the_frequencies_of_the_table(kind, target):
    model, env = fitted(kind, target, 2), world(kind)
    drawn = model.sample(300, 60, random_state=1)
    assert (drawn.n_states, drawn.n_actions) == (N_STATES, N_ACTIONS)
    assert all((modes == 0).all() for modes in drawn.modes)
    if kind == "deterministic":
        dense = env.dense()
        for s, a in zip(drawn.states, drawn.actions, strict=True):
            assert (a >= 0).all()
            assert env.available[s, a].all()
            assert (dense[s[:-1], a[:-1], s[1:]] == 1).all()
    elif target == "next_state":
        assert all((a == -1).all() for a in drawn.actions)
    starts = np.bincount([s[0] for s in drawn.states], minlength=N_STATES) / 300
    np.testing.assert_allclose(starts, model.initial_states_, atol=0.12)
    counts = defaultdict(Counter)
    for _, path, chosen in choices(drawn, env, target):
        if chosen is not None:
            counts[newest(path, 2)][chosen] += 1
    checked = 0
    for h, row, stands_for in zip(model.histories_, model.policies_[0], meaning(model, target), strict=True):
        total = sum(counts[tuple(h.tolist())].values())
        if total < 100:
            continue
        for option, probability in zip(stands_for, row, strict=True):
            if option is not None:
                share = counts[tuple(h.tolist())][option] / total
                assert abs(share - probability) < 4.5 * np.sqrt(probability * (1 - probability) / total) + 1e-9
                checked += 1
    assert checked > 20


def test_a_seed_is_a_sample():
    a, b, c = (fitted().sample(3, 20, random_state=seed) for seed in (0, 0, 1))
    assert [x.tolist() for x in a.states] == [x.tolist() for x in b.states]
    assert [x.tolist() for x in a.states] != [x.tolist() for x in c.states]
    # What is drawn can be read again, and scored.
    assert np.isfinite(fitted().score(a))
