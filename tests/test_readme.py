"""The README's example runs as written, and its commands exist."""

import re
from pathlib import Path

import pytest

from swirl.datasets import gridworld

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_python_example_runs(tmp_path, monkeypatch, capsys):
    first, second = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    example = (first + second).replace("n_modes=3", "n_modes=3, n_restarts=1, max_iter=10")  # seconds, not minutes
    data = gridworld(n_sessions=10, n_steps=60)
    recordings = data.trajectories
    names = {
        "next_state": data.env.successors.next[..., 0],
        "states": recordings.states,
        "actions": recordings.actions,
        "animals": ["a", "b"] * 5,
    }
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), names)
    assert names["rewards"].shape == (3, 25)
    assert len(names["modes"]) == 2
    assert (tmp_path / "fit.nc").exists()
    printed = capsys.readouterr().out
    assert "nats per step on 120 held-out steps" in printed
    assert "| rARHMM | 3 |" in printed
    assert "120 steps of 2 test sessions scored, once." in printed


def test_its_make_commands_exist_and_its_links_lead_somewhere():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make (\w+)", README):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)
    for link in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / link.partition("#")[0]).exists()
