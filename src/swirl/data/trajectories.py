"""What was observed: sessions of states and actions, with gaps, subjects, times, signals and names.

Everything that can be wrong with recordings is caught here, at the door, and told in one error.  Sessions
know no environment: whether a transition is possible is the business of `mdp`.
"""

import copy
import hashlib
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64

from swirl.data.from_files import FromFiles
from swirl.data.trajectory_checks import (
    MISSING,
    gap_steps,
    increasing_times,
    label_count,
    labels,
    mode_paths,
    one_each,
    per_session,
    sentences,
    signals_by_name,
)
from swirl.errors import Faults, checked_names
from swirl.text import counted, html_of, some, table_of

CANNOT = "Trajectories cannot be built"
SHOWN = 5  # sessions that a notebook shows


class Flat(NamedTuple):
    """All steps of all sessions end to end; `starts` marks the first step of each segment."""

    states: Int[np.ndarray, " step"]
    actions: Int[np.ndarray, " step"]
    sessions: Int[np.ndarray, " step"]
    steps: Int[np.ndarray, " step"]
    starts: Bool[np.ndarray, " step"]


Names = tuple[str, ...] | None


def common_names(of_parts: Iterable[tuple[Names, Names]]) -> tuple[Names, Names]:
    """Names of states and of actions of several parts: those of the parts that have names, which must agree.

    >>> common_names([(("home", "water"), None), (None, ("go",))])
    (('home', 'water'), ('go',))
    """
    faults, kinds = Faults(), ("state_names", "action_names")
    found = [set(names) - {None} for names in zip(*of_parts, strict=True)] or [set(), set()]
    for argument, names in zip(kinds, found, strict=True):
        if len(names) > 1:
            faults.add(f"{argument} differ: {some(sorted(map(str, names)))}; relabel the parts alike")
    faults.raise_if_any("The parts cannot be joined")
    states, actions = (next(iter(names), None) for names in found)
    return states, actions


class Trajectories(FromFiles):
    """Sessions of observed states and actions.

    History, filter and mode chain restart at each session's start and at each gap.

    Parameters
    ----------
    states
        One 1-D integer array per session, of any lengths (a 2-D integer array: one session per row).
        Strings are accepted together with `state_names`.
    actions
        One array per session, of length T or T−1 (the last action is then missing); −1 marks a missing
        action (for string labels: None or ""). None: no action was observed.
    subjects, groups
        One label per session: the animal, and the condition it was in.
    gaps
        Per session, the steps t (0 < t < T) at which a new segment starts.
    times
        Per session, the time of each step; strictly increasing.
    signals
        name → per session, an array of length T or of shape (T, d): recordings aligned with the steps.
    modes
        Per session, the true mode of each step where it is known (simulations); −1 where it is not.
    n_states, n_actions
        Numbers of labels; by default from the names, else from the largest label seen.
    state_names, action_names
        One name per label.
    names
        One name per session; by default its position, "0", "1", ….
    notes
        What was done to the recordings on their way here, in sentences; `from_csv`, `from_tracks`, … fill it in.

    Attributes
    ----------
    states, actions, gaps
        Lists of read-only int64 arrays; every actions array has the length of its states.
    subjects, groups
        Tuples of labels; None where they are not known.
    times, signals, modes
        As given, as read-only arrays, or None.
    notes
        Tuple of sentences; parts of the data keep those of the whole.

    Examples
    --------
    >>> data = Trajectories([[0, 1, 2, 1], [2, 1]], [[1, 1, 0], [0, -1]], gaps=[[2], []])
    >>> data
    Trajectories(2 sessions, 6 steps (2 to 4 each), 3 states, 2 actions, 1 gap)
    >>> data.actions[0]
    array([ 1,  1,  0, -1])
    >>> data.segments(0)
    [(0, 2), (2, 4)]
    """

    source_lines: list[np.ndarray] | None = None
    """Of a table that was read: for each session, the line of each step, or its row (`source_noun`)."""
    source_noun = "row"

    def __init__(
        self,
        states: Any,
        actions: Any = None,
        *,
        subjects: Any = None,
        gaps: Any = None,
        times: Any = None,
        signals: Any = None,
        modes: Any = None,
        n_states: Any = None,
        n_actions: Any = None,
        state_names: Any = None,
        action_names: Any = None,
        names: Any = None,
        groups: Any = None,
        notes: Any = (),
    ) -> None:
        faults = Faults()
        self.state_names = checked_names("state_names", state_names, faults)
        self.action_names = checked_names("action_names", action_names, faults)
        given = per_session("states", states, faults)
        if given is None or not given:
            if given is not None:
                faults.add("states holds no session: there are no data; give at least one")
            faults.raise_if_any(CANNOT)
            given = []
        n = len(given)

        read = [labels(f"states[{i}]", x, self.state_names, False, faults) for i, x in enumerate(given)]
        lengths = [None if x is None else len(x) for x in read]
        for i, length in enumerate(lengths):
            if length == 0:
                faults.add(f"states[{i}] is empty: leave session {i} out")
        # A session that cannot be read is empty from here on, so that the others are still checked.
        none = np.zeros(0, np.int64)
        self.states: list[Int[np.ndarray, " step"]] = [none if x is None else x for x in read]
        self.actions: list[Int[np.ndarray, " step"]] = self._read_actions(actions, lengths, faults)
        self.n_states = label_count("state", self.states, n_states, self.state_names, 0, faults)
        self.n_actions = label_count("action", self.actions, n_actions, self.action_names, MISSING, faults)

        entries = per_session("gaps", gaps, faults, n) or [None] * n
        self.gaps: list[Int[np.ndarray, " gap"]] = [
            gap_steps(f"gaps[{i}]", x, lengths[i], faults) for i, x in enumerate(entries)
        ]
        self.times: list[Float[np.ndarray, " step"]] | None = None
        if times is not None:
            entries = per_session("times", times, faults, n) or []
            self.times = [increasing_times(i, x, lengths[i], faults) for i, x in enumerate(entries)]
        self.signals: dict[str, list[Float[np.ndarray, "step *channel"]]] | None = signals_by_name(
            signals, lengths, faults
        )
        self.modes: list[Int[np.ndarray, " step"]] | None = None
        if modes is not None:
            self.modes = mode_paths(per_session("modes", modes, faults, n) or [], lengths, faults)
        self.subjects: tuple[Any, ...] = one_each("subjects", subjects, n, faults) or (None,) * n
        self.groups: tuple[Any, ...] = one_each("groups", groups, n, faults) or (None,) * n
        self.names: tuple[str, ...] = tuple(map(str, one_each("names", names, n, faults) or range(n)))
        self.notes: tuple[str, ...] = sentences(notes or (), faults)
        faults.raise_if_any(CANNOT)
        self._freeze()

    def _read_actions(self, actions: Any, lengths: list[int | None], faults: Faults) -> list[np.ndarray]:
        """Read actions of length T or T−1 as actions of length T."""
        entries = [None] * len(lengths)
        if actions is not None:
            entries = per_session("actions", actions, faults, len(lengths)) or entries
        filled = []
        for i, (entry, length) in enumerate(zip(entries, lengths, strict=True)):
            full = np.full(length or 0, MISSING, np.int64)
            filled.append(full)
            if entry is None:
                continue
            read = labels(f"actions[{i}]", entry, self.action_names, True, faults)
            if read is None or length is None:
                continue
            if len(read) not in (length, length - 1):
                faults.add(
                    f"actions[{i}] has length {len(read)}, but session {i} has {counted(length, 'state')}: "
                    f"give {length} actions (−1 where missing), or {length - 1} when the last is not known"
                )
                continue
            full[: len(read)] = read
        return filled

    def _freeze(self) -> None:
        """Make every array read-only: results are tied to the data by their fingerprint."""
        lists = [self.states, self.actions, self.gaps, self.times or [], self.modes or []]
        for arrays in [*lists, *(self.signals or {}).values()]:
            for array in arrays:
                array.setflags(write=False)

    @property
    def lengths(self) -> Int[np.ndarray, " session"]:
        """Number of steps of each session."""
        return np.array([len(states) for states in self.states], np.int64)

    @property
    def n_steps(self) -> int:
        """Number of steps of all sessions together."""
        return int(self.lengths.sum())

    @property
    def n_observed_actions(self) -> int:
        """Number of steps at which the action is known."""
        return sum(int(np.count_nonzero(actions != MISSING)) for actions in self.actions)

    @property
    def n_missing_actions(self) -> int:
        """Number of moves, within segments, whose action is not known.

        >>> Trajectories([[0, 1, 0], [1, 1]], [[1, -1], [0]]).n_missing_actions
        1
        """
        flat = self.flat()
        return int(np.count_nonzero((flat.actions[:-1] == MISSING) & ~flat.starts[1:]))

    def __len__(self) -> int:
        return len(self.states)

    def __iter__(self) -> Iterator["Trajectories"]:
        return (self._select([i]) for i in range(len(self)))

    def __getitem__(self, key: Any) -> "Trajectories":
        """Select sessions by position, slice, list of positions or boolean mask."""
        if isinstance(key, slice):
            index = list(range(*key.indices(len(self))))
        elif np.ndim(key) == 0 and not isinstance(key, bool | np.bool_):
            index = [operator.index(key.item() if isinstance(key, np.ndarray) else key)]
        else:
            chosen = np.asarray(key)
            if chosen.dtype == bool:
                if chosen.shape != (len(self),):
                    raise IndexError(f"the mask has shape {chosen.shape}, but there are {len(self)} sessions")
                chosen = np.flatnonzero(chosen)
            elif chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
                raise IndexError(f"sessions are selected by integers, a slice or a mask, not by {key!r}")
            index = [int(i) for i in chosen]
        for i in index:
            if not -len(self) <= i < len(self):
                raise IndexError(f"session {i} does not exist: there are {len(self)}")
        if not index:
            raise ValueError(f"data[{key!r}] selects none of the {len(self)} sessions")
        return self._select([i % len(self) for i in index])

    def _select(self, index: Sequence[int]) -> "Trajectories":
        """Sessions `index` in that order; labels and their numbers stay those of the whole."""

        def pick(items: Sequence[Any]) -> list[Any]:
            return [items[i] for i in index]

        chosen = copy.copy(self)
        chosen.states, chosen.actions, chosen.gaps = pick(self.states), pick(self.actions), pick(self.gaps)
        chosen.subjects, chosen.groups = tuple(pick(self.subjects)), tuple(pick(self.groups))
        chosen.names = tuple(pick(self.names))
        chosen.times = None if self.times is None else pick(self.times)
        chosen.modes = None if self.modes is None else pick(self.modes)
        chosen.source_lines = None if self.source_lines is None else pick(self.source_lines)
        if self.signals is not None:
            chosen.signals = {name: pick(arrays) for name, arrays in self.signals.items()}
        return chosen

    def split(
        self,
        every: int | None = None,
        fraction: float | int | None = None,
        subjects: Any = None,
        offset: int = 0,
        random_state: Any = 0,
    ) -> tuple["Trajectories", "Trajectories"]:
        """Split whole sessions into (train, test) by exactly one of `every`, `fraction` and `subjects`.

        Parameters
        ----------
        every
            Sessions offset, offset + every, offset + 2·every, … are the test.
        fraction
            This share of the sessions, drawn at random with the seed `random_state`, is the test.
        subjects
            The sessions of these subjects are the test.

        Examples
        --------
        >>> data = Trajectories([[0, 1]] * 7)
        >>> train, test = data.split(every=5)
        >>> train.names, test.names
        (('1', '2', '3', '4', '6'), ('0', '5'))
        """
        if sum(criterion is not None for criterion in (every, fraction, subjects)) != 1:
            raise ValueError("split needs just one of every=, fraction= and subjects=: e.g. split(every=5)")
        n, test = len(self), np.zeros(len(self), bool)
        if every is not None:
            if every < 2 or not 0 <= offset < every:
                raise ValueError(f"split(every={every}, offset={offset}): give every ≥ 2 and 0 ≤ offset < every")
            test[offset::every] = True
        elif fraction is not None:
            if not 0 < fraction < 1:
                raise ValueError(f"split(fraction={fraction}): give a share between 0 and 1, e.g. 0.2")
            rng = np.random.default_rng(random_state)
            test[rng.permutation(n)[: round(fraction * n)]] = True
        else:
            single = isinstance(subjects, str) or not hasattr(subjects, "__iter__")
            wanted = {subjects} if single else set(subjects)
            unknown = sorted(map(repr, wanted - set(self.subjects)))
            if unknown:
                known = sorted({repr(subject) for subject in self.subjects})
                raise ValueError(f"split(subjects=…): no session of {some(unknown)}; known: {some(known, 20)}")
            test[:] = [subject in wanted for subject in self.subjects]
        if test.all() or not test.any():
            side = "training" if test.all() else "test"
            raise ValueError(f"split leaves no {side} session of the {n}: ask for another share")
        return self._select(np.flatnonzero(~test).tolist()), self._select(np.flatnonzero(test).tolist())

    def segment_starts(self, i: int) -> Int[np.ndarray, " segment"]:
        """First step of each segment of session i."""
        return np.concatenate([np.zeros(1, np.int64), self.gaps[i]])

    def segments(self, i: int) -> list[tuple[int, int]]:
        """(start, stop) of each segment of session i."""
        edges = [0, *self.gaps[i].tolist(), len(self.states[i])]
        return list(pairwise(edges))

    def flat(self) -> Flat:
        """All steps of all sessions end to end, for vectorised work.

        >>> Trajectories([[0, 1, 0], [1]], gaps=[[2], []]).flat().starts
        array([ True, False,  True,  True])
        """
        lengths = self.lengths
        first = np.cumsum(lengths) - lengths
        sessions = np.repeat(np.arange(len(self)), lengths)
        starts = np.zeros(self.n_steps, bool)
        starts[first] = True
        starts[np.concatenate([gaps + offset for gaps, offset in zip(self.gaps, first, strict=True)])] = True
        steps = np.arange(self.n_steps) - first[sessions]
        return Flat(np.concatenate(self.states), np.concatenate(self.actions), sessions, steps, starts)

    def where(self, session: int, step: int) -> str:
        """Name a step in an error message.

        >>> Trajectories([[0, 1]], names=["mouse 3, day 2"]).where(0, 1)
        "session 0 ('mouse 3, day 2'), step 1"
        """
        name = self.names[session]
        return f"session {session}{'' if name == str(session) else f' ({name!r})'}, step {step}"

    def with_gaps(self, extra: Any) -> "Trajectories":
        """Return a copy with further gaps; `extra` has the form of `gaps`.

        >>> Trajectories([[0, 1, 2, 0]], gaps=[[1]]).with_gaps([[3]]).segments(0)
        [(0, 1), (1, 3), (3, 4)]
        """
        faults = Faults()
        entries = per_session("extra", extra, faults, len(self)) or [None] * len(self)
        lengths = self.lengths.tolist()
        more = [gap_steps(f"extra[{i}]", x, lengths[i], faults) for i, x in enumerate(entries)]
        faults.raise_if_any("The gaps cannot be added")
        cut = copy.copy(self)
        cut.gaps = [np.union1d(old, new) for old, new in zip(self.gaps, more, strict=True)]
        cut._freeze()
        return cut

    def with_actions(self, actions: Any, *, n_actions: Any = None, action_names: Any = None) -> "Trajectories":
        """Return a copy with other actions; everything else stays.

        >>> Trajectories([[0, 1]]).with_actions([[2]]).actions[0]
        array([ 2, -1])
        """
        faults = Faults()
        changed = copy.copy(self)
        changed.action_names = checked_names("action_names", action_names, faults)
        changed.actions = changed._read_actions(actions, self.lengths.tolist(), faults)
        changed.n_actions = label_count("action", changed.actions, n_actions, changed.action_names, MISSING, faults)
        faults.raise_if_any("The actions cannot be used")
        changed._freeze()
        return changed

    def with_labels(
        self,
        *,
        subjects: Any = None,
        groups: Any = None,
        state_names: Any = None,
        action_names: Any = None,
        notes: Any = None,
    ) -> "Trajectories":
        """Return a copy with other labels of sessions, states or actions, or other notes; None: as they are.

        >>> Trajectories([[0, 1], [1, 1]], subjects=["m1", "m2"]).with_labels(groups=["drug", "control"]).groups
        ('drug', 'control')
        """
        faults, changed = Faults(), copy.copy(self)
        changed.subjects = one_each("subjects", subjects, len(self), faults) or self.subjects
        changed.groups = one_each("groups", groups, len(self), faults) or self.groups
        if state_names is not None:
            changed.state_names = checked_names("state_names", state_names, faults)
            changed.n_states = label_count("state", self.states, None, changed.state_names, 0, faults)
        if action_names is not None:
            changed.action_names = checked_names("action_names", action_names, faults)
            changed.n_actions = label_count("action", self.actions, None, changed.action_names, MISSING, faults)
        changed.notes = self.notes if notes is None else sentences(notes, faults)
        faults.raise_if_any("The labels cannot be used")
        return changed

    @classmethod
    def from_signals(
        cls,
        signals: Any,
        actions: Any = None,
        *,
        subjects: Any = None,
        gaps: Any = None,
        times: Any = None,
        modes: Any = None,
        n_actions: Any = None,
        action_names: Any = None,
        names: Any = None,
    ) -> "Trajectories":
        """Sessions of continuous recordings, for models that need no labelled states; every step is in state 0.

        `signals` is a dict, name → per session an array of length T or of shape (T, d); NaN where nothing was seen.

        >>> Trajectories.from_signals({"pose": [[[0.0, 1.0], [0.5, 1.5]], [[2.0, 0.0]]]})
        Trajectories(2 sessions, 3 steps (1 to 2 each), 1 state, 1 action, signals: pose)
        """
        if not isinstance(signals, Mapping) or not signals:
            raise ValueError(
                f"signals is {type(signals).__name__}: expected a dict, name → list of one array per session, "
                'such as {"pose": [pose_1, pose_2]}'
            )
        name, entries = next(iter(signals.items()))
        faults = Faults()
        listed = per_session(f"signals[{name!r}]", entries, faults, deepest=3)
        faults.raise_if_any(CANNOT)
        states = [np.zeros(len(entry), np.int64) for entry in listed or []]
        return cls(
            states,
            actions,
            subjects=subjects,
            gaps=gaps,
            times=times,
            signals=signals,
            modes=modes,
            n_states=1,
            n_actions=n_actions,
            action_names=action_names,
            names=names,
        )

    @classmethod
    def concatenate(cls, parts: Sequence["Trajectories"]) -> "Trajectories":
        """Join several data sets session after session.

        The numbers of labels are the largest; names of labels must agree where given.  Times, modes and
        each signal are kept when every part has them, notes when any part has them (each once).

        >>> a, b = Trajectories([[0, 1]]), Trajectories([[0, 2], [1, 1]])
        >>> Trajectories.concatenate([a, b])
        Trajectories(3 sessions, 6 steps (2 each), 3 states, 1 action)
        """
        parts = list(parts)
        if not parts:
            raise ValueError("parts is empty: give at least one")
        state_names, action_names = common_names((part.state_names, part.action_names) for part in parts)

        def joined(attribute: str) -> list[Any]:
            return [item for part in parts for item in getattr(part, attribute)]

        shared = [set(part.signals or {}) for part in parts]
        signals = {
            name: [array for part in parts for array in (part.signals or {})[name]]
            for name in (parts[0].signals or {})
            if all(name in known for known in shared)
        }
        return cls(
            joined("states"),
            joined("actions"),
            subjects=joined("subjects"),
            gaps=joined("gaps"),
            times=None if any(part.times is None for part in parts) else joined("times"),
            signals=signals or None,
            modes=None if any(part.modes is None for part in parts) else joined("modes"),
            n_states=max(part.n_states for part in parts),
            n_actions=max(part.n_actions for part in parts),
            state_names=state_names,
            action_names=action_names,
            names=joined("names"),
            groups=joined("groups"),
            notes=dict.fromkeys(joined("notes")),
        )

    def fingerprint(self, *signals: str) -> str:
        """Return the SHA-256 of lengths, states, actions, gaps and the named signals: equal data, equal fingerprint.

        >>> Trajectories([[0, 1], [1]]).fingerprint() == Trajectories([[0], [1, 1]]).fingerprint()
        False
        """
        digest = hashlib.sha256()
        n_gaps = np.array([len(gaps) for gaps in self.gaps])
        for array in (self.lengths, n_gaps, *self.states, *self.actions, *self.gaps):
            digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        for array in (array for name in signals for array in (self.signals or {})[name]):
            digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return digest.hexdigest()

    def session_fingerprints(self, *signals: str) -> UInt64[np.ndarray, "session"]:
        """Return a number for each session, from its states, actions, gaps and the named signals: to know it again.

        >>> marks = Trajectories([[0, 1], [1, 1], [0, 1]]).session_fingerprints().tolist()
        >>> marks[0] == marks[2], marks[0] == marks[1]
        (True, False)
        """
        marks = np.empty(len(self), np.uint64)
        columns = [self.states, self.actions, self.gaps, *[(self.signals or {})[name] for name in signals]]
        for i in range(len(self)):
            digest = hashlib.sha256()
            for column in columns:
                kind = "<f8" if np.asarray(column[i]).dtype.kind == "f" else "<i8"
                digest.update(np.ascontiguousarray(column[i], dtype=kind).tobytes() + b"|")
            marks[i] = int.from_bytes(digest.digest()[:8], "little")
        return marks

    def __repr__(self) -> str:
        low, high = int(self.lengths.min()), int(self.lengths.max())
        each = f"{low:,} each" if low == high else f"{low:,} to {high:,} each"
        parts = [
            counted(len(self), "session"),
            f"{counted(self.n_steps, 'step')} ({each})",
            counted(self.n_states, "state"),
            counted(self.n_actions, "action"),
        ]
        known = set(self.subjects) - {None}
        n_gaps = sum(map(len, self.gaps))
        parts += [counted(len(known), "subject")] if known else []
        parts += [counted(n_gaps, "gap")] if n_gaps else []
        parts += [f"signals: {', '.join(self.signals)}"] if self.signals else []
        return f"Trajectories({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the first sessions, one row each."""
        rows = []
        for i in range(min(len(self), SHOWN)):
            missing, times = int((self.actions[i] == MISSING).sum()), None if self.times is None else self.times[i]
            rows.append(
                {
                    "session": str(self.names[i]),
                    "subject": None if self.subjects[i] is None else str(self.subjects[i]),
                    "group": None if self.groups[i] is None else str(self.groups[i]),
                    "steps": int(self.lengths[i]),
                    "seconds": None if times is None or not len(times) else float(times[-1] - times[0]),
                    "actions missing": missing or None,
                    "gaps": len(self.gaps[i]) or None,
                }
            )
        more = [f"… and {counted(len(self) - SHOWN, 'session')} more"] if len(self) > SHOWN else []
        return html_of("\n".join([repr(self), table_of(rows), *more, *(f"- {note}" for note in self.notes)]))
