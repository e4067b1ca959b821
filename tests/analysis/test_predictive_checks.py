"""Predictive checks: a stand-in model whose behaviour is known, and the truth, which must pass its own check."""

import numpy as np
import pytest

from small_worlds import recording, truth
from swirl.analysis.predictive_checks import PredictiveChecks, predictive_checks
from swirl.data.trajectories import Trajectories

PLACES = {"water": 3, "home": 0}


class Cycle:
    """Walks 0, 1, 2, 3, 0, … from a random state; its modes are the halves of the cycle."""

    def __init__(self, length=4):
        self.length = length
        self.asked = []

    def sample(self, n_sessions, n_steps, random_state=0):
        self.asked.append((n_sessions, n_steps, random_state))
        start = np.random.default_rng(random_state).integers(0, self.length, (n_sessions, 1))
        states = (start + np.arange(n_steps)) % self.length
        return Trajectories(list(states), list(states % 2), n_states=5)

    def predict(self, data):
        self.read = data.lengths.tolist()
        return [path // 2 for path in data.states]


def row(table, what, of, summary):
    found = table[(table["statistic"] == what) & (table["of"] == of) & (table["summary"] == summary)]
    assert len(found) == 1
    return found.iloc[0]


def test_statistics_by_hand():
    data = Trajectories([[0, 1, 2, 3, 2, 3, 0, 0], [3, 3, 2, 0]])
    checks = predictive_checks(Cycle(), data, places=PLACES, n_draws=5)
    table = checks.table()
    real = {(what, of, summary): value for (what, of, summary), value in checks.real.items()}
    # modes 0 0 1 1 1 1 0 0 and 1 1 1 0: only the middle segment is whole; mode 1 is left at 2 of 7 steps, mode 0 at 1
    # of 3, and of its bouts that were seen to begin the longest was seen for 2
    assert [real["dwell time", "mode 1", summary] for summary in ("median", "mean")] == [4, 3.5]
    assert [real["dwell time", "mode 0", summary] for summary in ("median", "mean")] == [2, 3]
    assert checks.real_values["dwell time", "mode 1"].tolist() == [4]
    assert real["mode share", "mode 0", "share"] == pytest.approx(5 / 12)
    assert real["switches per 100 steps", "", "rate"] == pytest.approx(300 / 12)
    assert real["return interval", "water", "mean"] == 2
    assert real["return interval", "home", "median"] == 6
    assert real["visits per 100 steps", "home", "mean"] == pytest.approx((200 / 8 + 100 / 4) / 2)
    assert real["occupancy", "water", "share"] == pytest.approx(4 / 12)
    assert real["backtracking", "", "rate"] == pytest.approx(2 / 8)
    assert real["staying", "", "rate"] == pytest.approx(2 / 10)
    assert row(table, "return interval", "water", "mean")["low"] == 4
    assert row(table, "backtracking", "", "rate")["high"] == 0
    assert row(table, "backtracking", "", "rate")["p_value"] == pytest.approx(2 / 6)
    assert len(checks.real_values["occupancy", ""]) == 5
    assert [len(rates) for rates in checks.simulated_values["visits per 100 steps", "home"]] == [2] * 5


def test_p_values_by_hand():
    name = ("what", "", "mean")

    def p_value(real, drawn):
        return PredictiveChecks({name: real}, {name: np.array(drawn)}, {}, {}).p_value(name)

    assert p_value(5.0, [1.0, 2.0, 3.0]) == 2 / 4
    assert p_value(2.5, [1.0, 2.0, 3.0, 4.0]) == 1.0
    assert p_value(0.0, np.arange(1.0, 40.0)) == 2 / 40
    assert p_value(1.5, np.arange(1.0, 40.0)) == 4 / 40
    assert p_value(3.0, [3.0, 3.0, 3.0]) == 1.0
    assert p_value(9.0, [1.0, np.nan, 2.0]) == 2 / 3
    assert np.isnan(p_value(np.nan, [1.0, 2.0]))


def test_simulated_sessions_have_the_lengths_of_the_real_segments():
    model, data = Cycle(), Trajectories([[0, 1, 2, 3, 0, 1], [1, 2]], gaps=[[4], []])
    kept = []

    def accept(path):
        kept.append(len(path))
        return True

    predictive_checks(model, data, places=PLACES, n_draws=3, accept=accept)
    assert kept == [4, 2, 2] * 3
    assert model.read == [6, 2]  # joined as the data are: the gap stays
    assert [asked[:2] for asked in model.asked] == [(3, 4)] * 3
    assert len({asked[2] for asked in model.asked}) == 3  # seeds of their own


def test_gaps_are_not_crossed():
    joined, cut = Trajectories([[0, 1, 0, 1]]), Trajectories([[0, 1, 0, 1]], gaps=[[2]])
    of = ("return interval", "home")
    assert predictive_checks(Cycle(), joined, places=PLACES, n_draws=1).real_values[of].tolist() == [2]
    assert predictive_checks(Cycle(), cut, places=PLACES, n_draws=1).real_values[of].tolist() == []


def test_sessions_that_would_not_have_been_kept_are_drawn_again():
    model, data = Cycle(), Trajectories([[0, 1]] * 8)
    checks = predictive_checks(model, data, places=PLACES, n_draws=4, accept=lambda path: path[0] == 0)
    assert all(rates.tolist() == [50.0] * 8 for rates in checks.simulated_values["visits per 100 steps", "home"])
    assert len(model.asked) > 4
    with pytest.raises(ValueError, match="accept: 8 of 8 simulated sessions were refused 100 times"):
        predictive_checks(model, data, places=PLACES, n_draws=1, accept=lambda path: False)


def test_the_same_seed_gives_the_same_table():
    data = Trajectories([[0, 1, 2, 3, 2, 3, 0, 0]] * 5)
    tables = [predictive_checks(Cycle(), data, places=PLACES, n_draws=4, random_state=i).table() for i in (1, 1, 2)]
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])
    with pytest.raises(ValueError, match="n_draws=0"):
        predictive_checks(Cycle(), data, places=PLACES, n_draws=0)


@pytest.mark.slow
def test_the_truth_passes_its_own_check_and_a_stranger_does_not():
    drawn = truth().sample(12, 60, random_state=5)
    own = predictive_checks(truth(), drawn, places=PLACES, n_draws=19).table()["p_value"]
    other = predictive_checks(truth(seed=1), drawn, places=PLACES, n_draws=19).table()["p_value"]
    assert (own <= 0.1).mean() < 0.2
    assert (other <= 0.1).mean() > 0.5
    assert own.between(2 / 20, 1).all()


def test_data_with_gaps_and_missing_actions_are_read():
    checks = predictive_checks(truth(), recording(), places=PLACES, n_draws=2)
    assert len(checks.real_values["visits per 100 steps", "home"]) == 7  # six sessions, one with a gap
    assert checks.n_draws == 2


def test_the_distance_of_occupancies_by_hand():
    # Every simulated session is in each of four states a quarter of the time; the real one stays in one.
    data = Trajectories([[0, 0, 0, 0]])
    checks = predictive_checks(Cycle(), data, places=PLACES, n_draws=3)
    name = ("occupancy", "", "distance to the other data sets")
    assert checks.real[name] == pytest.approx(0.75)
    np.testing.assert_allclose(checks.simulated[name], 0.25)  # to the mean of two of its kind and the real one


class Telling(Cycle):
    """A cycle whose modes are known only where the action is: what a decoder is told decides what it finds."""

    def predict(self, data):
        self.told = [actions >= 0 for actions in data.actions]
        self.read, self.gaps = data.lengths.tolist(), [gap.tolist() for gap in data.gaps]
        return [known.astype(np.int64) for known in self.told]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
def test_actions_that_are_missing_in_the_data_are_missing_in_the_simulations(share):
    rng = np.random.default_rng(0)
    actions = [np.where(rng.random(n) < share, -1, 1) for n in (9, 4, 7)]
    data = Trajectories([np.arange(len(a)) % 4 for a in actions], actions, gaps=[[3, 5], [], [2]], n_states=5)
    model = Telling()
    checks = predictive_checks(model, data, places=PLACES, n_draws=3)
    for told, real in zip(model.told, actions, strict=True):
        np.testing.assert_array_equal(told, real >= 0)
    assert (model.read, model.gaps) == ([9, 4, 7], [[3, 5], [], [2]])
    for statistic in (("mode share", "mode 0", "share"), ("switches per 100 steps", "", "rate")):
        np.testing.assert_array_equal(checks.simulated[statistic], checks.real[statistic])


def test_states_alone_are_simulated_as_states_alone():
    model = Telling()
    predictive_checks(model, Trajectories([[0, 1, 2, 3]] * 2), places=PLACES, n_draws=1)
    assert not any(told.any() for told in model.told)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
def test_the_truth_is_not_rejected_whatever_share_of_the_actions_is_missing(share):
    # Many actions missing leave long decoded bouts: simulations with all actions would have much shorter ones.
    drawn = truth().sample(12, 60, random_state=5)
    rng = np.random.default_rng(1)
    lacking = drawn.with_actions(
        [np.where(rng.random(len(a)) < share, -1, a) for a in drawn.actions], n_actions=drawn.n_actions
    )
    table = predictive_checks(truth(), lacking, places=PLACES).table()
    assert (table["p_value"] <= 0.05).mean() < 0.2
    assert not (table["corrected_p_value"] <= 0.05).any()


def test_without_places_no_statistic_names_one():
    checks = predictive_checks(Cycle(), Trajectories([[0, 1, 2, 3, 2, 3, 0, 0]]), n_draws=2)
    assert {of for _, of, _ in checks.real} == {"", "mode 0", "mode 1"}
    assert not {"return interval", "visits per 100 steps"} & {what for what, _, _ in checks.real}


def checks_of(values):
    """Checks of data sets (rows, the first is the real one) in statistics (columns)."""
    names = [("what", str(i), "") for i in range(values.shape[1])]
    columns = dict(zip(names, values.T, strict=True))
    return PredictiveChecks(
        {n: float(c[0]) for n, c in columns.items()}, {n: c[1:] for n, c in columns.items()}, {}, {}
    )


@pytest.mark.slow
def test_corrected_p_values_hold_the_level_of_the_family_and_keep_power():
    rng = np.random.default_rng(0)
    mixing = np.eye(21) + 0.4 * rng.standard_normal((21, 21))  # statistics that go together, some skewed
    alarms, single, found = 0, 0, 0
    for _ in range(400):
        values = rng.standard_normal((40, 21)) @ mixing
        values[:, :7] = np.exp(0.1 * values[:, :7])
        checks = checks_of(values)
        corrected = np.array(list(checks.corrected.values()))
        raw = np.array([checks.p_value(name) for name in checks.real])
        assert (corrected >= raw).all()
        alarms, single = alarms + (corrected <= 0.05).any(), single + (raw <= 0.05).any()
        values[0, 20] += 6 * values[:, 20].std()
        found += checks_of(values).corrected["what", "20", ""] <= 0.05
    assert alarms / 400 < 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)
    assert single / 400 > 0.4  # what the table said before
    assert found / 400 > 0.9  # Holm's correction of 21 p-values that are at least 0.05 finds nothing


def test_too_few_draws_are_said_to_be_too_few():
    few, enough = (checks_of(np.random.default_rng(0).normal(size=(1 + n, 21))) for n in (20, 39))
    assert min(few.corrected.values()) >= 2 / 21
    assert few.words.endswith("with 20 simulated data sets none can be as small as 0.05: 39 are needed")
    assert "for 21 statistics together" in enough.words
    assert "needed" not in enough.words
    assert few.table()["tests"].tolist() == [21] * 21
    nowhere = checks_of(np.vstack([np.array([[np.nan, 1.0]]), np.ones((39, 2))]))
    assert np.isnan(nowhere.corrected["what", "0", ""])
    assert nowhere.n_tests == 1
