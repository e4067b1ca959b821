"""ARHMM and recurrent ARHMM over labelled states: each mode has its own table of next states (paper §2, §3.5, §4.3).

    z_{t+1} ~ P_z(z' | z_t)  or, recurrent, P_z(z' | z_t, s_t)        s_{t+1} ~ p_z(s' | s_t, …, s_{t−L+1})

On syllables (one action per successor) these are the likelihood families of the state-action I-1 and S-1
(design.md#what-a-policy-sees): a difference in score is prior or optimiser, never the model.
"""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from swirl.data.encoding import Encoded, Impossible, encode
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.streamed import StreamedTrajectories
from swirl.data.trajectories import Trajectories
from swirl.errors import Faults
from swirl.estimators.discrete import (
    DiscreteEstimator,
    Target,
    chains_of,
    check_env,
    choice_chains,
    options,
    surveyed,
)
from swirl.estimators.em_estimator import EMEstimator, Problem, whole_number
from swirl.inference.estep.counts import Chains, Tables
from swirl.inference.mstep import Components
from swirl.priors import Bouts, Dirichlet, Gaussian
from swirl.rewards.state_action import CategoricalEmissions
from swirl.rewards.tables import to_dense
from swirl.switching import Fixed, build_switching


class ARHMM(EMEstimator, DiscreteEstimator):
    """Autoregressive hidden Markov model over labelled states.

    Parameters
    ----------
    env
        Says which states can follow which: the others get no probability. Its actions play no part.
    n_modes
        Number of hidden modes.
    history
        Number of states that the next one depends on: s_t, s_{t−1}, …; 1 is the ARHMM of the paper.
    switching
        ``"independent"``: ARHMM. ``"state"``, ``"state-table"``, ``"state-net"``: recurrent ARHMM. As for `SWIRL`.
    emission_prior
        ``priors.Dirichlet``, the default, with pseudo-count 1: smoothed counts. ``priors.Gaussian``: on the logits,
        which can back off to shorter histories.
    switching_prior, impossible, n_restarts, max_iter, tol, random_state
        As for `SWIRL`.

    Attributes
    ----------
    histories_ : [history, L], −1 = before the start
    moves_ : [state, option], the states that can follow, −1 where there are fewer
    emissions_ : [mode, history, option], probability of each of them; `emission_table()` has it by next state
    mode_transitions_, initial_modes_, initial_states_, occupancy_, objective_trace_, … : as for `SWIRL`

    Examples
    --------
    >>> from swirl.datasets import gridworld
    >>> data = gridworld(n_sessions=8, n_steps=100)
    >>> model = ARHMM(data.env, n_modes=2, n_restarts=2, max_iter=20).fit(data.trajectories)
    >>> model.emissions_.shape, model.emission_table().shape
    ((2, 25, 5), (2, 25, 25))
    """

    target: Target = "next_state"
    family: ClassVar[str] = "an autoregressive hidden Markov model"
    stored: ClassVar[dict[str, tuple[str, ...]]] = {
        "histories": ("history", "lag"),
        "moves": ("state", "option"),
        "emissions": ("mode", "history", "option"),
        "log_emissions": ("mode", "history", "option"),
        "mode_transitions": ("state", "mode", "next_mode"),
        "initial_modes": ("mode",),
        "initial_states": ("state",),
        "occupancy": ("mode",),
        "seen_states": ("state",),
        "objective_trace": ("iteration",),
        "log_likelihoods": ("iteration",),
    }
    needed: ClassVar[tuple[str, ...]] = ("env", "emissions")
    streams: ClassVar[bool] = True

    def __init__(
        self,
        env: MDP,
        *,
        n_modes: int = 2,
        history: int = 1,
        switching: str | Fixed = "independent",
        emission_prior: Dirichlet | Gaussian | None = None,
        switching_prior: Gaussian | Dirichlet | Bouts | None = None,
        impossible: Impossible | None = None,
        n_restarts: int = 8,
        max_iter: int = 2000,
        tol: float = 0.01,
        random_state: Any = 0,
    ):
        self.env = env
        self.n_modes = n_modes
        self.history = history
        self.switching = switching
        self.emission_prior = emission_prior
        self.switching_prior = switching_prior
        self.impossible: Impossible | None = impossible
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _argument_faults(self, faults: Faults) -> None:
        check_env(self.env, faults)
        whole_number("history", self.history, 1, faults)
        if not isinstance(self.emission_prior, Dirichlet | Gaussian | None):
            faults.add(f"emission_prior={self.emission_prior!r}: expected priors.Dirichlet or priors.Gaussian")

    def build_components(self, histories: Histories, visits: Float[np.ndarray, "state"] | None = None) -> Components:
        """Make what EM moves from the constructor's arguments; `visits` are the data's steps in each state."""
        n_modes = int(self.n_modes)
        emissions = CategoricalEmissions.build(
            histories,
            self.emission_prior or Dirichlet(1.0),
            temperature=np.ones(n_modes),
            available=np.asarray(histories.moves.available),
        )
        switching = build_switching(self.switching, self.env.n_states, n_modes, self.switching_prior, visits)
        return Components(emissions, switching, initial_pseudocount=np.asarray(1.0))

    def _problem(self, data: Trajectories | StreamedTrajectories) -> Problem:
        histories = Histories.reachable(self.env.successors, int(self.history))
        read = partial(encode, env=self.env, histories=histories, impossible=self.impossible)
        encoded, survey = surveyed(data, read, histories)
        rows, n_options, n_states = np.arange(histories.n_histories), histories.moves.n_actions, self.env.n_states

        def make(part: Encoded) -> Chains:
            return choice_chains(part, rows, options(part, self.env, histories, self.target), n_options, n_states)

        chains = chains_of(data, encoded, read, make)
        if isinstance(chains, Chains) and not chains.n_observed:
            raise ValueError("data: no state is followed by another in any session, so there is nothing to fit")
        components = self.build_components(histories, survey.visits.astype(float))
        return Problem(encoded, chains, components, histories, survey)

    def _record_training(self, data: Trajectories, problem: Problem) -> None:
        del data
        self.initial_states_, self.seen_states_ = problem.survey.initial_states, problem.survey.seen_states

    def _set_fitted(self, tables: Tables, fitted: np.ndarray, order: np.ndarray) -> None:
        del fitted  # logarithms of the same table
        self._histories = self._context
        self.histories_ = self._histories.table
        self.moves_ = self._moves()
        n_options = self.moves_.shape[1]
        self.log_emissions_ = np.asarray(tables.log_emissions).T.reshape(len(order), -1, n_options)[order]
        self.emissions_ = np.exp(self.log_emissions_)

    def _moves(self) -> np.ndarray:
        moves, n_states = self._histories.moves, self.env.n_states
        following = self._histories.states[np.asarray(moves.next)[:n_states, :, 0]]
        return np.where(np.asarray(moves.available)[:n_states], following, -1)

    @property
    def label(self) -> str:
        """Short name: rARHMM where switching depends on the state."""
        return "rARHMM" if self.switches_by_state else "ARHMM"

    def _log_table(self) -> Float[np.ndarray, "mode history option"]:
        return self._log_of("emissions")

    def _restore(self) -> None:
        self._histories = Histories.reachable(self.env.successors, int(self.history))

    def _restored_context(self) -> tuple[Components, Any]:
        return self.build_components(self._histories), self._histories

    def emission_table(self) -> Float[np.ndarray, "mode *dense"]:
        """p_z(s_{t+1} | s_t, s_{t−1}, …) as [mode, s_t, s_{t−1}, …, s_{t+1}]; NaN where no such history."""
        self.check_fitted()
        by_state = np.zeros((*self.emissions_.shape[:2], self.env.n_states))
        moves = self.moves_[self._histories.states]
        history, option = np.nonzero(moves >= 0)
        by_state[:, history, moves[history, option]] = self.emissions_[:, history, option]
        return to_dense(by_state, self._histories)
