"""How much memory a fit may need, told before it starts: one that cannot end is refused at once, with advice.

The need is bounded from above by a sum: the recording, the messages of the E-step, the tables over histories, the
numbers of the M-step, and what Python and JAX hold themselves. Parts that are not held at the same moment are added
all the same, and everything but the last is multiplied by `SAFETY`. The bound was then set beside the measured peaks
of fits of many sizes (`benchmarks/memory.py`; docs/performance.md has the figures).
"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import jax
import numpy as np
from scipy import sparse

from swirl import system
from swirl.data.geometry import possible_moves
from swirl.data.mdp import MDP
from swirl.data.streamed import PART
from swirl.inference.engines import Engine
from swirl.inference.estep import numba_loop
from swirl.inference.estep.batching import LANES
from swirl.inference.first_steps import FINALISTS
from swirl.inference.messages import STEPS_PER_BATCH
from swirl.inference.quasi_newton import n_pairs
from swirl.rewards.component import ProblemSizes
from swirl.rewards.forms import RewardForm, resolve_form
from swirl.switching import Fixed
from swirl.system import cores
from swirl.text import amount, counted


@dataclass(frozen=True)
class Sizes(ProblemSizes):
    """What the need of a fit depends on."""

    n_sessions: int
    longest: int
    """Steps of the longest session."""
    form: RewardForm
    switching: str
    engine: Engine
    n_threads: int

    @property
    def padded(self) -> int:
        """Steps as `scan.pad` lays them out: to 64, among sessions whose lengths differ by up to four times."""
        bucket = self.longest if self.longest < 64 else -(-self.longest // 64) * 64
        alike = self.longest * self.n_sessions <= 1.5 * self.n_steps
        return self.n_sessions * bucket if alike else min(self.n_sessions * bucket, 2 * self.n_steps)


def count_paths(env: MDP, length: int) -> tuple[int, ...]:
    """Count the paths of 1, 2, …, `length` states through the environment, without making any of them.

    n_{l+1}(s) = Σ_{s' after s} n_l(s'), in floating point: exact up to 9·10¹⁵, and near enough beyond.

    >>> count_paths(MDP.deterministic([[0, 1], [1, 2], [2, 0]]), 4)
    (3, 6, 12, 24)
    """
    if length < 1:
        raise ValueError(f"history={length}: expected a whole number of states, at least 1 (1 is the Markov model)")
    n_states, moves = env.n_states, possible_moves(env)
    follows = sparse.csr_array((np.ones(len(moves)), tuple(moves.T)), shape=(n_states, n_states))
    paths, counts = np.ones(n_states), [n_states]
    for _ in range(1, length):
        paths = np.minimum(follows @ paths, 1e30)
        counts.append(round(float(paths.sum())))
    return tuple(counts)


PARTS = ("recording", "messages", "tables", "optimiser", "baseline")
REAL = 8  # bytes of a number
SAFETY = 1.25  # what is held in passing, and in copies that only the compilers know of
BASELINE = 900e6  # Python, JAX and their compilers at work, with all priors that a fit chooses among
ON_GPU = 270e6  # programs and work space on an H200; what the driver takes is not in JAX's limit
SWITCHING_NET = 150e6  # more, for compiling the network of switching="state-net"


@dataclass(frozen=True)
class Prediction:
    """Bytes that a fit holds at most, part by part."""

    recording: int
    """The sessions, and the same as numbers of histories, states and symbols."""
    messages: int
    """Forward messages and posteriors of the E-step."""
    tables: int
    """Tables over histories: where actions lead, policies, expected counts."""
    optimiser: int
    """What the M-step works with, or the gauge of r(h) afterwards."""
    baseline: int
    """Python, JAX and their compilers."""
    sizes: Sizes

    @property
    def total(self) -> int:
        """All parts together."""
        return sum(getattr(self, part) for part in PARTS)

    def to_text(self) -> str:
        """Say how much, and what for; parts below a twentieth are left out.

        >>> from swirl.data.mdp import MDP
        >>> from swirl.workflows.memory_bound import predict
        >>> ring = MDP.deterministic([[0, 1], [1, 2], [2, 0]])
        >>> needs = predict(ring, n_modes=2, history=2, n_steps=10**7, n_sessions=100, n_restarts=8, engine="scan")
        >>> needs.to_text()
        'up to 15 GB: 12 GB of messages for 10,000,000 steps × 2 modes × 8 restarts, 2.08 GB for ...'
        """
        s = self.sizes
        steps, modes, restarts = f"{s.n_steps:,} steps", counted(s.n_modes, "mode"), counted(s.n_restarts, "restart")
        histories = f"{s.n_histories:,} histories" if s.n_histories < 10**15 else f"{s.n_histories:.0e} histories"
        whose = f"{steps} × {modes} × {restarts}"
        if s.engine == "compiled":
            whose = f"{s.longest:,} steps × {modes}, in each of {counted(s.n_threads, 'thread')}"
        over = f"{histories} × {counted(s.n_actions, 'action')} × {modes}"
        of = {
            "recording": f"for the recording of {steps}",
            "messages": f"of messages for {whose}",
            "tables": f"of tables over {over} × {restarts}",
            "optimiser": f"for the M-step of {over}",
            "baseline": "for Python and JAX themselves",
        }
        parts = sorted(((getattr(self, part), part) for part in PARTS), reverse=True)
        told = [f"{amount(size)} {of[part]}" for size, part in parts if size >= 0.05 * self.total]
        return f"up to {amount(self.total)}: {', '.join(told)}"


def of_sizes(s: Sizes) -> Prediction:
    """Bound the memory of a fit of these sizes."""
    own, compiled = s.form.footprint(s), s.engine == "compiled"
    moves, switches = s.n_histories * s.branches, s.n_restarts * s.n_states * s.n_modes**2
    table = s.n_modes * (own.rows * s.n_actions + s.n_states * s.n_modes)  # of choices and switches, of one restart
    parts_of_data = min(numba_loop.MAX_CHUNKS, 1 + s.n_steps // numba_loop.STEPS_PER_CHUNK) if compiled else 0
    chunks = min(parts_of_data * table, numba_loop.MAX_TABLES)  # each is counted by itself
    working = own.numbers + (switches if s.switching == "state" else 0)
    if s.switching == "state-net":
        working += 5 * switches + 176 * s.n_restarts * (s.n_states + s.n_modes**2)
    numbers = s.n_restarts * s.n_modes * (max(own.rows * s.n_actions, s.n_histories) + s.n_states)  # that EM moves
    copies = 1 if s.on_gpu else 2  # of what quasi-Newton steps keep, while one is proposed
    working += (3 * copies * n_pairs(numbers) + 8) * numbers
    if compiled:
        messages = s.n_threads * s.longest * min(LANES, s.n_sessions) * (s.n_modes + 1)
    else:  # pairs of modes at every step, in several copies: XLA's own account of its buffers, half of it on a GPU
        pairs = (2 if s.engine == "scan" else 7) * s.n_modes**2
        messages = s.n_restarts * s.padded * (pairs + s.n_modes + 5) / (2 if s.on_gpu else 1)
        if s.on_gpu:  # kernels keep less, but sum each symbol and each state that occurs in 32 lanes
            symbols, states = min(own.rows * s.n_actions, s.n_steps), min(s.n_states, s.n_steps)
            messages += 32 * s.n_restarts * s.n_modes * (symbols + states * s.n_modes)
    # Afterwards each restart is decoded, sessions of like length together, to see which came to the same result.
    together = min(s.padded, max(s.longest, STEPS_PER_BATCH))
    decoding = 2 * together * (s.n_modes**2 + s.n_modes) + 2 * s.n_modes * s.n_steps
    lifted = 20 * moves if s.on_gpu else 60 * moves + s.n_histories * (16 * len(s.paths) + 80)  # where actions lead
    parts = {
        "recording": 24 * s.padded if s.on_gpu else 150 * s.n_steps + (0 if compiled else 16 * s.padded),
        "messages": REAL * max(messages, decoding),
        "tables": REAL * s.n_restarts * (6 * table + chunks) + lifted,
        "optimiser": REAL * working,
    }
    compiling = own.compiling + (SWITCHING_NET if s.switching == "state-net" else 0)
    baseline = ON_GPU if s.on_gpu else BASELINE + compiling
    return Prediction(**{name: round(SAFETY * size) for name, size in parts.items()}, baseline=round(baseline), sizes=s)


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
    """Bound the peak memory of ``SWIRL(env, …).fit(data, engine=engine)`` with the default priors.

    On a GPU it is the GPU's memory.

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
    >>> from swirl.data.mdp import MDP
    >>> ring = MDP.deterministic([[0, 1], [1, 2], [2, 0]])
    >>> predict(ring, n_modes=2, history=2, n_steps=10**6, n_sessions=20, n_restarts=8).total > 900e6
    True
    """
    fixed = isinstance(switching, Fixed) or switching == "fixed"
    on_gpu = jax.default_backend() != "cpu"
    if engine == "auto":  # as `engines.choose` will: tables that are given may hold zeros
        fast = "associative" if on_gpu else "compiled"
        engine = fast if not fixed and (on_gpu or numba_loop.available()) else "scan"
    return of_sizes(
        Sizes(
            n_states=env.n_states,
            n_actions=env.n_actions if n_actions is None else n_actions,
            n_branches=env.n_branches,
            paths=count_paths(env, history),
            n_modes=n_modes,
            n_restarts=min(n_restarts, FINALISTS),  # more than that race, so many at a time
            n_steps=n_steps,
            n_sessions=n_sessions,
            longest=max(-(-n_steps // max(n_sessions, 1)), longest or 0),
            form=resolve_form(reward),
            switching="fixed" if isinstance(switching, Fixed) else switching,
            engine=engine,
            on_gpu=on_gpu,
            n_threads=cores(),
        )
    )


SHARE = 0.9  # of what there is that a fit may take


def available(limits: Mapping[str, int] | None = None) -> int:
    """Bytes that this process can still get, on the GPU that JAX computes on or in this machine.

    Parameters
    ----------
    limits
        `system.memory_limits`, where they were already read: what is free changes from one reading to the next.

    Examples
    --------
    >>> available() > 0
    True
    """
    if jax.default_backend() != "cpu":
        stats = jax.devices()[0].memory_stats() or {}
        if "bytes_limit" in stats:
            return int(stats["bytes_limit"] - stats.get("bytes_in_use", 0))
    return min((system.memory_limits() if limits is None else limits).values(), default=sys.maxsize)


def check(prediction: Prediction, limit: int | None = None) -> None:
    """Raise a `ValueError` that says what would fit, where a fit may need more than 90 % of what there is.

    Parameters
    ----------
    limit
        Bytes; by default `available`, and what this process already holds of Python and JAX.

    Examples
    --------
    >>> from swirl.data.mdp import MDP
    >>> from swirl.workflows.memory_bound import predict
    >>> ring = MDP.deterministic([[0, 1], [1, 2], [2, 0]])
    >>> needs = predict(ring, n_modes=2, history=2, n_steps=10**7, n_sessions=100, n_restarts=8, engine="scan")
    >>> check(needs, limit=4 * 10**9)
    Traceback (most recent call last):
    ValueError: The fit may need up to 15 GB: 12 GB of messages ... There are 4 GB, of which it may ...
    """
    if limit is None:
        limit = available() + (0 if prediction.sizes.on_gpu else min(system.resident(), prediction.baseline))
    room = SHARE * limit
    if prediction.total <= room:
        return
    ways = list(_ways_out(prediction.sizes, room))
    raise ValueError(
        f"The fit may need {prediction.to_text()}. There are {amount(limit)}, of which it may take 90 %. "
        + (
            f"What would fit: {'; or '.join(ways)}."
            if ways
            else "No single change is enough: take fewer restarts at once, fewer modes, fewer sessions and a shorter "
            f"history together, or a machine with {amount(prediction.total / SHARE)} to spare."
        )
    )


def _ways_out(s: Sizes, room: float) -> Iterable[str]:
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
    if s.n_steps > PART:
        held = replace(s, n_steps=PART, n_sessions=max(-(-s.n_sessions * PART // s.n_steps), 1))
        kinds.append(
            ([held], "swirl fit --stream, in Python swirl.StreamedTrajectories, which hold a part at a time ({need})")
        )
    if s.engine == "compiled":
        cut = (replace(s, longest=n, n_sessions=-(-s.n_steps // n)) for n in _halves(s.longest))
        kinds.append((cut, "sessions of at most {longest} steps, cut by gaps= ({need})"))
    elif s.engine == "scan" and s.switching != "fixed" and not s.on_gpu:
        how = 'engine="auto"' if numba_loop.available() else "pip install 'swirl-irl[fast]'"
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


__all__ = ["Prediction", "Sizes", "amount", "available", "check", "count_paths", "predict"]
