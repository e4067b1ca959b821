"""Cells that begin with %%bash or %%writefile are shown as what they are: lines for a terminal, or a file."""

import re
from typing import Any

from docutils import nodes

TERMINAL = "%%bash\n"
FILE = re.compile(r"%%writefile \S+\.(?P<language>\w+)\n")


def drop_magics(app: Any, doctree: nodes.document) -> None:
    """Drop the line with the magic and colour the rest as what it is."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext()
        if text.startswith(TERMINAL):
            _replace(block, text.removeprefix(TERMINAL), "bash")
            block.parent["classes"].append("terminal")
        elif found := FILE.match(text):
            _replace(block, text[found.end() :], found["language"])


def _replace(block: nodes.literal_block, text: str, language: str) -> None:
    block.rawsource = text  # Sphinx colours a block only where this is its text
    block.children = []
    block += nodes.Text(text)
    block["language"] = language


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", drop_magics)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
