"""The examination behind `swirl doctor`: what is installed and seen here, what works, and what to do about the rest.

A check passes or fails; one that passes may still carry advice.  Nothing heavy is imported until it is asked for.
"""

from swirl.doctor.examination import examine
from swirl.doctor.words import worded

__all__ = ["examine", "worded"]
