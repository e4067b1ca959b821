"""Power by simulation: measures mean what they say, the smallest design is the right one, and nothing is promised
where there is nothing to find.

How often its shares hold in fresh simulations takes thousands of fits: studies/power.py.
"""

from functools import cache

import numpy as np
import pytest

from small_worlds import truth, world
from swirl import SWIRL, datasets, make, selection
from swirl.analysis import power as module
from swirl.analysis.power import (
    Design,
    Power,
    Target,
    animal_like,
    designs_of,
    model_of,
    power_analysis,
    recovery,
    share_interval,
    simulated,
)
from swirl.analysis.tasks import Folder
from swirl.priors import Cauchy, Gaussian

FEW = {"n_restarts": 4, "max_iter": 300, "reward_prior": Cauchy(0.3)}


def found(right, ceiling=0.9, base=0.5, designs=None, **more):
    """Measured values where only what is decoded differs, [design][simulation]."""
    right = np.array(right, float)
    designs = designs or tuple(Design(1, 2 ** (i + 1), 100) for i in range(len(right)))
    fixed = {"ceiling": np.full(right.shape, float(ceiling)), "base": np.full(right.shape, float(base))}
    fine = {"goals": np.ones(right.shape), "policies": np.zeros(right.shape), "switching": np.zeros(right.shape)}
    measures = {"right": right, **fixed, **fine, **more.pop("measures", {})}
    return Power(designs, measures, more.pop("questions", ("modes",)), **more)


def test_an_interval_of_a_share():
    np.testing.assert_allclose(share_interval(18, 20), [0.683, 0.988], atol=1e-3)
    assert share_interval(0, 20)[0] == 0
    assert share_interval(20, 20)[1] == 1
    rng = np.random.default_rng(0)
    for p in (0.2, 0.5, 0.8, 0.95):
        held = [low <= p <= high for low, high in (share_interval(int(n), 40) for n in rng.binomial(40, p, 2000))]
        assert np.mean(held) > 0.94


def test_the_smallest_design_is_followed_by_none_that_fails():
    few, many = [0.6] * 10, [0.9] * 10
    assert found([few, many, many]).smallest() == Design(1, 4, 100)
    assert found([many, few, many]).smallest() == Design(1, 8, 100)  # luck of the first does not count
    assert found([many, many, few]).smallest() is None
    assert found([[0.9] * 8 + [0.5] * 2]).smallest() == Design(1, 2, 100)  # eight of ten are 80 %
    assert found([[0.9] * 7 + [0.5] * 3]).smallest() is None


def test_designs_are_larger_only_where_they_are_in_every_respect():
    designs = designs_of([1, 4], [4, 8], [100])
    assert [design.total for design in designs] == [400, 800, 1600, 3200]
    many, few = [0.9] * 5, [0.5] * 5
    by = {Design(1, 4, 100): few, Design(1, 8, 100): few, Design(4, 4, 100): many, Design(4, 8, 100): many}
    assert found([by[design] for design in designs], designs=designs).smallest() == Design(4, 4, 100)
    by = {Design(1, 4, 100): few, Design(1, 8, 100): many, Design(4, 4, 100): few, Design(4, 8, 100): many}
    assert found([by[design] for design in designs], designs=designs).smallest() == Design(1, 8, 100)


def test_what_is_decoded_is_measured_against_the_true_model_and_the_commonest_mode():
    result = found([[0.9, 0.86, 0.85, 0.5]])
    np.testing.assert_allclose(result.recovered, [[1, 0.9, 0.875, 0]])
    assert result.reached("modes").tolist() == [[True, True, False, False]]
    assert found([[0.9, 0.86]], target=Target(right=0.88)).reached("modes").tolist() == [[True, False]]


def test_goals_and_switching_belong_to_modes():
    result = found([[0.9, 0.5, 0.9]], questions=("modes", "goals", "switching"), measures={
        "goals": np.array([[1.0, 1.0, 0.2]]), "switching": np.array([[0.5, 0.0, 0.0]])})  # fmt: skip
    assert result.reached("goals").tolist() == [[True, False, False]]
    assert result.reached("switching").tolist() == [[False, False, True]]
    assert not result.reached().any()
    assert result.measures["goals"].shape == result.reached().shape


def test_where_the_true_model_cannot_tell_no_data_suffice():
    result = found([[0.55] * 20, [0.56] * 20], ceiling=0.55, base=0.5)
    assert result.smallest() is None
    assert result.verdict().startswith("No amount of data will distinguish these modes: the true model itself has 55 %")
    asked = found([[0.9] * 20], target=Target(right=0.95))
    assert asked.verdict().startswith("No amount of data will do: the true model itself has 90 %")


def test_the_answer_comes_first():
    result = found([[0.6] * 20, [0.9] * 18 + [0.6] * 2], questions=("modes", "switching"))
    lines = str(result).split("\n")
    assert lines[0] == (
        "4 sessions of 100 steps suffice: 18 of 20 simulated data sets gave back the modes and the switching "
        "(95 % interval 68 to 99 %)."
    )
    assert lines[2:4] == ["modes: 4 sessions of 100 steps", "switching: 4 sessions of 100 steps"]
    assert lines[5].split("  ")[0] == "design"
    assert "18/20" in lines[7]
    assert "more simulations would narrow it" in lines[-1]
    none = found([[0.6] * 20])
    assert none.verdict() == (
        "No design that was tried suffices. With the largest, 2 sessions of 100 steps, 0 of 20 simulated data sets "
        "gave back the modes (95 % interval 0 to 17 %); on average the fits have 60 % of the steps in the right mode, "
        "the true model 90 %. What lacks most: the modes, 0 data sets. Try more."
    )
    assert found([[0.9]], designs=(Design(1, 1, 50),)).verdict().startswith("1 session of 50 steps suffices: 1 of 1")
    assert found([[0.9]]).verdict().endswith("Fewer were not tried.")
    assert str(Design(3, 2, 50)) == "3 animals with 2 sessions of 50 steps each"
    assert found([[0.9]]).facts()["answer"] == {"n_animals": 1, "n_sessions": 2, "n_steps": 100}


class Given(SWIRL):
    """Its fit is a model that was there before."""

    answer = None

    def fit_to_score(self, data, **_):
        self.converged_ = True
        for name in ("predict", "choice_table", "reward_tables", "reward_map"):
            setattr(self, name, getattr(type(self).answer, name))
        self._histories = type(self).answer.histories
        self._params_at_fit = type(self).answer.fitted_params
        self.rewards_ = type(self).answer.rewards_
        self._set_chain(type(self).answer.mode_transitions_, type(self).answer.initial_modes_)
        return self


def measured(monkeypatch, answer):
    monkeypatch.setattr(Given, "answer", answer)
    return recovery(truth(), Given(world(), history=1), 0.0, 0.0, Design(1, 6, 60), 3)


def changed(table, rewards=None):
    own = truth()
    return SWIRL.from_parameters(
        own.env, history=1, rewards=own.rewards_ if rewards is None else rewards, mode_transitions=table,
        initial_modes=own.initial_modes_,
    )  # fmt: skip


def test_the_truth_is_as_good_as_it_gets_whatever_its_modes_are_called(monkeypatch):
    own = truth()
    best = measured(monkeypatch, own)
    assert best["right"] == best["ceiling"]
    assert (best["goals"], best["policies"], best["switching"]) == (1.0, 0.0, 0.0)
    turned = changed(own.mode_transitions_[:, ::-1, ::-1], own.rewards_[::-1])
    turned.initial_modes_ = own.initial_modes_[::-1]
    assert measured(monkeypatch, turned) == pytest.approx(best)


def test_a_model_that_never_switches_is_wrong_by_one(monkeypatch):
    never = measured(monkeypatch, changed(np.eye(2)))
    assert never["switching"] == pytest.approx(1.0)
    assert never["policies"] == 0.0


def test_policies_and_goals_of_other_rewards(monkeypatch):
    own = truth()
    other = measured(monkeypatch, changed(own.mode_transitions_, -own.rewards_))
    assert other["goals"] < 0.5
    assert other["policies"] > 0.2
    flat = measured(monkeypatch, changed(own.mode_transitions_, 0.5 * own.rewards_))
    assert flat["goals"] == 1.0  # the same places, wanted less
    assert 0 < flat["policies"] < other["policies"]


def test_data_sets_are_as_asked_for():
    data, decoded = simulated(truth(), Design(3, 2, 40), np.random.default_rng(0), 0.0, 0.5)
    assert data.lengths.tolist() == [40] * 6
    assert data.subjects == tuple(f"animal {i // 2}" for i in range(6))
    assert [len(path) for path in decoded] == [40] * 6
    assert 0.4 < np.mean(np.concatenate(data.actions) < 0) < 0.6
    alone, _ = simulated(truth(), Design(1, 2, 40), np.random.default_rng(0), 0.0, 1.0)
    assert (np.concatenate(alone.actions) < 0).all()


def test_animals_differ_as_much_as_was_asked_for():
    own, rng = truth(history=2), np.random.default_rng(0)
    drawn = [animal_like(own, 0.5, rng) for _ in range(200)]
    apart = np.array([animal.rewards_ - own.rewards_ for animal in drawn])
    np.testing.assert_allclose(apart.std(axis=0), 0.5, atol=0.12)
    places = own.histories.states
    assert all(np.ptp(apart[:, :, places == s], axis=2).max() < 1e-9 for s in range(5))  # of places, not of histories
    assert np.abs(drawn[0].policies_ - own.policies_).max() > 0.05


@pytest.mark.slow
def test_the_ceiling_is_what_each_animal_itself_would_decode():
    model = SWIRL(world(), history=1, reward="state-action", n_restarts=1, max_iter=20)
    asked = {"model": model, "n_animals": 3, "n_sessions": 2, "n_steps": 40, "n_simulations": 2}
    alike, apart = (power_analysis(truth(), between_animals=sd, **asked) for sd in (0.0, 2.0))
    assert alike.designs == apart.designs == (Design(3, 2, 40),)
    assert (apart.measures["ceiling"] != alike.measures["ceiling"]).all()
    data, decoded = simulated(
        truth(), Design(3, 2, 40), np.random.default_rng(module.seed_of(0, Design(3, 2, 40), 0)), 2.0, 0.0
    )
    own = np.mean(np.concatenate(decoded) == np.concatenate(data.modes))
    assert apart.measures["ceiling"][0, 0] == own
    assert apart.measures["policies"].mean() > alike.measures["policies"].mean()


def test_seeds_do_not_depend_on_what_else_is_asked_for():
    few, many = ([module.seed_of(0, Design(1, 4, 100), i) for i in range(n)] for n in (3, 5))
    assert many[:3] == few
    assert len({module.seed_of(r, Design(a, 4, 50), 0) for r in range(3) for a in (1, 2)}) == 6


@pytest.mark.slow
def test_each_fit_chooses_its_prior_anew():
    own = SWIRL(world(), history=1, n_restarts=1, max_iter=5).fit(truth().sample(12, 30))
    assert model_of(own).get_params() == own.get_params()
    own.reward_prior = own.reward_prior_  # as a file has it
    assert model_of(own).reward_prior is None
    given = SWIRL(world(), history=1, n_restarts=1, max_iter=5, reward_prior=Gaussian(0.5)).fit(truth().sample(4, 30))
    assert model_of(given).reward_prior == Gaussian(0.5)
    assert model_of(truth()).switching == "state"


@cache
def sketch():
    return datasets.sketched(datasets.gridworld_env(), [4, 20], dwell=20, temperature=0.5)


def of_grid(own, **more):
    return power_analysis(own, model=SWIRL(own.env, history=1, **FEW), n_simulations=4, **more)


@pytest.mark.slow
def test_plain_modes_are_found_and_more_data_do_no_worse():
    result = of_grid(sketch(), n_sessions=[1, 16], n_steps=60)
    assert result.smallest() is not None
    assert result.smallest("modes") is not None
    assert (np.diff(result.counts("switching")) >= 0).all()
    assert result.measures["switching"][1].mean() < 0.7 * result.measures["switching"][0].mean()
    assert result.measures["right"][1].mean() > 0.9


@pytest.mark.slow
def test_modes_that_are_the_same_are_never_promised():
    """The null first: two modes that choose alike, whatever they are called and however they switch."""
    own = truth()
    null = changed(own.mode_transitions_, own.rewards_[[0, 0]])
    model = SWIRL(world(), history=1, reward="state-action", n_restarts=1, max_iter=20)
    result = power_analysis(null, model=model, n_sessions=[3, 12], n_steps=40, n_simulations=3)
    assert result.smallest() is None
    assert all(result.smallest(question) is None for question in result.questions)
    assert "suffice:" not in str(result)
    assert result.verdict().startswith("No amount of data will distinguish these modes")


@pytest.mark.slow
def test_modes_that_differ_only_in_how_they_end_are_never_promised():
    null = datasets.sketched(datasets.gridworld_env(), [4, 4], dwell=[20, 60])
    result = of_grid(null, n_sessions=[2, 16], n_steps=60)
    assert result.smallest() is None
    assert all(result.smallest(question) is None for question in result.questions)
    assert "suffice:" not in str(result)


@pytest.mark.slow
def test_killed_it_goes_on_and_more_simulations_add_to_it(tmp_path):
    own, model = truth(), SWIRL(world(), history=1, reward="state-action", n_restarts=1, max_iter=20)
    asked = {"model": model, "n_sessions": [2, 3], "n_steps": 40, "questions": ["modes", "policies"]}
    whole = power_analysis(own, n_simulations=2, folder=Folder(tmp_path / "r"), **asked)
    assert len(list((tmp_path / "r" / "results").iterdir())) == 4
    next(iter((tmp_path / "r" / "results").iterdir())).unlink()
    told = []
    more = power_analysis(own, n_simulations=3, folder=Folder(tmp_path / "r"), callback=told.append, **asked)
    assert [state.done for state in told] == [3, 4, 5, 6]
    assert more.measures["right"][:, :2].tolist() == whole.measures["right"].tolist()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"truth": make("Markov", world())}, "truth is BackoffMarkov: expected one that EM fits"),
        ({"truth": SWIRL(world())}, "not fitted yet"),
        ({"model": SWIRL(world(), n_modes=3)}, "model has n_modes=3: expected 2"),
        ({"n_sessions": [4, 0]}, "n_sessions=0: expected a whole number, at least 1"),
        ({"n_sessions": []}, "n_sessions is empty"),
        ({"n_steps": 1}, "n_steps=1: expected a whole number, at least 2"),
        ({"n_simulations": 0}, "n_simulations=0"),
        ({"power": 80}, "power=80: expected a number from 0 to 1"),
        ({"between_animals": -1}, "between_animals=-1: expected a number of at least 0"),
        ({"questions": ["mode"]}, "expected some of modes, goals, policies, switching"),
        ({"target": Target(modes=90)}, r"target\.modes=90"),
        ({"questions": ["goals"], "truth": truth(per_action=True)}, "ask for policies instead"),
    ],
)
def test_what_cannot_be_asked_is_told(wrong, words):
    given = {"truth": truth(), "model": SWIRL(world(), history=1), **wrong}
    with pytest.raises(ValueError, match=words):
        power_analysis(given.pop("truth"), **given)


def test_one_mode_has_nothing_to_find():
    one = SWIRL(world(), n_modes=1, history=1, reward="state-action", n_restarts=1, max_iter=5).fit(
        truth().sample(4, 30)
    )
    with pytest.raises(ValueError, match="truth has one mode"):
        power_analysis(one)


@pytest.mark.slow
def test_goals_with_a_habit_cannot_be_made_of_rewards():
    from swirl.rewards.forms import Goals

    own = SWIRL(world(), history=1, reward=Goals((1,)), n_restarts=1, max_iter=5).fit(truth().sample(4, 30))
    with pytest.raises(ValueError, match="not planned from its rewards alone"):
        animal_like(own, 0.0, np.random.default_rng(0))


def test_it_is_part_of_selection():
    assert selection.power_analysis is module.power_analysis
    assert selection.Design is Design
