"""What tests of commands share: a small recording in a folder, and `swirl` in this process."""

import pytest

from swirl import datasets
from swirl.cli import main
from swirl.io.environment_files import write_environment
from swirl.io.export_tables import to_frame, write_table


def write_recording(folder):
    """Six sessions of the gridworld and its environment, sessions.csv and grid.csv."""
    world = datasets.gridworld(n_sessions=6, n_steps=40)
    write_table(to_frame(world.trajectories), folder / "sessions.csv")
    write_environment(world.env, folder / "grid.csv")
    return folder


def swirl(capsys, *words):
    """Run a command; its exit code, and what it printed."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(list(words))
    return end.value.code or 0, capsys.readouterr()
