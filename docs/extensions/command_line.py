"""The directive `commands`: every command of `swirl` with its options, read from the program itself."""

import textwrap
from typing import Any

import typer
from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from swirl.cli.app import app as program


def walk(command: Any, context: Any, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any, Any]]:
    """Return each command with its name in full and its context, groups before what is in them."""
    found = [(path, command, context)]
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        inner = command.get_command(context, name)
        found += walk(inner, typer.Context(inner, info_name=name, parent=context), (*path, name))
    return found


def commands() -> list[tuple[tuple[str, ...], Any, Any]]:
    """Return all commands, `swirl` itself first."""
    group = get_command(program)
    return walk(group, typer.Context(group, info_name="swirl"), ("swirl",))


def described(path: tuple[str, ...], command: Any, context: Any) -> str:
    """Describe a command in MyST: what it does, how it is called, its options, an example."""
    lines = [_prose(command.help or "").replace("\n\n", "\n\n")]
    lines += ["", "```text", _usage(path, command, context), "```", ""]
    entries = [(name, words) for name, words in (_parameter(p, context) for p in command.get_params(context)) if words]
    for name, words in entries:
        lines += [name, f": {words}", ""]
    example = (command.epilog or "").removeprefix("Example:").strip()
    if example:
        lines += ["Example:", "", "```sh", example, "```", ""]
    return "\n".join(lines)


def _prose(text: str) -> str:
    paragraphs = [" ".join(part.split()) for part in textwrap.dedent(text).split("\n\n")]
    return "\n\n".join(part.replace("|", r"\|").replace("*", r"\*").replace("$", r"\$") for part in paragraphs if part)


def _usage(path: tuple[str, ...], command: Any, context: Any) -> str:
    return " ".join([*path, *command.collect_usage_pieces(context)])


def _parameter(parameter: Any, context: Any) -> tuple[str, str]:
    """Name and words of an option or argument; no words for one that is hidden."""
    help_text = getattr(parameter, "help", None)
    if getattr(parameter, "hidden", False) or not help_text:
        return "", ""
    metavar = parameter.make_metavar(context)
    if parameter.param_type_name == "argument":
        name = f"`{metavar.strip('[]')}`"
    else:
        value = "" if getattr(parameter, "is_flag", False) else f" {metavar}"
        name = ", ".join(f"`{option}{value}`" for option in parameter.opts)
    words = _prose(help_text)
    default = parameter.show_default if isinstance(parameter.show_default, str) else parameter.default
    plain = isinstance(default, str | int | float) or hasattr(default, "name")
    if plain and not isinstance(default, bool) and str(default) not in ("", "None"):
        words += f" Default: `{getattr(default, 'value', default)}`."
    elif parameter.required and parameter.param_type_name == "option":
        words += " Required."
    if getattr(parameter, "envvar", None):
        words += f" Also by the environment variable `{parameter.envvar}`."
    return name, words


class Commands(SphinxDirective):
    """Sections for all commands; those of a group are one level down."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Write the sections as MyST and parse them."""
        text = []
        for path, command, context in commands():
            title = " ".join(path)
            text += [f"{'#' * (1 + len(path))} {title}" if len(path) > 1 else "## swirl", "", described(path, command, context)]
        return self.parse_text_to_nodes("\n".join(text), allow_section_headings=True)


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
