"""Small tables in colour with a name for every row and column: syllables, and how far models agree."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, to_hex
from matplotlib.image import AxesImage

from swirl.plots.style import (
    IMPOSSIBLE,
    REWARD_COLOURS,
    SOFT_INK,
    TICK_SIZE,
    colour_map,
    finish_map,
    finite_range,
    ink_on,
    new_axes,
    tidy,
)
from swirl.text import cell


def transition_map(
    values: Float[np.ndarray, "state action"], names: Sequence[str], *, action_names: Sequence[str] | None = None,
    diagonal: bool = True, vmin: float | int | None = None, vmax: float | int | None = None,
    colours: str | Colormap = REWARD_COLOURS, title: str | None = None, note: str | None = None,
    xlabel: str | None = "next", ylabel: str | None = "current", colour_bar: bool = True, label: str | None = "reward",
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw a value per (state, action) as a named table, such as the reward of going from syllable to syllable.

    Parameters
    ----------
    values
        A row per state and a column per action; NaN is grey.
    names
        Of the states, and of the actions too unless `action_names` are given.
    diagonal
        False greys it and leaves it out of the scale: staying means nothing where runs were merged.
    note
        A few words under the title, such as "DA corr 0.31".

    Examples
    --------
    >>> import numpy as np
    >>> ax = transition_map(np.array([[0.0, 1.0], [2.0, 9.0]]), ["Walk", "Run"], diagonal=False)
    >>> ax.images[0].get_array().tolist(), ax.images[0].get_clim()
    ([[None, 1.0], [2.0, None]], (1.0, 2.0))
    """
    shown = np.array(values, dtype=float)
    columns = names if action_names is None else action_names
    if not diagonal:
        if shown.shape[0] != shown.shape[1]:
            raise ValueError(f"diagonal: got False for a table of shape {shown.shape}, which has none; pass True")
        np.fill_diagonal(shown, np.nan)
    drawn, ax = _table(shown, names, columns, ax, finite_range(shown, vmin, vmax), colours, xlabel, ylabel)
    if note is not None:
        ax.text(1.0, 1.02, note, transform=ax.transAxes, ha="right", va="bottom", fontsize=TICK_SIZE, color=SOFT_INK)
    return finish_map(ax, title, drawn, label, colour_bar)


def agreement_matrix(
    values: Float[np.ndarray, "model model"], names: Sequence[str], *, vmin: float | int = 0.0,
    vmax: float | int = 1.0, colours: str | Colormap = "BuGn", decimals: int = 2, title: str | None = None,
    xlabel: str | None = None, ylabel: str | None = None, colour_bar: bool = True,
    label: str | None = "adjusted Rand index", ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw how far each pair agrees, the number written in each cell, such as the ARI between segmentations.

    Examples
    --------
    >>> import numpy as np
    >>> ax = agreement_matrix(np.array([[1.0, 0.8], [0.8, 1.0]]), ["S-2", "S-3"])
    >>> [text.get_text() for text in ax.texts]
    ['1.00', '0.80', '0.80', '1.00']
    """
    drawn, ax = _table(values, names, names, ax, finite_range(values, vmin, vmax), colours, xlabel, ylabel)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            shade = to_hex(drawn.to_rgba(np.array([value]))[0])
            ax.text(
                column, row, cell(float(value), decimals), ha="center", va="center", fontsize=TICK_SIZE,
                color=ink_on(shade),
            )  # fmt: skip
    return finish_map(ax, title, drawn, label, colour_bar)


def _table(
    values: np.ndarray, rows: Sequence[str], columns: Sequence[str], ax: Axes | None, limits: tuple[float, float],
    colours: str | Colormap, xlabel: str | None, ylabel: str | None,
) -> tuple[AxesImage, Axes]:  # fmt: skip
    """Draw the cells with white lines between them and the names at the sides."""
    if values.shape != (len(rows), len(columns)) or not values.size:
        raise ValueError(
            f"values: got shape {values.shape}, but there are names for {len(rows)} rows and {len(columns)} columns"
        )
    if ax is None:
        widest = 0.075 * max(map(len, rows))
        side = 0.26 if max(values.shape) > 5 else 0.42
        ax = new_axes(1.1 + widest + side * len(columns), 0.8 + side * len(rows))
    drawn = ax.imshow(
        np.ma.masked_invalid(values), cmap=colour_map(colours).with_extremes(bad=IMPOSSIBLE), vmin=limits[0],
        vmax=limits[1], interpolation="nearest",
    )  # fmt: skip
    for line in range(1, len(rows)):
        ax.axhline(line - 0.5, color="white", linewidth=0.8)
    for line in range(1, len(columns)):
        ax.axvline(line - 0.5, color="white", linewidth=0.8)
    turned = max(map(len, columns)) > 3 and len(columns) > 4
    ax.set_xticks(range(len(columns)), [_turned(name) if turned else name for name in columns])
    for tick, name in zip(ax.get_xticklabels(), columns, strict=True):
        tick.set_rotation(90 if turned and len(name) > 2 else 0)
    ax.set_yticks(range(len(rows)), rows)
    tidy(ax, xlabel=xlabel, ylabel=ylabel)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return drawn, ax


def _turned(name: str) -> str:
    """Return a name whose arrows point the right way after a quarter turn; one or two letters are not turned.

    >>> _turned("Sniff↑"), _turned("↑")
    ('Sniff→', '↑')
    """
    return name.translate(str.maketrans("↑←↓→", "→↑←↓")) if len(name) > 2 else name
