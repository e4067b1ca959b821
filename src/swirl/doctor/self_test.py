"""One iteration of EM in a world so small that plain loops can follow it: planning, an E-step, an M-step, an E-step.

It takes the road that fits take on this machine, and about a second, most of which goes into compiling.
"""

import time
from itertools import chain

from swirl.doctor.checks import REPORT, Check, failed, ok

# A ring of three places (stay, or go on), and what plain loops make of it (tests/test_doctor.py has them).
RING = [[0, 1], [1, 2], [2, 0]]
DISCOUNT = 0.95
REWARDS = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
VALUES = [[22.411656137574, 23.175787249042, 23.999057913357], [23.999057913357, 22.411656137574, 23.175787249042]]
SWITCHES = [[0.9, 0.1], [0.2, 0.8]]
FIRST_MODES = [0.6, 0.4]
STATES = [[0, 1, 2, 2, 0, 1, 1, 2, 0, 0], [2, 2, 2, 0, 1, 2, 0, 1, 1, 1]]
ACTIONS = [[1, 1, 0, 1, 1, 0, 1, 1, 0, 1], [0, 0, 1, 1, 1, 1, 1, 0, 0, 1]]
PSEUDOCOUNT = 1.0
BEFORE, AFTER = -15.735121628029, -12.571060170649  # log-likelihood of the recording, and after an M-step
TOLERANCE = 1e-6

# What a broken installation raises: about anything but an interrupt.
BROKEN = (ArithmeticError, AttributeError, ImportError, LookupError, OSError, RuntimeError, TypeError, ValueError)


def self_test() -> Check:
    """Whether one iteration of EM comes to numbers that are known.

    >>> self_test()["passed"]
    True
    """
    began = time.perf_counter()
    try:
        rewards, before, after = iteration()
    except BROKEN as fault:
        return failed(f"{type(fault).__name__}: {fault}", REPORT)
    seconds = time.perf_counter() - began
    faults = []
    if not all(abs(got - known) < TOLERANCE for got, known in zip(chain(*rewards), chain(*REWARDS), strict=True)):
        faults.append(f"rewards of known values are {rewards}, expected {REWARDS}")
    for what, got, expected in (("a known model's", before, BEFORE), ("after one M-step its", after, AFTER)):
        if not abs(got - expected) < TOLERANCE:
            faults.append(f"{what} log-likelihood is {got:.9f}, expected {expected:.9f}")
    if faults:
        return failed("; ".join(faults), REPORT)
    return ok(f"planning, an E-step and an M-step give what is known by hand, to 6 digits; {seconds:.1f} s")


def iteration() -> tuple[list[list[float]], float, float]:
    """Rewards of the known values; the recording's log-likelihood under their policies, and after an M-step."""
    import numpy as np

    from swirl.estep.counts import Chains, Tables
    from swirl.history import Histories
    from swirl.iteration import choose, improve_restarts
    from swirl.mdp import MDP
    from swirl.mstep import Components, Parameters
    from swirl.precision import float64, numpy_tree
    from swirl.priors import Dirichlet
    from swirl.rewards.policies import FreePolicies
    from swirl.soft_q import read_values
    from swirl.switching import TableSwitching

    histories, prior = Histories.reachable(MDP.deterministic(RING).successors, 1), Dirichlet(PSEUDOCOUNT)
    one = np.ones(2)
    rewards, log_policies = read_values(histories.successors, np.array(VALUES), discount=DISCOUNT, temperature=one)
    logits, switches, first = log_policies[None], np.log(SWITCHES)[None], np.log(FIRST_MODES)[None]
    tables = Tables(first, np.repeat(switches[:, None], 3, axis=1), logits.reshape(1, 2, -1).swapaxes(1, 2).copy())
    # The form of reward whose M-step is in closed form: others compile for seconds, and no plain loop follows them.
    components = Components(
        FreePolicies.build(histories, prior, temperature=one),
        TableSwitching.build(3, 2, prior, pooled=True),
        np.asarray(PSEUDOCOUNT),
    )
    states, actions = np.concatenate(STATES).astype(np.int32), np.concatenate(ACTIONS).astype(np.int32)
    chains = Chains(2 * states + actions, states, np.array([0, 10, 20]), n_symbols=6, n_states=3)
    with float64():
        road = choose("auto", chains, tables)
        counts = road.counts(tables)
        start = Parameters(first, switches, logits)
        improved = numpy_tree(improve_restarts(components, start, counts, np.ones(1, bool))[1])
        after = road.counts(improved)
    return rewards.tolist(), float(counts.log_likelihood[0]), float(after.log_likelihood[0])
