"""One fit from a configuration: data in, a fitted model with its provenance out.  What `swirl fit` does."""

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from swirl.data.folds import animals_to_hold_out, shared_animals
from swirl.data.mdp import MDP
from swirl.data.passages import check_passages
from swirl.data.trajectories import Trajectories
from swirl.estimators.fit_warnings import cautions_of
from swirl.estimators.registry import fixed_arguments, known_arguments, make
from swirl.estimators.swirl import SWIRL
from swirl.io.environment_files import environment_for
from swirl.rewards.forms import Goals
from swirl.text import some
from swirl.workflows import memory_bound
from swirl.workflows.config import Run
from swirl.workflows.goals import discovered, with_goals, with_what_follows
from swirl.workflows.load import read_sessions, stream_sessions

ARGUMENTS = {"modes": "n_modes", "restarts": "n_restarts", "seed": "random_state"}  # of a model, where ours differ


@dataclass(frozen=True)
class Prepared:
    """Data and environment of a run, ready for a model; the memory that its fit will need, where it is known."""

    env: MDP
    data: Any
    """`Trajectories`, or `StreamedTrajectories` where the run asks for it; so are those that are fitted."""
    train: Any
    test: Trajectories | None
    run: Run
    """The run as it was done: what is held out is spelled out, and goals are states of the environment."""
    memory: Any = None
    search: Any = None
    """What was found (`goal_discovery.GoalSearch`), where the run left its goals to be discovered."""

    @property
    def some(self) -> Trajectories:
        """The sessions that were fitted; of those that are streamed, some that stand for all."""
        return self.train if isinstance(self.train, Trajectories) else self.train.sample()


def prepare(run: Run, *, every: int | None = None, names: list[str] | None = None) -> Prepared:
    """Read the data and the environment, hold sessions out.

    Where the run does not say what to hold out, `every` does: every so-many-th animal where five or more are known,
    else every so-many-th session; None: nothing.  `names` are the models that are compared, where several are.
    An environment that is not given is estimated from the sessions that are fitted.
    """
    columns = {name: value for name, value in run.columns.model_dump().items() if name in run.columns.model_fields_set}
    read: Any = stream_sessions if run.stream else read_sessions
    estimated = run.env in (None, "observed")
    data, env = read(run.data, columns, env=None if estimated else run.env, states=run.states)
    if every is not None and run.hold_out is None and run.hold_out_subjects is None:
        whole = animals_to_hold_out(data, every)
        held_out = {"hold_out": every} if whole is None else {"hold_out_subjects": [str(subject) for subject in whole]}
        run = run.model_copy(update=held_out)
    if run.hold_out_subjects is not None:
        train, test = data.split(subjects=_known_subjects(data, run.hold_out_subjects))
    elif run.hold_out is not None:
        train, test = data.split(every=run.hold_out)
    else:
        train, test = data, None
    env = environment_for(train) if estimated else env
    run = with_goals(run, env, names)
    return Prepared(env, data, train, test, run)


def _known_subjects(data: Trajectories, wanted: list[str]) -> list[Any]:
    """The data's own labels of the subjects with these names."""
    own = {str(subject): subject for subject in data.subjects if subject is not None}
    unknown = [name for name in wanted if name not in own]
    if unknown:
        there = f"the data have {some(list(own))}" if own else "the data name none (column subject)"
        raise ValueError(f"hold_out_subjects: no subject {', '.join(map(repr, unknown))}; {there}")
    if len(set(wanted)) == len(own) and None not in data.subjects:
        raise ValueError("hold_out_subjects: these are all the subjects there are, which leaves none to fit to")
    return [own[name] for name in wanted]


def build(run: Run, env: MDP) -> Any:
    """Make the model that a configuration asks for; what it leaves open is the model's own default."""
    spelled, given = given_arguments(run)
    name = run.model.name
    if name is None:
        return SWIRL(env, **given)
    # A default of ours that the model lacks, or fixes, is not the user's fault; what they asked for is passed on.
    known, fixed = known_arguments(name), fixed_arguments(name)
    kept = {key: value for key, value in given.items() if key in spelled or (key in known and key not in fixed)}
    return make(name, env, **kept)


def given_arguments(run: Run) -> tuple[set[str], dict[str, Any]]:
    """Arguments of a model by their own names: those that the user spelled out, and all that have a value."""
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
    spelled = {ARGUMENTS.get(name, name) for name in (*asked.model_fields_set, *run.fit.model_fields_set)}
    return spelled, {name: value for name, value in arguments.items() if value is not None}


def fit(
    run: Run,
    *,
    command: str | None = None,
    progress: bool | None = None,
    callback: Callable[[str], Any] | None = None,
    checkpoint: Mapping[str, Any] | None = None,
) -> tuple[Any, Prepared]:
    """Fit, and tie the model to what it was fitted to (`run_`, which `save` keeps).

    `callback` is told what is tried, where goals are to be discovered.  `checkpoint` holds the arguments of a model's
    own `fit` that say where a long one keeps what it has done.
    """
    ready = prepare(run)
    if isinstance(ready.run.model.reward, Goals) and ready.run.model.goals is not None:
        with_places, search = discovered(ready.run, ready.env, ready.some, callback)
        ready = replace(ready, run=with_places, search=search)
    run = with_what_follows(ready.run)
    model = build(run, ready.env)
    if run.stream and not model.streams:
        raise ValueError(
            f"stream: {run.model.name or type(model).__name__} needs all sessions in memory; SWIRL and ARHMM do not"
        )
    if isinstance(model, SWIRL) and not run.stream:
        ready = replace(ready, memory=check_memory(model, ready.train))
    began = time.perf_counter()
    if "progress" in inspect.signature(model.fit).parameters:  # EM shows a line; counts are done before it could
        model.fit(ready.train, progress=progress, **(checkpoint or {}))
    elif checkpoint:
        raise ValueError(
            f"checkpoint: {run.model.name} is not fitted by EM and is done at once; leave out --checkpoint"
        )
    else:
        model.fit(ready.train)
    model.run_ = provenance(run, ready, command, time.perf_counter() - began)
    return model, ready


def provenance(run: Run, ready: Prepared, command: str | None, seconds: float) -> dict[str, Any]:
    """What ties a fit to its sessions and settings; kept in its file as `run_`."""
    return {
        "config": run.model_dump(mode="json", exclude_none=True, exclude={"compare", "grid"}),
        "command": command,
        "data": str(Path(run.data).absolute()),
        "data_fingerprint": ready.data.fingerprint(),
        "seconds": seconds,
    }


def check_memory(model: SWIRL, train: Trajectories) -> memory_bound.Prediction:
    """Predict what a fit needs, and refuse one that cannot end well."""
    predicted = memory_bound.predict(
        model.env,
        n_modes=model.n_modes,
        history=model.history,
        n_steps=train.n_steps,
        n_sessions=len(train),
        longest=int(train.lengths.max()),
        n_restarts=model.n_restarts,
        reward=model.reward,
        switching=model.switching,
    )
    memory_bound.check(predicted)
    return predicted


def remarks(model: Any, ready: Prepared | None = None) -> list[str]:
    """What should make a user hesitate before building on a fit, each with what to do about it."""
    names = [f"mode {mode}" for mode in range(len(model.mode_shares))]
    found = cautions_of(model, model.restart_agreement_, model.mode_shares, names)
    if ready is None:
        return [*found.values()]
    both_sides = None if ready.test is None else shared_animals(ready.train, ready.test)
    walls = check_passages(ready.some, ready.env).remarks
    return [*walls, *found.values(), *([both_sides] if both_sides else [])]
