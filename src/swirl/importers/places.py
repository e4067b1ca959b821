"""Places: what part of the plane is which state.  A grid, polygons, or the nodes of a graph (a maze).

Each kind has `assign(positions)` (a state per position, −1 = nowhere), `state_names`, `coordinates` (where each state
is drawn), `edges()` (each possible move as state, action, next state) and `action_names`.
"""

from swirl.importers.place_files import read_nodes, read_polygons
from swirl.importers.place_grid import Grid
from swirl.importers.place_nodes import Nodes
from swirl.importers.place_polygons import Polygons

__all__ = ["Grid", "Nodes", "Polygons", "read_nodes", "read_polygons"]
