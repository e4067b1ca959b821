"""The bootstrap: resamples as weights, intervals by hand, what is refused, and its place in the report."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import beta, norm
from scipy.stats import t as student

from swirl import precision, report
from swirl.analysis.bootstrap import (
    TOLERANCE,
    TooFewRefitsError,
    bootstrap,
    chain_times,
    draw_times,
    renumbered,
    units_of,
)
from swirl.analysis.decoded import decode
from swirl.analysis.intervals import Intervals, ended, log_odds, logit
from swirl.data.encoding import Encoded
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld
from swirl.estimators.iq_network import IQNetwork
from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.swirl import SWIRL
from swirl.inference.engines import device_counts
from swirl.inference.estep import numba_loop, scan
from swirl.inference.estep.counts import Chains, Tables
from swirl.report.page import contents
from swirl.report.uncertainty import interval_facts

needs_numba = pytest.mark.skipif(not numba_loop.available(), reason="numba is not installed (swirl-irl[fast])")


# ---------------------------------------------------------------------- weights


def some_chains(times=None):
    rng = np.random.default_rng(0)
    lengths = np.array([4, 3, 4, 3, 3, 3])  # alike: one compilation
    symbols, states = rng.integers(4, size=20), rng.integers(2, size=20)  # symbol 3 is a missing action
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Chains(symbols.astype(np.int32), states.astype(np.int32), offsets, 3, 2, times)


def copied(chains, times):
    """The same resample with chains written out as often as they count."""
    drawn = np.repeat(np.arange(chains.n_chains), times)
    steps = np.concatenate([np.arange(chains.offsets[i], chains.offsets[i + 1]) for i in drawn])
    offsets = np.concatenate([[0], np.cumsum(np.diff(chains.offsets)[drawn])])
    return Chains(chains.symbols[steps], chains.states[steps], offsets, 3, 2)


@pytest.mark.parametrize(
    "engine", [pytest.param("compiled", marks=needs_numba), "associative", pytest.param("scan", marks=pytest.mark.slow)]
)
def test_a_chain_that_counts_twice_is_two_chains(engine):
    rng = np.random.default_rng(1)
    tables = Tables(
        np.log(rng.dirichlet(np.ones(2), size=1)),
        np.log(rng.dirichlet(np.ones(2), size=(1, 2, 2))),
        np.log(rng.uniform(0.01, 1, size=(1, 3, 2))),
    )

    def counts(chains, engine):
        if engine == "compiled":
            return numba_loop.expected_counts(tables, chains)
        with precision.float64():
            return precision.numpy_tree(device_counts(tables, scan.pad(chains), engine == "associative"))

    times = np.array([2, 0, 1, 3, 0, 1])
    got = counts(some_chains(times), engine)
    expected = counts(copied(some_chains(), times), "compiled" if numba_loop.available() else engine)
    for name in ("initial", "transitions", "emissions", "log_likelihood"):
        np.testing.assert_allclose(getattr(got, name), getattr(expected, name), rtol=1e-10, err_msg=name)


def test_symbols_count_as_often_as_their_chains():
    times = np.array([2, 0, 1, 3, 0, 1])
    np.testing.assert_array_equal(some_chains(times).symbol_counts, copied(some_chains(), times).symbol_counts)


# ---------------------------------------------------------------------- what is drawn


def sessions(n, subjects=None, n_steps=4):
    return Trajectories([np.arange(n_steps) % 3] * n, subjects=subjects)


def test_subjects_are_drawn_where_there_are_five():
    five = [f"m{i // 2}" for i in range(10)]
    assert units_of(sessions(10, five), None)[0] == "subject"
    assert units_of(sessions(10, five), "session")[1].tolist() == list(range(10))
    assert units_of(sessions(10, ["a", "b"] * 5), None)[0] == "session"
    assert units_of(sessions(10, [None, *five[1:]]), None)[0] == "session"


@pytest.mark.parametrize(
    ("data", "by", "words"),
    [
        (sessions(4), None, "data have 4 sessions.*fewer than 5"),
        (sessions(9, ["a", "b", "c"] * 3), "subject", 'there are 3 subjects.*by="session"'),
        (sessions(6, [None, "a", "b", "c", "d", "e"]), "subject", "some sessions name no subject"),
        (sessions(6), "animal", 'by=\'animal\': expected "session", "subject"'),
    ],
)
def test_too_few_are_refused(data, by, words):
    with pytest.raises(ValueError, match=words):
        units_of(data, by)


def test_sessions_of_a_subject_are_drawn_together():
    units = np.array([0, 0, 1, 2, 2, 3, 4])
    rng = np.random.default_rng(0)
    for _ in range(5):
        times = draw_times(units, rng)
        assert times[0] == times[1]
        assert times[3] == times[4]
        assert times[[0, 2, 3, 5, 6]].sum() == 5


def test_segments_count_as_often_as_their_session():
    steps = np.zeros(12, np.int32)
    encoded = Encoded(
        steps, steps, steps, chains=np.array([0, 2, 6, 9, 10, 12]), sessions=np.array([0, 6, 9, 12]), following=steps
    )
    assert chain_times(encoded, np.array([3, 0, 1])).tolist() == [3, 3, 0, 1, 1]


# ---------------------------------------------------------------------- intervals


def hand_made(n_units=9, **more):
    rng = np.random.default_rng(0)
    draws = rng.uniform(0.3, 0.7, size=(6, 1))
    share = np.concatenate([draws, 1 - draws], axis=1)
    fitted = {"occupancy": np.array([0.5, 0.5]), "leaving": np.array([0.1, 0.0])}
    leaving = np.column_stack([rng.uniform(0.08, 0.12, 6), np.zeros(6)])
    about = {"by": "session", "n_units": n_units, "statuses": ("converged",) * 6, "policies": None, "rewards": None}
    chain = {"mode_transitions": np.full((6, 1, 2, 2), 0.5), "initial_modes": np.full((6, 2), 0.5)}
    return Intervals(
        **{"fitted": fitted, "occupancy": share, "leaving": leaving, "stability": (), **about, **chain, **more}
    )


def test_intervals_by_hand():
    found = hand_made()
    low, high = found.interval("occupancy", 0.9)
    logits = np.log(found.occupancy / (1 - found.occupancy))
    # Five degrees of freedom from six draws, eight from nine sessions; the draws' spread is too small by 8/9.
    reach = student.ppf(0.95, 1 / (1 / 5 + 1 / 8)) * logits.std(axis=0, ddof=1) * np.sqrt(9 / 8)
    np.testing.assert_allclose(found.reach("occupancy", 0.9), reach)
    np.testing.assert_allclose(low, 1 - high)
    # The exact binomial interval of as many choices as leave one half as open: z² / reach² p (1 − p).
    n = 4 * (norm.ppf(0.95) / reach) ** 2
    np.testing.assert_allclose(high, beta.ppf(0.95, n / 2 + 1, n / 2))
    assert (found.interval("occupancy", 0.95)[0] < low).all()
    assert (hand_made(n_units=500).interval("occupancy", 0.9)[0] > low).all()


def test_durations_are_those_of_leaving():
    found = hand_made()
    low, high = found.interval("leaving")
    short, long = found.interval("durations")
    assert (short[0], long[0]) == pytest.approx((1 / high[0], 1 / low[0]))
    assert found.estimate("durations").tolist() == [10.0, np.inf]  # a mode that never ends
    assert (short[1], long[1]) == (np.inf, np.inf)


def test_what_never_moves_has_no_width():
    policies = np.tile([[[0.5, 0.5, 0.0]], [[0.25, 0.75, 0.0]]], (6, 1, 1, 1))
    found = hand_made(policies=policies, fitted={"policies": policies[0]})
    assert found.interval("policies")[0].tolist() == policies[0].tolist()
    low, high = found.interval("preferences")
    assert np.isnan(low[..., 2]).all()  # impossible in both modes
    np.testing.assert_allclose(low[..., :2], log_odds(policies[0])[..., :2])
    np.testing.assert_allclose(low, high)


def test_differences_are_asked_for_by_a_function():
    rewards = np.random.default_rng(0).normal(size=(6, 2, 3))
    found = hand_made(rewards=rewards, fitted={"rewards": np.zeros((2, 3))})
    low, high = found.interval("rewards", of=lambda r: r[..., 0, 2] - r[..., 0, 1])
    spread = (rewards[:, 0, 2] - rewards[:, 0, 1]).std(ddof=1) * np.sqrt(9 / 8)
    assert high == pytest.approx(student.ppf(0.975, 1 / (1 / 5 + 1 / 8)) * spread)
    assert low == pytest.approx(-high)


def test_what_is_not_there_is_named():
    with pytest.raises(ValueError, match="name='policies': expected one of occupancy, leaving"):
        hand_made().interval("policies")
    with pytest.raises(ValueError, match="level=95"):
        hand_made().interval("occupancy", 95)


def test_modes_are_renumbered_whole():
    chain = np.arange(8.0).reshape(2, 2, 2)
    found = {"occupancy": np.array([0.7, 0.3]), "mode_transitions": chain, "policies": np.arange(4.0).reshape(2, 2, 1)}
    moved = renumbered(found, np.array([1, 0]))
    assert moved["occupancy"].tolist() == [0.3, 0.7]
    assert moved["mode_transitions"][1].tolist() == [[7.0, 6.0], [5.0, 4.0]]
    assert moved["policies"].ravel().tolist() == [2.0, 3.0, 0.0, 1.0]
    assert ended(["converged"] * 2 + ["not finite"]) == "2 of 3 refits converged, 1 failed"


# ---------------------------------------------------------------------- a small fit


@cache
def small_fit():
    """Counting modes on the grid: the M-step is a division, so little is compiled."""
    world = gridworld(n_sessions=8, n_steps=60)
    drawn = world.trajectories
    data = Trajectories(
        [path[: 40 + 2 * i] for i, path in enumerate(drawn.states)],
        [path[: 40 + 2 * i] for i, path in enumerate(drawn.actions)],
        gaps=[[20] if i == 2 else [] for i in range(8)],
        n_states=25,
        n_actions=5,
    )
    settings = {"history": 1, "reward": "state-action", "switching": "independent"}
    model = SWIRL(world.env, n_modes=2, n_restarts=2, max_iter=40, **settings).fit(data[:7])
    return model, data


@cache
def drawn():
    model, data = small_fit()
    return bootstrap(model, data, n_draws=4)


@pytest.mark.slow
def test_a_refit_is_a_fit_to_the_resampled_sessions():
    model, data = small_fit()
    times = np.array([2, 0, 1, 1, 0, 3, 0])
    problem = model.em_problem(data[:7])
    settings = {"tol": 1e-7, "max_iter": 60}
    weighted = model.refitted(problem, chain_times(problem.encoded, times), **settings)
    resampled = data[np.repeat(np.arange(7), times)]
    written_out = model.refitted(model.em_problem(resampled), None, **settings)
    assert weighted.restarts_[0].objective == pytest.approx(written_out.restarts_[0].objective, rel=1e-9)
    np.testing.assert_allclose(weighted.policies_, written_out.policies_, atol=1e-7)
    np.testing.assert_allclose(weighted.occupancy_, written_out.occupancy_, atol=1e-7)
    assert weighted.restarts_[0].objective != pytest.approx(model.restarts_[model.best_restart_].objective, rel=1e-3)


@pytest.mark.slow
def test_bootstrap_of_a_small_fit():
    model, data = small_fit()
    found = drawn()
    assert (found.by, found.n_units, found.n_draws, set(found.statuses)) == ("session", 7, 4, {"converged"})
    np.testing.assert_allclose(found.occupancy.sum(axis=1), 1)
    np.testing.assert_allclose(found.policies.sum(axis=3), 1)
    np.testing.assert_allclose(found.rewards.mean(axis=2), 0, atol=1e-9)
    assert found.policies.shape == (4, 2, 25, 5)
    # The eighth session was not fitted: it is decoded, and not drawn.
    assert [len(part) for part in found.stability] == data.lengths.tolist()
    assert all(np.isin(part, np.arange(5) / 4).all() for part in found.stability)
    assert found.occupancy.std(axis=0).min() > 0.005
    assert "7 sessions drawn with replacement 4 times" in str(found)
    # The centre is the fit itself, at its top.
    low, high = found.interval("occupancy")
    assert ((low < model.occupancy_) & (model.occupancy_ < high)).all()
    assert found.drift < 2


@pytest.mark.slow
def test_modes_keep_the_numbers_of_the_fit():
    model, data = small_fit()
    turned = model.use_restart(model.best_restart_)
    order = [1, 0]
    turned._set_rewards(model._histories, model.rewards_[order], model.log_policies_[order])
    turned._set_chain(model.mode_transitions_[:, order][:, :, order], model.initial_modes_[order])
    other = bootstrap(turned, data, n_draws=4)
    np.testing.assert_allclose(other.occupancy, drawn().occupancy[:, order])
    np.testing.assert_allclose(other.fitted["policies"], drawn().fitted["policies"][order])
    np.testing.assert_allclose(np.concatenate(other.stability), np.concatenate(drawn().stability))


@pytest.mark.slow
def test_refits_go_on_until_nothing_is_gained():
    """A step that gains little says nothing: what all further steps would gain must be little."""
    model, data = small_fit()
    problem = model.em_problem(data[:7])
    times = chain_times(problem.encoded, np.array([2, 0, 1, 1, 0, 3, 0]))
    restart, further = (
        model.refitted(problem, times, tol=tol, max_iter=2000).restarts_[0] for tol in (TOLERANCE, TOLERANCE / 1e4)
    )
    assert restart.converged
    assert further.converged
    assert 0 <= restart.remaining_gain <= TOLERANCE
    assert np.diff(restart.objective_trace)[-3:].max() <= TOLERANCE * 1.2
    assert further.n_iterations > restart.n_iterations
    assert 0 <= further.objective - restart.objective <= TOLERANCE * 1.2
    # Cut short it is no result, and says so.
    short = model.refitted(problem, times, tol=TOLERANCE, max_iter=3).restarts_[0]
    assert (short.converged, short.status) == (False, "iterations ran out")
    assert restart.objective - short.objective > TOLERANCE


@pytest.mark.slow
def test_refits_that_do_not_converge_are_left_out(monkeypatch):
    model, data = small_fit()
    expected, refit, n_refits = drawn(), SWIRL.refitted, []

    def second_runs_out(self, problem, times, **settings):
        found = refit(self, problem, times, **settings)
        if times is not None:
            n_refits.append(1)
            if len(n_refits) == 2:
                found.restarts_ = [replace(found.restarts_[0], status="iterations ran out")]
        return found

    monkeypatch.setattr(SWIRL, "refitted", second_runs_out)
    found = bootstrap(model, data, n_draws=4)
    assert found.statuses == ("converged", "iterations ran out", "converged", "converged")
    assert found.n_draws == 3
    assert "3 of 4 refits converged, 1 ran out of iterations" in found.how
    kept = [0, 2, 3]
    for name in ("occupancy", "leaving", "policies", "rewards", "mode_transitions", "initial_modes"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name)[kept], err_msg=name)
    assert all(np.isin(part, np.arange(4) / 3).all() for part in found.stability)


@pytest.mark.slow
def test_refits_as_tasks_are_the_same_to_the_last_bit(tmp_path):
    from swirl.analysis.tasks import Folder, here

    model, data = small_fit()
    expected, told = drawn(), []
    for _ in range(2):  # the second time all are there
        folder = Folder(tmp_path / "refits")
        found = bootstrap(
            model, data, n_draws=4, folder=folder, engine=here(), progress=lambda done, n: told.append((done, n))
        )
        for name in ("occupancy", "leaving", "policies", "rewards", "mode_transitions", "initial_modes"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
        for one, other in zip(found.stability, expected.stability, strict=True):
            np.testing.assert_array_equal(one, other)
        assert found.statuses == expected.statuses
        assert len(list((tmp_path / "refits" / "results").iterdir())) == 4
    assert (4, 4) in told


def test_too_few_refits_are_no_bootstrap():
    model, data = small_fit()
    told = r"0 of 2 refits converged, 2 ran out of iterations \(max_iter=1\): too few.*raise max_iter"
    with pytest.raises(TooFewRefitsError, match=told):
        bootstrap(model, data, n_draws=2, max_iter=1)


def test_saved_and_read_back(tmp_path):
    path = drawn().save(tmp_path / "draws.nc")
    again = Intervals.load(path)
    assert str(again) == str(drawn())
    for name in again.names:
        np.testing.assert_array_equal(again.interval(name), drawn().interval(name))
    np.testing.assert_array_equal(again.stability[3], drawn().stability[3])
    with pytest.raises(FileExistsError):
        drawn().save(path)
    model, _ = small_fit()
    with pytest.raises(ValueError, match="holds no intervals"):
        Intervals.load(model.save(tmp_path / "fit.nc"))


def test_wrong_questions_are_refused():
    model, data = small_fit()
    with pytest.raises(ValueError, match="not the sessions that the model was fitted to"):
        bootstrap(model, data[1:])
    with pytest.raises(ValueError, match="n_draws=1: expected a whole number, at least 2"):
        bootstrap(model, data, n_draws=1)
    with pytest.raises(ValueError, match="model is BackoffMarkov: it has no modes that EM fits"):
        bootstrap(BackoffMarkov(model.env), data)
    with pytest.raises(ValueError, match="model is IQNetwork: refits of its networks have not"):
        bootstrap(IQNetwork("x"), data)
    with pytest.raises(ValueError, match="has no restarts"):
        bootstrap(gridworld(n_sessions=5, n_steps=10).true_model(), data)
    with pytest.raises(ValueError, match="model is str"):
        bootstrap("fit.nc", data)


# ---------------------------------------------------------------------- the report


@pytest.mark.slow
def test_the_page_has_intervals_of_the_modes_and_says_what_was_done():
    model, data = small_fit()
    page = report.build(model, data, n_draws=0, intervals=drawn())
    low, high = drawn().interval("occupancy")
    places = 0 if high[0] - low[0] > 0.1 else 1
    assert f"{100 * low[0]:.{places}f} to {100 * high[0]:.{places}f}" in page
    assert "The 7 sessions were drawn anew, with replacement, 4 times" in page.replace("\n", " ")
    assert "Intervals (95 %) are from a bootstrap: the 7 sessions were drawn with replacement 4 times (seed 0)" in page
    assert "do not cover other local optima" in page
    assert 'id="reward-sure"' in page
    assert "--bootstrap 20" not in page


def test_without_a_bootstrap_the_page_says_how_to_get_one():
    model, data = small_fit()
    page = report.build(model, data, n_draws=0)
    assert "swirl report fit.nc --bootstrap 20" in page
    assert 'id="reward-sure"' not in page
    assert "are from a bootstrap" not in page


def test_signs_on_the_map_are_those_of_the_moves():
    model, data = small_fit()
    case = decode(model, data)
    facts = interval_facts(case, drawn())
    _, given = contents(model, data, comparison=None, signal=None, title=None, run=None, n_draws=0, intervals=drawn())
    low, high = np.array(given["intervals"]["preference"]["low"], float), given["intervals"]["preference"]["high"]
    following = given["maps"]["following"]
    # In the middle of the grid every action is a move of its own: up, left, stay, right, down by number of the cell.
    assert following[12] == [7, 11, 12, 13, 17]
    ends = drawn().interval("preferences")
    np.testing.assert_allclose(low[:, 12, [0, 1, 4, 3, 2]], ends[0][:, 12], rtol=2e-2, atol=1e-2)
    np.testing.assert_allclose(np.array(high, float)[:, 12, [0, 1, 4, 3, 2]], ends[1][:, 12], rtol=2e-2, atol=1e-2)
    # In the corner two actions stay: their probabilities add before the odds are taken.
    assert following[0] == [0, 1, 5]

    def odds_of(policies):
        stay = policies[..., 0, [0, 1, 4]].sum(axis=-1)
        return logit(stay) - logit(stay.mean(axis=-1, keepdims=True))

    odds = odds_of(drawn().policies)
    pull = 2 * np.abs(odds_of(drawn().twice["policies"]) - odds_of(drawn().fitted["policies"]))  # of the priors
    spread = odds.std(axis=0, ddof=1) * np.sqrt(7 / 6) * student.ppf(0.975, 1 / (1 / 3 + 1 / 6))
    np.testing.assert_allclose((np.array(high, float) - low)[:, 0, 0] / 2, spread + pull / 2, rtol=2e-2)
    there = np.array([[j < len(row) for j in range(5)] for row in following])
    sure = (low > 0) | (np.array(high, float) < 0)
    assert facts["preference"]["share"] == pytest.approx(sure[:, there].mean(), abs=0.01)


def test_a_bootstrap_of_something_else_is_refused():
    model, data = small_fit()
    with pytest.raises(ValueError, match="intervals: they are of another fit"):
        report.build(model, data, n_draws=0, intervals=hand_made())
    with pytest.raises(ValueError, match=r"intervals is 'draws\.nc': expected what"):
        report.build(model, data, n_draws=0, intervals="draws.nc")


def test_the_fit_that_stopped_short_is_told():
    model, data = small_fit()
    case = decode(model, data)
    statuses = ("converged", "iterations ran out", "converged", "converged", "iterations ran out", "converged")
    told = interval_facts(case, replace(drawn(), drift=1.2, statuses=statuses))
    assert "1.2 standard errors short" in told["drift_words"]
    assert "with replacement, 4 times" in told["words"]
    assert "2 further refits did not converge and had to be left out" in told["words"]
    assert "With so few" in told["words"]
    assert interval_facts(case, drawn())["drift_words"] == "" or drawn().drift >= 0.5


def test_the_command_line_passes_its_draws_on(monkeypatch, tmp_path):
    from typer.testing import CliRunner

    from swirl.cli.report import app

    model, data = small_fit()
    asked = {}
    monkeypatch.setattr("swirl.workflows.load.open_fit", lambda path: model)
    monkeypatch.setattr("swirl.workflows.load.sessions_of", lambda model, data_file, some: data)
    monkeypatch.setattr(report, "write", lambda path, *_, **given: asked.update(given) or _written(path))
    monkeypatch.setattr(
        "swirl.analysis.bootstrap.bootstrap", lambda model, data, **given: (len(data), given["n_draws"])
    )
    done = CliRunner().invoke(app, ["fit.nc", "-o", str(tmp_path / "page.html"), "--bootstrap", "3"])
    assert done.exit_code == 0, done.output
    assert asked["intervals"] == (8, 3)
    done = CliRunner().invoke(app, ["fit.nc", "-o", str(tmp_path / "other.html")])
    assert asked["intervals"] is None
    kept = ["--folder", str(tmp_path / "refits")]
    done = CliRunner().invoke(app, ["fit.nc", "-o", str(tmp_path / "kept.html"), "--bootstrap", "4", *kept])
    assert done.exit_code == 0, done.output
    assert asked["intervals"] == (8, 4)
    done = CliRunner().invoke(app, ["fit.nc", "-o", str(tmp_path / "vain.html"), *kept])
    assert "are for the refits of --bootstrap N" in str(done.exception)


def _written(path):
    path.write_text("page")
    return path
