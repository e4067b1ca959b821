"""The panel: each number is what its own function gives, NaN where it has no meaning, and intervals are paired."""

from copy import copy
from functools import cache
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import t as student

import swirl
from small_worlds import N_STATES, truth
from swirl.analysis.behaviour import agreement_with_labels, agreement_with_runs, run_labels, runs_to
from swirl.analysis.forecasts import goal_forecast, place_forecast
from swirl.analysis.panel import Panel, panel, same_twice
from swirl.data.encoding import Encoded
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld
from swirl.estimators.base import HiddenModeEstimator
from swirl.estimators.markov import BackoffMarkov
from swirl.inference.likelihood import Evidence
from swirl.inference.mode_matching import adjusted_rand_index

GOALS = {"corner": 0, "far": [23, 24]}


@cache
def sessions():
    drawn = gridworld(n_sessions=16, n_steps=60)
    train, test = drawn.trajectories.split(every=2)
    return drawn, train, test


@cache
def fits():
    drawn, train, _ = sessions()
    return {"counts": BackoffMarkov(drawn.env, order=1, strength=1.0).fit(train), "truth": drawn.true_model()}


@cache
def found():
    return panel(fits(), sessions()[2], GOALS)


def test_every_number_is_what_its_own_function_gives():
    drawn, _, test = sessions()
    told = found()
    assert told.names == ("counts", "truth")
    assert told.modes == (1, 2)
    assert told.of == "next_state"
    for name, model in fits().items():
        assert told.value(name, "score") == pytest.approx(model.score(test, of="next_state"))
        assert told.value(name, "next_goal") == pytest.approx(goal_forecast(model, test, GOALS).loss)
        for k, forecast in place_forecast(model, test).items():
            assert told.value(name, f"place_{k}") == pytest.approx(forecast.loss)
            assert told.base_rates[f"place_{k}"] == forecast.base_rate
    paths = fits()["truth"].predict(test)
    for name, place in GOALS.items():
        runs = runs_to(test.states, drawn.env, place)
        best = max(agreement_with_runs(paths, runs, mode)["f1"] for mode in range(2))
        assert told.value("truth", f"f1_{name}") == pytest.approx(best)
    labels = run_labels(test.states, drawn.env, GOALS)
    alike = agreement_with_labels(paths, labels)["adjusted_rand_index"]
    assert told.value("truth", "runs_ari") == pytest.approx(alike)


def test_what_does_not_apply_is_nan():
    told = found()
    assert all(np.isnan(told.value("counts", measure)) for measure in told.agreement)
    assert np.isnan(told.value("truth", "same_twice"))  # no other fits were given
    without = panel(fits(), sessions()[2])
    assert list(without.sums) == ["score", "place_1", "place_5", "place_20"]
    assert list(without.agreement) == ["same_twice"]
    one = panel(fits(), sessions()[2], [24])
    assert "next_goal" not in one.sums
    assert list(one.agreement) == ["f1_(4, 4)", "runs_ari", "same_twice"]
    still = Trajectories([[12, 12, 13, 12]], n_states=25)
    nowhere = panel({"truth": fits()["truth"]}, still, {"corner": 0, "far": 24})  # no run, and no goal reached
    assert all(np.isnan(nowhere.value("truth", m)) for m in ("f1_corner", "f1_far", "runs_ari", "next_goal"))


def test_the_mode_that_is_named_after_a_goal_is_asked():
    drawn, _, test = sessions()
    paths, runs = fits()["truth"].predict(test), runs_to(test.states, drawn.env, 0)
    each = [agreement_with_runs(paths, runs, mode)["f1"] for mode in range(2)]
    for goals, name, names in (
        ({"corner": 0}, "corner", ("corner", "other")),
        ({"corner": 0}, "corner", ("x", "to corner")),
        ({"corner": 0}, "corner", ("x", "to (0, 0)")),
        ([0], "(0, 0)", ("to (0, 0)", "x")),
    ):
        told = panel({"truth": copy(fits()["truth"]).name_modes(names)}, test, goals)
        mode = next(i for i, mode_name in enumerate(names) if mode_name not in ("x", "other"))
        assert told.value("truth", f"f1_{name}") == pytest.approx(each[mode])
    assert each[0] != each[1]


def test_the_same_twice():
    _, _, test = sessions()
    model = fits()["truth"]
    paths = model.predict(test)
    turned = [1 - path for path in paths]
    other = [np.arange(len(path)) % 2 for path in paths]

    def twice(*others):
        return panel({"truth": model}, test, others={"truth": others}).value("truth", "same_twice")

    assert twice(model) == pytest.approx(1.0)  # one is compared with the model itself
    assert twice(turned) == pytest.approx(1.0)
    assert twice(model, turned) == pytest.approx(1.0)
    apart = adjusted_rand_index(paths, other)
    assert twice(other) == pytest.approx(apart)
    assert twice(other, other) == pytest.approx(1.0)  # of several, every two
    assert twice(model, turned, other) == pytest.approx((1 + 2 * apart) / 3)
    still = [np.zeros(len(path), dtype=int) for path in paths]
    assert np.isnan(twice(still, still))  # nothing to agree on
    with pytest.raises(ValueError, match=r"others: 'S-2' is not among the models, truth"):
        panel({"truth": model}, test, others={"S-2": [model]})


def given(gains, steps, **more):
    sums = {"score": np.stack([np.zeros(len(gains)), np.asarray(gains, float)])}
    sums["next_goal"] = -sums["score"]
    both = np.stack([np.asarray(steps)] * 2)
    return Panel("action", ("one", "several"), (1, 2), sums, {"score": both, "next_goal": both}, **more)


def test_intervals_are_of_the_paired_bootstrap():
    rng = np.random.default_rng(0)
    gains, steps = rng.normal(0.5, 1, 12), rng.integers(5, 20, 12)
    told = given(gains, steps)
    mean, low, high = told.difference("several", "score")
    draws = np.random.default_rng(0).integers(12, size=(2000, 12))
    each = [sum(gains[i] for i in draw) / sum(steps[i] for i in draw) for draw in draws]
    reach = student.ppf(0.975, 1 / (1 / 11 + 1 / 1999)) * np.std(each, ddof=1) * np.sqrt(12 / 11)
    assert (low, high) == pytest.approx((mean - reach, mean + reach))
    assert mean == pytest.approx(gains.sum() / steps.sum())
    assert told.difference("several", "next_goal") == pytest.approx((-mean, -high, -low))
    assert told.difference("one", "score", "several") == pytest.approx((-mean, -high, -low))
    assert np.isnan(told.difference("one", "score")).all()  # it is the reference
    assert told.reference("score") == told.reference("next_goal") == "one"


def test_intervals_hold_what_they_should_also_of_few_sessions():
    rng, held = np.random.default_rng(1), 0
    for _ in range(400):
        _, low, high = given(rng.normal(1.0, 2.0, 8), [10] * 8).difference("several", "score")
        held += low < 0.1 < high
    assert abs(held / 400 - 0.95) < 3 * np.sqrt(0.05 * 0.95 / 400)


def test_units_are_animals_where_enough_are_known():
    gains, steps = [1.0, 3.0] * 6, [10] * 12
    by_session = given(gains, steps).difference("several", "score")
    alike = given(gains, steps, subjects=tuple(np.repeat(list("abcdef"), 2))).difference("several", "score")
    assert alike == pytest.approx((0.2, 0.2, 0.2))  # every animal has one of each
    assert by_session[1] < 0.2 < by_session[2]
    assert given(gains, steps, subjects=tuple("ab" * 6)).difference("several", "score") == by_session


def test_where_there_is_no_interval():
    assert given([2.0], [10]).difference("several", "score") == pytest.approx((0.2, np.nan, np.nan), nan_ok=True)
    assert given([2.0, 1.0], [10, 0]).difference("several", "score")[1:] == pytest.approx((np.nan, np.nan), nan_ok=True)
    endless = given([-np.inf, 1.0], [10, 10]).difference("several", "score")
    assert endless == pytest.approx((-np.inf, np.nan, np.nan), nan_ok=True)
    told = given([2.0, 1.0], [10, 10])
    told.steps["score"][1, 0] = 9  # not the same steps
    assert np.isnan(told.difference("several", "score")).all()
    lone = Panel("action", ("several",), (2,), {"score": np.ones((1, 2))}, {"score": np.ones((1, 2), dtype=int)})
    assert lone.reference("score") is None
    assert np.isnan(lone.difference("several", "score")).all()


def test_the_best_without_modes_is_the_reference():
    sums = {"score": np.array([[-3.0, -3.0], [-2.0, -2.0], [-1.0, -1.0]])}
    sums["place_1"] = -sums["score"][[1, 0, 2]]
    steps = {name: np.full((3, 2), 4) for name in sums}
    told = Panel("action", ("a", "b", "modes"), (1, 1, 2), sums, steps)
    assert told.reference("score") == "b"
    assert told.reference("place_1") == "a"


def test_rows_frame_and_text():
    told = found()
    rows = told.rows
    assert [row["model"] for row in rows] == ["counts", "truth"]
    assert rows[1]["score_difference"] == pytest.approx(rows[1]["score"] - rows[0]["score"])
    assert rows[1]["score_low"] < rows[1]["score_difference"] < rows[1]["score_high"]
    frame = told.to_frame()
    assert frame.loc["truth", "place_5"] == rows[1]["place_5"]
    assert frame.shape == (2, 1 + 9 + 3 * 5)
    text = str(told)
    assert max(map(len, text.splitlines())) <= 100
    assert "| model | modes | score | which goal next | place +1 | place +5 | place +20 |" in text
    assert "| model | F1 corner | F1 far | ARI with runs |" in text
    assert "| base rate |  |  |" in text
    assert "| The truth |" in told.text({"truth": "The truth"})
    assert "same twice" not in text


def test_without_forecasts_there_is_only_what_needs_none():
    told = found().without_forecasts()
    assert list(told.sums) == ["score"]
    assert [header[0] for header, _ in told.tables(leave_out=["score"])] == ["model"]
    assert told.notes(leave_out=["score"]) == ["F1 and ARI: 1 is full agreement; ARI 0 is chance."]
    assert told.value("truth", "runs_ari") == found().value("truth", "runs_ari")


def test_signs_say_what_is_better():
    better = str(given([2.0, 1.8, 2.2], [10] * 3)).splitlines()
    assert better[3] == "| several | 2 | 0.2000 + | -0.2000 + |"
    worse = str(given([-2.0, -1.8, -2.2], [10] * 3)).splitlines()
    assert worse[3] == "| several | 2 | -0.2000 − | 0.2000 − |"
    assert str(given([2.0, -2.0, 1.0], [10] * 3)).splitlines()[3] == "| several | 2 | 0.0333 | -0.0333 |"


def test_what_is_refused():
    _, _, test = sessions()
    model = fits()["truth"]
    with pytest.raises(ValueError, match="with names of their own"):
        panel([model, model], test)
    with pytest.raises(ValueError, match="state 0 is in more than one"):
        panel([model], test, {"a": 0, "b": [0, 1]})
    with pytest.raises(ValueError, match="not fitted yet"):
        panel([BackoffMarkov(sessions()[0].env)], test)
    with pytest.raises(ValueError, match="no such model here; there are counts, truth"):
        found().value("S-9", "score")
    with pytest.raises(ValueError, match="measure='f1_corner': expected one of score, next_goal"):
        found().difference("truth", "f1_corner")


class Cuts(HiddenModeEstimator):
    """Two modes: whether the state is larger than `at` (None: than the mean of what it was fitted to)."""

    stored: ClassVar = {}

    def __init__(self, at=None, n_modes=2):
        self.at, self.n_modes = at, n_modes

    @property
    def score_types(self):
        return ("density",)

    def fit(self, data, y=None):
        self.border_ = np.mean(np.concatenate(data.states)) if self.at is None else self.at
        self.initial_modes_ = np.full(self.n_modes, 1 / self.n_modes)
        self.mode_transitions_ = np.full((data.n_states, self.n_modes, self.n_modes), 1 / self.n_modes)
        return self

    def _read(self, data, of):
        states, ends = np.concatenate(data.states), np.concatenate([[0], np.cumsum(data.lengths)])
        encoded = Encoded(states, states, np.concatenate(data.actions), ends, ends, states)
        known = np.ones(len(states), dtype=bool)
        above = np.stack([states <= self.border_, states > self.border_], axis=1)[:, : self.n_modes]
        return encoded, Evidence(np.where(above, 0.0, -9.0), known, known)

    def sample(self, n_sessions, n_steps, random_state=0):
        raise NotImplementedError


def test_halves_are_the_even_and_the_odd_sessions():
    low, high, mixed = [0, 1, 0, 1], [3, 4, 3, 4], [0, 1, 2, 3, 4]
    data = Trajectories([low, high, low, high], n_states=N_STATES)
    test = Trajectories([mixed], n_states=N_STATES)
    assert same_twice(Cuts(at=2), data, test) == 1.0
    assert same_twice(lambda: Cuts(at=2), data, test) == 1.0
    expected = adjusted_rand_index([[0, 1, 1, 1, 1]], [[0, 0, 0, 0, 1]])  # cut at 0.5 and at 3.5
    assert same_twice(Cuts(), data, test) == pytest.approx(expected)
    assert np.isnan(same_twice(Cuts(at=99), data, test))
    with pytest.raises(ValueError, match="data have 1 session: two or more"):
        same_twice(Cuts(), data[:1], test)


def test_a_model_of_densities_has_a_score_only():
    data = Trajectories([[0, 1, 3, 4], [4, 3, 1, 0]], n_states=N_STATES)
    told = panel({"cuts": Cuts(at=2).fit(data)}, data)
    assert told.of == "density"
    assert np.isfinite(told.value("cuts", "score"))
    assert np.isnan(told.value("cuts", "place_1"))
    assert "place" not in str(told)
    with pytest.raises(ValueError, match="none of the models is of labelled states"):
        panel({"cuts": Cuts(at=2).fit(data)}, data, [0])
    with pytest.raises(ValueError, match="they share no score"):
        panel({"cuts": Cuts(at=2).fit(data), "truth": truth()}, data)


def test_gaps_cut_runs_and_forecasts():
    model = truth()
    whole = model.sample(4, 60, random_state=5)
    cut = Trajectories(whole.states, whole.actions, gaps=[[20, 40]] * 4, n_states=N_STATES, n_actions=3)
    one, two = (panel([model], data, [0, 2]) for data in (whole, cut))
    assert two.steps["place_20"].sum() == 0
    assert two.steps["place_5"].sum() == 4 * 45
    assert one.steps["place_5"].sum() == 4 * 55
    assert np.isnan(two.value(two.names[0], "place_20"))
    assert "place +20" not in str(two)


def test_it_is_among_the_metrics():
    assert swirl.metrics.panel is panel
    assert swirl.metrics.same_twice is same_twice
    assert "panel" in dir(swirl.metrics)


@pytest.mark.slow
def test_two_halves_of_clear_sessions_give_the_same_modes():
    drawn = gridworld(n_sessions=120, n_steps=100)
    train, test = drawn.trajectories.split(every=5)
    model = swirl.make("rARHMM", drawn.env, n_modes=2, n_restarts=3, max_iter=200)
    alike = same_twice(model, train, test)
    true = adjusted_rand_index(drawn.true_model().predict(test), test.modes)
    assert alike > 0.5 * true
