"""One look at recordings before any fit: what is there, what a fit would refuse, and what would mislead it.

Everything is counted over all steps at once; sessions are looped over only where they differ in kind (medians, hashes).

`findings`     what can be found, and what to do about it;
`notes`        collects it, while the data are gone through by theme: `sessions`, `clock`, `states`, `moves`, `actions`,
               `histories`, `signals`;
`examination`  calls them all; `words` and `figures` say it on a page.
"""

from swirl.checkup.examination import Checkup, examine
from swirl.checkup.findings import ADVICE, Finding, place_words

__all__ = ["ADVICE", "Checkup", "Finding", "examine", "place_words"]
