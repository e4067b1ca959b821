"""Which prior on rewards suits the data: a short pilot fit, then a few iterations of EM on folds.

The pilot, a fit to all the sessions that is not taken to its end, says roughly which modes there are.  From there each
prior's own fit goes on without one fold f of the sessions at a time, rewards from scratch: first M-steps at the pilot's
modes, then whole EM iterations.  A prior is judged by what it gives to the folds that it did not see,

    Σ_f log p(data of fold f | θ^(−f)),

modes summed out.  It costs a fraction of a fit, as it needs no starting points.  The modes must be moved, not only the
rewards: those of a pilot on few data have taken up noise, and with them weak priors would look best.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from swirl.data.folds import folds, max_folds
from swirl.data.trajectories import Trajectories
from swirl.estimators.em_estimator import Problem
from swirl.inference import em
from swirl.inference.checkpoint import Checkpoint, remembered
from swirl.inference.engines import (
    Iterations,
    choose,
    compile_ahead,
    improve_restarts,
    resolved_counts,
    tables_and_prior,
)
from swirl.inference.estep.counts import Counts, Tables
from swirl.inference.first_steps import FINALISTS
from swirl.inference.mstep import Parameters
from swirl.precision import float64, numpy_tree

PILOT_ITERATIONS = 50  # all plain ones
LEAST = 300  # steps
MILD_STEPS, STEPS = 5, 6  # M-steps at the pilot's modes
EM_STEPS = 15  # iterations of EM from there; 60 move the best score by less than 0.001 nats (gridworld)


def fold_counts(problem: Problem, parameters: Parameters, parts: list[Int[np.ndarray, "_"]]) -> Counts:
    """Expected counts in each fold of the sessions, under one restart's parameters; latent choices are shared out."""
    with float64():
        one = em.stack([parameters])
        tables: Tables = numpy_tree(tables_and_prior(problem.components, one)[0])
        found = [numpy_tree(e_step(problem, tables, part).counts(tables)) for part in parts]
        seen = [numpy_tree(resolved_counts(problem.components, one, each.emissions)) for each in found]
        return replace(jax.tree.map(lambda *leaves: np.concatenate(leaves), *found), emissions=np.concatenate(seen))


def e_step(problem: Problem, tables: Tables, sessions: Int[np.ndarray, "_"]) -> Iterations:
    """The E-step of some of the sessions."""
    times = np.isin(problem.encoded.chain_sessions, sessions).astype(np.int64)
    return choose("auto", replace(problem.chains, times=times), tables)


def held_out(
    problem: Problem, like: Parameters, counts: Counts, parts: list[Int[np.ndarray, "_"]], n_restarts: int
) -> float:
    """Log-likelihood of the folds, each under the fit made on the others, per choice.

    Parameters
    ----------
    problem
        Of the model under the prior that is judged.
    like
        Where switching and the first modes start; rewards start at zero.
    counts
        The pilot's counts in each fold, in the rows of this model.
    n_restarts
        Folds are fitted so many at a time: as many as EM fits restarts, so that both run the same compiled program.
    """
    components, sessions = problem.components, np.concatenate(parts)
    blank = components.emissions.random_parameters(np.random.default_rng(0), 0.0)
    total, seen = 0.0, replace(components, latent=None)
    moving = components.emissions.n_modes > 1 or components.latent is not None  # with each E-step the counts change
    with float64():
        for first in range(0, len(parts), n_restarts):
            here = range(first, min(first + n_restarts, len(parts)))
            own = np.minimum(first + np.arange(n_restarts), len(parts) - 1)  # folds, the last one repeated
            active = first + np.arange(n_restarts) < len(parts)
            rest: Counts = jax.tree.map(lambda each, own=own: each.sum(axis=0) - each[own], counts)
            parameters = numpy_tree(em.stack([replace(like, emissions=blank)] * n_restarts))
            for each in [seen.warm_up()] * MILD_STEPS + [seen] * STEPS:
                if each is not None:
                    parameters = numpy_tree(improve_restarts(each, parameters, rest, active)[0])
            tables = numpy_tree(tables_and_prior(components, parameters)[0])
            steps = [e_step(problem, tables, np.setdiff1d(sessions, parts[fold])) for fold in here]
            for _ in range(EM_STEPS if moving else STEPS):
                found = [step.counts(at(tables, place)) for place, step in enumerate(steps)]
                found += found[-1:] * (n_restarts - len(found))
                together = jax.tree.map(lambda *leaves: np.concatenate(leaves), *map(numpy_tree, found))
                parameters, tables, _ = numpy_tree(improve_restarts(components, parameters, together, active))
            for place, fold in enumerate(here):
                one = at(tables, place)
                total += float(np.asarray(e_step(problem, one, parts[fold]).counts(one).log_likelihood)[0])
    return total / problem.n_observed


def at(tables: Tables, place: int) -> Tables:
    """One restart's chain, still with an axis for restarts."""
    return jax.tree.map(lambda leaf: leaf[place : place + 1], tables)


def _others_compiled(models: list[Any], pilot: int, data: Trajectories, n_restarts: int) -> Callable[[], None]:
    """Compile the M-step of a candidate that is of another kind than the pilot, while that is fitted."""
    kind = type(models[pilot].reward_prior)
    other = next((model for model in models if type(model.reward_prior) is not kind), None)
    if other is None:
        return lambda: None
    components = replace(other._problem(data).components, latent=None)
    blank = components.random_parameters(np.random.default_rng(0), 0.0)
    return compile_ahead(components, numpy_tree(em.stack([blank] * n_restarts)))


def prior_scores(
    models: list[Any], data: Trajectories, *, n_folds: int, pilot: int = 0, kept: Checkpoint | None = None
) -> Float[np.ndarray, "candidate"] | None:
    """Held-out log-likelihood per choice under each model's prior; None where there is too little to choose on.

    That is one session, which cannot be cut into folds, or fewer than `LEAST` steps.

    Parameters
    ----------
    models
        The same model under each of the priors; that at `pilot` is fitted for a while.
    kept
        What was found before the fit was killed, where it was; that is not computed again.
    """
    n_folds = max_folds(data, n_folds)
    if n_folds < 2 or data.lengths.sum() < LEAST:
        return None
    if kept is not None and all(kept.has(f"prior/{i}") for i in range(len(models))):
        return np.array([kept.known(f"prior/{i}", [0.0])[0] for i in range(len(models))])
    parts = folds(data, n_folds)
    first = models[pilot]
    problem: Problem = first._problem(data)
    n_restarts = min(int(first.n_restarts), FINALISTS)
    compiled = _others_compiled(models, pilot, data, n_restarts)
    restarts = em.run(
        problem.components,
        problem.chains,
        n_restarts=int(first.n_restarts),
        race=True,
        seed=int(first.random_state),
        max_iter=min(PILOT_ITERATIONS, int(first.max_iter)),
        tol=float(first.tol),
        checkpoint=None if kept is None else kept.under("pilot"),
    )
    if any(restart.status == "interrupted" for restart in restarts):
        raise KeyboardInterrupt  # there is no fit yet that could be kept
    best = max(restarts, key=lambda restart: restart.objective if np.isfinite(restart.objective) else -np.inf)
    compiled()
    histories, rows = problem.context
    contexts = np.unique(histories.contexts[problem.encoded.histories[problem.encoded.telling]])
    place = np.zeros(histories.n_contexts, dtype=np.int64)
    place[histories.contexts] = rows  # the pilot's row of each context
    counts = fold_counts(problem, best.parameters, parts)
    by_row = np.reshape(counts.emissions, (len(parts), -1, first.env.n_actions, int(first.n_modes)))
    found = []
    for i, model in enumerate(models):
        own: Problem = model._problem(data)
        own_place = np.zeros(histories.n_contexts, dtype=np.int64)
        own_place[histories.contexts] = own.context[1]
        table = np.zeros((len(parts), int(own.context[1].max()) + 1, *by_row.shape[2:]))
        table[:, own_place[contexts]] = by_row[:, place[contexts]]
        shared = replace(counts, emissions=table.reshape(len(parts), -1, int(first.n_modes)))
        score = partial(held_out, own, best.parameters, shared, parts, n_restarts)
        found.append(remembered(kept, f"prior/{i}", score))
    if kept is not None:
        kept.forget("pilot")
    return np.array(found)
