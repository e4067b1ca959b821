"""The prediction for a fit that is about to be made."""

import jax

from swirl.estep import compiled
from swirl.iteration import Engine
from swirl.machine import cores
from swirl.mdp import MDP
from swirl.memory.account import Prediction
from swirl.memory.moments import of_sizes
from swirl.memory.sizes import Kind, Sizes, count_paths
from swirl.rewards.forms import Habit, Linear, Network, RewardForm, Tabular, resolve_form
from swirl.switching import Fixed


def predict(
    env: MDP,
    *,
    n_modes: int,
    history: int,
    n_steps: int,
    n_sessions: int,
    n_restarts: int,
    reward: str | RewardForm = "state",
    switching: str | Fixed = "state",
    n_actions: int | None = None,
    longest: int | None = None,
    engine: Engine = "auto",
) -> Prediction:
    """Predict the peak memory of ``SWIRL(env, …).fit(data, engine=engine)`` with the default priors.

    On a GPU it is the GPU's memory (read from the code; only the CPU's was measured).

    Parameters
    ----------
    n_steps, n_sessions
        Of the recording, all sessions together.
    n_actions
        Number of options at each step; by default the environment's actions.
    longest
        Steps of the longest session; by default all are taken to be alike.

    Examples
    --------
    >>> from swirl.mdp import MDP
    >>> ring = MDP.deterministic([[0, 1], [1, 2], [2, 0]])
    >>> predict(ring, n_modes=2, history=2, n_steps=10**6, n_sessions=20, n_restarts=8).moment
    'reading'
    """
    form = resolve_form(reward)
    fixed = isinstance(switching, Fixed) or switching == "fixed"
    on_gpu = jax.default_backend() != "cpu"
    if engine == "auto":  # as `iteration.choose` will: tables that are given may hold zeros
        fast = "associative" if on_gpu else "compiled"
        engine = fast if not fixed and (on_gpu or compiled.available()) else "scan"
    features = (
        form.features[0].size if isinstance(form, Linear) else 9 * form.hidden if isinstance(form, Network) else 0
    )
    return of_sizes(
        Sizes(
            n_states=env.n_states,
            n_actions=env.n_actions if n_actions is None else n_actions,
            n_branches=env.n_branches,
            paths=count_paths(env, history),
            n_modes=n_modes,
            n_restarts=n_restarts,
            n_steps=n_steps,
            n_sessions=n_sessions,
            longest=max(-(-n_steps // max(n_sessions, 1)), longest or 0),
            kind=_kind(form),
            features=features,
            goal_history=form.goal_history if isinstance(form, Habit) else 0,
            switching="fixed" if isinstance(switching, Fixed) else switching,
            engine=engine,
            on_gpu=on_gpu,
            n_threads=cores(),
        )
    )


def _kind(form: RewardForm) -> Kind:
    if isinstance(form, Tabular) and form.road == "exact":
        return "policies" if form.on == "state-action" else "values"
    return "shared" if isinstance(form, Habit) else "planned"
