"""The paper's §4.1: a simulated gridworld whose rewards and modes are known."""

from pathlib import Path

from swirl.workflows.html import Prose

TEXT = Prose(Path(__file__).with_name("text.md"))
