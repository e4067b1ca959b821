"""Episodes of reinforcement learning (Minari, Gymnasium, imitation): T + 1 observations and T actions, or T of both.

Everything is taken by its form: neither Minari nor Gymnasium is imported.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from swirl.data.trajectories import Trajectories
from swirl.data.trajectory_checks import MISSING, one_each
from swirl.errors import Faults
from swirl.text import counted, some

_CANNOT = "The episodes cannot become sessions"

FIELDS = {"observations": ("observations", "obs"), "actions": ("actions", "acts"), "rewards": ("rewards", "rews")}
"""What Minari and imitation call them."""


def from_episodes(episodes: Any, *, names: Any = None, subjects: Any = None) -> Trajectories:
    """Make a session of each episode: observations are states, and the recorded reward is the signal "reward".

    With T + 1 observations the last step has no action, and its reward is NaN.  Observations and actions are labels:
    integers, or one-hot rows.  Where a space says how many there are (`Discrete(n, start)`), all n are named and
    `start` is subtracted.

    Parameters
    ----------
    episodes
        A `MinariDataset`, or a list of dicts or objects with `observations`, `actions` and perhaps `rewards`
        (or `obs`, `acts` and `rews`).
    names, subjects
        One label per episode. Names are the ids of the episodes, where they have any, or else their numbers.

    Examples
    --------
    >>> sessions = from_episodes([{"observations": [0, 1, 2], "actions": [1, 1], "rewards": [0.0, 1.0]}])
    >>> sessions.states[0], sessions.actions[0], sessions.signals["reward"][0]
    (array([0, 1, 2]), array([ 1,  1, -1]), array([ 0.,  1., nan]))
    """
    faults = Faults()
    listed = _listed(episodes, faults)
    faults.raise_if_any(_CANNOT)
    found = {noun: [_field(episode, keys) for episode in listed] for noun, keys in FIELDS.items()}
    for noun in ("observations", "actions"):
        if lacking := [i for i, value in enumerate(found[noun]) if value is None]:
            faults.add(f"episodes {some(lacking)} have no {noun}: give dicts or objects with observations and actions")
    ids = [_field(episode, ("id",)) for episode in listed]
    told = one_each("names", names, len(listed), faults) or [i if own is None else own for i, own in enumerate(ids)]
    animals = one_each("subjects", subjects, len(listed), faults)
    faults.raise_if_any(_CANNOT)
    spaces = [getattr(episodes, name, None) for name in ("observation_space", "action_space")]
    states, state_names = _labels("observations", found["observations"], spaces[0], faults)
    actions, action_names = _labels("actions", found["actions"], spaces[1], faults)
    faults.raise_if_any(_CANNOT)
    rewards = [_rewards(i, r, len(actions[i]), faults) for i, r in enumerate(found["rewards"])]
    for i, (seen, done) in enumerate(zip(states, actions, strict=True)):
        if len(seen) - len(done) not in (0, 1):
            got = f"episode {i} has {counted(len(seen), 'observation')} and {counted(len(done), 'action')}"
            faults.add(f"{got}: expected T + 1 and T (the last has no action), or T of both")
    faults.raise_if_any(_CANNOT)

    kept = [i for i, done in enumerate(actions) if len(done)]
    if not kept:
        raise ValueError(f"{_CANNOT}: none of {counted(len(listed), 'episode')} has an action; give some that have.")
    notes = [f"{counted(len(kept), 'episode')} with {counted(sum(len(actions[i]) for i in kept), 'action')}"]
    notes += [f"dropped {counted(len(listed) - len(kept), 'episode')} without an action"] * (len(kept) < len(listed))
    lengths = {i: len(states[i]) for i in kept}
    known = any(found["rewards"][i] is not None for i in kept)
    return Trajectories(
        states=[states[i] for i in kept],
        actions=[_padded(actions[i], lengths[i], MISSING) for i in kept],
        names=tuple(str(told[i]) for i in kept),
        subjects=None if animals is None else tuple(animals[i] for i in kept),
        signals={"reward": [_padded(rewards[i], lengths[i], np.nan) for i in kept]} if known else None,
        state_names=state_names,
        action_names=action_names,
        notes=tuple(notes),
    )


def _listed(episodes: Any, faults: Faults) -> list[Any]:
    """Take the episodes one by one."""
    if hasattr(episodes, "iterate_episodes"):
        episodes = episodes.iterate_episodes()
    elif isinstance(episodes, str):
        faults.add(f"episodes is the string {episodes!r}: give the data, as in minari.load_dataset({episodes!r})")
        return []
    elif not isinstance(episodes, Iterable) or isinstance(episodes, Mapping) or hasattr(episodes, "observations"):
        faults.add(f"episodes is a {type(episodes).__name__}: give a list of them; a single one is wrapped: [episode]")
        return []
    listed = list(episodes)
    if not listed:
        faults.add("episodes is empty: give at least one")
    return listed


def _field(episode: Any, keys: tuple[str, ...]) -> Any:
    """Look a field up in a dict or an object; None where it is not there."""
    for key in keys:
        value = episode.get(key) if isinstance(episode, Mapping) else getattr(episode, key, None)
        if value is not None:
            return value
    return None


def _labels(
    noun: str, values: list[Any], space: Any, faults: Faults
) -> tuple[list[np.ndarray], tuple[str, ...] | None]:
    """Labels of every episode, and what they were called; None where the number of labels is not known."""
    none = [], None
    discretise = "swirl needs labels; make them discrete first (a grid, clusters, …)"
    if any(isinstance(value, Mapping | tuple) and not _flat(value) for value in values):
        faults.add(f"{noun} are dicts or tuples of several parts: choose one part, or number their combinations")
        return none
    arrays = []
    for i, value in enumerate(values):
        try:
            arrays.append(np.asarray(value))
        except ValueError:
            faults.add(f"episode {i}: {noun} are ragged: give one label per step")
            return none
    arrays = [a[:, 0] if a.ndim == 2 and a.shape[1] == 1 else a for a in arrays]  # as MultiDiscrete([n]) has them
    filled = [a for a in arrays if a.size]
    if filled and all(_one_hot(a) for a in filled):
        widths = sorted({a.shape[1] for a in filled})
        if len(widths) > 1:
            faults.add(
                f"{noun} are one-hot with different widths in different episodes: {some(widths)}; give one width"
            )
            return none
        empty = np.zeros(0, np.int64)
        return [a.argmax(axis=1) if a.size else empty for a in arrays], tuple(map(str, range(widths[0])))
    before = len(faults)
    for i, a in enumerate(arrays):
        if a.size and (a.ndim != 1 or a.dtype.kind not in "iu"):
            got = f"episode {i}: {noun} have shape {a.shape} and type {a.dtype}"
            many = ", or number the combinations" if a.dtype.kind in "iu" else ""
            faults.add(f"{got}: expected integers, one per step, or one-hot rows; {discretise}{many}")
    if len(faults) > before:
        return none
    labels, n = [a.reshape(-1).astype(np.int64) for a in arrays], getattr(space, "n", None)
    if not isinstance(n, int | np.integer):
        return labels, None
    start = int(getattr(space, "start", 0))
    labels = [a - start for a in labels]
    for i, a in enumerate(labels):
        if (wrong := np.flatnonzero((a < 0) | (a >= n))).size:
            got = f"episode {i}: {noun} hold {a[wrong[0]] + start} at step {some(wrong.tolist())}"
            faults.add(f"{got}: the space {space} has {start} to {start + n - 1}")
    return labels, tuple(map(str, range(start, start + int(n))))


def _flat(value: Any) -> bool:
    """Tell a tuple of numbers from a tuple of arrays."""
    return isinstance(value, tuple) and all(np.ndim(x) == 0 for x in value)


def _one_hot(array: np.ndarray) -> bool:
    """Tell rows with a single 1 among zeros."""
    if array.ndim != 2 or array.dtype.kind not in "iufb":
        return False
    return bool(((array == 0) | (array == 1)).all() and (array.sum(axis=1) == 1).all())


def _rewards(i: int, value: Any, n: int, faults: Faults) -> np.ndarray:
    """Read the rewards of one episode, one per action; NaN where none were recorded."""
    if value is None:
        return np.full(n, np.nan)
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.zeros(0, object)
    if array.shape != (n,) or array.dtype.kind not in "iufb":
        got = f"episode {i}: rewards have shape {array.shape} and type {array.dtype}"
        faults.add(f"{got}, but there are {counted(n, 'action')}: expected one number per action")
        return np.full(n, np.nan)
    return array.astype(float)


def _padded(values: np.ndarray, length: int, blank: float | int) -> np.ndarray:
    """Fill up to the number of steps."""
    return np.append(values, np.full(length - len(values), blank, values.dtype))
