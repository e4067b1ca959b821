"""Goals that were not told, found by the likelihood of held-out sessions (`estimators.goal_search`)."""

from collections.abc import Callable, Sequence
from typing import Any

from swirl.data.mdp import MDP
from swirl.estimators.goal_search import QUICK, FoundGoal, GoalSearch, search_goals
from swirl.estimators.registry import make
from swirl.priors import GoalDirected
from swirl.rewards.forms import Goals

__all__ = ["FoundGoal", "GoalSearch", "discover_goals"]


def discover_goals(
    data: Any,
    env: MDP,
    *,
    candidates: Sequence[Any] | None = None,
    max_goals: int = 6,
    n_folds: int = 3,
    strictness: float = 1.0,
    form: Goals | None = None,
    reward_prior: GoalDirected | None = None,
    callback: Callable[[str], Any] | None = None,
    on_fit: Callable[[], Any] | None = None,
    **options: Any,
) -> GoalSearch:
    """Find the places that an animal walks to, without being told any.

    A habit that is longer than the fitted one (of one move, unless `history` says more) can pass for goals, and so can
    a wall that the environment lacks: search again with ``history=3``, and see `environments.check_passages`.

    Parameters
    ----------
    candidates
        Places to try, each a state or several (a region); None: every state.
    max_goals
        Where to stop at the latest.
    n_folds
        Folds of the sessions on which a goal has to pay.
    strictness
        Standard errors that a gain must exceed.
    form
        `rewards.Goals` without places, for other kinds or a habit that knows places. Where it does not say what moves
        are called, that is chosen on the folds; so is, where actions may bump into walls and more than 5 % of the steps
        are in place, whether walls on different sides make different kinds of places (unless it says what kinds there
        are).
    reward_prior, options
        Of `swirl.SWIRL`: the habit's prior; ``history=3`` for a habit of two moves in place of one; and so on.
    callback
        Called with a few words on what is tried next.

    Examples
    --------
    >>> from swirl import datasets
    >>> walks = datasets.random_walk(datasets.gridworld_env(), n_sessions=6, n_steps=60)
    >>> form = Goals(moves="action")
    >>> discover_goals(walks.trajectories, walks.env, form=form, history=1).goals  # takes some seconds
    ()
    """
    base = Goals() if form is None else form
    if base.places or not base.absorbing:
        raise ValueError("form: expected rewards.Goals without places, which are searched for, and with absorbing=True")
    like = make("Goals", env, reward=base, reward_prior=reward_prior, **{**QUICK, **options})
    return search_goals(
        like,
        data,
        candidates=candidates,
        max_goals=max_goals,
        n_folds=n_folds,
        strictness=strictness,
        callback=callback,
        on_fit=on_fit,
    )
