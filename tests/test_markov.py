"""Back-off Markov models against counts in a dict, choices against brute force, and what a user meets."""

from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from small_worlds import N_ACTIONS, N_STATES, world
from swirl.baselines import markov
from swirl.baselines.markov import BackoffMarkov
from swirl.estimator import NotFittedError, UnseenStatesWarning
from swirl.folding import folds
from swirl.mdp import MDP
from swirl.registry import load
from swirl.trajectories import Trajectories

KINDS, TARGETS = ("deterministic", "stochastic"), ("action", "next_state")
KAPPAS = (2.0, 0.7, 5.0, 0.3)  # one for each order, no two alike
ARRAYS = ("policies_", "strengths_", "fold_scores_", "histories_", "initial_states_", "seen_states_")


# The oracle: counts in dicts, the recursion as it is written, no code of swirl but the containers


def choices(data, env, target):
    """(session, the segment's states newest first, what was chosen or None) of each step."""
    dense, deterministic = env.dense(), env.is_deterministic
    for i in range(len(data)):
        states, actions = data.states[i].tolist(), data.actions[i].tolist()
        acted = any(a >= 0 for a in actions)
        for first, end in data.segments(i):
            for t in range(first, end):
                chosen = actions[t] if actions[t] >= 0 else None
                if target == "next_state":
                    if deterministic and acted:
                        chosen = None if chosen is None else int(np.argmax(dense[states[t], chosen]))
                    else:
                        chosen = states[t + 1] if t + 1 < end else None
                yield i, tuple(states[first : t + 1][::-1]), chosen


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
        self.counts = defaultdict(Counter)
        for _, path, chosen in choices(data, env, target):
            if chosen is not None:
                for order in range(len(strengths)):
                    self.counts[newest(path, order)][chosen] += 1

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
        """Of each session."""
        totals = np.zeros(len(data))
        for i, path, chosen in choices(data, env, target):
            if chosen is not None:
                totals[i] += np.log(self(path, chosen))
        return totals


@cache
def walk(kind="deterministic", seed=0, lengths=(50, 20, 35, 1, 2, 50)):
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
        actions.append(np.where(rng.random(length) < 0.1, -1, a))
    return Trajectories(states, actions, n_states=N_STATES, n_actions=N_ACTIONS)


@cache
def sessions(kind="deterministic", subjects=False):
    """Sessions of different lengths with gaps; two are short, one has no action at all."""
    base = walk(kind)
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
        path = tuple(s for s in h.tolist() if s >= 0)
        np.testing.assert_allclose(row, [0.0 if o is None else oracle(path, o) for o in stands_for], atol=1e-14)
    other = walk(kind, seed=1)
    for some in (data, other):
        expected = oracle.log_likelihoods(some, world(kind), target)
        np.testing.assert_allclose(model.log_likelihood(some, of=target), expected, rtol=1e-12)
        n = sum(chosen is not None for _, _, chosen in choices(some, world(kind), target))
        assert model.n_scored(some, of=target) == n
        assert model.score(some, of=target) == pytest.approx(expected.sum() / n, rel=1e-12)


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
    assert cut.histories_.tolist() == whole.histories_.tolist()
    row = {tuple(h): p for h, p in zip(cut.histories_.tolist(), cut.policies_[0], strict=True)}
    # At state 0: action 1 twice, action 0 once (the last step); order 0 has three of each in all.
    lower = (np.array([1, 2]) + np.array([3.5, 3.5]) / 7) / 4
    np.testing.assert_allclose(row[0, -1], (np.array([0, 2]) + lower) / 3)  # the session's start and the gap
    np.testing.assert_allclose(row[0, 1], (np.array([1, 0]) + lower) / 2)  # once: the last step, not the gap
    np.testing.assert_allclose(row[0, 0], lower)  # never: what order 1 says
    assert np.abs(whole.policies_ - cut.policies_).max() > 0.05


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
    assert by["action"].currencies == TARGETS
    assert by["next_state"].currencies == TARGETS[::-1]
    for model in by.values():
        for of in TARGETS:
            np.testing.assert_allclose(model.log_likelihood(data, of=of), by["action"].log_likelihood(data), rtol=1e-13)
    shared = fitted("deterministic", "next_state")  # two actions of state 2 lead to the same place
    assert shared.currencies == ("next_state",)
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
            steps += sum(chosen is not None for _, _, chosen in choices(data[fold], world(), target))
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
    data, strengths = sessions(), (3.0, 1.0)
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
    for target, options in (("action", {"order": 2}), ("next_state", {"order": 0, "strength": 2.5})):
        model = BackoffMarkov(world(), target=target, **options).fit(sessions())
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
    with pytest.raises(ValueError, match="no action was observed in any session"):
        BackoffMarkov(world(), order=1, strength=1.0).fit(blind)
    lone = Trajectories([[0], [1]], n_states=N_STATES, n_actions=N_ACTIONS)
    with pytest.raises(ValueError, match="no next state was observed in any session"):
        BackoffMarkov(world(), order=1, strength=1.0, target="next_state").fit(lone)
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
