"""What a printed figure must be: as wide as a column, readable, its colours explained, nothing cut or covered."""

from itertools import combinations

import pytest
from matplotlib.colors import ListedColormap
from matplotlib.text import Text
from PIL import Image

from swirl.plots.style import save


def check_for_print(figure, folder):
    """As wide as a column of print at 300 dpi, letters of 7 pt or more, a named bar beside every scale of colours."""
    width = 25.4 * figure.get_size_inches()[0]
    assert any(abs(width - column) < 0.5 for column in (89, 120, 180)), width
    [file] = save(figure, folder / "figure", ["png"], overwrite=True)
    with Image.open(file) as picture:
        assert picture.info["dpi"] == pytest.approx((300, 300), abs=0.01)
        assert picture.size[0] == pytest.approx(300 / 25.4 * width, abs=1)
    texts = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    assert min(text.get_fontsize() for text in texts) >= 7
    bars = [ax for ax in figure.axes if hasattr(ax, "_colorbar")]
    measured = {ax for bar in bars if bar.get_ylabel() for ax in bar._colorbar_info["parents"]}
    for ax in set(figure.axes) - set(bars):
        shades = {shown: shown.get_array() for shown in (*ax.images, *ax.collections)}
        scales = [shown for shown, values in shades.items() if values is not None and values.size]
        # Plain colours, of modes, have a legend instead.
        maps = [shown.get_cmap() for shown in scales]
        scales = [colours for colours in maps if not isinstance(colours, ListedColormap) or colours.N > 20]
        assert not scales or ax in measured, ax.get_title(loc="left")


def faults_of_texts(figure):
    """Texts that reach over the edge of the figure, and pairs of texts that lie on one another, in words."""
    figure.draw_without_rendering()
    boxes = {}
    for text in (*figure.texts, *(text for ax in figure.axes for text in _texts(ax))):
        if text.get_text().strip() and text.get_visible():
            box = text.get_window_extent()
            boxes[text] = (box.x0, box.y0, box.x1, box.y1)
    page, slack = figure.bbox, 0.01 * figure.dpi
    found = [
        f"{text.get_text()!r} is cut"
        for text, (left, low, right, high) in boxes.items()
        if left < page.x0 - slack or low < page.y0 - slack or right > page.x1 + slack or high > page.y1 + slack
    ]
    for (one, a), (other, b) in combinations(boxes.items(), 2):
        across = min(a[2], b[2]) - max(a[0], b[0])
        up = min(a[3], b[3]) - max(a[1], b[1])
        # The box of a text is higher than its letters, so a little is no harm.
        if across > slack and up > 0.3 * min(a[3] - a[1], b[3] - b[1], 0.15 * figure.dpi):
            found.append(f"{one.get_text()!r} lies on {other.get_text()!r}")
    return found


def _texts(ax):
    """Every text of the axes that shows: not the ticks outside the limits, nor those of axes that are switched off."""
    yield from ax.texts
    yield from (ax.title, ax._left_title, ax._right_title)
    if ax.get_legend() is not None:
        yield from ax.get_legend().get_texts()
    for axis in (ax.xaxis, ax.yaxis) if ax.axison else ():
        yield from (axis.label, axis.offsetText)
        for tick in axis._update_ticks():
            yield from (tick.label1, tick.label2)
