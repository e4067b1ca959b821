"""What has been computed, in files: a run that stopped goes on where it was, and nothing is computed twice.

A fit is known by its model's class and arguments, its environment, its data and the version of swirl; a table by the
inputs it is said to have.  Files are written whole or not at all.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from swirl._version import __version__
from swirl.analysis.grid_search import choose
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.registry import load
from swirl.io.atomic_write import whole_file, write_text
from swirl.text import plain

M = TypeVar("M")


class Ledger:
    """Fits and tables under a folder, computed when they are asked for the first time.

    Parameters
    ----------
    folder
        Where the files are; made when the first is written.
    say
        Told in words what is computed and what is found.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     once = Ledger(Path(folder)).rows("squares", {"n": 3}, lambda: [{"x": x, "y": x * x} for x in range(3)])
    ...     again = Ledger(Path(folder)).rows("squares", {"n": 3}, lambda: [])    # not called
    >>> once == again, again[2]
    (True, {'x': 2, 'y': 4})
    """

    def __init__(self, folder: Path, say: Callable[[str], Any] | None = None):
        self.folder = folder
        self.say = say or (lambda text: None)
        self.seconds: dict[str, float] = {}
        """Of each file that was asked for: what it took, now or when it was computed."""

    def fit(self, label: str, model: M, data: Trajectories) -> M:
        """Return `model` fitted to `data`, read from its file where there is one.

        `label` names the file, beside the digest of what went in.
        """
        path = self._path(label, fit_inputs(model, data), ".nc")
        if self._found(label, path):
            return load(path)
        began = time.perf_counter()
        every: Any = model
        options = {"race": False} if every.fitted_by_em else {}  # each start is a row of the experiment
        fitted = every.fit(data, **options)
        self._note(label, path, time.perf_counter() - began)
        with whole_file(path, overwrite=True) as temporary:
            fitted.save(temporary)
        return fitted

    def rows(
        self, label: str, inputs: Mapping[str, Any], compute: Callable[[], list[dict[str, Any]]]
    ) -> list[dict[str, Any]]:
        """Return a table as a list of rows, computed only if it was never computed from these `inputs`."""
        path = self._path(label, dict(inputs), ".json")
        if self._found(label, path):
            return json.loads(path.read_text())
        began = time.perf_counter()
        rows = plain(compute())
        self._note(label, path, time.perf_counter() - began)
        write_text(path, json.dumps(rows), overwrite=True)
        return rows

    def chosen(
        self,
        label: str,
        model: Any,
        data: Trajectories,
        grid: Mapping[str, Sequence[Any]],
        *,
        n_folds: int = 3,
        of: Any,
    ) -> dict[str, Any]:
        """Return the settings of `grid` that do best on folds of `data`, the training sessions."""
        return self.near(label, model, data, grid, 0.0, n_folds=n_folds, of=of)[0][0]

    def near(
        self,
        label: str,
        model: Any,
        data: Trajectories,
        grid: Mapping[str, Sequence[Any]],
        within: float,
        *,
        n_folds: int = 3,
        of: Any,
    ) -> list[tuple[dict[str, Any], float]]:
        """Return the settings of `grid` that do best on folds of `data`, and after them the others that are near.

        Near are those whose mean over the folds is less than `within` nats per step below; each with how far it is.
        """
        settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        if len(settings) == 1:
            return [(settings[0], 0.0)]

        def compute() -> list[dict[str, Any]]:
            choice = choose(model, data, grid, n_folds=n_folds, of=of)
            best = choice.candidates.index(choice.best)
            return [
                {"best": best, "scores": choice.scores.tolist(), "candidates": [repr(c) for c in choice.candidates]}
            ]

        inputs = {**fit_inputs(model, data), "grid": list(grid.items()), "n_folds": n_folds, "of": of}
        found = self.rows(label, inputs, compute)[0]
        best, means = found["best"], np.mean(found["scores"], axis=1)
        others = [i for i in np.flatnonzero(means > means[best] - within) if i != best]
        return [(settings[i], float(means[best] - means[i])) for i in (best, *others)]

    def _found(self, label: str, path: Path) -> bool:
        if path.exists():
            self.seconds[path.name] = self._times().get(path.name, 0.0)
            self.say(f"  {label}: found {path.name}")
        return path.exists()

    def _note(self, label: str, path: Path, seconds: float) -> None:
        self.seconds[path.name] = seconds
        self.folder.mkdir(parents=True, exist_ok=True)
        times = {**self._times(), path.name: round(seconds, 2)}
        write_text(self.folder / "seconds.json", json.dumps(times, indent=0), overwrite=True)
        self.say(f"  {label}: {seconds:.1f} s")

    def _times(self) -> dict[str, float]:
        file = self.folder / "seconds.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def _path(self, label: str, inputs: dict[str, Any], suffix: str) -> Path:
        text = json.dumps([__version__, inputs], sort_keys=True, default=described)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        name = "".join(c if c.isalnum() or c in "-=." else "_" for c in label)
        return self.folder / f"{name}-{digest}{suffix}"


def fit_inputs(model: Any, data: Trajectories) -> dict[str, Any]:
    """What a fit depends on, as text."""
    return {
        "model": type(model).__name__,
        "arguments": {name: described(value) for name, value in model.get_params().items()},
        "data": described(data),
    }


def described(value: Any) -> Any:
    """What a value is, for JSON: equal for equal values and different for others, which `repr` of an array is not.

    >>> described((1.5, "state"))
    ['1.5', "'state'"]
    >>> described(np.arange(2000.0)) == described(np.arange(2000.0) + (np.arange(2000) == 1000))
    False
    """
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return [str(value.dtype), list(value.shape), digest]
    if isinstance(value, MDP):  # names do not change a fit
        return {"env": described(value.successors)}
    if isinstance(value, Trajectories):  # folds are made of subjects
        return {"data": value.fingerprint(*sorted(value.signals or {})), "subjects": described(value.subjects)}
    if is_dataclass(value) and not isinstance(value, type):
        return {"class": type(value).__name__, **{f.name: described(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, Mapping):
        return {str(name): described(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [described(item) for item in value]
    return repr(value)
