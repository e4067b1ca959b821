"""Whether a fit has room here, and what would have."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace

import jax

from swirl import machine
from swirl.estep import compiled
from swirl.machine import amount
from swirl.memory.account import Bytes, Prediction
from swirl.memory.moments import of_sizes
from swirl.memory.sizes import Sizes

SHARE = 0.9  # of what there is that a fit may take


def available(rooms: Mapping[str, int] | None = None) -> int:
    """Bytes that this process can still get, on the GPU that JAX computes on or in this machine.

    Parameters
    ----------
    rooms
        `machine.rooms`, where they were already read: what is free changes from one reading to the next.

    Examples
    --------
    >>> available() > 0
    True
    """
    if jax.default_backend() != "cpu":
        stats = jax.devices()[0].memory_stats() or {}
        if "bytes_limit" in stats:
            return int(stats["bytes_limit"] - stats.get("bytes_in_use", 0))
    return min((machine.rooms() if rooms is None else rooms).values(), default=sys.maxsize)


def check(prediction: Prediction, limit: int | None = None) -> None:
    """Raise a `ValueError` that says what would fit, where a fit would need more than 90 % of what there is.

    Parameters
    ----------
    limit
        Bytes; by default `available`, and what this process already holds of Python and JAX.

    Examples
    --------
    >>> from swirl.mdp import MDP
    >>> from swirl.memory import predict
    >>> ring = MDP.deterministic([[0, 1], [1, 2], [2, 0]])
    >>> needs = predict(ring, n_modes=2, history=2, n_steps=10**7, n_sessions=100, n_restarts=8, engine="scan")
    >>> check(needs, limit=4 * 10**9)
    Traceback (most recent call last):
    ValueError: The fit would need about 10 GB: 8.96 GB of messages ... There are 4 GB, of which it may ...
    """
    if limit is None:
        limit = available() + (0 if prediction.sizes.on_gpu else min(machine.resident(), prediction.baseline))
    room = SHARE * limit
    if prediction.total <= room:
        return
    ways = list(_ways_out(prediction.sizes, room))
    raise ValueError(
        f"The fit would need {prediction.worded()}. There are {amount(limit)}, of which it may take 90 %. "
        + (
            f"What would fit: {'; or '.join(ways)}."
            if ways
            else "No single change is enough: take fewer restarts at once, fewer modes, fewer sessions and a shorter "
            f"history together, or a machine with {amount(prediction.total / SHARE)} to spare."
        )
    )


def _ways_out(s: Sizes, room: Bytes) -> Iterable[str]:
    """Single changes after which a fit has room, each the mildest of its kind."""
    again = "; more of them by fitting again with another random_state, keeping the best objective"
    kinds: list[tuple[Iterable[Sizes], str]] = [
        ((replace(s, n_restarts=n) for n in _halves(s.n_restarts)), "n_restarts={n_restarts} ({need}" + again + ")"),
        ((replace(s, paths=s.paths[:n]) for n in range(len(s.paths) - 1, 0, -1)), "history={length} ({need})"),
        ((replace(s, n_modes=n) for n in _fewer(s.n_modes)), "n_modes={n_modes} ({need})"),
        (
            (replace(s, n_sessions=n, n_steps=-(-s.n_steps * n // s.n_sessions)) for n in _halves(s.n_sessions)),
            "{n_sessions} of the {all} sessions ({need})",
        ),
    ]
    if s.engine == "compiled":
        cut = (replace(s, longest=n, n_sessions=-(-s.n_steps // n)) for n in _halves(s.longest))
        kinds.append((cut, "sessions of at most {longest} steps, cut by gaps= ({need})"))
    elif s.engine == "scan" and s.switching != "fixed" and not s.on_gpu:
        how = 'engine="auto"' if compiled.available() else "pip install 'swirl-irl[fast]'"
        kinds.append(([replace(s, engine="compiled")], how + ", whose E-step keeps less ({need})"))
    for candidates, words in kinds:
        fit = next((candidate for candidate in candidates if of_sizes(candidate).total <= room), None)
        if fit is not None:
            yield words.format(
                n_restarts=fit.n_restarts,
                length=len(fit.paths),
                n_modes=fit.n_modes,
                n_sessions=f"{fit.n_sessions:,}",
                all=f"{s.n_sessions:,}",
                longest=f"{fit.longest:,}",
                need=amount(of_sizes(fit).total),
            )


def _fewer(n: int) -> Iterable[int]:
    """n − 1, n − 2, …, 1; a number that no one can mean is halved first."""
    return range(n - 1, 0, -1) if n <= 100 else [*_halves(n)[:-6], *range(100, 0, -1)]


def _halves(n: int) -> list[int]:
    """n / 2, n / 4, …, 1."""
    return [n >> k for k in range(1, n.bit_length())]
