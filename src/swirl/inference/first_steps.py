"""The first iterations from new starting points: under a milder prior, and as a race (design.md#race).

Which optimum a start ends in is decided early, and most starts end in poor ones.  So where there are more than
`FINALISTS` restarts they race: all are taken some iterations on, and those that are behind are left behind::

    after 20 iterations   the √(n · 8) starts with the highest objective go on
    after 50              the best eight of them, to their end

All by the same compiled programs: eight at a time.
"""

from collections.abc import Callable
from math import ceil, sqrt

import jax
import numpy as np
from jaxtyping import Float

from swirl.inference.checkpoint import Checkpoint
from swirl.inference.engines import Iterations, Rows
from swirl.inference.mstep import Components, Parameters
from swirl.precision import numpy_tree

WARM_UP = 20  # iterations under the milder prior
FINALISTS = 8
RACE = (20, 50)  # iterations after which starts are left behind
Tell = Callable[[int, Float[np.ndarray, "restart"], int], None]


def warm_up(iterations: Iterations, milder: Components, start: Parameters) -> tuple[Parameters, bool]:
    """Take the first steps under the milder prior; say whether Ctrl-C cut them short."""
    parameters, made = start, 0
    try:
        state = iterations.first(milder, start)
        everyone = np.ones(len(state.log_prior), dtype=bool)
        while made < WARM_UP:
            state, rows = iterations.advance(milder, state, everyone, accelerated=False, most=WARM_UP - made)
            parameters, made = state.parameters, made + len(rows.log_priors)
    except KeyboardInterrupt:
        return numpy_tree(parameters), True
    return numpy_tree(parameters), False


def race(
    iterations: Iterations,
    components: Components,
    start: Parameters,
    *,
    max_iter: int,
    tell: Tell,
    checkpoint: Checkpoint | None = None,
) -> tuple[Parameters, Rows | None, bool]:
    """Take many starts some iterations on, and keep those that are ahead.

    Parameters
    ----------
    tell
        Told after each iteration: its number, objectives, and how many starts are racing.

    Returns
    -------
    Parameters of the finalists, in the order of their starts; what each of their iterations came to, the start first;
    and whether Ctrl-C cut the race short.  Then all stand where its last finished part left them (rows: None, where
    there is none).
    """
    parameters, rows, interrupted = numpy_tree(start), None, False
    n = len(jax.tree.leaves(start)[0])
    try:
        for until, kept in zip(RACE, (ceil(sqrt(n * FINALISTS)), FINALISTS), strict=True):
            parameters, new = _taken_on(
                iterations, components, parameters, rows, min(until, max_iter), tell, checkpoint
            )
            rows = new if rows is None else Rows(*map(np.concatenate, zip(rows, new, strict=True)))
            parameters, rows = _ahead(parameters, rows, kept)
    except KeyboardInterrupt:
        interrupted = True
        parameters, rows = _ahead(parameters, rows, FINALISTS)
    return parameters, rows, interrupted


def _ahead(parameters: Parameters, rows: Rows | None, n: int) -> tuple[Parameters, Rows | None]:
    """The `n` starts with the highest objective; the first ones, where none is known."""
    if rows is None:
        return jax.tree.map(lambda leaf: leaf[:n], parameters), None
    objective = rows.log_likelihoods[-1] + rows.log_priors[-1]
    ahead = np.sort(np.argsort(-np.where(np.isfinite(objective), objective, -np.inf), kind="stable")[:n])
    return jax.tree.map(lambda leaf: leaf[ahead], parameters), Rows(*(each[:, ahead] for each in rows))


def _taken_on(
    iterations: Iterations,
    components: Components,
    parameters: Parameters,
    rows: Rows | None,
    until: int,
    tell: Tell,
    checkpoint: Checkpoint | None,
) -> tuple[Parameters, Rows]:
    """Make plain iterations from all `parameters` until there are `until`; what each came to (the start's too)."""
    n, milder = len(jax.tree.leaves(parameters)[0]), components.warm_up()
    before = 0 if rows is None else len(rows.log_priors) - 1
    ends, tables = [], []
    for first in range(0, n, FINALISTS):
        here = np.arange(first, min(first + FINALISTS, n))
        own = np.resize(here, FINALISTS)  # where they are too few, some stand twice, at rest
        active = np.arange(FINALISTS) < len(here)
        part = jax.tree.map(lambda leaf, own=own: leaf[own], parameters)
        name = f"race/{until}/{first}"
        if checkpoint is not None and checkpoint.has(name):
            end, table = checkpoint.known(name, (part, [np.zeros(0), np.zeros(0)]))
            ends.append(end)
            tables.append(table)
            continue
        if rows is None and milder is not None:
            part, interrupted = warm_up(iterations, milder, part)
            if interrupted:
                raise KeyboardInterrupt
        state = iterations.first(components, part)
        made = [Rows(np.asarray(state.counts.log_likelihood)[None], np.asarray(state.log_prior)[None])]
        left = until - before
        while left > 0:
            state, more = iterations.advance(components, state, active, accelerated=False, most=left)
            made.append(more)
            left -= len(more.log_priors)
            tell(until - left, (more.log_likelihoods[-1] + more.log_priors[-1])[active], n)
        ends.append(jax.tree.map(lambda leaf, active=active: np.asarray(leaf)[active], state.parameters))
        tables.append([np.concatenate(each)[:, active] for each in zip(*made, strict=True)])
        if checkpoint is not None:
            checkpoint.keep(name, (ends[-1], tables[-1]), iterations=until - before)
    whole = Rows(*(np.concatenate(each, axis=1) for each in zip(*tables, strict=True)))
    together = jax.tree.map(lambda *leaves: np.concatenate(leaves), *ends)
    return together, whole if rows is None else Rows(*(each[1:] for each in whole))
