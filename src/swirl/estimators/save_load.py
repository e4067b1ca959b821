"""A fitted model as one netCDF-4 file: arrays, and one JSON header that says how they came to be.

Nothing is pickled.  Options that carry data (priors, reward forms, fixed switching) are written field by
field and rebuilt from a short list of known classes.
"""

import inspect
import sys
from collections.abc import Callable
from dataclasses import asdict, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import jax
import numpy as np

from swirl._version import __version__
from swirl.data.mdp import MDP
from swirl.estimators.autoregression import MatrixNormal
from swirl.estimators.fit_warnings import RestartAgreement, read_verdict
from swirl.inference import em
from swirl.io import hdf5, netcdf
from swirl.priors import Adaptive, Bouts, Cauchy, Dirichlet, Gaussian, GoalDirected, HabitGoals
from swirl.rewards.forms import FORMS
from swirl.switching import Fixed

KNOWN = (Gaussian, Cauchy, Adaptive, Dirichlet, HabitGoals, GoalDirected, Bouts, MatrixNormal, *FORMS, Fixed)
OPTIONS = {cls.__name__: cls for cls in KNOWN}
ABOUT = ("converged", "fit_report", "n_steps", "n_observed", "data_fingerprint", "run", "mode_names")
ENVIRONMENT = {
    "next": ("state", "action", "branch"),
    "probability": ("state", "action", "branch"),
    "available": ("state", "action"),
    "known": ("state",),
    "coordinates": ("state", "axis"),
}
"""Axes of the environment's tables."""
AGREEMENT = ("ari", "policy_distance", "nats_behind", "solution", "error")
Arrays = dict[str, tuple[tuple[str, ...], np.ndarray]]


def versions() -> dict[str, str]:
    """Versions of Python, swirl and what computes for it."""
    found = {"python": sys.version.split()[0], "swirl": __version__}
    for package in ("jax", "jaxlib", "numpy", "scipy", "numba"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def versions_of(model: Any) -> dict[str, str]:
    """Versions that a model was fitted with: those in its file, unless it was fitted again since."""
    as_read, found = getattr(model, "_saved_with", (None, {}))
    return found if found and as_read is model._params_at_fit else versions()


FORMER = {"road": "solver"}  # fields of options in older files, and what they are called now


def _encode_option(name: str, value: Any, arrays: Arrays) -> Any:
    """Turn one constructor argument into JSON, moving arrays into the file's own."""
    if type(value).__name__ in OPTIONS:
        inner = {f.name: _encode_option(f"{name}.{f.name}", getattr(value, f.name), arrays) for f in fields(value)}
        return {"option": type(value).__name__, "fields": inner}
    if isinstance(value, np.ndarray) and value.ndim:
        key = f"parameter.{name}"
        arrays[key] = (tuple(f"{key}.axis{i}" for i in range(value.ndim)), value)
        return {"array": key}
    if isinstance(value, np.generic | np.ndarray):
        return value.item()
    if isinstance(value, tuple | list):
        return {"sequence": [_encode_option(f"{name}.{i}", item, arrays) for i, item in enumerate(value)]}
    return value


def _decode_option(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, dict) and "option" in value:
        if value["option"] not in OPTIONS:
            raise ValueError(f"unknown option {value['option']!r} in the file: it needs a newer swirl")
        named = {str(FORMER.get(k, k)): _decode_option(v, arrays) for k, v in value["fields"].items()}
        return OPTIONS[value["option"]](**named)
    if isinstance(value, dict) and "array" in value:
        return arrays[value["array"]]
    if isinstance(value, dict) and "sequence" in value:
        return tuple(_decode_option(item, arrays) for item in value["sequence"])
    return value


def save_model(model: Any, path: Any, *, overwrite: bool = False) -> Path:
    """Write a fitted model; refuses to overwrite unless told."""
    model.check_fitted()
    arrays: Arrays = {}
    for name, dims in model.stored.items():
        value = getattr(model, f"{name}_", None)
        if value is not None:
            arrays[name] = (dims[: np.ndim(value)], np.asarray(value))
    if (sessions := model.training_sessions_) is not None:
        arrays["training_sessions"] = (("training_session",), sessions)
    as_fitted = getattr(model, "_params_at_fit", None) or model.get_params()
    header: dict[str, Any] = {
        "model": _model_name(model),
        "parameters": {k: _encode_option(k, v, arrays) for k, v in as_fitted.items() if k != "env"},
        "versions": versions_of(model),
        "seed": int(as_fitted["random_state"]),
    }
    if isinstance(env := as_fitted.get("env"), MDP):
        header["env"] = _encode_env(env, arrays)
    about = {name: getattr(model, f"{name}_", None) for name in ABOUT}
    header["about"] = {name: value for name, value in about.items() if value is not None}
    if model.restarts_:
        header["fit"] = _encode_restarts(model, arrays)
    if (agreement := model.restart_agreement_) is not None:
        header["restart_agreement"] = {"kept": agreement.kept, "n_modes": agreement.n_modes}
        known = [name for name in AGREEMENT if getattr(agreement, name) is not None]
        arrays |= {f"restart_agreement.{name}": (("restart",), getattr(agreement, name)) for name in known}
    if (verdict := model.verdict_) is not None:
        header["verdict"] = asdict(verdict)
    return netcdf.write(Path(path), arrays, header, overwrite=overwrite)


def _model_name(model: Any) -> str:
    """Name of the model's class, of swirl's own where a user has extended it."""
    return next(cls.__name__ for cls in type(model).__mro__ if cls.__module__.startswith("swirl."))


def _encode_env(env: MDP, arrays: Arrays) -> dict[str, Any]:
    """Put the environment's tables into the file; what is not an array is returned, for the header."""
    names = {}
    for name, value in env.to_arrays().items():
        if isinstance(value, np.ndarray):
            arrays[f"env.{name}"] = (ENVIRONMENT[name], value)
        else:
            names[name] = value
    return names


def _encode_restarts(model: Any, arrays: Arrays) -> dict[str, Any]:
    """Put every restart's parameters and traces into the file, padded with NaN to one length."""
    restarts = model.restarts_
    longest = max(len(r.objective_trace) for r in restarts)
    for name in ("objective_trace", "log_likelihood_trace"):
        padded = np.full((len(restarts), longest), np.nan)
        for row, restart in zip(padded, restarts, strict=True):
            trace = getattr(restart, name)
            row[: len(trace)] = trace
        arrays[f"restart.{name}"] = (("restart", "restart.iteration"), padded)
    arrays["restart.occupancy"] = (("restart", "mode"), np.stack([r.occupancy for r in restarts]))
    leaves = zip(*[jax.tree.leaves(r.parameters) for r in restarts], strict=True)
    for i, stack in enumerate(leaves):
        values = np.stack([np.asarray(leaf) for leaf in stack])
        arrays[f"restart.leaf{i}"] = (
            ("restart", *[f"restart.leaf{i}.axis{a}" for a in range(values.ndim - 1)]),
            values,
        )
    return {
        "status": [r.status for r in restarts],
        "remaining_gain": [r.remaining_gain if np.isfinite(r.remaining_gain) else None for r in restarts],
        "iterations": [r.n_iterations for r in restarts],
        "best_restart": model.best_restart_,
        "raced": [r.raced for r in restarts],
    }


def load_model(find: Callable[[str], Any], path: Path) -> Any:
    """Read a model back; its predictions are those of the model that was saved.

    `find` gives the class of a name, or None.
    """
    arrays, header = netcdf.read(path)
    cls = find(str(header.get("model")))
    if cls is None:
        raise ValueError(f"{path}: holds {header.get('model')!r}, expected a saved swirl model")
    _check_parts(cls, path, arrays, header)
    _check_shapes(cls, path, arrays, header)
    with hdf5.explained(path, "is damaged, or not as save() writes it: copy it again or save the model again"):
        return _rebuilt(cls, arrays, header)


def _rebuilt(cls: Any, arrays: dict[str, np.ndarray], header: dict[str, Any]) -> Any:
    """Make the model that a file describes."""
    known = {k: v for k, v in header["parameters"].items() if k not in cls.retired}
    parameters = {k: _decode_option(v, arrays) for k, v in known.items()}
    if "env" in header:
        env_arrays = {name.removeprefix("env."): a for name, a in arrays.items() if name.startswith("env.")}
        parameters["env"] = MDP.from_arrays({**env_arrays, **header["env"]})
    model = cls(**parameters)
    model._params_at_fit = model.get_params()  # a new fit sets another
    model._saved_with = (model._params_at_fit, header.get("versions", {}))
    for name in (*cls.stored, "training_sessions"):
        if name in arrays:
            setattr(model, f"{name}_", arrays[name])
    for name, value in header.get("about", {}).items():
        if name in ABOUT:
            setattr(model, f"{name}_", tuple(value) if isinstance(value, list) else value)
    model._restore()
    if "fit" in header:
        _decode_restarts(model, arrays, header["fit"])
    if "restart_agreement" in header:  # files of older versions do not say
        kept, n_modes = (int(header["restart_agreement"][name]) for name in ("kept", "n_modes"))
        stored = {name: f"restart_agreement.{name}" for name in AGREEMENT}
        numbers = {name: arrays[where] for name, where in stored.items() if where in arrays}  # older: not all of them
        model.restart_agreement_ = RestartAgreement(kept, n_modes, **numbers)
    if "verdict" in header:
        model.verdict_ = read_verdict(header["verdict"])
    if "fit" in header:  # said anew: the words of an older version may rest on another rule
        agreement = model.restart_agreement_
        said = None if agreement is None else agreement.sentence()
        model.fit_report_ = em.describe(model.restarts_, model.best_restart_, model.n_observed_, said)
    return model


def _check_parts(cls: Any, path: Path, arrays: dict[str, np.ndarray], header: dict[str, Any]) -> None:
    """Refuse a file that is a model's by name but not by content."""
    needs_env = "env" in header or "env" in cls.needed
    needed = ["mode_transitions", "initial_modes", *[name for name in cls.needed if name != "env"]]
    missing = [name for name in needed + ["env.next", "env.probability"] * needs_env if name not in arrays]
    missing += [name for name in ["parameters"] + ["env"] * needs_env if not isinstance(header.get(name), dict)]
    if missing:
        raise ValueError(
            f"{path}: lacks {', '.join(missing)}; the file is damaged: copy it again or save the model again"
        )
    known = {*inspect.signature(cls).parameters, *cls.retired}
    unknown = [name for name in header["parameters"] if name not in known]
    if unknown:
        raise ValueError(f"{path}: has the unknown option {', '.join(unknown)}: it needs a newer swirl")


def _check_shapes(cls: Any, path: Path, arrays: dict[str, np.ndarray], header: dict[str, Any]) -> None:
    """Refuse arrays that do not go together: an axis of one name has one length, in the environment too."""
    axes = {**cls.stored, **{f"env.{name}": own for name, own in ENVIRONMENT.items()}}
    lengths: dict[str, tuple[int, str]] = {}
    for name, own in axes.items():
        if name in arrays and not len(own) - 1 <= arrays[name].ndim <= len(own):  # of r(h) there is no axis of actions
            raise ValueError(f"{path}: {name} has shape {arrays[name].shape}, not [{', '.join(own)}]; it is damaged")
        for axis, n in zip(own, arrays[name].shape if name in arrays else (), strict=False):
            length, where = lengths.setdefault(axis.removeprefix("next_"), (n, name))
            if n != length:
                raise ValueError(
                    f"{path}: {name} is for {n} of axis {axis}, but {where} for {length}; the file is damaged: copy it "
                    "again or save the model again"
                )
    history, lags = header["parameters"].get("history"), lengths.get("lag")
    if isinstance(history, int) and lags is not None and history != lags[0]:
        raise ValueError(f"{path}: histories are of {lags[0]} states, but history={history}; the file is damaged")


def _decode_restarts(model: Any, arrays: dict[str, np.ndarray], fit: dict[str, Any]) -> None:
    model._components, model._context = model._restored_context()
    template = model._components.random_parameters(np.random.default_rng(0), 1.0)
    structure = jax.tree.structure(template)
    stored = list(range(sum(name.startswith("restart.leaf") for name in arrays)))
    if len(stored) > structure.num_leaves:  # an older file
        del stored[model.retired_leaves]
    known = fit.get("remaining_gain") or [None] * len(fit["status"])
    raced = fit.get("raced") or [0] * len(fit["status"])  # older files do not say
    restarts, remaining = [], [float("inf") if gain is None else float(gain) for gain in known]
    for r, (status, iterations) in enumerate(zip(fit["status"], fit["iterations"], strict=True)):
        leaves = [arrays[f"restart.leaf{i}"][r] for i in stored]
        restarts.append(
            em.Restart(
                jax.tree.unflatten(structure, leaves),
                arrays["restart.objective_trace"][r, : iterations + 1],
                arrays["restart.log_likelihood_trace"][r, : iterations + 1],
                arrays["restart.occupancy"][r],
                status,
                remaining[r],
                raced=int(raced[r]),
            )
        )
    model.restarts_ = restarts
    model.best_restart_ = fit["best_restart"]
    model.remaining_gain_ = restarts[model.best_restart_].remaining_gain
