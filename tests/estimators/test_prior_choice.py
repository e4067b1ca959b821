"""The prior that a fit chooses for itself: its cross-validation against a plain loop, and what it chooses where."""

from dataclasses import replace

import numpy as np
import pytest

from swirl.data.folds import folds
from swirl.data.histories import Histories
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld, gridworld_env
from swirl.estimators.prior_choice import LEAST, fold_counts, prior_scores
from swirl.estimators.registry import load
from swirl.estimators.swirl import SWIRL
from swirl.inference import em
from swirl.inference.engines import emission_counts
from swirl.priors import Adaptive, Cauchy, Gaussian, in_units
from swirl.report.methods import _prior

CANDIDATES = (Cauchy(), Gaussian(0.1, backoff=3.0, of="value"), Gaussian(30.0, backoff=3.0, of="value"))


@pytest.fixture(scope="module")
def world():
    return gridworld(n_sessions=9, n_steps=120, random_state=3)


def with_dense_rewards(n_sessions, n_steps, size=2.0):
    """One mode in the grid, every history worth something: the opposite of a few sharp goals."""
    env = gridworld_env()
    histories = Histories.reachable(env.successors, 2)
    rewards = size * np.random.default_rng(0).standard_normal((1, histories.n_histories))
    truth = SWIRL.from_parameters(
        env, history=2, rewards=rewards, histories=histories.table, mode_transitions=np.ones((1, 1)), initial_modes=[1]
    )
    return env, truth.sample(n_sessions, n_steps, random_state=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "prior",
    [pytest.param(CANDIDATES[0], marks=pytest.mark.slow), *CANDIDATES[1:]],
    ids=lambda prior: type(prior).__name__,
)
def test_for_one_mode_it_is_cross_validation(world, prior):
    data = world.trajectories
    model = SWIRL(world.env, n_modes=1, history=2, n_restarts=2, reward_prior=prior)
    found = prior_scores([model], data, n_folds=3)
    total = 0.0
    for part in folds(data, 3):
        rest = data[np.setdiff1d(np.arange(len(data)), part)]
        total += model.fit(rest).session_scores(data[part], of="action").sum()
    assert found[0] == pytest.approx(total / data.lengths.sum(), abs=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, True])
def test_folds_add_up_to_the_e_step(world, missing):
    data = world.trajectories
    if missing:
        hidden = np.random.default_rng(0).random((len(data), 120)) < 0.3
        actions = [np.where(gone, -1, own) for gone, own in zip(hidden, data.actions, strict=True)]
        data = Trajectories(data.states, actions, n_states=data.n_states, n_actions=data.n_actions)
    model = SWIRL(world.env, n_modes=2, history=2, n_restarts=1, max_iter=5, reward_prior=CANDIDATES[1]).fit(data)
    problem, parameters = model._problem(data), model.restarts_[0].parameters
    parts = fold_counts(problem, parameters, folds(data, 3)).emissions
    tables, _ = em.unpack(replace(problem.components, latent=None), parameters)
    if not missing:
        np.testing.assert_allclose(parts.sum(axis=0), emission_counts(tables, problem.chains), atol=1e-10)
    informative = problem.encoded.telling.sum()
    assert parts.sum() == pytest.approx(informative)


@pytest.mark.slow
def test_sharp_goals_and_dense_rewards_get_other_priors(world):
    sharp = gridworld(n_sessions=20, n_steps=300, random_state=0)
    found = SWIRL(sharp.env, n_modes=2, history=2, n_restarts=3, max_iter=60).fit(sharp.trajectories)
    assert found.reward_prior_ == Cauchy()
    env, data = with_dense_rewards(20, 300)
    found = SWIRL(env, n_modes=1, history=2, n_restarts=3, max_iter=60).fit(data)
    assert found.reward_prior_ != Cauchy()
    assert found.prior_scores_.max() - found.prior_scores_[0] > 0.01  # what the fixed default would have cost
    assert found.chosen_ == {"reward_prior": found.reward_prior_}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4])
def test_with_few_data_the_modes_of_the_pilot_do_not_decide(seed):
    """Its modes have taken up noise: given them, weak priors would be ahead by 0.01 nats in these draws."""
    few = gridworld(n_sessions=18, n_steps=100, random_state=seed)
    priors = Adaptive().candidates
    models = [SWIRL(few.env, n_modes=2, history=2, n_restarts=3, reward_prior=prior) for prior in priors]
    found = prior_scores(models, few.trajectories, n_folds=3, pilot=2)
    assert priors[int(np.argmax(found))] == Cauchy()


@pytest.mark.slow
def test_the_unit_of_reward_does_not_matter(world):
    settings = {"n_modes": 1, "history": 2, "n_restarts": 2, "reward_prior": Adaptive(CANDIDATES)}
    warm = SWIRL(world.env, **settings).fit(world.trajectories)
    cold = SWIRL(world.env, temperature=0.1, **settings).fit(world.trajectories)
    np.testing.assert_allclose(cold.prior_scores_, warm.prior_scores_, atol=2e-5)
    assert cold.reward_prior_ == in_units(warm.reward_prior_, 0.1)


@pytest.mark.slow
def test_the_file_names_the_prior_that_was_chosen(world, tmp_path):
    made = SWIRL(world.env, n_modes=2, history=2, n_restarts=2, max_iter=8, reward_prior=Adaptive(CANDIDATES))
    made.fit(world.trajectories)
    again = load(made.save(tmp_path / "fit.nc"))
    assert again.reward_prior == made.reward_prior_ in CANDIDATES
    np.testing.assert_array_equal(again.prior_scores_, made.prior_scores_)
    assert again.reward_prior_ == made.reward_prior_
    assert again.chosen_ == made.chosen_ != {}
    assert "chosen on folds" in _prior(made)
    assert _prior(again) == _prior(made)
    assert isinstance(made.reward_prior, Adaptive)  # the next fit chooses anew
    before = made.objective_trace_[-1]
    made.fit(world.trajectories, resume=True)  # and going on does not
    assert made.objective_trace_[0] == pytest.approx(before)


@pytest.mark.slow
def test_one_session_takes_the_first(world):
    found = SWIRL(world.env, n_modes=1, history=2, n_restarts=1, max_iter=3).fit(world.trajectories[:1])
    assert found.reward_prior_ == Adaptive().candidates[0]
    assert found.prior_scores_ is None
    assert found.chosen_ == {}
    few = world.trajectories[:2]
    assert few.lengths.sum() < LEAST
    assert prior_scores([SWIRL(world.env, history=2)], few, n_folds=2) is None


def test_refusals(world):
    with pytest.raises(ValueError, match=r"candidates=\(\): expected one or more"):
        Adaptive(())
    with pytest.raises(ValueError, match="n_folds=1: expected a whole number of at least 2"):
        Adaptive(n_folds=1)
    with pytest.raises(ValueError, match=r"takes priors\.Dirichlet or priors\.Gaussian"):
        SWIRL(world.env, reward="state-action", reward_prior=Adaptive()).fit(world.trajectories)


@pytest.mark.slow
def test_an_interrupt_during_the_pilot_is_an_interrupt(world, monkeypatch):
    full = em.run

    def interrupted(*args, **options):
        return [replace(restart, status="interrupted") for restart in full(*args, **{**options, "max_iter": 1})]

    monkeypatch.setattr(em, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        SWIRL(world.env, n_modes=1, history=2, n_restarts=2).fit(world.trajectories)
