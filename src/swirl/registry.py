"""Every model by its name: `models()`, `make()` and `load()`."""

import re
from pathlib import Path
from typing import Any

from swirl.mdp import MDP
from swirl.model import SWIRL

DESCRIPTIONS = {
    "MaxEnt": "maximum-entropy inverse reinforcement learning: one mode, one reward r(s)",
    "I-1": "reward r(s_t), switching independent of the state: multi-intention inverse Q-learning's model",
    "I-2": "reward r(s_t, s_{t−1}), switching independent of the state; I-3, I-4, … see more states",
    "S-1": "reward r(s_t), switching depends on the state: locally consistent IRL's model",
    "S-2": "reward r(s_t, s_{t−1}), switching depends on the state: SWIRL; S-3, S-4, … see more states",
}


def models() -> dict[str, str]:
    """List the names that `make` knows, each with one line; I and S take any history length.

    >>> list(models())
    ['MaxEnt', 'I-1', 'I-2', 'S-1', 'S-2']
    """
    return dict(DESCRIPTIONS)


def make(name: str, env: MDP, **parameters: Any) -> SWIRL:
    """Build a model by name; further arguments are those of the model.

    Parameters
    ----------
    name
        "MaxEnt", "I-1", "I-2", …, "S-1", "S-2", …
    env
        Where each action leads.

    Examples
    --------
    >>> env = MDP.deterministic([[0, 1], [1, 0]])
    >>> make("S-2", env, n_modes=3)
    SWIRL(MDP(...), n_modes=3)
    >>> make("MaxEnt", env)
    SWIRL(MDP(...), n_modes=1, history=1, switching='independent')
    """
    if name == "MaxEnt":
        defaults: dict[str, Any] = {"n_modes": 1, "history": 1, "switching": "independent"}
    elif match := re.fullmatch(r"([IS])-([1-9][0-9]*)", name):
        switching = "independent" if match[1] == "I" else "state"
        defaults = {"history": int(match[2]), "switching": switching}
    else:
        raise ValueError(f"name={name!r}: no such model; there are MaxEnt, I-1, I-2, …, S-1, S-2, …")
    clash = [key for key in defaults if key in parameters and parameters[key] != defaults[key]]
    # A richer switching form keeps the name: "S" says only that it depends on the state.
    if "switching" in clash and name.startswith("S-") and parameters["switching"] in ("state-table", "state-net"):
        clash.remove("switching")
    if clash:
        raise ValueError(
            f"{', '.join(f'{key}={parameters[key]!r}' for key in clash)}: {name} has "
            f"{', '.join(f'{key}={defaults[key]!r}' for key in clash)}; use swirl.SWIRL for other combinations"
        )
    return SWIRL(env, **{**defaults, **parameters})


def load(path: str | Path) -> SWIRL:
    """Read a model that `save` wrote: identical predictions, nothing unpickled."""
    from swirl.archive import load_model

    return load_model(SWIRL, Path(path))
