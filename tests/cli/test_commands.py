"""The command line: quick to start, plain in its errors."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from swirl._version import __version__
from swirl.analysis.tasks import Progress
from swirl.cli import import_, main
from swirl.cli.app import COMMANDS, app
from swirl.cli.output import Told, as_typed_here
from swirl.workflows import doctor

HEAVY = ("jax", "numpy", "scipy", "matplotlib", "optax", "xarray")
runner = CliRunner()


def run(*arguments, **environment):
    environment = {"SWIRL_DEBUG": None, "TERM": "dumb", "COLUMNS": "100", **environment}
    return runner.invoke(app, list(arguments), env=environment)


def process(*arguments, code=None):
    command = [sys.executable, "-c", code] if code else [sys.executable, "-m", "swirl"]
    environment = {name: value for name, value in os.environ.items() if name != "SWIRL_DEBUG"}
    return subprocess.run([*command, *arguments], capture_output=True, text=True, env=environment)


@pytest.fixture
def demo(monkeypatch):
    """Put a stand-in in the place of swirl.workflows.demo; it records the call and raises what it is told to."""
    module = ModuleType("swirl.workflows.demo")
    module.calls = []
    module.fault = None

    def run_demo(**options):
        module.calls.append(options)
        if module.fault is not None:
            raise module.fault

    module.run_demo = run_demo
    monkeypatch.setitem(sys.modules, "swirl.workflows.demo", module)
    return module


def test_an_error_says_what_to_type_here_and_not_what_python_has(tmp_path):
    (tmp_path / "walk.csv").write_text("mouse,zone\nm1,a\nm1,b\n")
    done = run("check", str(tmp_path / "walk.csv"))
    assert done.exit_code == 2
    assert "name the one that holds it: --columns state=NAME" in done.output
    assert "columns={" not in done.output


def test_the_first_lines_are_words_and_no_python(tmp_path):
    (tmp_path / "walk.csv").write_text("state\n0\n1\n0\n1\n")
    done = run("check", str(tmp_path / "walk.csv"), "--env", "observed", "--html", str(tmp_path / "page.html"))
    assert done.exit_code == 0, done.output
    assert "2 states, 2 actions (not all at each state); where an action leads is certain" in done.output
    assert "MDP(" not in done.output
    assert "MDP(" not in (tmp_path / "page.html").read_text()
    done = run("import", "table", str(tmp_path / "walk.csv"), "-o", str(tmp_path / "steps.csv"))
    assert "1 session, 4 steps (4 each), 2 states; no actions in the table" in done.output
    assert "Trajectories(" not in done.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("say so: subject='mouse' (--columns subject=mouse)", "say so: --columns subject=mouse"),
        ("session=('m', 'd'), subject='m' (--columns session=m+d,subject=m)", "--columns session=m+d,subject=m"),
        ("subject='Mouse (ID)' (--columns 'subject=Mouse (ID)')", "--columns 'subject=Mouse (ID)'"),
        ("on_skip='shortest' (--on-skip shortest), diagonal=True (--diagonal)", "--on-skip shortest, --diagonal"),
        ("give fps (--fps), as 30 (of 2) is", "give fps (--fps), as 30 (of 2) is"),
        ("max_pause=-1 (--max-pause): give seconds", "max_pause=-1 (--max-pause): give seconds"),
    ],
)
def test_python_is_left_out_of_messages(text, said):
    assert as_typed_here(text) == said


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], [], ["demo", "--help"], ["doctor", "--help"]])
def test_answers_without_importing_anything_heavy(arguments):
    code = f"""
import sys
from swirl.cli import import_, main
try:
    main({arguments!r})
finally:
    found = [name for name in {HEAVY!r} if name in sys.modules]
    print("HEAVY", found, file=sys.stderr)
"""
    done = process(code=code)
    assert done.returncode == 0
    assert done.stderr.strip() == "HEAVY []"


def test_only_the_module_of_the_command_is_imported():
    code = "import sys\nfrom swirl.cli import main\ntry:\n    main(['demo', '--help'])\n"
    code += "finally:\n    print(sorted(n for n in sys.modules if n.startswith('swirl.cli.')), file=sys.stderr)"
    assert process(code=code).stderr.strip() == "['swirl.cli.app', 'swirl.cli.demo']"


def test_module_runs_as_a_program():
    done = process("--version")
    assert (done.returncode, done.stdout) == (0, f"swirl {__version__}\n")


def test_main_takes_arguments(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"swirl {__version__}\n"


def test_alone_it_shows_the_help():
    alone = run()
    assert alone.exit_code == 0
    assert alone.stdout == run("--help").stdout
    assert all(name in alone.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_every_help_ends_in_an_example(name):
    help_text = run(*([name] if name else []), "--help").stdout
    last = [line.strip() for line in help_text.splitlines() if line.strip()][-2:]
    assert last[0] == "Example:"
    assert last[1].startswith(f"swirl {name}" if name else "swirl ")


@pytest.mark.parametrize(("typed", "hint"), [("dmeo", "'demo'"), ("zzz", "demo, import")])
def test_a_slip_of_the_pen_is_answered_with_a_hint(typed, hint):
    result = run(typed)
    assert result.exit_code == 2
    assert hint in result.stderr


def test_demo_defaults(demo):
    assert run("demo").exit_code == 0
    assert demo.calls == [
        {
            "output": Path("swirl-demo"),
            "seed": 0,
            "n_restarts": 8,
            "force": False,
            "as_json": False,
            "quick": False,
        }
    ]


def test_demo_options(demo):
    result = run("demo", "-o", "x/y", "--seed", "7", "--restarts", "3", "--force", "--json", "--quick")
    assert result.exit_code == 0
    expected = {
        "output": Path("x/y"),
        "seed": 7,
        "n_restarts": 3,
        "force": True,
        "as_json": True,
        "quick": True,
    }
    assert demo.calls == [expected]


@pytest.mark.parametrize("arguments", [["--restarts", "0"], ["--seed", "-1"], ["--seed", "half"]])
def test_demo_refuses_nonsense(demo, arguments):
    assert run("demo", *arguments).exit_code == 2
    assert demo.calls == []


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (ValueError("seed: got x, expected y"), "Error: seed: got x, expected y\n"),
        (FileExistsError("swirl-demo exists; pass --force"), "Error: swirl-demo exists; pass --force\n"),
        (
            FileNotFoundError(2, "No such file or directory", "a.npy"),
            "Error: No such file or directory: a.npy\n",
        ),
        (ValueError(), "Error: ValueError\n"),
    ],
)
def test_a_fault_of_the_user_is_one_clean_message(demo, fault, message):
    demo.fault = fault
    result = run("demo")
    assert result.exit_code == 2
    assert result.stderr == message
    assert result.stdout == ""


def test_the_message_is_red_on_a_terminal(demo):
    demo.fault = ValueError("no")
    result = runner.invoke(app, ["demo"], color=True, env={"SWIRL_DEBUG": None})
    assert result.stderr.startswith("\x1b[31m")


@pytest.mark.parametrize(("before", "environment"), [(["--debug"], {}), ([], {"SWIRL_DEBUG": "1"})])
def test_debug_shows_the_traceback(demo, before, environment):
    demo.fault = ValueError("seed")
    result = run(*before, "demo", **environment)
    assert result.exception is demo.fault


def test_debug_shows_the_traceback_in_a_process():
    code = "import sys, types\nm = types.ModuleType('swirl.workflows.demo')\ndef run_demo(**_): int('x')\n"
    code += (
        "m.run_demo = run_demo\nsys.modules['swirl.workflows.demo'] = m\nfrom swirl.cli import main\nmain(sys.argv[1:])"
    )
    words = "invalid literal for int() with base 10: 'x'\n"
    plain, debug = process("demo", code=code), process("--debug", "demo", code=code)
    assert (plain.returncode, plain.stderr) == (2, "Error: " + words)
    assert debug.returncode == 1
    assert "Traceback" in debug.stderr
    assert debug.stderr.endswith("ValueError: " + words)


def test_a_fault_of_the_program_is_not_hidden(demo):
    demo.fault = RuntimeError("a bug")
    assert run("demo").exception is demo.fault


def test_an_interrupt_exits_with_130(demo):
    demo.fault = KeyboardInterrupt()
    result = run("demo")
    assert result.exit_code == 130
    assert result.stderr == "Interrupted.\n"


def test_doctor_as_json():
    result = run("doctor", "--json")
    assert result.exit_code == 0
    findings = json.loads(result.stdout)
    import jax
    import numpy as np

    assert findings["healthy"] is True
    assert findings["swirl"] == __version__
    assert findings["packages"]["jax"] == jax.__version__
    assert findings["packages"]["numpy"] == np.__version__
    assert len(findings["devices"]) == len(jax.devices())
    assert findings["checks"]["double_precision"]["passed"] is True


def test_doctor_in_words():
    result = run("doctor")
    assert result.exit_code == 0
    assert "FAILED" not in result.stdout
    assert result.stdout.rstrip().endswith("All is well.")


def test_doctor_sees_missing_double_precision(monkeypatch):
    import jax

    from swirl import precision

    monkeypatch.setattr(precision, "float64", lambda: jax.enable_x64(False))
    result = run("doctor")
    assert result.exit_code == 1
    assert "computed in float32, expected float64" in result.stdout
    assert "log-sum-exp is off" in result.stdout


def test_doctor_misses_what_is_needed_but_not_what_is_optional(monkeypatch):
    found = doctor.version_of
    monkeypatch.setattr(doctor, "version_of", lambda name: None if name == "numba" else found(name))
    assert "numba             not installed (optional" in run("doctor").stdout
    monkeypatch.setattr(doctor, "version_of", lambda name: None if name == "scipy" else found(name))
    result = run("doctor")
    assert result.exit_code == 1
    assert "missing: scipy" in result.stdout


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("bouts b.csv --state zone", "No such option: --state; here it is --label"),
        ("bouts b.csv --behavior=zone", "--behavior; here it is --label"),
        ("bouts b.csv --columns label=zone", "--columns; name columns with --start, --stop, --label"),
        ("bouts b.csv --lable zone", "--lable; did you mean '--label'?"),
        ("bouts b.csv --grid 3x3", "--grid; there is --grid of swirl import tracks"),
        ("table t.csv --label zone", "--label; here it is --state"),
        ("table t.csv --mouse m", "--mouse; here it is --subject"),
        ("table t.csv --keypoints nose", "--keypoints; there is --keypoint of swirl import tracks"),
        ("tracks xy.csv --keypoints nose", "--keypoints; here it is --keypoint"),
        ("tracks xy.csv --state x", "--state; places are the states: give --grid, --polygons or --nodes"),
        ("tracks xy.csv --zones z.json", "--zones; here it is --polygons"),
        ("moseq results.h5 --subject a", "--subject; animals and groups are given with --index FILE"),
        ("nwb a.nwb --xyz", "No such option: --xyz"),
        ("dlc a.csv", "No such command 'dlc'; give swirl import tracks"),
        ("bout a.csv", "No such command 'bout'; did you mean 'bouts'?"),
        ("a.csv", "No such command 'a.csv'; say what it holds: swirl import table, swirl import moseq,"),
    ],
)
def test_import_says_what_an_option_of_a_sister_command_is_here(typed, said):
    result = run("import", *typed.split())
    told = " ".join(word for word in result.stderr.split() if word != "│")
    assert (result.exit_code, said in told) == (2, True), told
    assert told.count("Did you mean") == 0
    assert ("--xyz;" in told) is False  # where nothing is near, nothing is said


def test_what_import_says_of_sister_options_is_true():
    kinds = get_command(import_.app).commands
    options = {kind: {name for option in command.params for name in option.opts} for kind, command in kinds.items()}
    assert {kind for kind, _ in import_.INSTEAD} | set(import_.PROGRAMS) <= set(options)
    for (kind, thing), words in import_.INSTEAD.items():
        same = next((names for names in import_.SAME if thing in names), (thing,))
        assert same[0] == thing  # else it is not found
        assert not options[kind] & {f"--{name}" for name in same}  # else it is never said
        assert set(re.findall("--[a-z-]+", words)) <= options[kind]
    for names in import_.SAME:
        assert any(f"--{names[0]}" in own for own in options.values())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("swirl f", ["fit", "fetch"]),
        ("swirl fit --mo", ["--model", "--modes"]),
        ("swirl import m", ["moseq"]),
        ("swirl import bouts --la", ["--label"]),
    ],
)
def test_the_shell_completes_commands_and_options(words, offered):
    done = subprocess.run(
        [sys.executable, "-c", "from swirl.cli import main; main([])"],
        env={
            **os.environ,
            "_SWIRL_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        },
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == offered


def test_an_option_by_its_former_name_is_taken_with_a_note(tmp_path):
    (tmp_path / "m1.csv").write_text("time,x,y\n0,0.5,0.5\n1,1.5,0.5\n2,1.6,0.5\n3,0.5,0.5\n")
    words = ["import", "tracks", str(tmp_path / "m1.csv"), "--grid", "1x2", "--bounds", "0,2,0,1"]
    former = runner.invoke(app, [*words, "--least-dwell=0.5", "-o", str(tmp_path / "a.csv")])
    now = runner.invoke(app, [*words, "--min-dwell", "0.5", "-o", str(tmp_path / "b.csv")])
    assert former.exit_code == now.exit_code == 0, former.output
    assert "--least-dwell is called --min-dwell now" in former.stderr
    assert "is called" not in now.stderr
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def commands(group, name="swirl"):
    """Every command below a group, by what is typed for it."""
    context = typer.Context(group)
    for inner in group.list_commands(context):
        command = group.get_command(context, inner)
        yield f"{name} {inner}", command
        if hasattr(command, "list_commands"):
            yield from commands(command, f"{name} {inner}")


@pytest.mark.parametrize(("name", "command"), list(commands(get_command(app))))
def test_help_hides_nothing_and_shows_no_types(name, command):
    shown = run(*name.split()[1:], "--help", COLUMNS="200").stdout
    said = [command.help, *[parameter.help for parameter in command.params]]
    words = " ".join(text for text in said if text).replace("\\[", "[").split()  # Rich takes [grid] for markup
    assert [word for word in words if word not in shown and word != "\f"] == []
    assert not re.search(r"<(bool|str|int|float|list|path)\b", shown, re.IGNORECASE)


@pytest.mark.parametrize("command", ["check", "fit", "compare", "null", "goals", "import table"])
def test_columns_by_other_names_are_given_in_the_same_way(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("arm\nleft\nright\n")
    wrong = run(*command.split(), "a.csv", "--columns", "state=arms")
    assert (wrong.exit_code, "no column 'arms'" in wrong.stderr) == (2, True)
    for slip in ("stat=arm", "state", "state=", "state=arm,state=b") if command == "check" else ("stat=arm",):
        said = run(*command.split(), "a.csv", "--columns", slip)
        assert said.exit_code == 2
        assert "expected ROLE=NAME, each role once" in said.stderr
        assert ("did you mean 'state'?" in said.stderr) == (slip == "stat=arm")


def test_the_rows_of_a_stay_are_merged_on_request(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ticks.csv").write_text("mouse,day,cell\n" + "".join(f"m1,{day},{cell}\n" for day in (1, 2) for cell in "aab"))
    said = run("import", "table", "ticks.csv", "--session", "mouse,day", "--state", "cell", "--merge", "-o", "s.csv")
    assert said.exit_code == 0, said.output
    assert "6 rows became 4 steps" in said.stdout
    assert Path("s.csv").read_text().splitlines()[1:3] == ["m1 1,0,a,False,2.0", "m1 1,1,b,False,1.0"]
    assert '"merge": true' in Path("s.import.json").read_text()


def test_a_log_is_not_flooded_and_a_terminal_shows_what_is_done():
    """An hour of fits, one a second: the first estimate at once, then ever fewer lines."""
    now, written = [0.0], []
    show = Told(written.append, log=True, clock=lambda: now[0])
    show(Progress(0, 0, 3600, None))
    for n in range(1, 3601):
        now[0] = float(n)
        show.doing(f"fit {n}")
        show(Progress(n, 0, 3600, 3600.0 - n))
    assert written[:2] == ["0 of 3,600 done", "1 of 3,600 done, about 60 min left"]
    assert 10 < len(written) < 40
    line = []
    show = Told(line.append, log=False)
    show.doing("S-1: fold 1 of 3")
    show(Progress(1, 0, 4, 200.0))
    assert line == ["S-1: fold 1 of 3", "S-1: fold 1 of 3; 1 of 4 done, about 3 min left"]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("fit a.csv --modes two", "'--modes': expected a whole number"),
        ("plot fit.nc --signal-bin 0,5", "'--signal-bin': expected a number"),
        ("export fit.nc --what bout -o b.csv", "'--what': 'bout' is not one of 'steps'"),
        ("fit a.csv --group Genotype", "--group; columns are named with --columns group=NAME"),
    ],
)
def test_faults_in_options_are_said_in_plain_words(command, told):
    done = run(*command.split(), COLUMNS="200")
    assert done.exit_code == 2
    said = " ".join(done.output.replace("│", " ").split())
    assert told in said or "not a valid" in said  # so older versions of Typer say it
    assert "Value error" not in said
    assert "Input should" not in said


def test_a_shorthand_for_the_environment_that_is_misspelt(tmp_path):
    (tmp_path / "a.csv").write_text("state\nL\nR\nL\n")
    done = run("check", str(tmp_path / "a.csv"), "--env", "syllable")
    assert done.exit_code == 2
    assert "syllable does not exist; did you mean 'syllables'?" in done.output
