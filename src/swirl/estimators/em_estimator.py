"""What the models that EM fits share: restarts, resuming, the report, taking a restart as the fit."""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext, suppress
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, TypeVar

import jax
import numpy as np
from jaxtyping import Float, Int

from swirl.compiling import on_cpu, on_host_if_small
from swirl.data.streamed import StreamedTrajectories
from swirl.data.trajectories import Trajectories
from swirl.errors import Faults
from swirl.estimators.base import HiddenModeEstimator, NotFittedError, as_trajectories
from swirl.estimators.digest import code_mark, digest
from swirl.estimators.fit_warnings import RestartAgreement
from swirl.inference import em
from swirl.inference.checkpoint import NO_ORDER, SECONDS, Checkpoint
from swirl.inference.em import progress_line
from swirl.inference.estep.counts import Tables
from swirl.inference.first_steps import RACE
from swirl.inference.mstep import Components, Parameters
from swirl.system import adds_in_order

F = TypeVar("F", bound="EMEstimator")


class Problem(NamedTuple):
    """What `fit` hands to EM, and what is needed to read its answer."""

    encoded: Any
    """The data as the model reads them (`Encoded`); None where they are not in memory."""
    chains: Any
    """`Chains`, or `StreamedChains`."""
    components: Components
    context: Any = None
    """Whatever else the model needs to make sense of the parameters (`_set_fitted`)."""
    survey: Any = None
    """What the model had to know of the data as a whole (`Survey`), where it did."""

    @property
    def n_observed(self) -> int:
        """Number of steps that say something; of data that are not in memory, once EM has read them."""
        return self.chains.n_observed


class EMEstimator(HiddenModeEstimator):
    """A model that EM fits from several starting points (`initialise.starting_points`)."""

    n_modes: Any
    """A whole number, or "auto" where the fit finds it (`rewards.Goals`)."""
    n_restarts: int
    max_iter: int
    tol: float
    random_state: Any
    refit_fault: ClassVar[str] = ""
    fitted_by_em: ClassVar[bool] = True
    occupancy_: Float[np.ndarray, "mode"]
    restarts_: list[em.Restart]
    n_observed_: int
    fit_report_: str

    @abstractmethod
    def _problem(self, data: Any) -> Problem:
        """Turn data and constructor arguments into what EM needs."""

    @abstractmethod
    def _set_fitted(self, tables: Tables, fitted: Any, order: np.ndarray) -> None:
        """Set the model's own attributes from one restart, its modes put in `order`."""

    @abstractmethod
    def _record_training(self, data: Trajectories, problem: Problem) -> None:
        """Keep what else the fitted model should know of its training data, or of a sample of them."""

    def _choose_prior(self, data: Trajectories, seed: int, kept: Checkpoint | None) -> None:
        """Choose what the arguments leave to the data; what was found before it was `kept` is not sought again."""

    def _params_in_use(self) -> dict[str, Any]:
        """Return the arguments, with what was chosen from the data in their place."""
        return self.get_params()

    @abstractmethod
    def _restored_context(self) -> tuple[Components, Any]:
        """Components and context of a model that was read from a file."""

    def _argument_faults(self, faults: Faults) -> None:
        """Add what is wrong with the model's own arguments."""

    @property
    def _n_modes_given(self) -> bool:
        """Whether the number of modes is an argument of the fit, and not what it finds."""
        return True

    def _check_arguments(self, seed: Any) -> None:
        faults = Faults()
        self._argument_faults(faults)
        for name in ("n_restarts", "max_iter", *(["n_modes"] if self._n_modes_given else [])):
            whole_number(name, getattr(self, name), 1, faults)
        if not (isinstance(self.tol, Real) and self.tol > 0):
            faults.add(f"tol={self.tol!r}: expected a number > 0")
        whole_number("random_state", seed, 0, faults)
        faults.raise_if_any(f"{type(self).__name__} cannot be fitted")

    def fit(
        self: F,
        data: Any,
        y: None = None,
        *,
        resume: bool = False,
        start: Parameters | None = None,
        progress: bool | None = None,
        callback: Callable[[em.Progress], Any] | None = None,
        engine: em.Engine = "auto",
        compare_restarts: bool = True,
        race: bool = True,
        checkpoint: Any = None,
        checkpoint_every: float | int | str = SECONDS,
    ) -> F:
        """Infer the modes and what each of them does by EM (paper §3.4).

        Parameters
        ----------
        data
            `Trajectories`, or a list of them; for `SWIRL` and `ARHMM` also `StreamedTrajectories`. Of these, what a fit
            chooses besides (the prior, goals) and whether restarts agree is found on a sample.
        resume
            Go on from the restarts of the last fit instead of drawing new ones. With `checkpoint`: go on from that
            file; where there is none yet, start from the beginning.
        start
            Go on from these parameters instead, such as ``restarts_[0].parameters`` of another fit of the same shape.
        progress
            Show a line on the terminal; by default only when there is one.
        callback
            Called with an `em.Progress` after each iteration.
        engine
            Which E-step: ``"compiled"`` (numba, on the CPU), ``"kernel"`` (on an NVIDIA GPU), ``"associative"`` or
            ``"scan"`` (XLA), or ``"auto"``. All but ``"scan"`` are refused where modes can (all but) never switch, as
            they would be wrong. With ``"auto"`` a small fit runs on the CPU, also where there is a GPU. Where JAX has
            several devices, ``"associative"`` and ``"scan"`` spread the sessions over them.
        compare_restarts
            See at the end which restarts came to the same result (`restart_agreement_`): one decoding of the data each.
        race
            Where `n_restarts` is more than eight, take to their end only the eight that are ahead after 50 iterations:
            32 restarts then cost little more than eight. ``False``: all of them.
        checkpoint
            File that what is done so far is written to now and then, whole or not at all. A fit that was killed goes on
            from it with ``resume=True``, and ends in the same bits as one that was not disturbed, on the same machine
            (on a GPU: if ``XLA_FLAGS`` has ``--xla_gpu_deterministic_ops=true`` before JAX starts; a notice says so).
            Only its own data, settings and version of swirl are gone on with; `max_iter` may be raised. The file stays
            when the fit is done.
        checkpoint_every
            Seconds between two writings (``60``, ``"5 min"``), or iterations of EM (``"100 iterations"``).
        """
        del y  # scikit-learn's signature
        seed = drawn_seed(self.random_state)
        if checkpoint is not None and seed is not self.random_state:
            raise ValueError(
                f"random_state={self.random_state!r}: a fit that may be killed must begin from the same seed "
                "again; give a whole number, or no checkpoint"
            )
        streamed = isinstance(data, StreamedTrajectories)
        if streamed and not self.streams:
            raise ValueError(
                f"data: {type(self).__name__} needs all of it in memory, and StreamedTrajectories are not; fit a part, "
                "such as data.sample(), or use SWIRL or ARHMM"
            )
        data = data if streamed else as_trajectories(data)
        self._check_arguments(seed)
        kept = None
        if checkpoint is not None:
            marks = self._marks(data, (engine, race, start))
            kept = Checkpoint.open(checkpoint, marks, every=checkpoint_every, resume=resume)
            resume = False  # of the last fit
        with on_host_if_small(self._size(data)) if engine == "auto" else nullcontext():
            if kept is not None and not on_cpu() and not adds_in_order():
                warnings.warn(NO_ORDER, stacklevel=2)
            return self._fit(data, int(seed), resume, start, progress, callback, engine, compare_restarts, race, kept)

    def _marks(self, data: Trajectories | StreamedTrajectories, others: Any) -> dict[str, str]:
        """What tells this fit from others (`Checkpoint.open`): more iterations do not, once there are some."""
        enough = min(int(self.max_iter), RACE[-1])
        start = [np.asarray(leaf) for leaf in jax.tree.leaves(others)]
        settings = [type(self).__name__, {**self.get_params(), "max_iter": enough}, start]
        return {"data": data.fingerprint(*self.own_signals), "settings": digest(settings), "code": code_mark()}

    def _fit(
        self: F,
        data: Trajectories | StreamedTrajectories,
        seed: int,
        resume: bool,
        start: Parameters | None,
        progress: bool | None,
        callback: Callable[[em.Progress], Any] | None,
        engine: em.Engine,
        compare_restarts: bool,
        race: bool,
        checkpoint: Checkpoint | None,
    ) -> F:
        some = data.sample() if isinstance(data, StreamedTrajectories) else data
        if not resume:
            self._choose_prior(some, seed, checkpoint)
        problem = self._problem(data)
        begun = self._begun(problem.components, resume, start)
        with progress_line(progress, int(self.max_iter)) as show:

            def report(state: em.Progress) -> None:
                show(state)
                if callback is not None:
                    callback(state)

            restarts = em.run(
                problem.components,
                problem.chains,
                n_restarts=int(self.n_restarts),
                seed=seed,
                max_iter=int(self.max_iter),
                tol=float(self.tol),
                start=begun,
                engine=engine,
                callback=report,
                race=race,
                checkpoint=checkpoint,
            )
        self._components, self._context = problem.components, problem.context
        # `set_params` must not change what the fit means; a seed that was drawn is kept, for another of the same.
        self._params_at_fit = {**self._params_in_use(), "random_state": seed}
        self.restarts_ = restarts
        self.n_steps_, self.n_observed_ = problem.chains.n_steps, problem.n_observed
        self._record_fingerprint(data)
        self._record_training(some, problem)
        finite = [r.objective if np.isfinite(r.objective) else -np.inf for r in restarts]
        self._use_restart(int(np.argmax(finite)))
        if compare_restarts:
            with suppress(KeyboardInterrupt):  # the fit is done; whether its restarts agree is then not known
                self._set_agreement(self.compare_restarts(some))
        return self

    def _size(self, data: Any) -> int:
        n_modes = self.n_modes if isinstance(self.n_modes, Integral) else 2
        return int(data.n_steps) * int(self.n_restarts) * int(n_modes) ** 2

    def messages_size(self, data: Any) -> int | None:
        """How many numbers the messages of a fit to such data hold."""
        return self._size(data)

    def fit_to_score(
        self: F,
        data: Any,
        progress: bool | None = None,
        *,
        callback: Callable[[em.Progress], Any] | None = None,
        start: Parameters | None = None,
    ) -> F:
        """Fit for the score alone, without comparing restarts; an interrupted fit is no fit."""
        self.fit(data, progress=progress, start=start, callback=callback, compare_restarts=False)
        if any(restart.status == "interrupted" for restart in self.restarts_):
            raise KeyboardInterrupt  # `fit` ends well on Ctrl-C, but what is not done must not be compared
        return self

    def _begun(self, components: Components, resume: bool, start: Parameters | None) -> Parameters | None:
        """The starting points side by side, if they are of this model; None: they are drawn."""
        if start is not None:
            given = em.stack([jax.tree.map(lambda leaf: np.asarray(leaf, dtype=float), start)])
            if resume or not self._is_compatible(given, components):
                raise ValueError(
                    "start: expected parameters of a fit with the same env, n_modes, history, reward and switching"
                    + (", and without resume=True" if resume else "")
                )
            return given
        if not resume:
            return None
        self.check_restarts()
        start = em.stack([r.parameters for r in self.restarts_])
        if not self._is_compatible(start, components):
            raise ValueError(
                "resume=True: the last fit was of another model (env, n_modes, history, reward, switching or the kind "
                "of a prior has changed since); fit without resume, or set them back"
            )
        return start

    @property
    def fitted_params(self) -> dict[str, Any]:
        """The arguments of the fit, with what it chose from the data in their place; `set_params` changes none."""
        self.check_fitted()
        return dict(self._params_at_fit)

    def em_problem(self, data: Any) -> Problem:
        """What `fit` hands to EM for some data."""
        return self._problem(as_trajectories(data))

    def _is_compatible(self, start: Parameters, components: Components) -> bool:
        """Whether parameters, side by side, are of this model."""
        expected = components.random_parameters(np.random.default_rng(0), 1.0)
        sizes = [np.shape(leaf) for leaf in jax.tree.leaves(expected)]
        given = [np.shape(leaf)[1:] for leaf in jax.tree.leaves(start)]
        return jax.tree.structure(start) == jax.tree.structure(expected) and sizes == given

    def refitted(self: F, problem: Problem, times: Int[np.ndarray, "chain"] | None, *, tol: float, max_iter: int) -> F:
        """Return a copy that EM has taken on from this fit alone, each chain of the data counted so many `times`."""
        self.check_restarts()
        start = em.stack([self.restarts_[self.best_restart_].parameters])
        if not self._is_compatible(start, problem.components):
            raise ValueError("problem: expected that of the fitted model; its arguments have changed since the fit")
        other = copy(self)
        other._components, other._context = problem.components, problem.context
        other.restarts_ = em.run(
            problem.components,
            replace(problem.chains, times=times),
            n_restarts=1,
            seed=0,  # nothing is drawn
            max_iter=max_iter,
            tol=tol,
            start=start,
        )
        return other._use_restart(0)

    def with_parameters(self: F, problem: Problem, parameters: Parameters) -> F:
        """Return a copy whose fit is these parameters, modes in the order of this fit: nothing is fitted."""
        self.check_restarts()
        other = copy(self)
        other._components, other._context = problem.components, problem.context
        other.restarts_ = [replace(self.restarts_[self.best_restart_], parameters=parameters)]
        return other._use_restart(0)

    def check_restarts(self) -> None:
        """Refuse a model that is not fitted, or whose parameters were given."""
        self.check_fitted()
        if not self.restarts_:
            raise NotFittedError(
                f"this {type(self).__name__} was made from parameters and has no restarts: fit it first"
            )

    def _use_restart(self: F, index: int) -> F:
        """Take restart `index` as the fit: its parameters, modes ordered by decreasing occupancy."""
        restart = self.restarts_[index]
        tables, fitted = em.unpack(self._components, restart.parameters)
        order = np.argsort(-restart.occupancy, kind="stable")
        self.best_restart_ = index
        for name in ("mode_names_", "restart_agreement_", "verdict_"):  # they were of other modes
            vars(self).pop(name, None)
        self.occupancy_ = restart.occupancy[order]
        transitions, initial = np.exp(tables.log_transitions), np.exp(tables.log_initial)
        self._set_chain(transitions[:, order][:, :, order], initial[order])
        self._set_fitted(tables, fitted, order)
        self.objective_trace_ = restart.objective_trace
        self.log_likelihoods_ = restart.log_likelihood_trace
        self.converged_, self.remaining_gain_ = restart.converged, restart.remaining_gain
        self.fit_report_ = em.describe(self.restarts_, index, self.n_observed_)
        return self

    def _set_chain(self, mode_transitions: np.ndarray, initial_modes: np.ndarray) -> None:
        self.mode_transitions_ = mode_transitions / mode_transitions.sum(axis=-1, keepdims=True)
        self.initial_modes_ = initial_modes / initial_modes.sum()

    def use_restart(self: F, index: int) -> F:
        """Return a copy of this model whose fit is restart `index` instead of the best one."""
        self.check_restarts()
        if not 0 <= index < len(self.restarts_):
            raise ValueError(f"index={index}: expected a restart from 0 to {len(self.restarts_) - 1}")
        other = copy(self)._use_restart(index)
        if index == self.best_restart_ and self.restart_agreement_ is not None:
            other._set_agreement(self.restart_agreement_)
            if self.verdict_ is not None:
                other.verdict_ = self.verdict_
        return other

    def compare_restarts(self, data: Any) -> RestartAgreement:
        """Compare every restart with the one that is the fit, on some sessions: do they say the same?

        `fit` has done so with its training sessions (`restart_agreement_`).

        Examples
        --------
        >>> from swirl import SWIRL, datasets  # takes some seconds
        >>> world = datasets.gridworld(n_sessions=20, n_steps=100)
        >>> train, test = world.trajectories.split(every=5)
        >>> model = SWIRL(world.env, history=1, n_restarts=2, max_iter=100).fit(train)
        >>> model.compare_restarts(test).n_restarts
        2
        """
        self.check_restarts()
        objectives = np.array([r.objective for r in self.restarts_])
        return self._compared(self.best_restart_, objectives, self.use_restart, data)

    def _set_agreement(self, agreement: RestartAgreement) -> None:
        self.restart_agreement_ = agreement
        self.fit_report_ = em.describe(self.restarts_, self.best_restart_, self.n_observed_, agreement.sentence())


def whole_number(name: str, value: Any, least: int, faults: Faults) -> None:
    """Note a fault where an argument is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        faults.add(f"{name}={value!r}: expected a whole number, at least {least}")


def drawn_seed(random_state: Any) -> Any:
    """Draw a whole number for None (another each time), a RandomState or a Generator; the rest stays as it is.

    >>> drawn_seed(3), drawn_seed(np.random.RandomState(0)), isinstance(drawn_seed(None), int)
    (3, 209652396, True)
    """
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return int(random_state.integers(2**31 - 1)) if isinstance(random_state, np.random.Generator) else random_state


def note_discount(discount: Any, faults: Faults) -> None:
    """Note a fault where the discount is not a number between 0 and 1."""
    if not (isinstance(discount, Real) and 0 < float(discount) < 1):
        faults.add(f"discount={discount!r}: expected a number between 0 and 1, both excluded")


def note_temperature(given: Any, n_modes: Any, faults: Faults) -> None:
    """Note a fault where the temperature is not one positive number, or one for each mode."""
    try:
        temperature = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        temperature = np.asarray(np.nan)
    if temperature.ndim > 1 or not (np.isfinite(temperature).all() and (temperature > 0).all()):
        faults.add(f"temperature={given!r}: expected a positive number, or one for each mode")
    elif temperature.ndim == 1 and len(temperature) != n_modes:
        faults.add(f"temperature has {len(temperature)} entries: expected one, or n_modes={n_modes} of them")


def temperatures(given: Any, n_modes: int) -> Float[np.ndarray, "mode"]:
    """One temperature for each mode."""
    return np.broadcast_to(np.asarray(given, dtype=float), (n_modes,)).copy()
