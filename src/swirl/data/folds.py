"""Folds and tests of whole subjects or sessions: neighbouring steps are never on both sides of a choice."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from swirl.data.trajectories import Trajectories
from swirl.errors import SameAnimalsWarning as SameAnimalsWarning  # it stood here once
from swirl.text import counted, some

ENOUGH_ANIMALS = 5  # to hold whole animals out, and to tell how much they differ
SHORT = 20  # steps; shorter sessions may be alike by chance


def folds(data: Trajectories, n_folds: int = 3, repeat: int = 0) -> list[Int[np.ndarray, "session"]]:
    """Cut the sessions into folds: of whole subjects where there are several, else of whole sessions.

    `repeat` 1, 2, … cut them otherwise, each time in the same way.

    >>> [fold.tolist() for fold in folds(Trajectories([[0]] * 5), 2)]
    [[0, 2, 4], [1, 3]]
    >>> [fold.tolist() for fold in folds(Trajectories([[0]] * 5), 2, repeat=1)]
    [[0, 1, 3], [2, 4]]
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
        place = dict(zip(subjects, _places(len(subjects), n_folds, repeat).tolist(), strict=True))
        label = np.array([place[subject] for subject in data.subjects])
    else:
        label = _places(len(data), n_folds, repeat)
    return [np.flatnonzero(label == fold) for fold in range(n_folds)]


def _places(n: int, n_folds: int, repeat: int) -> Int[np.ndarray, "_"]:
    """The fold of each of n things: in turn, or in an order that is drawn for each repeat."""
    turn = np.arange(n) % n_folds
    return turn if repeat == 0 else np.random.default_rng(repeat).permutation(turn)


def max_folds(data: Trajectories, wanted: int) -> int:
    """As many folds as wanted, or as there are subjects (sessions, where they are not known); 1: none can be held out.

    >>> max_folds(Trajectories([[0]] * 5, subjects=["a", "a", "b", "b", "b"]), 3)
    2
    """
    subjects = set(data.subjects)
    n_groups = len(data) if None in subjects or len(subjects) == 1 else len(subjects)
    return min(wanted, n_groups)


def animals(subjects: Sequence[Any], least: int = ENOUGH_ANIMALS) -> Int[np.ndarray, "session"] | None:
    """The number of each session's animal; None where some are not known, or there are fewer than `least`.

    >>> animals(["b", "a", "b"], least=2), animals(["b", "a", None], least=2)
    (array([0, 1, 0]), None)
    """
    known = list(dict.fromkeys(subjects))
    if None in known or len(known) < least:
        return None
    place = {subject: i for i, subject in enumerate(known)}
    return np.array([place[subject] for subject in subjects])


def animals_to_hold_out(data: Trajectories, every: int) -> list[Any] | None:
    """Every so-many-th animal, at least one; None where fewer than five are known.

    >>> animals_to_hold_out(Trajectories([[0]] * 6, subjects=list("abcdef")), 5)
    ['a', 'f']
    """
    return None if animals(data.subjects) is None else list(dict.fromkeys(data.subjects))[::every]


def shared_animals(train: Trajectories, test: Trajectories) -> str | None:
    """Say in a line that the same animals are on both sides, or that this is not known; None where none are.

    >>> whole = Trajectories([[0]] * 4, subjects=["a", "b", "a", "c"])
    >>> shared_animals(*whole.split(every=2, offset=1))
    >>> shared_animals(*whole.split(every=4))
    'The same animals are on both sides (a): the test is of other sessions, not of other animals.'
    """
    if None in (*train.subjects, *test.subjects):
        return (
            "The sessions do not all name their animal (column subject): the same animals may be on both sides, in "
            "training and in the test."
        )
    both = [subject for subject in dict.fromkeys(test.subjects) if subject in set(train.subjects)]
    if not both:
        return None
    return f"The same animals are on both sides ({some(both)}): the test is of other sessions, not of other animals."


def check_apart(train: Trajectories, test: Trajectories) -> None:
    """Raise where a session is in `train` and in `test`: the same states, actions, gaps and signals.

    Sessions of different animals are different; so are short ones under different names, which may be alike by chance.
    """
    shared = [name for name in train.signals or {} if name in (test.signals or {})]
    known: dict[int, list[int]] = {}
    for i, mark in enumerate(train.session_fingerprints(*shared).tolist()):
        known.setdefault(mark, []).append(i)
    found = []
    for j, mark in enumerate(test.session_fingerprints(*shared).tolist()):
        for i in known.get(mark, []):
            one, other = train.subjects[i], test.subjects[j]
            if None not in (one, other) and one != other:
                continue
            if len(test.states[j]) >= SHORT or train.names[i] == test.names[j]:
                found.append(test.names[j])
                break
    if found:
        raise ValueError(
            f"train and test share {counted(len(found), 'session')} ({some([repr(name) for name in found])}): a score "
            "on sessions that a model was fitted to says nothing; split the data first, as in "
            "train, test = data.split(every=5)"
        )
