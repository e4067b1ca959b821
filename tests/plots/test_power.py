"""Curves of power: what is drawn is what was counted, and the answer is marked where it is."""

import numpy as np

from swirl import plots
from swirl.analysis.power import Power, designs_of


def found(n_animals=1, n_steps=100, questions=("modes", "switching")):
    designs = designs_of(n_animals, [2, 4, 8], n_steps)
    share = np.array([min(1.0, design.total / 800) for design in designs])
    right = np.where(np.arange(10) < 10 * share[:, None], 0.9, 0.55)
    fixed = {"ceiling": np.full(right.shape, 0.92), "base": np.full(right.shape, 0.5)}
    return Power(designs, {"right": right, **fixed, "switching": np.full(right.shape, 0.1)}, questions)


def test_shares_are_drawn_with_their_intervals():
    result = found()
    upper, lower = plots.power_curves(result).axes
    bars = list(upper.containers)
    assert len(bars) == 3  # modes, switching, all of it
    for bar, question in zip(bars, ("modes", "switching", None), strict=True):
        line, _, (spans,) = bar.lines
        np.testing.assert_allclose(line.get_ydata(), result.counts(question) / 10)
        ends = np.array([[low[1], high[1]] for low, high in spans.get_segments()])
        np.testing.assert_allclose(ends, result.intervals(question), atol=1e-12)
    assert [tick.get_text() for tick in lower.get_xticklabels()] == ["2", "4", "8"]
    medians = next(line for line in lower.get_lines() if line.get_marker() == "o")
    np.testing.assert_allclose(medians.get_ydata(), np.median(result.measures["right"], axis=1))


def test_the_answer_is_marked_only_where_there_is_one():
    def marked(result):
        return [text.get_text() for ax in plots.power_curves(result).axes for text in ax.texts].count(
            "smallest that suffices"
        )

    assert found().smallest() is not None
    assert marked(found()) == 1
    assert marked(found(n_steps=20)) == 0


def test_each_number_of_animals_and_steps_has_a_column():
    figure = plots.power_curves(found(n_animals=[1, 4], n_steps=[50, 100], questions=("modes",)))
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")]
    assert titles == [
        "sessions of 50 steps", "sessions of 100 steps", "4 animals, sessions of 50 steps",
        "4 animals, sessions of 100 steps",
    ]  # fmt: skip
    assert len(figure.axes) == 8
