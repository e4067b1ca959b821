"""Spontaneous behaviour as syllables, with dopamine (Markowitz et al. 2023): the paper's §4.3, in two readings."""

import numpy as np
from jaxtyping import Float, Int

from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.data.trajectory_checks import MISSING
from swirl.datasets.dataset import Dataset
from swirl.datasets.download import load
from swirl.datasets.labyrinth import check_preparation

SYLLABLES = ("Pause", "Walk", "↑", "←", "Groom", "→", "Sniff", "Sniff↑", "Run")

N_PAIRS = 300
"""Pairs of syllables that the paper keeps of each session; it drops sessions that do not have more."""


def spontaneous(preparation: str = "paper") -> Dataset:
    """Load mice that move about freely in an open field: syllables of behaviour, and dopamine in the striatum.

    State = current syllable, action = next syllable; nine syllables are kept (`SYLLABLES`).  At each step the signal
    "dopamine" is that of the *next* syllable, the one that the action names, z-scored within each session.  `times`
    counts the syllables of the recording from its start; seconds are not known.  Sessions are named by their row in
    the file; which mouse it was is not recorded.  Because action = next state, use `reward="state-action"`.

    Parameters
    ----------
    preparation
        "paper": as the authors' script does it, 159 sessions of 300 steps. Syllable 4 is joined with 0 and those above
        move down by one; pairs of neighbours that are both among the nine are kept, in order, and the others are
        cut out *without a trace*. So only 45.8 % of consecutive steps are adjacent in time, only 54.6 % join up (the
        action of one is the state of the next), and 7.4 % are self-transitions that the joining of 0 and 4
        made. Models must be told that the history restarts where steps do not join up: **impossible="forget"**.
        "clean": the same relabelling; then runs of one syllable are merged (no self-transitions: they are not
        available in the environment), and what the nine do not cover is cut out with a gap in its place: all 180
        sessions, each a whole recording. A segment's last action is missing, and so is its dopamine: the next
        syllable is not one of the nine. Syllables alone between gaps are left out: they have no history and no action.
        Segments are short (38,973 of them, with 1.8 actions on average) and the mode chain restarts at each,
        so what this reading says about modes rests on very few steps at a time.

    Returns
    -------
    Dataset
        Without `truth`.

    Notes
    -----
    From github.com/BRAINML-GT/SWIRL (MIT), after Markowitz et al. (2023), Nature 614:108 (data: Zenodo 7274803,
    CC BY).  A merged run has the largest dopamine of its parts: the values are taken to be peaks within a syllable
    (`signal_reref_dff_z_max` there), and the peak of the whole is the largest of the peaks.

    Examples
    --------
    >>> spontaneous().trajectories                       # doctest: +SKIP
    Trajectories(159 sessions, 47,700 steps (300 each), 9 states, 9 actions, signals: dopamine)
    >>> spontaneous("clean").trajectories                # doctest: +SKIP
    Trajectories(180 sessions, 107,819 steps (... each), 9 states, 9 actions, 38,793 gaps, signals: dopamine)
    """
    check_preparation(preparation)
    clean = preparation == "clean"
    syllables = join_pauses(load("spontaneous/seqs.npy"))
    dopamine = load("spontaneous/z_features.npy").astype(float)
    prepare = _segments if clean else _pairs
    sessions = {
        str(row): prepared
        for row in range(len(syllables))
        if (prepared := prepare(syllables[row], dopamine[row])) is not None
    }
    states, actions, signal, positions, gaps = zip(*sessions.values(), strict=True)
    trajectories = Trajectories(
        list(states),
        list(actions),
        gaps=list(gaps),
        times=list(positions),
        signals={"dopamine": list(signal)},
        state_names=SYLLABLES,
        action_names=SYLLABLES,
        names=list(sessions),
    )
    return Dataset(spontaneous_env(self_transitions=not clean), trajectories)


def spontaneous_env(self_transitions: bool = True) -> MDP:
    """Make the environment of syllables: the action *is* the next state.

    >>> env = spontaneous_env(self_transitions=False)
    >>> env.successors.next[0, :, 0].tolist(), int(env.available.sum())
    ([0, 1, 2, 3, 4, 5, 6, 7, 8], 72)
    """
    n = len(SYLLABLES)
    return MDP.deterministic(
        np.tile(np.arange(n), (n, 1)),
        available=None if self_transitions else ~np.eye(n, dtype=bool),
        state_names=SYLLABLES,
        action_names=SYLLABLES,
    )


def join_pauses(syllables: Int[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
    """Join syllable 4 with 0, as the authors do, and move those above 4 down by one.

    >>> join_pauses(np.array([0, 3, 4, 5, 56]))
    array([ 0,  3,  0,  4, 55])
    """
    return np.where(syllables == 4, 0, syllables - (syllables > 4))


Prepared = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""States, actions, dopamine, positions in the recording, gaps."""


def _pairs(syllables: Int[np.ndarray, "time"], dopamine: Float[np.ndarray, "time"]) -> Prepared | None:
    """Keep the first pairs of neighbours among the nine; None when there are too few."""
    ours = syllables < len(SYLLABLES)
    first = np.flatnonzero(ours[:-1] & ours[1:])
    if len(first) <= N_PAIRS:
        return None
    first = first[:N_PAIRS]
    return syllables[first], syllables[first + 1], dopamine[first + 1], first, np.zeros(0, np.int64)


def _segments(syllables: Int[np.ndarray, "time"], dopamine: Float[np.ndarray, "time"]) -> Prepared | None:
    """Merge runs and keep the segments of two or more among the nine; None when there are none."""
    onsets = np.flatnonzero(np.diff(syllables, prepend=-1))
    runs, peaks = syllables[onsets], np.maximum.reduceat(dopamine, onsets)
    ours = runs < len(SYLLABLES)
    goes_on = np.append(ours[:-1] & ours[1:], False)  # the next run is one of the nine too
    kept = np.flatnonzero(goes_on | np.append(False, goes_on[:-1]))
    if not kept.size:
        return None
    following = np.minimum(kept + 1, len(runs) - 1)
    actions = np.where(goes_on[kept], runs[following], MISSING)
    signal = np.where(goes_on[kept], peaks[following], np.nan)
    return runs[kept], actions, signal, onsets[kept], np.flatnonzero(~goes_on[kept][:-1]) + 1
