"""Whatever is broken about a file, a user is told what, in one message that names it; nothing is left behind.

The files are in `broken_inputs`.  Each is given to every command that may be given it, through the command line.
"""

import errno
import os
import resource
import signal
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from broken_inputs import CASES, EDGES, GOOD, HUGE, POINTS, Hostile
from swirl import MDP, Trajectories, datasets, load, make
from swirl.cli.app import app
from swirl.io.environment_files import write_environment

runner = CliRunner()
ROOM = 20 * 10**6
"""Bytes that reading may take here: what claims more is refused, on any machine."""
LONGEST = 30
"""Seconds after which a command is taken to go on for ever."""

COMMANDS = {
    "table": ["check {}", "import table {} -o out.csv", "fit {} -o out.nc", "apply fit.nc {} -o out.csv"],
    "no table": ["check {}", "fit {} -o out.nc", "apply fit.nc {} -o out.csv"],
    "environment": ["check good.csv --env {}", "fit good.csv --env {} -o out.nc"],
    "states": ["check good.csv --env edges.csv --states {}", "fit good.csv --env edges.csv --states {} -o out.nc"],
    "polygons": ["import tracks xy.csv --polygons {} -o out.csv"],
    "nodes": ["import tracks xy.csv --nodes {} --edges ways.csv -o out.csv"],
    "edges": ["import tracks xy.csv --nodes nodes.csv --edges {} -o out.csv"],
    "configuration": ["fit --config {} -o out.nc"],
    "moseq": ["import moseq {} -o out.csv"],
    "tracks": ["import tracks {} --grid 2x2 -o out.csv"],
    "positions": ["import tracks {} --grid 2x2 -o out.csv"],
    "intervals": ["import nwb {} -o out.csv"],
    "fit": ["apply {} good.csv -o out.csv", "report {} -o out.html"],
}
FINE = {"table": ["check {}", "import table {} -o out.csv"], "environment": ["check good.csv --env {}"]}
"""For files that are fine after all: what is quick."""
MORE = {
    "table": [
        "export fit.nc --data {} -o out.csv",
        "report fit.nc --data {} -o out.html",
        "plot fit.nc --data {} -o figures",
        "compare {} -o out.json",
    ],
    "positions": ["import nwb {} --list"],
    "fit": [
        "export {} -o out.csv",
        "export {} -o out.mat",
        "export {} -o out.nwb",
        "plot {} -o figures",
        "name {} a",
    ],
}
"""Commands that read such files just as those above: they are given a few of them."""
A_FEW = ("cut within a row", "nothing there", "a folder", "parquet cut", "cut in half", "no fit", "a folder for a fit")


class TooLong(BaseException):
    """A command does not end."""


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments], env={"SWIRL_DEBUG": None, "COLUMNS": "200"})


def everything(folder):
    """All files and folders, with their contents."""
    paths = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in paths}


@pytest.fixture(scope="module", autouse=True)
def commands_made_once():
    """Typer makes its commands anew for every run, which takes longer than most of the runs here."""
    once = cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", once)
        patch.setattr("swirl.cli.app.get_command", once)
        yield


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A fit, for the commands that need one, as it comes from its file."""
    env = MDP.deterministic([[1, 0], [2, 0], [0, 0]])
    fitted = make("Markov-1", env, strength=1.0).fit(Trajectories([[0, 1, 2, 0, 1, 0]], [[0, 0, 0, 0, 1]]))
    return load(fitted.save(tmp_path_factory.mktemp("fit") / "fit.nc"))


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    return model.save(tmp_path_factory.mktemp("fit") / "fit.nc").read_bytes()


@pytest.fixture
def folder(saved, model, tmp_path, monkeypatch):
    """A user's folder with all that goes well."""
    place = tmp_path / "mein Ordner é"
    place.mkdir()
    (place / "fit.nc").write_bytes(saved)
    (place / "good.csv").write_text(GOOD)
    (place / "edges.csv").write_text(EDGES)
    (place / "xy.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in POINTS))
    (place / "nodes.csv").write_text("name,x,y\nhome,0,0\nwater,19,2\n")
    (place / "ways.csv").write_text("from,to\nhome,water\n")
    monkeypatch.chdir(place)
    monkeypatch.setattr("swirl.system.max_read_bytes", lambda: ROOM)
    # The good fit need not be read hundreds of times.
    monkeypatch.setattr("swirl.workflows.load.load", lambda path: model if Path(path).name == "fit.nc" else load(path))
    return place


@pytest.fixture
def bounded():
    """Let this process grow by no more than 2 GB, and no command go on for ever: files must not lead it to that."""

    def end(*_):
        raise TooLong

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    here = Path("/proc/self/statm")
    if here.exists():
        size = int(here.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (size + 2 * 2**30, hard))
    # What it computes is bounded by the processor's time, which other programs do not take; what it waits for, by ours.
    clocks = {signal.SIGPROF: (signal.ITIMER_PROF, LONGEST), signal.SIGALRM: (signal.ITIMER_REAL, 20 * LONGEST)}
    before = {sign: signal.signal(sign, end) for sign in clocks}
    for clock, seconds in clocks.values():
        signal.setitimer(clock, seconds)
    yield
    for sign, (clock, _) in clocks.items():
        signal.setitimer(clock, 0)
        signal.signal(sign, before[sign])
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.parametrize("name", CASES)
def test_a_broken_file_is_told_in_words(name, folder, bounded):
    case = CASES[name]
    path = case.make(folder)
    before = everything(folder)
    commands = COMMANDS[case.kind] if case.code else FINE.get(case.kind, COMMANDS[case.kind])
    if name.partition(": ")[2] in A_FEW:
        commands = commands + MORE.get(case.kind, [])
    for command in commands:
        done = run(*[part.replace("{}", str(path)) for part in command.split(" ")])
        assert done.exception is None or isinstance(done.exception, SystemExit), f"{command}: {done.exception!r}"
        assert done.exit_code == case.code, f"{command}: {done.output}"
        words = " ".join(done.output.split())
        assert "Traceback" not in words
        if case.code:
            assert case.told in words, command
            assert " ".join(path.name.split()) in words, command
            assert everything(folder) == before, command
        else:
            assert case.told in words or command.startswith("check {}"), command
            made = set(everything(folder)) - set(before)
            assert made <= {"out.csv", "out.env.csv", "out.env.states.csv", "out.import.json"}
            for file in made:
                (folder / file).unlink()


# ---------------------------------------------------------------------- writing


def environment(folder, overwrite):
    write_environment(
        MDP.deterministic([[1, 0], [0, 1]], state_names=["a", "b"]), folder / "out.csv", overwrite=overwrite
    )


WRITERS = {
    "CSV": "import table good.csv -o out.csv",
    "TSV": "import table good.csv -o out.tsv",
    "packed": "import table good.csv -o out.csv.gz",
    "Parquet": "import table good.csv -o out.parquet",
    "fit": "fit good.csv --model Markov-1 -o out.nc -q",
    "bouts": "apply fit.nc good.csv --bouts -o out.csv",
    "NWB": "export fit.nc --data good.csv -o out.nwb",
    "MATLAB": "export fit.nc --data good.csv -o out.mat",
    "report": "report fit.nc --data good.csv --draws 0 -o out.html",
    "figures": "plot fit.nc --data good.csv --only usage --format png -o out",
    "environment": environment,
}


@contextmanager
def a_disk_that_is_full(at=10):
    """Let no file grow beyond some bytes: a true failure, in the middle of writing, whoever writes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (at, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", WRITERS)
def test_a_write_that_fails_midway_leaves_what_was_there(name, folder, monkeypatch):
    writer = WRITERS[name]
    if callable(writer):
        with a_disk_that_is_full(), pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            writer(folder, False)
        assert not list(folder.glob("*out*"))
        return
    # The page itself takes seconds, and here its size is all that counts.
    monkeypatch.setattr("swirl.report.writing.build", lambda *_, **__: "<html>" * 100)
    target = folder / writer.split("-o ")[1].split(" ")[0]
    before = everything(folder)
    with a_disk_that_is_full():
        done = run(*writer.split(" "))
    told(done, target, before, folder)
    old = target / "usage.png" if name == "figures" else target
    old.parent.mkdir(exist_ok=True)
    old.write_text("mine")
    before = everything(folder)
    with a_disk_that_is_full():
        done = run(*writer.split(" "), "--force")
    told(done, target, before, folder)
    if name in ("CSV", "fit", "figures"):
        assert run(*writer.split(" "), "--force").exit_code == 0
        assert old.read_bytes() != b"mine"


def told(done, target, before, folder):
    assert isinstance(done.exception, SystemExit), repr(done.exception)
    assert done.exit_code == 2, done.output
    assert f"Error: {os.strerror(errno.EFBIG)}, so nothing was written: " in done.stderr
    assert target.stem in done.stderr.split("written: ")[1]
    assert everything(folder) == before


def test_an_interrupt_leaves_nothing(folder, monkeypatch):
    import pandas as pd

    def interrupted(self, path, *_, **__):
        Path(path).write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pd.DataFrame, "to_csv", interrupted)
    before = everything(folder)
    assert run("import", "table", "good.csv", "-o", "out.csv").exit_code == 130
    assert everything(folder) == before


ONTO_THEMSELVES = {
    "import": ["import", "table", "good.csv", "-o", "good.csv"],
    "fit": ["fit", "good.csv", "-o", "good.csv"],
    "compare": ["compare", "good.csv", "-o", "good.csv"],
    "apply": ["apply", "fit.nc", "good.csv", "-o", "good.csv"],
    "report": ["report", "fit.nc", "-o", "fit.nc"],
    "check": ["check", "good.csv", "--html", "good.csv"],
}


@pytest.mark.parametrize("name", ONTO_THEMSELVES)
def test_what_is_read_is_not_replaced_even_by_force(folder, name):
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    done = run(*ONTO_THEMSELVES[name], "--force")
    assert done.exit_code == 2
    assert "is what is being read: give the output another name" in done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_names_that_start_with_a_dash_or_are_long(folder):
    (folder / "-x.csv").write_text(GOOD)
    long = "x" * 240 + ".csv"
    assert run("import", "table", "-o", long, "--", "-x.csv").exit_code == 0
    assert run("check", long).exit_code == 0
    before = everything(folder)
    done = run("import", "table", "good.csv", "-o", "y" * 300 + ".csv")
    assert (done.exit_code, "File name too long" in done.stderr) == (2, True)
    assert everything(folder) == before


# ---------------------------------------------------------------------- rights


@contextmanager
def without_rights():
    """As a user who owns nothing here: root may do everything."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


LOCKED = {
    "good.csv": "check locked/good.csv",
    "good.parquet": "check locked/good.parquet",
    "edges.csv": "check good.csv --env locked/edges.csv",
    "run.toml": "fit --config locked/run.toml -o out.nc",
    "results.h5": "import moseq locked/results.h5 -o out.csv",
    "video.h5": "import tracks locked/video.h5 --grid 2x2 -o out.csv",
    "day.nwb": "import nwb locked/day.nwb -o out.csv",
    "boris.csv": "import bouts locked/boris.csv -o out.csv",
    "mine.nc": "apply locked/mine.nc good.csv -o out.csv",
}


@pytest.fixture
def open_folder(folder, tmp_path_factory):
    """The same where another user may come: pytest keeps its own folders closed."""
    for place in [folder, *folder.parents][: len(folder.parts) - len(Path("/tmp").parts)]:
        if place.stat().st_uid == os.getuid() and place != Path("/tmp"):
            place.chmod(0o755)
    return folder


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="POSIX users")
@pytest.mark.parametrize("file", LOCKED)
def test_a_file_that_may_not_be_read(file, open_folder):
    (open_folder / "locked").mkdir()
    path = open_folder / "locked" / file
    path.write_bytes(b"x")
    command = LOCKED[file].split(" ")
    run(*command)  # whatever is imported on the way is imported as who may
    path.chmod(0)
    before = set(everything_by_name(open_folder))
    with without_rights():
        done = run(*command)
    assert isinstance(done.exception, SystemExit), repr(done.exception)
    assert (done.exit_code, file in done.stderr, "Permission denied" in done.stderr) == (2, True, True), done.stderr
    assert set(everything_by_name(open_folder)) == before


def everything_by_name(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="POSIX users")
def test_a_folder_that_may_not_be_written(open_folder):
    (open_folder / "locked").mkdir(mode=0o555)
    command = ["import", "table", "good.csv", "-o"]
    assert run(*command, "out.csv").exit_code == 0
    with without_rights():
        done = run(*command, "locked/out.csv")
    assert (done.exit_code, "Permission denied" in done.stderr, "locked/out.csv" in done.stderr) == (2, True, True)
    assert list((open_folder / "locked").iterdir()) == []


# ---------------------------------------------------------------------- without the command line


def test_arrays_of_strangers_are_not_opened(folder, monkeypatch):
    """Published recordings are known by their SHA-256: neither a pickle nor a header of terabytes is looked at."""
    monkeypatch.setenv("SWIRL_DATA_DIR", str(folder))
    place = folder / "labyrinth"
    place.mkdir()
    file = place / "emissions500new.npy"
    np.save(file, np.array([Hostile(folder)], object), allow_pickle=True)
    with file.open("r+b") as huge, (place / "trans_probs.npy").open("wb") as other:
        del huge
        np.lib.format.write_array_header_1_0(other, {"descr": "<f8", "fortran_order": False, "shape": (HUGE,)})
    done = run("fetch", "labyrinth")
    assert done.exit_code == 2
    assert "emissions500new.npy is not the published" in done.stderr
    with pytest.raises(ValueError, match="is not the published"):
        datasets.labyrinth()
    assert not (folder / "opened").exists()


def test_a_frame_of_lists_is_told():
    import pandas as pd

    with pytest.raises(ValueError, match="holds lists or records"):
        Trajectories.from_dataframe(pd.DataFrame({"state": [[1, 2], [3]]}))
