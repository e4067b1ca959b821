"""One look at recordings before any fit: what is there, what a fit would refuse, and what would mislead it.

Everything is counted over all steps at once; sessions are looped over only where they differ in kind (medians, hashes).

`findings`  what can be found, how much it weighs, and what to do about it;
`checks`    goes through the data by theme: sessions, clock, states, moves, actions, histories, signals;
`summary`   calls them all, and says it in words;
`page`      the same as HTML.
"""

from swirl.workflows.check.findings import ADVICE, Finding, place_words
from swirl.workflows.check.summary import Checkup, examine

__all__ = ["ADVICE", "Checkup", "Finding", "examine", "place_words"]
