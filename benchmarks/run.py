"""Every speed that swirl claims, as ratios measured in one run on one machine.

python benchmarks/run.py                     all sections (minutes: the paper's recipe is slow)
python benchmarks/run.py --only e-step       one section
python benchmarks/run.py --quick             small sizes: does everything run?
"""

import argparse
import json
import os
import platform
import sys
import time
from importlib import import_module, metadata
from pathlib import Path

from report import Options

ROOT = Path(__file__).resolve().parents[1]
SECTIONS = {
    "gridworld": "against_paper",
    "e-step": "estep_rivals",
    "histories": "history_lengths",
    "growth": "growth",
    "roofline": "roofline",
    "footprint": "footprint",
    "streaming": "streaming",
}
PACKAGES = ("swirl-irl", "jax", "jaxlib", "numpy", "scipy", "optax", "numba", "hmmlearn", "dynamax")


def versions() -> dict[str, str]:
    """Python and the packages that take part."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def machine() -> dict[str, object]:
    """Describe what the numbers were measured on, and how busy it was."""
    processor = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [line.split(":", 1)[1].strip() for line in information.read_text().splitlines() if "model name" in line]
        processor = names[0] if names else processor
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"processor": processor, "cores": cores, "system": platform.platform(), "load_before": load}


def main(arguments: list[str] | None = None) -> int:
    """Run the sections that were asked for, print their tables and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes; the ratios are then not the claim")
    parser.add_argument("--only", metavar="NAME", choices=SECTIONS, action="append", help=", ".join(SECTIONS))
    parser.add_argument("--rival-iterations", type=int, default=3, help="EM iterations of the paper's recipe")
    parser.add_argument("--json", type=Path, default=ROOT / "bench-results" / "results.json", metavar="FILE")
    chosen = parser.parse_args(arguments)
    options = Options(quick=chosen.quick, rival_iterations=max(1, chosen.rival_iterations))

    results = {
        "began": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "quick": options.quick,
        "machine": machine(),
        "versions": versions(),
        "sections": {},
    }
    described = results["machine"]
    print(f"{described['processor']}, {described['cores']} cores, load {described['load_before']}")
    print(", ".join(f"{name} {version}" for name, version in results["versions"].items()), flush=True)
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    for name in chosen.only or SECTIONS:
        print(f"\n=== {name} ===", flush=True)
        began = time.perf_counter()
        section = import_module(SECTIONS[name]).measure(options)
        for table in section.tables:
            print(f"\n{table}", flush=True)
        took = time.perf_counter() - began
        print(f"\n({name}: {took:.0f} s)", flush=True)
        results["sections"][name] = {"seconds": took, **section.values}
        # After each section, so that an interrupted run keeps what it has.
        chosen.json.write_text(json.dumps(results, indent=1))
    print(f"\nwritten: {chosen.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
