"""Names beside lines and dots instead of legends: placed so that they do not overlap."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from swirl.plots.style import TICK_SIZE, axes_inches


def spread(wanted: Float[np.ndarray, " label"], gap: float) -> Float[np.ndarray, " label"]:
    """Return places at least `gap` apart, in the order of those wanted and as near to them as that allows.

    Least squares: labels that collide are joined into one block about their mean, until no blocks collide.

    >>> import numpy as np
    >>> spread(np.array([0.0, 0.1, 5.0]), 1.0).tolist()
    [-0.45, 0.55, 5.0]
    """
    order = np.argsort(wanted, kind="stable")
    blocks: list[tuple[float, int]] = []  # (place of the first label, number of labels)
    for place in wanted[order].tolist():
        blocks.append((place, 1))
        while len(blocks) > 1 and blocks[-2][0] + blocks[-2][1] * gap > blocks[-1][0]:
            (first, n), (second, m) = blocks[-2:]
            blocks[-2:] = [((n * first + m * (second - n * gap)) / (n + m), n + m)]
    placed = np.empty(len(wanted))
    placed[order] = np.concatenate([first + gap * np.arange(n) for first, n in blocks]) if blocks else []
    return placed


def line_height(ax: Axes, size: float = TICK_SIZE) -> float:
    """Return about how high a line of type is in data units of the y axis, before the layout is settled.

    >>> from swirl.plots.style import new_axes
    >>> bool(0 < line_height(new_axes()) < 0.1)
    True
    """
    low, high = ax.get_ylim()
    return 1.2 * size / 72 / axes_inches(ax)[1] * abs(high - low)


def label_ends(ax: Axes, labels: Sequence[tuple[str, float, str]], markers: Sequence[str] | None = None) -> None:
    """Write each name at the right of the axes near its height, tied to it by a thin line.

    Call it when the y limits are final.

    Parameters
    ----------
    labels
        Name, height in data units, and colour of each.
    markers
        One beside each name, as on its line; "None" is no marker.

    >>> from swirl.plots.style import new_axes
    >>> ax = new_axes()
    >>> label_ends(ax, [("S-1", 0.5, "C0"), ("S-2", 0.5, "C1")])
    >>> [text.get_text() for text in ax.texts]
    ['S-1', 'S-2']
    """
    across = ax.get_yaxis_transform()
    beside = 0.085 if markers is not None else 0.055
    places = spread(np.array([height for _, height, _ in labels], dtype=float), line_height(ax))
    for index, ((name, height, colour), place) in enumerate(zip(labels, places, strict=True)):
        outside = {"color": colour, "transform": across, "clip_on": False, "scalex": False, "scaley": False}
        ax.plot([1.005, 1.042], [height, place], linewidth=0.6, alpha=0.8, label="_tie", **outside)
        if markers is not None:
            ax.plot([1.055], [place], marker=markers[index], markersize=3.5, linestyle="none", label="_tie", **outside)
        ax.text(1 + beside, place, name, transform=across, ha="left", va="center", fontsize=TICK_SIZE, color=colour)
