"""Is SWIRL really better on my data?  Fit every model on the same sessions, score each once on the same others.

Scores compare only in one currency (actions, next states, densities) and over the same steps; whatever would mix
them is refused.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from swirl.comparison import Comparison
from swirl.estimator import WORDS, HiddenModeEstimator, Scored, as_trajectories
from swirl.registry import fixed_arguments, keeps, make, models
from swirl.selection import Choice, choose
from swirl.trajectories import Trajectories


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
    callback: Callable[[str], Any] | None = None,
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
        ``"action"``, ``"next_state"`` or ``"density"``; by default the first that all the models share, and next
        states where any action is missing.
    tune
        name → settings to try on folds of `train` (`selection.choose`) before that model is fitted. Count models choose
        their order and smoothing themselves, for what is scored.
    callback
        Called with a few words on what is fitted next.
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
    if of is None and train.n_missing_actions + test.n_missing_actions:
        next_states = all("next_state" in model.currencies for model in fresh.values())
        of = "next_state" if next_states else None  # the actions that were seen are not all there is to predict
    of = common_currency(fresh, of)
    for model in fresh.values() if not isinstance(candidates, Mapping) else ():
        if "target" in model.get_params() and "target" not in parameters:
            model.set_params(target=of)  # a count model is fitted and tuned for what it is scored on
    unknown = [name for name in tune or {} if name not in fresh]
    if unknown:
        raise ValueError(f"tune: {', '.join(unknown)} is not among the models compared, {', '.join(fresh)}")
    fitted, seconds, chosen, choices = {}, [], {}, {}
    tell = callback or (lambda _: None)
    for name, model in fresh.items():
        began = time.perf_counter()
        if tune and name in tune:
            choices[name] = choose(
                model,
                train,
                dict(tune[name]),
                n_folds=n_folds,
                of=of,
                callback=lambda words, of=name: tell(f"{of}: {words}"),
            )
            chosen[name] = choices[name].best
            model = model.set_params(**chosen[name])
        tell(f"{name}: all training sessions")
        fitted[name] = model.fit(train)
        if own_choice := getattr(model, "chosen_", None):
            chosen[name] = {**own_choice, **chosen.get(name, {})}
        seconds.append(time.perf_counter() - began)
    return _scored(fitted, test, of, np.array(seconds), chosen, choices)


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
    made, taken = {}, {}
    for name in candidates:
        bare = make(name, env)
        own = bare.get_params()
        fixed = fixed_arguments(name)
        taken[name] = {k: v for k, v in parameters.items() if k in own and (k not in fixed or keeps(name, k, v))}
        made[name] = make(name, env, **taken[name])
    unused = [k for k in parameters if not any(k in own for own in taken.values())]
    if unused:
        raise ValueError(f"{', '.join(unused)}: none of the models has such an argument, or its name fixes it")
    return made


def _scored(
    fitted: dict[str, HiddenModeEstimator],
    test: Trajectories,
    of: Scored,
    seconds: np.ndarray,
    chosen: dict[str, dict[str, Any]],
    choices: dict[str, Choice],
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
    log_likelihoods = np.stack([model.session_scores(test, of=of) for model in fitted.values()])
    return Comparison(
        of,
        int(per_session.sum()),
        tuple(fitted),
        fitted,
        log_likelihoods,
        per_session,
        test.subjects,
        seconds,
        chosen,
        choices,
        test.names,
    )
