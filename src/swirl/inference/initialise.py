"""Where EM starts: at random or, for one mode per segment, from segments that are unlike each other.

With modes that never switch the model is a mixture over segments, and a random start finds the right groups of
segments only now and then.  A seeded start is made as k-means++ makes one (Arthur & Vassilvitskii 2007): K segments
are drawn, each with a chance in proportion to what it would gain from a mode of its own,

    max(0, log p(i | fit to i) − max over seeds so far of log p(i | fit to seed)),

(of several drawn, the one that leaves the least to gain is taken); every segment joins the seed that explains it
best, and a few M-steps fit each group.  The fits are the model's own M-steps, so that nothing need be known of what a
symbol means.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.sparse import csr_array

from swirl.compiling import jit
from swirl.inference.estep.counts import Chains, Counts
from swirl.inference.mstep import Components, Parameters
from swirl.precision import float64, numpy_tree
from swirl.switching import FixedSwitching

N_CANDIDATES = 64  # segments that may become seeds
PER_MODE = 8  # and at least this many for each mode
TRIALS = 3  # drawn for each seed, of which one is taken: measured, right groups in 98 % instead of 72–94 %
CANDIDATE_STEPS = 3  # M-steps: measured, the groups are as good as after ten
GROUP_STEPS = 10
SCALE = 0.01  # of the random point that the M-steps begin at: enough for two hidden units not to be alike
IMPOSSIBLE = -1e100  # log-likelihood where there is none: of no use, and yet a number that can be added


class Candidates(NamedTuple):
    """Segments that may become seeds, and how well the fit to each explains every segment."""

    counts: csr_array
    """How often each symbol was seen: [segment, symbol]."""
    segments: Int[np.ndarray, "candidate"]
    log_likelihoods: Float[np.ndarray, "segment candidate"]


def never_switches(components: Components) -> bool:
    """Whether modes are given and keep to themselves, so that each segment has one of several.

    >>> from swirl.rewards.state_action import StateActionReward
    >>> from swirl.switching import build_switching
    >>> forms = [build_switching(form, n_states=4, n_modes=2, prior=None) for form in ("fixed", "independent")]
    >>> policies = StateActionReward(np.ones((4, 2), bool), np.ones(2), np.asarray(1.0), None)
    >>> [never_switches(Components(policies, form, np.asarray(1.0))) for form in forms]
    [True, False]
    """
    if not isinstance(components.switching, FixedSwitching):
        return False
    log_table = np.asarray(components.switching.log_table)
    n_modes = log_table.shape[-1]
    return n_modes > 1 and bool(np.all(log_table[:, ~np.eye(n_modes, dtype=bool)] == -np.inf))


def starting_points(
    components: Components, chains: Chains, *, n_restarts: int, seed: int, scale: float
) -> list[Parameters]:
    """Draw the starting point of each restart: at random or, where modes never switch, every other one seeded.

    Measured on the gridworld: K goals of reward 3 (second row: 1), 40 sessions of 60 steps (K = 8: 150 sessions), 8
    restarts; how many restarts and how many fits put (nearly) every session where it belongs::

        history, modes        random starts    seeded starts    all random     every other seeded
        1, K = 3              0.20             1.00             7 of 8 fits    8 of 8 fits
        2, K = 3              0.31             1.00             4 of 6         6 of 6
        1, K = 5              0.06             1.00             2 of 6         6 of 6
        1, K = 8              0.00             0.83             0 of 3         3 of 3
        1, K = 3, r(s, a)     0.21             1.00             4 of 10        6 of 10

    In the last row the prior would rather leave a mode empty, and that better objective is found by random starts
    only: hence not all are seeded.

    >>> from swirl.rewards.state_action import StateActionReward
    >>> from swirl.switching import build_switching
    >>> policies = StateActionReward(np.ones((1, 2), bool), np.ones(2), np.asarray(1.0), None)
    >>> components = Components(policies, build_switching("fixed", 1, 2, None), np.asarray(1.0))
    >>> chains = Chains(np.repeat([0, 1, 0, 1], 5), np.zeros(20, int), np.arange(0, 21, 5), n_symbols=2, n_states=1)
    >>> seeded, drawn = starting_points(components, chains, n_restarts=2, seed=0, scale=1.0)
    >>> np.exp(seeded.emissions[:, 0]).round(2)  # ten of either symbol, and a pseudo-count
    array([[ 1., 11.],
           [11.,  1.]])
    """
    rng = np.random.default_rng(seed)
    restarts = rng.spawn(n_restarts)  # does not touch the stream of `rng`
    candidates = find_candidates(components, chains, rng) if never_switches(components) else None
    return [
        components.random_parameters(own, scale)
        if candidates is None or r % 2
        else seeded_start(components, chains, own, candidates)
        for r, own in enumerate(restarts)
    ]


def find_candidates(components: Components, chains: Chains, rng: np.random.Generator) -> Candidates | None:
    """Draw segments that may become seeds and fit each; None if there are fewer segments than modes."""
    counts, n_modes = symbol_counts(chains), components.emissions.n_modes
    observed = np.flatnonzero(np.diff(counts.indptr))
    if len(observed) < n_modes:
        return None
    segments = rng.permutation(observed)[: max(N_CANDIDATES, PER_MODE * n_modes)]
    log_likelihoods = np.empty((chains.n_chains, len(segments)))
    for first in range(0, len(segments), n_modes):  # as many at once as there are modes
        batch = segments[first : first + n_modes]
        emissions = np.zeros((chains.n_symbols, n_modes))
        emissions[:, : len(batch)] = counts[batch].toarray().T
        _, log_emissions = _fit(components, chains.n_states, rng, np.ones(n_modes), emissions, CANDIDATE_STEPS)
        log_likelihoods[:, first : first + n_modes] = (counts @ log_emissions)[:, : len(batch)]
    finite = np.isfinite(log_likelihoods)
    return Candidates(counts, segments, np.where(finite, log_likelihoods, IMPOSSIBLE))


def seeded_start(
    components: Components, chains: Chains, rng: np.random.Generator, candidates: Candidates | None = None
) -> Parameters:
    """Draw seeds that are unlike each other, gather all segments around them, and fit the groups.

    Parameters
    ----------
    candidates
        From `find_candidates`, so that several starts can share them; None: drawn here.

    Examples
    --------
    See `starting_points`.
    """
    candidates = find_candidates(components, chains, rng) if candidates is None else candidates
    n_modes = components.emissions.n_modes
    if candidates is None:
        return components.random_parameters(rng, 1.0)
    seeds = draw_seeds(candidates, n_modes, rng)
    groups = np.argmax(candidates.log_likelihoods[:, seeds], axis=1)
    groups[candidates.segments[seeds]] = np.arange(n_modes)  # also where another seed fits better: none is empty
    members = np.eye(n_modes)[groups]
    parameters, _ = _fit(
        components, chains.n_states, rng, members.sum(axis=0), candidates.counts.T @ members, GROUP_STEPS
    )
    return parameters


def draw_seeds(candidates: Candidates, n_modes: int, rng: np.random.Generator) -> Int[np.ndarray, "mode"]:
    """Draw candidates one after the other, those that the earlier ones explain badly with a greater chance.

    >>> alike = np.array([0, 1, 0, 1])  # two kinds of segments
    >>> log_likelihoods = np.where(alike[:, None] == alike, -1.0, -9.0)
    >>> candidates = Candidates(csr_array((4, 2)), np.arange(4), log_likelihoods)
    >>> np.unique(alike[draw_seeds(candidates, 2, np.random.default_rng(0))])
    array([0, 1])
    """
    explained = candidates.log_likelihoods[candidates.segments]
    alone = np.diagonal(explained)
    best, gain = np.full(len(alone), -np.inf), np.ones(len(alone))
    seeds: list[int] = []
    for _ in range(n_modes):
        if not gain.any():  # every segment is explained as well as it can be
            gain = np.ones(len(alone))
        gain[seeds] = 0.0
        trials = rng.choice(len(alone), size=TRIALS, p=gain / gain.sum())
        left = [np.maximum(alone - np.maximum(best, explained[:, i]), 0.0).sum() for i in trials]
        seeds.append(int(trials[np.argmin(left)]))
        best = np.maximum(best, explained[:, seeds[-1]])
        gain = np.maximum(alone - best, 0.0)
    return np.array(seeds)


def symbol_counts(chains: Chains) -> csr_array:
    """How often each symbol was seen in each segment.

    >>> chains = Chains(np.array([1, 1, 2, 0]), np.zeros(4, int), np.array([0, 3, 4]), n_symbols=2, n_states=1)
    >>> symbol_counts(chains).toarray()  # symbol 2 is a missing action
    array([[0., 2.],
           [1., 0.]])
    """
    segments = np.repeat(np.arange(chains.n_chains), np.diff(chains.offsets))
    seen = chains.symbols < chains.n_symbols
    entries = (np.ones(int(seen.sum())), (segments[seen], chains.symbols[seen]))
    return csr_array(entries, shape=(chains.n_chains, chains.n_symbols))


def _fit(
    components: Components,
    n_states: int,
    rng: np.random.Generator,
    sizes: Float[np.ndarray, "mode"],
    emissions: Float[np.ndarray, "symbol mode"],
    n_steps: int,
) -> tuple[Parameters, Float[np.ndarray, "symbol mode"]]:
    """Fit each mode to the symbols of its own segments, under the milder prior where there is one."""
    transitions = np.zeros((n_states, len(sizes), len(sizes)))  # none: modes never switch
    with float64():
        counts = Counts(sizes, transitions, emissions, np.zeros(()))
        start = numpy_tree(components.random_parameters(rng, SCALE))
        return numpy_tree(_improve(components.warm_up() or components, start, counts, np.asarray(n_steps)))


@jit
def _improve(
    components: Components, parameters: Parameters, counts: Counts, n_steps: Int[Array, ""]
) -> tuple[Parameters, Float[Array, "symbol mode"]]:
    """M-steps with counts that stay as they are, and the table of emissions that they lead to."""
    # The number of steps is not static: one compilation serves candidates and groups.
    parameters = jax.lax.fori_loop(0, n_steps, lambda _, p: components.improve(p, counts), parameters)
    return parameters, jnp.asarray(components.tables(parameters).log_emissions)
