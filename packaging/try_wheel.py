"""Build the distributions, and use the wheel as somebody would who has never seen this repository (`make wheel`).

The wheel is built from the source distribution, so that one is tried too.  Both are checked for a package index, the
wheel is looked through for what is no Python, and installed with all its extras in an empty environment in an empty
folder; `swirl doctor` and a small demo run there.  Silent until something is wrong, but for a line of summary.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
DEMO = ("demo", "--quick", "--restarts", "1", "--output", "demo")
MADE = ("report.html", "truth.html", "sessions.csv", "S-2.nc", "comparison.json")


class Fault(Exception):
    """Something that must not be released."""


def call(*command: object, folder: Path = ROOT) -> str:
    """Run a command without what points into the checkout; its output, or a fault that shows it."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode:
        raise Fault(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def lacking(names: set[str]) -> list[str]:
    """What the package has in the checkout and a wheel with these names has not; what it has beyond that."""
    here = {
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "swirl").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    inside = {name for name in names if ".dist-info/" not in name}
    return [f"lacks {name}" for name in sorted(here - inside)] + [f"has {name}" for name in sorted(inside - here)]


def install(wheel: Path, folder: Path) -> Path:
    """An environment with the wheel and all its extras; the path of its programs."""
    environment = folder / "env"
    call(sys.executable, "-m", "venv", environment)
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    wanted = f"{wheel}[all]"
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    try:
        if uv is None:
            raise Fault("uv is not there")
        call(uv, "pip", "install", "--quiet", "--python", programs / "python", wanted, folder=folder)
    except Fault:  # pip reaches what uv cannot, in several times its time
        call(programs / "python", "-m", "pip", "install", "--quiet", wanted, folder=folder)
    return programs


def main() -> None:
    """Build, look, install, run."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--output", type=Path, default=ROOT / "dist", help="Folder for the distributions.")
    output = options.parse_args().output.resolve()
    began = time.perf_counter()
    shutil.rmtree(output, ignore_errors=True)
    call(sys.executable, "-m", "build", "--outdir", output, ROOT)
    [wheel], [source] = output.glob("*.whl"), output.glob("*.tar.gz")
    call(sys.executable, "-m", "twine", "check", "--strict", wheel, source)
    with zipfile.ZipFile(wheel) as archive:
        faults = lacking(set(archive.namelist()))
    if faults:
        raise Fault(f"{wheel.name}: " + "; ".join(faults))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = install(wheel, folder)
        where = call(programs / "python", "-c", "import swirl; print(swirl.__file__)", folder=folder).strip()
        if not Path(where).resolve().is_relative_to(folder.resolve()):
            raise Fault(f"swirl was imported from {where}, not from the wheel")
        call(programs / "swirl", "doctor", folder=folder)
        call(programs / "swirl", *DEMO, folder=folder)
        missing = [name for name in MADE if not (folder / "demo" / name).is_file()]
        if missing:
            raise Fault(f"swirl {' '.join(DEMO)} did not write {', '.join(missing)}")
    seconds = time.perf_counter() - began
    print(f"{wheel.name} and {source.name}: built, checked, installed and tried in {seconds:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        sys.exit(f"Error: {fault}")
