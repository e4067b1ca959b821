"""Places: what part of the plane is which state.  A grid, polygons, or the nodes of a graph (a maze).

Each kind has `assign(positions)` (a state per position, −1 = nowhere), `state_names`, `coordinates` (where each state
is drawn), `edges()` (each possible move as state, action, next state) and `action_names`.
"""

from swirl.io.places.files import read_nodes, read_polygons
from swirl.io.places.graph import Nodes
from swirl.io.places.grid import Grid
from swirl.io.places.polygons import Polygons

__all__ = ["Grid", "Nodes", "Polygons", "read_nodes", "read_polygons"]
