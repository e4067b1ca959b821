"""The look before a fit: every finding once, counts by hand, and agreement with what a fit itself would refuse."""

import json

import numpy as np
import pytest

from small_worlds import world
from swirl.data.arenas import grid
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.passages import DOOR, WALL
from swirl.data.trajectories import Trajectories
from swirl.datasets import random_walk
from swirl.workflows.check import ADVICE, examine, place_words

RING = MDP.deterministic([[1, 3], [2, 0], [3, 1], [0, 2]], action_names=["on", "back"])
STAYING = MDP.deterministic([[1, 3, 0], [2, 0, 1], [3, 1, 2], [0, 2, 3]])


def walk(n, seed, start=0):
    """States and actions of a random walk on the ring."""
    actions = np.random.default_rng(seed).integers(0, 2, n)
    states = (start + np.concatenate([[0], np.cumsum(1 - 2 * actions)[:-1]])) % 4
    return states, actions


def data(change=None, n=60, **arguments):
    """Three faultless sessions; `change` edits their lists before they are read."""
    states, actions = (list(part) for part in zip(*(walk(n, seed) for seed in range(3)), strict=True))
    given = {
        "states": states,
        "actions": actions,
        "subjects": ["a", "b", "c"],
        "groups": ["x", "x", "y"],
        "names": ["m1", "m2", "m3"],
        "times": [0.5 * np.arange(n) + 10 * i for i in range(3)],
        "signals": {"da": [np.random.default_rng(i).normal(size=n) for i in range(3)]},
        **arguments,
    }
    if change is not None:
        change(given)
    return Trajectories(**given)


def found(checked):
    return {finding.name: finding for finding in checked.findings}


def test_clean_data_give_no_finding():
    checked = examine(data(), RING)
    assert checked.findings == ()
    assert checked.to_text().endswith("\n\nAll is well.")
    assert (checked.n_faults, checked.n_warnings) == (0, 0)


# Each finding once: its level, how the data are spoilt, and the environment.
def jump(given):
    given["states"][1][20:] = (given["states"][1][20:] + 1) % 4


def runs(given):
    given["states"] = [np.repeat(s, 3)[:60] for s in given["states"]]
    given["actions"] = None


def staying(given):
    for i in range(3):
        given["states"][i] = np.tile([0, 0, 1, 2, 3, 3, 2, 1], 8)[:60]
        given["actions"][i] = np.tile([2, 0, 0, 0, 2, 1, 1, 1], 8)[:60]
        given["states"][i][-i - 1 :] = given["states"][i][-i - 1]  # not one recording three times
        given["actions"][i][-i - 1 :] = 2


def resting(given):
    staying(given)
    given["actions"] = None


def one_way(given):
    given["states"] = [(np.arange(60) + i) % 4 for i in range(3)]
    given["actions"] = [np.zeros(60, int)] * 3


def standing(given):
    given["states"][2], given["actions"][2] = np.zeros(60, int), np.full(60, 2)


def shortened(given, lengths):
    for name in ("states", "actions", "times"):
        given[name] = [given[name][i][:n] for i, n in enumerate(lengths)]
    given["signals"]["da"] = [given["signals"]["da"][i][:n] for i, n in enumerate(lengths)]


def twice(given, shift):
    for values in (given["states"], given["actions"], given["signals"]["da"]):
        values[2] = values[0]
    given["times"][2] = given["times"][0] + 7 + shift * np.arange(60) ** 2


def signal(change):
    def spoil(given):
        change(given["signals"]["da"])

    return spoil


def setting(**values):
    return lambda given: given.update(values)


def put(name, session, step, value):
    def spoil(given):
        given[name][session][step] = value

    return spoil


def times(session, values):
    return lambda given: given["times"].__setitem__(session, values)


def one(given):
    for name in ("states", "actions", "subjects", "groups", "names", "times"):
        given[name] = given[name][:1]
    given["signals"] = None


NAMED = MDP.deterministic([[1, 3], [2, 0], [3, 1], [0, 2]], state_names=list("abcd"))
TICKS = 0.5 * np.arange(60)
NO_ACTION_3 = MDP.deterministic([[1, 3], [2, 0], [3, 1], [0, -1]])
RARE = MDP.from_edges(
    [(s, 0, (s + 1) % 4) for s in range(4)]
    + [(s, 1, (s - 1) % 4) for s in range(3)]
    + [(3, 1, 2, 1e-8), (3, 1, 1, 1 - 1e-8)]
)
SLIPPING = MDP(np.full((4, 2, 4), 0.25))
CASES = {
    "state-names-differ": ("fault", setting(state_names=list("bacd")), NAMED),
    "action-names-differ": ("fault", setting(action_names=["back", "on"]), RING),
    "states-outside": ("fault", put("states", 1, 7, 6), RING),
    "actions-outside": ("fault", put("actions", 1, 7, 5), RING),
    "actions-not-available": ("fault", None, NO_ACTION_3),
    "impossible-transitions": ("fault", jump, RING),
    "unlikely-transitions": ("warning", None, RARE),
    "staying": ("warning", resting, STAYING),
    "never-stays": ("warning", None, STAYING),
    "no-choice": ("warning", one_way, MDP.deterministic([[1], [2], [3], [0]])),
    "names-alike": ("warning", setting(subjects=["m1", "M 1", "c"]), RING),
    "actions-inferred": ("note", setting(actions=None), RING),
    "actions-next-states": ("note", setting(actions=None), None),
    "actions-missing": ("note", setting(actions=None), SLIPPING),
    "actions-never-chosen": ("note", setting(n_actions=3), None),
    "one-session": ("note", one, RING),
    "names-repeated": ("warning", setting(names=["m1", "m2", "m1"]), RING),
    "constant-sessions": ("warning", standing, STAYING),
    "sessions-duplicated": ("warning", lambda given: twice(given, 0), RING),
    "sessions-alike": ("note", lambda given: twice(given, 1e-3), RING),
    "subjects-unknown": ("note", setting(subjects=["a", None, "c"]), RING),
    "subjects-uneven": ("note", lambda given: shortened(given, [60, 59, 5]), RING),
    "short-segments": ("note", setting(gaps=[[*range(3, 60, 3), 4], [], []]), RING),
    "states-never-visited": ("note", None, MDP.deterministic([[1, 3], [2, 0], [3, 1], [0, 2], [0, 0]])),
    "states-visited-once": ("note", lambda given: given["states"][0].__setitem__(-1, 4), None),
    "few-steps": ("warning", lambda given: shortened(given, [6, 5, 4]), RING),
    "few-steps-per-history": ("note", lambda given: shortened(given, [12, 12, 12]), RING),
    "time-jumps": ("warning", times(1, TICKS + 9 * (np.arange(60) >= 31)), RING),
    "time-irregular": ("note", times(1, np.cumsum(np.tile([0.5, 0.5, 0.5, 2.0], 15))), RING),
    "time-bases-differ": ("warning", times(1, 2 * TICKS), RING),
    "signal-infinite": ("warning", signal(lambda da: da[0].__setitem__(3, np.inf)), RING),
    "signal-missing": ("note", signal(lambda da: da[0].__setitem__(3, np.nan)), RING),
    "signal-constant": ("warning", signal(lambda da: [part.fill(2.0) for part in da]), RING),
    "signal-constant-in-sessions": ("warning", signal(lambda da: da[1].fill(2.0)), RING),
    "signal-scale": ("note", signal(lambda da: [np.multiply(part, 1e6, out=part) for part in da]), RING),
}  # fmt: skip
OTHERS = {  # what comes along by its nature
    "staying": {"actions-inferred"},
    "never-stays": {"actions-never-chosen"},
    "constant-sessions": {"staying"},
    "sessions-alike": {"time-irregular"},
}


def test_every_advice_has_its_case():
    assert set(CASES) == set(ADVICE) - {"impossible-stays", "staying-recorded", WALL, DOOR}


@pytest.mark.parametrize("name", CASES)
def test_each_finding_comes_when_it_should_and_alone(name):
    level, change, env = CASES[name]
    checked = found(examine(data(change), env))
    assert checked[name].level == level
    assert checked[name].do == ADVICE[name]
    assert set(checked) - {name} == OTHERS.get(name, set())


def test_a_wall_that_the_environment_lacks_is_asked_for():
    right = grid(4, 4, walls=[("B2", "B3"), ("C2", "C3")])
    walks = random_walk(right, n_sessions=12, n_steps=100).trajectories
    checked = found(examine(walks, grid(4, 4)))
    assert checked[WALL].level == "warning"
    assert "2 passages of the environment were never walked" in checked[WALL].says
    assert all(f"{one} and {two} (expected about" in checked[WALL].says for one, two in (("B2", "B3"), ("C2", "C3")))
    assert checked[WALL].do.startswith("Is there a wall? Then add it")
    assert WALL not in found(examine(walks, right))
    assert WALL not in found(examine(walks))  # nobody said what is possible


def test_findings_are_sorted_by_weight():
    checked = examine(data(lambda given: (jump(given), twice(given, 0), given.update(subjects=["a", None, "c"]))), RING)
    assert [finding.level for finding in checked.findings] == ["fault", "warning", "note"]
    assert checked.verdict == "1 fault, 1 warning, 1 note: a fit would refuse these data."
    calm = examine(data(setting(names=["m1", "m1", "m3"])), RING)
    assert calm.verdict == "1 warning: a fit would run; read the warnings first."
    assert examine(data(setting(actions=None)), RING).verdict == "1 note: a fit would run."


def small():
    """Two sessions of which everything can be counted by hand; 2 → 0 is no move of the line 0 – 1 – 2."""
    line = MDP.deterministic([[-1, 1], [0, 2], [1, -1], [-1, 3]], state_names=["w", "x", "y", "z"])
    sessions = Trajectories(
        [[0, 1, 2, 0, 1], [1, 1, 2, 1, 0, 1]],
        [[1, 1, 0, -1], [-1, 1, 0, 0, -1]],
        gaps=[[4], []],
        times=[[0, 1, 2, 3, 9], [0, 1, 2, 3, 4, 5.0]],
        subjects=["m", "m"],
        state_names=["w", "x", "y"],
    )
    return sessions, line


@pytest.mark.parametrize("name", ["dwell", "duration"])
def test_a_long_rest_that_is_known_to_be_one_is_no_jump_in_time(name):
    """Merged rows, tracks and bouts: what a step lasted stands beside it."""
    rng = np.random.default_rng(0)
    lasted = rng.integers(1, 4, size=60).astype(float)
    lasted[[10, 30, 50]] = 200.0
    clock = np.append(0.0, np.cumsum(lasted)[:-1])
    paths = [np.arange(60) % 5]

    def jumps(clock, signals):
        found = examine(Trajectories(paths, times=[clock], signals=signals))
        return found.time["jumps"], any(finding.name == "time-jumps" for finding in found.findings)

    assert jumps(clock, None) == (3, True)  # nothing says why
    assert jumps(clock, {name: [lasted]}) == (0, False)
    stopped = clock + 500.0 * (np.arange(60) > 40)  # the recording paused for 500 s, on top of the rests
    assert jumps(stopped, {name: [lasted]}) == (1, True)


def test_counts_by_hand():
    checked = examine(*small())
    assert checked.sessions["sessions"] == 2
    assert checked.sessions["steps"] == 11
    lengths = checked.sessions["lengths"]
    assert (lengths["min"], lengths["median"], lengths["max"]) == (5, 5.5, 6)
    assert lengths["histogram"] == [{"from": 5, "to": 5, "sessions": 1}, {"from": 6, "to": 6, "sessions": 1}]
    assert checked.sessions["subjects"] == [{"name": "m", "sessions": 2, "steps": 11}]
    assert checked.sessions["groups"] == []
    assert checked.segments == {"gaps": 1, "segments": 3, "short": 1}
    assert checked.states["states"] == 4
    assert checked.states["visited"] == 3
    assert (checked.states["never_visited"], checked.states["never_visited_first"]) == (1, [3])
    assert [(x["name"], x["steps"]) for x in checked.states["top"]] == [("1 (x)", 6), ("0 (w)", 3), ("2 (y)", 2)]
    assert checked.states["top"][0]["share"] == pytest.approx(6 / 11)
    # Moves: 0→1, 1→2, 2→0 (impossible); 1→1 (impossible, of an unknown action), 1→2, 2→1, 1→0, 0→1 (unknown).
    moves = checked.transitions
    assert (moves["moves"], moves["kinds"], moves["impossible"], moves["impossible_in"]) == (8, 6, 2, [0, 1])
    assert moves["staying"] == pytest.approx(1 / 8)
    actions = checked.actions
    assert (actions["observed"], actions["missing"], actions["missing_within_segments"]) == (6, 5, 2)
    assert actions["inferable"] == 1  # 0→1; nothing stays in 1
    assert checked.time == {"median_step": 1.0, "regular": True, "irregular": 0, "jumps": 0, "longest": 1.0}
    # Histories of 2: the edges 01, 10, 12, 21 and 33, seen 2, 1, 2, 1 and 0 times; of 3: 012, 121, 210 and 101 once.
    assert [entry["reachable"] for entry in checked.histories] == [4, 5, 7]
    assert [entry["unseen"] for entry in checked.histories] == [1, 1, 3]
    assert [entry["median"] for entry in checked.histories] == [2.5, 1.0, 1.0]


def test_places_name_session_step_time_and_row():
    def row(session, step, column):
        return None if session else f"row {step + 2}, column {column}"

    finding = found(examine(*small(), places=row))["impossible-transitions"]
    assert finding.says == "2 impossible transitions in 2 of 2 sessions, of which 1 stay in one state."
    assert finding.do == ADVICE["impossible-stays"]
    assert [place_words(place) for place in finding.places] == [
        "session 0, step 2, t = 2, row 4, column state: state 2 (y), action 0 → state 0 (w); it leads to 1 (x)",
        "session 1, step 0, t = 0: state 1 (x), unknown action → state 1 (x); it leads to 0 (w), 2 (y)",
    ]


def test_only_the_first_twenty_are_named_and_asked_for():
    asked = []
    spoilt = data(setting(states=[np.tile([0, 2], 30)] * 3, actions=None))
    finding = found(examine(spoilt, RING, places=lambda *at: asked.append(at)))["impossible-transitions"]
    assert finding.says.startswith("177 impossible transitions in 3 of 3 sessions")
    assert [place["step"] for place in finding.places] == list(range(20))
    assert len(asked) == 20


def test_where_most_only_stay_a_few_examples_do():
    finding = found(examine(Trajectories([[0] * 30 + [1, 2]]), RING))["impossible-transitions"]
    assert finding.says.startswith("29 impossible transitions")
    assert [place["step"] for place in finding.places] == [0, 1, 2]
    assert "swirl import table FILE --merge" in finding.do
    assert "swirl env grid … --stay" in finding.do


def wander(env, n_sessions=6, n_steps=50):
    """Sessions of random actions in an environment, some of them missing, with one gap."""
    rng, dense, states, actions = np.random.default_rng(0), env.dense(), [], []
    for _ in range(n_sessions):
        path, chosen = [0], []
        for _ in range(n_steps):
            chosen.append(rng.choice(np.flatnonzero(env.available[path[-1]])))
            path.append(rng.choice(env.n_states, p=dense[path[-1], chosen[-1]]))
        states.append(path[:-1])
        actions.append(np.where(rng.random(n_steps) < 0.05, -1, chosen))
    gaps = [[n_steps // 2], *[[]] * (n_sessions - 1)]
    return Trajectories(states, actions, gaps=gaps, n_states=env.n_states, n_actions=env.n_actions)


@pytest.mark.parametrize("kind", ["deterministic", "stochastic"])
def test_what_a_fit_refuses_is_a_fault_and_the_rest_is_not(kind):
    """The environment's own check is the oracle, on recordings that are sound and on shuffled ones."""
    env = world(kind)
    sound = wander(env)
    env.check(sound)
    assert examine(sound, env).n_faults == 0
    rng = np.random.default_rng(0)
    shuffled = Trajectories(
        [rng.permutation(states) for states in sound.states], sound.actions, gaps=sound.gaps, n_states=5, n_actions=3
    )
    with pytest.raises(ValueError, match="do not fit"):
        env.check(shuffled)
    checked = examine(shuffled, env)
    wrong = env.impossible_transitions(shuffled)
    assert checked.transitions["impossible"] == sum(map(len, wrong)) > 0
    assert checked.transitions["impossible_in"] == [i for i, steps in enumerate(wrong) if len(steps)]
    places = [(place["session"], place["step"]) for place in found(checked)["impossible-transitions"].places]
    assert places == [(i, t) for i, steps in enumerate(wrong) for t in steps.tolist()][:20]
    states, actions = np.concatenate(shuffled.states), np.concatenate(shuffled.actions)
    assert checked.actions["not_available"] == np.sum((actions >= 0) & ~env.available[states, actions])


def test_steps_per_history_are_those_of_the_model():
    env, sessions = world(), wander(world())
    flat, checked = sessions.flat(), examine(sessions, env)
    for entry in checked.histories:
        histories = Histories.reachable(env.successors, entry["length"])
        counts = np.bincount(histories.follow(flat.states, flat.starts), minlength=histories.n_histories)
        counts = counts[histories.full_length]
        assert entry["reachable"] == len(counts)
        assert entry["unseen"] == np.sum(counts == 0)
        assert entry["median"] == np.median(counts)


def test_tables_too_large_to_count_in_give_the_same(monkeypatch):
    """Distinct moves are sorted out by np.unique where they are many; here, by force."""
    sessions, env = small()
    monkeypatch.setattr("swirl.workflows.check.checks.distinct", lambda keys, size: np.unique(keys, return_counts=True))
    sorted_out = examine(sessions, env).to_dict()
    monkeypatch.undo()
    assert sorted_out == examine(sessions, env).to_dict()
    many = Trajectories([[0, 2_000_000, 0]])
    checked = examine(many)
    assert checked.transitions["kinds"] == 2
    assert checked.states["never_visited"] == 1_999_999
    assert len(checked.states["never_visited_first"]) == 1000
    assert "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 1,999,989 more." in found(checked)["states-never-visited"].says


def test_without_an_environment_moves_are_not_judged():
    checked = examine(data(jump))
    assert checked.findings == ()
    assert not checked.transitions["checked"]
    assert "impossible" not in checked.to_text()


def test_names_that_mean_other_things_set_the_environment_aside():
    _, change, env = CASES["state-names-differ"]
    checked = examine(data(change), env)
    assert not checked.transitions["checked"]
    assert checked.findings[0].says == (
        "State 0 is 'b' in the data and 'a' in the environment, so moves were not checked."
    )
    further = examine(data(setting(state_names=list("abcde"))), NAMED)
    assert further.transitions["checked"]
    assert further.findings[0].says == "State 4 is 'e' in the data and nothing in the environment."


def test_where_each_state_has_one_successor_there_is_nothing_to_choose():
    """As in a T-maze whose visits to the same arm in a row were merged."""
    merged = Trajectories([np.arange(80) % 2, np.arange(1, 80) % 2])
    for env in (None, MDP.deterministic([[1], [0]])):
        assert "no choice at any step" in found(examine(merged, env))["no-choice"].says
    both = MDP.deterministic([[1, 0], [0, 1]])  # it could have stayed
    assert "no-choice" not in found(examine(merged, both))
    assert "no-choice" not in found(examine(Trajectories([[0, 1, 0, 0] * 40])))
    assert "no-choice" not in found(examine(Trajectories([[0, 1, 0, 1]])))  # too few to tell


def test_states_that_differ_in_capitals_only_are_told():
    data = Trajectories([[0, 1, 2, 0] * 9], state_names=["L", "R", "l"])
    assert found(examine(data))["names-alike"].says == "The states 'L', 'l' differ only in capitals or spaces."
    unused = Trajectories([[0, 1, 1, 0] * 9], state_names=["L", "R", "l"])
    assert "names-alike" not in found(examine(unused))


def test_unmerged_runs_are_a_warning():
    ticks = examine(data(runs))
    assert ticks.transitions["staying"] == pytest.approx(120 / 177, abs=1e-2)
    assert found(ticks)["staying"].level == "warning"
    assert (
        found(ticks)["staying"].says == f"{100 * ticks.transitions['staying']:.3g} % of steps stay in the same state."
    )
    assert "swirl import table FILE --merge" in found(ticks)["staying"].do
    # The environment may allow it: that does not make a rest a choice.
    assert found(examine(data(resting), STAYING))["staying"].level == "warning"
    chosen = found(examine(data(staying), STAYING))["staying"]
    assert (chosen.level, chosen.do) == ("note", ADVICE["staying-recorded"])


def test_groups_are_told_with_their_animals():
    checked = examine(data(setting(subjects=["a", "a", "c"])), RING)
    assert [group["subjects"] for group in checked.sessions["groups"]] == [1, 1]
    told = dict(checked.facts())["groups"].replace("\N{NO-BREAK SPACE}", " ")
    assert told == "x: 1 subject, 2 sessions; y: 1 subject, 1 session"
    assert "groups" not in dict(examine(data(setting(groups=None)), RING).facts())


def test_a_recording_of_signals_alone_has_no_states_to_speak_of():
    rng = np.random.default_rng(0)
    poses = [np.column_stack([rng.normal(size=(40, 2)), np.ones(40)]) for _ in range(2)]
    checked = examine(Trajectories.from_signals({"pose": poses}))
    assert [finding.says for finding in checked.findings] == ["Signal 'pose' is constant in channel 2."]
    facts = checked.signals["pose"]
    assert facts["channels"] == 3
    assert facts["constant_channels"] == [2]
    whole = np.concatenate(poses)[:, :2].std(axis=0)
    assert facts["sd"] == pytest.approx([whole.min(), whole.max()])


def test_shares_of_missing_signal():
    def blank(given):
        given["signals"]["da"][0][:] = np.nan
        given["signals"]["da"][1][:45] = np.nan

    checked = examine(data(blank), RING)
    assert checked.signals["da"]["nan_share"] == pytest.approx(105 / 180)
    assert found(checked)["signal-missing"].level == "warning"


def test_missing_actions_weigh_by_what_follows_from_the_states():
    sparse = setting(actions=[[0, *[-1] * 59], [-1] * 60, [-1] * 60])
    assert found(examine(data(sparse, n_actions=2), None))["actions-missing"].level == "warning"
    assert "actions-inferred" in found(examine(data(sparse, n_actions=2), RING))
    doubled = MDP.deterministic([[1, 3, 3], [2, 0, 0], [3, 1, 1], [0, 2, 2]])  # back by two actions
    finding = found(examine(data(setting(actions=None)), doubled))["actions-missing"]
    on = sum(np.sum(np.diff(states) % 4 == 1) for states in data().states)
    assert finding.level == "note"
    says = f"No action was recorded; {on} of 177 follow from the states; at the others the next state alone counts."
    assert finding.says == says


def test_copies_are_told_from_likenesses():
    def other_signal(given):
        twice(given, 0)
        given["signals"]["da"][2] = given["signals"]["da"][1]

    checked = found(examine(data(other_signal), RING))
    assert checked["sessions-alike"].says.endswith("are in sessions 0 ('m1'), 2 ('m3').")
    short = data(lambda given: (twice(given, 0), shortened(given, [9, 20, 9])))
    assert not {"sessions-alike", "sessions-duplicated"} & set(found(examine(short, RING)))
    poses = [np.random.default_rng(seed).normal(size=20) for seed in (0, 1, 0)]
    checked = found(examine(Trajectories.from_signals({"pose": poses})))
    assert checked["sessions-duplicated"].says == "The same recording is in sessions 0, 2."


@pytest.mark.parametrize("steps", [[[0]], [[0], [1], [0]]])
def test_single_steps_can_be_looked_at(steps):
    checked = examine(Trajectories(steps, times=[[0.0]] * len(steps)), RING)
    assert checked.transitions["moves"] == 0
    assert found(checked)["short-segments"].level == "warning"
    assert "no two steps in one segment" in checked.to_text()


def test_everything_is_ready_for_json():
    checked = examine(data(lambda given: (jump(given), given["signals"]["da"][0].fill(np.nan))), RING)
    back = json.loads(json.dumps(checked.to_dict(), allow_nan=False))
    assert back == checked.to_dict()
    assert back["faults"] == 1
    assert back["findings"][0]["places"][0]["name"] == "m2"


def test_markdown_and_text_hold_every_finding():
    checked = examine(data(jump, state_names=["a|b", "c", "d", "e"]), RING)
    text, markdown = checked.to_text(), checked.markdown()
    (finding,) = checked.findings
    for page in (text, markdown):
        assert finding.says in page
        assert place_words(finding.places[0]) in page
        assert checked.verdict in page
    assert max(map(len, checked.to_text(60).splitlines()[:12])) <= 60
    rows = [line for line in markdown.splitlines() if line.startswith("| ")]
    assert len(rows) == len(checked.facts()) + 1
    assert "a\\|b" in markdown


def test_actions_that_nobody_recorded_are_said_so():
    data = Trajectories([[0, 1, 0, 1]])
    found = examine(data)
    assert found.actions["actions"] == 0
    assert "actions           none recorded\n" in found.to_text()
    env = MDP.deterministic([[1, 0], [0, 1]])
    assert "actions           none recorded; the environment has 2\n" in examine(data, env).to_text()
    seen = examine(Trajectories([[0, 1, 0, 1]], [[0, 0, 0, -1]]), env)
    assert "actions           2, observed at 3 steps; 1 missing, 0 of them within segments\n" in seen.to_text()
