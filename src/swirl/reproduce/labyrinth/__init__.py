"""The paper's §4.2: mice in a labyrinth, with water and home."""

from pathlib import Path

from swirl.workflows.html import Prose

TEXT = Prose(Path(__file__).with_name("text.md"))
