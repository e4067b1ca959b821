"""Which prior on rewards suits the data: a short pilot fit, then cross-validation of the M-step alone.

The pilot says how probable each mode is at each step.  Given that, what each mode does is a table of counts, one for
each fold f of the sessions, and a prior is judged by what its M-step, made on the other folds, gives to a fold's own:

    Σ_f Σ_z Σ_h Σ_a  W^f_z(h, a) log π_z^(−f)(a|h),      W^f_z(h, a) = Σ_{t in f} γ_t(z) 1[h_t = h, a_t = a].

No E-step is repeated, so that it costs a fraction of a fit.  For one mode it is plain cross-validation; for several,
the modes are those of the pilot for every prior alike.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from swirl import em
from swirl.estep.counts import Counts, Tables
from swirl.fitting import Problem
from swirl.folding import folds, most_folds
from swirl.iteration import choose, improve_restarts, tables_and_prior
from swirl.mstep import Components, Parameters
from swirl.precision import float64, numpy_tree
from swirl.trajectories import Trajectories

PILOT_ITERATIONS = 60
LEAST = 300  # steps
MILD_STEPS, STEPS = 5, 12  # M-steps of each candidate on the counts of each fold: few move the score any more


def fold_counts(
    problem: Problem, parameters: Parameters, parts: list[Int[np.ndarray, "_"]]
) -> Float[np.ndarray, "fold symbol mode"]:
    """Expected counts of every choice in each fold of the sessions, under one restart's parameters."""
    with float64():
        one = em.stack([parameters])
        tables: Tables = numpy_tree(tables_and_prior(problem.components, one)[0])
        found = []
        for part in parts:
            times = np.isin(problem.encoded.chain_sessions, part).astype(np.int64)
            counts = choose("auto", replace(problem.chains, times=times), tables).counts(tables)
            found.append(problem.components.emission_counts(parameters, np.asarray(counts.emissions)[0]))
        return np.stack([np.asarray(each) for each in found])


def held_out(
    components: Components, like: Parameters, counts: Float[np.ndarray, "fold symbol mode"], n_restarts: int
) -> float:
    """Log-likelihood of each fold's counts under the M-step made on the others, per choice.

    Parameters
    ----------
    like
        Where the other parts of the model stand; rewards start at zero.
    n_restarts
        Folds are fitted so many at a time: as many as EM fits restarts, so that both run the same compiled program.
    """
    with float64():
        rest, total = counts.sum(axis=0) - counts, 0.0
        blank = components.rewards.random_parameters(np.random.default_rng(0), 0.0)
        start = em.stack([replace(like, rewards=blank)] * n_restarts)
        chain = tables_and_prior(components, numpy_tree(start))[0]
        for first in range(0, len(counts), n_restarts):
            folds_here = first + np.arange(n_restarts)
            active = folds_here < len(counts)
            own = np.minimum(folds_here, len(counts) - 1)
            seen = Counts(
                initial=np.zeros(chain.log_initial.shape),
                transitions=np.zeros(chain.log_transitions.shape),
                emissions=rest[own],
                log_likelihood=np.zeros(n_restarts),
            )
            parameters = numpy_tree(start)
            for each in [components.milder()] * MILD_STEPS + [components] * STEPS:
                if each is not None:
                    parameters, chain, _ = improve_restarts(each, numpy_tree(parameters), seen, active)
            log_emissions = np.asarray(chain.log_emissions)
            for place, fold in enumerate(range(first, min(first + n_restarts, len(counts)))):
                made = counts[fold] > 0
                total += float(counts[fold][made] @ log_emissions[place][made])
    return total / counts.sum()


def prior_scores(
    models: list[Any], data: Trajectories, *, n_folds: int, pilot: int = 0
) -> Float[np.ndarray, "candidate"] | None:
    """Cross-validated log-likelihood per choice of each model's prior; None where there is too little to choose on.

    That is one session, which cannot be cut into folds, or fewer than `LEAST` steps.

    Parameters
    ----------
    models
        The same model under each of the priors; that at `pilot` is fitted for a while.
    """
    n_folds = most_folds(data, n_folds)
    if n_folds < 2 or data.lengths.sum() < LEAST:
        return None
    parts = folds(data, n_folds)
    first = models[pilot]
    problem: Problem = first._problem(data)
    n_restarts = int(first.n_restarts)
    restarts = em.run(
        problem.components,
        problem.chains,
        n_restarts=n_restarts,
        seed=int(first.random_state),
        max_iter=min(PILOT_ITERATIONS, int(first.max_iter)),
        tol=float(first.tol),
    )
    if any(restart.status == "interrupted" for restart in restarts):
        raise KeyboardInterrupt  # there is no fit yet that could be kept
    best = max(restarts, key=lambda restart: restart.objective if np.isfinite(restart.objective) else -np.inf)
    histories, rows = problem.context
    contexts = np.unique(histories.contexts[problem.encoded.histories[problem.encoded.telling]])
    place = np.zeros(histories.n_contexts, dtype=np.int64)
    place[histories.contexts] = rows  # the pilot's row of each context
    counts = fold_counts(problem, best.parameters, parts)
    by_row = counts.reshape(len(parts), -1, first.env.n_actions, counts.shape[-1])
    found = []
    for model in models:
        rewards, own_rows = model._reward_component(histories, contexts)
        components = replace(problem.components, rewards=rewards, latent=None)
        own_place = np.zeros(histories.n_contexts, dtype=np.int64)
        own_place[histories.contexts] = own_rows
        table = np.zeros((len(parts), int(own_rows.max()) + 1, *by_row.shape[2:]))
        table[:, own_place[contexts]] = by_row[:, place[contexts]]
        found.append(held_out(components, best.parameters, table.reshape(len(parts), -1, counts.shape[-1]), n_restarts))
    return np.array(found)
