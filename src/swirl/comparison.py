"""Is SWIRL really better on my data?  Fit every model on the same sessions, score each once on the same others.

Scores compare only in one currency (actions, next states, densities) and over the same steps; whatever would mix
them is refused.  Differences are paired by session, or by subject where several are known.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from swirl.estimator import WORDS, HiddenModeEstimator, Scored, as_trajectories
from swirl.faults import counted
from swirl.registry import fixed_arguments, make, models
from swirl.selection import choose
from swirl.trajectories import Trajectories

Z95 = 1.959964


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
        return len(self.models[name].initial_modes_)

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
        return float(mean), float(Z95 * np.sqrt(n / (n - 1) * np.sum(residuals**2)) / steps.sum())

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
            gap = "" if row["model"] == self.best else f"{row['behind_best']:+.4f} ± {row['half_width']:.4f}"
            lines.append(f"| {row['model']} | {row['modes']} | {row['score']:.4f} | {gap} | {row['seconds']:.1f} |")
        lines += ["", f"{self.n_scored:,} steps of {counted(len(self.steps), 'test session')} scored, once."]
        choices = [
            f"{name}: {', '.join(f'{key}={value}' for key, value in settings.items())}"
            for name, settings in self.chosen.items()
        ]
        return "\n".join([*lines, *([f"Chosen on training folds: {'; '.join(choices)}."] if choices else [])])


def common_currency(candidates: Mapping[str, HiddenModeEstimator], of: Scored | None = None) -> Scored:
    """What all the models can be scored on: `of` if they all can, else the first that they share.

    >>> from swirl.mdp import MDP
    >>> env = MDP.deterministic([[0, 1, 1], [0, 1, 1]])
    >>> common_currency({name: make(name, env) for name in ("S-1", "rARHMM")})
    'next_state'
    """
    each = {name: model.currencies for name, model in candidates.items()}
    shared = [x for x in WORDS if all(x in own for own in each.values())]
    if of is None and shared:
        return shared[0]  # type: ignore[return-value]
    if of in shared:
        return of  # type: ignore[return-value]
    said = "; ".join(f"{name}: {', '.join(own)}" for name, own in each.items())
    raise ValueError(
        f"of={of!r}: the models do not all have such a score, and scores of different things do not compare ({said}); "
        "compare those that share one"
    )


def compare(
    candidates: Any,
    train: Any,
    test: Any,
    *,
    env: Any = None,
    of: Scored | None = None,
    tune: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
    n_folds: int = 3,
    **parameters: Any,
) -> Comparison:
    """Fit models on `train`, score each once on `test`, and lay them side by side.

    Parameters
    ----------
    candidates
        Names of models (None: all that have the score `of`, by default that of next states), or a dict of name →
        model; a model that is fitted already is fitted again.
    train, test
        `Trajectories`.
    env
        Needed when models are given by name.
    of
        ``"action"``, ``"next_state"`` or ``"density"``; by default the first that all the models share.
    tune
        name → settings to try on folds of `train` (`selection.choose`) before that model is fitted. Count models choose
        their order and smoothing themselves, for what is scored.
    **parameters
        Further arguments, such as ``n_modes=3``, for those of the named models that take them and do not fix them.

    Examples
    --------
    >>> from swirl.datasets import gridworld
    >>> data = gridworld(n_sessions=10, n_steps=100)
    >>> train, test = data.trajectories.split(every=5)
    >>> result = compare(["Markov-0", "Markov-1"], train, test, env=data.env)
    >>> result.best, result.of, result.n_scored
    ('Markov-1', 'action', 200)
    """
    train, test = as_trajectories(train), as_trajectories(test)
    fresh = _candidates(candidates, env, parameters)
    if candidates is None:  # next states are what all models of labelled states share
        fresh = {name: model for name, model in fresh.items() if (of or "next_state") in model.currencies}
    of = common_currency(fresh, of)
    for model in fresh.values() if not isinstance(candidates, Mapping) else ():
        if "target" in model.get_params() and "target" not in parameters:
            model.set_params(target=of)  # a count model is fitted and tuned for what it is scored on
    unknown = [name for name in tune or {} if name not in fresh]
    if unknown:
        raise ValueError(f"tune: {', '.join(unknown)} is not among the models compared, {', '.join(fresh)}")
    fitted, seconds, chosen = {}, [], {}
    for name, model in fresh.items():
        began = time.perf_counter()
        if tune and name in tune:
            chosen[name] = choose(model, train, dict(tune[name]), n_folds=n_folds, of=of).best
            model = model.set_params(**chosen[name])
        fitted[name] = model.fit(train)
        if own_choice := getattr(model, "chosen_", None):
            chosen[name] = {**own_choice, **chosen.get(name, {})}
        seconds.append(time.perf_counter() - began)
    return _scored(fitted, test, of, np.array(seconds), chosen)


def _candidates(candidates: Any, env: Any, parameters: dict[str, Any]) -> dict[str, HiddenModeEstimator]:
    """Unfitted models by name."""
    if isinstance(candidates, Mapping):
        if parameters:
            raise ValueError(f"{', '.join(parameters)}: give further arguments to the models themselves")
        if not candidates or not all(isinstance(model, HiddenModeEstimator) for model in candidates.values()):
            raise ValueError(f"candidates={candidates!r}: expected a dict of name → model, with at least one")
        return {name: type(model)(**model.get_params()) for name, model in candidates.items()}
    candidates = list(models()) if candidates is None else candidates
    listed = isinstance(candidates, Sequence) and not isinstance(candidates, str) and len(candidates) > 0
    if not listed or not all(isinstance(name, str) for name in candidates):
        raise ValueError(
            f"candidates={candidates!r}: expected a list of names, such as ['Markov', 'S-2'], or a dict of name → model"
        )
    if env is None:
        raise ValueError("env: models given by name need the environment; pass env=")
    made = {}
    for name in candidates:
        bare = make(name, env)
        own = bare.get_params()
        fixed = fixed_arguments(name)
        made[name] = make(name, env, **{k: v for k, v in parameters.items() if k in own and k not in fixed})
    unused = [k for k in parameters if all(k not in m.get_params() or k in fixed_arguments(n) for n, m in made.items())]
    if unused:
        raise ValueError(f"{', '.join(unused)}: none of the models has such an argument, or its name fixes it")
    return made


def _scored(
    fitted: dict[str, HiddenModeEstimator],
    test: Trajectories,
    of: Scored,
    seconds: np.ndarray,
    chosen: dict[str, dict[str, Any]],
) -> Comparison:
    steps = {name: model.scored_steps(test, of=of) for name, model in fitted.items()}
    first = next(iter(steps))
    for name, own in steps.items():
        for session, (a, b) in enumerate(zip(own, steps[first], strict=True)):
            if not np.array_equal(a, b):
                raise ValueError(
                    f"{name} scores {int(a.sum())} steps of test session {session}, {first} {int(b.sum())}, so these "
                    "are not scores of the same thing; compare models that score the same steps (for autoregressions: "
                    "the same number of lags)"
                )
    per_session = np.array([int(own.sum()) for own in steps[first]])
    if per_session.sum() == 0:
        raise ValueError("test: nothing was observed in any session, so there is nothing to score")
    log_likelihoods = np.stack([model.log_likelihood(test, of=of) for model in fitted.values()])
    return Comparison(
        of, int(per_session.sum()), tuple(fitted), fitted, log_likelihoods, per_session, test.subjects, seconds, chosen
    )
