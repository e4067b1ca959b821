"""The paper's §4.3: syllables of mice in an open field, beside dopamine."""

from pathlib import Path

from swirl.workflows.html import Prose

TEXT = Prose(Path(__file__).with_name("text.md"))
