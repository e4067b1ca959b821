"""The documentation site: Sphinx with MyST notebooks that run while it is built (`make docs`).

Nothing is loaded from the network, neither while building nor by the pages: they open from a folder.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "extensions"))

from swirl import __version__  # noqa: E402

project = "swirl"
author = "The swirl developers"
project_copyright = "The swirl developers, MIT licence"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "command_line",
    "plain_docstrings",
    "terminal_cells",
]
exclude_patterns = ["extensions", "static"]
nitpicky = False

# ------------------------------------------------------------------ the notebooks

nb_execution_mode = "force"
nb_execution_in_temp = True  # each page starts in an empty folder, as a new user does
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_code_prompt_show = "Show how the example is made"
nb_code_prompt_hide = "Hide how the example is made"
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3

# The pages run the commands of this environment, in plain text of one width.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
os.environ |= {"COLUMNS": "88", "NO_COLOR": "1", "TERM": "dumb", "JAX_PLATFORMS": "cpu"}
# Hidden cells make the files of the how-to pages (extensions/example_files.py).
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE / "extensions"), os.environ.get("PYTHONPATH")]))
# IPython starts with commands that print once, figures as vectors, and no traces in the builder's own history.
profile = ROOT / "build" / "ipython" / "profile_default"
(profile / "startup").mkdir(parents=True, exist_ok=True)
shutil.copy(HERE / "extensions" / "whole_output.py", profile / "startup")
(profile / "ipython_kernel_config.py").write_text(
    "c.InlineBackend.figure_formats = {'svg'}\nc.HistoryManager.enabled = False\n", encoding="utf-8"
)
os.environ["IPYTHONDIR"] = str(profile.parent)
# The examples are small: compile them quickly rather than well, and once for all pages and builds.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / "build" / "compiled"))
os.environ |= {
    "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
}

# ------------------------------------------------------------------ the reference

default_role = "code"  # single backticks in docstrings are code
autodoc_default_options = {"member-order": "bysource", "exclude-members": "stored, needed, target, build_components"}
autodoc_typehints = "none"  # shapes are told in words; the annotations are for the checks
autodoc_preserve_defaults = True
autosummary_generate = False
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_attr_annotations = False
napoleon_custom_sections = ["Attributes held"]
napoleon_preprocess_types = False
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries = False

# ------------------------------------------------------------------ the looks

html_theme = "furo"
html_title = "swirl"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/favicon.svg"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
        "font-stack--monospace": "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
        "color-brand-primary": "#0b6e99",
        "color-brand-content": "#0b6e99",
        "color-brand-visited": "#0b6e99",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6cc4ee",
        "color-brand-content": "#6cc4ee",
        "color-brand-visited": "#6cc4ee",
    },
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def point_at_studies(app: Any, name: str, text: list[str]) -> None:
    """Links to the studies lead to the repository's files there, and to pages of the site here."""
    text[0] = text[0].replace("](../studies/results/", "](studies/")


def setup(app: Any) -> None:
    """Connect, and tell the pages where the site is being written: one of them puts an example report there."""
    app.connect("source-read", point_at_studies)
    app.connect("builder-inited", lambda app: os.environ.update(DOCS_OUTPUT=str(app.outdir)))
