"""Colours, sizes and small habits that all figures share, and writing them to files."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import cast

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.spines import Spine

from swirl.io.atomic_write import whole_file

# Okabe and Ito's colour-blind-safe palette.  Orange and vermilion come late because the event markers (water
# visits, home visits) wear them: with few modes a marker never has the colour of a mode.
OKABE_ITO = ("#0072B2", "#009E73", "#CC79A7", "#F0E442", "#56B4E9", "#E69F00", "#D55E00", "#7F7F7F")
# For lines and marks on white, where the palette's yellow would be lost.
LINE_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
REWARD_COLOURS = "YlGnBu"
PREFERENCE_COLOURS = "RdBu_r"
PROBABILITY_COLOURS = "PuRd"
IMPOSSIBLE = "#DCDCDC"
CORRIDOR = "#ECEEEE"  # a place where the animal can walk, when it carries no value
SEAM = "#BFC5C5"  # between the parts of a cell: seen on pale and on dark colours alike
INK = "#262626"
SOFT_INK = "#6B6B6B"
WATER_MARK = "#E69F00"
HOME_MARK = "#D62728"

# The purposes that modes are named by keep their colours in every figure, whatever their order in a model.
PURPOSES = ("water", "home", "explore")

TITLE_SIZE = 9.0
LABEL_SIZE = 8.0
TICK_SIZE = 7.5
SMALLEST = 7.0
"""Points of the smallest text: below that journals ask for larger letters."""
COLUMNS = (89.0, 120.0, 180.0)
"""Widths in mm that journals print figures at: one column, one and a half, and the whole page."""


def mode_colours(n_modes: int) -> list[str]:
    """Return one colour per mode; mode k has the same colour in every figure.

    Beyond eight modes the palette repeats in paler tints.

    >>> mode_colours(2)
    ['#0072B2', '#009E73']
    """
    return [_tint(OKABE_ITO[k % len(OKABE_ITO)], k // len(OKABE_ITO)) for k in range(n_modes)]


def named_mode_colours(names: Sequence[str]) -> list[str]:
    """Return one colour per mode by its name: "water", "home" and "explore" look the same in every figure.

    "explore 2", "explore 3", … have fixed colours too; "water 2" is a paler water, "home 2" a paler home.  Other
    names take the colours that are left, in order; without any of the three purposes ("h1", "h2", …) that is what
    `mode_colours` does.  Capitals and a closing "mode" do not matter.

    >>> named_mode_colours(["explore", "water mode"])
    ['#CC79A7', '#0072B2']
    >>> named_mode_colours(["h1", "h2"]) == mode_colours(2)
    True
    """
    fixed = [_purpose_colour(name) for name in names]
    given = [colour for colour in fixed if colour is not None]
    if len(set(given)) < len(given) or len(set(names)) < len(names):
        raise ValueError(f"names: got {list(names)}, of which some mean the same; expected a different name per mode")
    # Another mode must not wear the colour that means "home" elsewhere, even where no mode is called home.
    taken = {*given, *mode_colours(len(PURPOSES))} if given else set()
    palette = mode_colours(len(names) + len(taken) + len(OKABE_ITO))
    free = iter([colour for colour in palette if colour not in taken])
    return [next(free) if colour is None else colour for colour in fixed]


def _purpose_colour(name: str) -> str | None:
    """Return the fixed colour of "water", "home 2", …; None for a name that has none."""
    purpose, _, number = " ".join(name.lower().removesuffix("mode").split()).partition(" ")
    if purpose not in PURPOSES or not (number == "" or number.isdecimal()):
        return None
    times = max(int(number or 1), 1) - 1
    index = PURPOSES.index(purpose)
    return mode_colours(index + times + 1)[-1] if purpose == "explore" else _tint(OKABE_ITO[index], times)


def _tint(colour: str, times: int) -> str:
    if times == 0:
        return colour
    keep = 0.5**times
    red, green, blue = (1 - keep * (1 - channel) for channel in to_rgb(colour))
    return to_hex((red, green, blue)).upper()


def mixed(colour: str, other: str, share: float) -> str:
    """A colour mixed with so much of another.

    >>> mixed("#000000", "white", 0.5)
    '#808080'
    """
    pairs = zip(to_rgb(colour), to_rgb(other), strict=True)
    red, green, blue = ((1 - share) * one + share * two for one, two in pairs)
    return to_hex((red, green, blue))


def mode_labels(mode_names: Sequence[str] | None, n_modes: int) -> list[str]:
    """Return the names of the modes, "mode 0", "mode 1", … when none are given.

    >>> mode_labels(None, 2)
    ['mode 0', 'mode 1']
    """
    if mode_names is None:
        return [f"mode {k}" for k in range(n_modes)]
    if len(mode_names) < n_modes:
        raise ValueError(
            f"mode_names: got {len(mode_names)} names ({', '.join(map(repr, mode_names))}), "
            f"expected one for each of the {n_modes} modes"
        )
    return list(mode_names)


def checked_colours(colours: Sequence[str] | None, n_modes: int) -> list[str]:
    """Return the colours of the modes: those given, one for each at least, else `mode_colours`.

    >>> checked_colours(None, 2) == mode_colours(2)
    True
    """
    if colours is None:
        return mode_colours(n_modes)
    if isinstance(colours, str) or len(colours) < n_modes:
        raise ValueError(
            f"colours: got {colours!r}, expected a list with a colour for each of the {n_modes} modes; "
            "named_mode_colours(mode_names) makes one"
        )
    return list(colours)


def modes_shown(
    mode_names: Sequence[str] | None, colours: Sequence[str] | None, n_modes: int
) -> tuple[list[str], list[str]]:
    """Return a name and a colour for each mode, as `mode_labels` and `checked_colours` give them.

    >>> modes_shown(["water", "home", "explore"], None, 1)
    (['water'], ['#0072B2'])
    """
    return mode_labels(mode_names, n_modes)[:n_modes], checked_colours(colours, n_modes)[:n_modes]


def mode_legend(ax: Axes, names: Sequence[str], colours: Sequence[str]) -> None:
    """Name the modes' colours in a row above the axes, at the right, where the title does not reach.

    >>> ax = new_axes()
    >>> mode_legend(ax, ["water", "home"], mode_colours(2))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['water', 'home']
    """
    patches = [Patch(facecolor=colour, label=name) for colour, name in zip(colours, names, strict=False)]
    ax.legend(
        handles=patches, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(colours), frameon=False,
        fontsize=TICK_SIZE, handlelength=1.0, handleheight=0.9, columnspacing=1.2, handletextpad=0.5, borderaxespad=0.2,
    )  # fmt: skip


def event_style(name: str, index: int) -> tuple[str, str]:
    """Return (marker, colour) of an event: the paper's orange dot for water, red cross for home.

    >>> event_style("water visits", 0)
    ('o', '#E69F00')
    """
    if "water" in name.lower():
        return "o", WATER_MARK
    if "home" in name.lower():
        return "x", HOME_MARK
    others = (("^", "#D55E00"), ("s", INK), ("D", "#56B4E9"), ("v", "#7F7F7F"))
    return others[index % len(others)]


def colour_map(colours: str | Colormap) -> Colormap:
    """Return a colormap by name, or the one that was given.

    >>> colour_map("YlGnBu").name
    'YlGnBu'
    """
    return mpl.colormaps[colours] if isinstance(colours, str) else colours


def ink_on(colour: str) -> str:
    """Return the colour, dark or white, in which text is read best on `colour`.

    >>> ink_on("white"), ink_on("#081D58")
    ('#262626', 'white')
    """
    return INK if _luminance(colour) > 0.22 else "white"


def _luminance(colour: str) -> float:
    """0 is black, 1 is white."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def on_white(colour: str) -> str:
    """A colour for lines and text on white: one that is lost there, such as yellow, in a darker tone.

    Contrast with white below 2 is too little to read; darker tones have 3, as large letters need.

    >>> on_white("#0072B2"), on_white("#F0E442")
    ('#0072B2', '#9c942b')
    """
    if 1.05 / (_luminance(colour) + 0.05) >= 2:
        return colour
    tones = (mixed(colour, "black", share) for share in np.linspace(0.05, 1, 20))
    return next(tone for tone in tones if 1.05 / (_luminance(tone) + 0.05) >= 3)


def sheet(width: float | int, height: float | int) -> Figure:
    """An empty figure of that size in inches, without pyplot.

    >>> sheet(3.0, 2.0).get_size_inches().tolist()
    [3.0, 2.0]
    """
    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def printed(width: float | int, height: float | int) -> Figure:
    """An empty figure of about that size in inches, as wide as a column of print: 89, 120 or 180 mm.

    >>> [round(25.4 * printed(width, 2.0).get_size_inches()[0]) for width in (2.0, 4.0, 6.6, 12.0)]
    [89, 120, 180, 180]
    """
    fitting = [column for column in COLUMNS if column >= 0.94 * 25.4 * width]  # a little narrower is no harm
    return sheet((fitting or COLUMNS[-1:])[0] / 25.4, height)


def new_axes(width: float = 3.4, height: float = 2.6) -> Axes:
    """Return axes on a fresh Figure of that size in inches, without pyplot.

    >>> new_axes(2.0, 1.0).get_figure().get_size_inches().tolist()
    [2.0, 1.0]
    """
    return sheet(width, height).add_subplot()


def axes_inches(ax: Axes) -> tuple[float, float]:
    """Return the width and height of the axes in inches; before the layout is settled they are only about right.

    >>> 1 < axes_inches(new_axes(2.0, 2.0))[0] < 2
    True
    """
    figure = ax.get_figure()
    dots = 100.0 if figure is None else figure.dpi
    return float(ax.bbox.width) / dots, float(ax.bbox.height) / dots


def tidy(ax: Axes, *, title: str | None = None, xlabel: str | None = None, ylabel: str | None = None) -> Axes:
    """Set title and labels at paper size, drop the top and right spines, and return `ax`.

    >>> tidy(new_axes(), title="Held-out score").get_title(loc="left")
    'Held-out score'
    """
    set_title(ax, title)
    if xlabel is not None:
        ax.set_xlabel(xlabel, fontsize=LABEL_SIZE, color=INK)
    if ylabel is not None:
        ax.set_ylabel(ylabel, fontsize=LABEL_SIZE, color=INK)
    ax.spines[["top", "right"]].set_visible(False)
    for spine in ax.spines.values():
        spine.set_color(SOFT_INK)
        spine.set_linewidth(0.7)
    ax.tick_params(labelsize=TICK_SIZE, length=2.5, width=0.7, color=SOFT_INK, labelcolor=INK)
    return ax


def name_columns(ax: Axes, names: Sequence[str], *, room: float = 0.6, margin: float = 0.08) -> None:
    """Name the columns 0, 1, … of bars or dots under them, with some room at the sides and above.

    >>> ax = new_axes()
    >>> name_columns(ax, ["water", "home"])
    >>> [float(end) for end in ax.get_xlim()]
    [-0.6, 1.6]
    """
    ax.set_xticks(range(len(names)), names)
    ax.set_xlim(-room, len(names) - 1 + room)
    ax.margins(y=margin)
    ax.tick_params(axis="x", length=0, labelsize=LABEL_SIZE)


def fitted(ax: Axes, first: str, rest: str, size: float | int) -> str:
    """Two parts of a text in one line if that is about as wide as the axes, else below one another.

    >>> fitted(new_axes(1.8, 1.0), "3 examples", "of 24 to 25 steps", TITLE_SIZE)
    '3 examples\\nof 24 to 25 steps'
    """
    room = max(12, int(72 * axes_inches(ax)[0] / (0.55 * size)))
    if len(f"{first} {rest}") <= room:
        return f"{first} {rest}"
    return "\n".join(line for part in (first, rest) for line in wrap(part, room))


def set_title(ax: Axes, title: str | None, note: str | None = None) -> None:
    """Write a title at the left, where the eye starts, and a small note under it; `None` leaves the axes as they are.

    >>> ax = new_axes()
    >>> set_title(ax, "Home mode")
    >>> ax.get_title(loc="left")
    'Home mode'
    """
    lines = 0 if note is None else 1 + note.count("\n")
    if note is not None:
        style = {"ha": "left", "va": "bottom", "fontsize": TICK_SIZE, "color": SOFT_INK, "annotation_clip": False}
        ax.annotate(note, (0, 1), (0, 4), xycoords="axes fraction", textcoords="offset points", **style)
    if title is not None:
        ax.set_title(title, loc="left", fontsize=TITLE_SIZE, color=INK, pad=6 + 1.3 * TICK_SIZE * lines)


def add_colour_bar(ax: Axes | Sequence[Axes], drawn: ScalarMappable, label: str | None) -> None:
    """Add a slim colour bar beside `ax`, or beside all of several axes of one figure.

    >>> from matplotlib.cm import ScalarMappable
    >>> ax = new_axes()
    >>> add_colour_bar(ax, ScalarMappable(), "reward")
    >>> len(ax.get_figure().axes)
    2
    """
    several = [ax] if isinstance(ax, Axes) else list(ax)
    figure = several[0].get_figure()
    if figure is None:
        raise ValueError("ax: it belongs to no figure, so nothing can stand beside it; pass colour_bar=False")
    share = 0.05 if len(several) == 1 else 0.03
    bar = figure.colorbar(drawn, ax=several, fraction=share, pad=0.03, aspect=18, shrink=0.9)
    cast(Spine, bar.outline).set_visible(False)
    bar.ax.tick_params(labelsize=TICK_SIZE, length=2, width=0.6, color=SOFT_INK, labelcolor=INK)
    bar.ax.locator_params(nbins=5)
    if label is not None:
        bar.set_label(label, fontsize=LABEL_SIZE, color=INK)


def finish_map(ax: Axes, title: str | None, drawn: ScalarMappable, label: str | None, colour_bar: bool) -> Axes:
    """Write the title, add the colour bar of what was drawn where one is wanted, and return `ax`.

    >>> finish_map(new_axes(), "Home mode", ScalarMappable(), "reward", True).get_title(loc="left")
    'Home mode'
    """
    set_title(ax, title)
    if colour_bar:
        add_colour_bar(ax, drawn, label)
    return ax


def finite_range(values: np.ndarray, vmin: float | int | None, vmax: float | int | None) -> tuple[float, float]:
    """Return the colour limits: those given, else the smallest and largest finite value.

    >>> finite_range(np.array([0.0, np.nan, 2.0]), None, None)
    (0.0, 2.0)
    """
    finite = values[np.isfinite(values)]
    low = float(vmin) if vmin is not None else float(finite.min()) if finite.size else 0.0
    high = float(vmax) if vmax is not None else float(finite.max()) if finite.size else 1.0
    if high < low:
        raise ValueError(f"vmin, vmax: got vmin={low:g} above vmax={high:g}; expected vmin <= vmax")
    # A flat map has no range of its own; any non-empty one draws it in the palest colour.
    return (low, high) if high > low else (low, low + 1.0)


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
