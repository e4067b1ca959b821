"""What a fit holds at its peak, part by part, and the same in words."""

from dataclasses import dataclass
from typing import Literal

from swirl.faults import counted
from swirl.machine import amount
from swirl.memory.sizes import Sizes

PARTS = ("steps", "messages", "counts", "histories", "optimiser", "baseline")

Bytes = float | int
Moment = Literal["reading", "E-step", "M-step", "afterwards"]


@dataclass(frozen=True)
class Prediction:
    """Bytes that a fit holds at its peak, part by part."""

    steps: int
    """The recording, and the same as numbers of histories, states and symbols."""
    messages: int
    """Forward messages and posteriors of the E-step."""
    counts: int
    """Expected counts and the tables of the hidden chain."""
    histories: int
    """Tables over histories: where actions lead, parameters, policies, gauge."""
    optimiser: int
    """What the M-step works with."""
    baseline: int
    """Python, JAX and their compilers."""
    moment: Moment
    """When the peak is reached."""
    sizes: Sizes

    @property
    def total(self) -> int:
        """All parts together."""
        return sum(getattr(self, part) for part in PARTS)

    def worded(self) -> str:
        """Say how much, and what for; parts below a twentieth are left out.

        >>> from swirl.mdp import MDP
        >>> from swirl.memory import predict
        >>> ring = MDP.deterministic([[0, 1], [1, 2], [2, 0]])
        >>> needs = predict(ring, n_modes=2, history=2, n_steps=10**7, n_sessions=100, n_restarts=8, engine="scan")
        >>> needs.worded()
        'about 10 GB: 8.96 GB of messages for 10,000,000 steps × 2 modes × 8 restarts, 590 MB for ...'
        """
        s = self.sizes
        steps, modes, restarts = f"{s.n_steps:,} steps", counted(s.n_modes, "mode"), counted(s.n_restarts, "restart")
        histories = f"{s.n_histories:,} histories" if s.n_histories < 10**15 else f"{s.n_histories:.0e} histories"
        whose = f"{steps} × {modes} × {restarts}"
        if s.engine == "compiled":
            whose = f"{s.longest:,} steps × {modes}, in each of {counted(s.n_threads, 'thread')}"
        of = {
            "steps": f"for the recording of {steps}",
            "messages": f"of messages for {whose}",
            "counts": f"of counts for {modes} × {restarts}",
            "histories": f"of tables over {histories} × {counted(s.n_actions, 'action')}",
            "optimiser": f"for the M-step of {histories} × {counted(s.n_actions, 'action')} × {modes} × {restarts}",
            "baseline": "for Python and JAX themselves",
        }
        parts = sorted(((getattr(self, part), part) for part in PARTS), reverse=True)
        told = [f"{amount(size)} {of[part]}" for size, part in parts if size >= 0.05 * self.total]
        return f"about {amount(self.total)}: {', '.join(told)}"
