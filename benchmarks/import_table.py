"""Import of a long table of 10^7 rows into `Trajectories`: seconds and peak memory, beside plain pandas.

    python benchmarks/import_table.py [--rows 10000000] [--sessions 200] [--shuffled] [--format parquet|csv]

The file holds text and numbers as a user would write them: session, subject and group as text, t, state, action with
blanks, gap, two covariates and one column of text that is not needed.  Each reading is a fresh process, whose
interpreter and imports are counted in its memory but not in its seconds.  `swirl check` of the same file is timed as a
command: with its interpreter, and with what it looks up in the file.

    python benchmarks/import_table.py --small

Seconds of `swirl import` of small files (1,000 rows), as commands, beside `python -c "import pandas"`, in turns.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from footprint import REPORT

READ = (
    REPORT
    + """
import time
from swirl.io.session_table import read_{kind}
import pandas, pyarrow.parquet
t0 = time.perf_counter()
data = read_{kind}(sys.argv[1])
report(seconds=time.perf_counter() - t0, what=repr(data))
"""
)

PLAIN = (
    REPORT
    + """
import time
import pandas, pyarrow.parquet
t0 = time.perf_counter()
frame = pandas.read_{kind}(sys.argv[1])
report(seconds=time.perf_counter() - t0, what=f"{{len(frame):,}} rows, {{frame.shape[1]}} columns")
"""
)

CHECK = (
    REPORT
    + """
import contextlib, io, time
from swirl.cli import main
t0 = time.perf_counter()
shown = io.StringIO()
with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
    main(["check", sys.argv[1]])
report(seconds=time.perf_counter() - t0, what=shown.getvalue().splitlines()[-1])
"""
)


def table(rows: int, sessions: int, shuffled: bool) -> pd.DataFrame:
    """One long table, sessions of about equal length; shuffled: its rows in no order at all."""
    rng = np.random.default_rng(0)
    session = np.arange(rows) * sessions // rows
    step = np.arange(rows) - np.searchsorted(session, session)
    action = rng.integers(0, 4, rows).astype(float)
    action[rng.random(rows) < 0.01] = np.nan
    frame = pd.DataFrame(
        {
            "session": np.array([f"session {i}" for i in range(sessions)], object)[session],
            "subject": np.array([f"mouse {i % 20}" for i in range(sessions)], object)[session],
            "group": np.array(["saline", "drug"], object)[session % 2],
            "t": step / 30,
            "state": rng.integers(0, 127, rows),
            "action": action,
            "gap": rng.random(rows) < 1e-4,
            "speed": rng.normal(size=rows),
            "dopamine": rng.normal(size=rows).astype(np.float32),
            "remark": np.array(["", "looks away"], object)[(rng.random(rows) < 0.01).astype(int)],
        }
    )
    return frame.iloc[rng.permutation(rows)] if shuffled else frame


SMALL = {
    "table": ("session,step,state,action", [], lambda i: f"{i // 200},{i % 200},{i * 7 % 9},{i * 3 % 4}"),
    "bouts": ("start,stop,behavior", [], lambda i: f"{2 * i},{2 * i + 1},{'abcd'[i * 7 % 4]}"),
    "tracks": ("frame,x,y", ["--fps", "25", "--grid", "5x5"], lambda i: f"{i},{i * 0.1 % 40:.2f},{i * 0.07 % 30:.2f}"),
}


def small(turns: int = 16) -> None:
    """Time the commands and the import of pandas in turns, the first of which is not counted."""
    swirl = [sys.executable, "-m", "swirl", "import"]
    commands = {"import pandas": [sys.executable, "-c", "import pandas"]}
    with tempfile.TemporaryDirectory() as folder:
        for kind, (head, options, row) in SMALL.items():
            Path(folder, f"{kind}.csv").write_text("\n".join([head, *map(row, range(1000)), ""]))
            commands[f"swirl import {kind}"] = [
                *swirl,
                kind,
                f"{kind}.csv",
                "-o",
                f"{kind}_steps.csv",
                "--force",
                *options,
            ]
        took: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(turns):
            for name, command in commands.items():
                start = time.perf_counter()
                subprocess.run(command, cwd=folder, capture_output=True, check=True)
                took[name] += [time.perf_counter() - start] if turn else []
    first = statistics.median(took["import pandas"])
    for name, seconds in took.items():
        print(
            f"{name:20}  {statistics.median(seconds):.3f} s, {statistics.median(seconds) / first:.2f} of import pandas"
        )


def child(program: str, path: Path) -> dict:
    """Run a program on the file in a fresh interpreter; what it reported."""
    known = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
    here = {**os.environ, "PYTHONPATH": known}
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], env=here, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Write the file, read it twice by each road, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--shuffled", action="store_true")
    parser.add_argument("--format", choices=("parquet", "csv"), default="parquet")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    if options.small:
        small()
        return
    kind = options.format
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"steps.{kind}"
        made = table(options.rows, options.sessions, options.shuffled)
        made.to_parquet(path, index=False) if kind == "parquet" else made.to_csv(path, index=False)
        del made
        print(f"{path.name}: {options.rows:,} rows, {path.stat().st_size / 2**20:.0f} MiB")
        plain = PLAIN.replace("{kind}", kind).replace("{{", "{").replace("}}", "}")
        roads = {
            f"pandas.read_{kind}": plain,
            f"read_{kind} → Trajectories": READ.replace("{kind}", kind),
            "swirl check": CHECK,
        }
        path.read_bytes()  # warms the disk's cache for all
        found = {name: child(program, path) for name, program in roads.items()}
    for name, took in found.items():
        print(f"{name:28}  {took['seconds']:6.2f} s  peak {took['peak_MiB'] / 1024:5.2f} GiB  {took['what']}")
    first, second = list(found.values())[:2]
    print(f"ratio: {second['seconds'] / first['seconds']:.2f}")


if __name__ == "__main__":
    main()
