"""How much is computed (everything, minutes' worth, or a test's worth), and which sessions choices may see."""

from dataclasses import dataclass

from swirl.data.trajectories import Trajectories

EVERY = 5  # sessions 0, 5, 10, … are the paper's test
SECOND = 2  # sessions 2, 7, 12, … are the test of a second split


def untested(sessions: Trajectories) -> Trajectories:
    """The sessions in neither split's test: every choice is made on folds of these.

    >>> from swirl import datasets
    >>> sessions = datasets.gridworld(n_sessions=10, n_steps=20).trajectories
    >>> len(untested(sessions))
    6
    """
    return sessions[[i for i in range(len(sessions)) if i % EVERY not in (0, SECOND)]]


@dataclass(frozen=True)
class Scale:
    """Sizes of a run.

    Parameters
    ----------
    name
        "full", "quick" or "tiny".
    n_runs
        Single starts of each fit: what the box plots and bands are over.
    max_iter
        EM iterations of a fit at most; it stops before where less than 0.01 nats are left to gain (`convergence`).
    max_iter_folds
        The same of fits to folds, which only rank settings.
    share
        Share of the sessions used (the first ones), 1 for all.
    n_draws
        Simulated datasets of each posterior predictive check; random draws of each robustness level.
    """

    name: str
    n_runs: int
    max_iter: int
    max_iter_folds: int
    share: float
    n_draws: int

    @property
    def full(self) -> bool:
        """Whether nothing is left out."""
        return self.name == "full"


FULL = Scale("full", n_runs=10, max_iter=2000, max_iter_folds=200, share=1.0, n_draws=10)
QUICK = Scale("quick", n_runs=3, max_iter=60, max_iter_folds=60, share=0.4, n_draws=3)
TINY = Scale("tiny", n_runs=2, max_iter=8, max_iter_folds=8, share=0.05, n_draws=2)
SCALES = {scale.name: scale for scale in (FULL, QUICK, TINY)}
