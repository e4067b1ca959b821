"""The spontaneous-behaviour experiment: small pieces by hand, and one tiny run from data to pages."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from print_size import check_for_print, faults_of_texts
from swirl.data.trajectories import Trajectories
from swirl.datasets import spontaneous_env
from swirl.estimators.arhmm import ARHMM
from swirl.priors import Dirichlet, Gaussian
from swirl.reproduce.cache import Ledger
from swirl.reproduce.page import write
from swirl.reproduce.scale import FULL, SECOND, TINY
from swirl.reproduce.spontaneous import checks, experiment, figures, fits, sections
from swirl.workflows.html import Drawing, Numbers


@pytest.fixture
def recordings(monkeypatch):
    root = Path(os.environ.get("SWIRL_DATA_DIR") or Path(__file__).parents[3] / "shared" / "data")
    if not root.is_dir():
        pytest.skip(f"the published recordings are not at {root}: run `swirl fetch --output {root}`")
    monkeypatch.setenv("SWIRL_DATA_DIR", str(root))


def test_choices_never_see_a_test_session(tmp_path):
    sessions = Trajectories([[i % 9, 0] for i in range(23)], names=[str(i) for i in range(23)])
    work = fits.Work(FULL, Ledger(tmp_path), spontaneous_env(), sessions)
    tested = {*work.split()[1].names, *work.split(SECOND)[1].names}
    assert tested == {"0", "5", "10", "15", "20", "2", "7", "12", "17", "22"}
    assert not tested & set(work.untested.names)
    assert len(work.untested) + len(tested) == len(sessions)


def test_log_odds_are_those_of_the_policies():
    policies = np.array([[[0.8, 0.2]], [[0.4, 0.6]]])
    odds = figures.log_odds(policies, np.array([3.0, 1.0]))
    assert odds[0, 0, 0] == pytest.approx(np.log(4) - np.log(0.7 / 0.3))
    np.testing.assert_allclose(odds[..., 0], -odds[..., 1])


def test_simulated_choices_have_the_models_frequencies():
    """Two modes that never switch, each sure of its next syllable but for a tenth."""
    model = ARHMM(spontaneous_env(), n_modes=2)
    tables = np.full((2, 9, 9), 0.1 / 8)
    tables[0, :, 3] = tables[1, :, 5] = 0.9
    model.emission_table = lambda: tables
    model.mode_transitions_, model.initial_modes_ = np.tile(np.eye(2), (9, 1, 1)), np.array([0.25, 0.75])
    states, actions = np.arange(50) % 9, np.arange(1, 51) % 9
    actions[20] = 0  # the next state, 3, does not follow from it
    went, drawn = (x[0] for x in checks.draw_choices(model, Trajectories([states] * 400, [actions] * 400), 1))
    joined = np.arange(49) != 20
    assert (went[:, 1:][:, joined] == drawn[:, :-1][:, joined]).all()
    assert (went[:, 21] == 3).all()
    often = np.array([(drawn == 3).mean(axis=1), (drawn == 5).mean(axis=1)])
    assert np.all(np.sort(often, axis=0)[1] > 0.7)  # one mode throughout each session
    assert (often[0] > often[1]).mean() == pytest.approx(0.25, abs=0.06)
    assert often.max(axis=0).mean() == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize(
    ("p_values", "said"),
    [
        ([0.010, 0.010], "2 of them show a mode that stands out. So whether a mode stands out does not depend"),
        ([0.300, 0.300], "None of them show a mode that stands out. So whether a mode stands out does not depend"),
        ([0.010, 0.300], "1 of them show a mode that stands out. So the answer depends on which of them is taken"),
        ([0.010], None),  # one setting is as good: nothing to say
    ],
)
def test_dopamine_that_hangs_on_the_settings_is_said_to(tmp_path, monkeypatch, p_values, said):
    rng = np.random.default_rng(0)
    paths = [rng.integers(9, size=31) for _ in range(10)]
    sessions = Trajectories([path[:-1] for path in paths], [path[1:] for path in paths])
    work = fits.Work(TINY, Ledger(tmp_path), spontaneous_env(), sessions)
    priors = [Dirichlet(0.3), Dirichlet(0.1)][: len(p_values)]
    near = [({"reward_prior": prior, "switching": "state"}, 0.0004 * i) for i, prior in enumerate(priors)]
    monkeypatch.setattr(sections, "settings_as_good", lambda work, name: near)
    labels = []

    def rows(work, model, names, label):
        labels.append(label)
        p = p_values[len(labels) - 1]
        own = {"share of steps": 0.5, "correlation": 1 - p, "p, corrected": p, "canonical p, corrected": p}
        return [own, {**own, "correlation": -1.0}]

    monkeypatch.setattr(sections, "dopamine_rows", rows)
    blocks = sections.dopamine_elsewhere(work, ["h1", "h2"])
    assert labels[0] == "S-1"  # the chosen one, under the name that it has elsewhere
    if said is None:
        assert blocks == []
        return
    words, table = blocks
    assert said in " ".join(words.words.split())
    assert [row["highest correlation"] for row in table.rows] == [1 - p for p in p_values]
    assert [row["behind on the folds, nats in 1,000 steps"] for row in table.rows] == [0.0, 0.4]


def test_settings_are_as_good_only_where_the_folds_say_so_of_all_of_them_together(monkeypatch):
    """Both values of either argument are as good where the other is as chosen; the other two together are not."""
    a, b = [Dirichlet(0.3), Dirichlet(0.1)], [Gaussian(3.0), Gaussian(0.1)]
    behind = {(0, 0): 0.0, (0, 1): 0.0002, (1, 0): 0.0008, (1, 1): 0.0022}
    monkeypatch.setattr(fits, "near_values", lambda work, name: {"reward_prior": a, "switching_prior": b})
    asked = []

    def choose(label, model, grid, within):
        asked.append((grid, within))
        scored = [({"reward_prior": a[i], "switching_prior": b[j]}, lost) for (i, j), lost in behind.items()]
        return sorted(scored, key=lambda one: one[1])

    work = SimpleNamespace(choose=choose, env=spontaneous_env(), headline=2, scale=TINY)
    found = fits.settings_as_good(work, "S-1")
    assert found == [
        ({"reward_prior": a[0], "switching_prior": b[0]}, 0.0),
        ({"reward_prior": a[0], "switching_prior": b[1]}, 0.0002),
        ({"reward_prior": a[1], "switching_prior": b[0]}, 0.0008),
    ]
    assert asked == [({"reward_prior": a, "switching_prior": b}, np.inf)]
    behind[0, 0], behind[1, 0] = 0.0015, 0.0  # together another is best: the chosen one stays first, as far as it is
    assert [lost for _, lost in fits.settings_as_good(work, "S-1")] == [0.0015, 0.0, 0.0002]


@pytest.mark.slow
def test_a_tiny_run_from_data_to_pages(recordings, tmp_path):
    computed = []
    found = experiment.run(TINY, Ledger(tmp_path / "fits", computed.append))
    tables = {block.name: block.rows for block in found.blocks if isinstance(block, Numbers)}
    scores = {row["quantity"].split(",")[0]: row["ours"] for row in tables["ours-and-published"]}
    assert {"MaxEnt", "rARHMM", "S-1", "S-2", "order-1 counts", "order-2 counts", "counts"} <= set(scores)
    assert all(-2.3 < scores[name] < -1 for name in ("MaxEnt", "rARHMM", "S-1", "S-2", "counts"))
    assert f"{scores['S-1']:.4f}".replace("-", "−") in found.first
    # One family: same prior, switching and starts, same score.
    assert max(row["largest difference of a start"] for row in tables["one-family"]) < 1e-9
    # Discount and temperature of a free reward are not identified.
    free = [row["test score"] for row in tables["discount-temperature"]]
    assert len(free) == 3
    assert np.ptp(free) < 1e-9
    assert sum(isinstance(block, Drawing) for block in found.blocks) == 5
    for block in found.blocks:
        if isinstance(block, Drawing):
            check_for_print(block.figure, tmp_path)
            assert faults_of_texts(block.figure) == [], block.name
    page = write(found, tmp_path / "pages", formats=("png",))
    assert "Reward maps and dopamine" in page.read_text(encoding="utf-8")
    assert (tmp_path / "pages" / "tables" / "reward-maps.csv").exists()

    again: list[str] = []
    repeated = experiment.run(TINY, Ledger(tmp_path / "fits", again.append))
    assert repeated.first == found.first
    assert again
    assert all("found" in line for line in again)
