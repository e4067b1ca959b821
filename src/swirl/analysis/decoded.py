"""A fitted model and sessions, decoded once: what figures and the report of a fit read.

A state is called a syllable where any may follow any, the action is the next one, and each has a duration, as syllables
and bouts have; a state elsewhere, as for arms of a maze or trials.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from swirl.analysis.comparison_result import Comparison
from swirl.analysis.mode_signal import Window, own_name, read_units, read_window
from swirl.analysis.state_summaries import DoesNotApply, action_targets, environment_of, least_norm
from swirl.data.mdp import MDP
from swirl.data.segments import DURATION, Bouts, Segments, StepDurations, bouts_of, find_segments, step_durations
from swirl.data.trajectories import Trajectories
from swirl.estimators.base import HiddenModeEstimator, as_trajectories, quietly
from swirl.text import counted

MIN_KNOWN = 0.8  # of the steps of each animal, for shares of time
POINT = 0.01  # a share of time that is within a point of the share of steps is the same

OF_STATES = {"state": "state", "next": "next state", "previous": "previous state", "action": "action"}
OF_CHOICES = {**OF_STATES, "action": "next state"}
"""Any state may be chosen next."""
OF_SYLLABLES = {
    "state": "syllable",
    "next": "next syllable",
    "previous": "previous syllable",
    "action": "next syllable",
}


@dataclass(frozen=True)
class DecodedFit:
    """A model, sessions, and what the one says of the other."""

    model: Any
    data: Trajectories
    env: MDP | None
    """None for models of continuous recordings."""
    modes: list[Int[np.ndarray, "_"]]
    """Most likely mode of each step (Viterbi)."""
    mode_names: list[str]
    signal: str | None = None
    """Name of the signal to set beside the modes."""
    comparison: Comparison | None = None
    """Other models beside this one."""
    window: Window = field(default_factory=Window)
    """How far the signal is drawn around the starts of modes."""

    @property
    def n_modes(self) -> int:
        """Number of modes."""
        return len(self.mode_names)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return self.data.n_states if self.env is None else self.env.n_states

    @cached_property
    def posterior(self) -> list[Float[np.ndarray, "_ mode"]]:
        """p(mode | whole session) of each step."""
        with quietly():
            return [np.asarray(share) for share in self.model.predict_proba(self.data)]

    @cached_property
    def segments(self) -> Segments:
        """Runs of one decoded mode."""
        return find_segments(self.modes, self.data.gaps)

    @cached_property
    def bouts(self) -> list[Bouts]:
        """How long the bouts of each mode lasted, and how often it was left."""
        return bouts_of(self.segments, self.n_modes)

    @property
    def durations(self) -> StepDurations | None:
        """How long steps lasted, where that makes shares of time differ from shares of steps; else None.

        They may differ where, for some animal (session, where animals are not known) or for all together, shares of the
        known time and of the steps that it is of can be more than a point apart. They are not taken where the durations
        of fewer than 80 % of the steps of some animal are known, or all of them are 0. Where the next step does not
        follow from a step, rows were left out between the two, and the time up to the next is not how long it lasted.
        """
        return self._durations[0]

    @property
    def durations_not_taken(self) -> str:
        """Why shares are of steps although durations are known, in words; empty where there is no such reason."""
        return self._durations[1]

    @cached_property
    def _durations(self) -> tuple[StepDurations | None, str]:
        found = step_durations(self.data)
        if found is None:
            return None, ""
        over, _, unit_of = read_units(self.data, None)
        keys = list(zip(unit_of.tolist(), self.data.groups, strict=True))
        number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        rows = np.array([number[key] for key in keys])[self.data.flat().sessions]
        recorded = found.flat
        if found.source == "times" and self.env is not None:
            broken, first = self.env.impossible_transitions(self.data), np.cumsum(self.data.lengths) - self.data.lengths
            recorded[np.concatenate([at + start for at, start in zip(broken, first, strict=True)])] = np.nan
            found = replace(found, lasted=np.split(recorded, first[1:]))
        known = np.isfinite(recorded)
        lasted = np.where(known, recorded, 0.0)
        few = np.bincount(rows[known], minlength=len(number)) < MIN_KNOWN * np.bincount(rows)
        if few.any():
            return None, "how long a step lasted is known for too few of them"
        if not np.bincount(rows, weights=lasted).all():
            noun = "animal" if over == "subject" else "session"
            return None, f"for some {noun} all known durations are 0 ({found.words})"
        apart = [_apart(lasted[known], of[known]) for of in (rows, np.zeros_like(rows))]
        return (found if max(apart) > POINT else None), ""

    @cached_property
    def least_norm(self) -> Float[np.ndarray, "mode history *action"] | None:
        """Rewards of least norm, which fits may be compared in; None where they cannot be had."""
        return least_norm(self.model)

    @cached_property
    def state_of_action(self) -> list[int] | None:
        """The state that each action leads to, in whatever order a table had them; None where actions are more.

        They are no more where states have no places, any may follow any other, and the action is the next one.
        """
        env = self.env
        if env is None or env.n_states < 3 or env.n_states != env.n_actions or env.coordinates is not None:
            return None
        targets = action_targets(env)
        if targets is None or sorted(targets) != list(range(env.n_states)):
            return None
        itself = np.asarray(targets) == np.arange(env.n_states)[:, None]  # it goes on instead
        return targets if (np.asarray(env.available) | itself).all() else None

    @property
    def nouns(self) -> dict[str, str]:
        """Words for a state, the next, the previous and an action."""
        if self.state_of_action is None:
            return OF_STATES
        return OF_SYLLABLES if DURATION in (self.data.signals or {}) else OF_CHOICES

    @cached_property
    def state_names(self) -> list[str]:
        """Names of states for sentences: "state 7", or "syllable 7" where states are syllables, for a bare number."""
        given = (None if self.env is None else self.env.state_names, self.data.state_names)
        names = _names("state", self.n_states, *given)
        if self.nouns["state"] == "state":
            return names
        return [re.sub(r"^state (?=\d+$)", "syllable ", name) for name in names]

    @cached_property
    def action_names(self) -> list[str]:
        """Names of actions for sentences; of the next state, where actions are that."""
        if self.state_of_action is not None:
            return [self.state_names[state] for state in self.state_of_action]
        if self.env is None:
            return _names("action", self.data.n_actions, self.data.action_names)
        return _names("action", self.env.n_actions, self.env.action_names, self.data.action_names)

    def environment(self) -> MDP:
        """The environment, or word that there is none."""
        return environment_of(self.env)

    def several_modes(self) -> None:
        """Refuse a model of one mode."""
        if self.n_modes < 2:
            raise DoesNotApply("the model has one mode")

    def states(self, table: Any) -> Any:
        """Names of states by their number, for a table: as the environment has them."""
        env = self.environment()
        return np.array(env.state_names or [str(s) for s in range(env.n_states)], dtype=object)[table]

    def names(self, modes: Any) -> Any:
        """Names of modes by their number, for a table."""
        return np.array(self.mode_names, dtype=object)[modes]


def decode(
    model: Any,
    data: Any,
    *,
    signal: str | None = None,
    mode_names: Sequence[str] | None = None,
    comparison: Comparison | None = None,
    signal_window: Any = None,
    signal_bin: float | None = None,
) -> DecodedFit:
    """Decode the sessions, once for all that is made of them, and check the names of signal and modes.

    Parameters
    ----------
    signal_window, signal_bin
        How far before and after the start of a mode the signal is drawn, in steps (10 and 20); with the width of a bin,
        in the unit of the times.
    mode_names
        One name per mode; by default those that the model was given, else "mode 0", "mode 1", …

    Examples
    --------
    >>> import swirl
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> fit = decode(world.true_model(), world.trajectories)
    >>> fit.n_modes, fit.mode_names, fit.state_names[3], fit.posterior[0].shape, fit.nouns["next"]
    (2, ['mode 0', 'mode 1'], '(0, 3)', (80, 2), 'next state')
    """
    if not isinstance(model, HiddenModeEstimator):
        raise ValueError(
            f"model is {type(model).__name__}: expected a fitted model, such as swirl.SWIRL(env).fit(data) or "
            'swirl.load("fit.nc")'
        )
    data = as_trajectories(data)
    signal = None if signal is None else own_name(data, signal)
    window = read_window(data, signal, signal_window, signal_bin)
    with quietly():  # the report says it in words
        modes = [np.asarray(path) for path in model.predict(data)]
    n_modes, named = len(model.initial_modes_), mode_names or model.mode_names_
    if named is not None and len(named) != n_modes:
        raise ValueError(f"mode_names: got {counted(len(named), 'name')} for {counted(n_modes, 'mode')}")
    names = [f"mode {k}" for k in range(n_modes)] if named is None else list(named)
    return DecodedFit(model, data, model.world, modes, names, signal, comparison, window)


def clock(times: Any) -> str:
    """What the axis of time is called: recordings without a frame rate count frames, which are whole numbers.

    >>> clock(None), clock([np.array([0.0, 0.4])]), clock([np.array([0.0, 30.0])])
    ('step', 'time (s)', 'time (s, or frames)')
    """
    if times is None:
        return "step"
    whole = all(np.array_equal(part, np.round(part)) for part in times)
    return "time (s, or frames)" if whole else "time (s)"


def _apart(lasted: Float[np.ndarray, " step"], of: Int[np.ndarray, " step"]) -> float:
    """How far a share of the time and one of the steps can be apart, at most, in any of the sets of steps."""
    time, steps = lasted / np.bincount(of, weights=lasted)[of], 1 / np.bincount(of)[of]
    return float(np.bincount(of, weights=np.abs(time - steps)).max() / 2)


def _names(noun: str, n: int, *given: Any) -> list[str]:
    """The first names that are given and suffice; "state 0", "state 1", … where there are none."""
    for names in given:
        if names is not None and len(names) >= n:
            # "17" alone would not be read as a place in a sentence.
            return [f"{noun} {name}" if str(name).isdecimal() else str(name) for name in names[:n]]
    return [f"{noun} {i}" for i in range(n)]
