"""Held-out scores of several models side by side: differences are paired by session, or by subject where several are
known."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import t as student

from swirl.estimator import HiddenModeEstimator, Scored
from swirl.faults import counted
from swirl.selection import Choice

Z95 = 1.959964
MANY = 30  # sessions or subjects; of fewer, Student's t knows how little their spread is known


@dataclass(frozen=True)
class Comparison:
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

    @property
    def scores(self) -> dict[str, float]:
        """Held-out log-likelihood per step of each model, in nats."""
        return dict(zip(self.names, (self.log_likelihoods.sum(axis=1) / self.n_scored).tolist(), strict=True))

    @property
    def best(self) -> str:
        """The model with the highest score."""
        return self.names[int(np.argmax(self.log_likelihoods.sum(axis=1)))]

    def n_modes(self, name: str) -> int:
        """Number of modes of a model: 1 for those that have none."""
        return len(self.models[name].initial_modes_) if name in self.models else self.modes[name]

    def difference(self, name: str, reference: str) -> tuple[float, float]:
        """How much better `name` is than `reference` per step, and half the width of the 95 % interval.

        The interval is that of a ratio of sums over sessions (over subjects where several are known).
        """
        unknown = [wanted for wanted in (name, reference) if wanted not in self.names]
        if unknown:
            raise ValueError(f"{', '.join(map(repr, unknown))}: not compared here; there are {', '.join(self.names)}")
        row = dict(zip(self.names, self.log_likelihoods, strict=True))
        subjects = list(dict.fromkeys(self.subjects))
        if None in subjects or len(subjects) < 2:
            groups = np.arange(len(self.steps))
        else:
            groups = np.array([subjects.index(subject) for subject in self.subjects])
        gains = np.bincount(groups, weights=row[name] - row[reference])
        steps = np.bincount(groups, weights=self.steps)
        mean, n = gains.sum() / steps.sum(), len(gains)
        if n < 2:
            return float(mean), float("nan")
        residuals = gains - mean * steps
        quantile = Z95 if n >= MANY else student.ppf(0.975, n - 1)
        return float(mean), float(quantile * np.sqrt(n / (n - 1) * np.sum(residuals**2)) / steps.sum())

    def table(self) -> list[dict[str, Any]]:
        """One row per model, best first."""
        scores, best = self.scores, self.best
        rows = []
        for name in sorted(self.names, key=lambda name: -scores[name]):
            behind, half = self.difference(name, best)
            rows.append(
                {
                    "model": name,
                    "modes": self.n_modes(name),
                    "score": scores[name],
                    "behind_best": behind,
                    "half_width": half,
                    "seconds": float(self.seconds[self.names.index(name)]),
                    "chosen": self.chosen.get(name, {}),
                }
            )
        return rows

    def verdict(self) -> str:
        """Say in a sentence whether hidden modes earned their keep.

        The best model of each kind is the best by these same scores, which flatters the kind with more candidates.
        """
        with_modes = [name for name in self.names if self.n_modes(name) > 1]
        without = [name for name in self.names if self.n_modes(name) == 1]
        scores = self.scores
        if not with_modes or not without:
            return f"Best: {self.best}."
        switching = max(with_modes, key=lambda name: scores[name])
        simple = max(without, key=lambda name: scores[name])
        gain, half = self.difference(switching, simple)
        if np.isnan(half):
            return f"Best: {self.best}. One test session does not say whether modes help: use more of them."
        interval = f"{abs(gain):.4f} ± {half:.4f} nats per step"
        if gain - half > 0:
            return f"Best: {self.best}. {switching} is ahead of {simple}, the best model without modes, by {interval}."
        if gain + half < 0:
            return f"A model without modes wins: {simple} is ahead of {switching} by {interval}."
        return (
            f"No case for modes: {switching} and {simple}, the best model without modes, differ by {interval}, "
            "which is within noise."
        )

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
            lines.append(f"| {row['model']} | {row['modes']} | {row['score']:.4f} | {gap} | {row['seconds']:.1f} |")
        lines += ["", f"{self.n_scored:,} steps of {counted(len(self.steps), 'test session')} scored, once."]
        choices = [
            f"{name}: {', '.join(f'{key}={value}' for key, value in settings.items())}"
            for name, settings in self.chosen.items()
        ]
        return "\n".join([*lines, *([f"Chosen on training folds: {'; '.join(choices)}."] if choices else [])])
