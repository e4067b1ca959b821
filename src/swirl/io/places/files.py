"""Polygons and graphs of nodes from users' files: JSON, GeoJSON, small CSV tables."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from swirl.errors import Faults
from swirl.io.open_table import rows, small_text
from swirl.io.places.graph import Nodes
from swirl.io.places.polygons import Polygons
from swirl.io.text_table import number
from swirl.text import some


def read_polygons(path: Any, neighbours: Any = None) -> Polygons:
    """Read named polygons from JSON, {"name": [[x, y], …]}, or from a GeoJSON FeatureCollection.

    Parameters
    ----------
    path
        The JSON file; a GeoJSON feature's name is its property "name" (else its id).
    neighbours
        CSV with columns from, to: which polygons are joined. None: all.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "arena.json"
    >>> _ = file.write_text('{"nest": [[0, 0], [1, 0], [1, 1]], "arena": [[1, 0], [9, 0], [9, 9]]}')
    >>> read_polygons(file)
    Polygons(nest, arena)
    """
    path, faults = Path(path), Faults()
    cannot = f"{path} cannot be read as polygons"

    def once(items: list[tuple[str, Any]]) -> dict[str, Any]:
        for name in sorted(name for name, n in Counter(name for name, _ in items).items() if n > 1):
            faults.add(f"{name!r} is there more than once: give each polygon a different name")
        return dict(items)

    try:
        # A whole number of thousands of digits is one that Python refuses to read; a float of them is infinite.
        found = json.loads(small_text(path), object_pairs_hook=once, parse_int=float)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}, line {error.lineno}, column {error.colno}: no JSON ({error.msg})") from None
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply to hold polygons") from None
    if isinstance(found, dict) and found.get("type") == "FeatureCollection":
        found = _features(found.get("features"), faults)
    elif not isinstance(found, dict):
        faults.add('expected {"name": [[x, y], …], …} or a GeoJSON FeatureCollection')
    faults.raise_if_any(cannot)
    pairs = None if neighbours is None else _edge_rows(Path(neighbours), found, faults)
    faults.raise_if_any(cannot)
    try:
        return Polygons(found, pairs)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _features(features: Any, faults: Faults) -> dict[str, Any]:
    """Outlines by name of GeoJSON's features."""
    found: dict[str, Any] = {}
    for i, feature in enumerate(features if isinstance(features, list) else []):
        part = feature if isinstance(feature, dict) else {}
        about, shape = part.get("properties") or {}, part.get("geometry") or {}
        name = str(about.get("name") or part.get("id") or i) if isinstance(about, dict) else str(i)
        rings = shape.get("coordinates") if isinstance(shape, dict) and shape.get("type") == "Polygon" else None
        if not isinstance(rings, list) or not rings:
            faults.add(f"feature {i} ({name!r}) is no Polygon: draw it as one")
        elif len(rings) > 1:
            faults.add(f"feature {i} ({name!r}) has a hole: give what is in the hole as a polygon before it instead")
        elif name in found:
            faults.add(f"{name!r} is there more than once: give each polygon a different name")
        else:
            # GeoJSON allows a height as a third number.
            found[name] = [corner[:2] if isinstance(corner, list) else corner for corner in rings[0]]
    return found


def read_nodes(nodes: Any, edges: Any, *, reach: float | int | None = None, corridors: bool = False) -> Nodes:
    """Read a graph from two CSV files: nodes (columns name, x, y) and edges (columns from, to).

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "nodes.csv").write_text("name,x,y\\nhome,0,0\\nwater,5,0\\n")
    >>> _ = (folder / "edges.csv").write_text("from,to\\nhome,water\\n")
    >>> read_nodes(folder / "nodes.csv", folder / "edges.csv")
    Nodes(2 nodes, 1 edge)
    """
    path, faults = Path(nodes), Faults()
    places: dict[str, tuple[float, float]] = {}
    for line, row in rows(path, ("name", "x", "y"), faults):
        place = (number(row["x"]), number(row["y"]))
        if not np.isfinite(place).all():
            faults.add(f"{path}, line {line}: x, y are {row['x']!r}, {row['y']!r}: give numbers")
            continue
        if row["name"] in places:
            faults.add(
                f"{path}, line {line}: the name {row['name']!r} is there already: give each node a different one"
            )
        places[row["name"]] = place
    pairs = _edge_rows(Path(edges), places, faults) if places else []
    faults.raise_if_any(f"The graph of {path} and {edges} cannot be read")
    try:
        return Nodes(list(places.values()), pairs, list(places), reach=reach, corridors=corridors)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _edge_rows(path: Path, names: Mapping[str, Any], faults: Faults) -> list[tuple[str, str]]:
    pairs = []
    for line, row in rows(path, ("from", "to"), faults):
        unknown = [repr(row[end]) for end in ("from", "to") if row[end] not in names]
        if unknown:
            faults.add(f"{path}, line {line}: {some(unknown)} is none of {some(list(names), 10)}")
        elif row["from"] == row["to"]:
            faults.add(f"{path}, line {line}: joins {row['from']!r} with itself: leave it out")
        pairs.append((row["from"], row["to"]))
    return pairs
