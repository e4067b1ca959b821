"""Docstrings are written for people; this escapes what reStructuredText would take for markup.

Names with a trailing underscore (`rewards_`) would be links and bars, as in P(s'|s, a), substitutions.
"""

import re
from typing import Any

HELD = "Attributes held"  # a section that napoleon is told to leave as it is
CODE = re.compile(r"(``.+?``|`[^`]+`)")
NAMES = re.compile(r"([\w*]+(, [\w*]+)*( : |$))?")
UNDERSCORE = re.compile(r"(?<=\w)_(?!\w)")


def escape(line: str) -> str:
    """Escape one line outside of backticks.

    >>> escape("as `fit` leaves rewards_ of P(s'|s)")
    "as `fit` leaves rewards\\\\_ of P(s'\\\\|s)"
    """
    parts = CODE.split(line)
    parts[::2] = [UNDERSCORE.sub(r"\\_", part).replace("|", r"\|") for part in parts[::2]]
    return "".join(parts)


def escape_lines(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape a docstring, except for examples, and for what is set off as code."""
    literal = None
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if line.lstrip().startswith((">>>", "...")) or literal is not None:
            continue
        if line.rstrip().endswith("::"):
            literal = indent
            continue
        names = NAMES.match(line)[0]  # of parameters and attributes: napoleon escapes those itself
        lines[i] = names + escape(line.removeprefix(names))


def list_attributes(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Make a plain list of the section Attributes: each with what it is, in one line."""
    ruled = [i for i, line in enumerate(lines[1:]) if line and set(line) == {"-"}]  # lines with a rule below
    heading = next((i for i in ruled if lines[i] == "Attributes"), None)
    if heading is None:
        return
    end = next((i for i in ruled if i > heading), len(lines))
    listed = [HELD, "-" * len(HELD), ""]
    for line in lines[heading + 2 : end]:
        if line and not line.startswith(" "):
            names, _, words = line.partition(" : ")
            listed.append(f"- ``{names.replace(', ', '``, ``')}``: {words}".rstrip())
        elif line:
            listed.append(f"  {line.strip()}")
    lines[heading:end] = [*listed, ""]


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx, before napoleon."""
    app.connect("autodoc-process-docstring", list_attributes, priority=390)
    app.connect("autodoc-process-docstring", escape_lines, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
