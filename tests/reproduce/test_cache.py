"""Nothing is computed twice, nothing is mistaken for something else, and half a file is none."""

import json

import numpy as np
import pytest

from small_worlds import recording, world
from swirl.analysis.grid_search import choose
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.markov import BackoffMarkov
from swirl.priors import Gaussian
from swirl.reproduce.cache import Ledger, described, fit_inputs
from swirl.rewards import Habit, Linear


def computed(folder):
    return sorted(file for file in folder.iterdir() if file.name != "seconds.json")


def markov(env=None, **options):
    return BackoffMarkov(env or world(), **{"order": 1, "strength": 1.0, **options})


def same_data(**changes):
    data = recording()
    given = {"actions": data.actions, "gaps": data.gaps, "n_states": data.n_states, "n_actions": data.n_actions}
    return Trajectories(data.states, **{**given, **changes})


@pytest.fixture
def nothing_is_fitted(monkeypatch):
    def forbid():
        def fit(*_, **__):
            raise AssertionError("fitted again")

        monkeypatch.setattr(BackoffMarkov, "fit", fit)

    return forbid


def test_a_fit_is_found_the_second_time(tmp_path, nothing_is_fitted):
    said = []
    ledger = Ledger(tmp_path / "fits", said.append)
    first = ledger.fit("Markov-1", markov(), recording())
    assert [name.rsplit("-", 1)[0] for name in ledger.seconds] == ["Markov-1"]
    nothing_is_fitted()
    fresh = Ledger(tmp_path / "fits", said.append)
    again = fresh.fit("Markov-1", markov(), recording())
    np.testing.assert_array_equal(again.policies_, first.policies_)
    assert again.score(recording()) == first.score(recording())
    [file] = computed(tmp_path / "fits")
    assert file.name.startswith("Markov-1-")
    assert said == [f"  Markov-1: {ledger.seconds[file.name]:.1f} s", f"  Markov-1: found {file.name}"]


def test_other_arguments_data_or_environments_are_other_files(tmp_path):
    other = MDP.from_arrays({**world().to_arrays(), "available": np.ones_like(world().available)})
    ledger = Ledger(tmp_path)
    cases = [
        (markov(), recording()),
        (markov(strength=2.0), recording()),
        (markov(order=0), recording()),
        (markov(), recording(seed=1)),
        (markov(), recording()[:4]),
        (markov(), same_data(gaps=[[10], *[[]] * 5])),
        (markov(other), recording()),
    ]
    for number, (model, data) in enumerate(cases, start=1):
        ledger.fit("Markov", model, data)
        assert len(list(computed(tmp_path))) == number
    ledger.fit("Markov", markov(), same_data())  # equal, though not the same object
    assert len(list(computed(tmp_path))) == len(cases)
    ledger.fit("a name / of its own", markov(), recording())
    assert len(list(tmp_path.glob("a_name___of_its_own-*.nc"))) == 1


def test_what_a_fit_depends_on_is_told_apart():
    big = np.zeros((2000, 1))
    changed = big.copy()
    changed[1000] = 1e-12  # repr of an array shows neither
    values = [
        None,
        1,
        1.0,
        "1",
        Gaussian(1.0),
        Gaussian(1.0, backoff=2.0),
        Gaussian(1.0, of="reward"),
        Habit(1),
        Habit(2),
        Linear(big),
        Linear(changed),
        big,
        changed,
        big.ravel(),
        big.astype(np.float32),
        MDP.deterministic([[0], [1], [0], [1]]),
        MDP.deterministic([[0, 1], [0, 1]]),
        same_data(),
        same_data(subjects=list("aabbcc")),  # folds are made of them
        same_data(signals={"speed": [np.zeros(50)] * 6}),
        same_data(signals={"speed": [np.ones(50)] * 6}),
    ]
    texts = [json.dumps(described(value)) for value in values]
    assert len(set(texts)) == len(texts)
    assert described(Linear(big.copy())) == described(Linear(big))
    assert described(same_data()) == described(recording())
    named = MDP.deterministic([[0, 1], [0, 1]], state_names=["here", "there"])
    assert described(named) == described(MDP.deterministic([[0, 1], [0, 1]]))
    assert json.dumps(fit_inputs(markov(), recording())) != json.dumps(fit_inputs(markov(order=2), recording()))


def test_a_new_version_computes_anew(tmp_path, monkeypatch):
    rows = [Ledger(tmp_path).rows("table", {"n": 1}, lambda: [{"x": 1}])]
    monkeypatch.setattr("swirl.reproduce.cache.__version__", "0.0.0")
    rows.append(Ledger(tmp_path).rows("table", {"n": 1}, lambda: [{"x": 2}]))
    assert rows == [[{"x": 1}], [{"x": 2}]]


def test_files_of_earlier_runs_are_found(tmp_path, monkeypatch):
    """Names and contents of tables are those that were always written: hours of computing hang on them."""
    monkeypatch.setattr("swirl.reproduce.cache.__version__", "1")
    inputs = {"a": (1.5, np.arange(3.0)), "b": np.int64(2)}
    Ledger(tmp_path).rows("a table", inputs, lambda: [{"x": np.float32(0.1), 2: np.array([1.0, np.nan])}])
    [file] = computed(tmp_path)
    assert file.name == "a_table-e1d61b1982197cf4.json"
    assert file.read_text() == '[{"x": 0.10000000149011612, "2": [1.0, NaN]}]'


def test_half_a_file_is_none(tmp_path, monkeypatch):
    """Stopped while it wrote: the next run computes again and leaves no rubbish."""
    save = BackoffMarkov.save

    def cut_short(self, path, **options):
        save(self, path, **options)
        path.write_bytes(path.read_bytes()[:100])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(BackoffMarkov, "save", cut_short)
        with pytest.raises(KeyboardInterrupt):
            Ledger(tmp_path).fit("Markov", markov(), recording())
    assert computed(tmp_path) == []
    fitted = Ledger(tmp_path).fit("Markov", markov(), recording())
    assert len(computed(tmp_path)) == 1
    assert Ledger(tmp_path).fit("Markov", markov(), recording()).score(recording()) == fitted.score(recording())


def test_half_a_table_is_none(tmp_path, monkeypatch):
    def cut_short(self, text, *_, **__):
        self.write_bytes(text.encode()[:5])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("swirl.reproduce.cache.Ledger._note", lambda *_: None)
        patch.setattr("pathlib.Path.write_text", cut_short)
        with pytest.raises(OSError, match="nothing was written"):
            Ledger(tmp_path).rows("table", {"n": 1}, lambda: [{"x": 1}])
    assert computed(tmp_path) == []
    assert Ledger(tmp_path).rows("table", {"n": 1}, lambda: [{"x": 2}]) == [{"x": 2}]


def test_a_failed_computation_leaves_nothing(tmp_path):
    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Ledger(tmp_path / "fits").rows("table", {}, fail)
    assert not (tmp_path / "fits").exists()


def test_rows_are_the_same_from_a_file_as_when_computed(tmp_path):
    def compute():
        return [{"n": np.int64(3), "x": np.float64(0.1), "none": None, "path": np.arange(3), 4: (1.5, True)}]

    expected = [{"n": 3, "x": 0.1, "none": None, "path": [0, 1, 2], "4": [1.5, True]}]
    assert Ledger(tmp_path).rows("table", {"a": 1}, compute) == expected
    assert Ledger(tmp_path).rows("table", {"a": 1}, list) == expected
    assert Ledger(tmp_path).rows("table", {"a": 2}, list) == []
    [gap] = Ledger(tmp_path).rows("gaps", {}, lambda: [{"x": np.nan}])
    assert np.isnan(gap["x"])
    assert np.isnan(Ledger(tmp_path).rows("gaps", {}, list)[0]["x"])


GRID = {"strength": [1000.0, 0.5], "order": [0, 1]}


def test_the_choice_is_the_winner_on_folds_and_is_kept(tmp_path, nothing_is_fitted):
    best = choose(markov(), recording(), GRID, n_folds=2, of="action").best
    ledger = Ledger(tmp_path)
    assert ledger.chosen("choice", markov(), recording(), GRID, n_folds=2, of="action") == best
    assert best == {"strength": 0.5, "order": 1}  # neither first nor in the order of the names
    nothing_is_fitted()
    assert Ledger(tmp_path).chosen("choice", markov(), recording(), GRID, n_folds=2, of="action") == best
    turned = dict(reversed(GRID.items()))  # another order of candidates: their numbers mean something else
    for changed in ({"grid": turned}, {"grid": {**GRID, "order": [0, 2]}}, {"n_folds": 3}, {"of": "next_state"}):
        options = {"grid": GRID, "n_folds": 2, "of": "action", **changed}
        with pytest.raises(AssertionError, match="fitted again"):
            Ledger(tmp_path).chosen("choice", markov(), recording(), **options)


def test_near_are_those_less_than_so_much_behind_the_choice_on_the_folds(tmp_path):
    choice = choose(markov(), recording(), GRID, n_folds=2, of="action")
    means = choice.scores.mean(axis=1)
    behind = means[choice.candidates.index(choice.best)] - means
    assert len(set(behind.round(6))) > 2
    ledger = Ledger(tmp_path)
    for within in (0.0, *(behind[behind > 0] - 1e-9), *(behind[behind > 0] + 1e-9)):
        near = ledger.near("choice", markov(), recording(), GRID, within, n_folds=2, of="action")
        assert near[0] == (choice.best, 0.0)
        others = [(c, lost) for c, lost in zip(choice.candidates, behind, strict=True)
                  if lost < within and c != choice.best]  # fmt: skip
        assert near[1:] == others


def test_the_choice_on_other_subjects_is_another(tmp_path):
    """The same steps, but folds of whole subjects."""
    for subjects in (None, list("aabbcc"), list("abcabc")):
        Ledger(tmp_path).chosen("choice", markov(), same_data(subjects=subjects), {"order": [0, 1]}, of="action")
    assert len(list(computed(tmp_path))) == 3


def test_what_a_file_took_is_remembered(tmp_path):
    first = Ledger(tmp_path)
    first.rows("slow", {}, lambda: [{"x": sum(range(100_000))}])
    again = Ledger(tmp_path)
    again.rows("slow", {}, list)
    assert again.seconds.keys() == first.seconds.keys()
    assert sum(again.seconds.values()) == pytest.approx(sum(first.seconds.values()), abs=0.01)
