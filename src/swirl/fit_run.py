"""One fit from a configuration: data in, a fitted model with its provenance out.  What `swirl fit` does."""

import inspect
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from swirl import memory
from swirl.config import Run
from swirl.data_files import read_data
from swirl.environments import SHORTHANDS, environment_for, infer_actions, read_environment
from swirl.mdp import MDP
from swirl.model import SWIRL
from swirl.registry import fixed_arguments, known_arguments, make
from swirl.trajectories import Trajectories

ARGUMENTS = {"modes": "n_modes", "restarts": "n_restarts", "seed": "random_state"}  # of a model, where ours differ


@dataclass(frozen=True)
class Prepared:
    """Data and environment of a run, ready for a model; the memory that its fit will need, where it is known."""

    env: MDP
    data: Trajectories
    train: Trajectories
    test: Trajectories | None
    memory: Any = None


def prepare(run: Run) -> Prepared:
    """Read the data and the environment, infer the actions that are unique, hold sessions out."""
    columns = {name: value for name, value in run.columns.model_dump().items() if name in run.columns.model_fields_set}
    if run.env is None or run.env in SHORTHANDS:
        data = read_data(run.data, columns)
        env = environment_for(data, run.env)
    else:
        env = read_environment(run.env, run.states)
        data = read_data(run.data, columns, env=env)
    if not all((actions[:-1] >= 0).all() for actions in data.actions):
        data = infer_actions(data, env)
    if run.hold_out is None:
        return Prepared(env, data, data, None)
    train, test = data.split(every=run.hold_out)
    return Prepared(env, data, train, test)


def build(run: Run, env: MDP) -> Any:
    """Make the model that a configuration asks for; what it leaves open is the model's own default."""
    asked = run.model
    arguments: dict[str, Any] = {
        "n_modes": asked.modes,
        "history": asked.history,
        "switching": asked.switching,
        "reward": asked.reward,
        "discount": asked.discount,
        "temperature": asked.temperature,
        "reward_prior": asked.reward_prior,
        "switching_prior": asked.switching_prior,
        "impossible": asked.impossible,
        "n_restarts": run.fit.restarts,
        "max_iter": run.fit.max_iter,
        "tol": run.fit.tol,
        "random_state": run.fit.seed,
    }
    given = {name: value for name, value in arguments.items() if value is not None}
    if asked.name is None:
        return SWIRL(env, **given)
    # A default of ours that the model lacks, or fixes, is not the user's fault; what they asked for is passed on.
    spelled = {ARGUMENTS.get(name, name) for name in (*asked.model_fields_set, *run.fit.model_fields_set)}
    known, fixed = known_arguments(asked.name), fixed_arguments(asked.name)
    kept = {name: value for name, value in given.items() if name in spelled or (name in known and name not in fixed)}
    return make(asked.name, env, **kept)


def fit(run: Run, *, command: str | None = None, progress: bool | None = None) -> tuple[Any, Prepared]:
    """Fit, and tie the model to what it was fitted to (`run_`, which `save` keeps)."""
    ready = prepare(run)
    model = build(run, ready.env)
    if isinstance(model, SWIRL):
        predicted = memory.predict(
            ready.env,
            n_modes=model.n_modes,
            history=model.history,
            n_steps=ready.train.n_steps,
            n_sessions=len(ready.train),
            longest=int(ready.train.lengths.max()),
            n_restarts=model.n_restarts,
            reward=model.reward,
            switching=model.switching,
        )
        memory.check(predicted)
        ready = replace(ready, memory=predicted)
    began = time.perf_counter()
    if "progress" in inspect.signature(model.fit).parameters:  # EM shows a line; counts are done before it could
        model.fit(ready.train, progress=progress)
    else:
        model.fit(ready.train)
    model.run_ = {
        "config": run.model_dump(mode="json", exclude_none=True),
        "command": command,
        "data": str(Path(run.data).absolute()),
        "data_fingerprint": ready.data.fingerprint(),
        "seconds": time.perf_counter() - began,
    }
    return model, ready
