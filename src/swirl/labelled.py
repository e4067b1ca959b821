"""A fitted model as a labelled xarray Dataset: the same container as movement's and arviz's."""

from typing import Any

import numpy as np


def to_xarray(model: Any) -> Any:
    """Label what was fitted: ``model.to_xarray().policies.sel(mode=0, action="stay")``.

    Dimensions are mode, history, action, state, next_mode and lag; `histories` gives the states of each history,
    newest first (−1 before the start).

    Examples
    --------
    >>> from swirl import SWIRL
    >>> from swirl.datasets import gridworld
    >>> data = gridworld(n_sessions=4, n_steps=30)
    >>> t = data.truth
    >>> truth = SWIRL.from_parameters(data.env, history=2, rewards=t.rewards,
    ...     mode_transitions=t.mode_transitions, initial_modes=t.initial_modes)
    >>> dict(to_xarray(truth).policies.sel(action="stay").sizes)
    {'mode': 2, 'history': 130}
    """
    import xarray

    model._check_fitted()
    env = model.env
    arrays: dict[str, tuple[tuple[str, ...], Any]] = {
        "rewards": (("mode", "history", "action")[: model.rewards_.ndim], model.rewards_),
        "reward_map": (("mode", "state"), model.reward_map()),
        "policies": (("mode", "history", "action"), model.policies_),
        "mode_transitions": (("state", "mode", "next_mode"), model.mode_transitions_),
        "initial_modes": (("mode",), model.initial_modes_),
        "initial_states": (("state",), model.initial_states_),
        "histories": (("history", "lag"), model.histories_),
    }
    optional = {"occupancy": "mode", "uninformed": "history", "objective_trace": "iteration"}
    for name, dimension in optional.items():
        if hasattr(model, f"{name}_"):
            arrays[name] = ((dimension,), getattr(model, f"{name}_"))
    modes = np.arange(len(model.initial_modes_))
    coordinates: dict[str, Any] = {"mode": modes, "next_mode": modes, "lag": np.arange(model.histories_.shape[1])}
    coordinates["state"] = list(env.state_names) if env.state_names else np.arange(env.n_states)
    coordinates["action"] = list(env.action_names) if env.action_names else np.arange(env.n_actions)
    attributes = {"model": repr(model), "fit_report": getattr(model, "fit_report_", "given parameters")}
    return xarray.Dataset(arrays, coords=coordinates, attrs=attributes)
