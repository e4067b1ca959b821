"""What plotly's figures are made from: traces, axes, and names that are no mark-up.

Colours such as "@ink" and "@soft" are those of the page's theme, which its script fills in.
"""

import html
from typing import Any

LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}  # above the figure


def label(text: Any) -> str:
    """A name of the user's for a figure: plotly reads a little HTML, which a name is not.

    >>> label('<b>"x"</b>')
    '&lt;b&gt;"x"&lt;/b&gt;'
    """
    return html.escape(str(text), quote=False)


def points(name: str, x: Any, y: Any, **look: Any) -> dict[str, Any]:
    """A trace of points; `look` are plotly's own properties."""
    return {"type": "scatter", "mode": "markers", "name": name, "x": x, "y": y, **look}


def lines(name: str, x: Any, y: Any, **look: Any) -> dict[str, Any]:
    """A trace of lines; `look` are plotly's own properties."""
    return {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, **look}


def axis(title: str, **look: Any) -> dict[str, Any]:
    """An axis with a title; `look` are plotly's own properties."""
    return {"title": {"text": title}, **look}


def figure(traces: list[Any], height: int, x: dict[str, Any], y: dict[str, Any], **layout: Any) -> dict[str, Any]:
    """A figure of so many pixels: its traces, its two axes, and what else plotly's layout has.

    >>> figure([], 300, axis("modes"), axis("score"), showlegend=False)["layout"]["xaxis"]
    {'title': {'text': 'modes'}}
    """
    return {"data": traces, "layout": {"xaxis": x, "yaxis": y, **layout}, "height": height}
