"""What should make one careful with a fit, and what to do: the same words after `swirl fit` and in the report."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from swirl.faults import counted

NEAR = 1e-3  # nats per step from the best objective: as good a result
LEAST_SHARE = 0.02  # of the steps; a mode with fewer is often a few odd stretches of one session


def cautions(
    converged: bool | None, n_restarts: int | None, n_agree: int | None, shares: Sequence[float], names: Sequence[str]
) -> dict[str, str]:
    """What it is about (converged, restarts, modes) → what is the matter, and what to do.

    Parameters
    ----------
    converged, n_restarts
        How the fit ended, and from how many starting points; None: not known.
    n_agree
        How many of these, the kept one among them, came to the same result.
    shares, names
        Of each mode: its share of the steps, and what it is called.

    Examples
    --------
    >>> found = cautions(False, 8, 1, [0.99, 0.01], ["run", "rest"])
    >>> list(found), found["modes"][:33]
    (['converged', 'restarts', 'modes'], 'rest has only 1.0 % of the steps,')
    """
    found = {}
    if converged is False:
        found["converged"] = (
            "The iterations ran out before the fit had settled, so its numbers would still move. Fit again with more: "
            "--max-iter 20000 (in Python, max_iter=20000)."
        )
    if n_restarts == 1:
        found["restarts"] = (
            "There was a single starting point; whether others would end elsewhere is not known. Fit again with "
            "--restarts 8 (n_restarts=8) before you rely on it."
        )
    elif n_restarts and n_agree is not None and n_agree < 2:
        more = max(20, 3 * n_restarts)
        found["restarts"] = (
            f"Only one of {n_restarts} starting points ended here, so it may be luck, and a better solution may be "
            f"near. Fit again with --restarts {more} (n_restarts={more}), and see whether the same modes come back."
        )
    few = [k for k, share in enumerate(shares) if share < LEAST_SHARE] if len(shares) > 1 else []
    if few:
        has = " and ".join(f"{names[k]} has only {100 * shares[k]:.1f} %" for k in few)
        found["modes"] = (
            f"{has} of the steps, too few to say what it does. Fit {counted(len(shares) - len(few), 'mode')}, or do "
            "not interpret it; swirl compare says how many modes the data bear."
        )
    return found


def restarts_near(model: Any) -> int | None:
    """How many restarts of a fit ended within `NEAR` of the best; None where there are none."""
    restarts = getattr(model, "restarts_", None)
    if not restarts:
        return None
    objectives = np.array([start.objective for start in restarts]) / model.n_observed_
    return int(np.sum(objectives[model.best_restart_] - objectives <= NEAR))
