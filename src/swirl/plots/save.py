"""Writing figures to files, the same bytes every time."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from swirl.io.atomic_write import whole_file

# What would differ between two runs of the same code is left out of the files.
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
    "svg": {"Date": None, "Creator": None},
}


def save(
    figure: Figure,
    path: str | Path,
    formats: Sequence[str] = ("png", "pdf"),
    *,
    overwrite: bool = False,
    dpi: int = 300,
) -> list[Path]:
    """Write a figure as `path.png`, `path.pdf`, … and return the files; existing ones are kept unless told.

    Examples
    --------
    >>> import tempfile
    >>> from swirl.plots import new_axes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [file.name for file in save(new_axes().get_figure(), f"{folder}/rewards")]
    ['rewards.png', 'rewards.pdf']
    """
    unknown = [name for name in formats if name not in _METADATA]
    if unknown or not formats:
        raise ValueError(f"formats: got {list(formats)}, expected some of {', '.join(_METADATA)}")
    if Path(path).suffix[1:].lower() in _METADATA:
        raise ValueError(
            f"path: got {str(path)!r}, expected a name without {Path(path).suffix}; formats decide the suffix"
        )
    files = [Path(f"{path}.{name}") for name in formats]
    existing = [str(file) for file in files if file.exists()]
    if existing and not overwrite:
        raise FileExistsError(f"path: {', '.join(existing)} exist already; pass overwrite=True or choose another name")
    files[0].parent.mkdir(parents=True, exist_ok=True)
    # Type 42 keeps text in a PDF editable; a fixed salt makes the ids in an SVG repeatable.
    with mpl.rc_context({"pdf.fonttype": 42, "svg.hashsalt": "swirl", "svg.fonttype": "none"}):
        for name, file in zip(formats, files, strict=True):
            # Drawn in memory first: a figure that fails to draw leaves no half-written file.
            drawn = BytesIO()
            figure.savefig(drawn, format=name, dpi=dpi, metadata=_METADATA[name], facecolor="white")
            with whole_file(file, overwrite=overwrite) as temporary:
                temporary.write_bytes(drawn.getvalue())
    return files
