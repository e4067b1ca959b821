"""Sessions with their environment, or with the fit that was made of them: what the commands have in common."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from swirl.data.arenas import ring
from swirl.data.mdp import MDP
from swirl.data.streamed import StreamedTrajectories
from swirl.data.trajectories import Trajectories
from swirl.errors import Faults, Notice
from swirl.estimators.registry import load
from swirl.io import open_table
from swirl.io.environment_files import SHORTHANDS, environment_for, read_environment, states_beside
from swirl.io.session_table import PARQUETS, read_data
from swirl.io.text_table import number
from swirl.text import counted
from swirl.text import some as listed

TABLES = (".csv", ".csv.gz", ".tsv", ".parquet")


def read_sessions(
    path: Any, columns: dict[str, Any] | None = None, *, env: MDP | str | None = None, states: Any = None
) -> tuple[Trajectories, Any]:
    """Read a table of sessions, and their environment (None: not known).

    Parameters
    ----------
    columns
        Other names of the table's columns, as in `read_data`.
    env
        The environment; or its edge list; or "syllables" or "observed", to make it from the sessions; None: not known.
    states
        Table of states of an edge list.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "sessions.csv"
    >>> _ = file.write_text("state\\nhome\\nwater\\nhome\\n")
    >>> read_sessions(file, env="observed")[1].state_names
    ('home', 'water')
    """
    if env is None or (isinstance(env, str) and env in SHORTHANDS):
        data = read_data(path, columns)
        return data, None if env is None else environment_for(data, env)
    known = env if isinstance(env, MDP) else read_environment(env, states)
    data = read_data(path, columns, env=known)
    if told := places_elsewhere(path, known):
        warnings.warn(told, Notice, stacklevel=2)
    return data, known


def places_elsewhere(path: Any, env: MDP) -> str:
    """Say that a table's places lie elsewhere than those of the environment that it is read with; "" where not.

    An import lays a grid over what was recorded, and writes where its cells lie beside the table.  Two imports may call
    their cells alike and mean other places.  An environment of `swirl env` lies nowhere; zones that have names of their
    own may be drawn on videos of several sizes.
    """
    from swirl.workflows.import_recordings import environment_beside

    beside = states_beside(environment_beside(path)) if isinstance(path, str | Path) else None
    if beside is None or not beside.exists() or env.coordinates is None or env.n_states < 2:
        return ""
    try:
        rows = open_table.rows(beside, ("name", "x", "y"), Faults(), also="state")
    except (OSError, ValueError):  # it is not asked for: what is wrong with it is not this reader's affair
        return ""
    place = {row["name"]: (number(row["x"]), number(row["y"])) for _, row in rows}
    both = [i for i, name in enumerate(env.state_names or ()) if name in place]
    if not both:
        return ""
    names = [(env.state_names or ())[i] for i in both]
    here, there = env.coordinates[both], np.array([place[name] for name in names])
    far = np.linalg.norm(here - there, axis=1)
    if not (far > 0).any():
        return ""
    apart = _to_the_nearest(env.coordinates)
    half, cells = 0.5 * float(np.median(apart)), all(re.fullmatch(r"r\d+c\d+", name) for name in names)
    moved = np.flatnonzero(far > half)
    if not moved.size or _is_drawn(env.coordinates, apart) or (not cells and _is_scaled(here, there, half)):
        return ""
    at, was = (f"({', '.join(f'{x:.4g}' for x in where[moved[0]].tolist())})" for where in (there, here))
    remedy = "If the arena is the same, import the recordings together, or with the same --bounds"
    return (
        f"BEWARE: {len(moved):,} of {counted(len(both), 'place')} lie elsewhere in the recording of {Path(path).name}: "
        f"{names[moved[0]]} is at {at} there (see {beside.name}), and at {was} in this environment. "
        f"{remedy if cells else 'If they are other places, give them other names'}"
    )


def _to_the_nearest(coordinates: np.ndarray) -> np.ndarray:
    """How far each place is from the nearest other.

    >>> _to_the_nearest(np.array([[0.0, 0], [0, 2], [0, 3], [0, 3]]))
    array([2., 1., 1.])
    """
    from scipy.spatial import KDTree

    places = np.unique(coordinates, axis=0)
    return KDTree(places).query(places, k=2)[0][:, 1] if len(places) > 1 else np.zeros(1)


def _is_drawn(coordinates: np.ndarray, apart: np.ndarray) -> bool:
    """Whether places lie as `swirl env` draws them, 1 apart, and not where a camera saw them.

    >>> [_is_drawn(places, _to_the_nearest(places)) for places in (np.eye(2) * 0.5, ring(5).coordinates)]
    [False, True]
    """
    if not np.allclose(apart, 1):
        return False
    whole = (coordinates == np.round(coordinates)).all() and (coordinates.min(axis=0) == 0).all()
    return bool(whole) or (
        len(coordinates) > 2 and np.allclose(coordinates, np.asarray(ring(len(coordinates)).coordinates))
    )


def _is_scaled(here: np.ndarray, there: np.ndarray, near: float) -> bool:
    """Whether places lie alike but for a shift and the unit of each axis, as on videos of two sizes.

    >>> square = np.array([[0.0, 0], [0, 1], [1, 1], [1, 0]])
    >>> _is_scaled(square, square * [2, 3] + 5, 0.1), _is_scaled(square, -square, 0.1)
    (True, False)
    """
    here, there = here - here.mean(axis=0), there - there.mean(axis=0)
    both, spread = (here * there).sum(axis=0), (there**2).sum(axis=0)
    scale = np.divide(both, spread, out=np.ones(2), where=spread > 0)
    return bool((scale > 0).all() and (np.linalg.norm(there * scale - here, axis=1) <= near).all())


def stream_sessions(
    path: Any, columns: dict[str, Any] | None = None, *, env: MDP | str | None = None, states: Any = None
) -> tuple[StreamedTrajectories, Any]:
    """The same of a Parquet file, or of all those in a folder, that are read a part at a time.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> folder = Path(tempfile.mkdtemp())
    >>> for day in "12":
    ...     table = pd.DataFrame({"session": [day] * 3, "state": ["home", "water", "home"]})
    ...     table.to_parquet(folder / f"{day}.parquet")
    >>> stream_sessions(folder, env="observed")
    (StreamedTrajectories(2 sessions, 6 steps), MDP(2 states, 2 actions, deterministic, 2 of 4 (state, action) not \
available, estimated from 2 sessions))
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: give a Parquet file, or a folder of them")
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or not all(file.name.lower().endswith(PARQUETS) for file in files):
        what = "holds no .parquet file" if path.is_dir() else "is no .parquet file"
        raise ValueError(f"{path} {what}: only Parquet is read a part at a time (`swirl import` writes it)")
    given = env is not None and not (isinstance(env, str) and env in SHORTHANDS)
    known: Any = read_environment(env, states) if given and not isinstance(env, MDP) else env if given else None
    names = {} if known is None else {"state_names": known.state_names, "action_names": known.action_names}
    data = StreamedTrajectories.from_parquet(files, columns, **names)
    if known is not None and (told := next(filter(None, (places_elsewhere(file, known) for file in files)), "")):
        warnings.warn(told, Notice, stacklevel=2)
    return data, known if given or env is None else environment_for(data, env)


def open_fit(path: Any) -> Any:
    """Load a model, saying what is wrong where the file is none."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: give a file that `swirl fit` saved")
    return load(path)


def sessions_of(
    model: Any, data: Any = None, *, columns: dict[str, Any] | None = None, some: bool = False
) -> Trajectories:
    """Sessions read as the fit read its own: the same columns and labels.

    Parameters
    ----------
    data
        A table of sessions; None: the fit's own, if the file is still where it was and still the same.
    columns
        Names of columns that differ from those of the fit's own table.
    some
        Of a fit that was streamed take some that stand for all; else it has to be said which.
    """
    run = model.run_ or {}
    config = run.get("config", {})
    path = data
    if path is None:
        path = run.get("data")
        if path is None:
            raise ValueError("the fit does not say which sessions it was fitted to: give them with --data")
        if not Path(path).exists():
            raise FileNotFoundError(
                f"the sessions of the fit were in {path}, which is not there now: give them with --data"
            )
    streamed = data is None and config.get("stream")
    if streamed and not some:
        raise ValueError(f"{path} was streamed: say which of its files, or which other sessions, with --data FILE")
    read: Any = stream_sessions if streamed else read_sessions
    sessions, _ = read(path, {**(config.get("columns") or {}), **(columns or {})} or None, env=model.env)
    if data is None and run.get("data_fingerprint") not in (None, sessions.fingerprint()):
        raise ValueError(f"{path} has changed since the fit: give the sessions to use with --data {path}")
    if streamed:
        sample = sessions.sample()
        if len(sample) < len(sessions.inventory.lengths):
            all_ = counted(len(sessions.inventory.lengths), "session")
            words = f"{path} was streamed: shown are {len(sample):,} of its {all_}, a sample of all"
            warnings.warn(words, Notice, stacklevel=2)
        return sample
    return sessions


def steps_or_bouts(model: Any, sessions: Trajectories, *, bouts: bool = False, mode_names: Any = None) -> Any:
    """The modes of sessions as a table: every step, or every bout."""
    from swirl.io.export_tables import segments_frame, to_frame

    paths = model.predict(sessions)
    mode_names = mode_names or model.mode_names_
    if bouts:
        return segments_frame(sessions, paths, mode_names=mode_names)
    return to_frame(sessions, modes=paths, probabilities=model.predict_proba(sessions), mode_names=mode_names)


def rewards_frame(model: Any, mode_names: Any = None) -> Any:
    """Rewards and policies as a long table: mode, states of the history (newest first), action, reward, probability.

    Where the modes have names (those given, else the model's), `mode_name` stands beside the number.
    """
    import pandas as pd

    env, histories = model.env, np.asarray(model.histories_)
    rewards, policies = np.asarray(model.rewards_), np.asarray(model.policies_)
    mode, history, action = np.indices(policies.shape).reshape(3, -1)
    allowed = env.available[histories[:, 0]][history, action]
    columns: dict[str, Any] = {"mode": mode, **_mode_name("mode_name", mode, mode_names or model.mode_names_)}
    for lag in range(histories.shape[1]):
        labels = _named(histories[:, lag], env.state_names)
        columns["state" if lag == 0 else f"state_{lag}_before"] = labels[history]
    columns["action"] = _named(np.arange(policies.shape[2]), env.action_names)[action]
    spread = rewards if rewards.ndim == 3 else np.broadcast_to(rewards[:, :, None], policies.shape)
    columns["reward"] = spread.reshape(-1)
    columns["probability"] = policies.reshape(-1)
    return pd.DataFrame(columns)[allowed].reset_index(drop=True)


def transitions_frame(model: Any, mode_names: Any = None) -> Any:
    """Probabilities of switching as a long table: state, mode, next mode, probability.

    Where the modes have names (those given, else the model's), they stand beside the numbers.
    """
    import pandas as pd

    table = np.asarray(model.mode_transitions_)
    state, mode, following = np.indices(table.shape).reshape(3, -1)
    names = _named(np.arange(len(table)), model.env.state_names)
    called = mode_names or model.mode_names_
    columns: dict[str, Any] = {"state": names[state], "mode": mode, **_mode_name("mode_name", mode, called)}
    columns |= {"next_mode": following, **_mode_name("next_mode_name", following, called)}
    return pd.DataFrame({**columns, "probability": table.reshape(-1)})


def _mode_name(column: str, modes: np.ndarray, names: Any) -> dict[str, np.ndarray]:
    """A column of names beside numbers of modes; none where the modes have no names."""
    return {} if names is None else {column: np.array(list(names), dtype=object)[modes]}


def _named(labels: np.ndarray, names: tuple[str, ...] | None) -> np.ndarray:
    """Names of labels; −1, before the start, is empty."""
    if names is None:
        return np.where(labels < 0, "", labels.astype(str)).astype(object) if (labels < 0).any() else labels
    return np.array([*names, ""], dtype=object)[labels]


def export_fit(
    fit: Any,
    output: Any,
    *,
    what: str = "steps",
    data: Any = None,
    mode_names: list[str] | None = None,
    session: str | None = None,
    append_to: Any = None,
    session_start: Any = None,
    species: str | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Write what a fit found, in the format of the output's suffix; returns the files written.

    Of one `session`, or of all. `append_to`, `session_start` and `species` are of NWB files (`write_nwb`).
    """
    from swirl.io.export_tables import write_table

    output, model = Path(output), open_fit(fit)
    n_modes = len(model.initial_modes_)
    if mode_names is not None and len(mode_names) != n_modes:
        raise ValueError(f"--modes gives {len(mode_names)} names, but the fit has {n_modes} modes: give one for each")
    mode_names = mode_names or model.mode_names_
    name = output.name.lower()
    of_nwb = {"--append-to": append_to, "--session-start": session_start, "--species": species}
    if not name.endswith(".nwb") and (given := [option for option, value in of_nwb.items() if value is not None]):
        raise ValueError(f"{' and '.join(given)}: only an NWB file is written with that; end the output in .nwb")
    if name.endswith(TABLES):
        if what in ("rewards", "transitions"):
            if session is not None:
                raise ValueError(f"--session {session}: {what} are those of the fit, not of a session; leave it out")
            made = rewards_frame if what == "rewards" else transitions_frame
            table = made(model, mode_names=mode_names)
        else:
            sessions = _one(sessions_of(model, data), session)
            table = steps_or_bouts(model, sessions, bouts=what == "bouts", mode_names=mode_names)
        return [write_table(table, output, overwrite=overwrite)]
    if name.endswith((".mat", ".nwb")):
        sessions = _one(sessions_of(model, data), session)
        paths, probabilities = model.predict(sessions), model.predict_proba(sessions)
        if name.endswith(".mat"):
            from swirl.io.export_matlab import write_matlab

            return [
                write_matlab(
                    output, sessions, paths, probabilities=probabilities, model=model, mode_names=mode_names,
                    overwrite=overwrite,
                )
            ]  # fmt: skip
        from swirl.io.nwb.writing import write_nwb

        return write_nwb(
            output, sessions, paths, mode_names=mode_names, probabilities=probabilities, session=session,
            append_to=append_to, session_start=session_start, species=species,
            parameters=(model.run_ or {}).get("config"), overwrite=overwrite,
        )  # fmt: skip
    raise ValueError(f"{output}: expected one of {', '.join(TABLES)}, .mat, .nwb")


def _one(sessions: Trajectories, name: str | None) -> Trajectories:
    """The session that is called so; all where no name is given."""
    if name is None:
        return sessions
    if sessions.names.count(name) != 1:
        known = listed([repr(one) for one in sessions.names], 20)
        raise ValueError(f"--session {name}: give the name of one session; there are {known}")
    return sessions[sessions.names.index(name)]
