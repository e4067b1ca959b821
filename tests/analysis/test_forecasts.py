"""Forecasts beyond the next step: dense solves, loops and simulation agree, and a null world forecasts nothing."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sparse

from small_worlds import N_ACTIONS, N_MODES, N_STATES, truth, world
from swirl import metrics
from swirl.analysis import forecasts
from swirl.analysis.forecasts import chain_of, first_reached, goal_forecast, place_forecast, reached_next
from swirl.analysis.panel import panel
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.drifting_reward import DriftingReward
from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.registry import make

GOALS = {"one": 0, "two": [2, 3]}


def drawn(model, n_sessions=4, n_steps=40, seed=3):
    return model.sample(n_sessions, n_steps, random_state=seed)


def dense_chain(model):
    """T by plain loops over histories as tuples (newest state first), modes, actions and ends."""
    histories, env = model.histories, model.env
    rows = [tuple(row) for row in histories.table.tolist()]
    place = {row: i for i, row in enumerate(rows)}
    policy, switching, ends = model.choice_table(), model.mode_transitions_, env.dense()
    chain = np.zeros((len(rows), N_MODES, len(rows), N_MODES))
    for i, row in enumerate(rows):
        for z in range(N_MODES):
            for a in range(N_ACTIONS):
                for s in range(N_STATES):
                    if env.available[row[0], a] and ends[row[0], a, s] > 0:
                        j = place[(s, *row[:-1])]
                        chain[i, z, j] += policy[z, i, a] * ends[row[0], a, s] * switching[row[0], z]
    size = len(rows) * N_MODES
    return chain.reshape(size, size)


def plain_beliefs(model, states):
    """p(z_t | s_1:t) of one session by a plain loop, from states alone, and the number of the history at each step."""
    histories = model.histories
    place = {tuple(row): i for i, row in enumerate(histories.table.tolist())}
    chain = dense_chain(model).reshape(histories.n_histories, N_MODES, histories.n_histories, N_MODES)
    row = (int(states[0]), *[-1] * (histories.length - 1))
    belief, found, numbers = model.initial_modes_, [], []
    for t in range(len(states)):
        number = place[row]
        found.append(belief)
        numbers.append(number)
        if t + 1 < len(states):
            row = (int(states[t + 1]), *row[:-1])
            belief = belief @ chain[number, :, place[row]]
            belief = belief / belief.sum()
    return np.array(found), np.array(numbers)


@pytest.mark.parametrize("kind", ["deterministic", "stochastic"])
def test_the_chain_is_that_of_plain_loops(kind):
    model = truth(kind, history=2)
    np.testing.assert_allclose(chain_of(model).toarray(), dense_chain(model), atol=1e-12)
    np.testing.assert_allclose(chain_of(model).sum(axis=1), 1.0)


def test_the_next_goal_against_a_dense_solve_and_a_plain_loop():
    model = truth("stochastic", history=2)
    data = drawn(model)
    chain, states = dense_chain(model), np.repeat(model.histories.states, N_MODES)
    there = np.stack([np.isin(states, place) for place in GOALS.values()])
    solved = np.linalg.solve(np.eye(len(chain)) - chain * ~there.any(axis=0), chain @ there.T)
    np.testing.assert_allclose(solved.sum(axis=1), 1.0)  # it comes to one of them, sooner or later
    np.testing.assert_allclose(first_reached(chain_of(model), there), solved, atol=1e-10)
    total, steps, outcomes = np.zeros(len(data)), np.zeros(len(data), dtype=int), []
    for i, path in enumerate(data.states):
        beliefs, numbers = plain_beliefs(model, path)
        for t in range(len(path)):
            later = [g for s in path[t + 1 :] for g, place in enumerate(GOALS.values()) if s in np.atleast_1d(place)]
            if later:
                chance = sum(beliefs[t, z] * solved[numbers[t] * N_MODES + z, later[0]] for z in range(N_MODES))
                total[i] -= np.log(chance)
                steps[i] += 1
                outcomes.append(later[0])
    found = goal_forecast(model, data, GOALS)
    np.testing.assert_allclose(found.losses, total, rtol=1e-9)
    assert found.steps.tolist() == steps.tolist()
    assert found.loss == pytest.approx(total.sum() / steps.sum())
    share = np.bincount(outcomes) / len(outcomes)
    assert found.base_rate == pytest.approx(-np.sum(share * np.log(share)))
    assert goal_forecast(model, data, list(GOALS.values())).loss == found.loss


def test_the_next_goal_against_simulation():
    model, rng, n = truth("stochastic", history=2), np.random.default_rng(0), 4000
    chain, states = chain_of(model), np.repeat(model.histories.states, N_MODES)
    there = np.stack([np.isin(states, place) for place in GOALS.values()])
    ahead = first_reached(chain, there)
    policy, table = model.choice_table(), model.histories.table
    for history, z in ((7, 0), (model.histories.n_histories - 1, 1)):
        came = np.zeros(2)
        to = model.histories.successors
        h, mode, going = np.full(n, history), np.full(n, z), np.arange(n)
        while len(going):
            action = (policy[mode, h].cumsum(axis=1) > rng.random(len(h))[:, None]).argmax(axis=1)
            branch = (to.probability[h, action].cumsum(axis=1) > rng.random(len(h))[:, None]).argmax(axis=1)
            second = rng.random(len(h)) < model.mode_transitions_[table[h, 0], mode, 1]
            h, mode = np.asarray(to.next)[h, action, branch], second.astype(int)
            arrived = [np.isin(table[h, 0], place) for place in GOALS.values()]
            came += [flag.sum() for flag in arrived]
            left = ~(arrived[0] | arrived[1])
            h, mode, going = h[left], mode[left], going[left]
        p = ahead[history * N_MODES + z, 0]
        assert abs(came[0] / n - p) < 4 * np.sqrt(p * (1 - p) / n)


def test_a_goal_may_be_an_action_in_a_state():
    """Against loops: beliefs from states and actions, and a chain in which the action ends the walk."""
    model = truth("stochastic", history=2)
    data, goals = drawn(model), {"does": (1, 0), "two": [2, 3]}
    env, policy, switching, ends = model.env, model.choice_table(), model.mode_transitions_, model.env.dense()
    rows = [tuple(row) for row in model.histories.table.tolist()]
    place, size = {row: i for i, row in enumerate(rows)}, len(rows) * N_MODES
    moves, ending = np.zeros((size, size)), np.zeros((size, 2))
    for i, row in enumerate(rows):
        for z in range(N_MODES):
            for a in np.flatnonzero(env.available[row[0]]):
                if row[0] == 1 and a == 0:
                    ending[i * N_MODES + z, 0] += policy[z, i, a]
                    continue
                for s in np.flatnonzero(ends[row[0], a]):
                    chance = policy[z, i, a] * ends[row[0], a, s] * switching[row[0], z]
                    if s in (2, 3):
                        ending[i * N_MODES + z, 1] += chance.sum()
                    else:
                        first = place[(s, *row[:-1])] * N_MODES
                        moves[i * N_MODES + z, first : first + N_MODES] += chance
    solved = np.linalg.solve(np.eye(size) - moves, ending)
    np.testing.assert_allclose(solved.sum(axis=1), 1.0)
    total, steps = 0.0, 0
    for path, acts in zip(data.states, data.actions, strict=True):
        row, belief = (int(path[0]), -1), model.initial_modes_
        for t, action in enumerate(acts):
            later = []
            for u in range(t, len(path)):
                later += [1] if u > t and path[u] in (2, 3) else []
                later += [0] if (path[u], acts[u]) == (1, 0) else []
            number = place[row]
            if later:
                chances = [solved[number * N_MODES + z, later[0]] for z in range(N_MODES)]
                total, steps = total - np.log(belief @ chances), steps + 1
            if t + 1 < len(path):
                belief = (belief * policy[:, number, action]) @ switching[row[0]]
                belief, row = belief / belief.sum(), (int(path[t + 1]), row[0])
    assert steps > 50
    assert metrics.next_goal_log_loss(model, data, goals) == pytest.approx(total / steps, rel=1e-9)
    told = panel([model], data, goals)
    assert told.value(model.label, "next_goal") == pytest.approx(goal_forecast(model, data, goals).loss)
    assert told.goals == {"does": (1,), "two": (2, 3)}


def test_with_places_alone_the_log_loss_is_that_of_the_forecast():
    model = truth("deterministic", history=2)  # each action has one end of its own: actions tell no more than states
    data = drawn(model)
    assert metrics.next_goal_log_loss(model, data, GOALS) == pytest.approx(goal_forecast(model, data, GOALS).loss)


def test_an_action_that_is_not_recorded_may_have_been_the_goal():
    states, actions = [[0, 1, 2, 1, 0]], [[5, -1, 5, 7, 5]]
    assert reached_next(states, [9, (1, 7)], actions)[0].tolist() == [-1, -1, 1, 1, -1]
    assert reached_next(states, [2, (1, 7)], actions)[0].tolist() == [-1, -1, 1, 1, -1]  # it may have been, before 2
    assert reached_next(states, [2, (0, 5)], [[5, -1, 5, 7, 5]])[0].tolist() == [1, 0, 1, 1, 1]
    assert reached_next(states, [2, (1, 7)])[0].tolist() == [-1, -1, -1, -1, -1]  # no actions at all
    model = truth("deterministic")
    without = Trajectories(drawn(model).states, n_states=N_STATES, n_actions=N_ACTIONS)
    with pytest.raises(ValueError, match="no action is recorded in state 1, so whether 0 was chosen is not known"):
        metrics.next_goal_log_loss(model, without, {"does": (1, 0), "two": 2})


@pytest.mark.parametrize(
    ("goals", "said"),
    [
        ({"a": (1, 2), "b": 0}, "in state 1 there is no action 2.*several states are a list"),
        ({"a": (1, 9), "b": 0}, "in state 1 there is no action 9"),
        ({"a": (0, 1), "b": 0}, "state 0 is itself a goal"),
        ({"a": (1, 0), "b": (1, 0)}, "the same action in the same state is there twice"),
    ],
)
def test_actions_that_cannot_be_goals_are_refused(goals, said):
    model = truth("deterministic")
    with pytest.raises(ValueError, match=said):
        metrics.next_goal_log_loss(model, drawn(model), goals)


def test_two_actions_in_one_state_are_two_goals():
    model = truth("deterministic")
    data, goals = drawn(model), {"a": (1, 0), "b": (1, 1)}
    loss = goal_forecast(model, data, goals).loss
    assert metrics.next_goal_log_loss(model, data, goals) == pytest.approx(loss)
    assert panel([model], data, goals).value(model.label, "next_goal") == pytest.approx(loss)
    with pytest.raises(ValueError, match=r"in state 1 there is no action 9.*several states are a list"):
        panel([model], data, {"a": (1, 9)})


def test_a_model_of_next_states_cannot_forecast_an_action():
    model = truth("deterministic")
    data = drawn(model)
    counts = BackoffMarkov(model.env, order=1, target="next_state").fit(data)
    with pytest.raises(ValueError, match="of next states and knows no actions"):
        metrics.next_goal_log_loss(counts, data, {"a": (1, 0), "b": 0})
    told = panel({"counts": counts, "truth": model}, data, {"a": (1, 0), "b": 0}, of="next_state")
    assert np.isnan(told.value("counts", "next_goal"))
    assert told.value("truth", "next_goal") > 0


def test_iteration_and_exact_solve_agree(monkeypatch):
    model = truth("stochastic", history=2)
    data = drawn(model)
    exact, iterated = goal_forecast(model, data, GOALS), goal_forecast(model, data, GOALS, exact=0)
    np.testing.assert_allclose(iterated.losses, exact.losses, rtol=1e-7)
    assert not np.array_equal(iterated.losses, exact.losses)  # it did go the other way
    monkeypatch.setattr(forecasts, "SMALL", 0)  # iterated first, and solved where that does not settle
    settled = goal_forecast(model, data, GOALS)
    np.testing.assert_allclose(settled.losses, exact.losses, rtol=1e-10)
    assert not np.array_equal(settled.losses, exact.losses)
    monkeypatch.setattr(forecasts, "FEW_PRODUCTS", 3)
    np.testing.assert_array_equal(goal_forecast(model, data, GOALS).losses, exact.losses)


@pytest.mark.parametrize("exact", [0, 100])
def test_where_no_goal_can_be_reached_nothing_is_forecast(exact):
    trap = sparse.csr_array(
        np.array([[0.0, 0.5, 0.0, 0.5], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0] * 3 + [1.0]])
    )
    there = np.array([[True, False, False, False], [False, True, False, False]])
    # From 0 half of all go to 1 and half are trapped in 3: given that a goal is reached, it is 1.
    expected = [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(first_reached(trap, there, exact=exact), expected)


def test_what_the_model_rules_out_costs_much_but_not_everything():
    encoded, _ = truth().mode_beliefs(Trajectories([[1], [2]], n_states=N_STATES))
    lost = forecasts._scored(encoded, np.array([0.0, 0.5]), np.array([0, 1]))
    np.testing.assert_allclose(lost.losses, [-np.log(1e-12), np.log(2)])


@pytest.mark.parametrize("name", ["Markov-1", "S-1", "rARHMM"])
def test_one_step_ahead_is_the_score_of_next_states(name):
    train, test = drawn(truth(history=2), 6, 30).split(every=3)
    few = {} if name.startswith("Markov") else {"n_restarts": 1, "max_iter": 3}
    model = truth() if name == "S-1" else make(name, world(), **few).fit(train)
    silent = Trajectories(test.states, n_states=N_STATES, n_actions=N_ACTIONS)  # no action tells of a last state
    found = place_forecast(model, silent, (1,))[1]
    np.testing.assert_allclose(-found.losses, model.session_scores(silent, of="next_state"), rtol=1e-9)
    assert found.loss == pytest.approx(-model.score(silent, of="next_state"))
    assert found.steps.sum() == model.n_scored(silent, of="next_state")
    # With actions, the last step of each session is scored too; the forecasts are the same.
    np.testing.assert_allclose(place_forecast(model, test, (1,))[1].losses, found.losses, rtol=1e-9)


def test_five_steps_ahead_against_a_matrix_power(monkeypatch):
    model = truth("stochastic", history=2)
    data = drawn(model)
    power = np.linalg.matrix_power(dense_chain(model), 5)
    states = np.repeat(model.histories.states, N_MODES)
    total = np.zeros(len(data))
    for i, path in enumerate(data.states):
        beliefs, numbers = plain_beliefs(model, path)
        for t in range(len(path) - 5):
            rows = power[numbers[t] * N_MODES + np.arange(N_MODES)][:, states == path[t + 5]].sum(axis=1)
            total[i] -= np.log(beliefs[t] @ rows)
    found = place_forecast(model, data, (5, 20))
    np.testing.assert_allclose(found[5].losses, total, rtol=1e-9)
    assert found[5].steps.tolist() == [35] * 4
    assert found[20].steps.tolist() == [20] * 4
    monkeypatch.setattr(forecasts, "BLOCK", 1)  # one place after the other
    np.testing.assert_allclose(place_forecast(model, data, (5,))[5].losses, total, rtol=1e-9)


def test_nothing_is_forecast_across_a_gap_or_an_impossible_move():
    model = truth("stochastic", history=2)
    whole = drawn(model, 1, 40)
    path, actions = whole.states[0], whole.actions[0]
    cut = Trajectories([path], [actions], gaps=[[15]], n_states=N_STATES, n_actions=N_ACTIONS)
    apart = Trajectories([path[:15], path[15:]], [actions[:15], actions[15:]], n_states=N_STATES, n_actions=N_ACTIONS)
    for one, two in (
        (goal_forecast(model, cut, GOALS), goal_forecast(model, apart, GOALS)),
        (place_forecast(model, cut, (5,))[5], place_forecast(model, apart, (5,))[5]),
    ):
        assert one.losses.sum() == pytest.approx(two.losses.sum())
        assert one.steps.sum() == two.steps.sum()
        assert two.steps.sum() < 40 - 2
    whole = drawn(truth(), 1, 40)
    path = whole.states[0]
    jump = next(s for s in range(N_STATES) if not world().dense()[path[14], :, s].any())
    broken = [*path[:15], jump]
    model = make("Markov-1", world(), impossible="forget", strength=1.0).fit(whole)
    assert place_forecast(model, Trajectories([broken], n_states=N_STATES), (1,))[1].steps.tolist() == [14]


def test_which_place_is_reached_next():
    assert [part.tolist() for part in reached_next([[0, 1, 2, 1], [1], []], [0, [2, 3]])] == [[1, 1, -1, -1], [-1], []]
    assert reached_next([[2, 2, 0]], [0, 2])[0].tolist() == [1, 0, -1]  # staying is reaching it again


def test_goals_that_make_no_question_are_refused():
    model = truth(history=2)
    data = drawn(model)
    with pytest.raises(ValueError, match=r"goals=\{'water': 1\}: expected two or more places"):
        goal_forecast(model, data, {"water": 1})
    with pytest.raises(ValueError, match=r"goals=\[1, \[1, 2\]\]: state 1 is in more than one"):
        goal_forecast(model, data, [1, [1, 2]])
    for wrong in ([0, 5], [0, [1, 9]], [0, []], [-1, 2], [0, "water"]):
        with pytest.raises(ValueError, match=r"expected for each a state, or several, from 0 to 4"):
            goal_forecast(model, data, wrong)
    with pytest.raises(ValueError, match=r"steps=\(0, 5\): expected whole numbers of 1 or more"):
        place_forecast(model, data, (0, 5))


def test_a_model_whose_choices_drift_has_no_chain():
    model = DriftingReward(world(), history=1)
    model._histories = Histories.reachable(world().successors, 1)
    model.policies_ = np.full((3, N_STATES, N_ACTIONS), 1 / N_ACTIONS)  # of three stretches of time
    model.initial_modes_, model.mode_transitions_ = np.ones(1), np.ones((N_STATES, 1, 1))
    with pytest.raises(ValueError, match="DriftingReward: its choices change along a session"):
        chain_of(model)


def test_a_chain_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(forecasts, "MAX_MOVES", 10)
    with pytest.raises(ValueError, match=r"S-1: 60 moves between its histories and modes are too many"):
        chain_of(truth())


def test_counts_of_contexts_that_were_seen_walk_on_as_they_are_read():
    """k steps of the chain from each context, against all ways of k steps read anew as contexts."""
    data = drawn(truth(), 2, 12)
    model = BackoffMarkov(world(), order=3, strength=1.0, target="next_state").fit(data)
    histories, table = model.histories, model.choice_table()[0]
    following = np.asarray(world().successors.next)[:, :, 0]

    def walked(path, k):
        """Probability of being in each state k steps after a path."""
        if k == 0:
            return np.eye(N_STATES)[path[-1]]
        row = histories.follow(np.array(path), np.arange(len(path)) == 0)[-1]
        can = sorted({int(following[path[-1], a]) for a in range(N_ACTIONS) if world().available[path[-1], a]})
        options = histories.ranks(np.full(len(can), path[-1]), np.array(can))
        return sum(table[row, option] * walked([*path, s], k - 1) for s, option in zip(can, options, strict=True))

    test = drawn(truth(), 1, 12, seed=9)
    path = test.states[0].tolist()
    expected = -sum(np.log(walked(path[: t + 1], 3)[path[t + 3]]) for t in range(len(path) - 3))
    assert place_forecast(model, test, (3,))[3].losses.sum() == pytest.approx(expected)


def line_walks(n_sessions, n_steps, seed):
    """A line of nine places; at either end the animal turns, and it keeps its direction nine times in ten."""
    rng = np.random.default_rng(seed)
    env = MDP.deterministic([[max(s - 1, 0), min(s + 1, 8)] for s in range(9)])
    states = []
    for _ in range(n_sessions):
        s, way, path = int(rng.integers(9)), 1, []
        for _ in range(n_steps):
            path.append(s)
            way = 1 if s == 0 else -1 if s == 8 else way if rng.random() < 0.95 else -way
            s += way
        states.append(path)
    return env, Trajectories(states, n_states=9, n_actions=2)


def test_who_knows_where_it_is_going_beats_the_base_rate():
    env, data = line_walks(20, 100, seed=1)
    train, test = data.split(every=4)
    knows = BackoffMarkov(env, order=2, target="next_state").fit(train)
    found = goal_forecast(knows, test, {"left": 0, "right": 8})
    blind = goal_forecast(BackoffMarkov(env, order=1, target="next_state").fit(train), test, [0, 8])
    assert found.loss < 0.85 * found.base_rate
    assert found.loss < blind.loss - 0.05
    assert place_forecast(knows, test, (5,))[5].loss < place_forecast(knows, test, (5,))[5].base_rate


def test_in_a_null_world_nobody_knows():
    """Any place may follow any, all alike: which of two is reached next is a coin, whatever came before."""
    rng = np.random.default_rng(2)
    env = MDP.deterministic(np.tile(np.arange(6), (6, 1)))
    data = Trajectories(list(rng.integers(6, size=(40, 60))), n_states=6, n_actions=6)
    train, test = data.split(every=2)
    for order in (1, 2):
        model = BackoffMarkov(env, order=order, target="next_state").fit(train)
        found = goal_forecast(model, test, [0, 5])
        gains = found.base_rate - found.losses / found.steps
        error = gains.std(ddof=1) / np.sqrt(len(gains))
        assert found.base_rate - found.loss < 3 * error
        assert found.base_rate == pytest.approx(np.log(2), abs=0.02)


def test_the_completed_score_against_a_plain_loop():
    model = truth("stochastic", history=2)
    whole = drawn(model)
    rng = np.random.default_rng(0)
    actions = [np.where(rng.random(len(a)) < 0.2, -1, a) for a in whole.actions]
    gaps = [[17], [], [], []]
    for data in (whole, Trajectories(whole.states, actions, gaps=gaps, n_states=N_STATES, n_actions=N_ACTIONS)):
        _, evidence = model._ready(data)
        paths, total = model.predict(data), 0.0
        number = 0
        for i, path in enumerate(paths):
            for t, z in enumerate(path):
                if t == 0 or t in data.gaps[i]:
                    total += np.log(model.initial_modes_[z])
                else:
                    total += np.log(model.mode_transitions_[data.states[i][t - 1], path[t - 1], z])
                total += evidence.log_likelihoods[number, z]
                number += 1
        # log p(ẑ | x) is what it is less than the score.
        behind = (total - model.log_likelihood(data).sum()) / model.n_scored(data)
        assert model.completed_score(data) == pytest.approx(model.score(data) + behind)
        assert behind < 0
    assert model.completed_score(whole) == pytest.approx(
        (total_of(model, whole)) / model.n_scored(whole)
    )  # where all that is seen is scored, log p(x, ẑ) itself


def total_of(model, data):
    """log p(x, ẑ) of data without gaps in which every action was seen, from tables and paths alone."""
    total = 0.0
    for states, actions, path in zip(data.states, data.actions, model.predict(data), strict=True):
        _, numbers = plain_beliefs(model, states)
        for t, z in enumerate(path):
            total += np.log(
                model.initial_modes_[z] if t == 0 else model.mode_transitions_[states[t - 1], path[t - 1], z]
            )
            total += np.log(model.choice_table()[z, numbers[t], actions[t]])
    return total


def test_with_one_mode_the_completed_score_is_the_score():
    whole = drawn(truth())
    rng = np.random.default_rng(0)
    actions = [np.where(rng.random(len(a)) < 0.2, -1, a) for a in whole.actions]
    data = Trajectories(whole.states, actions, n_states=N_STATES, n_actions=N_ACTIONS)
    model = BackoffMarkov(world(), order=1).fit(whole)
    for of in ("action", "next_state"):
        assert model.completed_score(data, of=of) == pytest.approx(model.score(data, of=of))
    nothing = Trajectories([[0]], n_states=N_STATES, n_actions=N_ACTIONS)
    with pytest.raises(ValueError, match="nothing to score"):
        model.completed_score(nothing)


def test_a_forecast_of_nothing_is_nan():
    found = replace(forecasts.Forecast(np.zeros(2), np.array([3, 1]), 0.0), steps=np.zeros(2, dtype=int))
    assert np.isnan(found.loss)
