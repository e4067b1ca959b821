"""The report: numbers by hand, what is on the page and what is not, names that would break it, files left whole."""

import base64
import gzip
import json
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from small_worlds import with_goals
from swirl import report
from swirl.analysis.comparison_result import Comparison
from swirl.analysis.decoded import DecodedFit, decode
from swirl.analysis.group_test import by_animal, compare_groups
from swirl.analysis.mode_signal import Window
from swirl.analysis.predictive_checks import simulated_like
from swirl.analysis.triggered_average import mode_triggered_average
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.segments import bouts_of, find_segments
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld
from swirl.estimators.arhmm import ARHMM
from swirl.estimators.fit_warnings import Halves
from swirl.estimators.swirl import SWIRL
from swirl.plots.fit import segmentation
from swirl.plots.fit.signals import signal_around_starts
from swirl.plots.move_maps import state_transitions
from swirl.report import maps as mapped
from swirl.report import session as sessions
from swirl.report.animals import animal_facts, animal_figure, animal_note, animal_sentences, group_words
from swirl.report.caveats import OtherSolution
from swirl.report.checks import OF_MODES, check_facts, check_sentence
from swirl.report.comparison import relation
from swirl.report.durations import bout_facts, durations_section, model_sentence
from swirl.report.maps import map_facts, places
from swirl.report.modes import mode_facts, mode_sentence
from swirl.report.page import SECTIONS, contents
from swirl.report.provenance import provenance
from swirl.report.section import ReportedFit
from swirl.report.session import session_facts
from swirl.report.signal import elsewhere_words, onset_figure, signal_facts
from swirl.report.summary import data_facts, next_steps
from swirl.report.switching import stands_out, switch_counts, switching_facts, switching_sentences
from swirl.report.uncertainty import agreement_of, restart_facts
from swirl.report.writing import ASSETS
from swirl.rewards import Goals
from swirl.text import minus, number, rounded

EVIL = '<b>"x"</b></script><script>boom()</script>'
N_STATES, N_SESSIONS, N_STEPS = 25, 3, 80  # one shape everywhere: what decodes is compiled once


@cache
def grid():
    """A gridworld, its truth as a model, and recordings with everything that a recording can have."""
    world = gridworld(n_sessions=N_SESSIONS, n_steps=N_STEPS)
    drawn = world.trajectories
    data = Trajectories(
        drawn.states,
        drawn.actions,
        names=[EVIL, "second", "third"],
        subjects=["m1", "m1", EVIL],
        times=[np.arange(N_STEPS) * 0.5 + 7 for _ in range(N_SESSIONS)],
        gaps=[[], [30], []],
        signals={
            "dopamine": [(path == 23).astype(float) * 2 + 0.5 for path in drawn.states],
            "lick": [(path == 23).astype(float) for path in drawn.states],
        },
        modes=drawn.modes,
        n_states=N_STATES,
        n_actions=5,
    )
    return world.true_model(), data


@cache
def syllables(per_action=True):
    """An environment without places: the action is the next state."""
    rng = np.random.default_rng(0)
    names = [f"syllable {i}" for i in range(N_STATES - 1)] + [EVIL]
    env = MDP.deterministic(np.tile(np.arange(N_STATES), (N_STATES, 1)), state_names=names, action_names=names)
    histories = Histories.reachable(env.successors, 1 if per_action else 2)
    policies = rng.dirichlet(np.ones(N_STATES), size=(2, histories.n_histories))
    rewards = np.log(policies) if per_action else rng.normal(size=(2, histories.n_histories))
    kind = "state-action" if per_action else "state"
    model = SWIRL(env, n_modes=2, history=histories.length, reward=kind)  # as given: nothing is solved
    model._set_rewards(histories, rewards, np.log(policies))
    model._set_chain(np.broadcast_to([[0.95, 0.05], [0.1, 0.9]], (N_STATES, 2, 2)).copy(), np.array([0.5, 0.5]))
    model.initial_states_, model.mode_temperatures_ = np.full(N_STATES, 1 / N_STATES), np.ones(2)
    return model, model.sample(N_SESSIONS, N_STEPS)


def one_mode():
    env = gridworld(n_sessions=3, n_steps=80).env
    return SWIRL.from_parameters(
        env, history=1, rewards=np.zeros((1, N_STATES)), mode_transitions=[[1.0]], initial_modes=[1.0]
    )


def comparison(model):
    return Comparison(
        of="action",
        n_scored=40,
        names=("one <mode>", "two"),
        models={"one <mode>": one_mode(), "two": model},
        log_likelihoods=np.array([[-30.0, -20.0], [-24.0, -17.0]]),
        steps=np.array([24, 16]),
        subjects=(None, None),
        seconds=np.array([0.5, 2.0]),
        chosen={"two": {"prior": "<i>"}},
    )


@cache
def full_page():
    model, data = grid()
    run = {"command": ["swirl", "fit", "<data>.csv"], "config": {"modes": 2, "note": EVIL}, "seconds": 3.5}
    return report.build(model, data, comparison=comparison(model), signal="dopamine", title=EVIL, run=run, n_draws=2)


class Page(HTMLParser):
    """Tags, attributes and texts of a page, scripts apart."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.scripts, self.inside = [], [], [], None
        self.details, self.open_details = [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "details":
            self.details.append("")
            self.open_details = True

    def handle_endtag(self, tag):
        self.inside = None
        self.open_details = self.open_details and tag != "details"

    def handle_data(self, text):
        if self.open_details:
            self.details[-1] += text
        (self.scripts if self.inside == "script" else self.texts).append(text)

    def folded(self):
        """The text of the first <details>."""
        return self.details[0]

    def ids(self):
        return {attrs["id"] for _, attrs in self.tags if "id" in attrs}

    def facts(self):
        return json.loads(next(text for text in self.scripts if text.startswith('{"modes"')))


def test_importing_loads_little():
    program = """
import json, sys, swirl.report
print(json.dumps([name for name in ("plotly", "jinja2", "matplotlib", "pandas", "jax") if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


# ---------------------------------------------------------------------- numbers by hand


def decoded(modes, states=None, names=("a", "b"), signal=None, **more):
    """Sessions with modes, as facts read them; no model."""
    states = [np.zeros(len(path), int) for path in modes] if states is None else states
    return DecodedFit(None, Trajectories(states, **more), None, [np.array(path) for path in modes], list(names), signal)


def test_modes_by_hand():
    # Mode 0 goes to 2 four times (of 9 steps that another follows), mode 1 to 0 four times and never to 2.
    modes = [[0] * 9 + [1] * 9]
    states = [[0, 2, 0, 2, 0, 2, 0, 2, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1]]
    first, second = mode_facts(decoded(modes, states))
    # Neither bout is whole: of the first the start was not seen, of the second the end was not.
    assert [first["share"], first["bouts"], first["median_bout"]] == [0.5, 1, ""]
    assert second["median_bout"] == "longer than 8 steps"
    # Expected at the rate of both modes: 4 arrivals × 9 / 17 steps.
    assert first["places"] == [{"state": 2, "times": 4, "ratio": pytest.approx(4.5 / (4 * 9 / 17 + 0.5))}]
    assert [place["state"] for place in second["places"]] == [1]
    # From 0, mode 0 made 4 of the 4 moves to 2; both modes together left 0 eight times.
    assert first["moves"][0] == {"state": 0, "next": 2, "times": 4, "ratio": pytest.approx(4.5 / (4 * 4 / 8 + 0.5))}


def test_where_the_decoded_share_hides_how_unsure_the_modes_are_it_is_said():
    _, data = grid()
    # Two modes that want the same: the most likely path stays in the first, and nothing speaks for it.
    chain = {"mode_transitions": [[0.9, 0.1], [0.1, 0.9]], "initial_modes": [0.51, 0.49]}
    same = SWIRL.from_parameters(gridworld(n_sessions=3, n_steps=80).env, history=1, rewards=np.zeros((2, 25)), **chain)
    words = " ".join(Page(report.build(same, data, n_draws=0)).texts).replace("\xa0", " ")
    assert (
        "mode 0: 100 % of the decoded steps, but 50 % by probability; mode 1: 0 % of the decoded steps, but 50 % by "
        "probability. At many steps it is not clear which mode it was."
    ) in words
    assert "by probability" not in " ".join(Page(full_page()).texts)


def test_nothing_is_counted_across_gaps():
    modes, states = [[0, 0, 1, 1]], [[0, 1, 2, 0]]
    assert switch_counts(decoded(modes, states)).sum() == 1
    assert switch_counts(decoded(modes, states, gaps=[[2]])).sum() == 0


def signal_by_modes(values, modes, **more):
    return signal_facts(decoded(modes, names="abc", signal="dopamine", signals={"dopamine": values}, **more))


def test_signals_by_mode_count_sessions_not_steps():
    # In the first session mode 1 starts twice, in the second once: sessions weigh alike, as `triggered` has it.
    values = [[0.0, 0.0, 6.0, 0.0, 8.0, 8.0], [4.0, 5.0]]
    facts = signal_by_modes(values, [[0, 0, 1, 0, 1, 1], [0, 1]])
    assert facts["mean"] == [2, pytest.approx((22 / 3 + 5) / 2, abs=1e-3), None]
    assert facts["sem"] == [2, pytest.approx((22 / 3 - 5) / 2, abs=1e-3), None]
    assert (facts["over"], facts["units"], facts["steps"]) == ("session", [2, 2, 0], [4, 4, 0])
    assert facts["onsets"] == [1, 3, 0]
    at = facts["lags"].index(0)
    assert (facts["lags"][0], facts["lags"][-1]) == (-10, 20)
    assert facts["course"][1][at - 1 : at + 2] == [2, 6, 4]  # of (0, 7) and (4, 5); after it only the first: 0 and 8
    assert facts["spread"][1][at - 1 : at + 2] == [2, 1, None]
    assert facts["course"][2] == [None] * 31
    grouped = signal_by_modes([*values, [3.0]], [[0, 0, 1, 0, 1, 1], [0, 1], [0]], subjects=["a", "a", "b"])
    assert (grouped["over"], grouped["units"]) == ("subject", [2, 1, 0])
    assert grouped["mean"][0] == pytest.approx((4 / 4 + 3) / 2)


def test_the_report_says_whether_it_may_be_the_place():
    rng = np.random.default_rng(0)
    states = [np.cumsum(rng.choice([-1, 0, 1], size=400)) % 8 for _ in range(4)]
    modes = []
    for path in states:
        on = np.zeros(400, dtype=int)
        for t in range(1, 400):
            on[t] = rng.random() > 0.1 if on[t - 1] else path[t] == 3 and rng.random() < 0.4
        modes.append(on)
    noise = [rng.normal(size=400) for _ in states]
    place = [2.0 * (path == 3) + own for path, own in zip(states, noise, strict=True)]
    mode = [1.0 * on + own for on, own in zip(modes, noise, strict=True)]
    for values, told in ((place, "it may be the place"), (mode, "beyond other visits to the same places")):
        fit = decoded(modes, states, names="ab", signal="dff", signals={"dff": values})
        facts = signal_facts(fit)
        assert facts["tests"][1]["p"] <= 0.05
        assert facts["tests"][1]["meaning"].endswith(told)
        assert (facts["tests"][1]["place_p"] <= 0.05) == (values is mode)
        average = mode_triggered_average(fit.data, modes, "dff")
        assert facts["tests"][1]["exchanged"] == average.n_exchanged[1] < facts["onsets"][1]
        assert set(signal_around_starts(fit)[1].query("mode == 'b'")["meaning"]) == {facts["tests"][1]["meaning"]}


def test_signals_are_not_read_across_gaps():
    facts = signal_by_modes([[1.0, 2.0, 3.0, 4.0, 5.0]], [[0, 0, 1, 1, 1]], gaps=[[1]])
    at = facts["lags"].index(0)
    assert facts["onsets"] == [0, 1, 0]
    assert facts["course"][1][at - 3 : at + 4] == [None, None, 2, 3, 4, 5, None]


@pytest.mark.parametrize("window", [Window(3, 4), Window(1.5, 2.0, 0.5)])
def test_the_window_around_onsets_is_in_steps_or_in_time_and_the_axis_says_which(window):
    rng = np.random.default_rng(2)
    paths, values = [rng.integers(0, 2, size=30) for _ in range(3)], [rng.normal(size=30) for _ in range(3)]
    times = [3.5 + 0.5 * np.arange(30)] * 3
    case = decoded(paths, signal="dopamine", signals={"dopamine": values}, times=times)
    facts, steps = signal_facts(replace(case, window=window)), signal_facts(replace(case, window=Window(3, 4)))
    assert facts["course"] == steps["course"]  # steps of half a second
    in_time = window.bin is not None
    assert facts["lags"] == [lag * (0.5 if in_time else 1) for lag in range(-3, 5)]
    axis = onset_figure(case, facts)["layout"]["xaxis"]["title"]["text"]
    assert axis == f"{'time (s)' if in_time else 'steps'} from the onset of the mode"
    drawn, table = signal_around_starts(replace(case, window=window))
    assert [ax.get_xlabel() for ax in drawn.axes] == [f"{'time' if in_time else 'steps'} from its start"
                                                      f"{' (s)' if in_time else ''}"] * 2  # fmt: skip
    assert sorted(set(table["lag"])) == facts["lags"]


def test_data_facts():
    model, data = grid()
    facts = data_facts(decode(model, data))
    assert [facts[name] for name in ("sessions", "steps", "subjects", "gaps")] == [3, 240, 2, 1]
    assert facts["visited_states"] == len(np.unique(np.concatenate(data.states)))
    assert facts["same_as_training"] is None
    assert facts["fingerprint"] == data.fingerprint()


def test_maps_show_the_models_own_tables():
    model, data = grid()
    facts = map_facts(decode(model, data))
    assert facts["kind"] == "grid"
    canonical, fitted = facts["gauges"]  # least norm first
    assert (canonical["label"], facts["no_least_norm"]) == ("least norm", False)
    assert facts["edges"]["rows"] == facts["edges"]["columns"] == list("01234")  # cells are called "(4, 3)"
    assert facts["edges"]["words"] == "the row and the column of (row, column)"
    np.testing.assert_allclose(fitted["state"], model.reward_map(), rtol=2e-3)
    np.testing.assert_allclose(canonical["state"], model.reward_map("canonical"), rtol=2e-3, atol=1e-4)
    table, pairs = model.reward_table(), facts["pairs"]
    np.testing.assert_allclose(fitted["pair"], table[:, pairs["state"], pairs["previous"]], rtol=2e-3)
    assert facts["pair_moves"] is None  # r(s, s') without an action: the policy does not see the previous state
    onward = state_transitions(model.state_policies()[1], model.env)
    for state, following in enumerate(facts["following"]):
        np.testing.assert_allclose(facts["moves"][1][state][: len(following)], onward[state, following], atol=1e-3)


@pytest.mark.slow
def test_where_least_norm_is_too_large_the_page_says_so(monkeypatch):
    model, data = grid()
    monkeypatch.setattr(mapped, "MAX_HISTORIES", 3)
    facts = map_facts(decode(model, data))
    assert [gauge["name"] for gauge in facts["gauges"]] == ["fitted"]
    assert facts["no_least_norm"]
    assert "The reward of least norm is not here" in report.build(model, data, n_draws=0)


def test_switching_counts_the_visits_that_it_rests_on():
    model, data = grid()
    case = decode(model, data)
    visits = np.array(switching_facts(case)["visits"])
    path, modes = np.concatenate(data.states), np.concatenate(case.modes)
    assert visits.sum() == data.n_steps
    assert visits[1, 3] == ((modes == 1) & (path == 3)).sum()


def switcher(seed, rates):
    """Two modes that are left with such probabilities in each state, and states that know nothing of modes."""
    rng = np.random.default_rng(seed)
    states, modes = rng.integers(0, len(rates), 4000), np.zeros(4000, int)
    for t in range(3999):
        modes[t + 1] = modes[t] ^ (rng.random() < rates[states[t]])
    case = decoded([modes.tolist()], [states.tolist()])
    counts = switch_counts(case)
    visits = np.array([np.bincount(states[modes == k], minlength=case.n_states) for k in (0, 1)])
    found = stands_out(counts, visits, counts / np.maximum(visits, 1)[:, None])  # a table by state without a prior
    return case, {"counts": counts, "stands_out": found}


def test_a_place_is_named_only_where_switching_depends_on_it():
    """Of 40 states two always had "most" switches, 14 % and 12 %, though none mattered."""
    rates = np.full(40, 0.02)
    assert sum(switcher(seed, rates)[1]["stands_out"].any() for seed in range(20)) <= 2
    case, facts = switcher(0, rates)
    assert all(
        "at no state more often than chance would have it." in words for words in switching_sentences(facts, case)
    )
    rates[7] = 0.4
    case, facts = switcher(0, rates)
    assert np.argwhere(facts["stands_out"]).tolist() == [[0, 1, 7], [1, 0, 7]]
    assert all(f"most at {case.state_names[7]} (" in words for words in switching_sentences(facts, case))


def test_animals_are_compared_and_not_steps():
    # m1 has two sessions, of 2 and 6 steps; each animal counts once, however long it was recorded.
    modes = [[0, 0], [0, 1, 1, 1, 1, 1], [0, 1], [1, 1, 1, 1], [0, 0]]
    case = decoded(modes, subjects=["m1", "m1", "m2", "m3", "m4"], groups=["x", "x", "x", "y", None])
    facts = animal_facts(case)
    assert [row["steps"] for row in facts["rows"]] == [8, 2, 4, 2]
    assert [row["shares"][0] for row in facts["rows"]] == [3 / 8, 0.5, 0.0, 1.0]
    assert facts["groups"] == ["x", "y", "no group"]
    first = animal_sentences(facts, case.mode_names)[0].replace("\xa0", " ")
    assert first == "a: x 44 % (2 animals, 38 to 50 %), y 0 % (1 animal), no group 100 % (1 animal)."
    assert animal_note(facts).startswith("Compare animals, not steps")
    drawn = animal_figure(case, facts)
    assert drawn["csv"][1] == ["m1", "x", 8, 0.375, 0.625]
    assert len(drawn["data"][0]["x"]) == 4  # two animals of the first group in two modes
    crossed = animal_facts(decoded(modes, subjects=list("aabbb"), groups=["x", "y", "x", "y", "y"]))
    assert crossed["crossed"]
    assert len(crossed["rows"]) == 4
    assert animal_facts(decoded(modes[:1])) is None
    unknown = animal_facts(decoded(modes))
    assert (unknown["noun"], len(unknown["rows"]), unknown["groups"]) == ("session", 5, [])


def test_groups_are_tested_with_the_animal_as_the_unit():
    # Four animals in each group, of two sessions each: all animals of one group are in mode a most of the time.
    many, few = [0] * 8 + [1] * 2, [0] * 2 + [1] * 8
    paths, animals = [many, many] * 4 + [few, few] * 4, [f"m{i // 2}" for i in range(16)]
    case = decoded(paths, subjects=animals, groups=["x"] * 8 + ["y"] * 8)
    told = group_words(animal_facts(case), case.mode_names)
    assert told[0] == "The groups differ in a and b: a p = 0.029, b p = 0.029 (corrected: 0.029; 0.029)."
    assert told[1].replace("\xa0", " ") == (
        "y minus x, in shares of an animal’s steps, with 95 % intervals: a −60 points (−60 to −60), b +60 points "
        "(+60 to +60)."
    )
    assert "in all 70 ways to deal the group labels" in told[2]  # and not in those to divide 16 sessions
    three = group_words(animal_facts(case) | {"rows": animal_facts(case)["rows"][1:7]}, case.mode_names)
    assert three[0].startswith("No difference could be shown")
    assert three[3].startswith("With so few animals p cannot be below 0.1")
    crossed = decoded(paths, subjects=animals, groups=["x", "y"] * 8)  # each animal with and without a drug
    assert "all 256 ways" in group_words(animal_facts(crossed), case.mode_names)[2]
    mixed = decoded(paths, subjects=animals, groups=["x", "y"] * 7 + ["x", "x"])
    assert "in both groups, m7 in one only" in group_words(animal_facts(mixed), case.mode_names)[0]
    several = decoded(paths, subjects=animals, groups=["x", "y"] * 7 + ["x", "z"])
    assert (
        "some animals were in several of more than two groups" in group_words(animal_facts(several), case.mode_names)[0]
    )
    unknown = decoded(paths, groups=["x"] * 8 + ["y"] * 8)
    assert "which session is of which animal is not known" in group_words(animal_facts(unknown), case.mode_names)[0]
    assert group_words(animal_facts(decoded(paths, subjects=animals)), case.mode_names) == []


def test_sessions_of_one_animal_are_not_said_to_be_of_unknown_ones():
    case = decoded([[0, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 0]], subjects=["m1"] * 4, groups=["x", "x", "y", "y"])
    facts = animal_facts(case)
    told = f"{animal_note(facts)} {' '.join(group_words(facts, case.mode_names))}"
    assert "not known" not in told
    assert "All sessions are of one animal, m1: how animals differ cannot be seen." in told
    assert "Groups were not tested: all sessions are of one animal, m1, and what differs between its sessions" in told
    some = animal_note(animal_facts(decoded([[0, 1], [1, 1]], subjects=["m1", None])))
    assert "Which animal a session is from is not known here" in some


def timed_groups(dwell_of_y=4.0, **more):
    """Four animals in each group, half of whose steps are in mode b; those of group y last longer in b."""
    rng = np.random.default_rng(0)
    paths = [rng.permutation([0, 1] * 10) for _ in range(8)]
    dwell = [
        rng.uniform(0.9, 1.1, size=20) * np.where((path == 1) & (i > 3), dwell_of_y, 1) for i, path in enumerate(paths)
    ]
    given = {"signals": {"dwell": dwell}, "subjects": list("abcdefgh"), "groups": ["x"] * 4 + ["y"] * 4}
    return decoded(paths, **given | more)


def test_where_steps_last_unequally_long_the_time_comes_first_and_is_tested():
    case = timed_groups()
    facts = animal_facts(case)
    assert (facts["of"], facts["unknown"]) == ("time", 0)
    of_time = by_animal(case.data, case.modes, "time").to_numpy()
    np.testing.assert_allclose([row["shares"] for row in facts["rows"]], of_time)
    assert all(row["step_shares"] == [0.5, 0.5] for row in facts["rows"])
    told = group_words(facts, case.mode_names)
    p = number(float(compare_groups(by_animal(case.data, case.modes, "time")).p_value[0]), 2)
    assert told[0] == f"The groups differ in the time in a and b: a p = {p}, b p = {p} (corrected: {p}; {p})."
    assert told[1].startswith("y minus x, in shares of an animal’s time, with 95")
    assert "one value per animal, its share of the time: in all 70 ways" in told[2]
    assert told[3].endswith("stand beside and are not tested.")
    assert sum("p = " in words for words in told) == 1  # one test and no second
    words = animal_sentences(facts, case.mode_names)[1].replace("\xa0", " ")
    assert words.startswith("b: x 50 % (4 animals, ")
    assert words.count("; 50 % of the steps)") == 2
    assert "Shares are of the time, as steps last unequally long (the signal dwell)." in animal_note(facts)
    drawn = animal_figure(case, facts)
    assert drawn["layout"]["yaxis"]["title"]["text"] == "share of the animal’s time"
    head, first = drawn["csv"][:2]
    assert head == ["animal", "group", "steps", "time", "a, share of time", "b, share of time",
                    "a, share of steps", "b, share of steps"]  # fmt: skip
    assert first[2:4] == [20, pytest.approx(sum(case.data.signals["dwell"][0]))]
    assert first[4:] == [*map(pytest.approx, of_time[0].round(4)), 0.5, 0.5]
    first, second = mode_facts(case)
    assert (first["share"], second["share"]) == (0.5, 0.5)
    lasted, path = np.concatenate(case.data.signals["dwell"]), np.concatenate(case.modes)
    assert second["time"] == pytest.approx(lasted[path == 1].sum() / lasted.sum())
    assert mode_sentence(second, case.state_names, of_moves=True).replace("\xa0", " ").startswith(
        f"{round(100 * second['time'])} % of the time (50 % of the steps), in "
    )  # fmt: skip


@pytest.mark.parametrize(
    "given",
    [
        {"signals": None},
        {"signals": {"dwell": [np.full(20, 0.5)] * 8}},
        {"signals": None, "times": [np.arange(20) / 30] * 8},
        {"signals": None, "times": [np.round(np.arange(20) / 30, 3)] * 8},  # 33 and 34 ms
        {"signals": {"dwell": [np.full(20, 3000.0)] * 8}, "times": [np.arange(20) * 2.0] * 8},  # is something else
    ],
    ids=["unknown", "equal dwell", "equal times", "rounded times", "no durations"],
)
def test_where_durations_are_equal_or_unknown_steps_are_counted_as_before(given):
    case = timed_groups(**given)
    plain = timed_groups(signals=None)
    facts = animal_facts(case)
    assert facts["of"] == "steps"
    assert facts == animal_facts(plain) | {"summary": facts["summary"]}
    assert group_words(facts, case.mode_names) == group_words(animal_facts(plain), case.mode_names)
    assert animal_note(facts) == animal_note(animal_facts(plain))
    assert animal_figure(case, facts) == animal_figure(plain, animal_facts(plain))
    assert [fact["time"] for fact in mode_facts(case)] == [None, None]


def test_steps_of_unknown_length_are_left_out_of_the_time_and_where_they_are_many_steps_are_counted():
    rng = np.random.default_rng(1)
    times = [np.cumsum(rng.exponential(size=20)) for _ in range(8)]
    few = animal_facts(timed_groups(signals=None, times=times, gaps=[[5], *[[]] * 7]))
    assert (few["of"], few["unknown"]) == ("time", 9)
    assert "(each is taken to last until the next). How long 9 steps lasted is not known: left out" in animal_note(few)
    many = animal_facts(timed_groups(signals=None, times=times, gaps=[[3, 6, 9, 12], *[[]] * 7]))  # 15 of 20 are known
    assert (many["of"], many["unknown"]) == ("steps", 0)
    assert animal_note(many).endswith("how long a step lasted is known for too few of them.")


@pytest.mark.parametrize("joined", [True, False])
def test_the_time_to_a_step_that_does_not_follow_is_not_how_long_the_step_lasted(joined):
    """Syllables with others cut out between them: their times only say how much was left out."""
    rng = np.random.default_rng(1)
    times = [np.cumsum(rng.exponential(size=20)) for _ in range(8)]
    case = timed_groups(signals=None, times=times)
    states = [np.arange(20) % 2 if joined else rng.integers(0, 2, size=20) for _ in range(8)]
    data = Trajectories(states, times=times, subjects=case.data.subjects, groups=case.data.groups)
    found = animal_facts(replace(case, data=data, env=MDP.deterministic([[1], [0]])))
    assert found["of"] == ("time" if joined else "steps")
    assert ("known for too few of them" in animal_note(found)) is not joined


def test_durations_of_zero_are_not_said_to_be_unknown():
    dwell = timed_groups().data.signals["dwell"]
    zeros = animal_facts(timed_groups(signals={"dwell": [np.zeros(20), *dwell[1:]]}))
    assert zeros["of"] == "steps"
    assert animal_note(zeros).endswith(
        "Shares are of steps: for some animal all known durations are 0 (the signal dwell)."
    )


def test_shares_of_time_and_of_steps_are_apart_by_a_point_or_the_time_is_shown():
    for long in np.linspace(1, 3, 41):
        dwell = [np.where(np.arange(20) == 0, long, 1.0)] * 8
        case = timed_groups(signals={"dwell": dwell})
        apart = abs(by_animal(case.data, case.modes, "time") - by_animal(case.data, case.modes)).to_numpy().max()
        assert apart <= 0.01 or case.durations is not None
        assert case.durations is None or long > 1


def test_another_solution_is_told_in_the_same_shares():
    case = timed_groups()
    turned = timed_groups()
    turned = DecodedFit(None, turned.data, None, [1 - path for path in turned.modes], turned.mode_names)
    told = group_words(animal_facts(case), case.mode_names, [OtherSolution(7.01, turned)])
    assert told[0] == "Do not rely on this difference: another solution, 7 nats behind, reverses the sign of a and b."
    difference = np.diff(by_animal(case.data, case.modes, "time").groupby("group").mean().to_numpy(), axis=0)[0]
    assert f"here it is a {minus(f'{100 * difference[0]:+.0f}')} points" in told[2]


def two_groups(x, y):
    """Eight animals of two sessions each: the paths of group x and of group y."""
    animals = [f"m{i // 2}" for i in range(16)]
    return decoded([x] * 8 + [y] * 8, subjects=animals, groups=["x"] * 8 + ["y"] * 8)


def test_what_another_solution_says_of_the_groups_stands_beside():
    many, few = [0, 0, 0, 0, 1], [0, 1, 1, 1, 1]
    case = two_groups(many, few)
    facts = animal_facts(case)
    alone = group_words(facts, case.mode_names)
    told = group_words(facts, case.mode_names, [OtherSolution(7.01, two_groups(few, many))])
    assert told[0] == ("Do not rely on this difference: another solution, 7 nats behind, reverses the sign of a and b.")
    assert told[1] == alone[0]
    assert told[1].startswith("The groups differ in a and b")
    assert told[2] == (
        "In another solution, 7 nats behind, with other modes, the difference of y minus x is a +60 points "
        "(p = 0.029), b −60 points (p = 0.029); here it is a −60 points, b +60 points."
    )
    # The same sign: nothing is said first. One that reverses it is told before a better one that does not.
    same = OtherSolution(1.2, two_groups([0, 0, 0, 1, 1], few))
    assert group_words(facts, case.mode_names, [same])[0] == alone[0]
    assert "a −40 points" in group_words(facts, case.mode_names, [same])[1]
    both = group_words(facts, case.mode_names, [same, OtherSolution(7.01, two_groups(few, many))])
    assert both[0] == told[0]
    # Where no difference is claimed here, there is nothing to reverse.
    level = two_groups(many, many)
    said = group_words(animal_facts(level), level.mode_names, [OtherSolution(7.01, two_groups(few, many))])
    assert said[0].startswith("No difference could be shown")


def test_what_another_solution_says_of_the_signal_stands_beside():
    path = [[0, 0, 1, 1, 1]] * 2
    given = {"signals": {"dopamine": [[3.0, 3.0, 1.0, 1.0, 1.0]] * 2}}
    facts = {"name": "dopamine", "mean": [3.0, 1.0]}
    turned = OtherSolution(7.01, decoded([[1, 1, 0, 0, 0]] * 2, **given))
    told = elsewhere_words(facts, ["a", "b"], [turned])
    assert told == (
        "Another solution, 7 nats behind, has a and b in the opposite order. In another solution, 7 nats behind, with "
        "other modes, the means are a 1 (here 3), b 3 (here 1)."
    )
    same = elsewhere_words(facts, ["a", "b"], [OtherSolution(0.2, decoded(path, **given))])
    assert same == "In another solution, as good, with other modes, the means are a 3 (here 3), b 1 (here 1)."
    assert elsewhere_words(facts, ["a", "b"], []) == ""


def test_many_animals_are_boxes():
    graph_objects = pytest.importorskip("plotly.graph_objects")
    case = decoded([[0] * i + [1] * (70 - i) for i in range(70)], groups=["x", "y"] * 35)
    facts = animal_facts(case)
    drawn = animal_figure(case, facts)
    assert [(box["type"], box["median"]) for box in drawn["data"][:2]] == [("box", [0.4857]), ("box", [0.5143])]
    graph_objects.Figure(data=drawn["data"], layout=json.loads(json.dumps(drawn["layout"]).replace("@ink", "#000")))


def test_folders_are_not_mailed_and_nothing_is_told_twice():
    model, data = grid()
    case, about = decode(model, data), {"fingerprint": "ab"}
    run = {"data": "/home/me/mice/a b.csv", "data_fingerprint": "ab", "seconds": 6.797278501995606,
           "command": "swirl fit /home/me/a.csv --out=/tmp/fit.nc", "config": {"env": "C:\\lab\\env.csv"}}  # fmt: skip
    told = provenance(case, about, run)
    assert ("data file", "a b.csv") in told["rows"]
    assert ("fitted in", "6.8 s") in told["rows"]
    assert ("command", "swirl fit a.csv --out=fit.nc") in told["rows"]
    assert [value for _, value in told["rows"]].count("ab") == 1
    assert json.loads(told["config"]) == {"env": "env.csv"}


def test_policies_that_see_the_previous_state_are_kept_by_pair():
    env = MDP.deterministic([[1, 2], [0, 2], [0, 1]], coordinates=[[0, 0], [3, 0], [0, 5]])
    histories = Histories.reachable(env.successors, 2)
    policies = np.full((1, histories.n_histories, 2), 0.5)
    policies[0, (histories.table == [1, 0]).all(axis=1)] = [0.1, 0.9]  # at 1 from 0: go on to 2
    model = SWIRL(env, n_modes=1, history=2, reward="state-action")
    model._set_rewards(histories, np.log(policies), np.log(policies))
    model._set_chain(np.ones((3, 1, 1)), np.ones(1))
    path = np.array([0, 1, 2])
    case = DecodedFit(model, Trajectories([path]), env, [0 * path], ["mode 0"])
    facts = map_facts(case)
    assert facts["kind"] == "graph"
    by_pair = {
        (p, s): facts["pair_moves"][0][i]
        for i, (p, s) in enumerate(zip(facts["pairs"]["previous"], facts["pairs"]["state"], strict=True))
    }
    assert facts["following"][1] == [0, 2]
    assert by_pair[0, 1] == [0.1, 0.9]
    assert by_pair[2, 1] == [0.5, 0.5]
    assert facts["moves"][0][1] == [0.3, 0.7]


def test_cells_or_corridors():
    square = [[0, 0], [1, 0], [0, 1], [1, 1]]
    ways = [[1, 2], [0, 3], [0, 3], [1, 2]]
    assert places(MDP.deterministic(ways, coordinates=square))["kind"] == "grid"
    assert places(MDP.deterministic(ways, coordinates=[[0, 0], [3, 0], [0, 1], [4, 1]]))["kind"] == "graph"
    assert places(MDP.deterministic(ways))["kind"] == "table"  # tests/data/test_geometry.py has more


def unpacked(session):
    return json.loads(gzip.decompress(base64.b64decode(session["packed"])))


def test_sessions_are_packed_whole():
    model, data = grid()
    case = decode(model, data, signal="dopamine")
    facts = session_facts(case)
    assert facts["left_out"] == 0
    assert facts["events"] == ["lick"]
    second = unpacked(facts["sessions"][1])
    assert second["states"] == data.states[1].tolist()
    assert second["modes"] == case.modes[1].tolist()
    assert second["gaps"] == [30]
    assert second["times"][:2] == [7.0, 7.5]
    assert second["events"] == [np.flatnonzero(data.states[1] == 23).tolist()]
    np.testing.assert_allclose(np.array(second["posterior"]).T / 1000, case.posterior[1], atol=6e-4)


def test_long_recordings_are_cut_aloud(monkeypatch):
    model, data = grid()
    case = decode(model, data)
    monkeypatch.setattr(sessions, "MAX_STEPS", 20)
    monkeypatch.setattr(sessions, "MAX_LETTERS", 700)
    facts = session_facts(case)
    assert facts["left_out"] == 3 - len(facts["sessions"]) > 0
    assert len(unpacked(facts["sessions"][0])["states"]) == 20
    assert facts["cut"][0].startswith("<b>")
    page = report.build(model, data, n_draws=0)
    assert "were left out of this section" in page
    assert "the first 20 steps are here" in page


def reported(model, data, n_draws):
    case = decode(model, data)
    return ReportedFit(case.model, case.data, case.env, case.modes, case.mode_names, n_draws=n_draws)


def test_what_sections_share_is_found_once():
    case, asked = reported(*grid(), n_draws=0), []
    assert case.once(data_facts) is case.once(data_facts)
    for _ in range(2):
        assert case.once(asked.append) is None  # also where nothing is found
    assert asked == [case]


def test_checks_name_what_lies_outside():
    model, data = grid()
    found = check_facts(reported(model, data, n_draws=3))
    row = next(row for row in found["rows"] if row["what"] == "staying")
    assert row["low"] == min(row["drawn"])
    assert len(row["drawn"]) == 3
    assert row["inside"] == (row["low"] <= row["real"] <= row["high"])
    assert found["n_inside"] == sum(row["inside"] for row in found["rows"])
    assert (found["n_differ"], found["enough_draws"]) == (0, 39)  # three simulations cannot tell
    assert all(row["corrected_p_value"] >= row["p_value"] >= 0.5 for row in found["rows"])
    n = len(found["rows"])
    said = check_sentence(found)
    assert f"{found['n_inside']} of {n} statistics of the data lie within the range of 3 simulated data sets" in said
    assert said.endswith("(swirl report --draws 39).")
    few = check_sentence(found | {"n_inside": n // 2 - 1})  # about half would, if the model were right
    assert said.startswith("Nothing stands out")
    assert few.startswith("Fewer than expected")
    enough = found | {"n_draws": 39}
    assert check_sentence(enough).startswith(f"No sign of a misfit: none of {n} statistics differs")
    rows = [row | {"differs": row["what"] == "staying"} for row in found["rows"]]
    told = check_sentence(enough | {"rows": rows, "n_differ": 1})
    assert told.startswith(f"The model misses something: 1 of {n} statistics differs")
    assert "staying in place, share of steps." in told
    assert check_facts(reported(model, data, n_draws=0)) is None


@pytest.mark.slow
def test_bouts_are_not_cut_where_only_the_history_forgets():
    model, data = grid()
    jumps = [path.copy() for path in data.states]
    jumps[0][40:] = np.roll(jumps[0][40:], 7)
    forgetful = model.align_to(model).set_params(impossible="forget")
    case = reported(forgetful, Trajectories(jumps, data.actions, n_states=N_STATES, n_actions=5), n_draws=1)
    facts = check_facts(case)
    assert facts["torn"]
    assert not {row["what"] for row in facts["rows"]} & set(OF_MODES)
    for own, bout in zip(case.bouts, bout_facts(case, facts, [20.0, 20.0]), strict=True):
        length, share = own.survival()
        assert (bout["real"]["length"], bout["real"]["share"]) == (length.tolist(), rounded(share))
        assert len(bout["simulated"]) == 1


class Restarted(SWIRL):
    """Given parameters that pretend to have been fitted from three starting points."""

    def use_restart(self, index):
        order = [1, 0] if index else [0, 1]  # the same modes under other numbers
        other = self.align_to(self)
        other._set_chain(self.mode_transitions_[:, order][:, :, order], self.initial_modes_[order])
        log_policies = self.log_policies_[order] if index < 2 else np.log(np.full_like(self.policies_, 0.2))
        other._set_rewards(self._histories, self.rewards_[order], log_policies)
        return other


def restarted():
    model, data = grid()
    given = {"rewards": model.rewards_, "histories": model.histories_, "mode_transitions": model.mode_transitions_}
    fitted = Restarted.from_parameters(model.env, history=2, initial_modes=model.initial_modes_, **given)
    fitted.restarts_ = [
        SimpleNamespace(
            raced=0,
            objective=end,
            objective_trace=np.array([-500.0, end]),
            status=status,
            n_iterations=1,
            converged=True,
        )
        for end, status in ((-357.0, "converged"), (-357.1, "converged"), (-400.0, "iterations ran out"))
    ]
    fitted.best_restart_, fitted.n_observed_ = 0, 240
    fitted.fit_report_, fitted.converged_ = "converged after 1 iterations. Objective -357.000.", True
    return fitted, data


def test_restarts_are_matched_before_they_are_compared():
    fitted, data = restarted()
    case = decode(fitted, data)
    facts = restart_facts(case, agreement_of(case))
    assert [row["restart"] for row in facts["rows"]] == [0, 1, 2]
    assert [row["same"] for row in facts["rows"]] == [True, True, False]
    assert facts["rows"][1]["behind"] == pytest.approx(0.1)
    assert (facts["rows"][1]["ari"], facts["rows"][1]["policy_distance"]) == (1.0, 0.0)
    assert facts["rows"][2]["policy_distance"] > 0.05
    own = values(contents(fitted, data)[0])
    assert own["summary"]["ended_words"][0].startswith("Converged after 1 iterations. Objective −357")
    line = "it settled and 2 of 3 starting points came to the same result. Nothing to worry about."
    assert own["summary"]["ended"] == f"How the fit ended: {line}"
    assert own["uncertainty"]["restart_line"].startswith("2 of 3 starting points came to the same result. The others")
    said = "2 of 3 restarts came to the same result (segmentations and policies; "
    assert own["uncertainty"]["restart_words"].startswith(said)
    assert said in own["methods"]["paragraph"]
    assert not any(tile.get("warn") for tile in own["summary"]["tiles"])
    assert "from 3 random starting points (seed 0;" in own["methods"]["paragraph"]


# ---------------------------------------------------------------------- the page


def values(page):
    """What each section gave its template."""
    return {section.name: section.values for section in page["sections"]}


def test_all_sections_are_there():
    wanted = ["summary", "comparison", "rewards", "goals", "animals", "session", "switching", "durations", "checks"]
    wanted += ["signal", "uncertainty", "methods", "provenance"]
    found = Page(full_page())
    here = [name for name in wanted if name != "goals"]  # this model has none
    assert [attrs["id"] for tag, attrs in found.tags if tag == "section"] == here
    assert [make.__name__ for make in SECTIONS] == [f"{name}_section" for name in wanted]
    assert {path.name for path in (ASSETS / "sections").iterdir()} == {f"{name}.html.j2" for name in wanted}


def test_names_do_not_break_the_page():
    page = Page(full_page())
    tags = [tag for tag, _ in page.tags]
    assert tags.count("script") == 4
    text = "".join(page.texts)
    assert text.count(EVIL) >= 4  # heading, title, session, subject, config: as text
    assert "boom()" not in "".join(s for s in page.scripts if not s.startswith("{"))
    assert page.facts()["timeline"]["sessions"][0]["name"].startswith(EVIL)
    title = page.facts()["figures"]["comparison"]["data"][0]["y"]
    assert title == ["one &lt;mode&gt;", "two"]  # plotly reads a little HTML


def test_modes_that_have_names_are_called_by_them_everywhere():
    fitted, data = restarted()
    fitted.name_modes(["food", "nest"])
    page = Page(report.build(fitted, data, comparison=comparison(fitted), signal="dopamine", n_draws=2))
    said = " ".join(page.texts) + json.dumps(page.facts())
    assert re.search(r"\bmode [01]\b", said, re.IGNORECASE) is None
    assert "bouts of food, median" in said
    unnamed, _ = restarted()
    assert re.search(r"\bmode 0\b", " ".join(Page(report.build(unnamed, data, n_draws=1)).texts))  # the test can fail


def test_the_verdict_comes_first_and_says_what_to_do():
    fitted, data = restarted()
    page = Page(report.build(fitted, data, n_draws=0))
    said = [text.strip() for text in page.texts if text.strip()]
    main = said[[i for i, text in enumerate(said) if text == "Summary"][-1] :]  # the first is in the contents
    assert main[1] == "Use these modes with care"
    assert main.index("What to do next") < main.index("sessions")
    folded = Page(report.build(fitted, data, n_draws=0)).folded()
    assert "Objective −357" in folded
    assert "Objective" not in "".join(page.texts).replace(folded, "")


@pytest.mark.parametrize(
    ("halves", "words"),
    [
        (Halves(2, 0.5, (0.1, 0.01), None, None), "Other sessions would give other modes"),
        (Halves(2, 0.99, (0.001, 0.01), None, None), "one mode predicts as well"),
        (Halves(2, 0.99, (0.1, 0.01), (0.02, 0.01), None), "Fit 3 modes as well"),
        (Halves(2, 0.99, (0.1, 0.01), None, (0.02, 0.01)), "Try a longer history"),
        (Halves(2, 0.99, (0.1, 0.01), None, None), "Name the modes"),
    ],
)
def test_what_to_do_follows_the_verdict(halves, words):
    found = next_steps(halves.verdict(), 2, named=False)
    assert sum(words in step for step in found) == 1
    assert len(found) == (2 if halves.verdict().level == "trust" else 1)


def test_commands_on_the_page_name_the_file_of_the_fit():
    model, data = syllables()
    page = report.build(model, data, n_draws=0, fit_file="day 1/my fit.nc")
    assert "swirl report &#39;day 1/my fit.nc&#39; --information" in page
    assert "swirl report fit.nc" not in page
    halves = Halves(2, 0.99, (0.1, 0.01), None, None)
    assert next_steps(halves.verdict(), 2, named=False, file="b.nc")[-1].endswith("swirl name b.nc NAME NAME …")


def test_a_comparison_of_another_fit_is_called_so():
    model, data = grid()
    own = values(contents(model, data, comparison=comparison(model))[0])["comparison"]
    assert own["relation"]["same"]
    assert [row["ours"] for row in own["rows"]] == [row["model"] == "two" for row in own["rows"]]
    # From a file only names and numbers of modes are known.
    kept = replace(comparison(model), models={}, names=("S-1", "S-2"), modes={"S-1": 2, "S-2": 4}, chosen={})
    own = values(contents(model, data, comparison=kept)[0])["comparison"]
    assert own["relation"]["words"].startswith(
        "Beware: this page is about S-2 with 2 modes, but the comparison has S-2 with 4 modes."
    )
    assert not any(row["ours"] for row in own["rows"])
    strange = replace(kept, names=("S-1", "I-2"), modes={"S-1": 2, "I-2": 2})
    other = relation(replace(decode(model, data), comparison=strange))
    assert "that model is not in the comparison" in other["words"]
    # The label says which reward it was, where it was not the usual one.
    kept = replace(kept, names=("S-2",), modes={"S-2": 2})
    with_actions = replace(kept, labels={"S-2": "S-2 (state-action)"})
    for reward, right, wrong in (("state", kept, with_actions), ("state-action", with_actions, kept)):
        ours = SWIRL(model.env, n_modes=2, history=2, reward=reward, n_restarts=1, max_iter=2).fit(data)
        assert relation(replace(decode(ours, data), comparison=right))["row"] == "S-2"
        assert relation(replace(decode(ours, data), comparison=wrong))["words"].startswith("Beware: this page is about")


def test_nothing_is_fetched_and_the_file_is_small():
    page = full_page()
    assert len(page.encode()) < 6e6
    for tag, attrs in Page(page).tags:
        assert tag not in ("link", "iframe", "img", "object", "embed", "base")
        assert not {"src", "srcset", "data"} & set(attrs)
        assert attrs.get("href", "#").startswith("#")
    assert "@import" not in page
    assert not re.search(r"url\(\s*['\"]?(https?:)?//", page)
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in page


def test_the_same_page_twice():
    model, data = grid()
    assert report.build(model, data, n_draws=0) == report.build(model, data, n_draws=0)


def test_figures_are_what_plotly_expects():
    graph_objects = pytest.importorskip("plotly.graph_objects")
    fitted, data = restarted()
    _, facts = contents(fitted, data, comparison=comparison(fitted), signal="dopamine", n_draws=2)
    wanted = {
        "comparison",
        "animals",
        "bouts-0",
        "bouts-1",
        "occupancy",
        "signal-mean",
        "signal-onset",
        "certainty",
        "restarts",
    }
    assert set(facts["figures"]) == wanted
    facts["figures"]["time-to-goal"] = contents(*with_pursuits())[1]["figures"]["time-to-goal"]
    for spec in facts["figures"].values():
        text = re.sub(r'"@\w+"', '"#123456"', json.dumps(spec))
        spec = json.loads(text)
        graph_objects.Figure(data=spec["data"], layout=spec["layout"])  # raises on an unknown property


def test_mode_colours_are_the_same_everywhere():
    facts = Page(full_page()).facts()
    for mode, colour in enumerate(facts["colours"]):
        assert facts["figures"][f"bouts-{mode}"]["data"][-1]["line"]["color"] == colour
        assert facts["figures"]["certainty"]["data"][mode]["marker"]["color"] == colour
        assert facts["figures"]["signal-mean"]["data"][0]["marker"]["color"][mode] == colour
        assert full_page().count(f"background: {colour}") >= 4


@pytest.mark.parametrize("per_action", [True, False])
def test_environments_without_places(per_action):
    model, data = syllables(per_action)
    page, facts = contents(model, data)
    assert facts["maps"]["kind"] == "table"
    assert facts["maps"]["per_action"] is per_action
    assert facts["replay"] == "ring"
    assert facts["nouns"]["action"] == "next state"
    about_data = values(page)["summary"]["words"][0]
    assert "25 states" in about_data
    assert "action" not in about_data
    assert page["title"] == f"I-{1 if per_action else 2} on 3 sessions"
    if per_action:
        names = [gauge["name"] for gauge in facts["maps"]["gauges"]]
        assert names == ["canonical", "fitted"]  # the fitted gauge is the log-policy
        assert np.shape(facts["maps"]["gauges"][1]["action"]) == (2, N_STATES, N_STATES)
    else:
        assert len(facts["maps"]["pairs"]["state"]) == N_STATES**2


def test_syllables_are_called_so():
    any_next = np.tile(np.arange(4), (4, 1))
    path = np.array([0, 1, 2, 3])
    data = Trajectories([path], state_names=["0", "7", "rear", "2"], signals={"duration": [path + 0.5]})
    case = DecodedFit(None, data, MDP.deterministic(any_next), [path * 0], ["mode 0"])
    assert case.state_names == ["syllable 0", "syllable 7", "rear", "syllable 2"]
    assert case.action_names[1] == "syllable 7"
    # A table of moves has actions in the order in which they are met: from the first state, all but itself.
    turned = replace(case, env=MDP.deterministic(np.where(np.roll(any_next, -1, axis=1) == np.arange(4)[:, None], -1,
                                                          np.roll(any_next, -1, axis=1))))  # fmt: skip
    assert turned.action_names == ["syllable 7", "rear", "syllable 2", "syllable 0"]
    placed = MDP.deterministic(any_next, coordinates=[[0, 0], [0, 1], [1, 0], [1, 1]])
    for env in (placed, MDP.deterministic([[1, 1], [0, 2], [1, 1]])):
        other = replace(case, env=env)
        assert other.state_names[1] == "state 7"
        assert other.action_names[0] == "action 0"
        assert other.nouns["state"] == "state"


def test_arms_and_trials_are_not_called_syllables():
    path = np.array([0, 1, 2, 3])
    arms = Trajectories([path], state_names=["1", "2", "3", "left"])  # no durations
    case = DecodedFit(None, arms, MDP.deterministic(np.tile(path, (4, 1))), [path * 0], ["mode 0"])
    assert case.nouns["state"] == "state"
    assert case.nouns["action"] == "next state"
    assert case.state_names == case.action_names == ["state 1", "state 2", "state 3", "left"]


def test_a_model_without_rewards_has_no_reward_map():
    model, data = grid()
    other = ARHMM(model.env, n_modes=2)
    other._params_at_fit = other.get_params()
    other._histories = Histories.reachable(model.env.successors, 1)
    other.moves_ = other._moves()
    known = other.moves_[None] >= 0
    other.emissions_ = np.broadcast_to(known / known.sum(axis=2, keepdims=True), (2, *other.moves_.shape)).copy()
    other.histories_ = other._histories.table
    other.initial_states_ = np.full(N_STATES, 1 / N_STATES)
    other._set_chain(np.broadcast_to([[0.9, 0.1], [0.2, 0.8]], (N_STATES, 2, 2)).copy(), np.array([0.5, 0.5]))
    case = decode(other, data)
    assert case.model.label == "ARHMM"
    page = report.build(other, data, n_draws=0)
    assert 'id="reward-map"' not in page
    assert 'id="choice-map"' in page
    assert "this model has no rewards" in page
    assert map_facts(case)["moves"][0][0][:3] == [0.333, 0.333, 0.333]


def test_one_mode_leaves_out_what_modes_are_for():
    _, data = grid()
    page, facts = contents(one_mode(), data, signal="dopamine", n_draws=1)
    assert list(values(page)) == ["summary", "rewards", "session", "checks", "methods", "provenance"]
    assert "switching" not in facts
    assert page["title"] == "MaxEnt on 3 sessions"
    assert not any("bouts" in strip["words"] for strip in values(page)["checks"]["strips"])


# ---------------------------------------------------------------------- goals


LINE = [[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]]  # left and right, staying at the ends


class Pursuing(SWIRL):
    """A model whose modes are given: mode 1 goes to the left end and mode 2 to the right one."""

    def predict(self, data):
        return [np.array([0, 1, 1, 1, 1, 1, 1, 1, 0, 2, 2, 0, 0, 1]), np.array([2, 2, 1, 1, 0])]

    def predict_proba(self, data):
        return [np.eye(3)[path] for path in self.predict(data)]

    def score(self, data, y=None, *, of=None):
        return -1.0


def with_pursuits(**more):
    """The path of tests/analysis/test_pursuits.py, in a corridor or without places."""
    env = MDP.deterministic(LINE, **more)
    model = with_goals(env, Goals((0, 4), kinds=0, moves="action"), {1: (0,), 2: (4,)}, cost=3.0, kind=Pursuing)
    model.name_modes(["explore", EVIL, "to 4"])
    data = Trajectories([[2, 1, 2, 1, 0, 0, 1, 0, 1, 2, 3, 4, 3, 2], [3, 4, 4, 3, 2]], n_states=5, n_actions=2)
    return model, data


def test_goals_are_told_as_they_are_counted():
    page, facts = contents(*with_pursuits(coordinates=[[i, 0] for i in range(5)]))
    own = values(page)["goals"]
    left, right = own["rows"]
    assert (left["name"], left["states"], left["more"], right["short"]) == (EVIL, ["0"], 0, "4")
    assert (left["cost"], own["expected_cost"]) == ("3", "2")
    told = [left[name].replace("\xa0", " ") for name in ("share", "pursuits", "reached", "steps", "excess")]
    assert told == ["53 %", "4", "67 %", "2 (1.5 to 2.5)", "1"]
    assert [left[name] for name in ("precision", "recall", "f1")] == ["0.00", "—", "0.00"]
    assert [right[name] for name in ("precision", "recall", "f1")] == ["0.50", "0.40", "0.44"]
    assert [share.replace("\xa0", " ") for share in left["next"]] == ["50 %", "50 %", "0 %"]
    assert (left["arrivals"], left["stays"]) == ("2", "1.5 (1.2 to 1.8)")
    assert facts["goals"][1] == {"mode": 2, "name": "4", "states": [4]}
    drawn = facts["figures"]["time-to-goal"]
    assert [trace["y"] for trace in drawn["data"][1:]] == [[2.0], [2.0]]
    assert drawn["csv"][1:] == [[EVIL, 1, 2, 1.5, 2, 2.5], ["to 4", 2, 1, 2, 2, 2]]
    assert drawn["data"][1]["name"].startswith("&lt;b&gt;")


def test_goals_on_the_page():
    found = Page(report.build(*with_pursuits(coordinates=[[i, 0] for i in range(5)]), n_draws=0))
    assert {"goals", "goals-map", "plot-time-to-goal"} <= found.ids()
    text = "".join(found.texts)
    assert "no proof of what the animal intends" in text
    assert "lasts until its goal is reached" not in text  # switching is another
    assert "The prior expected 2" in text
    assert text.count(EVIL) >= 3
    bare = report.build(*with_pursuits(), n_draws=0)
    assert 'id="goals-map"' not in bare
    assert "have no places, so there is no map" in bare


def test_goals_that_are_never_reached_have_no_figure():
    model, data = with_pursuits()
    data = Trajectories([np.full(14, 2), np.full(5, 2)], n_states=5, n_actions=2)
    page, facts = contents(model.set_params(impossible="gap"), data)
    own = values(page)["goals"]
    assert [row["steps"] for row in own["rows"]] == ["—", "—"]
    assert own["rows"][0]["next"] == ["—"] * 3
    assert "time-to-goal" not in facts["figures"]


# ---------------------------------------------------------------------- files and wrong arguments


def test_files_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    model, data = grid()
    path = tmp_path / "my report é.html"
    assert report.write(path, model, data, n_draws=0) == path
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        report.write(path, model, data, n_draws=0)
    report.write(path, model, data, n_draws=0, title="again", overwrite=True)
    assert "again" in path.read_text(encoding="utf-8")
    monkeypatch.setattr("os.fsync", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        report.write(tmp_path / "other.html", model, data, n_draws=0)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"signal": "dopa"}, r"signal='dopa': no such signal; the data have 'dopamine', 'lick'"),
        ({"n_draws": -1}, r"n_draws=-1"),
        ({"comparison": "S-2"}, r"comparison is str"),
    ],
)
def test_wrong_arguments_are_told(arguments, words):
    with pytest.raises(ValueError, match=words):
        report.build(*grid(), **arguments)


def test_a_signal_of_many_channels_is_refused():
    model, data = grid()
    wide = Trajectories(data.states, data.actions, signals={"pose": [np.zeros((N_STEPS, 3))] * N_SESSIONS})
    with pytest.raises(ValueError, match="has 3 channels"):
        report.build(model, wide, signal="pose")
    with pytest.raises(ValueError, match="model is str"):
        report.build("model", data)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        report.write("/nowhere/report.html", model, data)


def test_missing_libraries_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ValueError, match=r"pip install 'swirl-irl\[report\]'"):
        report.build(*grid())


# ---------------------------------------------------------------------- durations


def clock(n_steps=300, period=20):
    """Modes that change every 20 steps."""
    return bouts_of(find_segments([(np.arange(start, start + n_steps) // period) % 2 for start in range(20)]), 2)


def memoryless(mean=20):
    leave = np.random.default_rng(0).random((20, 300)) < 1 / mean
    return bouts_of(find_segments(list(np.cumsum(leave, axis=1) % 2)), 2)


def test_decoded_and_fitted_durations_are_said_to_differ_where_they_do():
    told = model_sentence(clock(), [13.7, 19.0], ["food", "nest"])
    assert told.startswith("Decoded bouts last longer than the model says: food (mean 18.9 steps, ")
    assert "13.7 by the fitted switching" in told
    assert "nest" not in told
    assert model_sentence(memoryless(), [20.0, 20.0], ["food", "nest"]) == ""
    assert model_sentence(memoryless(), [30.0, 20.0], ["food", "nest"]).startswith("Decoded bouts are shorter")
    few = bouts_of(find_segments([[0, 0, 0, 1, 1, 1, 1, 1]]), 2)
    assert model_sentence(few, [9.0, 9.0], ["food", "nest"]) == ""  # one exit says next to nothing


def test_the_page_says_how_long_bouts_last_by_the_model_and_as_decoded():
    model, data = grid()
    assert durations_section(reported(model, data, n_draws=0)).values["model"] == ""
    hasty = model.align_to(model)
    hasty.bout_lengths = lambda data: np.array([3.0, 3.0])
    own = durations_section(reported(hasty, data, n_draws=0)).values
    assert own["model"].startswith("Decoded bouts last longer than the model says: mode 0 (mean ")
    assert all("By the fitted switching: mean 3 steps." in bout["words"] for bout in own["bouts"])


def test_report_and_figure_have_the_same_curve_and_simulate_sessions_like_the_real_ones(monkeypatch):
    model, data = grid()
    case = reported(model, data, n_draws=0)
    lengths = []
    monkeypatch.setattr(segmentation, "SIMULATED", 1)

    def simulated(model, like, seed):
        lengths.append(like.lengths.tolist())
        return simulated_like(model, like, seed)

    monkeypatch.setattr(segmentation, "simulated_like", simulated)
    table = segmentation.durations(case)[1]
    assert lengths == [data.lengths[:1].tolist()]
    for name, bout in zip(case.mode_names, bout_facts(case, None, [20.0, 20.0]), strict=True):
        drawn = table[(table["of"] == "data") & (table["mode"] == name)]
        curve = dict(reversed(list(zip(bout["real"]["length"], bout["real"]["share"], strict=True))))
        assert curve == pytest.approx(dict(zip(drawn["at_least"], drawn["share"], strict=True)), abs=1e-3)
        assert (drawn["cut"] > 0).all()
