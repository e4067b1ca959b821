"""README.md as a package index shows it, where a link to a file of the repository leads nowhere.

Hatchling calls this when the package is built (`[tool.hatch.metadata.hooks.custom]` in pyproject.toml).  It needs one
address, `Repository` in `[project.urls]`: with it links and pictures become whole addresses.  Without it no address is
made up: links become the names of the files, pictures and their captions are left out, and a last line says where the
files are.
"""

import re
from pathlib import Path
from typing import Any

try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ImportError:  # in the tests, which need no more than the function
    MetadataHookInterface = object

PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)(\n\n\*[^*]+\*\n)?")  # with its caption
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
WHOLE = re.compile(r"[a-z]+:|#")  # an address already, or a place on the same page
CODE = re.compile(r"(^```.*?^```)", flags=re.DOTALL | re.MULTILINE)
ENDING = "\n\nFiles named on this page are in the source distribution.\n"


def for_index(readme: str, repository: str | None = None) -> str:
    """The text of a README with whole addresses below `repository`, or without links to files where there is none.

    >>> for_index("See [the docs](docs/index.md).", "https://host.example/us/swirl/")
    'See [the docs](https://host.example/us/swirl/blob/HEAD/docs/index.md).'
    >>> print(for_index("See [the docs](docs/index.md)."))
    See the docs (`docs/index.md`).
    <BLANKLINE>
    Files named on this page are in the source distribution.
    <BLANKLINE>
    """
    parts = CODE.split(readme)
    parts[::2] = [_prose(part, repository and repository.rstrip("/")) for part in parts[::2]]
    text = "".join(parts)
    return text if repository or text == readme else text.rstrip() + ENDING


def _prose(text: str, repository: str | None) -> str:
    def picture(found: re.Match[str]) -> str:
        words, target, caption = found.groups()
        if WHOLE.match(target):
            return found[0]
        return f"![{words}]({repository}/raw/HEAD/{target}){caption or ''}" if repository else ""

    def link(found: re.Match[str]) -> str:
        words, target = found.groups()
        if WHOLE.match(target):
            return found[0]
        if repository:
            return f"[{words}]({repository}/blob/HEAD/{target})"
        file = target.partition("#")[0]
        return f"`{file}`" if words == target else f"{words} (`{file}`)"

    text = LINK.sub(link, PICTURE.sub(picture, text))
    return re.sub(r"\n{3,}", "\n\n", text)


class IndexPage(MetadataHookInterface):
    """Sets the readme of the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in `readme`, which pyproject.toml calls dynamic."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        page = for_index(text, metadata.get("urls", {}).get("Repository"))
        metadata["readme"] = {"content-type": "text/markdown", "text": page}
