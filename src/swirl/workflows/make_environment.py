"""`swirl env`: an environment that is told in a few words, written as the CSV that `--env` reads, with its map."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from swirl.data.arenas import cells_of, graph, text_map
from swirl.data.mdp import MDP
from swirl.errors import Faults
from swirl.io import open_table
from swirl.io.environment_files import environment_for, write_environment
from swirl.io.session_table import read_data
from swirl.text import some

FORMATS = (".png", ".pdf", ".svg")


def size_of(given: str) -> tuple[int, int]:
    """Rows and columns.

    >>> size_of("6x4")
    (6, 4)
    """
    found = re.fullmatch(r"\s*(\d{1,4})\s*[x×X]\s*(\d{1,4})\s*", given)
    if found is None:
        raise ValueError(f"SIZE {given}: expected rows x columns, as in swirl env grid 6x6")
    return int(found[1]), int(found[2])


def pairs_of(given: str | None, option: str = "--walls") -> list[tuple[str, str]]:
    """Pairs of cells: "A1-A2,B1-B2", or a CSV with the columns from and to.

    >>> pairs_of("A1-A2, B1-B2")
    [('A1', 'A2'), ('B1', 'B2')]
    """
    if given is None:
        return []
    if Path(given).suffix.lower() in (".csv", ".tsv", ".txt") or Path(given).is_file():
        return _ways(Path(given))
    found, faults = [], Faults()
    for part in [part.strip() for part in given.split(",") if part.strip()]:
        ends = [end.strip() for end in part.split("-")]
        if len(ends) == 2 and all(ends):
            found.append((ends[0], ends[1]))
        else:
            faults.add(f"{option} {part}: expected two cells, as in {option} A1-A2,B1-B2, or a CSV with from, to")
    faults.raise_if_any()
    return found


def _ways(path: Path) -> list[tuple[str, str]]:
    faults = Faults()
    rows = open_table.rows(path, ("from", "to"), faults, "expected a CSV with the columns from and to")
    faults.raise_if_any(f"{path} cannot be read")
    return [(row["from"], row["to"]) for _, row in rows]


def graph_of_files(ways: Any, nodes: Any = None, *, one_way: bool = False, stay: bool = False) -> MDP:
    """The environment of a table of ways (from, to), and of one of places (name, x, y) where it is given."""
    pairs, places = _ways(Path(ways)), None
    if nodes is not None:
        faults = Faults()
        rows = open_table.rows(Path(nodes), ("name", "x", "y"), faults, "expected a CSV with the columns name, x, y")
        faults.raise_if_any(f"{nodes} cannot be read")
        places = {}
        for line, row in rows:
            try:
                places[row["name"]] = (float(row["x"]), float(row["y"]))
            except ValueError:
                faults.add(f"{nodes}, line {line}: x and y are {row['x']!r} and {row['y']!r}: give numbers")
        faults.raise_if_any(f"{nodes} cannot be read")
    return graph(pairs, places, one_way=one_way, stay=stay)


def observed_in(data: Any, columns: dict[str, Any] | None = None) -> MDP:
    """The environment of the moves that occur in a table of sessions."""
    return environment_for(read_data(data, columns), "observed")


def save(env: MDP, output: Path, *, figure: Path | None = None, overwrite: bool = False) -> list[Path]:
    """Write the edge list, the table of states beside it, and the figure of the map where one is asked for."""
    written = write_environment(env, output, overwrite=overwrite)
    if figure is not None:
        from matplotlib.figure import Figure

        from swirl.plots import environment_map
        from swirl.plots import save as save_figure

        drawn = environment_map(env).get_figure()
        if isinstance(drawn, Figure):
            written += save_figure(drawn, figure.with_suffix(""), [figure.suffix[1:].lower()], overwrite=overwrite)
    return written


def map_words(env: MDP) -> str:
    """What is where, in text: the map of a grid, and which way y grows."""
    names = env.state_names or tuple(map(str, range(env.n_states)))
    if env.coordinates is None:
        return "Its states have no places: maps list them by name. A table of states with name, x, y would place them."
    cells, drawn = cells_of(env), text_map(env)
    if cells is None:
        return f"States: {some(names, 20)}. y grows upwards on every map."
    rows = int(cells[:, 0].max()) + 1
    order = cells[:, 1].argsort(kind="stable").tolist()
    ends = [[names[s] for s in order if cells[s, 0] == at] for at in (0, rows - 1)]
    at_y = [f"{float(y):g}" for y in (env.coordinates[:, 1].max(), env.coordinates[:, 1].min())]
    words = "y grows upwards on every map"
    if rows > 1:
        top, bottom = (row[0] if len(row) == 1 else f"{row[0]} to {row[-1]}" for row in ends)
        words += f": {top} at the top (y = {at_y[0]}), {bottom} at the bottom (y = {at_y[1]})"
    return f"{drawn or 'The map is too wide for text: --map arena.png draws it.'}\n{words}."


def facts_of(env: MDP, files: Sequence[Path]) -> dict[str, Any]:
    """The same for machines."""
    return {
        "files": [str(path) for path in files],
        "environment": repr(env),
        "states": list(env.state_names or map(str, range(env.n_states))),
        "actions": list(env.action_names or map(str, range(env.n_actions))),
        "coordinates": None if env.coordinates is None else env.coordinates.tolist(),
        "y": "upwards",
    }
