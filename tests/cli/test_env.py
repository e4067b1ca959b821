"""`swirl env`: an environment in one line, and its map the right way up."""

import json

import numpy as np
import pytest

from command_line import swirl
from swirl.data.arenas import grid
from swirl.io.environment_files import read_environment
from swirl.plots import environment_map


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_grid_is_written_with_its_map_and_says_which_way_y_grows(capsys, folder):
    code, said = swirl(
        capsys, "env", "grid", "6x6", "--labels", "A1…", "--walls", "A1-A2, B1-B2", "--map", "m.png", "-o", "arena.csv"
    )
    assert (code, said.err) == (0, "")
    assert "| A1 | A2   A3   A4   A5   A6 |" in said.out
    assert "y grows upwards on every map: A1 to A6 at the top (y = 5), F1 to F6 at the bottom (y = 0)." in said.out
    assert said.out.splitlines()[-4:] == [
        "Saved to arena.csv", "Saved to arena.states.csv", "Saved to m.png",
        "To use it: swirl check YOUR_SESSIONS --env arena.csv",
    ]  # fmt: skip
    env = read_environment("arena.csv")
    assert env.state_names == grid(6, 6).state_names
    assert (folder / "arena.states.csv").read_text().splitlines()[:2] == ["name,x,y", "A1,0.0,5.0"]
    (folder / "walls.csv").write_text("from,to\nA1,A2\nB1,B2\n")
    assert swirl(capsys, "env", "grid", "6x6", "--walls", "walls.csv", "-o", "same.csv", "-q")[1].out == ""
    assert (folder / "same.csv").read_bytes() == (folder / "arena.csv").read_bytes()


def test_the_picture_has_the_first_row_at_the_top(folder):
    for y_down in (True, False):
        ax = environment_map(grid(3, 4, y_down=y_down, walls=[("A1", "A2")]))
        figure = ax.get_figure()
        figure.canvas.draw()
        # Where the words are on the page, in dots from its lower left corner.
        on_page = {text.get_text(): text.get_window_extent().get_points().mean(axis=0) for text in ax.texts}
        assert (on_page["A1"][1] > on_page["C1"][1]) == y_down
        assert on_page["A4"][0] > on_page["A1"][0]
        assert ax.get_ylabel() == "y (grows upwards)"
        [walls] = [shape for shape in ax.collections if shape.get_label() == "walls"]
        between = (on_page["A1"] + on_page["A2"]) / 2
        middles = [ax.transData.transform(side.mean(axis=0)) for side in walls.get_segments()]
        assert min(np.linalg.norm(middle - between) for middle in middles) < 2


def test_others_are_written(capsys, folder):
    (folder / "ways.csv").write_text("from,to\nnest,hall\nhall,food\n")
    (folder / "places.csv").write_text("name,x,y\nnest,0,0\nhall,1,0\nfood,2,0.5\n")
    (folder / "sessions.csv").write_text("session,t,state\na,0,nest\na,1,hall\na,2,food\n")
    kinds = {
        "ring": ["8", "--map", "ring.svg"],
        "linear": ["5"],
        "tmaze": ["--stem", "2"],
        "plus": ["--arm", "1"],
        "graph": ["ways.csv", "--nodes", "places.csv", "--map", "graph.png"],
        "observed": ["sessions.csv"],
    }
    found = {}
    for kind, words in kinds.items():
        code, said = swirl(capsys, "env", kind, *words, "-o", f"{kind}.csv", "--json")
        facts = json.loads(said.out)
        assert (code, facts["files"][0], facts["y"]) == (0, f"{kind}.csv", "upwards")
        found[kind] = read_environment(f"{kind}.csv").n_states
        assert found[kind] == len(facts["states"])
    assert found == {"ring": 8, "linear": 5, "tmaze": 7, "plus": 5, "graph": 3, "observed": 3}
    assert (folder / "ring.svg").exists()
    assert (folder / "graph.png").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["grid", "5y5"], "SIZE 5y5: expected rows x columns, as in swirl env grid 6x6"),
        (["grid", "3x3", "--labels", "foo"], "what the first cell is called, such as A1"),
        (["grid", "3x3", "--walls", "A1"], "--walls A1: expected two cells, as in --walls A1-A2,B1-B2"),
        (["grid", "3x3", "--walls", "A1-C3"], "do not share a side"),
        (["grid", "3x3", "--walls", "no.csv"], "no.csv"),
        (["grid", "3x3", "-o", "arena.parquet"], "an environment is written as CSV"),
        (["grid", "3x3", "--map", "arena.bmp"], "--map arena.bmp: expected a file that ends in .png, .pdf, .svg"),
        (["grid", "3x3", "-o", "no/arena.csv"], "does not exist"),
        (["graph", "no.csv"], "no.csv"),
    ],
)
def test_faults_are_one_message(capsys, folder, words, told):
    code, said = swirl(capsys, "env", *words)
    assert code == 2
    assert told in said.err
    assert "Traceback" not in said.err
    assert list(folder.iterdir()) == []


def test_nothing_is_overwritten_silently(capsys, folder):
    assert swirl(capsys, "env", "grid", "2x2", "-q")[0] == 0
    for file in ("env.csv", "env.states.csv", "map.png"):
        for path in folder.iterdir():
            path.unlink()
        (folder / file).write_text("mine")
        code, said = swirl(capsys, "env", "grid", "2x2", "--map", "map.png", "-q")
        assert (code, (folder / file).read_text()) == (2, "mine")
        assert f"{file} exists already" in said.err
        assert [path.name for path in folder.iterdir()] == [file]
    assert swirl(capsys, "env", "grid", "2x2", "--map", "map.png", "-q", "--force")[0] == 0


def test_labels_that_do_not_match_say_what_to_type(capsys, folder):
    def told(labels, *states):
        rows = [f"a,{t},{state}" for t, state in enumerate(states)]
        (folder / "sessions.csv").write_text("\n".join(["session,t,state", *rows]))
        swirl(capsys, "env", "grid", "3x12", "--labels", labels, "--force", "-q")
        code, said = swirl(capsys, "check", "sessions.csv", "--env", "env.csv")
        assert code == 2
        return said.err

    assert "'a1' seems to be 'A1': spell it alike in both (swirl env grid … --labels a1" in told("A1", "a1", "a2")
    assert "'A1' seems to be 'A01'" in told("A01", "A1", "A2")
    assert "write its environment with your names, as in swirl env grid 6x6 --labels A1" in told("r0c0", "A1", "B2")
    assert "if yours count from 1, give names that are numbers (swirl env … --labels 1)" in told("A1", "36", "1")
    # Text in the order of the alphabet is not the order of cells: A10 comes before A2.
    assert "which is which is not known" in told("0", "A1", "A10", "A2")
