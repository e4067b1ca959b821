"""What the models of continuous recordings share: reading a signal, one table of switching for all steps."""

from typing import Any

import numpy as np
from jaxtyping import Float

from swirl.data.encoding import Encoded
from swirl.data.trajectories import Trajectories
from swirl.text import some


def read_signal(
    data: Trajectories, name: str, n_channels: int | None = None
) -> tuple[Encoded, Float[np.ndarray, "step channel"]]:
    """A signal of all sessions end to end, and where its chains begin.

    Parameters
    ----------
    name
        Which of `data.signals`.
    n_channels
        How many channels a fitted model expects.

    Examples
    --------
    >>> encoded, values = read_signal(Trajectories.from_signals({"x": [[0.0, 1.0], [2.0]]}), "x")
    >>> encoded.chains.tolist(), values.ravel().tolist()
    ([0, 2, 3], [0.0, 1.0, 2.0])
    """
    known = data.signals or {}
    if name not in known:
        there = some([repr(other) for other in known]) if known else "no signals"
        raise ValueError(
            f"signal={name!r}: the data have {there}; build them as "
            f"swirl.Trajectories.from_signals({{{name!r}: [one array (T, d) per session]}})"
        )
    values = np.concatenate([np.asarray(x, dtype=float).reshape(len(x), -1) for x in known[name]])
    if n_channels is not None and values.shape[1] != n_channels:
        raise ValueError(f"signal={name!r} has {values.shape[1]} channels: the model was fitted to {n_channels}")
    if np.isinf(values).any():
        step = int(np.flatnonzero(np.isinf(values).any(axis=1))[0])
        flat = data.flat()
        where = data.where(int(flat.sessions[step]), int(flat.steps[step]))
        raise ValueError(f"signal={name!r} is infinite at {where}: use NaN where nothing was seen")
    flat = data.flat()
    nothing = np.zeros(len(values), dtype=np.int32)
    sessions = np.concatenate([[0], np.cumsum(data.lengths)]).astype(np.int64)
    chains = np.append(np.flatnonzero(flat.starts), len(values))
    # Where an action leads is not known here, so a missing one stays without evidence.
    return Encoded(nothing, nothing, flat.actions.astype(np.int32), chains, sessions, nothing - 1), values


def check_switching(switching: Any) -> None:
    """Refuse switching that depends on a labelled state, where there is none."""
    if isinstance(switching, str) and switching not in ("independent", "fixed"):
        raise ValueError(
            f"switching={switching!r}: a continuous recording has no labelled states for it to depend on; use "
            "'independent', 'fixed' or switching.Fixed(table)"
        )
