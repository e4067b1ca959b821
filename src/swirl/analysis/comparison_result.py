"""Held-out scores of several models side by side: differences are paired by session, or by subject where several are
known."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import t as student

from swirl.analysis.grid_search import Choice, paired
from swirl.analysis.panel import SCORE, TWICE, Panel
from swirl.data.folds import ENOUGH_ANIMALS, animals
from swirl.estimators.base import HiddenModeEstimator, Scored
from swirl.text import InNotebooks, counted

Z95 = 1.959964
MANY = 30  # sessions or subjects; of fewer, Student's t knows how little their spread is known
PER_STEP = " nats per step"
SAME_TWICE = 0.8  # adjusted Rand index: of modes that further fits give less alike, one is told
FEW = 6  # of fewer, the 95 % interval is wider than 2.7 standard errors to either side


def _half_widths(n: int) -> float:
    """Standard errors in half the width of a 95 % interval, of so many sessions or animals.

    >>> [round(_half_widths(n), 2) for n in (3, 8, 30)]
    [4.3, 2.36, 1.96]
    """
    return Z95 if n >= MANY or n < 2 else float(student.ppf(0.975, n - 1))


class Contest(NamedTuple):
    """Which models the verdict is about."""

    with_modes: str
    alike: str | None
    """The same model with one mode; None where none was fitted."""
    without: str | None
    """The best other model without modes; None where there is none."""
    on_test: bool
    """Whether one of them was picked by the test scores, because there are none of training folds."""


@dataclass(frozen=True)
class Comparison(InNotebooks):
    """Held-out scores of several models on the same steps; print it for a table."""

    of: Scored
    n_scored: int
    names: tuple[str, ...]
    models: dict[str, HiddenModeEstimator]
    """The fitted models."""
    log_likelihoods: Float[np.ndarray, "model session"]
    steps: Int[np.ndarray, "session"]
    """Scored steps of each test session."""
    subjects: tuple[Any, ...]
    seconds: Float[np.ndarray, "model"]
    chosen: dict[str, dict[str, Any]]
    """Settings chosen on training folds, where there was a choice."""
    choices: dict[str, Choice] = field(default_factory=dict)
    """How each setting that was tried did on those folds."""
    sessions: tuple[str, ...] = ()
    """Names of the test sessions."""
    modes: dict[str, int] = field(default_factory=dict)
    """Number of modes of each model, where the models themselves are not kept (a comparison read from a file)."""
    on_folds: Choice | None = None
    """The models, as they are compared, on folds of the training sessions: here the verdict's models are picked."""
    one_mode: dict[str, str] = field(default_factory=dict)
    """Model with modes → the same model with one mode."""
    labels: dict[str, str] = field(default_factory=dict)
    """What a model is called in tables and figures, where its name does not tell it from others."""
    converged: dict[str, bool] = field(default_factory=dict)
    """Whether each fit converged, where the models themselves are not kept."""
    notes: tuple[str, ...] = ()
    """What to know of how the comparison was made, in sentences."""
    panel: Panel | None = None
    """What the models say of the test sessions besides the next step, the best first; `panel.rows` has the numbers."""
    about: str | None = None
    """The model that was chosen before the comparison, where one was: the verdict is about it."""

    @property
    def scores(self) -> dict[str, float]:
        """Held-out log-likelihood per step of each model, in nats."""
        return dict(zip(self.names, (self.log_likelihoods.sum(axis=1) / self.n_scored).tolist(), strict=True))

    @property
    def best(self) -> str:
        """The model with the highest score on the test sessions."""
        return self.names[int(np.argmax(self.log_likelihoods.sum(axis=1)))]

    def n_modes(self, name: str) -> int:
        """Number of modes of a model: 1 for those that have none."""
        return len(self.models[name].initial_modes_) if name in self.models else self.modes[name]

    def label(self, name: str) -> str:
        """What a model is called in tables and figures."""
        return self.labels.get(name, name)

    def difference(self, name: str, reference: str) -> tuple[float, float]:
        """How much better `name` is than `reference` per step, and half the width of the 95 % interval.

        The interval is that of a ratio of sums over sessions (over animals where five or more are known).
        """
        unknown = [wanted for wanted in (name, reference) if wanted not in self.names]
        if unknown:
            raise ValueError(f"{', '.join(map(repr, unknown))}: not compared here; there are {', '.join(self.names)}")
        row = dict(zip(self.names, self.log_likelihoods, strict=True))
        mean, error, n = paired(row[name] - row[reference], self.steps, self._units())
        return mean, _half_widths(n) * error

    def _units(self) -> Int[np.ndarray, "session"]:
        """What each test session counts to in an interval: its animal, or itself."""
        units = animals(self.subjects)
        return np.arange(len(self.steps)) if units is None else units

    def table(self) -> list[dict[str, Any]]:
        """One row per model, best first."""
        scores, best = self.scores, self.best
        rows = []
        for name in sorted(self.names, key=lambda name: -scores[name]):
            behind, half = self.difference(name, best)
            rows.append(
                {
                    "model": name,
                    "label": self.label(name),
                    "modes": self.n_modes(name),
                    "score": scores[name],
                    "behind_best": behind,
                    "half_width": half,
                    "seconds": float(self.seconds[self.names.index(name)]),
                    "chosen": self.chosen.get(name, {}),
                }
            )
        return rows

    def contest(self) -> Contest | None:
        """The models that the verdict is about, picked on training folds; None where no model, or not the chosen one,
        has modes.

        With modes: the simplest within one standard error of the best. Without: the same model with one mode, and the
        best of the others. Only where there are no scores of folds, and several to pick from, the test scores pick.
        """
        several = [name for name in self.names if self.n_modes(name) > 1]
        if not several or (self.about is not None and self.about not in several):
            return None
        with_modes, first = (self.about, False) if self.about else self._picked(several, simplest=True)
        alike = self.one_mode.get(with_modes)
        others = [name for name in self.names if self.n_modes(name) == 1 and name != alike]
        without, second = self._picked(others, simplest=False) if others else (None, False)
        return Contest(with_modes, alike, without, first or second)

    def picked(self) -> str:
        """The model to go on with: chosen before, or on training folds where there are scores of them, not by the test.

        With modes where any model has several (the simplest within one standard error of the best), else the best.
        """
        contest = self.contest()
        if contest is not None:
            return contest.with_modes
        return self.about or self._picked(list(self.names), simplest=False)[0]

    def picked_words(self) -> str:
        """Why it is that model to go on with, in a sentence."""
        name, contest = self.picked(), self.contest()
        of = "of the models with several modes, "
        if self.about == name:
            return f"{self.label(name)}: chosen before the comparison."
        if contest is None:
            names, of = list(self.names), ""
        else:
            names = [name for name in self.names if self.n_modes(name) > 1]
        if len(names) == 1:
            return f"{self.label(name)}: the only model{' with several modes' if of else ''}."
        if self._picked(names, simplest=contest is not None)[1]:
            return f"{self.label(name)}: {of}the best on the test sessions (there are no scores of training folds)."
        highest, _ = self._picked(names, simplest=False)
        if name == highest:
            return f"{self.label(name)}: {of}the best on the training folds."
        return f"{self.label(name)}: {of}the simplest within one standard error of the best on the training folds."

    def _picked(self, names: list[str], *, simplest: bool) -> tuple[str, bool]:
        """One of the models, and whether the test scores had to pick it."""
        if len(names) == 1:
            return names[0], False
        scored = [] if self.on_folds is None else [own["model"] for own in self.on_folds.candidates]
        if self.on_folds is None or not set(names) <= set(scored):
            return max(names, key=lambda name: self.scores[name]), True
        among = self.on_folds.rows([scored.index(name) for name in names])
        return (among.best if simplest else among.highest)["model"], False

    def verdict(self) -> str:
        """Say in a sentence or two whether hidden modes improve prediction.

        Modes are ahead only if the model with modes is better than the same model with one mode, and better than the
        best other model without modes, each by more than the 95 % interval of the paired difference on the test.
        """
        contest, enough = self.contest(), self._one_is_enough()
        if contest is None:
            if not enough:
                return f"Best: {self.label(self.best)}."
            return f"No case for modes: {enough[:1].lower()}{enough[1:]}{self._ahead_of_one()}"
        rivals = [name for name in (contest.alike, contest.without) if name is not None]
        if not rivals:
            return f"Best: {self.label(self.best)}."
        ours = f"{self.label(contest.with_modes)} with {counted(self.n_modes(contest.with_modes), 'mode')}"
        gains = {name: self.difference(contest.with_modes, name) for name in rivals}
        if any(np.isnan(half) for _, half in gains.values()):
            best = self.label(self.best)
            return f"Best: {best}. One test session does not say whether modes help: use more of them."
        said = {name: f"{self._rival(name, contest)} by {_nats(*gains[name])}" for name in rivals}
        ahead = [name for name in rivals if gains[name][0] - gains[name][1] > 0]
        behind = [name for name in rivals if gains[name][0] + gains[name][1] < 0]
        if len(ahead) == len(rivals) and contest.alike is None:
            text = f"{ours} is better than {said[ahead[0]]}. It was not compared with itself with one mode, so that "
            text += "this may not be due to modes."
        elif len(ahead) == len(rivals):
            text = f"Modes are ahead: {ours} is better than {' and than '.join(said[name] for name in rivals)}."
        else:
            text = f"No case for modes: {ours} "
            text += f"is better than {said[ahead[0]]}, but " if ahead else ""
            parts = [f"is worse than {said[name]}" for name in behind]
            parts += [
                f"does not differ from {self._rival(name, contest)} beyond noise ({_nats(*gains[name], sign=True)})"
                for name in rivals
                if name not in ahead and name not in behind
            ]
            text += f"{' and '.join(parts)}."
        if contest.on_test:
            text += " These models were picked by the same test scores, which favours the kind with more models."
        text = text.replace(PER_STEP, f"{PER_STEP} (±: 95 % interval)", 1)  # explained once
        return f"{text} {enough}" if enough else text

    def _rival(self, name: str, contest: Contest) -> str:
        if name == contest.alike:
            return "the same model with one mode"
        return f"{self.label(name)}, the best {'other ' if contest.alike else ''}model without modes,"

    def _one_is_enough(self) -> str:
        """Which models chose one mode though they could have had more."""
        tried = {name: {own.get("n_modes", 1) for own in choice.candidates} for name, choice in self.choices.items()}
        one = [name for name in self.names if self.n_modes(name) == 1 and max(tried.get(name, {1})) > 1]
        words = ", ".join(self.label(name) for name in one)
        return f"One mode is enough for {words} (training folds)." if one else ""

    def _ahead_of_one(self) -> str:
        """Which model with several modes is ahead on the test of the chosen one, which has one."""
        several = [name for name in self.names if self.n_modes(name) > 1]
        if self.about is None or not several:
            return ""
        best = max(several, key=lambda name: self.scores[name])
        gain = self.difference(best, self.about)
        if not gain[0] > gain[1]:
            return ""
        return (
            f" But on the test {self.label(best)} is better than it by {_nats(*gain)} (±: 95 % interval): folds and "
            "test disagree, so record more sessions before you say either."
        )

    def remarks(self) -> list[str]:
        """What to know before believing the comparison: what was added, numbers at an edge, fits that did not end."""
        said = list(self.notes)
        edge: dict[int, list[str]] = {}
        for name, choice in self.choices.items():
            tried = [int(own["n_modes"]) for own in choice.candidates if "n_modes" in own]
            if name in self.names and len(set(tried)) > 1 and self.n_modes(name) == max(tried):
                edge.setdefault(max(tried), []).append(self.label(name))
        for most, names in edge.items():
            said.append(f"{', '.join(names)}: K = {most} is at the edge of what was tried; add larger numbers.")
        contest = self.contest()
        said += self._too_few(contest)
        said += self._few_animals()
        said += [] if contest is None else self._not_twice(contest.with_modes)
        about = {self.best} if contest is None else {self.best, *contest[:3]}
        unfinished = [self.label(name) for name in self.names if name in about and not self.has_converged(name)]
        if unfinished:
            said.append(
                f"{', '.join(unfinished)} did not converge: give more iterations (max_iter) before you rely on it."
            )
        return said

    def _too_few(self, contest: Contest | None) -> list[str]:
        """A sentence where modes gain more than one standard error, and so few test sessions cannot tell it from none.

        The verdict on a fit asks for one standard error between halves: the two can differ on the same sessions.
        """
        n = len(np.unique(self._units()))
        if contest is None or not 2 <= n < FEW:
            return []
        wide = _half_widths(n)
        rivals = [name for name in (contest.alike, contest.without) if name is not None]
        gains = [self.difference(contest.with_modes, name) for name in rivals]
        if all(gain > half for gain, half in gains) or not all(gain > half / wide for gain, half in gains):
            return []
        what = "sessions" if animals(self.subjects) is None else "animals"
        return [
            f"With {n} test {what} an interval is {wide:.1f} standard errors wide to either side, so only large "
            "differences show: hold out more before you take this as evidence against modes."
        ]

    def _few_animals(self) -> list[str]:
        """A sentence where the animals of the test are known, and too few to say how much animals differ."""
        known = list(dict.fromkeys(self.subjects))
        if None in known or not 0 < len(known) < ENOUGH_ANIMALS:
            return []
        which = f"{counted(len(known), 'animal')} ({', '.join(map(str, known))})"
        if len(self.steps) < 2:
            return [f"Tested on {which}: this says nothing about other animals."]
        return [f"Tested on {which}: the intervals are over their sessions and say nothing about other animals."]

    def _not_twice(self, name: str) -> list[str]:
        """A sentence where further fits of a model, to the training folds, segment the test sessions otherwise."""
        if self.panel is None or name not in self.panel.names or TWICE not in self.panel.agreement:
            return []
        alike = self.panel.value(name, TWICE)
        if np.isnan(alike) or alike >= SAME_TWICE:
            return []
        return [
            f"{self.label(name)}: its modes are not the same twice. Fits to the training folds segment the test "
            f"sessions alike at ARI {alike:.2f} only (1: the same; below {SAME_TWICE:g} do not interpret single modes)."
        ]

    def has_converged(self, name: str) -> bool:
        """Whether the fit of a model ended by itself (counts always do)."""
        model = self.models.get(name)
        return model.converged_ is not False if model is not None else self.converged.get(name, True)

    def __str__(self) -> str:
        lines = [
            self.verdict(),
            "",
            f"| model | modes | held-out LL ({self.of.replace('_', ' ')}, nats/step) | to the best (95 %) | seconds |",
            "|:--|--:|--:|--:|--:|",
        ]
        for row in self.table():
            half = "" if np.isnan(row["half_width"]) else f" ± {row['half_width']:.4f}"
            gap = "" if row["model"] == self.best else f"{row['behind_best']:+.4f}{half}"
            lines.append(f"| {row['label']} | {row['modes']} | {row['score']:.4f} | {gap} | {row['seconds']:.1f} |")
        lines += ["", f"{self.n_scored:,} steps of {counted(len(self.steps), 'test session')} scored, once."]
        choices = [
            f"{self.label(name)}: {', '.join(f'{key}={value}' for key, value in settings.items())}"
            for name, settings in self.chosen.items()
        ]
        lines += [f"Chosen on training folds: {'; '.join(choices)}."] if choices else []
        lines += self.remarks()
        if self.panel is not None and self.panel.tables(leave_out=[SCORE]):
            lines += ["", f"{self.panel.heading}:", "", self.panel.text(self.labels, leave_out=[SCORE])]
        return "\n".join(lines)


def _nats(gain: float, half: float, *, sign: bool = False) -> str:
    return f"{gain if sign else abs(gain):{'+' if sign else ''}.4f} ± {half:.4f}{PER_STEP}"
