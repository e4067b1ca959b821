"""Figures that the paper or its authors' files report, each with its source, for the column beside ours.

The paper prints most of its scores as figures only. SCORED_BY_US: the parameters in the authors' repository
(github.com/BRAINML-GT/SWIRL), scored by the same filter as ours on the same sessions.
"""

from dataclasses import dataclass

SCORED_BY_US = "the authors' parameters, scored by us"


@dataclass(frozen=True)
class Published:
    """A figure and where it stands."""

    value: float
    source: str
    note: str = ""


GRIDWORLD = {
    "S-2 reward correlation": Published(0.825, "paper, Fig. 2", "in the fitted gauge"),
    "model-free reward correlation": Published(0.737, "paper, App. C"),
    "S-2 test LL": Published(-1.4641, SCORED_BY_US, "on the authors' draw, where the truth scores −1.4634"),
    "S-2 accuracy": Published(0.917, SCORED_BY_US, "on the authors' draw, where the truth scores 0.918"),
}

LABYRINTH = {
    "S-1": Published(-6.749, SCORED_BY_US, "a failed fit; 499 of 500 steps"),
    "S-2": Published(-0.7268, SCORED_BY_US, "action; 499 of 500 steps"),
    "S-2 next state": Published(-0.7179, SCORED_BY_US, "499 of 500 steps"),
}

SPONTANEOUS = {
    "S-1": Published(-1.5567, SCORED_BY_US, "five modes"),
    "S-2": Published(-1.5726, SCORED_BY_US, "five modes, with back-off"),
}
