"""Sessions from the canonical table, as every command reads them: CSV or Parquet, one row per step."""

from pathlib import Path
from typing import Any

from swirl.importers import tables
from swirl.importers.sessions import warn_of
from swirl.mdp import MDP
from swirl.trajectories import Trajectories

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".txt", ".parquet", ".pq")


def read_data(path: Any, columns: dict[str, str] | None = None, *, env: MDP | None = None) -> Trajectories:
    """Read sessions from a table; labels are those of the environment where it has names.

    Parameters
    ----------
    path
        CSV (or tab-separated, or gzipped) or Parquet with columns session, subject, group, t, state, action, gap and
        covariates; only state is needed.
    columns
        Other names of those columns: {"state": "node", "time": "seconds"}.
    env
        The sessions' environment: its names give labels their numbers.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "sessions.csv"
    >>> _ = file.write_text("session,t,state\\na,0.0,home\\na,0.5,water\\nb,0.0,water\\n")
    >>> read_data(file)
    Trajectories(2 sessions, 3 steps (1 to 2 each), 2 states, 1 action)
    """
    path = Path(path)
    name = path.name.lower()
    if not name.endswith(SUFFIXES):
        raise ValueError(
            f"{path}: expected a table ({', '.join(SUFFIXES)}); other recordings are made into one by `swirl import`"
        )
    read = tables.read_parquet if name.endswith((".parquet", ".pq")) else tables.read_csv
    state_names = None if env is None else env.state_names
    action_names = None if env is None else env.action_names
    sessions = read(path, columns, state_names=state_names, action_names=action_names)
    arguments = sessions.arguments()
    sizes = {} if env is None else _sizes(env, arguments)
    try:
        data = Trajectories(**arguments, **sizes)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    warn_of(sessions.notes, stacklevel=2)
    return data


def _sizes(env: MDP, arguments: dict[str, Any]) -> dict[str, int]:
    """Numbers of labels of the environment, where the data's own are not larger: those are for `check` to tell."""
    sizes = {}
    for noun, n in (("state", env.n_states), ("action", env.n_actions)):
        labels = arguments[f"{noun}s"] or []
        largest = max((int(x.max(initial=-1)) for x in labels), default=-1)
        if arguments[f"{noun}_names"] is None and largest < n:
            sizes[f"n_{noun}s"] = n
    return sizes
