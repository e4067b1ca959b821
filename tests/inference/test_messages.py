"""The messages against enumeration, plain loops and hmmlearn; their promises on padding, −inf and time."""

import jax
import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM

import reference_messages as reference
from swirl import precision
from swirl.inference import messages

EXACT = {"rtol": 0, "atol": 1e-10}
JITTED = {kernel: jax.jit(kernel) for kernel in (messages.forward, messages.smooth, messages.pairs, messages.viterbi)}


def run(kernel, log_initial, log_transitions, log_likelihoods, length=None):
    length = len(log_likelihoods) if length is None else length
    with precision.float64():
        return precision.numpy_tree(JITTED[kernel](log_initial, log_transitions, log_likelihoods, length))


def everything(*chain, length=None):
    forward = run(messages.forward, *chain, length=length)
    viterbi = run(messages.viterbi, *chain, length=length)
    return {
        "log_normaliser": forward.log_normaliser,
        "log_increments": forward.log_increments,
        "filtered": forward.filtered,
        "predicted": forward.predicted,
        "marginals": run(messages.smooth, *chain, length=length),
        "pairs": run(messages.pairs, *chain, length=length),
        "path": viterbi.path,
        "path_log_probability": viterbi.log_probability,
    }


def normalised(log_weights):
    with np.errstate(divide="ignore"):
        weights = np.exp(log_weights)
        return np.log(weights / weights.sum(axis=-1, keepdims=True))


def with_impossible_entries(log_initial, log_transitions, log_likelihoods):
    """The chain with impossible starts, moves and actions, yet possible as a whole."""
    log_initial[0] = -np.inf
    log_transitions[:, 1, 2] = -np.inf
    log_transitions[2, 0, 1:] = -np.inf
    log_likelihoods[1, 1] = -np.inf
    log_likelihoods[4, [0, 2]] = -np.inf
    return normalised(log_initial), normalised(log_transitions), log_likelihoods


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["plain", "missing", "impossible entries"])
def test_enumeration_of_all_mode_paths(seed, kind):
    chain = reference.random_chain(np.random.default_rng(seed))
    if kind == "missing":
        chain[2][[0, 3]] = 0.0
    if kind == "impossible entries":
        chain = with_impossible_entries(*chain)
    expected, got = reference.by_enumeration(*chain), everything(*chain)
    assert expected.keys() == got.keys()
    for name in expected:
        np.testing.assert_allclose(got[name], expected[name], err_msg=name, **EXACT)


@pytest.mark.slow
@pytest.mark.parametrize("n_modes", [1, 3])
def test_each_scan_equals_its_plain_loop(n_modes):
    chain = reference.random_chain(np.random.default_rng(n_modes), n_steps=150, n_modes=n_modes)
    got = everything(*chain)
    increments, filtered, predicted = reference.forward_loop(*chain)
    np.testing.assert_allclose(got["log_increments"], increments, **EXACT)
    np.testing.assert_allclose(got["filtered"], filtered, **EXACT)
    np.testing.assert_allclose(got["predicted"], predicted, **EXACT)
    np.testing.assert_allclose(got["log_normaliser"], increments.sum(), rtol=1e-12)
    np.testing.assert_allclose(got["marginals"], reference.smooth_loop(*chain), **EXACT)
    np.testing.assert_allclose(got["pairs"], reference.pairs_loop(*chain), **EXACT)
    path, log_probability = reference.viterbi_loop(*chain)
    np.testing.assert_array_equal(got["path"], path)
    np.testing.assert_allclose(got["path_log_probability"], log_probability, rtol=1e-12)


def test_hmmlearn_agrees_on_a_homogeneous_chain():
    rng = np.random.default_rng(7)
    n_modes, n_symbols, n_steps = 3, 5, 150
    hmm = CategoricalHMM(n_components=n_modes, n_features=n_symbols)
    hmm.startprob_ = rng.dirichlet(np.ones(n_modes))
    hmm.transmat_ = rng.dirichlet(np.ones(n_modes), size=n_modes)
    hmm.emissionprob_ = rng.dirichlet(np.ones(n_symbols), size=n_modes)
    symbols = rng.integers(n_symbols, size=n_steps)
    chain = (
        np.log(hmm.startprob_),
        np.log(np.broadcast_to(hmm.transmat_, (n_steps, n_modes, n_modes))),
        np.log(hmm.emissionprob_[:, symbols].T),
    )
    got = everything(*chain)
    column = symbols[:, None]
    log_probability, path = hmm.decode(column, algorithm="viterbi")
    np.testing.assert_allclose(got["log_normaliser"], hmm.score(column), rtol=1e-12)
    np.testing.assert_allclose(got["marginals"], hmm.predict_proba(column), **EXACT)
    np.testing.assert_allclose(got["path_log_probability"], log_probability, rtol=1e-12)
    np.testing.assert_array_equal(got["path"], path)


def test_pairs_sum_to_the_marginals():
    got = everything(*reference.random_chain(np.random.default_rng(3), n_steps=150))
    np.testing.assert_allclose(got["pairs"][:-1].sum(axis=2), got["marginals"][:-1], **EXACT)
    np.testing.assert_allclose(got["pairs"][:-1].sum(axis=1), got["marginals"][1:], **EXACT)


def test_missing_actions_add_nothing_to_the_score():
    log_initial, log_transitions, log_likelihoods = reference.random_chain(np.random.default_rng(1))
    log_likelihoods[[2, 5]] = 0.0
    got = everything(log_initial, log_transitions, log_likelihoods)
    np.testing.assert_allclose(got["log_increments"][[2, 5]], 0.0, atol=1e-14)
    np.testing.assert_allclose(got["filtered"][[2, 5]], got["predicted"][[2, 5]], **EXACT)


@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("rubbish", [np.nan, -np.inf, 50.0])
def test_padding_changes_nothing(length, rubbish):
    log_initial, log_transitions, log_likelihoods = reference.random_chain(np.random.default_rng(2), n_steps=5)
    short = reference.by_enumeration(log_initial, log_transitions[:length], log_likelihoods[:length])
    padded_transitions = np.full((12, 3, 3), rubbish)
    padded_transitions[: length - 1] = log_transitions[: length - 1]  # even the unused last row is rubbish
    padded_likelihoods = np.full((12, 3), rubbish)
    padded_likelihoods[:length] = log_likelihoods[:length]
    padded = everything(log_initial, padded_transitions, padded_likelihoods, length=length)
    for name in ("log_normaliser", "path_log_probability"):
        np.testing.assert_allclose(padded[name], short[name], err_msg=name, **EXACT)
    for name in ("log_increments", "filtered", "predicted", "marginals", "pairs"):
        np.testing.assert_allclose(padded[name][:length], short[name], err_msg=name, **EXACT)
        np.testing.assert_array_equal(padded[name][length:], 0.0, err_msg=name)
    np.testing.assert_array_equal(padded["path"][:length], short["path"])
    np.testing.assert_array_equal(padded["path"][length:], short["path"][-1])


def test_a_chain_of_length_zero_says_nothing():
    got = everything(*reference.random_chain(np.random.default_rng(2)), length=0)
    for name in got.keys() - {"path"}:
        np.testing.assert_array_equal(got[name], 0.0, err_msg=name)


def test_filter_does_not_see_the_future():
    log_initial, log_transitions, log_likelihoods = reference.random_chain(np.random.default_rng(5))
    now = everything(log_initial, log_transitions, log_likelihoods)
    log_likelihoods[4:] = [[-9.0, 0.0, -1.0], [-np.inf, -3.0, 0.0]]
    log_transitions[4:] = log_transitions[4:, ::-1]
    later = everything(log_initial, log_transitions, log_likelihoods)
    for name in ("filtered", "log_increments"):
        np.testing.assert_array_equal(later[name][:4], now[name][:4], err_msg=name)
    np.testing.assert_array_equal(later["predicted"][:5], now["predicted"][:5])
    assert np.abs(later["marginals"][:4] - now["marginals"][:4]).max() > 1e-3


def test_likelihoods_of_exp_minus_2000_are_exact():
    chain = reference.random_chain(np.random.default_rng(8), n_steps=6)
    offsets = np.array([0.0, -2000.0, -2000.0, -700.0, -2000.0, -2000.0])
    usual = everything(*chain)
    tiny = everything(chain[0], chain[1], chain[2] + offsets[:, None])
    np.testing.assert_allclose(tiny["log_increments"] - offsets, usual["log_increments"], rtol=0, atol=1e-11)
    for name in ("filtered", "predicted", "marginals", "pairs", "path"):
        np.testing.assert_allclose(tiny[name], usual[name], err_msg=name, **EXACT)


def test_a_mode_that_only_the_future_can_save():
    """Mode 1 is exp(−2000) behind after step 0, yet step 2 rules mode 0 out: linear space would lose it."""
    log_initial = np.array([np.log(0.5), np.log(0.5), -np.inf])
    log_transitions = np.where(np.eye(3) == 1, 0.0, -np.inf) * np.ones((6, 1, 1))
    log_likelihoods = np.zeros((6, 3))
    log_likelihoods[0, 1] = -2000.0
    log_likelihoods[2] = [-np.inf, -1.0, 0.0]
    got = everything(log_initial, log_transitions, log_likelihoods)
    np.testing.assert_allclose(got["log_normaliser"], np.log(0.5) - 2001.0, rtol=1e-14)
    np.testing.assert_allclose(got["marginals"], [[0.0, 1.0, 0.0]] * 6)
    np.testing.assert_array_equal(got["path"], [1] * 6)


@pytest.mark.parametrize("only_jointly", [False, True])
def test_an_impossible_action_is_passed_over_without_nan(only_jointly):
    log_initial, log_transitions, log_likelihoods = reference.random_chain(np.random.default_rng(4))
    if only_jointly:  # mode 0 is the only one left at step 2, and the only one excluded at step 3
        log_likelihoods[2, 1:] = -np.inf
        log_transitions[2, 0] = [0.0, -np.inf, -np.inf]
    missing, impossible = log_likelihoods.copy(), log_likelihoods.copy()
    missing[3] = 0.0
    impossible[3, : 1 if only_jointly else 3] = -np.inf
    expected = everything(log_initial, log_transitions, missing)
    got = everything(log_initial, log_transitions, impossible)
    assert got["log_normaliser"] == got["log_increments"][3] == got["path_log_probability"] == -np.inf
    for name in ("filtered", "predicted", "marginals", "pairs", "path"):
        np.testing.assert_allclose(got[name], expected[name], err_msg=name, **EXACT)


def test_kernels_vmap():
    chains = [reference.random_chain(np.random.default_rng(seed)) for seed in range(4)]
    stacked = [np.stack(parts) for parts in zip(*chains, strict=True)]
    with precision.float64():
        together = precision.numpy_tree(jax.vmap(messages.forward)(*stacked, np.array([6, 5, 1, 6])))
    alone = run(messages.forward, *chains[1], length=5)
    np.testing.assert_allclose(together.filtered[1], alone.filtered, **EXACT)
    np.testing.assert_allclose(together.log_normaliser[1], alone.log_normaliser, **EXACT)


def test_wrong_shapes_raise():
    log_initial, log_transitions, log_likelihoods = reference.random_chain(np.random.default_rng(0))
    with pytest.raises(TypeError, match="log_transitions"):
        messages.forward(log_initial, log_transitions[:, :2], log_likelihoods, 6)


# ---- lists of sessions -----------------------------------------------------------------------------------


def random_sessions(seed, lengths, n_modes=3, n_states=4):
    rng = np.random.default_rng(seed)
    table = np.log(rng.dirichlet(np.ones(n_modes), size=(n_states, n_modes)))
    states = [rng.integers(n_states, size=length) for length in lengths]
    log_likelihoods = [np.log(rng.uniform(0.01, 1.0, size=(length, n_modes))) for length in lengths]
    return np.log(rng.dirichlet(np.ones(n_modes))), table, states, log_likelihoods


@pytest.mark.slow
@pytest.mark.parametrize("cut", ["one batch", "small batches"])
def test_sessions_equal_chains_one_by_one(monkeypatch, cut):
    if cut == "small batches":
        monkeypatch.setattr(messages, "STEPS_WORTH_COMPILING", 0)
        monkeypatch.setattr(messages, "STEPS_PER_BATCH", 48)
    lengths = [32, 1, 25, 3, 16, 32]
    log_initial, table, states, log_likelihoods = sessions = random_sessions(0, lengths)
    filtered, increments, predicted = messages.filter_sessions(*sessions)
    marginals = messages.smooth_sessions(*sessions)
    paths = messages.viterbi_sessions(*sessions)
    assert [len(path) for path in paths] == lengths
    for i in range(len(lengths)):
        chain = (log_initial, table[states[i]], log_likelihoods[i])
        expected_increments, expected_filtered, expected_predicted = reference.forward_loop(*chain)
        np.testing.assert_allclose(increments[i], expected_increments, **EXACT)
        np.testing.assert_allclose(filtered[i], expected_filtered, **EXACT)
        np.testing.assert_allclose(predicted[i], expected_predicted, **EXACT)
        np.testing.assert_allclose(marginals[i], reference.smooth_loop(*chain), **EXACT)
        np.testing.assert_array_equal(paths[i], reference.viterbi_loop(*chain)[0])
        assert type(marginals[i]) is np.ndarray
        assert marginals[i].dtype == np.float64


def test_no_sessions_give_no_results():
    log_initial, table, _, _ = random_sessions(0, [])
    assert messages.smooth_sessions(log_initial, table, [], []) == []
    assert messages.filter_sessions(log_initial, table, [], []) == ([], [], [])


def test_many_lengths_compile_few_times(monkeypatch):
    traces = []
    smooth = messages.smooth
    monkeypatch.setattr(messages, "smooth", lambda *chain: (traces.append(1), smooth(*chain))[1])
    # Seven modes: shapes that no other test has compiled.
    messages.smooth_sessions(*random_sessions(1, range(257, 384, 7), n_modes=7))
    assert len(traces) == 1
    for seed in range(5):  # 17 to 21 sessions fit the 24 rows that 19 sessions were given
        lengths = np.random.default_rng(seed).integers(1, 384, size=16 + seed)
        messages.smooth_sessions(*random_sessions(seed, [*lengths, 300], n_modes=7))
    assert len(traces) == 1


def test_long_data_are_not_padded_much():
    lengths = [1, 20, 500] * 10_000
    batches = list(messages._batches(lengths))
    assert sorted(session for _, sessions in batches for session in sessions) == list(range(30_000))
    assert sum(n_steps * len(sessions) for n_steps, sessions in batches) < 1.1 * sum(lengths)
    assert all(n_steps * len(sessions) <= messages.STEPS_PER_BATCH for n_steps, sessions in batches)


def test_buckets_are_tight():
    sizes = [*range(1, 70), 500, 1025, 100_000]
    assert [n for n in sizes if not n <= messages.bucket(n) <= 1.5 * n] == []
    assert [n for n in sizes if messages.bucket(messages.bucket(n)) != messages.bucket(n)] == []


def test_all_faults_of_the_sessions_are_named_at_once():
    log_initial, table, states, log_likelihoods = random_sessions(0, [5, 4, 3])
    states[1][2] = 9
    log_likelihoods[2] = log_likelihoods[2][:2]
    with pytest.raises(ValueError, match=r"states\[1\] is 9 at step 2.*log_likelihoods\[2\] has shape \(2, 3\)"):
        messages.viterbi_sessions(log_initial, table, states, log_likelihoods)
    with pytest.raises(ValueError, match="3 sessions"):
        messages.viterbi_sessions(log_initial, table, states[:1] * 3, log_likelihoods[:1])
