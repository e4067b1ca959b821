"""Tasks that workers import by name: what a test does to them shows in the files that they leave."""

import os
import time
from pathlib import Path


def square(n, marks=None, seconds=0.0, told=None):
    """n², after some time; each call leaves a file in the folder `marks`."""
    if marks is not None:
        (Path(marks) / f"{n}-{os.getpid()}-{time.time_ns()}").touch()
    time.sleep(seconds)
    return {"square": n * n}


def fussy(n, told=None):
    """n, but not 3."""
    if n == 3:
        raise ValueError("3 is not liked")
    return {"n": n}


def deadly(n, told=None):
    """n, but 3 takes its process along."""
    if n == 3:
        os._exit(1)
    return {"n": n}


def affinity(n, told=None):
    """The cores that this process may use."""
    time.sleep(0.02)
    return {"own": sorted(os.sched_getaffinity(0))}
