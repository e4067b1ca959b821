"""Whether restarts came to the same result: the rule where the answer is known, and what is said of it."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swirl
from small_worlds import two_factors
from swirl.analysis import grid_search
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld
from swirl.estimators.autoregression import MatrixNormal
from swirl.estimators.em_estimator import EMEstimator
from swirl.estimators.fit_warnings import FEW_NATS, SAME_ARI, SAME_POLICIES, RestartAgreement, cautions

# ---------------------------------------------------------------------- the rule, on numbers


def found(ari, apart, behind, n_modes=2, kept=0):
    return RestartAgreement(kept, n_modes, np.array(ari), np.array(apart), np.array(behind))


def test_the_same_is_both_segmentations_and_policies():
    agreement = found(
        [1.0, SAME_ARI, SAME_ARI - 1e-9, 1.0, np.nan], [0.0, SAME_POLICIES, 0.0, SAME_POLICIES + 1e-9, np.nan],
        [0.0, 40.0, 0.0, 9.0, np.nan],
    )  # fmt: skip
    assert agreement.same.tolist() == [True, True, False, False, False]
    assert (agreement.n_same, agreement.n_restarts, agreement.rivals.tolist()) == (2, 5, [2])


@given(st.floats(-1.0, SAME_ARI - 1e-6), st.floats(0.0, 1.0))
def test_an_equal_objective_never_makes_two_results_the_same(ari, apart):
    agreement = found([1.0, ari], [0.0, apart], [0.0, 1e-9])
    assert agreement.n_same == 1
    assert agreement.rivals.tolist() == [1]
    assert {"restarts", "rivals"} <= set(cautions(True, 2, agreement, [0.5, 0.5], ["a", "b"]))


def test_weight_is_the_share_of_the_same_result_by_likelihood():
    behind = np.array([0.0, 0.5, 1.0, np.nan])
    some = found([1.0, 0.95, 0.1, np.nan], [0.0, 0.01, 0.3, np.nan], behind)
    assert some.weight == pytest.approx((1 + np.exp(-0.5)) / (1 + np.exp(-0.5) + np.exp(-1)))
    assert found([1.0, 0.2], [0.0, 0.3], [0.0, -2.0]).weight == pytest.approx(1 / (1 + np.exp(2)))
    assert found([1.0, 1.0], [0.0, 0.0], [0.0, 7.0]).weight == 1.0


def test_the_sentence_names_those_that_are_as_good():
    two = found([1.0, 0.98, 0.14, 0.49, 0.0], [0.0, 0.01, 0.3, 0.2, 0.5], [0.0, 0.2, 2.6, 0.4, FEW_NATS + 1])
    assert two.sentence() == (
        "2 of 5 restarts came to the same result (segmentations and policies; 71 % by weight); 2 others are within 3 "
        "nats of it with other modes (ARI 0.49, 0.14)"
    )
    assert found([1.0], [0.0], [0.0]).sentence() == "the only restart"
    one = found([1.0, 1.0], [0.0, 0.2], [0.0, 9.0], n_modes=1)
    assert one.sentence() == "1 of 2 restarts came to the same result (policies; 99.99 % by weight)"
    higher = found([1.0, 0.3], [0.0, 0.2], [0.0, -2.0])  # another restart than the best was taken
    assert higher.rival_words() == "1 other is above it with other modes (ARI 0.30)"
    close = found([1.0, 0.95], [0.0, 0.08], [0.0, 0.5])
    assert "(ARI 0.95 but policies 0.08 apart)" in close.sentence()
    many = found([1.0, *[0.1] * 6], [0.0, *[0.3] * 6], [0.0, *[1.0] * 6])
    assert many.rival_words() == "6 others are within 1 nat of it with other modes (ARI 0.10, 0.10, 0.10, 0.10, …)"


def solutions(ari, behind, numbers, error, n_modes=2):
    apart = np.where(np.array(numbers) == 0, 0.0, 0.2)
    given = np.array(ari, float), apart, np.array(behind, float), np.array(numbers), np.array(error, float)
    return RestartAgreement(0, n_modes, *given)


def test_starts_that_end_together_near_the_fit_are_told():
    nan = np.nan
    near = solutions([1, 1, *[0.49] * 6], [0, 0, *[7.01] * 6], [0, 0, *[1] * 6], [nan, nan, *[7.6] * 6])
    assert [(one.restart, one.n, one.nats_behind) for one in near.near] == [(2, 6, 7.01)]
    words = "most starting points (6 of 8) ended together 7 nats behind, with other modes (segmentations agree at ARI "
    assert near.near_words() == f"{words}0.49)"
    assert near.sentence().endswith(near.near_words())
    told = cautions(True, 8, near, [0.5, 0.5], ["a", "b"])
    assert list(told) == ["near"]
    assert "standard error of 8 nats" in told["near"]
    few = solutions([1, 1, 1, 1, 1, 0.4], [0] * 5 + [9], [0] * 5 + [1], [nan] * 5 + [6])
    assert few.near_words().startswith("1 of 6 starting points ended 9 nats behind")
    one = solutions([1, 1, 1], [0, 0, 9], [0, 0, 1], [nan, nan, 6], n_modes=1)
    assert one.near_words().endswith("with other policies (0.20 apart)")


@pytest.mark.parametrize(
    ("behind", "error"),
    [(7.01, 3.0), (300.0, 20.0), (7.01, np.nan)],  # two standard errors and more; how much is not known
)
def test_a_clear_optimum_is_called_clear(behind, error):
    clear = solutions([1, 1, *[0.49] * 6], [0, 0, *[behind] * 6], [0, 0, *[1] * 6], [np.nan] * 2 + [error] * 6)
    assert clear.near == () == clear.others
    assert clear.near_words() == ""
    assert cautions(True, 8, clear, [0.5, 0.5], ["a", "b"]) == {}
    assert clear.sentence().endswith("by weight)")


def test_rivals_are_not_told_twice():
    both = solutions([1, 1, 0.3, 0.5], [0, 0, 3, 8], [0, 0, 1, 2], [np.nan, np.nan, 5, 5])
    assert both.rivals.tolist() == [2]
    assert [one.restart for one in both.near] == [3]
    assert [one.restart for one in both.others] == [2, 3]


def test_cautions_say_what_to_do():
    alone = found([1.0, *[0.5] * 7], [0.0, *[0.3] * 7], [0.0, *[50.0] * 7])
    told = cautions(True, 8, alone, [0.985, 0.015], ["a", "b"])
    assert list(told) == ["restarts", "modes"]
    assert "--restarts 32" in told["restarts"]
    raced = cautions(True, 8, alone, [0.5, 0.5], ["a", "b"], 32)["restarts"]
    assert "Only one of 8 starting points that went to their end, of 32, came" in raced
    assert "--restarts 128" in raced
    agreed = found(np.ones(8), np.zeros(8), np.zeros(8))
    assert list(cautions(False, 8, agreed, [0.985], ["a"])) == ["converged"]
    assert cautions(None, None, None, [0.5, 0.5], ["a", "b"]) == {}
    assert "not known" in cautions(True, 8, None, [0.5, 0.5], ["a", "b"])["restarts"]
    # Two agree, and yet another is as good with other modes.
    rival = found([1.0, 1.0, 0.1], [0.0, 0.0, 0.4], [0.0, 0.1, 0.2])
    assert list(cautions(True, 3, rival, [0.5, 0.5], ["a", "b"])) == ["rivals"]


# ---------------------------------------------------------------------- fits whose answer is known


def by_hand(model, parameters):
    """The model as if each of these had been a restart of the same objective."""
    made = copy(model)
    one = model.restarts_[model.best_restart_]
    made.restarts_ = [replace(one, parameters=own, occupancy=share) for own, share in parameters]
    made.best_restart_ = 0
    return made._use_restart(0)


@pytest.fixture(scope="module")
def bits():
    env, data = two_factors()
    model = swirl.SWIRL(
        env, n_modes=2, history=1, reward="state-action", switching="independent", n_restarts=6, random_state=1
    )
    return model.fit(data), data


def permuted(parameters, order):
    """The parameters of a restart with its modes renumbered; tables [mode, …], and switching [mode, mode]."""
    import jax

    def leaf(x):
        x = np.asarray(x)
        axes = [axis for axis, n in enumerate(x.shape) if n == len(order)]
        for axis in axes:
            x = np.take(x, order, axis=axis)
        return x

    return jax.tree.map(leaf, parameters)


def test_numbers_of_modes_mean_nothing(bits):
    model, data = bits
    kept = model.restarts_[model.best_restart_]
    other = permuted(kept.parameters, [1, 0])
    made = by_hand(model, [(kept.parameters, kept.occupancy), (other, kept.occupancy)])  # not in order of occupancy
    assert not np.allclose(made.use_restart(1).policies_, made.policies_)
    agreement = made.compare_restarts(data)
    np.testing.assert_allclose(agreement.ari, 1.0)
    np.testing.assert_allclose(agreement.policy_distance, 0.0, atol=1e-12)
    assert agreement.n_same == 2


def test_restarts_of_one_other_solution_are_one(bits):
    """Two optima and their copies with modes renumbered: two solutions, and the error of a hand-made difference."""
    model, data = bits
    other = int(np.argmin(model.restart_agreement_.ari))
    a, b = model.restarts_[model.best_restart_], model.restarts_[other]
    turned = [(permuted(r.parameters, [1, 0]), r.occupancy[::-1]) for r in (a, b)]
    made = by_hand(model, [(a.parameters, a.occupancy), (b.parameters, b.occupancy), *turned])
    agreement = made.compare_restarts(data)
    assert agreement.solution.tolist() == [0, 1, 0, 1]
    apart = made.log_likelihood(data) - made.use_restart(1).log_likelihood(data)  # sessions are equally long
    error = np.sqrt(len(data)) * np.std(apart, ddof=1)
    np.testing.assert_allclose(agreement.error, [np.nan, error, np.nan, error])
    assert np.isnan(made.compare_restarts(data[:4]).error).all()  # of so few, the spread is not known


def test_equal_objectives_with_other_modes_are_not_the_same(bits):
    model, data = bits
    agreement = model.restart_agreement_
    # Modes that follow the one bit and modes that follow the other are two optima; restarts find both.
    other = int(np.argmin(agreement.ari))
    assert agreement.ari[other] < 0.3
    assert agreement.nats_behind[other] < 0.05
    assert other in agreement.rivals
    assert agreement.n_same >= 2
    assert "with other modes (ARI" in model.fit_report_
    assert len(cautions(True, 6, agreement, [0.5, 0.5], "ab")) == 1  # rivals, though two agree
    pair = [model.restarts_[i] for i in (model.best_restart_, other)]
    made = by_hand(model, [(r.parameters, r.occupancy) for r in pair])
    forced = made.compare_restarts(data)
    assert forced.nats_behind.tolist() == [0.0, 0.0]
    assert forced.same.tolist() == [True, False]
    assert forced.rivals.tolist() == [1]
    assert "with other modes (ARI" in forced.sentence()
    assert sum("with other modes" in text for text in cautions(True, 2, forced, [0.5, 0.5], "ab").values()) == 1


@pytest.mark.slow
def test_one_optimum_is_found_by_all():
    world = gridworld(n_sessions=40, n_steps=200)
    model = swirl.SWIRL(world.env, n_modes=2, history=2, n_restarts=3, max_iter=300).fit(world.trajectories)
    assert model.restart_agreement_.n_same == 3, model.fit_report_
    assert "3 of 3 restarts came to the same result (segmentations and policies)" in model.fit_report_


def test_the_policy_distance_is_a_mean_over_the_steps(bits):
    model, data = bits
    other = int(np.argmin(model.restart_agreement_.ari))
    theirs = model.use_restart(other)
    mine, modes = np.concatenate(model.predict(data)), np.concatenate(theirs.predict(data))
    together = np.array([[np.sum((mine == i) & (modes == j)) for j in range(2)] for i in range(2)])
    counterpart = [0, 1] if np.trace(together) >= together.sum() / 2 else [1, 0]
    steps = [0.5 * np.abs(model.policies_[z, 0] - theirs.policies_[counterpart[z], 0]).sum() for z in mine]
    assert model.restart_agreement_.policy_distance[other] == pytest.approx(np.mean(steps))


@pytest.mark.slow
def test_with_one_mode_only_policies_matter():
    world = gridworld(n_sessions=4, n_steps=50)
    model = swirl.SWIRL(world.env, n_modes=1, history=1, n_restarts=2, max_iter=100).fit(world.trajectories)
    np.testing.assert_array_equal(model.restart_agreement_.ari, 1.0)
    assert "2 of 2 restarts came to the same result (policies)" in model.fit_report_


# ---------------------------------------------------------------------- every estimator, and its file


def small_fits():
    world = gridworld(n_sessions=6, n_steps=40)
    rng = np.random.default_rng(0)
    walk = [np.cumsum(rng.normal(size=(50, 2)), axis=0) for _ in range(4)]
    signal = Trajectories.from_signals({"signal": walk}, actions=[rng.integers(2, size=50) for _ in walk])
    few = {"n_restarts": 2, "max_iter": 5}
    baselines = swirl.baselines
    return {
        "SWIRL": (swirl.SWIRL(world.env, history=1, **few), world.trajectories),
        "ARHMM": (baselines.ARHMM(world.env, **few), world.trajectories),
        "IQLearn": (baselines.IQLearn(world.env, history=1, **few), world.trajectories),
        "IQNetwork": (baselines.IQNetwork(hidden=4, **few), signal),
        "GaussianARHMM": (baselines.GaussianARHMM(prior=MatrixNormal(), **few), signal),
        "DriftingReward": (baselines.DriftingReward(world.env, **few), world.trajectories),
    }


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("IQNetwork", "IQLearn", "DriftingReward")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SWIRL", "ARHMM", "GaussianARHMM", *SLOW])
def test_every_estimator_says_it_and_its_file_keeps_it(name, tmp_path):
    model, data = small_fits()[name]
    model.fit(data)
    agreement = model.restart_agreement_
    assert agreement.n_restarts == 2
    assert np.isfinite([agreement.ari, agreement.policy_distance, agreement.nats_behind]).all()
    assert np.all((agreement.policy_distance >= 0) & (agreement.policy_distance <= 1))
    assert agreement.policy_distance[agreement.kept] == agreement.nats_behind[agreement.kept] == 0
    assert f"{agreement.sentence()}." in model.fit_report_
    again = swirl.load(model.save(tmp_path / "fit.nc"))
    for part in ("kept", "n_modes", "ari", "policy_distance", "nats_behind", "solution", "error"):
        np.testing.assert_array_equal(getattr(again.restart_agreement_, part), getattr(agreement, part))
    assert again.fit_report_ == model.fit_report_


@pytest.mark.slow
def test_an_older_file_is_read_and_can_be_compared(tmp_path):
    model, data = small_fits()["SWIRL"]
    model.fit(data, compare_restarts=False)
    assert model.restart_agreement_ is None
    assert model.fit_report_.endswith("; the best of 2 restarts.")
    old = swirl.load(model.save(tmp_path / "fit.nc"))
    assert old.restart_agreement_ is None
    fresh = type(model)(**model.get_params()).fit(data)
    np.testing.assert_allclose(old.compare_restarts(data).ari, fresh.restart_agreement_.ari)


def test_another_restart_is_another_reference():
    model, data = small_fits()["ARHMM"]
    model.fit(data)
    best = model.best_restart_
    assert model.use_restart(best).restart_agreement_ is model.restart_agreement_
    assert model.use_restart(best).fit_report_ == model.fit_report_
    other = model.use_restart(1 - best)
    assert other.restart_agreement_ is None
    assert other.fit_report_.endswith("nats behind the best of 2 restarts.")
    assert other.compare_restarts(data).nats_behind[best] == pytest.approx(-model.restart_agreement_.nats_behind.max())


def test_a_restart_that_failed_is_not_compared():
    model, data = small_fits()["ARHMM"]
    model.fit(data)
    failed = 1 - model.best_restart_
    one = model.restarts_[failed]
    trace = np.where(np.arange(len(one.objective_trace)) < one.n_iterations, one.objective_trace, np.nan)
    model.restarts_[failed] = replace(one, objective_trace=trace, status="not finite")
    agreement = model.compare_restarts(data)
    assert np.isnan(agreement.ari[failed])
    assert (agreement.n_same, len(agreement.rivals)) == (1, 0)


def test_folds_and_interruptions_do_without(monkeypatch):
    def stop(self, data):
        raise KeyboardInterrupt

    monkeypatch.setattr(EMEstimator, "compare_restarts", stop)
    model, data = small_fits()["ARHMM"]
    assert model.fit(data).restart_agreement_ is None  # Ctrl-C while comparing: the fit is kept
    assert model.predict(data)
    asked = []
    monkeypatch.setattr(EMEstimator, "compare_restarts", lambda self, data: asked.append(1))
    grid_search.choose(model, data, {"n_modes": [1, 2]}, n_folds=2)
    assert not asked
