"""`swirl reproduce`: run experiments of the paper and write what they found."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from swirl.estimators.save_load import versions
from swirl.io.atomic_write import write_text
from swirl.reproduce.cache import Ledger
from swirl.reproduce.page import write, write_contents
from swirl.reproduce.scale import SCALES

# Each module has run(scale, ledger) -> page.Experiment.
EXPERIMENTS = {
    "gridworld": "swirl.reproduce.gridworld.experiment",
    "labyrinth": "swirl.reproduce.labyrinth.experiment",
    "spontaneous": "swirl.reproduce.spontaneous.experiment",
}
MARKER = "reproduced-by-swirl.txt"


def reproduce(
    names: Sequence[str],
    output: Path,
    *,
    scale: str = "full",
    force: bool = False,
    say: Callable[[str], Any] | None = None,
) -> dict[str, Path]:
    """Run experiments and write a folder for each; return their pages.

    Parameters
    ----------
    names
        Of `EXPERIMENTS`.
    output
        Folder for the results. A run that stopped goes on where it was when it is given the same folder.
    scale
        "full", "quick" or "tiny" (`settings`).
    force
        Write into a folder that holds files which are not of an earlier run.
    """
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise ValueError(f"experiments: got {', '.join(unknown)}, expected some of {', '.join(EXPERIMENTS)}")
    if scale not in SCALES:
        raise ValueError(f"scale={scale!r}: expected one of {', '.join(SCALES)}")
    if output.exists() and not output.is_dir():
        raise FileExistsError(f"{output} is a file; choose another --output")
    ours = (output / MARKER).exists()
    if output.exists() and any(output.iterdir()) and not (force or ours):
        raise FileExistsError(
            f"{output} is not empty, and not the folder of an earlier reproduction: choose another --output, or "
            "--force to write into it"
        )
    output.mkdir(parents=True, exist_ok=True)
    write_text(
        output / MARKER, "Made by `swirl reproduce`; fits/ holds what need not be computed again.\n", overwrite=True
    )
    say = say or _say
    pages = {}
    for name in names:
        say(f"{name} ({scale})")
        began = time.perf_counter()
        ledger = Ledger(output / "fits" / name, say)
        experiment = import_module(EXPERIMENTS[name]).run(SCALES[scale], ledger)
        computing, now = sum(ledger.seconds.values()), time.perf_counter() - began
        about = {
            "command": f"swirl reproduce {name}" + ("" if scale == "full" else f" --{scale}"),
            "seconds": f"{computing:.0f} of computing, {now:.0f} in this run",
            **experiment.about,
            "versions": ", ".join(f"{key} {value}" for key, value in versions().items()),
        }
        pages[name] = write(replace(experiment, about=about), output / name)
        say(f"  {experiment.first}\n  {pages[name]}")
    write_contents(output, list(EXPERIMENTS))
    return pages


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
