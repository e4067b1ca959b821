import json

import numpy as np
import pytest
from matplotlib.path import Path as Outline

from swirl.data.mdp import MDP
from swirl.io.places import Grid, Nodes, Polygons, read_nodes, read_polygons
from swirl.io.tracks import Track

SQUARE = [(0, 0), (2, 0), (2, 2), (0, 2)]
ELL = [(2, 0), (6, 0), (6, 1), (3, 1), (3, 4), (2, 4)]


def environment(places):
    """What `swirl import` makes of places; building it checks edges against names and coordinates."""
    return MDP.from_edges(
        places.edges(),
        n_states=len(places.state_names),
        n_actions=len(places.action_names),
        state_names=places.state_names,
        action_names=places.action_names,
        coordinates=places.coordinates,
    )


# Grid


def test_grid_cells_hold_their_centres_and_their_borders():
    corners = [[-1, 10], [3, 16], [0, 12], [3, 10], [-1.001, 11], [0, 16.001], [np.nan, 11], [np.inf, 11]]
    for y_down, there in ((False, [8, 3, 5, 11]), (True, [0, 11, 5, 3])):
        grid = Grid(x=(-1, 3), y=(10, 16), shape=(3, 4), y_down=y_down)
        np.testing.assert_array_equal(grid.assign(grid.coordinates), np.arange(12))
        assert grid.state_names[7] == "r1c3"
        np.testing.assert_allclose(grid.coordinates[7], [2.5, 13])
        np.testing.assert_allclose(grid.coordinates[0], [-0.5, 11 if y_down else 15])
        np.testing.assert_array_equal(grid.assign(corners), [*there, -1, -1, -1, -1])
        assert grid.assign(np.zeros((0, 2))).shape == (0,)


@pytest.mark.parametrize("y_down", [False, True])
@pytest.mark.parametrize("diagonal", [False, True])
def test_grid_moves_go_where_their_names_say(diagonal, y_down):
    grid = Grid(x=(0, 4), y=(0, 3), shape=(3, 4), diagonal=diagonal, y_down=y_down)
    up = -1 if y_down else 1
    way = {"up": (0, up), "down": (0, -up), "left": (-1, 0), "right": (1, 0)}
    for s, a, t in grid.edges():
        expected = np.sum([way[word] for word in grid.action_names[a].split()], axis=0)
        np.testing.assert_allclose(grid.coordinates[t] - grid.coordinates[s], expected)
    assert len(grid.edges()) == (2 * (9 + 8) + diagonal * 4 * 6)
    assert environment(grid).available.sum() == len(grid.edges())


def test_grid_around_tracks_without_walls():
    track = Track("a", np.arange(5.0), [[0, 0], [9, 0], [9, 9], [np.nan, 50], [5, 9]])
    grid = Grid.around([track], (3, 3))
    assert (grid.x, grid.y) == ((0.0, 9.0), (0.0, 9.0))
    walls = grid.unvisited([track])
    assert walls == [(0, 0), (1, 0), (1, 1), (1, 2), (2, 1)]
    maze = grid.without(walls)
    assert maze.state_names == ("r0c1", "r0c2", "r2c0", "r2c2")
    np.testing.assert_array_equal(maze.assign(track.positions), [2, 3, 1, -1, 0])
    assert maze.assign([[4.5, 4.5]]) == [-1]
    assert [(maze.state_names[s], maze.action_names[a], maze.state_names[t]) for s, a, t in maze.edges()] == [
        ("r0c1", "right", "r0c2"),
        ("r0c2", "left", "r0c1"),
    ]
    down = Grid.around([track], (3, 3), y_down=True)
    assert down.without(down.unvisited([track])).state_names == ("r0c0", "r0c2", "r2c1", "r2c2")
    turned = maze.standing(True)
    assert turned.state_names == ("r0c0", "r0c2", "r2c1", "r2c2")
    assert turned.assign([[4.5, 4.5]]) == [-1]
    assert turned.standing(False) == maze


def test_grid_faults():
    with pytest.raises(ValueError, match=r"3 faults(.|\n)*x=\(1, 1\)(.|\n)*shape=\(0, 2\)(.|\n)*\(5, 5\)"):
        Grid((1, 1), (0, 1), (0, 2), blocked=((5, 5),))
    with pytest.raises(ValueError, match="every cell is blocked"):
        Grid((0, 1), (0, 1), (1, 1)).without([(0, 0)])
    with pytest.raises(ValueError, match="hold no position"):
        Grid.around([Track("a", [0.0], [[np.nan, 1]])], (2, 2))
    with pytest.raises(ValueError, match=r"every position of the tracks is \(3, 4\): nothing moved"):
        Grid.around([Track("a", [0.0, 1.0], [[3, 4], [3, 4]])], (2, 2))
    line = Grid.around([Track("a", [0.0, 1.0, 2.0], [[0, 4], [5, 4], [10, 4]])], (1, 5))  # a linear track
    assert (line.x, line.y) == ((0.0, 10.0), (-1.0, 9.0))
    assert line.assign(np.array([[0.5, 4.0], [9.5, 4.0]])).tolist() == [0, 4]
    with pytest.raises(ValueError, match=r"positions have shape \(3,\)"):
        Grid((0, 1), (0, 1), (1, 1)).assign([1, 2, 3])


# Polygons


def test_polygons_agree_with_matplotlib():
    xy = np.random.default_rng(0).uniform(-1, 7, (2000, 2))
    star = [(5, 5), (6, 2), (0, 4), (6, 4), (3, 1)]
    for corners in (SQUARE, ELL, ELL[::-1], star[:3]):
        np.testing.assert_array_equal(Polygons({"a": corners}).assign(xy) == 0, Outline(corners).contains_points(xy))


def test_polygons_share_borders_and_the_first_wins():
    places = Polygons({"small": SQUARE, "ell": ELL, "all": [(-9, -9), (9, -9), (9, 9), (-9, 9)]})
    on_border = [[2, y] for y in np.linspace(0, 2, 9)[:-1]]
    both = np.stack([Polygons({"a": corners}).assign(on_border) for corners in (SQUARE, ELL)])
    np.testing.assert_array_equal((both == 0).sum(0), 1)
    np.testing.assert_array_equal(places.assign([[1, 1], [2.5, 3], [4, 3], [np.nan, 0], [20, 0]]), [0, 1, 2, -1, -1])
    np.testing.assert_allclose(places.coordinates[0], [1, 1])
    np.testing.assert_allclose(places.coordinates[1], [(4 * 4 + 3 * 2.5) / 7, (4 * 0.5 + 3 * 2.5) / 7])


def test_polygons_moves():
    names = {"a": SQUARE, "b": ELL, "c": SQUARE}
    assert Polygons(names).edges() == [(0, 1, 1), (0, 2, 2), (1, 0, 0), (1, 2, 2), (2, 0, 0), (2, 1, 1)]
    joined = Polygons(names, neighbours=[("a", "b"), ("b", "c")])
    assert joined.edges() == [(0, 1, 1), (1, 0, 0), (1, 2, 2), (2, 1, 1)]
    assert joined.action_names == ("to a", "to b", "to c")
    assert environment(joined).available.sum() == 4


def test_polygons_faults():
    with pytest.raises(ValueError, match=r"4 faults(.|\n)*'a' has 2 corners(.|\n)*'b': expected(.|\n)*'x' is none of"):
        Polygons({"a": SQUARE[:2], "b": "text", "c": SQUARE, "d": [(0, 0), (1, 1), (2, 2)]}, [("c", "x")])
    with pytest.raises(ValueError, match="there is no polygon"):
        Polygons({})


# Nodes


def test_nodes_nearest_within_reach():
    nodes = Nodes([[0, 0], [10, 0], [10, 10]], [(1, 2), (0, 1), (1, 0)], names=["a", "b", "c"], reach=2)
    np.testing.assert_array_equal(nodes.assign([[0, 2], [0, 2.01], [9, 1], [np.nan, 0], [10, 9]]), [0, -1, 1, -1, 2])
    assert nodes.edges() == [(0, 0, 1), (1, 0, 0), (1, 1, 2), (2, 0, 1)]
    assert nodes.action_names == ("exit 0", "exit 1")
    assert environment(nodes).available.tolist() == [[True, False], [True, True], [True, False]]
    assert Nodes([[0, 0], [9, 0]], [("0", "1")]).edges() == [(0, 0, 1), (1, 0, 0)]


def test_corridors_keep_to_their_side_of_the_wall():
    # A long corridor 0 – 1 runs past the dead end 2, which hangs on 1 and lies one unit behind the wall.
    where = [[0, 0], [10, 0], [4, 1.5], [10, 1.5], [50, 50]]
    edges = [(0, 1), (1, 3), (3, 2)]
    inside = [[4, 0.2], [6, -0.3], [4.2, 1.4], [9.9, 0.6], [4, 0.9], [49, 50]]
    near = Nodes(where, edges).assign(inside)
    along = Nodes(where, edges, corridors=True).assign(inside)
    np.testing.assert_array_equal(near, [2, 2, 2, 1, 2, 4])
    np.testing.assert_array_equal(along, [0, 1, 2, 1, 2, 4])
    within = Nodes(where, edges, corridors=True, reach=0.4).assign(inside)
    np.testing.assert_array_equal(within, [0, 1, 2, 1, -1, -1])


def test_nodes_faults():
    with pytest.raises(
        ValueError, match=r"4 faults(.|\n)*reach=-1(.|\n)*1, 2 lie in the same(.|\n)*9 is none(.|\n)*itself"
    ):
        Nodes([[0, 0], [1, 1], [1, 1]], [(0, 9), (1, 1)], reach=-1)
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        Nodes([0, 1], [])
    with pytest.raises(ValueError, match="names has 1 names"):
        Nodes([[0, 0], [1, 1]], [], names=["a"])


# Files


def test_read_polygons(tmp_path):
    path = tmp_path / "ärena 1.json"
    path.write_text(json.dumps({"nest": SQUARE, "ell": ELL}))
    (tmp_path / "joined.csv").write_text("from,to\nnest,ell\n")
    expected = Polygons({"nest": SQUARE, "ell": ELL})
    assert read_polygons(path).state_names == expected.state_names
    np.testing.assert_array_equal(read_polygons(path).coordinates, expected.coordinates)
    assert read_polygons(path, tmp_path / "joined.csv").edges() == [(0, 1, 1), (1, 0, 0)]
    features = [
        {"type": "Feature", "properties": about, "geometry": {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}}
        for about, ring in (({"name": "nest"}, [(x, y, 0) for x, y in SQUARE]), ({"name": "ell"}, ELL))
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    assert read_polygons(path).state_names == expected.state_names
    np.testing.assert_allclose(read_polygons(path).coordinates, expected.coordinates)


HOLE = {"geometry": {"type": "Polygon", "coordinates": [SQUARE, SQUARE]}, "properties": {"name": "ring"}}
POINT = {"geometry": {"type": "Point", "coordinates": [1, 2]}, "properties": None, "id": "spot"}
BROKEN_POLYGONS = {
    '{"a": [[0, 0],\n [1, }': r"arena.json, line 2, column 6: no JSON",
    "[1, 2]": "expected {",
    '{"a": [[0, 0], [1, 0], [1, 1]], "a": []}': "'a' is there more than once",
    '{"a": [[0, 0], [1, 0], [1, NaN]]}': "arena.json: (.|\n)*polygon 'a': expected corners",
    '{"a": [[0, 0], ["left", 0], [1, 1]]}': "polygon 'a': expected corners",
    json.dumps(
        {"type": "FeatureCollection", "features": [HOLE, POINT]}
    ): r"'ring'\) has a hole(.|\n)*'spot'\) is no Pol",
    "[" * 100_000: "nested too deeply",
}


@pytest.mark.parametrize("text", BROKEN_POLYGONS, ids=range(len(BROKEN_POLYGONS)))
def test_broken_polygons(tmp_path, text):
    (tmp_path / "arena.json").write_text(text)
    with pytest.raises(ValueError, match=BROKEN_POLYGONS[text]):
        read_polygons(tmp_path / "arena.json")


def write_graph(folder, nodes, edges):
    (folder / "nodes.csv").write_bytes(nodes.encode("utf-8-sig"))
    (folder / "edges.csv").write_text(edges)
    return folder / "nodes.csv", folder / "edges.csv"


def test_read_nodes(tmp_path):
    files = write_graph(tmp_path, "Name;X;Y;note\nhome;0;0,5;\n\nwater;3;4;port\n", "from,to\nhome,water\n")
    nodes = read_nodes(*files, reach=1.0, corridors=True)
    assert nodes.state_names == ("home", "water")
    np.testing.assert_array_equal(nodes.coordinates, [[0, 0.5], [3, 4]])
    assert nodes.edges() == [(0, 0, 1), (1, 0, 0)]
    assert (nodes.reach, nodes.corridors) == (1.0, True)


EDGES = "from,to\na,b\n"
BROKEN_GRAPHS = [
    ("name,x,y\na,0,0\nb,one,2\n", EDGES, "nodes.csv, line 3: x, y are 'one', '2'"),
    ("name,x,y\na,0,0\n\na,1,2\nb,0,1\n", EDGES, "nodes.csv, line 4: the name 'a' is there already"),
    ("name,x\na,0\n", EDGES, "nodes.csv, line 1: no column y among name, x"),
    ("name,x,y\na,0,0\nb,1\n", EDGES, "nodes.csv, line 3: 2 cells, but the header has 3"),
    ("name,x,y\na,0,0\nb,1,\n", EDGES, "nodes.csv, line 3, column y: empty"),
    ("name,x,y\n", EDGES, "nodes.csv holds no rows"),
    ("", EDGES, "nodes.csv is empty"),
    (
        "name,x,y\na,0,0\nb,1,1\n",
        "from,to\na,b\nb,c\na,a\n",
        "line 3: 'c' is none of a, b(.|\n)*line 4: joins 'a' with",
    ),
]


@pytest.mark.parametrize(("nodes", "edges", "told"), BROKEN_GRAPHS)
def test_broken_graphs(tmp_path, nodes, edges, told):
    files = write_graph(tmp_path, nodes, edges)
    with pytest.raises(ValueError, match=told):
        read_nodes(*files)


def test_files_that_are_not_there_or_not_text(tmp_path):
    with pytest.raises(ValueError, match="does not exist"):
        read_polygons(tmp_path / "a.json")
    (tmp_path / "a.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not UTF-16 throughout"):
        read_polygons(tmp_path / "a.json")
