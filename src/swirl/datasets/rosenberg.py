"""The raw files of Rosenberg et al. (2021), one mouse each, read without executing anything in them.

The `-tf` files are pickles, and a pickle is a program: opened the usual way it may do anything at all.  Here each
name that it asks for must be on a short list, and each name on the list stands for a plain class of this module, which
checks what it is given.  Not even numpy's own unpickling code runs.  This is the only unpickler in the package.
"""

import io
import math
import pickle
import pickletools
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.data.trajectory_checks import MISSING
from swirl.datasets.dataset import Dataset
from swirl.datasets.labyrinth import EXIT, LABYRINTH_HOME, labyrinth_bout_env
from swirl.errors import Faults
from swirl.text import some

FRAMES_PER_SECOND = 30
OUTSIDE = 127
"""The "node" that ends a bout: the animal has left the maze."""

FIELDS = ("fr", "ce", "ke", "no", "re")
SUFFIX = "-tf"
DAMAGE = (EOFError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError, RecursionError)
"""What reading bytes that are no pickle may end in."""

SOURCE = "github.com/markusmeister/Rosenberg-2021-Repository, folder 'outdata - tf files only'"


@dataclass(frozen=True)
class RosenbergRecording:
    """One mouse in the maze, as its `-tf` file has it; frames are counted at 30 a second.

    >>> night = RosenbergRecording("B1", np.array([[100, 190]]), [np.array([[0, 5], [1, 40], [127, 90]])])
    >>> night.mouse, len(night.nodes)
    ('B1', 1)
    """

    mouse: str
    bouts: Int[np.ndarray, "bout 2"]
    """First and last frame of each bout."""
    nodes: list[Int[np.ndarray, "_ 2"]]
    """Per bout: node, and the frame within the bout in which it is reached; 127 = out of the maze."""
    cells: list[np.ndarray] | None = None
    """Per bout: cell in each frame."""
    nose: list[np.ndarray] | None = None
    """Per bout: x and y of the nose in each frame, 0 to 1; NaN where it was not seen."""
    rewards: list[np.ndarray] | None = None
    """Per bout: first and last frame of each drop of water; None for a mouse without water in the maze."""


def rosenberg(source: str | PathLike[str] | Iterable[str | PathLike[str]]) -> Dataset:
    """Load bouts of mice in the maze from the raw files of Rosenberg et al. (2021).

    Each bout, from coming in to leaving, is a session; its subject is the mouse, by the name of the file ("B1-tf" is
    mouse "B1").  State = node.  Actions follow from the geometry (`labyrinth_bout_env`); the last is the exit, "out
    right" at node 0.  `times` are seconds since the mouse's recording began.

    Bouts in which no node was reached are left out.  Where the tracking jumps between nodes that no corridor joins, the
    action is missing and a new segment starts; a bout that ends elsewhere than at node 0 lacks its last action.

    Parameters
    ----------
    source
        A folder with files `<mouse>-tf`, one such file, or a list of them. They are published at
        github.com/markusmeister/Rosenberg-2021-Repository (MIT), with eLife 10:e66175 (CC BY).

    Examples
    --------
    >>> rosenberg("outdata - tf files only").trajectories.split(subjects=["B1", "B2"])        # doctest: +SKIP
    """
    recordings = [read_rosenberg(path) for path in _files(source)]
    env = labyrinth_bout_env()
    action_between = _action_between(env)
    states, actions, gaps, times, subjects, names = [], [], [], [], [], []
    for recording in recordings:
        for bout, (visits, (start, _)) in enumerate(zip(recording.nodes, recording.bouts, strict=True)):
            inside = visits[visits[:, 0] != OUTSIDE]
            if not len(inside):
                continue
            nodes = inside[:, 0]
            taken = np.append(action_between[nodes[:-1], nodes[1:]], MISSING)
            gaps.append(np.flatnonzero(taken[:-1] == MISSING) + 1)
            if len(inside) < len(visits) and nodes[-1] == LABYRINTH_HOME:
                taken[-1] = EXIT
            states.append(nodes)
            actions.append(taken)
            times.append((start + inside[:, 1]) / FRAMES_PER_SECOND)
            subjects.append(recording.mouse)
            names.append(f"{recording.mouse}, bout {bout}")
    if not states:
        raise ValueError(f"source holds no bout in which a node was reached ({some([r.mouse for r in recordings])})")
    trajectories = Trajectories(
        states,
        actions,
        gaps=gaps,
        times=times,
        subjects=subjects,
        names=names,
        state_names=env.state_names,
        action_names=env.action_names,
    )
    return Dataset(env, trajectories)


def read_rosenberg(path: str | PathLike[str]) -> RosenbergRecording:
    """Read one raw `-tf` file of Rosenberg et al. (2021); nothing in it is executed.

    Raises
    ------
    ValueError
        When the file is truncated, asks for anything that such a file does not need, or lacks what it must hold.

    Examples
    --------
    >>> recording = read_rosenberg("outdata - tf files only/B1-tf")                           # doctest: +SKIP
    """
    path = Path(path)
    remedy = f"get the file from {SOURCE}"
    try:
        loaded = _load(path.read_bytes())
    except (pickle.UnpicklingError, *DAMAGE) as fault:
        damage = "it is truncated or damaged: " if isinstance(fault, DAMAGE) else ""
        raise ValueError(f"{path} cannot be read: {damage}{fault}. Nothing in it was executed; {remedy}") from fault
    fields = getattr(loaded, "fields", None)
    if not isinstance(loaded, _Traj) or fields is None:
        raise ValueError(f"{path} cannot be read: it holds a {type(loaded).__name__.strip('_')}, not a Traj; {remedy}")
    faults = Faults()
    bouts = _whole_pairs("fr", fields["fr"], faults)
    lists = {name: _per_bout(name, fields[name], len(bouts), faults) for name in ("no", "ce", "ke", "re")}
    if lists["no"] is None:
        faults.add("no is None: expected nodes, one array for each bout")
    nodes = [_whole_pairs(f"no[{i}]", entry, faults) for i, entry in enumerate(lists["no"] or [])]
    for i, visits in enumerate(nodes):
        node, frame = visits.T
        if ((node < 0) | (node > OUTSIDE)).any():
            faults.add(f"no[{i}] names nodes {node.min()} to {node.max()}: expected 0 to {OUTSIDE}")
        elif (node[:-1] == OUTSIDE).any():
            faults.add(f"no[{i}] goes on after node {OUTSIDE}, the exit: expected it at the end of a bout only")
        if (np.diff(frame) <= 0).any():
            faults.add(f"no[{i}] has frames that do not increase")
    faults.raise_if_any(f"{path} is not a {SUFFIX} file of Rosenberg et al. (2021); {remedy}")
    mouse = path.name.removesuffix(SUFFIX)
    return RosenbergRecording(mouse, bouts, nodes, lists["ce"], lists["ke"], lists["re"])


def _files(source: Any) -> list[Path]:
    if not isinstance(source, str | PathLike):
        files = [Path(path) for path in source]
        if not files:
            raise ValueError(f"source is an empty list: give the paths of {SUFFIX} files, or their folder")
        return files
    path = Path(source)
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIX) and file.is_file())
    if not files:
        raise ValueError(f"source={str(source)!r} holds no file named <mouse>{SUFFIX}: get them from {SOURCE}")
    return files


def _action_between(env: MDP) -> Int[np.ndarray, "state next_state"]:
    """Find the action that leads from each node to each; −1 where no corridor does."""
    following = np.asarray(env.successors.next)[..., 0]
    state, action = np.nonzero(env.available & (following != np.arange(env.n_states)[:, None]))
    table = np.full((env.n_states, env.n_states), MISSING, np.int64)
    table[state, following[state, action]] = action
    return table


def _whole_pairs(name: str, value: Any, faults: Faults) -> Int[np.ndarray, "row 2"]:
    array = value.values if isinstance(value, _Array) else None
    if array is not None and array.ndim == 2 and array.shape[1] == 2 and _are_whole(array):
        return array.astype(np.int64)
    got = type(value).__name__ if array is None else f"an array of {array.dtype} and shape {array.shape}"
    faults.add(f"{name} is {got.strip('_')}: expected whole numbers in two columns")
    return np.zeros((0, 2), np.int64)


def _are_whole(array: np.ndarray) -> bool:
    return bool((np.isfinite(array) & (array == np.floor(array))).all())


def _per_bout(name: str, value: Any, n: int, faults: Faults) -> list[Any] | None:
    """Read a list with one array per bout; the arrays of `no` are unwrapped later, with a check of their own."""
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != n:
        got = f"of {len(value)}" if isinstance(value, list) else type(value).__name__.strip("_")
        faults.add(f"{name} is a list {got}, but fr has {n} bouts: expected one array for each")
        return []
    if name == "no":
        return value
    arrays = [np.zeros((0, 2)) if entry == [] else getattr(entry, "values", None) for entry in value]
    wrong = [i for i, array in enumerate(arrays) if not isinstance(array, np.ndarray)]
    if wrong:
        faults.add(f"{name}[{wrong[0]}] is {type(value[wrong[0]]).__name__.strip('_')}: expected an array")
    return arrays


class _Traj:
    """What stands for the dataclass MM_Traj_Utils.Traj."""

    fields: dict[str, Any]

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, dict) or set(state) != set(FIELDS):
            got = sorted(map(str, state)) if isinstance(state, dict) else type(state).__name__
            raise pickle.UnpicklingError(f"its fields are {got}, expected {sorted(FIELDS)}")
        self.fields = state


class _Dtype:
    """What stands for numpy.dtype: plain numbers only."""

    def __init__(self, code: Any, align: Any = False, copy: Any = False) -> None:
        if code not in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"):
            raise pickle.UnpicklingError(f"it holds an array of type {code!r}, expected numbers")
        self.numpy = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        # (version, byte order, subarray, names, fields, item size, alignment, flags)
        _, order, *structure = state[:5]
        if order not in ("<", ">", "|", "=") or any(part is not None for part in structure):
            raise pickle.UnpicklingError("it holds an array with an unusual type, expected plain numbers")
        self.numpy = self.numpy.newbyteorder(order)


class _Array:
    """What stands for numpy.ndarray: bytes of the right number, shape and type."""

    values: np.ndarray | None = None

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, by_columns, raw = state
        self.fill(raw, dtype, shape, "F" if by_columns else "C")

    def fill(self, raw: Any, dtype: Any, shape: Any, order: Any) -> "_Array":
        kind = dtype.numpy
        if not isinstance(raw, bytes | bytearray) or len(raw) != math.prod(shape) * kind.itemsize:
            raise pickle.UnpicklingError(f"it holds an array whose bytes do not fit its shape {shape}")
        self.values = np.frombuffer(raw, kind).reshape(shape, order=order).astype(kind.newbyteorder("="))
        return self


def _reconstruct(kind: Any, shape: Any, code: Any) -> _Array:
    """Stand for the function that makes the empty array which the pickle then fills."""
    return _Array()


def _frombuffer(raw: Any, dtype: Any, shape: Any, order: Any) -> _Array:
    """Stand for the function that makes an array in pickles of protocol 5."""
    return _Array().fill(raw, dtype, shape, order)


ALLOWED = {
    ("MM_Traj_Utils", "Traj"): _Traj,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    # numpy 2 renamed its insides; files from before and after are read.
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _reconstruct for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _frombuffer for core in ("core", "_core")},
}


def _load(raw: bytes) -> Any:
    """Unpickle through the list, after a look at the instructions that runs none of them."""
    for instruction, argument, _ in pickletools.genops(raw):
        # Python's unpickler sets aside room for as many objects as the number says: billions, if it says so.
        if instruction.name in ("PUT", "BINPUT", "LONG_BINPUT") and int(argument or 0) > len(raw):
            raise pickle.UnpicklingError("it asks for more memory than a file of its size can need")
    return _AllowList(io.BytesIO(raw)).load()


class _AllowList(pickle.Unpickler):
    """An unpickler for which nothing exists but what is in `ALLOWED`."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        """Look a name up in the list; nothing is imported."""
        if (module_name, global_name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module_name}.{global_name}, which was refused")
        return ALLOWED[module_name, global_name]
