"""`Trajectories.from_…`: a class method for each kind of file; and the way out, to pandas and xarray.

Readers stand above `data` (they return its types), so each is imported when its method is called.
"""

from typing import Any, TypeVar

from swirl.errors import renamed

T = TypeVar("T", bound="FromFiles")


UPSIDE_DOWN = (
    "BEWARE: y of these tracks grows downwards, as in the pixels of a video, but upwards on the grid, whose rows and "
    "moves (up, down) are upside down so: give Grid(…, y_down=True); or y_down=False here, if y was turned before"
)


def _columns(columns: Any, *named: Any) -> Any:
    """What columns are called, by a dict (or `Columns`), or by keywords of their own."""
    roles = ("session", "subject", "group", "time", "state", "action", "gap")
    given = {role: name for role, name in zip(roles, named, strict=True) if name is not None}
    if given and columns is not None:
        raise ValueError(f"columns and {' and '.join(given)} both say what columns are called: give one of them")
    return given or columns


class FromFiles:
    """Class methods that build sessions from users' files; `Trajectories` has them.

    What was done on the way stands in `notes`; what to beware of is a warning too (`swirl.ImportNotice`).
    """

    @classmethod
    def _told(cls: type[T], read: Any) -> T:
        """What was read, after a warning at the line that called the door."""
        from swirl.io.notes import warn_of

        warn_of(read.notes, stacklevel=3)
        of_ours: Any = cls
        return read if cls is type(read) else of_ours.concatenate([read])

    @classmethod
    def from_dataframe(
        cls: type[T],
        frame: Any,
        columns: Any = None,
        *,
        signals: Any = None,
        state_names: Any = None,
        action_names: Any = None,
        session: Any = None,
        subject: Any = None,
        group: Any = None,
        time: Any = None,
        state: Any = None,
        action: Any = None,
        gap: Any = None,
    ) -> T:
        """Build from a long table, one row per step (see `io.session_table.from_frame`).

        `state="arm", time="seconds"` says what its columns are called, where that is not usual; so does
        `columns={"state": "arm", "time": "seconds"}`; `{"session": ("mouse", "session")}` that two columns tell a
        session together.

        >>> import pandas as pd
        >>> from swirl import Trajectories
        >>> Trajectories.from_dataframe(pd.DataFrame({"session": ["a", "a", "b"], "state": [0, 1, 2]}))
        Trajectories(2 sessions, 3 steps (1 to 2 each), 3 states, 1 action)
        """
        from swirl.io import session_table

        columns = _columns(columns, session, subject, group, time, state, action, gap)
        read = session_table.from_frame(
            frame, columns, signals=signals, state_names=state_names, action_names=action_names
        )
        return cls._told(read)

    @classmethod
    def from_csv(
        cls: type[T],
        path: Any,
        columns: Any = None,
        *,
        signals: Any = None,
        state_names: Any = None,
        action_names: Any = None,
        session: Any = None,
        subject: Any = None,
        group: Any = None,
        time: Any = None,
        state: Any = None,
        action: Any = None,
        gap: Any = None,
    ) -> T:
        """Build from a CSV with columns session, subject, group, t, state, action, gap and signals.

        Only state is needed. `state="node"`, or `columns={"state": "node"}`, gives them other names.

        >>> import tempfile, pathlib
        >>> from swirl import Trajectories
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "sessions.csv"
        >>> _ = file.write_text("session,t,state\\na,0.0,home\\na,0.5,water\\n")
        >>> Trajectories.from_csv(file).state_names
        ('home', 'water')
        """
        from swirl.io import session_table

        columns = _columns(columns, session, subject, group, time, state, action, gap)
        read = session_table.read_csv(
            path, columns, signals=signals, state_names=state_names, action_names=action_names
        )
        return cls._told(read)

    @classmethod
    def from_parquet(
        cls: type[T],
        path: Any,
        columns: Any = None,
        *,
        signals: Any = None,
        state_names: Any = None,
        action_names: Any = None,
        session: Any = None,
        subject: Any = None,
        group: Any = None,
        time: Any = None,
        state: Any = None,
        action: Any = None,
        gap: Any = None,
    ) -> T:
        """Build from a Parquet file with the columns of `from_csv`; needs pyarrow."""
        from swirl.io import session_table

        columns = _columns(columns, session, subject, group, time, state, action, gap)
        read = session_table.read_parquet(
            path, columns, signals=signals, state_names=state_names, action_names=action_names
        )
        return cls._told(read)

    @classmethod
    @renamed(least_usage="min_usage", shortest_run="min_run")
    def from_moseq(
        cls: type[T],
        path: Any,
        *,
        fps: float | int | None = None,
        index: Any = None,
        syllable_info: Any = None,
        keep: Any = None,
        min_usage: float | int = 0.005,
        min_run: int = 1,
    ) -> T:
        """Build from keypoint-MoSeq's or MoSeq's syllables (see `io.moseq.read_moseq`).

        State = syllable, action = the next one, runs merged, rare syllables dropped with gaps marked.
        """
        from swirl.io import moseq

        read = moseq.read_moseq(
            path, fps=fps, index=index, syllable_info=syllable_info, keep=keep, min_usage=min_usage,
            min_run=min_run,
        )  # fmt: skip
        return cls._told(read)

    @classmethod
    def from_bouts(
        cls: type[T],
        path: Any,
        columns: Any = None,
        *,
        fps: float | int | None = None,
        priority: Any = None,
        pauses: str = "ignore",
        max_pause: float | int | None = None,
        drop: Any = None,
        points: bool = False,
    ) -> T:
        """Build from tables of bouts (BORIS, SimBA, …) or of labels per frame (see `io.bout_tables.read_bout_tables`).

        State = behaviour, action = the next one. Overlaps are refused, or cut by `priority`.
        """
        from swirl.io import bout_tables

        read = bout_tables.read_bout_tables(
            path, columns, fps=fps, priority=priority, pauses=pauses, max_pause=max_pause, drop=drop, points=points
        )
        return cls._told(read)

    @classmethod
    @renamed(least_confidence="min_confidence", least_dwell="min_dwell", skipped="on_skip")
    def from_tracks(
        cls: type[T],
        source: Any,
        places: Any,
        *,
        fps: float | int | None = None,
        keypoint: Any = None,
        individual: str | None = None,
        min_confidence: float | int | None = None,
        min_dwell: float | int = 0.0,
        on_skip: str = "gap",
        series: str | None = None,
        y_down: bool | None = None,
    ) -> T:
        """Build from positions: one step per visit to a place.

        Parameters
        ----------
        source
            What `io.tracks.read_tracks` reads (DeepLabCut, SLEAP, movement, a table with x and y), an NWB file or an
            open `pynwb.NWBFile` (or a list of these), or a list of `Track`.
        places
            `io.places.Grid`, `Polygons` or `Nodes`; `environments.environment_of_places` makes their MDP.
        series
            Of an NWB file that holds several: its path inside the file, or the last part of it.
        y_down
            Whether y grows downwards, as in the pixels of a video. A grid says so itself, `Grid(…, y_down=True)`; what
            says otherwise here is refused. None: as the grid says; a warning where poses of a video say otherwise.

        Examples
        --------
        >>> import numpy as np
        >>> from swirl import Trajectories
        >>> from swirl.io.places import Grid
        >>> from swirl.io.tracks import Track
        >>> positions = np.array([[0.5, 0.5], [0.6, 0.5], [1.5, 0.5], [1.5, 1.5]])
        >>> track = Track("m1", times=np.arange(4.0), positions=positions)
        >>> Trajectories.from_tracks([track], Grid(x=(0, 2), y=(0, 2), shape=(2, 2))).states[0]
        array([2, 3, 1])
        """
        from swirl.data.environments import grows_down
        from swirl.io import tracks
        from swirl.io.nwb.file import is_nwb
        from swirl.io.nwb.reading import read_nwb_tracks
        from swirl.io.visits import visits

        grows_down(places, y_down)
        asked: Any = {"keypoint": keypoint, "individual": individual, "fps": fps, "min_confidence": min_confidence}
        found = source
        if is_nwb(source):
            found = read_nwb_tracks(source, series=series, **asked)
        elif not (isinstance(source, list) and source and all(isinstance(x, tracks.Track) for x in source)):
            found = tracks.read_tracks(source, **asked)
        sessions = visits(found, places, min_dwell=min_dwell, on_skip=on_skip)
        upwards = y_down is None and not getattr(places, "y_down", True)  # of a grid; zones have names of their own
        if upwards and all(track.y_down for track in found):
            sessions = sessions.with_labels(notes=(*sessions.notes, UPSIDE_DOWN))
        return cls._told(sessions)

    @classmethod
    @renamed(longest_pause="max_pause")
    def from_nwb(
        cls: type[T], path: Any, *, table: str | None = None, label: str | None = None, max_pause: Any = None
    ) -> T:
        """Build from labelled intervals or events of NWB files, one step each (see `io.nwb.reading.read_nwb_bouts`).

        `path` may be an open `pynwb.NWBFile` as well. Positions of NWB files: `from_tracks(path, places)`.
        """
        from swirl.io.nwb import reading

        return cls._told(reading.read_nwb_bouts(path, table=table, label=label, max_pause=max_pause))

    @classmethod
    def from_episodes(cls: type[T], recorded: Any, *, names: Any = None, subjects: Any = None) -> T:
        """Build from Minari or Gymnasium episodes with discrete observations: T + 1 (or T) observations, T actions.

        >>> from swirl import Trajectories
        >>> Trajectories.from_episodes([{"observations": [0, 1, 2], "actions": [1, 1]}]).actions[0]
        array([ 1,  1, -1])
        """
        from swirl.io import episodes

        return cls._told(episodes.from_episodes(recorded, names=names, subjects=subjects))

    def to_dataframe(self, *, modes: Any = None, probabilities: Any = None, mode_names: Any = None) -> Any:
        """One row per step, as a pandas table that `from_dataframe` reads back (see `io.export_tables.to_frame`).

        >>> from swirl import Trajectories
        >>> Trajectories([[0, 1]], [[1]]).to_dataframe()[["session", "step", "state"]].values.tolist()
        [['0', 0, 0], ['0', 1, 1]]
        """
        from swirl.io import export_tables

        own: Any = self
        return export_tables.to_frame(own, modes=modes, probabilities=probabilities, mode_names=mode_names)

    def to_xarray(self, *, modes: Any = None, probabilities: Any = None, mode_names: Any = None) -> Any:
        """The columns of `to_dataframe` as an `xarray.Dataset` along one dimension, row.

        >>> from swirl import Trajectories
        >>> dict(Trajectories([[0, 1], [1]], [[1], [-1]]).to_xarray().sizes)
        {'row': 3}
        """
        frame = self.to_dataframe(modes=modes, probabilities=probabilities, mode_names=mode_names)
        return frame.rename_axis("row").to_xarray()

    def to_pynapple(self, *, modes: Any = None, probabilities: Any = None, mode_names: Any = None) -> Any:
        """Sessions, and what a fit found in them, as pynapple's objects (see `io.pynapple_objects.to_pynapple`).

        A dict, name of the session → `states` and `modes` (Tsd), `bouts` (IntervalSet with the columns mode and label)
        and `probabilities` (TsdFrame).

        >>> from swirl import Trajectories
        >>> data = Trajectories([[0, 1]], times=[[0.0, 0.5]], names=["m1"])
        >>> data.to_pynapple(modes=[[0, 1]])["m1"].bouts.label  # doctest: +SKIP
        """
        from swirl.io import pynapple_objects

        own: Any = self
        return pynapple_objects.to_pynapple(own, modes=modes, probabilities=probabilities, mode_names=mode_names)
