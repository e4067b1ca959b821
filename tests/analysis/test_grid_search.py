"""Choosing on training folds: whole sessions, whole subjects, and nothing of the test."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from small_worlds import recording, world
from swirl.analysis import grid_search
from swirl.analysis.fit_tasks import fold_scores, fold_tasks
from swirl.analysis.grid_search import Choice, choice_of, choose
from swirl.analysis.tasks import carried_out
from swirl.data.folds import animals_to_hold_out, check_apart, folds, shared_animals
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld
from swirl.estimators.swirl import SWIRL
from swirl.priors import Dirichlet
from swirl.rewards.forms import Goals

MODEL = SWIRL(world(), n_modes=1, history=1, reward="state-action", switching="independent", n_restarts=1, max_iter=5)
GRID = {"reward_prior": [Dirichlet(1.0), Dirichlet(1000.0)], "tol": [1e-3, 1e-5]}


def test_folds_are_a_partition_of_the_sessions():
    for n_folds in (2, 3, 6):
        parts = folds(recording(), n_folds)
        assert sorted(np.concatenate(parts).tolist()) == list(range(6))
        sizes = [len(part) for part in parts]
        assert max(sizes) - min(sizes) <= 1


def test_a_subject_is_never_on_both_sides():
    data = Trajectories([[0, 1]] * 6, subjects=["a", "a", "b", "c", "c", "b"])
    parts = folds(data, 3)
    owners = [{data.subjects[i] for i in part} for part in parts]
    assert sorted(map(sorted, owners)) == [["a"], ["b"], ["c"]]
    few = folds(Trajectories([[0, 1]] * 6, subjects=["a"] * 6), 3)  # one subject: by session
    assert [len(part) for part in few] == [2, 2, 2]


@pytest.mark.parametrize("n_folds", [1, 7])
def test_too_few_or_too_many_folds_are_refused(n_folds):
    with pytest.raises(ValueError, match=f"n_folds={n_folds}: expected 2 up to the number of sessions, 6"):
        folds(recording(), n_folds)


@pytest.mark.slow
def test_the_best_on_average_is_chosen_and_the_model_is_untouched():
    choice = choose(MODEL, recording(), GRID, n_folds=2)
    assert choice.best["reward_prior"] == Dirichlet(1.0)
    assert choice.scores.shape == (4, 2)
    assert choice.candidates[int(np.argmax(choice.means))] == choice.best
    assert MODEL.reward_prior is None
    assert not hasattr(MODEL, "rewards_")
    # Each score is that of a plain fit on the rest.
    test = folds(recording(), 2)[1]
    train = np.setdiff1d(np.arange(6), test)
    fresh = SWIRL(**{**MODEL.get_params(), **choice.candidates[0]})
    fresh.fit(recording()[train])
    assert choice.scores[0, 1] == pytest.approx(fresh.score(recording()[test]), rel=1e-12)
    np.testing.assert_allclose(choice.log_likelihoods[0, test], fresh.session_scores(recording()[test]), rtol=1e-12)
    assert choice.steps[test].sum() == fresh.n_scored(recording()[test])
    table = choice.table()
    assert [row["score"] for row in table] == sorted(choice.means, reverse=True)
    assert {"reward_prior", "tol", "score", "behind_highest", "standard_error", "chosen"} == set(table[0])
    assert choice.why().endswith("the highest score on the folds; all candidates are equally simple.")


# The rule: the simplest within one standard error of the paired difference from the highest


def tried(candidates, gains, steps=None, subjects=()):
    """A choice in which a candidate's log-likelihoods are `gains` above those of hard and easy sessions."""
    gains = np.asarray(gains, dtype=float)
    steps = np.full(gains.shape[1], 10) if steps is None else np.asarray(steps)
    hardness = -steps * np.linspace(1, 3, len(steps))  # the same for all: it must not matter
    scores = ((gains + hardness) / steps)[:, :2]
    return Choice(candidates, scores, gains + hardness, steps, tuple(subjects or [None] * len(steps)))


K123 = [{"n_modes": 1}, {"n_modes": 2}, {"n_modes": 3}]


def test_the_table_has_paired_differences_to_the_highest():
    rows = tried(K123[:2], [[0.0, 0.0], [1.0, 3.0]]).table()
    assert [row["n_modes"] for row in rows] == [2, 1]
    assert [row["chosen"] for row in rows] == [True, False]
    assert rows[1]["behind_highest"] == pytest.approx(-0.2)
    assert rows[1]["standard_error"] == pytest.approx(0.1)  # though the sessions' scores are 2 nats per step apart
    assert rows[1]["score"] == pytest.approx(-2.0)
    assert (rows[0]["behind_highest"], rows[0]["standard_error"]) == (0.0, 0.0)


@pytest.mark.parametrize(("gain", "best"), [(0.99, 1), (1.01, 2)])
def test_one_standard_error_decides(gain, best):
    """Gains of 2 modes over 1 in four sessions: mean m, deviations ±√3, so that the standard error is 1 (÷ 10)."""
    gains = gain + np.sqrt(3) * np.array([1, -1, 1, -1])
    choice = tried(K123[:2], [np.zeros(4), gains])
    assert choice.difference(1, 0) == (pytest.approx(gain / 10), pytest.approx(2 * np.sqrt(3 / 3) / 2 / 10))
    assert choice.best == {"n_modes": best}
    assert choice.highest == {"n_modes": 2}
    if best == 1:
        assert choice.why() == (
            "n_modes=1: the simplest within one standard error of the highest. n_modes=2 is ahead by only 0.0990 nats "
            "per step, standard error 0.1000 (paired, 4 sessions)."
        )
    else:
        assert choice.why() == (
            "n_modes=2: the highest score on the folds; no simpler one is within one standard error of it."
        )
    assert str(choice).startswith(choice.why())


def test_a_gain_of_rounding_is_none():
    gains = 1e-16 * np.array([2, 3, 2, 3])
    assert tried(K123[:2], [np.zeros(4), gains]).best == {"n_modes": 1}


def test_simpler_is_fewer_modes_then_shorter_history_then_switching_that_does_not_see_the_state():
    grid = [(2, 1, "independent"), (1, 2, "state"), (1, 1, "state"), (1, 2, "independent"), (1, 1, "independent")]
    candidates = [dict(zip(("n_modes", "history", "switching"), values, strict=True)) for values in grid]
    all_alike = np.zeros((5, 4))
    for out, best in (((), 4), ((4,), 2), ((4, 2), 3), ((4, 2, 3), 1), ((4, 2, 3, 1), 0)):
        gains = all_alike.copy()
        gains[list(out)] = -5.0  # in every session: beyond any error
        assert tried(candidates, gains).best == candidates[best]


def test_models_with_different_settings_share_a_table():
    printed = str(Choice([{"model": "Markov"}, {"model": "S-1", "n_modes": 2}], np.array([[-1.0, -1.1], [-1.3, -1.2]])))
    assert "| Markov |  | -1.0500 |" in printed


def test_among_equally_simple_settings_the_highest_wins_however_small_the_gain():
    candidates = [{"n_modes": k, "tol": tol} for k in (1, 2) for tol in (1, 2)]
    noise = np.array([1.0, -1.0, 1.0, -1.0])
    choice = tried(candidates, [0 * noise, 0.01 + noise, 0.1 - noise, 0.02 + noise])
    assert choice.highest == {"n_modes": 2, "tol": 1}
    assert choice.best == {"n_modes": 1, "tol": 2}
    assert choice.only(n_modes=2).best == {"n_modes": 2, "tol": 1}
    with pytest.raises(ValueError, match="n_modes=7: no candidate has that"):
        choice.only(n_modes=7)


def test_every_step_counts_the_same():
    """A long session outweighs two short ones, which the mean of sessions or folds would not have it do."""
    choice = tried(K123[:2], [[0.0, 0.0, 0.0], [5.0, 5.0, -20.0]], steps=[10, 10, 200])
    assert choice.difference(1, 0)[0] == pytest.approx(-10 / 220)
    assert choice.highest == {"n_modes": 1}
    np.testing.assert_allclose(choice.means[1] - choice.means[0], -10 / 220)


def test_differences_are_by_animal_where_five_are_known():
    gains = np.repeat([3.0, -2.0, 3.0, -2.0, 3.0], 4)  # each animal alike in all of its sessions
    for n_animals, unit, best in ((5, "animal", 1), (4, "session", 2)):
        subjects = [f"m{min(i // 4, n_animals - 1)}" for i in range(20)]
        choice = tried(K123[:2], [0 * gains, gains], subjects=subjects)
        assert choice.unit == unit
        assert choice.best == {"n_modes": best}
    assert tried(K123[:2], [0 * gains, gains], subjects=[None, *subjects[1:]]).unit == "session"


def test_a_candidate_that_cannot_be_is_never_taken():
    choice = tried(K123, [[-np.inf, 0.0], [1.0, 1.0], [1.0, 1.1]])
    assert choice.highest == {"n_modes": 3}
    assert choice.best == {"n_modes": 2}


@cache
def grid_truth(n_modes):
    """The gridworld's agent, with both of its goals or with one of them throughout."""
    data = gridworld(n_sessions=1, n_steps=2)
    both = data.true_model()
    table = both.mode_transitions_ if n_modes == 2 else np.ones((data.env.n_states, 1, 1))
    return SWIRL.from_parameters(
        data.env,
        history=both.history,
        rewards=both.rewards_[:n_modes],
        histories=both.histories_,
        mode_transitions=table,
        initial_modes=both.initial_modes_ if n_modes == 2 else [1.0],
    )


@pytest.mark.slow
@pytest.mark.parametrize("n_modes", [1, 2])
def test_the_true_number_of_modes_is_taken(n_modes):
    agent = grid_truth(n_modes)
    model = SWIRL(
        agent.env, history=1, reward="state-action", switching="independent", n_restarts=1, max_iter=60
    )  # fmt: skip
    choice = choose(model, agent.sample(9, 100, random_state=1), {"n_modes": [1, 2]}, n_folds=2)
    assert choice.best == {"n_modes": n_modes}
    assert choice.highest == {"n_modes": 2}  # of one mode too, in this draw: the highest mean would be wrong


# The test: whole animals, and no session twice


def test_every_fifth_animal_is_held_out_where_there_are_five():
    data = Trajectories([[0, 1]] * 12, subjects=[f"m{i % 6}" for i in range(12)])
    assert animals_to_hold_out(data, 5) == ["m0", "m5"]
    assert animals_to_hold_out(data[:5], 5) == ["m0"]
    assert animals_to_hold_out(data[:4], 5) is None
    assert shared_animals(*data.split(subjects=["m0", "m5"])) is None
    assert "on both sides (m0, m5, m4)" in shared_animals(*data.split(every=5))
    assert "may be on both sides" in shared_animals(*Trajectories([[0, 1]] * 4).split(every=2))


def test_a_session_on_both_sides_is_found_by_its_content():
    data = recording()
    with pytest.raises(ValueError, match=r"train and test share 6 sessions \('0', '1', '2', '3', '4' and 1 more\)"):
        check_apart(data, data)
    with pytest.raises(ValueError, match=r"share 1 session \('3'\)"):
        check_apart(data[:4], data[3:])
    check_apart(data[:3], data[3:])
    renamed = Trajectories(data.states, data.actions, gaps=data.gaps, names=list("abcdef"), n_states=5, n_actions=3)
    with pytest.raises(ValueError, match=r"share 1 session \('d'\)"):
        check_apart(data[:4], renamed[3:])
    # Short trials are alike by chance, and so may be sessions of two animals.
    trials = Trajectories([[0, 1, 2]] * 4)
    check_apart(*trials.split(every=2))
    with pytest.raises(ValueError, match="share 4 sessions"):
        check_apart(trials, trials)
    twice = Trajectories([data.states[0]] * 2, [data.actions[0]] * 2, subjects=["a", "b"])
    check_apart(twice[:1], twice[1:])
    signals = Trajectories.from_signals({"x": [np.arange(30.0), np.arange(30.0) ** 2]})  # the states are all alike
    check_apart(signals[:1], signals[1:])


@pytest.mark.parametrize("grid", [{}, {"colour": [1]}, {"tol": []}])
def test_a_grid_that_says_nothing_is_refused(grid):
    with pytest.raises(ValueError, match="grid: expected at least one value"):
        choose(MODEL, recording(), grid)


@pytest.mark.parametrize(
    ("model", "grid", "words"),
    [
        ("S-2", {"n_modes": [2]}, "expected a model"),
        (None, [2, 3], "a dict of lists"),
        (None, {"n_modes": 2}, "a list of values to try"),
        (None, {"switching": "state"}, "a list of values to try"),
    ],
)
def test_what_people_type_first_is_explained(model, grid, words):
    model = SWIRL(world()) if model is None else model
    with pytest.raises(ValueError, match=words):
        choose(model, recording(), grid)


def test_a_subject_is_never_split_between_folds():
    data = Trajectories([[0, 1]] * 6, subjects=["a", "b"] * 3)
    assert [fold.tolist() for fold in folds(data, 2)] == [[0, 2, 4], [1, 3, 5]]
    with pytest.raises(ValueError, match="n_folds=3: there are only 2 subjects"):
        folds(data, 3)


@pytest.mark.slow
def test_fits_made_at_the_same_time_score_the_same_to_the_last_bit(monkeypatch):
    scores, told, kept = [], [], []
    for n_cores in (1, 3):
        monkeypatch.setattr(grid_search, "cores", lambda n=n_cores: n)
        told.append([])
        kept.append([])
        choice = choose(
            MODEL,
            recording(),
            {"reward_prior": [Dirichlet(1.0), Dirichlet(1000.0)]},
            n_folds=3,
            callback=told[-1].append,
            on_fit=lambda settings, fitted, own=kept[-1]: own.append((settings, fitted.log_policies_.tobytes())),
        )
        scores.append(choice.log_likelihoods.tobytes())
    assert scores[0] == scores[1]
    assert told[0] == told[1]
    assert kept[0] == kept[1]


def test_large_fits_and_searches_are_made_one_at_a_time(monkeypatch):
    monkeypatch.setattr(grid_search, "cores", lambda: 5)
    search = SWIRL(world(), reward=Goals(None), n_modes="auto")
    assert grid_search._at_once([MODEL], recording()) == 5
    assert grid_search._at_once([MODEL, search], recording()) == 1
    monkeypatch.setattr(grid_search, "SIDE_BY_SIDE", 299)
    assert grid_search._at_once([MODEL], recording()) == 1  # 300 steps


@pytest.mark.parametrize("subjects", [None, ["a", "a", "b", "c", "c", "d"]])
def test_a_repeat_cuts_otherwise_and_keeps_animals_whole(subjects):
    data = Trajectories([[0, 1]] * 6, subjects=subjects)
    cuts = [[part.tolist() for part in folds(data, 2, repeat)] for repeat in range(4)]
    assert len({str(cut) for cut in cuts}) > 1
    assert cuts == [[part.tolist() for part in folds(data, 2, repeat)] for repeat in range(4)]
    for one, other in cuts:
        assert sorted(one + other) == list(range(6))
        assert not {data.subjects[i] for i in one} & {data.subjects[i] for i in other} or subjects is None


def test_what_seeds_change_is_inside_the_standard_error():
    """error² = (that of the sessions)² + variance of the difference over repeats / their number."""
    rows = np.array([[-10.0, -12.0, -11.0], [-11.0, -12.5, -11.2]])
    sums = np.array([[-30.0, -36.0, -33.0], [-33.0, -33.0, -36.0]])  # of each repeat, 30 steps
    repeats = np.stack([sums / 2, sums / 4, sums / 4], axis=2)
    plain = Choice([{"n_modes": 2}, {"n_modes": 1}], rows / 10, rows, np.full(3, 10), (None,) * 3)
    several = replace(plain, by_repeat=repeats)
    gain, error = plain.difference(0, 1)
    same_gain, more = several.difference(0, 1)
    assert same_gain == gain
    apart = (sums[0] - sums[1]) / 30
    assert several.scatter(0, 1) == pytest.approx(np.std(apart, ddof=1))
    assert plain.scatter(0, 1) == 0.0
    assert more == pytest.approx(np.sqrt(error**2 + np.var(apart, ddof=1) / 3))
    assert several.only(n_modes=2).by_repeat.tolist() == repeats[:1].tolist()


@pytest.mark.slow
def test_tasks_of_one_repeat_come_to_the_same_choice():
    candidates = [{"reward_prior": Dirichlet(1.0)}, {"reward_prior": Dirichlet(1000.0)}]
    tasks = fold_tasks(MODEL, recording(), candidates, n_folds=2)
    found = choice_of(tasks, carried_out(tasks))
    known = choose(MODEL, recording(), {"reward_prior": [Dirichlet(1.0), Dirichlet(1000.0)]}, n_folds=2)
    np.testing.assert_array_equal(found.log_likelihoods, known.log_likelihoods)
    np.testing.assert_allclose(found.scores, known.scores)
    assert found.best == known.best
    assert found.by_repeat is None
    twice = fold_tasks(MODEL, recording(), candidates, n_folds=2, n_repeats=2)
    assert [task.arguments["settings"]["random_state"] for task in twice[:4]] == [0, 0, 1, 1]
    assert choice_of(twice, carried_out(twice)).by_repeat.shape == (2, 2, len(recording()))


def test_candidates_may_have_seeds_of_their_own():
    tasks = fold_tasks(MODEL, recording(), [{"random_state": 5}, {"random_state": 9}], n_folds=2, n_repeats=2)
    assert [task.arguments["settings"]["random_state"] for task in tasks] == [5, 5, 6, 6, 9, 9, 10, 10]
    assert len({task.key for task in tasks}) == 8


def test_a_fold_in_which_nothing_is_observed_is_a_fault():
    data = recording()
    hidden = Trajectories(data.states, [np.full(len(own), -1) for own in data.actions], gaps=data.gaps, n_actions=3)
    with pytest.raises(ValueError, match="nothing was observed in the sessions held out"):
        fold_scores(MODEL, hidden, {}, [0, 1], "action")
    assert sum(fold_scores(MODEL, hidden, {}, [0, 1], "next_state")["scored_steps"]) > 0
