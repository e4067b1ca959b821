"""Folds of whole subjects or sessions: neighbouring steps are never on both sides of a choice."""

import numpy as np
from jaxtyping import Int

from swirl.trajectories import Trajectories


def folds(data: Trajectories, n_folds: int = 3) -> list[Int[np.ndarray, "session"]]:
    """Cut the sessions into folds: of whole subjects where there are several, else of whole sessions.

    >>> [fold.tolist() for fold in folds(Trajectories([[0]] * 5), 2)]
    [[0, 2, 4], [1, 3]]
    """
    if n_folds < 2 or n_folds > len(data):
        raise ValueError(f"n_folds={n_folds}: expected 2 up to the number of sessions, {len(data)}")
    subjects = list(dict.fromkeys(data.subjects))
    by_subject = None not in subjects and len(subjects) > 1
    if by_subject and len(subjects) < n_folds:
        raise ValueError(
            f"n_folds={n_folds}: there are only {len(subjects)} subjects, and a subject in two folds would leak; use "
            f"n_folds={len(subjects)}, or leave subjects out of the data to fold by session"
        )
    if by_subject:
        place = {subject: i % n_folds for i, subject in enumerate(subjects)}
        label = np.array([place[subject] for subject in data.subjects])
    else:
        label = np.arange(len(data)) % n_folds
    return [np.flatnonzero(label == fold) for fold in range(n_folds)]


def most_folds(data: Trajectories, wanted: int) -> int:
    """As many folds as wanted, or as there are subjects (sessions, where they are not known); 1: none can be held out.

    >>> most_folds(Trajectories([[0]] * 5, subjects=["a", "a", "b", "b", "b"]), 3)
    2
    """
    subjects = set(data.subjects)
    n_groups = len(data) if None in subjects or len(subjects) == 1 else len(subjects)
    return min(wanted, n_groups)
