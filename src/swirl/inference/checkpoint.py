"""What a long fit has done so far, in a file: a run that was killed goes on from there and ends in the same bits.

A fit is a row of pieces that depend on nothing but what they are given: batches of the race, what was found of each
prior, EM's iterations.  A piece that is done is kept as arrays; of EM's iterations the last ones.  What the file does
not have is done again.  It is written whole or not at all, every so often, and carries marks of the data, the settings
and the code, so that it is never taken for another fit's.
"""

import json
import re
import time
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from swirl.errors import Notice
from swirl.io.atomic_write import check_target, whole_file
from swirl.system import IN_ORDER

KIND = "swirl checkpoint"
FACTS = "facts"
EM = "em"  # the piece of EM's own iterations
SECONDS = 60.0
NO_ORDER = Notice(
    "checkpoint: on this GPU sums have no fixed order, so a fit that was killed and resumed may differ in the last "
    f"digits; to have identical results, set XLA_FLAGS={IN_ORDER}=true before JAX is imported"
)
MARKS = {"data": "sessions", "settings": "settings of the model or of the fit", "code": "code of swirl"}


@dataclass(frozen=True)
class Every:
    """How often a file is written: after so many seconds, or so many iterations of EM."""

    seconds: float = SECONDS
    iterations: int | None = None

    @classmethod
    def of(cls, asked: Any) -> "Every":
        """Read what a user asks for: a number is of seconds.

        >>> Every.of("5 min").seconds, Every.of("100 iterations").iterations, Every.of(30).seconds
        (300.0, 100, 30.0)
        >>> Every.of("now and then")
        Traceback (most recent call last):
        ValueError: checkpoint_every='now and then': expected seconds (60, "90 s"), "10 min" or "100 iterations"
        """
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*(s|sec|seconds?|min|minutes?|iterations?)?\s*", str(asked))
        number, unit = (float(found[1]), found[2] or "s") if found and not isinstance(asked, bool) else (-1.0, "s")
        if unit.startswith("iter") and number >= 1 and number == int(number):
            return cls(np.inf, int(number))
        if number < 0 or unit.startswith("iter"):
            raise ValueError(f'checkpoint_every={asked!r}: expected seconds (60, "90 s"), "10 min" or "100 iterations"')
        return cls(number * 60 if unit.startswith("m") else number)


@dataclass
class Checkpoint:
    """The pieces of one fit, and the file that they are kept in."""

    path: Path
    marks: Mapping[str, str]
    every: Every = field(default_factory=Every)
    pieces: dict[str, list[np.ndarray]] = field(default_factory=dict)
    prefix: str = ""
    _last: list[Any] = field(default_factory=lambda: [time.monotonic(), 0])
    """When the file was written last, and iterations since; shared by all who write to it."""

    @classmethod
    def open(
        cls, path: Any, marks: Mapping[str, str], *, every: Any = SECONDS, resume: bool = False, overwrite: bool = False
    ) -> "Checkpoint":
        """Begin a file, or go on with one that is there where `resume` says so.

        Parameters
        ----------
        marks
            What tells this fit from others: digests of its ``data``, ``settings`` and ``code``.
        overwrite
            Replace a file that is there, where it is not gone on with.
        """
        path, asked = Path(path), Every.of(every)
        if not resume or not path.exists():
            if path.exists() and not overwrite:
                raise FileExistsError(
                    f"checkpoint: {path} exists already: resume=True (--resume) continues from it; or choose another "
                    "name, or remove it"
                )
            check_target(path, overwrite=True)
            return cls(path, dict(marks), asked)
        facts, pieces = _read(path)
        other = [words for name, words in MARKS.items() if facts["marks"].get(name) != marks[name]]
        if other:
            raise ValueError(
                f"checkpoint: {path} is of another fit: its {' and its '.join(other)} differ from those given now; "
                "continue with what it was made with, or give another file"
            )
        return cls(path, dict(marks), asked, pieces)

    def under(self, name: str) -> "Checkpoint":
        """The same file for a fit inside the fit, whose pieces have names of their own."""
        return replace(self, prefix=f"{self.prefix}{name}/")

    def has(self, name: str) -> bool:
        """Whether a piece is there."""
        return self.prefix + name in self.pieces

    def known(self, name: str, like: Any) -> Any:
        """A piece that is there, with the structure and the types of `like`."""
        kept = self.pieces[self.prefix + name]
        leaves, structure = jax.tree.flatten(like)
        if len(leaves) != len(kept):
            raise ValueError(f"checkpoint: {self.path} is damaged, or of another fit: remove it and fit again")
        arrays = [own.astype(np.asarray(leaf).dtype) for own, leaf in zip(kept, leaves, strict=True)]
        return jax.tree.unflatten(structure, arrays)

    def keep(self, name: str, piece: Any, *, iterations: int = 0) -> None:
        """Keep a piece; the file is written when it is time."""
        self.pieces[self.prefix + name] = [np.asarray(leaf) for leaf in jax.tree.leaves(piece)]
        if self.due(iterations):
            self.write()

    def due(self, iterations: int = 0) -> bool:
        """Whether it is time to write, after so many more iterations of EM."""
        self._last[1] += iterations
        waited, made = time.monotonic() - self._last[0], self._last[1]
        return waited >= self.every.seconds or (self.every.iterations is not None and made >= self.every.iterations)

    def forget(self, *names: str) -> None:
        """Drop the pieces whose names begin so: they are not needed any more."""
        for name in [name for name in self.pieces if name.startswith(tuple(self.prefix + own for own in names))]:
            del self.pieces[name]

    def write(self) -> None:
        """Write the file, whole or not at all; a disk that is full does not end a fit."""
        self._last[:] = [time.monotonic(), 0]
        if jax.process_index() != 0:
            return
        facts = json.dumps(
            {"kind": KIND, "marks": dict(self.marks), "pieces": {n: len(p) for n, p in self.pieces.items()}}
        )
        arrays = {f"{name}#{i}": leaf for name, kept in self.pieces.items() for i, leaf in enumerate(kept)}
        try:
            with whole_file(self.path, overwrite=True) as temporary, temporary.open("wb") as file:
                np.savez(file, **{FACTS: np.array(facts)}, **arrays)  # type: ignore[arg-type]
        except OSError as fault:
            warnings.warn(Notice(f"checkpoint: {fault}; the fit continues, and it is tried again"), stacklevel=2)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, list[np.ndarray]]]:
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            facts = json.loads(str(file[FACTS]))
            if facts["kind"] != KIND:
                raise ValueError("another kind")
            pieces = {name: [file[f"{name}#{i}"] for i in range(n)] for name, n in facts["pieces"].items()}
            return facts, pieces
    except IsADirectoryError:
        raise
    except (OSError, KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as fault:
        raise ValueError(f"checkpoint: {path} cannot be read as a checkpoint of swirl: give another file") from fault


def remembered(kept: Checkpoint | None, name: str, compute: Callable[[], Any]) -> np.ndarray:
    """What `compute` gives, as an array; where it was kept it is not computed again."""
    if kept is None:
        return np.asarray(compute())
    if kept.has(name):
        return kept.known(name, [0.0])[0]
    found = np.asarray(compute())
    kept.keep(name, [found])
    return found


def iterations_made(path: Any) -> int:
    """Iterations of EM that a checkpoint has; 0 while it is still choosing starting points or priors."""
    _, pieces = _read(Path(path))
    kept = pieces.get(EM)
    return 0 if kept is None else int(kept[0])
