"""The environment P(s'|s,a) as successor tables, the available actions, and the check of data against it."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.successors import Successors
from swirl.data.trajectories import Flat, Trajectories, common_names
from swirl.data.trajectory_checks import MISSING
from swirl.errors import Faults, checked_names
from swirl.text import counted, html_of, some, table_of

_CANNOT = "The MDP cannot be built"
SHOWN = 5  # places that a notebook shows
_TOLERANCE = 1e-6  # how far a row's sum may lie from one: float32 tables pass, wrong ones do not

Impossible = Literal["error", "gap", "forget"]


class Estimate(NamedTuple):
    """How an environment was estimated: what it does not know of is not ruled out, it was only not seen."""

    n_sessions: int
    """Sessions that it was estimated from."""
    with_actions: bool
    """Whether their actions were known (`MDP.estimate`), or states alone (`observed_moves`)."""
    smoothing: float
    known: Bool[np.ndarray, "state"]
    """States of which the sessions show what can be done there."""


class MDP:
    """States, actions, and where each action leads.

    Parameters
    ----------
    transitions
        P(s' | s, a), array of shape [state, action, next state]; each row sums to one.
    available
        Boolean [state, action]; False = the action does not exist there. It is masked out of every softmax,
        its row is ignored, and observing it is a fault.
    state_names, action_names
        One name per label.
    coordinates
        [state, 2]: where each state is drawn.

    Attributes
    ----------
    successors
        Tables `next` and `probability` [state, action, branch], branches in the order of states. An unused
        branch has probability 0 and points to the state itself; an unavailable action stays, in branch 0.
    available, n_states, n_actions, n_branches, state_names, action_names, coordinates
    estimated
        How it was estimated from sessions (`Estimate`); None where it was given.

    Examples
    --------
    Two rooms; action 0 stays, action 1 usually changes room:

    >>> env = MDP([[[1, 0], [0.1, 0.9]], [[0, 1], [0.9, 0.1]]], action_names=["stay", "go"])
    >>> env
    MDP(2 states, 2 actions, up to 2 successors)
    >>> env.successors.probability[0]
    array([[1. , 0. ],
           [0.1, 0.9]])
    """

    successors: Successors
    state_names: tuple[str, ...] | None
    action_names: tuple[str, ...] | None
    coordinates: Float[np.ndarray, "state 2"] | None
    estimated: Estimate | None = None

    def __init__(
        self,
        transitions: Any,
        *,
        available: Any = None,
        state_names: Any = None,
        action_names: Any = None,
        coordinates: Any = None,
    ) -> None:
        faults = Faults()
        dense = _array("transitions", transitions, "[state, action, next state]", faults)
        if dense.ndim != 3 or dense.shape[0] != dense.shape[2] or not dense.size:
            got = f"transitions has shape {dense.shape}"
            faults.add(f"{got}: expected [state, action, next state], the first and last of equal size")
            faults.raise_if_any(_CANNOT)
        mask = _mask(available, dense.shape[:2], faults)
        state, action, next_state = np.nonzero((dense != 0) & mask[:, :, None])
        probability = dense[state, action, next_state]
        flat = (state, action, next_state, probability)
        self._fill("transitions", flat, mask, state_names, action_names, coordinates, faults)

    @classmethod
    def deterministic(
        cls,
        next_state: Any,
        *,
        available: Any = None,
        state_names: Any = None,
        action_names: Any = None,
        coordinates: Any = None,
    ) -> "MDP":
        """Build from the one state to which each action leads, [state, action]; −1 = not available.

        >>> MDP.deterministic([[0, 1], [0, -1]]).available
        array([[ True,  True],
               [ True, False]])
        """
        faults = Faults()
        table = _integers("next_state", next_state, "[state, action]", 2, faults)
        mask = _mask(available, table.shape, faults) & (table != -1)
        state, action = np.nonzero(mask)
        flat = (state, action, table[mask], np.ones(len(state)))
        return _empty(cls)._fill("next_state", flat, mask, state_names, action_names, coordinates, faults)

    @classmethod
    def from_successors(
        cls,
        next: Any,
        probability: Any = None,
        *,
        available: Any = None,
        state_names: Any = None,
        action_names: Any = None,
        coordinates: Any = None,
    ) -> "MDP":
        """Build from tables [state, action, branch]; without `probability` the branches are equally likely.

        >>> MDP.from_successors([[[0, 1]], [[1, 1]]]).dense()[:, 0]
        array([[0.5, 0.5],
               [0. , 1. ]])
        """
        faults = Faults()
        table = _integers("next", next, "[state, action, branch]", 3, faults)
        weights = np.full(table.shape, 1 / table.shape[2])
        if probability is not None:
            weights = _array("probability", probability, "[state, action, branch]", faults)
        if weights.shape != table.shape:
            faults.add(f"probability has shape {weights.shape}, but next has {table.shape}: give one per branch")
            faults.raise_if_any(_CANNOT)
        mask = _mask(available, table.shape[:2], faults)
        state, action, branch = np.nonzero((weights != 0) & mask[:, :, None])
        flat = (state, action, table[state, action, branch], weights[state, action, branch])
        return _empty(cls)._fill("probability", flat, mask, state_names, action_names, coordinates, faults)

    @classmethod
    def from_gymnasium(cls, env: Any, *, state_names: Any = None, action_names: Any = None) -> "MDP":
        """Build from a Gymnasium environment that tells its transitions, as those of toy text do (``env.unwrapped.P``).

        ``P[state][action]`` lists (probability, next state, …). What is not told, such as the time limit, is left out.

        >>> class Coin:
        ...     P = {0: {0: [(0.5, 0, 0.0, False), (0.5, 1, 0.0, True)]}, 1: {0: [(1.0, 1, 0.0, True)]}}
        >>> MDP.from_gymnasium(Coin()).dense()[:, 0]
        array([[0.5, 0.5],
               [0. , 1. ]])
        """
        told: Any = getattr(getattr(env, "unwrapped", env), "P", None)
        listed = isinstance(told, Mapping) or (isinstance(told, Sequence) and not isinstance(told, str))
        if not listed or len(told) == 0:
            raise ValueError(
                f"env is {type(env).__name__}: expected an environment that tells its transitions (env.unwrapped.P), "
                "as FrozenLake, CliffWalking and Taxi do; build others with MDP(transitions), or count moves with "
                "MDP.estimate"
            )
        faults, rows = Faults(), dict(told) if isinstance(told, Mapping) else dict(enumerate(told))
        n_actions = max(len(own) for own in rows.values())
        full = np.zeros((len(rows), n_actions, len(rows)))
        for state, action in product(range(len(rows)), range(n_actions)):
            for share, end, *_ in rows[state][action]:
                if not 0 <= int(end) < len(rows):
                    faults.add(f"P[{state}][{action}] leads to state {end}, but there are {len(rows)}")
                else:
                    full[state, action, int(end)] += float(share)
        faults.raise_if_any(_CANNOT)
        return cls(full, state_names=state_names, action_names=action_names)

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[Any],
        *,
        n_states: Any = None,
        n_actions: Any = None,
        state_names: Any = None,
        action_names: Any = None,
        coordinates: Any = None,
    ) -> "MDP":
        """Build from (state, action, next_state) or (state, action, next_state, p) for each possible move.

        A (state, action) without an edge is not available.  Repeated edges with p add up.

        >>> env = MDP.from_edges([(0, 0, 0), (0, 1, 1), (1, 0, 0, 0.5), (1, 0, 1, 0.5)])
        >>> env.available
        array([[ True,  True],
               [ True, False]])
        """
        faults = Faults()
        rows = [tuple(edge) for edge in edges]
        wrong = [i for i, row in enumerate(rows) if len(row) not in (3, 4)]
        if wrong or not rows:
            got = f"edges {some(wrong)} have other lengths" if rows else "edges is empty"
            faults.add(f"{got}: give (state, action, next_state) or (state, action, next_state, p) each")
            faults.raise_if_any(_CANNOT)
        # Without p the edge is the only one of its (state, action): repeating it is no contradiction.
        rows = list(dict.fromkeys(row for row in rows if len(row) == 3)) + [row for row in rows if len(row) == 4]
        labels = _array("edges", [row[:3] for row in rows], "of labels", faults)
        if not np.isfinite(labels).all() or (labels != np.floor(labels)).any() or (labels < 0).any():
            bad = np.flatnonzero(
                ~np.isfinite(labels).all(1) | (labels != np.floor(labels)).any(1) | (labels < 0).any(1)
            )
            faults.add(f"edges hold {some([rows[i] for i in bad])}: states and actions are integers 0, 1, 2, …")
            faults.raise_if_any(_CANNOT)
        state, action, next_state = labels.astype(np.int64).T
        probability = _array("p", [row[3] if len(row) == 4 else 1.0 for row in rows], "of numbers", faults)
        shape = (
            _size("state", int(max(state.max(), next_state.max())) + 1, n_states, state_names, faults),
            _size("action", int(action.max()) + 1, n_actions, action_names, faults),
        )
        faults.raise_if_any(_CANNOT)
        bare = np.array([len(row) == 3 for row in rows])
        pair = state * shape[1] + action
        several = np.unique(pair[bare & (np.bincount(pair)[pair] > 1)])
        for s, a in zip(*np.divmod(several, shape[1]), strict=True):
            leads = some(next_state[pair == s * shape[1] + a].tolist())
            faults.add(f"edges: state {s}, action {a} leads to {leads}, without p: add p to each edge")
        faults.raise_if_any(_CANNOT)
        mask = np.zeros(shape, bool)
        mask[state, action] = True
        flat = (state, action, next_state, probability)
        return _empty(cls)._fill("edges", flat, mask, state_names, action_names, coordinates, faults)

    @classmethod
    def estimate(
        cls,
        data: Any,
        smoothing: float | int = 0.0,
        *,
        n_states: int | None = None,
        n_actions: int | None = None,
        state_names: Any = None,
        action_names: Any = None,
        coordinates: Any = None,
    ) -> "MDP":
        """Estimate P(s'|s,a) from the transitions within segments whose action is known.

        P(s'|s,a) = (n(s,a,s') + smoothing) / Σ over *observed* successors: smoothing never opens a way that
        was not taken.  An action never chosen in s is not available there.  Where nothing is known of the
        successor, the tables stay in place: an action chosen only at the end of segments is available and
        stays, and so does action 0 of a state in which no action was seen.

        Estimate from the sessions that are fitted: moves that only other sessions show follow the model's `impossible`,
        for an estimate a gap where nothing else is said, and are not scored (`unseen_steps` has them).  Where sessions
        are held out to score a model, `compare`, `choose` and `choose_model` estimate anew from the others.

        `data` may also be `StreamedTrajectories`, or any parts that are read one after the other; `n_states` and
        `n_actions` are at least those of the data.

        >>> data = Trajectories([[0, 1, 0, 0]], [[1, 0, 1]])
        >>> MDP.estimate(data).dense()[0, 1], MDP.estimate(data).available[0]
        (array([0.5, 0.5]), array([False,  True]))
        >>> MDP.estimate(data)
        MDP(2 states, 2 actions, up to 2 successors, 2 of 4 (state, action) not available, estimated from 1 session)
        """
        faults = Faults()
        if not 0 <= smoothing < np.inf:
            faults.add(f"smoothing={smoothing}: give a number of pseudo-counts ≥ 0")
        moved, chosen, own_names, n_sessions = [], [], [], 0
        n_states, n_actions = n_states or 0, n_actions or 0
        for part in [data] if isinstance(data, Trajectories) or not isinstance(data, Iterable) else data:
            if not isinstance(part, Trajectories):
                raise ValueError(
                    f"data is {type(data).__name__}: expected swirl.Trajectories(states, actions), one array per "
                    "session"
                )
            n_states, n_actions = max(n_states, part.n_states), max(n_actions, part.n_actions)
            own_names.append((part.state_names, part.action_names))
            n_sessions += len(part)
            flat = part.flat()
            here = np.flatnonzero(~flat.starts[1:] & (flat.actions[:-1] != MISSING))
            pair = flat.states * part.n_actions + flat.actions
            key, count = np.unique(pair[here] * part.n_states + flat.states[here + 1], return_counts=True)
            from_pair, to = np.divmod(key, part.n_states)
            moved.append(np.stack([*np.divmod(from_pair, part.n_actions), to, count]))
            chosen.append(np.stack(np.divmod(np.unique(pair[flat.actions != MISSING]), part.n_actions)))
        state, action, to, count = np.concatenate(moved, axis=1) if moved else np.zeros((4, 0), dtype=np.int64)
        if not state.size:
            faults.add("data holds no transition with a known action within a segment: nothing to estimate from")
        faults.raise_if_any(_CANNOT)
        key, place = np.unique((state * n_actions + action) * n_states + to, return_inverse=True)
        weight = np.bincount(place, weights=count) + smoothing
        observed, next_state = np.divmod(key, n_states)
        probability = weight / np.bincount(observed, weights=weight)[observed]

        mask = np.zeros((n_states, n_actions), bool)
        mask[*np.concatenate(chosen, axis=1)] = True
        known = mask.any(axis=1)
        mask[~known, 0] = True
        unknown = np.setdiff1d(np.flatnonzero(mask), observed)
        pairs = np.concatenate([observed, unknown])
        tables = (
            pairs // n_actions,
            pairs % n_actions,
            np.concatenate([next_state, unknown // n_actions]),
            np.concatenate([probability, np.ones(len(unknown))]),
        )
        of_states, of_actions = common_names(own_names)
        state_names = of_states if state_names is None else state_names
        action_names = of_actions if action_names is None else action_names
        made = _empty(cls)._fill("data", tables, mask, state_names, action_names, coordinates, faults)
        made.estimated = Estimate(n_sessions, True, float(smoothing), np.asarray(known))
        return made

    def _fill(
        self,
        argument: str,
        flat: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
        mask: np.ndarray,
        state_names: Any,
        action_names: Any,
        coordinates: Any,
        faults: Faults,
    ) -> "MDP":
        """Check the moves (state, action, next_state, p) of the available actions and lay out the tables."""
        (n_states, n_actions), (state, action, next_state, probability) = mask.shape, flat
        self.state_names = checked_names("state_names", state_names, faults)
        self.action_names = checked_names("action_names", action_names, faults)
        for noun, names, n in (
            ("state", self.state_names, n_states),
            ("action", self.action_names, n_actions),
        ):
            if names is not None and len(names) != n:
                faults.add(f"{noun}_names has {len(names)} names, but there are {n} {noun}s: give one each")
        self.coordinates = None
        if coordinates is not None:
            self.coordinates = _array("coordinates", coordinates, "[state, 2]", faults)
            if self.coordinates.shape != (n_states, 2):
                faults.add(f"coordinates has shape {self.coordinates.shape}: expected ({n_states}, 2)")
        idle = np.flatnonzero(~mask.any(1))
        if idle.size:
            faults.add(
                f"states {some(idle.tolist())} have no available action: give each at least one (a resting "
                "state has an action that stays)"
            )
        outside = (next_state < 0) | (next_state >= n_states)
        for wrong, what in (
            (outside, f"leads to a state that is not 0 to {n_states - 1}"),
            (~np.isfinite(probability), "has a probability that is NaN or infinite"),
            (probability < 0, "has a negative probability"),
        ):
            for s, a in sorted(set(zip(state[wrong].tolist(), action[wrong].tolist(), strict=True))):
                faults.add(f"{argument}: state {s}, action {a} {what}: correct it")
        good = ~outside & (probability > 0)
        spoilt = np.zeros(mask.size, bool)
        spoilt[(state * n_actions + action)[outside | ~(probability >= 0) | np.isinf(probability)]] = True
        key = ((state * n_actions + action) * n_states + next_state)[good]
        key, inverse = np.unique(key, return_inverse=True)
        merged = np.bincount(inverse, weights=probability[good], minlength=len(key))
        pair, next_state = np.divmod(key, n_states)
        total = np.bincount(pair, weights=merged, minlength=mask.size)
        # A wrong entry spoils its sum too; it is told once.
        for p in np.flatnonzero(mask.ravel() & ~spoilt & (np.abs(total - 1) > _TOLERANCE)):
            faults.add(
                f"{argument}: the probabilities of state {p // n_actions}, action {p % n_actions} sum to "
                f"{total[p]:.8g}, not to 1: correct the row, or mark the action as not available there"
            )
        faults.raise_if_any(_CANNOT)
        count = np.bincount(pair, minlength=mask.size)
        # Dividing only beyond rounding error leaves tables that were laid out before bit for bit alike.
        off = np.abs(total - 1) > count * np.finfo(float).eps
        merged = np.where(off[pair], merged / total[pair], merged)
        branch = np.arange(len(pair)) - (np.cumsum(count) - count)[pair]
        shape = (n_states, n_actions, max(int(count.max()), 1))
        table = np.broadcast_to(np.arange(n_states, dtype=np.int32)[:, None, None], shape).copy()
        weights = np.zeros(shape)
        table.reshape(-1, shape[2])[pair, branch] = next_state
        weights.reshape(-1, shape[2])[pair, branch] = merged
        weights[~mask, 0] = 1.0
        for array in (table, weights, mask, self.coordinates):
            if array is not None:
                array.setflags(write=False)
        self.successors = Successors(table, weights, mask)
        return self

    @property
    def available(self) -> Bool[np.ndarray, "state action"]:
        """Whether each action exists in each state."""
        return np.asarray(self.successors.available)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return self.successors.n_nodes

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return self.successors.n_actions

    @property
    def n_branches(self) -> int:
        """Largest number of successors of one action."""
        return self.successors.n_branches

    @property
    def is_deterministic(self) -> bool:
        """Whether every action leads to one state."""
        return self.n_branches == 1

    def __repr__(self) -> str:
        leads = "deterministic" if self.is_deterministic else f"up to {self.n_branches} successors"
        masked = int((~self.available).sum())
        note = f", {masked:,} of {self.available.size:,} (state, action) not available" if masked else ""
        how = f", estimated from {counted(self.estimated.n_sessions, 'session')}" if self.estimated else ""
        return f"MDP({counted(self.n_states, 'state')}, {counted(self.n_actions, 'action')}, {leads}{note}{how})"

    def _repr_html_(self) -> str:
        """What a notebook shows: where each action leads from the first places."""
        named, actions = self.state_names or range(self.n_states), self.action_names or range(self.n_actions)
        tables, rows = self.successors, []
        for state in range(min(self.n_states, SHOWN)):
            leads = {}
            for action in range(self.n_actions):
                reached = tables.next[state, action][tables.probability[state, action] > 0]
                known = bool(self.available[state, action])
                leads[str(actions[action])] = (
                    some([named[int(end)] for end in reached], 3) if known else "not available"
                )
            rows.append({"state": str(named[state]), **leads})
        more = [f"… and {counted(self.n_states - SHOWN, 'state')} more"] if self.n_states > SHOWN else []
        return html_of("\n".join([repr(self), table_of(rows), *more]))

    def dense(self) -> Float[np.ndarray, "state action state"]:
        """P(s' | s, a) as a full array; an unavailable action stays in place.

        >>> MDP.deterministic([[1], [0]]).dense()[:, 0]
        array([[0., 1.],
               [1., 0.]])
        """
        tables = self.successors
        full = np.zeros((self.n_states, self.n_actions, self.n_states))
        state, action, _ = np.indices(tables.next.shape, sparse=True)
        np.add.at(full, (state, action, tables.next), tables.probability)
        return full

    def action_classes(self) -> Int[np.ndarray, "state action"]:
        """For each action the first available one with the same successors (an unavailable one: itself).

        >>> MDP.deterministic([[0, 1, 0], [1, 1, 0]]).action_classes()
        array([[0, 1, 0],
               [0, 0, 2]])
        """
        tables, own = self.successors, np.arange(self.n_actions)
        state = np.broadcast_to(np.arange(self.n_states)[:, None, None], (*self.available.shape, 1))
        # Unavailable actions get a column of their own, so that they equal nothing else.
        apart = np.where(self.available, -1, own)[..., None]
        rows = np.concatenate([state, apart, tables.next, np.round(tables.probability, 12)], axis=-1)
        _, first, inverse = np.unique(
            rows.reshape(self.available.size, -1), axis=0, return_index=True, return_inverse=True
        )
        return (first[inverse.ravel()] % self.n_actions).reshape(self.available.shape)

    def impossible_transitions(self, data: Trajectories) -> list[Int[np.ndarray, " found"]]:
        """Per session, the steps t whose move t → t+1 has probability 0 within one segment.

        A missing action is taken to be any available one.  A step whose action is not available is not among
        them: `check` names it as a fault of its own; but in an estimate such an action was only not seen, and it is.
        (`data.with_gaps` takes the steps t+1.)

        >>> env = MDP.deterministic([[0, 1], [0, 1], [2, 2]])
        >>> env.impossible_transitions(Trajectories([[0, 1, 2, 2]], [[1, 0, 1]]))
        [array([1])]
        """
        faults, flat = Faults(), data.flat()
        self._out_of_range(data, flat, faults)
        faults.raise_if_any("The data do not fit the environment")
        found = self._impossible(flat)
        edges = np.searchsorted(flat.sessions[found], np.arange(1, len(data)))
        return np.split(flat.steps[found], edges)

    def unseen_actions(self, data: Trajectories) -> Bool[np.ndarray, "step"]:
        """Of all steps end to end, those whose action an estimate has not seen there; none where it was given.

        >>> seen = Trajectories([[0, 1, 0]], [[1, 0]])
        >>> MDP.estimate(seen).unseen_actions(Trajectories([[0, 1, 0]], [[1, 1]])).tolist()
        [False, True, False]
        """
        flat = data.flat()
        if self.estimated is None:
            return np.zeros(len(flat.states), bool)
        return (flat.actions != MISSING) & ~(self.available & self.estimated.known[:, None])[flat.states, flat.actions]

    def unseen_steps(self, data: Trajectories) -> int:
        """Number of steps of `data` that an estimate knows nothing of: the action, or where it leads, was not seen.

        >>> seen = Trajectories([[0, 1, 0]], [[1, 0]])
        >>> MDP.estimate(seen).unseen_steps(Trajectories([[0, 1, 0, 0]], [[1, 1, 1]]))
        2
        """
        if self.estimated is None:
            return 0
        flat = data.flat()
        unseen = self.unseen_actions(data)
        unseen[self._impossible(flat)] = True
        return int(unseen.sum())

    @property
    def default_impossible(self) -> Impossible:
        """What a move means that is not in this environment, where nothing is said: a gap, or for a given one an error.

        >>> MDP.deterministic([[1], [0]]).default_impossible
        'error'
        """
        return "error" if self.estimated is None else "gap"

    def check(self, data: Trajectories, impossible: str | None = None) -> None:
        """Raise one `ValueError` with everything in `data` that cannot happen in this environment.

        Parameters
        ----------
        impossible
            "error": an impossible transition is a fault; "gap" and "forget": the model deals with it.  None: a gap
            where the environment was estimated, an error where it was given.

        Examples
        --------
        >>> env = MDP.deterministic([[0, 1], [0, 1], [2, 2]])
        >>> env.check(Trajectories([[0, 1, 0]], [[1, 0]]))
        >>> env.check(Trajectories([[0, 1, 2]], [[1, 0]]))
        Traceback (most recent call last):
        ValueError: The data do not fit the environment: 1 fault.
          1. 1 impossible transition: session 0, step 1: state 1, action 0 → state 2 (it leads to 0). ...
        """
        impossible = self.default_impossible if impossible is None else impossible
        if impossible not in ("error", "gap", "forget"):
            raise ValueError(f'impossible={impossible!r}: give "error", "gap" or "forget"')
        faults, flat = Faults(), data.flat()
        for noun, own, theirs in (
            ("state", self.state_names, data.state_names),
            ("action", self.action_names, data.action_names),
        ):
            if own and theirs and own[: len(theirs)] != theirs:
                label = next(i for i, name in enumerate(theirs) if own[i : i + 1] != (name,))
                here = own[label] if label < len(own) else "nothing"
                faults.add(
                    f"{noun}_names differ: {noun} {label} is {theirs[label]!r} in the data and {here!r} in the "
                    f"environment. Give the data the environment's names in its order: {noun}_names=env.{noun}_names"
                )
        self._out_of_range(data, flat, faults)
        known = (flat.actions != MISSING) & (flat.actions < self.n_actions) & (flat.states < self.n_states)
        taken = np.flatnonzero(known)
        taken = taken[~self.available[flat.states[taken], flat.actions[taken]]]
        if taken.size and (self.estimated is None or impossible == "error"):
            places = [f"{self._move(flat, t)} at {_place(data, flat, t)}" for t in taken[:5].tolist()]
            faults.add(
                f"{counted(len(taken), 'action')} observed where not available: {_first(places, taken)}. "
                "Correct the data, write −1 (missing), or make the action available (an environment that was "
                'estimated knows only the actions it saw: leave impossible="error" out, and they are gaps)'
            )
        found = self._impossible(flat) if impossible == "error" else np.zeros(0, np.int64)
        found = np.setdiff1d(found, taken)  # named above
        if found.size:
            stays = int((flat.states[found] == flat.states[found + 1]).sum())
            mostly = 2 * stays > len(found)
            places = [
                f"{_place(data, flat, t)}: {self._explain(flat, t)}" for t in found[: 1 if mostly else 5].tolist()
            ]
            merge = (
                f"In {'all' if stays == len(found) else f'{stays:,}'} of them the animal stays where it is, for which "
                "the environment has no action: merge rows that repeat a state (swirl import table … --merge), or "
                "add an action that stays (for a grid: swirl env grid … --stay). For what is left: "
            )
            correct = "correct" if mostly else "Correct"
            faults.add(
                f"{counted(len(found), 'impossible transition')}: {_first(places, found)}. {merge if mostly else ''}"
                f'{correct} the data or the environment; or give impossible="gap" (--impossible gap; a new segment '
                'starts there: history and mode chain restart) or impossible="forget" (--impossible forget; the '
                "history restarts, the mode chain continues)"
            )
        faults.raise_if_any("The data do not fit the environment")

    def _out_of_range(self, data: Trajectories, flat: Flat, faults: Faults) -> None:
        """Note labels that the environment does not have."""
        for noun, labels, n in (
            ("state", flat.states, self.n_states),
            ("action", flat.actions, self.n_actions),
        ):
            wrong = np.flatnonzero(labels >= n)
            if wrong.size:
                places = [f"{noun} {labels[t]} at {_place(data, flat, t)}" for t in wrong[:5].tolist()]
                faults.add(
                    f"{noun}s out of range: {_first(places, wrong)}. The environment has 0 to {n - 1}: "
                    "relabel the data or enlarge the environment"
                )

    def _impossible(self, flat: Flat) -> Int[np.ndarray, " found"]:
        """Positions t in `flat` of impossible moves t → t+1; labels out of range are passed over."""
        here = np.flatnonzero(~flat.starts[1:])
        inside = (flat.states < self.n_states) & (flat.actions < self.n_actions)
        here = here[inside[here] & (flat.states[here + 1] < self.n_states)]
        state, action, next_state = flat.states[here], flat.actions[here], flat.states[here + 1]
        s, a, to, _ = self.successors.moves()
        missing = action == MISSING
        possible = np.isin((state * self.n_actions + action) * self.n_states + next_state,
                           (s * self.n_actions + a) * self.n_states + to)  # fmt: skip
        possible[missing] = np.isin((state * self.n_states + next_state)[missing], s * self.n_states + to)
        if self.estimated is None:
            possible |= ~missing & ~self.available[state, action]  # a fault of its own
        else:
            possible &= self.estimated.known[state] & (missing | self.available[state, action])
        return here[~possible]

    def _move(self, flat: Flat, t: int) -> str:
        action = flat.actions[t]
        label = "unknown action" if action == MISSING else f"action {_named(action, self.action_names)}"
        return f"state {_named(flat.states[t], self.state_names)}, {label}"

    def _explain(self, flat: Flat, t: int) -> str:
        """Say what was seen at t → t+1 and where the action does lead."""
        state, action, leads, _ = self.successors.moves()
        same = state == flat.states[t]
        if flat.actions[t] != MISSING:
            same &= action == flat.actions[t]
        names = [_named(s, self.state_names) for s in np.unique(leads[same])]
        to = _named(flat.states[t + 1], self.state_names)
        return f"{self._move(flat, t)} → state {to} (it leads to {some(names)})"

    def to_arrays(self) -> dict[str, Any]:
        """Return all there is to store: arrays, and names as lists.

        >>> sorted(MDP.deterministic([[1], [0]]).to_arrays())
        ['available', 'next', 'probability']
        """
        tables = self.successors
        stored = {
            "next": np.asarray(tables.next),
            "probability": np.asarray(tables.probability),
            "available": self.available,
            "coordinates": self.coordinates,
            "state_names": None if self.state_names is None else list(self.state_names),
            "action_names": None if self.action_names is None else list(self.action_names),
        }
        if self.estimated is not None:
            stored["known"] = self.estimated.known
            stored["estimated"] = {k: v for k, v in self.estimated._asdict().items() if k != "known"}
        return {name: value for name, value in stored.items() if value is not None}

    @classmethod
    def from_arrays(cls, stored: Mapping[str, Any]) -> "MDP":
        """Build from what `to_arrays` returned, bit for bit.

        >>> MDP.from_arrays(MDP.deterministic([[1], [0]]).to_arrays())
        MDP(2 states, 1 action, deterministic)
        """
        made = cls.from_successors(
            stored["next"],
            stored["probability"],
            available=stored["available"],
            state_names=stored.get("state_names"),
            action_names=stored.get("action_names"),
            coordinates=stored.get("coordinates"),
        )
        if "estimated" in stored:
            made.estimated = Estimate(**stored["estimated"], known=np.asarray(stored["known"], bool))
        return made


def _empty(cls: type[MDP]) -> MDP:
    """Make an MDP without calling its constructor for dense arrays."""
    return cls.__new__(cls)


def _named(label: Any, names: tuple[str, ...] | None) -> str:
    return str(label) if names is None else f"{label} ({names[label]})"


def _place(data: Trajectories, flat: Flat, t: int) -> str:
    return data.where(int(flat.sessions[t]), int(flat.steps[t]))


def _first(places: list[str], found: np.ndarray) -> str:
    more = len(found) - len(places)
    return "; ".join(places) + (f"; and {more:,} more" if more else "")


def _array(argument: str, value: Any, expected: str, faults: Faults) -> np.ndarray:
    """Read an array of floats (a copy), or raise what was noted so far."""
    try:
        return np.array(value, dtype=float)
    except (TypeError, ValueError):
        faults.add(f"{argument} is not an array of numbers: expected one {expected}")
        faults.raise_if_any(_CANNOT)
        raise


def _integers(argument: str, value: Any, expected: str, n_dimensions: int, faults: Faults) -> np.ndarray:
    array = _array(argument, value, expected, faults)
    whole = np.isfinite(array) & (array == np.floor(array))
    if array.ndim != n_dimensions or not array.size:
        faults.add(f"{argument} has shape {array.shape}: expected {expected}")
    elif not whole.all():
        places = [tuple(map(int, place)) for place in np.argwhere(~whole)]
        faults.add(f"{argument} is not a whole number at {some(places)}: states are integers")
    faults.raise_if_any(_CANNOT)
    return array.astype(np.int64)


def _mask(available: Any, shape: tuple[int, ...], faults: Faults) -> np.ndarray:
    if available is None:
        return np.ones(shape, bool)
    mask = np.asarray(available)
    if mask.shape != shape or not (mask.dtype == bool or np.isin(mask, (0, 1)).all()):
        got = f"available has shape {mask.shape} and type {mask.dtype}"
        faults.add(f"{got}: expected True or False in the shape {shape}, [state, action]")
        return np.ones(shape, bool)
    return mask.astype(bool)


def _size(noun: str, seen: int, n: Any, names: Any, faults: Faults) -> int:
    """Find the number of labels from what the user said, else from what was seen."""
    number = n if n is not None else len(names) if names is not None else seen
    if number < seen:
        faults.add(f"edges name {noun} {seen - 1}, but there are {number} {noun}s: enlarge n_{noun}s or correct them")
    return int(number)
