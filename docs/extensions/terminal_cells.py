"""Cells that begin with %%bash are shown as what they are: lines to type in a terminal."""

from typing import Any

from docutils import nodes

MAGIC = "%%bash\n"


def show_as_terminal(app: Any, doctree: nodes.document) -> None:
    """Drop the magic line and colour the rest as shell."""
    for block in doctree.findall(nodes.literal_block):
        if block.astext().startswith(MAGIC):
            lines = block.astext().removeprefix(MAGIC)
            block.rawsource = lines
            block.children = []
            block += nodes.Text(lines)
            block["language"] = "bash"
            block.parent["classes"].append("terminal")


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", show_as_terminal)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
