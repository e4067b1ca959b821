"""What studies of many draws share: resumable draw by draw, in several processes, their cost said before they start."""

import argparse
import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from swirl.estimators.save_load import versions
from swirl.system import keep_compiled

RESULTS = Path(__file__).parent / "results"
Draw = dict[str, Any]


def options(description: str, worlds: Sequence[str], **numbers: tuple[int, str]) -> argparse.Namespace:
    """Read the command line that all such studies have; `numbers`: further options, with defaults and words."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=list(worlds))
    parser.add_argument("--draws", type=int, help="of each world; by default as many as are planned")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=np.inf, help="seconds after which no more draws are waited for")
    parser.add_argument("--output", type=Path, default=RESULTS)
    for name, (default, words) in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=words)
    return parser.parse_args()


def known(folder: Path, name: str) -> list[Draw]:
    """The draws that were made before."""
    path = folder / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["draws"] if path.exists() else []


def left(found: list[Draw], planned: Mapping[str, int], wanted: argparse.Namespace) -> list[tuple[Any, ...]]:
    """Worlds and seeds that were asked for and are not known yet: the first seed of each world first."""
    done = {(row["world"], row["seed"]) for row in found}
    numbers = {world: wanted.draws or planned[world] for world in wanted.only or planned}
    cases = [(world, seed) for seed in range(max(numbers.values())) for world in numbers if seed < numbers[world]]
    return [case for case in cases if case not in done]


def write(found: list[Draw], folder: Path, name: str, command: str, page: Callable[[list[Draw], str], str]) -> None:
    """Write what is known so far: every draw as JSON, and the page that is made of them."""
    path, half = folder / f"{name}.json", folder / f"half-{name}.json"
    half.write_text(json.dumps({"command": command, "versions": versions(), "draws": found}) + "\n", encoding="utf-8")
    half.replace(path)
    (folder / f"{name}.md").write_text(page(found, made_with(versions())), encoding="utf-8")


def made_with(own: dict[str, str]) -> str:
    """The versions in one line."""
    return ", ".join(f"{key} {value}" for key, value in own.items())


def _on_own_core(free: Any) -> None:
    """Bind this process to a core that no other has."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {free.get()})
    keep_compiled()  # and use what others have compiled


def make(
    one_draw: Callable[..., Draw],
    left: Sequence[tuple[Any, ...]],
    *,
    seconds: Callable[[tuple[Any, ...]], float],
    jobs: int,
    limit: float,
    keep: Callable[[Draw], None],
    **settings: Any,
) -> None:
    """Make the draws that are `left`, each with a core of its own; `keep` is told each as it comes.

    `seconds`: what a draw costs one core, to be said first. After `limit` seconds no more are waited for.
    """
    hours = sum(map(seconds, left)) / 3600 / jobs
    print(f"{len(left)} draws to make; about {hours:.1f} hours on {jobs} cores", flush=True)
    context = get_context("spawn")
    free = context.Manager().Queue()
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    for job in range(jobs):
        free.put(cores[job % len(cores)])
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_on_own_core, initargs=(free,)) as pool:
        waiting = [pool.submit(one_draw, *case, **settings) for case in left]
        try:
            for each in as_completed(waiting, timeout=None if np.isinf(limit) else limit):
                keep(each.result())
        except TimeoutError:
            for process in pool._processes.values():
                process.kill()
