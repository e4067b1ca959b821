"""The four moments in which a fit may have its peak, and what it holds in each."""

from collections.abc import Iterable

from swirl.estep import compiled
from swirl.estep.lanes import LANES
from swirl.memory.account import PARTS, Bytes, Moment, Prediction
from swirl.memory.sizes import Sizes
from swirl.rewards.gauge import _LARGEST_BLOCK

REAL = 8  # bytes of a number
# Python, JAX and their compilers at work: measured on a 5 × 5 gridworld, where nothing else counts.
BASELINE = {"values": 590e6, "policies": 450e6, "planned": 950e6, "shared": 580e6}
SWITCHING_NET = 150e6  # more, for compiling the network of switching="state-net"
# Programs and work space, measured on an H200 (up to 268 MB); what the driver takes is not in JAX's limit.
ON_GPU = 240e6


def of_sizes(sizes: Sizes) -> Prediction:
    """Take the moment that needs the most; on a GPU only E-step and M-step take place."""
    moments = [_e_step(sizes), _m_step(sizes)]
    if not sizes.on_gpu:
        moments += [*_reading(sizes), _afterwards(sizes)]
    return max(moments, key=lambda prediction: prediction.total)


def _held(s: Sizes, moment: Moment, **parts: Bytes) -> Prediction:
    whole = {part: round(parts.get(part, 0.0)) for part in PARTS}
    compiling = BASELINE[s.kind] + (SWITCHING_NET if s.switching == "state-net" else 0)
    whole["baseline"] = round(ON_GPU if s.on_gpu else compiling)
    return Prediction(**whole, moment=moment, sizes=s)


def _parameters(s: Sizes) -> Bytes:
    """What EM moves in the rewards, of all restarts."""
    if s.kind == "values":  # and, of a Cauchy prior, the sums of parts of shorter histories
        numbers = s.n_modes * (s.n_histories + (s.n_contexts if len(s.paths) > 1 else 0))
    elif s.kind == "shared":
        numbers = s.n_histories + s.n_modes * sum(s.paths[: s.goal_history])
    else:
        numbers = s.n_modes * s.n_histories * (s.n_actions if s.kind == "policies" else 1)
    return REAL * s.n_restarts * numbers


def _chain(s: Sizes) -> Bytes:
    """One table of emissions and one of switches, of all restarts; counts are as large."""
    return REAL * s.n_restarts * s.n_modes * (s.n_rows * s.n_actions + s.n_states * s.n_modes)


def _tables(s: Sizes) -> Bytes:
    """`Histories`, and what the reward component holds besides."""
    length = len(s.paths)
    lifted = s.n_histories * (8 * length + 12 * s.branches + s.n_actions + 40) + 60 * s.n_states * s.branches
    own = {
        "values": 8 * s.n_contexts * s.branches + 24 * s.n_histories,
        "policies": 0,
        "planned": REAL * s.n_histories * s.features,
        "shared": s.n_rows * (12 * s.branches + s.n_actions) + s.n_histories * (8 * length + 16),
    }
    return lifted + own[s.kind]


def _copied(s: Sizes) -> Bytes:
    """The copy that JAX makes of the tables that an M-step reads; on a GPU, all that is there of them."""
    if s.kind == "shared":
        return s.n_rows * (12 * s.branches + s.n_actions)
    if s.kind == "policies":
        return s.n_histories * s.n_actions
    if s.kind == "values":
        return s.n_contexts * (20 * s.branches + s.n_actions) + 24 * s.n_histories
    return s.n_histories * (12 * s.branches + s.n_actions + REAL * s.features)


def _reading(s: Sizes) -> Iterable[Prediction]:
    """First the tables are built, then the steps are encoded."""
    building = s.n_histories * (16 * s.branches + 16 * len(s.paths) + 30)
    yield _held(s, "reading", steps=33 * s.n_steps, histories=_tables(s) + building)
    yield _held(s, "reading", steps=147 * s.n_steps, histories=_tables(s))


def _e_step(s: Sizes) -> Prediction:
    if s.engine == "compiled":
        width = LANES if s.n_sessions >= LANES else 1
        entries = s.n_rows * s.n_actions * s.n_modes
        most = min(compiled.MOST_CHUNKS, s.n_sessions // width, max(1, compiled.LARGEST_TABLES // entries))
        jobs = max(1, min(s.n_steps // compiled.STEPS_PER_CHUNK, most))
        jobs += s.n_sessions > LANES and s.n_sessions % LANES > 0  # those that go alone
        messages = min(s.n_threads, s.n_restarts * jobs) * REAL * s.longest * width * (s.n_modes + 1)
        counts, tables = (5 + jobs) * _chain(s), _tables(s) + 3 * _parameters(s)
        return _held(s, "E-step", steps=44 * s.n_steps, messages=messages, counts=counts, histories=tables)
    # By XLA's own account of its buffers: pairs of modes at every step, and several copies of them.  On a GPU it
    # holds half of that: 207 numbers a step were measured for 8 modes.
    pairs = s.n_modes**2
    numbers = 2 * pairs + s.n_modes + 4 if s.engine == "scan" else 6.2 * pairs + 3 * s.n_modes + 5
    numbers /= 2 if s.on_gpu else 1
    steps = 8 * s.padded if s.on_gpu else 33 * s.n_steps + 16 * s.padded
    tables = _copied(s) + 3 * _parameters(s) + (0 if s.on_gpu else _tables(s))
    messages = REAL * s.n_restarts * s.padded * numbers
    return _held(s, "E-step", steps=steps, messages=messages, counts=4 * _chain(s), histories=tables)


def _m_step(s: Sizes) -> Prediction:
    """The factors are XLA's own account of the buffers of `iteration.improve_restarts`."""
    side_by_side, moves = s.n_restarts * s.n_modes, s.n_histories * s.branches
    switches = s.n_restarts * s.n_states * s.n_modes**2
    if s.kind == "values":
        vectors = (2 if len(s.paths) == 1 else 10) * s.n_histories
        at_once, each = (side_by_side, 10.6) if s.on_gpu else (s.n_modes, 14.5)  # `ValueRewards.one_at_a_time`
        numbers = at_once * (each * s.n_contexts * s.branches + vectors)
    elif s.kind == "policies":
        numbers = side_by_side * 2 * s.n_histories * s.n_actions
    elif s.kind == "planned":
        numbers = side_by_side * (22.5 * moves + s.n_histories * s.features)
    else:
        active = min(s.n_histories, s.n_rows * s.branches * len(s.paths))
        goals = min(sum(s.paths[: s.goal_history]), active)
        at_once = s.n_restarts if s.on_gpu else 1
        one = 11 * (active + s.n_modes * goals) + 2 * s.n_modes * s.n_rows * s.branches
        numbers = max(2 * side_by_side * active, at_once * one)
    if s.switching == "state":
        numbers += switches
    elif s.switching == "state-net":
        numbers += 5 * switches + 176 * s.n_restarts * (s.n_states + s.n_modes**2)
    steps = 8 * s.padded if s.on_gpu else 44 * s.n_steps
    tables = _copied(s) + 3 * _parameters(s) + (0 if s.on_gpu else _tables(s))
    return _held(s, "M-step", steps=steps, counts=3 * _chain(s), histories=tables, optimiser=REAL * numbers)


def _afterwards(s: Sizes) -> Prediction:
    """Policies of every history, and the canonical gauge where the default prior leaves it open."""
    tables = _tables(s) + _parameters(s) + 3 * REAL * s.n_modes * s.n_histories * s.n_actions
    if s.kind in ("values", "shared"):
        tables += (200 if s.n_branches == 1 else 160) * s.n_histories * s.branches
        if s.n_branches > 1 and len(s.paths) == 1 and s.n_states <= _LARGEST_BLOCK:
            # A dense null space; longer histories fall into parts of a few nodes.
            tables += REAL * s.n_states**2 * max(3 * (s.n_actions - 1), 5)
    return _held(s, "afterwards", steps=44 * s.n_steps, histories=tables)
