"""The directive `commands`: every command of `swirl` with its options, read from the program itself."""

import re
import textwrap
from typing import Any

import typer
from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from swirl.cli.app import app as program

MARKUP = re.compile(r"([\\`*_$|<>\[\]])")


def commands() -> list[tuple[tuple[str, ...], Any, Any]]:
    """Return all commands with their names in full and their contexts, `swirl` itself first."""
    group = get_command(program)
    return _walk(group, typer.Context(group, info_name="swirl"), ("swirl",))


def _walk(command: Any, context: Any, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any, Any]]:
    found = [(path, command, context)]
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        inner = command.get_command(context, name)
        found += _walk(inner, typer.Context(inner, info_name=name, parent=context), (*path, name))
    return found


def described(path: tuple[str, ...], command: Any, context: Any) -> str:
    """Describe a command in MyST: what it does, its arguments and options, an example."""
    lines = [_prose(command.help or ""), ""]
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and parameter.name != "help":
            lines += [_names(parameter, record[0]), f": {_words(record[1])}", ""]
    example = (command.epilog or "").removeprefix("Example:").strip()
    if example:
        lines += ["```sh", example, "```", ""]
    return "\n".join(lines)


def _prose(text: str) -> str:
    """Paragraphs with their backticks, and nothing else, as markup."""
    paragraphs = [" ".join(part.split()) for part in textwrap.dedent(text).split("\n\n")]
    return "\n\n".join(_plain(part) for part in paragraphs if part)


def _plain(text: str) -> str:
    parts = re.split(r"(`[^`]+`)", text)
    parts[::2] = [MARKUP.sub(r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _names(parameter: Any, names: str) -> str:
    if parameter.param_type_name == "argument":
        names = re.sub(r" <(str|path)>$", "", names)  # says nothing that the words do not
    long_first = sorted(names.split(", "), key=lambda name: not name.startswith("--")) if names[0] == "-" else [names]
    return ", ".join(f"`{name}`" for name in long_first)


def _words(words: str) -> str:
    words = re.sub(r"\[default: \(?(.*?)\)?(; .*)?\]$", r"(default: `\1`)", words).replace("[required]", "(required)")
    return _plain(re.sub(r"\[env var: (\w+)\]", r"(or the environment variable `\1`)", words))


class Commands(SphinxDirective):
    """A section for each command; those of a group are one level down."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Write the sections as MyST and parse them."""
        text = []
        for path, command, context in commands():
            text += [f"{'#' * max(2, len(path))} {' '.join(path)}", "", described(path, command, context)]
        return self.parse_text_to_nodes("\n".join(text), allow_section_headings=True)


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
