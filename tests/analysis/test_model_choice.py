"""The whole question: which settings, how sure, and what each is worth."""

import numpy as np
import pytest

from swirl import SWIRL, datasets, priors
from swirl.analysis.grid_search import Choice
from swirl.analysis.model_choice import Effect, choose_model, named, neighbours

SETTINGS = [
    {"n_modes": 1, "history": 1, "switching": "independent"},
    {"n_modes": 1, "history": 2, "switching": "independent"},
    {"n_modes": 2, "history": 1, "switching": "independent"},
    {"n_modes": 2, "history": 1, "switching": "state"},
    {"n_modes": 2, "history": 2, "switching": "state"},
    {"n_modes": 3, "history": 1, "switching": "state"},
]

STEP = np.linspace(1, 2, 10)  # nats, of each of ten test sessions


def scored(per_step, n=40, spread=0.05, seed=0):
    """A choice among `SETTINGS` whose candidates have such means, with independent noise in each session."""
    rows = 10 * (np.array(per_step)[:, None] + np.random.default_rng(seed).normal(0, spread, (len(per_step), n)))
    return Choice(SETTINGS, rows / 10, rows, np.full(n, 10), (None,) * n)


def test_neighbours_differ_in_one_setting():
    found = neighbours(scored([-2.0, -2.0, -1.5, -1.0, -1.0, -1.0]))
    assert [(setting, SETTINGS[place]) for setting, place in found] == [
        ("n_modes", SETTINGS[0]),  # of one mode how it switches makes no difference
        ("n_modes", SETTINGS[5]),
        ("history", SETTINGS[4]),
        ("switching", SETTINGS[2]),
    ]


def test_one_mode_has_no_switching_to_vary():
    found = neighbours(scored([-1.0, -1.5, -1.5, -1.5, -1.5, -1.5]))
    assert {setting for setting, _ in found} == {"history", "n_modes"}


@pytest.mark.slow
def test_how_often_others_would_choose_otherwise():
    """Where nothing tells candidates apart, others would choose otherwise; where all does, they would not."""
    apart = scored([-2.0, -2.0, -1.5, -1.0, -1.2, -1.3])
    assert apart.chosen_again(50).tolist() == [0, 0, 0, 50, 0, 0]
    alike = [scored([-1.0] * 6, spread=0.3, seed=seed).chosen_again(50) for seed in range(10)]
    assert np.mean([counts.max() for counts in alike]) < 40
    assert all(counts.sum() == 50 for counts in alike)


def test_resamples_are_of_whole_animals():
    gains = np.repeat([3.0, -2.0, 3.0, -2.0, 3.0, 3.0], 5)
    animals = tuple(np.repeat([f"m{i}" for i in range(6)], 5).tolist())
    rows = np.stack([np.zeros(30), gains])
    own = Choice([{"n_modes": 1}, {"n_modes": 2}], rows / 10, rows, np.full(30, 10), animals)
    drawn = own.resampled(np.random.default_rng(0))
    assert drawn.log_likelihoods.shape == (2, 6)
    assert set(drawn.log_likelihoods[1].tolist()) <= {15.0, -10.0}
    assert drawn.steps.tolist() == [50] * 6


def test_scatter_of_seeds_makes_a_choice_less_sure():
    rng = np.random.default_rng(1)
    rows = np.stack([np.full(40, -10.0), np.full(40, -9.8) + rng.normal(0, 0.1, 40)])
    calm = Choice([{"n_modes": 1}, {"n_modes": 2}], rows / 10, rows, np.full(40, 10), (None,) * 40)
    shaken = np.stack([rows, rows - np.array([[0.0], [0.9]]), rows + np.array([[0.0], [0.9]])], axis=1)
    loose = Choice(calm.candidates, calm.scores, rows, calm.steps, calm.subjects, shaken)
    assert calm.chosen_again(200)[1] == 200
    assert loose.chosen_again(200)[1] < 150


@pytest.mark.parametrize(
    ("effect", "words"),
    [
        (Effect("n_modes", 2, 1, 0.1, 0.02), "2 modes help: +0.1000 nats/step, 95 % interval +0.0800 to +0.1200"),
        (Effect("n_modes", 3, 2, -0.1, 0.02), "3 modes hurt: -0.1000"),
        (Effect("history", 2, 1, 0.01, 0.02), "A history of 2 states makes no difference beyond noise: +0.0100"),
        (
            Effect("history", 2, 1, 0.01, np.nan),
            "makes no difference beyond noise: +0.0100 nats/step; one test session",
        ),
        (Effect("reward", "state-action", "state", 0.1, 0.01), "reward=state-action helps"),
    ],
)
def test_effects_in_words(effect, words):
    assert words in effect.sentence()
    assert effect.sentence().endswith(f"(instead of: {effect.instead_of}).")


def test_names():
    assert named(SETTINGS[0]) == "modes 1, history 1"
    assert named(SETTINGS[3]) == "modes 2, history 1, switching state"


@pytest.fixture(scope="module")
def answer():
    world = datasets.gridworld(n_sessions=30, n_steps=60)
    train, test = world.trajectories.split(every=3)
    model = SWIRL(world.env, history=1, n_restarts=2, max_iter=60, reward_prior=priors.Cauchy())
    tried = [{"n_modes": 1, "switching": "independent"}]
    tried += [{"n_modes": 2, "switching": switching} for switching in ("independent", "state")]
    return choose_model(model, train, test, tried, n_folds=2, n_repeats=2)


@pytest.mark.slow
def test_the_answer_is_about_what_the_folds_chose(answer):
    assert answer.best["n_modes"] == 2
    assert answer.comparison.contest().with_modes == answer.name
    assert set(answer.comparison.names) >= {answer.name, "modes 1", "Markov"}
    assert answer.verdict() == answer.comparison.verdict()
    assert answer.again.sum() == 500
    assert sum(answer.share("n_modes").values()) == pytest.approx(1)


@pytest.mark.slow
def test_effects_are_differences_on_the_test(answer):
    modes = next(effect for effect in answer.effects if effect.setting == "n_modes")
    gain, half = answer.comparison.difference(answer.name, "modes 1")
    assert modes.gain == gain
    assert modes.half_width >= half  # what seeds change is on top


@pytest.mark.slow
def test_it_prints_and_goes_into_a_file(answer, tmp_path):
    from swirl.analysis.comparison_json import read_comparison, write_comparison

    text = str(answer)
    assert text.startswith(answer.verdict())
    assert "With other sessions (500 resamplings) the choice would be: n_modes" in text
    assert "AIC and BIC: above the lowest" in text
    facts = answer.facts()
    assert [row["chosen"] for row in facts["candidates"]].count(True) == 1
    path = write_comparison(tmp_path / "comparison.json", answer.comparison, choice=facts)
    again = read_comparison(path)
    assert again.verdict() == answer.comparison.verdict()
    assert again.about == answer.name
    np.testing.assert_array_equal(again.choices[answer.name].by_repeat, answer.choice.by_repeat)


@pytest.mark.slow
def test_no_case_for_modes_where_the_folds_choose_one(answer):
    from dataclasses import replace

    result = answer.comparison
    one = replace(answer, comparison=replace(result, about="modes 1", choices={"modes 1": answer.choice}))
    assert one.verdict() == one.comparison.verdict()
    assert one.verdict().startswith("No case for modes: one mode is enough for modes 1 (training folds). But on the")
    assert (one.comparison.picked(), one.comparison.contest()) == ("modes 1", None)
    behind = replace(
        one.comparison, log_likelihoods=np.array([own == "modes 1" for own in result.names])[:, None] * STEP
    )
    assert behind.verdict() == "No case for modes: one mode is enough for modes 1 (training folds)."


def test_what_cannot_be_chosen_among_is_told():
    world = datasets.gridworld(n_sessions=6, n_steps=20)
    train, test = world.trajectories.split(every=3)
    with pytest.raises(ValueError, match="grid: expected at least one value"):
        choose_model(SWIRL(world.env), train, test, {"modes": [1, 2]})
    with pytest.raises(ValueError, match="expected one that EM fits"):
        choose_model(world.env, train, test, {"n_modes": [1, 2]})
    with pytest.raises(ValueError, match="share 4 sessions"):
        choose_model(SWIRL(world.env), train, train, {"n_modes": [1, 2]})
