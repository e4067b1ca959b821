"""A corpus of broken inputs: how each is made, what kind of input it is given as, and what a user must be told.

`CASES` has them all: name → `Case`, whose `make(folder)` writes the file and returns its path.  Files are real ones,
written by their format's own library and then damaged.  A pickle here would leave a file called `opened` if anything
loaded it.  Where the exit code is 0 the file is fine after all, and `told` is what must come of it.
"""

import gzip
import json
import pickle
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import pandas as pd

HUGE = 10**11


@dataclass(frozen=True)
class Case:
    kind: str
    told: str
    make: Callable[[Path], Path]
    code: int = 2


CASES: dict[str, Case] = {}


def broken(kind, told, code=2):
    """Register a maker; its name with spaces is the case's."""

    def register(make):
        CASES[f"{kind}: {make.__name__.replace('_', ' ')}"] = Case(kind, told, make, code)
        return make

    return register


def texts(kind, file, cases):
    """Register files of given bytes: name → (what must be told, content, exit code, another file name)."""
    for name, (told, content, *more) in cases.items():
        code, called = (*more, *(2, file)[len(more) :])

        def make(folder, content=content, called=called):
            (folder / called).write_bytes(content.encode() if isinstance(content, str) else content)
            return folder / called

        CASES[f"{kind}: {name}"] = Case(kind, told, make, code)


class Hostile:
    """What a pickle may do to whoever loads it: here, leave a file."""

    def __init__(self, folder):
        self.path = str(folder / "opened")

    def __reduce__(self):
        return open, (self.path, "w")


def table(n=40):
    """A good table of two sessions."""
    t = np.arange(n // 2) / 2
    return pd.DataFrame(
        {
            "session": ["a"] * (n // 2) + ["b"] * (n // 2),
            "t": [*t, *t],
            "state": np.arange(n) % 3,
            "action": np.arange(n) % 2,
        }
    )


GOOD = "session,t,state\na,0,1\na,1,2\nb,0,1\nb,1,0\n"

# ---------------------------------------------------------------------- tables as text

texts(
    "table",
    "sessions.csv",
    {
        "empty": ("it is empty", b""),
        "blank lines": ("only blank lines", "\n \n\t\n"),
        "header only": ("column names and nothing else", "session,t,state\n"),
        "cut within a row": ("the file ends there: was it cut short?", GOOD[:-3]),
        "ragged rows": ("line 3 has 4 values for 3 columns", GOOD.replace("a,1,2", "a,1,2,9")),
        "random bytes": ("is not UTF-8", np.random.default_rng(0).integers(1, 256, 4000, np.uint8).tobytes()),
        "UTF-16": ("2 sessions, 4 steps (2 each), 3 states", GOOD.encode("utf-16"), 0),
        "UTF-16 without its mark": ("UTF-16 without its mark: save the file as UTF-8", GOOD.encode("utf-16-le")),
        "UTF-16 big-endian, no mark": ("UTF-16 without its mark", GOOD.encode("utf-16-be")),
        "UTF-16, odd": ("is not UTF-16", GOOD.encode("utf-16")[:-1]),
        "no known alphabet": ("line 3 holds the byte 0x81", b"state\nwater\ncaf\x81\n"),
        "two encodings": ("line 3 holds the byte 0xE9", "state\ncafé\n".encode() + "café\n".encode("latin-1")),
        "zero bytes": ("line 3 holds a zero byte", GOOD.replace("a,1,2", "a,1,\0")),
        "quoted line ends": (
            "2 sessions, 4 steps (2 each), 3 states",
            GOOD.replace("a,0,1", '"a",0,1').replace("b,", '"b\nc",'),
            0,
        ),
        "a quote that stays open": ("close each quotation mark", GOOD.replace("a,1", '"a,1')),
        "semicolons, decimal commas": (
            "2 sessions, 4 steps (2 each), 3 states",
            GOOD.replace(",", ";").replace("1;", "1,5;"),
            0,
        ),
        "mark and CRLF": (
            "2 sessions, 4 steps (2 each), 3 states",
            b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode(),
            0,
        ),
        "CR alone": ("2 sessions, 4 steps (2 each), 3 states", GOOD.replace("\n", "\r"), 0),
        "a column twice": ("occur more than once: state", "state,state\n1,2\n"),
        "no state": ("there is no column 'state'", "session,t,syllable\na,0,1\n"),
        "no header": ("there is no column 'state'", "0,1,2\n1,2,0\n"),
        "a session twice": ("t is 0.0 in both lines 2, 6", GOOD + "a,0,1\na,1,2\n"),
        "a session twice, no times": (
            "session 'a' starts in lines 2, 6",
            "session,state\na,1\na,0\nb,1\nb,0\na,1\na,1\n",
        ),
        "times twice": ("t is 1.0 in both lines 3, 4", "t,state\n0,1\n1,2\n1,2\n"),
        "times backwards": ("1 session", "t,state\n2,1\n1,2\n0,0\n", 0),
        "times that are no times": ("t is 'soon' in line 3", "t,state\n0,1\nsoon,2\n"),
        "times that are infinite": ("t is blank or not finite in lines 3, 4", "t,state\n0,1\ninf,2\nnan,1\n"),
        "times of 1e300": ("1 session", "t,state\n0,1\n1e300,2\n2e300,1\n", 0),
        "dates": ("1 session", "t,state\n2026-03-01T09:00:00,1\n2026-03-01T09:00:01,2\n", 0),
        "states that are NaN": ("blank in every row", "state\nNaN\nnan\n"),
        "a state that is infinite": ("state is inf in line 3", "state\n1\ninf\n"),
        "a state of 1e300": ("state is 1e+300 in line 3", "state\n1\n1e300\n"),
        "a negative state": ("state is -2 in line 3", "state\n1\n-2\n"),
        "a state and a half": ("state is 1.5 in line 3", "state\n1\n1.5\n"),
        "a state of 10^9": ("state is 1e+09 in line 3", "state\n1\n1000000000\n"),
        "a state of 10^18": ("state is 1e+18 in line 3", f"state\n1\n{10**18}\n"),
        "a state of 2^63": ("state is 9.22337e+18 in line 3", f"state\n1\n{2**63}\n"),
        "a state of 5,000 digits": ("state is inf in line 3", f"state\n1\n{'9' * 5000}\n"),
        "an action of 10^18": ("action is 1e+18 in line 2", f"state,action\n1,{10**18}\n"),
        "states that are true or false": ("2 states", "state\nTrue\nFalse\nTrue\n", 0),
        "gaps in words": ("gap is 'maybe' in line 3", "state,gap\n1,0\n2,maybe\n"),
        "subjects that change": ("a session has one subject", "session,subject,state\na,m1,0\na,m2,1\n"),
        "no gzip": ("0x8C, which is not UTF-8", b"\x1f\x8c" + GOOD.encode(), 2, "sessions.csv.gz"),
        "text called gzip": ("2 sessions, 4 steps (2 each), 3 states", GOOD, 0, "sessions.csv.gz"),
        "gzip, cut": (
            "its compression is damaged or cut short",
            gzip.compress(GOOD.encode() * 99)[:-20],
            2,
            "a.csv.gz",
        ),
        "gzip of gzip": ("it is not text", gzip.compress(gzip.compress(GOOD.encode())), 2, "sessions.csv.gz"),
        "a field of 200 kB": ("close each quotation mark", 'state,note\n1,"' + "x" * 200_000 + '"\n'),
        "500 kB in one line": ("a line of column names and nothing else", "x" * 500_000),
        "a page of HTML": ("there is no column 'state'", "<!DOCTYPE html>\n<html><body>Sign in</body></html>\n"),
    },
)


@broken("table", "more than 20 MB of text, too much for this machine: store it as Parquet")
def a_gzip_bomb(folder):
    """200 MB in 200 kB; the test lowers the room to 20 MB."""
    path = folder / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"state\n")
        for _ in range(20):
            file.write(b"1\n" * 5_000_000)
    return path


# ---------------------------------------------------------------------- tables as Parquet


def parquet(folder, frame=None, **options):
    path = folder / "sessions.parquet"
    (table() if frame is None else frame).to_parquet(path, index=False, **options)
    return path


def varint(n):
    """A whole number as Thrift writes it in a Parquet footer."""
    n, out = n << 1, b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


@broken("table", "not a Parquet file, or is cut short")
def parquet_cut(folder):
    path = parquet(folder)
    path.write_bytes(path.read_bytes()[:-30])
    return path


@broken("table", "not a Parquet file, or is cut short")
def parquet_of_another_magic(folder):
    path = parquet(folder)
    path.write_bytes(b"PARE" + path.read_bytes()[4:-4] + b"PARE")
    return path


@broken("table", "it is damaged or cut short")
def parquet_with_holes(folder):
    path = parquet(folder)
    whole = path.read_bytes()
    path.write_bytes(whole[:8] + bytes(300) + whole[308:])
    return path


@broken("table", "columns but no rows")
def parquet_without_rows(folder):
    return parquet(folder, table()[:0])


@broken("table", "no column 'state'")
def parquet_without_columns(folder):
    return parquet(folder, pd.DataFrame(index=range(3)))


@broken("table", "state holds list<element: int64>")
def parquet_of_lists(folder):
    return parquet(folder, pd.DataFrame({"state": [[1, 2], [3]]}))


@broken("table", "state holds struct<x: int64>")
def parquet_of_records(folder):
    return parquet(folder, pd.DataFrame({"state": [{"x": 1}, {"x": 2}]}))


@broken("table", "state holds binary")
def parquet_of_bytes(folder):
    return parquet(folder, pd.DataFrame({"state": [b"a", b"b"]}))


@broken("table", "state holds Timestamp")
def parquet_of_dates_as_states(folder):
    return parquet(folder, pd.DataFrame({"state": pd.to_datetime(["2026-01-01", "2026-01-02"])}))


@broken("table", "2 states", code=0)
def parquet_of_dictionaries(folder):
    return parquet(folder, pd.DataFrame({"state": pd.Categorical(["home", "water", "home"])}))


@broken("table", "3 states", code=0)
def parquet_of_decimals_and_nulls(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"state": pa.array([0, 1, 2], pa.decimal128(5, 2)), "action": pa.nulls(3)}
    pq.write_table(pa.table(columns), folder / "odd.parquet")
    return folder / "odd.parquet"


@broken("table", "claims 1,000,000,000,000 rows, which would take")
def parquet_that_claims_rows(folder):
    path = parquet(folder, table(100))
    data = path.read_bytes()
    n = struct.unpack("<I", data[-8:-4])[0]
    footer = data[-8 - n : -8].replace(b"\x16" + varint(100), b"\x16" + varint(10**12))
    path.write_bytes(data[: -8 - n] + footer + struct.pack("<I", len(footer)) + b"PAR1")
    return path


@broken("table", "not a Parquet file")
def text_called_parquet(folder):
    path = folder / "sessions.parquet"
    path.write_text(GOOD)
    return path


# ---------------------------------------------------------------------- other things, given as a table


@broken("no table", "expected a table (.csv")
def a_bomb_in_npz(folder):
    """A gigabyte of zeros, which is never unpacked."""
    path = folder / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file, file.open("states.npy", "w") as inner:
        np.lib.format.write_array_header_1_0(inner, {"descr": "<i8", "fortran_order": False, "shape": (HUGE,)})
        inner.write(bytes(2**20))
    return path


@broken("no table", "expected a table (.csv")
def a_hostile_npy(folder):
    np.save(folder / "states.npy", np.array([Hostile(folder)], object), allow_pickle=True)
    return folder / "states.npy"


@broken("no table", "expected a table (.csv")
def a_hostile_pickle(folder):
    (folder / "sessions.pkl").write_bytes(pickle.dumps(Hostile(folder)))
    return folder / "sessions.pkl"


@broken("no table", "expected a table (.csv")
def a_matlab_file(folder):
    from scipy.io import savemat

    savemat(folder / "sessions.mat", {"state": np.arange(3)})
    return folder / "sessions.mat"


@broken("no table", "expected a table (.csv")
def json_of_states(folder):
    (folder / "sessions.json").write_text(json.dumps({"state": [0, 1]}))
    return folder / "sessions.json"


@broken("table", "it is a zip file, NumPy's .npz or an Excel workbook")
def a_workbook_called_csv(folder):
    with zipfile.ZipFile(folder / "sessions.csv", "w") as file:
        file.writestr("xl/workbook.xml", "<workbook/>")
    return folder / "sessions.csv"


@broken("table", "it is a pickle, which is never opened")
def a_hostile_pickle_called_csv(folder):
    (folder / "sessions.csv").write_bytes(pickle.dumps(Hostile(folder)))
    return folder / "sessions.csv"


@broken("table", "it is a NumPy array")
def an_array_called_csv(folder):
    with open(folder / "sessions.csv", "wb") as file:
        np.save(file, np.arange(3))
    return folder / "sessions.csv"


@broken("table", "it is an HDF5 file")
def hdf5_called_csv(folder):
    with h5py.File(folder / "sessions.csv", "w") as file:
        file["m1/syllable"] = [1, 2]
    return folder / "sessions.csv"


@broken("table", "it is JSON, not a table")
def json_called_csv(folder):
    (folder / "sessions.csv").write_text(json.dumps([{"state": 0}]))
    return folder / "sessions.csv"


@broken("table", "it is XML, not a table")
def a_file_of_elan_called_csv(folder):
    (folder / "sessions.csv").write_text('<?xml version="1.0"?>\n<ANNOTATION_DOCUMENT FORMAT="2.7"/>\n', "utf-8-sig")
    return folder / "sessions.csv"


@broken("table", "it is a file of Praat (TextGrid)")
def a_file_of_praat_called_txt(folder):
    text = 'File type = "ooTextFile"\nObject class = "TextGrid"\n'
    (folder / "sessions.txt").write_text(text, "utf-16")  # Praat writes UTF-16 where a label is not ASCII
    return folder / "sessions.txt"


@broken("table", "it is a folder")
def a_folder(folder):
    (folder / "folder.csv").mkdir()
    return folder / "folder.csv"


@broken("table", "does not exist")
def nothing_there(folder):
    return folder / "nowhere.csv"


@broken("table", "does not exist")
def a_link_to_nothing(folder):
    (folder / "link.csv").symlink_to(folder / "gone.csv")
    return folder / "link.csv"


@broken("table", "File name too long")
def a_name_of_300_letters(folder):
    return folder / ("x" * 300 + ".csv")


@broken("table", "2 sessions, 4 steps (2 each), 3 states", code=0)
def a_good_file_of_an_odd_name(folder):
    path = folder / "--Mäuse & 鼠 'n' \"q\" (1);\tx.CSV"
    path.write_text(GOOD)
    return path


@broken("table", "2 sessions, 4 steps (2 each), 3 states", code=0)
def a_good_file_through_links(folder):
    (folder / "real").mkdir()
    (folder / "real" / "a.csv").write_text(GOOD)
    (folder / "way").symlink_to(folder / "real")
    (folder / "way" / "b.csv").symlink_to("a.csv")
    return folder / "way" / "b.csv"


# ---------------------------------------------------------------------- environments and what goes with them

EDGES = "state,action,next_state\n0,go,1\n1,go,2\n1,back,0\n2,go,0\n"

texts(
    "environment",
    "env.csv",
    {
        "empty": ("is empty, it holds no rows", b""),
        "header only": ("holds no rows below its header", EDGES[:24]),
        "other columns": ("no column state, action, next_state among from, to", "from,to\n0,1\n"),
        "a column twice": ("occur more than once: state", "state,state,action,next_state\n0,0,go,1\n"),
        "a line too short": ("line 3: 2 cells, but the header has 3", EDGES.replace("1,go,2", "1,go")),
        "Latin-1": ("is not text in UTF-8", EDGES.replace("go", "gehé").encode("latin-1")),
        "zero bytes": ("holds zero bytes", EDGES.replace("go", "g\0")),
        "a quote that stays open": ("no CSV", 'state,action,next_state\n"0,go,1\n' + "x" * 140_000),
        "probabilities below one": (
            "action 'go' in state '0' has probabilities that sum to 0.75, not to 1",
            "state,action,next_state,p\n0,go,1,0.5\n0,go,0,0.25\n1,go,0,1\n",
        ),
        "negative": ("line 2, column p: '-1' is not a probability", "state,action,next_state,p\n0,go,0,-1\n"),
        "infinite": ("line 2, column p: '1e999' is not a prob", "state,action,next_state,p\n0,go,0,1e999\n"),
        "no number": ("line 2, column p: 'half' is not a number", "state,action,next_state,p\n0,go,0,half\n"),
        "contradictions": ("leads to '1', '2', without p: add p", EDGES + "0,go,2\n"),
        "a way into the blue": ("no line starts in state 'sea'", EDGES + "2,swim,sea\n"),
        "a number of 10^18": (
            "is larger than 999,999: labels that are numbers count from 0",
            EDGES + f"{10**18},go,0\n",
        ),
        "a number of 5,000 digits": ("is larger than 999,999", EDGES + "9" * 5000 + ",go,0\n"),
        "numbers with holes": ("4 states, 2 actions", EDGES + "900000,go,0\n", 0),
    },
)


@broken("environment", "is a folder or a device")
def an_environment_that_is_a_folder(folder):
    (folder / "env.csv").mkdir()
    return folder / "env.csv"


@broken("environment", "does not exist")
def an_environment_that_is_not_there(folder):
    return folder / "nowhere.csv"


@broken("environment", "is not text in UTF-8")
def an_environment_that_is_a_pickle(folder):
    (folder / "env.csv").write_bytes(pickle.dumps(Hostile(folder)))
    return folder / "env.csv"


texts(
    "states",
    "places.csv",
    {
        "a name twice": ("name '0' is there more than once", "name,x,y\n0,0,0\n0,1,1\n1,1,1\n2,2,2\n"),
        "a state too few": ("state '2' is not in", "name,x,y\n0,0,0\n1,1,1\n"),
        "no name": ("no column name among x, y", "x,y\n0,0\n"),
        "no number": ("line 3, column x: 'left' is not a number", "name,x,y\n0,0,0\n1,left,0\n2,0,0\n"),
        "infinite": ("line 3, column x: 'inf' is not a number", "name,x,y\n0,0,0\n1,inf,0\n2,0,0\n"),
    },
)

SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1]]

texts(
    "polygons",
    "arena.json",
    {
        "empty": ("no JSON", b""),
        "cut": ("line 1, column", json.dumps({"nest": SQUARE})[:-9]),
        "a list": ("expected {", json.dumps([SQUARE])),
        "of words": ("expected corners as a list of (x, y)", json.dumps({"nest": "square"})),
        "a line": ("no area", json.dumps({"nest": [[0, 0], [1, 1], [2, 2]]})),
        "of numbers without end": ("expected corners", '{"nest": [[0, 0], [1, 0], [1, ' + "9" * 5000 + "]]}"),
        "nested without end": ("nested too deeply", '{"nest": ' + "[" * 100_000 + "]" * 100_000 + "}"),
        "a name twice": ("is there more than once", '{"nest": [[0,0],[1,0],[1,1]], "nest": [[0,0],[2,0],[2,2]]}'),
        "Latin-1": ("is not text in UTF-8", json.dumps({"café": SQUARE}, ensure_ascii=False).encode("latin-1")),
        "a GeoJSON of points": (
            "is no Polygon",
            json.dumps({"type": "FeatureCollection", "features": [{"geometry": {"type": "Point"}}]}),
        ),
        "a GeoJSON of nothing": ("there is no polygon", json.dumps({"type": "FeatureCollection", "features": 7})),
    },
)

texts(
    "nodes",
    "maze.csv",
    {
        "empty": ("is empty", b""),
        "no places": ("no column x, y among name", "name\nhome\n"),
        "no numbers": ("give numbers", "name,x,y\nhome,0,left\nwater,1,1\n"),
        "a name twice": ("is there already", "name,x,y\nhome,0,0\nhome,1,1\nwater,1,0\n"),
        "one place twice": ("lie in the same place", "name,x,y\nhome,0,0\nwater,0,0\n"),
    },
)
texts(
    "edges",
    "ways.csv",
    {
        "to nowhere": ("'sea' is none of home, water", "from,to\nhome,sea\n"),
        "to itself": ("joins 'home' with itself", "from,to\nhome,home\n"),
        "other columns": ("no column from, to among a, b", "a,b\nhome,water\n"),
    },
)

texts(
    "configuration",
    "run.toml",
    {
        "no TOML": ("is not TOML", "data = [\n"),
        "Latin-1": ("is not text in UTF-8", 'data = "café.csv"\n'.encode("latin-1")),
        "wrong types": ("data: got 5", "data = 5\n"),
        "words for numbers": ("model.modes: got 'three'", 'data = "good.csv"\n[model]\nmodes = "three"\n'),
        "a table for a number": ("model.modes", 'data = "good.csv"\n[model.modes]\nk = 3\n'),
        "unknown names": ("model.mods: no such field", 'data = "good.csv"\n[model]\nmods = 3\n'),
        "nested without end": ("nested too deeply", "data = " + "[" * 100_000),
        "a number of thousands of digits": ("is not TOML", f'data = "good.csv"\n[model]\nmodes = {"9" * 5000}\n'),
        "modes without number": (
            "model.modes: got 1000000000000",
            f'data = "good.csv"\n[model]\nmodes = 1{"0" * 30}\n',
        ),
    },
)


# ---------------------------------------------------------------------- HDF5: what goes wrong in every kind of file


def cut(path, share=0.5):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    return path


def swapped(path, name, make):
    """Put `make(group, name, old values)` in the place of a dataset, with its attributes and netCDF dimensions."""
    with h5py.File(path, "a") as file:
        old, (group, _, last) = file[name], name.rpartition("/")
        values, attributes = old[()], dict(old.attrs)
        scales = [axis[0].name for axis in old.dims if len(axis)]
        del file[name]
        new = make(file[group or "/"], last, values)
        if isinstance(new, h5py.Dataset):
            new.attrs.update({k: v for k, v in attributes.items() if k != "DIMENSION_LIST"})
            for axis, scale in zip(new.dims if new.shape else (), scales, strict=False):
                axis.attach_scale(file[scale])
    return path


def claims(group, name, shape, dtype):
    """A dataset that claims a size and stores next to nothing."""
    return group.create_dataset(name, shape, dtype, chunks=tuple(min(n, 10) for n in shape), compression="gzip")


def hdf5_kind(kind, suffix, make, at, **told):
    """Register what can befall any HDF5 file: `make(folder)` writes a good one, `at` is the path of its data.

    `told` has the words where they are not those of most kinds.
    """

    def register(words):
        def named(function):
            return broken(kind, told.get(function.__name__, words))(function)

        return named

    def swap(words):
        """Register what replaces the data: a function of folder, group, name and old values."""

        def named(function):
            def maker(folder):
                return swapped(make(folder), at, lambda *old: function(folder, *old))

            maker.__name__ = function.__name__
            return register(words)(maker)

        return named

    @register("damaged")
    def cut_in_half(folder):
        return cut(make(folder))

    @register("damaged")
    def cut_to_100_bytes(folder):
        path = make(folder)
        path.write_bytes(path.read_bytes()[:100])
        return path

    @register("")
    def nothing_inside(folder):
        h5py.File(folder / f"x{suffix}", "w").close()
        return folder / f"x{suffix}"

    @register("is not an HDF5 file")
    def text_instead(folder):
        (folder / f"x{suffix}").write_text(GOOD)
        return folder / f"x{suffix}"

    @register("is not an HDF5 file")
    def a_hostile_pickle_instead(folder):
        (folder / f"x{suffix}").write_bytes(pickle.dumps(Hostile(folder)))
        return folder / f"x{suffix}"

    @register("damaged")
    def damaged_chunks(folder):
        def packed(group, name, old):
            return group.create_dataset(name, data=old, chunks=True, compression="gzip")

        path = swapped(make(folder), at, packed)
        with h5py.File(path) as file:
            chunk = file[at].id.get_chunk_info(0)
        content = bytearray(path.read_bytes())
        content[chunk.byte_offset : chunk.byte_offset + chunk.size] = b"\xff" * chunk.size
        path.write_bytes(content)
        return path

    @swap("which would take")
    def data_that_claim_10_to_the_11_values(folder, group, name, old):
        return claims(group, name, (HUGE, *old.shape[1:]), old.dtype)

    @swap("18,446,744,073,709,551,616 values")
    def a_size_that_runs_over(folder, group, name, old):
        """2^32 × 2^32 values: none, for who multiplies in 64 bits."""
        return claims(group, name, (2**32, 2**32), "f8")

    @swap("expected numbers")
    def data_of_text(folder, group, name, old):
        return group.create_dataset(name, data=np.full(old.shape, b"rear"))

    @swap("expected numbers")
    def data_of_references(folder, group, name, old):
        return group.create_dataset(name, data=np.full(old.shape, group.file.ref), dtype=h5py.ref_dtype)

    @swap("has shape ()")
    def data_of_no_dimension(folder, group, name, old):
        return group.create_dataset(name, data=3.0)

    @swap("no value")
    def data_of_no_value(folder, group, name, old):
        return group.create_dataset(name, data=h5py.Empty("f8"))

    @swap("a group")
    def a_group_for_data(folder, group, name, old):
        return group.create_group(name)

    @swap("in another file")
    def a_link_out_of_the_file(folder, group, name, old):
        with h5py.File(folder / "secret.h5", "w") as file:
            file["data"] = old
        group[name] = h5py.ExternalLink("secret.h5", "/data")

    @swap("in another file")
    def a_link_to_nowhere(folder, group, name, old):
        group[name] = h5py.SoftLink("/nowhere")

    @swap("in another file")
    def bytes_of_another_file(folder, group, name, old):
        (folder / "secret").write_bytes(old.tobytes())
        return group.create_dataset(name, old.shape, old.dtype, external=[(str(folder / "secret"), 0, old.nbytes)])


# ---------------------------------------------------------------------- MoSeq


def moseq(folder):
    path = folder / "results.h5"
    with h5py.File(path, "w") as file:
        for name in ("m1", "m2"):
            file[f"{name}/syllable"] = np.repeat(np.arange(40) % 4, 3)
            file[f"{name}/centroid"] = np.zeros((120, 2))
    return path


hdf5_kind(
    "moseq", ".h5", moseq, "m1/syllable",
    nothing_inside="expected /<recording>/syllable",
    a_size_that_runs_over="has shape (4294967296, 4294967296)",
    a_hostile_pickle_instead="it is never opened, as it may run any program",
)  # fmt: skip

texts(
    "moseq",
    "m1.csv",
    {
        "a table without syllables": ("expected a column syllable", "name,x\nm1,1\n", 2, "moseq_df.csv"),
        "an empty table": ("it is empty", b"", 2, "moseq_df.csv"),
        "text for syllables": ("'rear' is not a number", "syllable\n1\nrear\n2\n"),
        "syllables of 1e300": ("labels are whole numbers", "syllable\n1\n1e300\n2\n"),
        "rows too long": ("line 3 has 3 values for 2 columns", "syllable,x\n1,2\n2,3,4\n"),
        "no known alphabet": ("which is not UTF-8", b"name,syllable\ncaf\x81,1\n", 2, "moseq_df.csv"),
        "zero bytes": ("line 3 holds a zero byte", "syllable\n1\n\x00\n2\n"),
    },
)


@broken("moseq", "several recordings are called m1")
def a_recording_twice(folder):
    (folder / "results").mkdir()
    for name in ("m1.csv", "m1.CSV"):
        (folder / "results" / name).write_text("syllable\n1\n2\n1\n2\n")
    return folder / "results"


@broken("moseq", "holds no results.h5")
def an_empty_folder(folder):
    (folder / "results").mkdir()
    return folder / "results"


@broken("moseq", "2 sessions", code=0)
def a_file_that_holds_itself(folder):
    path = moseq(folder)
    with h5py.File(path, "a") as file:
        file.create_group("more")
        file["more/again"] = file["more"]
        file["more/m3"] = file["m1"]
    return path


@broken("moseq", "2 sessions", code=0)
def a_hostile_attribute(folder):
    path = moseq(folder)
    with h5py.File(path, "a") as file:
        file.attrs["config"] = np.void(pickle.dumps(Hostile(folder)))
        file["m1"].attrs["TITLE"] = np.bytes_(pickle.dumps(Hostile(folder), 0))
    return path


# ---------------------------------------------------------------------- tracks

POINTS = np.column_stack([np.tile(np.arange(20.0), 3), np.repeat(np.arange(3.0), 20)])


def sleap(folder):
    path = folder / "video.analysis.h5"
    with h5py.File(path, "w") as file:
        file["tracks"] = POINTS.T[None, :, None, :]
        file["point_scores"] = np.ones((1, 1, len(POINTS)))
        file["node_names"] = [b"nose"]
        file["track_names"] = [b"mouse"]
    return path


def deeplabcut(folder, names=None):
    """Lay out a table as pandas and PyTables do; `names` is what is pickled as the names of its columns."""
    columns = [("net", "nose", "x"), ("net", "nose", "y"), ("net", "nose", "likelihood")]
    rows = np.zeros(len(POINTS), [("index", "<i8"), ("values_block_0", "<f8", (3,))])
    rows["index"], rows["values_block_0"] = np.arange(len(rows)), np.column_stack([POINTS, np.ones(len(rows))])
    path = folder / "videoDLC_net.h5"
    with h5py.File(path, "w") as file:
        place = file.create_dataset("df_with_missing/table", data=rows)
        place.attrs["values_block_0_kind"] = np.bytes_(pickle.dumps(columns, 0) if names is None else names)
    return path


def movement(folder):
    import xarray

    path = folder / "poses.nc"
    dataset = xarray.Dataset({"position": (("time", "space"), POINTS)}, attrs={"fps": 30.0})
    dataset.to_netcdf(path, engine="h5netcdf")
    return path


hdf5_kind(
    "tracks", ".h5", sleap, "tracks",
    nothing_inside="holds nothing: expected tracks",
    text_instead="no column x, y among session, t, state",
    a_hostile_pickle_instead="it is a pickle, which is never opened",
)  # fmt: skip


@broken("tracks", "holds a pickle with")
def a_hostile_table_of_deeplabcut(folder):
    return deeplabcut(folder, pickle.dumps(Hostile(folder), 0))


@broken("tracks", "cut short")
def names_of_deeplabcut_cut(folder):
    return deeplabcut(folder, pickle.dumps([("net", "nose", "x")], 0)[:-3])


@broken("tracks", "claims 100,000,000,000 values")
def a_table_of_deeplabcut_that_claims(folder):
    def claim(group, name, old):
        return claims(group, name, (HUGE,), old.dtype)

    return swapped(deeplabcut(folder), "df_with_missing/table", claim)


@broken("tracks", "expected tracks of DeepLabCut")
def an_array_that_is_no_track(folder):
    with h5py.File(folder / "x.h5", "w") as file:
        claims(file, "numbers", (HUGE,), "f8")
    return folder / "x.h5"


@broken("tracks", "which would take 1.6 TB")
def a_movement_dataset_that_claims(folder):
    return swapped(movement(folder), "position", lambda group, name, old: claims(group, name, (HUGE, 2), "f8"))


@broken("tracks", "position with")
def a_movement_dataset_of_other_axes(folder):
    import xarray

    xarray.Dataset({"position": (("a", "b"), POINTS)}).to_netcdf(folder / "x.nc", engine="h5netcdf")
    return folder / "x.nc"


@broken("tracks", "cannot be read as netCDF")
def a_netcdf3_file_cut(folder):
    import xarray

    path = folder / "x.nc"
    xarray.Dataset({"position": (("time", "space"), POINTS)}).to_netcdf(path, engine="scipy")
    return cut(path, 0.8)


texts(
    "tracks",
    "xy.csv",
    {
        "an empty table": ("is empty", b""),
        "no x": ("no column x", "t,y\n0,1\n"),
        "words for numbers": ("'left' is not a number", "t,x,y\n0,1,1\n1,left,2\n"),
        "rows too long": ("line 3 has 4 values for 3 columns", "t,x,y\n0,1,1\n1,2,2,3\n"),
        "times backwards": ("is not after the row before", "t,x,y\n1,1,1\n0,2,2\n"),
        "no known alphabet": ("which is not UTF-8", b"t,x,y\n0,1,\x81\n"),
        "half a header of DeepLabCut": ("header lines have different lengths", "scorer,net,net\nbodyparts,nose\n"),
        "infinite": ("no frame has a position", "t,x,y\n0,inf,nan\n1,nan,inf\n", 2, "nowhere.csv"),
        "1e300": ("1 session, 3 steps", "t,x,y\n0,0,0\n1,1e300,1e300\n2,-1e300,0\n", 0, "far.csv"),
        "packed": ("1 session, 2 steps", gzip.compress(b"t,x,y\n0,1,1\n1,2,2\n"), 0, "xy.csv.gz"),
        "half of what was packed": ("half.csv.gz", gzip.compress(b"t,x,y\n0,1,1\n1,2,2\n")[:-12], 2, "half.csv.gz"),
    },
)


# ---------------------------------------------------------------------- NWB

_nwb: list[bytes] = []


def nwb(folder):
    """A file of pynwb's with positions and labelled intervals."""
    from datetime import UTC, datetime

    from pynwb import NWBHDF5IO, NWBFile
    from pynwb.behavior import Position

    path = folder / "day 1.nwb"
    if not _nwb:
        file = NWBFile("a day", "id", datetime(2026, 1, 1, tzinfo=UTC), session_id="day 1")
        position = Position()
        position.create_spatial_series("xy", POINTS, reference_frame="corner", rate=30.0)
        file.create_processing_module("behavior", "behaviour").add(position)
        file.add_trial_column("choice", "left or right")
        for i in range(20):
            file.add_trial(float(i), i + 0.5, choice="lr"[i % 2])
        with NWBHDF5IO(path, "w") as io_:
            io_.write(file)
        _nwb.append(path.read_bytes())
    path.write_bytes(_nwb[0])
    return path


hdf5_kind(
    "positions", ".nwb", nwb, "processing/behavior/Position/xy/data",
    nothing_inside="is HDF5 but not NWB",
    data_of_no_value="has no data",
    a_group_for_data="has no data",
    a_link_to_nowhere="has no data",
)  # fmt: skip
hdf5_kind(
    "intervals", ".nwb", nwb, "intervals/trials/start_time",
    nothing_inside="is HDF5 but not NWB",
    data_of_text="expected one number per row",
    data_of_references="expected one number per row",
    data_of_no_value="has no start_time",
    a_group_for_data="has no start_time",
    a_link_to_nowhere="has no start_time",
)  # fmt: skip


@broken("intervals", "overlap")
def trials_twice(folder):
    path = nwb(folder)
    with h5py.File(path, "a") as file:
        file["intervals/trials/start_time"][:] = 3.0
        file["intervals/trials/stop_time"][:] = 4.0
    return path


@broken("intervals", "no finite time")
def trials_without_times(folder):
    path = nwb(folder)
    with h5py.File(path, "a") as file:
        file["intervals/trials/start_time"][5] = np.nan
    return path


# ---------------------------------------------------------------------- saved fits


def fit(folder):
    """A copy of the good fit that the test puts beside."""
    (folder / "mine.nc").write_bytes((folder / "fit.nc").read_bytes())
    return folder / "mine.nc"


hdf5_kind(
    "fit", ".nc", fit, "policies",
    nothing_inside="it was not written by swirl",
    text_instead="is not a netCDF-4 (HDF5) file",
    a_hostile_pickle_instead="is not a netCDF-4 (HDF5) file",
    data_of_text="policies that is not numbers",
    data_of_references="policies that is not numbers",
    data_of_no_value="policies that is not numbers",
    a_group_for_data="policies that is not numbers",
    a_size_that_runs_over="18,446,744,073,709,55",
)  # fmt: skip


def with_header(folder, change):
    path = fit(folder)
    with h5py.File(path, "a") as file:
        header = json.loads(file.attrs["swirl"])
        changed = change(header)
        file.attrs["swirl"] = json.dumps(header if changed is None else changed)
    return path


@broken("fit", "unreadable 'swirl' attribute")
def a_header_that_is_no_json(folder):
    path = fit(folder)
    with h5py.File(path, "a") as file:
        file.attrs["swirl"] = '{"model": '
    return path


@broken("fit", "unreadable 'swirl' attribute")
def a_header_of_numbers(folder):
    path = fit(folder)
    with h5py.File(path, "a") as file:
        file.attrs["swirl"] = np.arange(3)
    return path


@broken("fit", "unreadable 'swirl' attribute")
def a_hostile_header(folder):
    path = fit(folder)
    with h5py.File(path, "a") as file:
        file.attrs["swirl"] = np.void(pickle.dumps(Hostile(folder)))
    return path


@broken("fit", "unreadable 'swirl' attribute")
def a_header_nested_without_end(folder):
    path = fit(folder)
    with h5py.File(path, "a") as file:
        del file.attrs["swirl"]
        file.attrs["swirl"] = "[" * 50_000 + "]" * 50_000
    return path


@broken("fit", "schema version 99")
def a_newer_schema(folder):
    return with_header(folder, lambda header: header.update(schema_version=99))


@broken("fit", "holds 'os.system', expected a saved swirl model")
def a_model_that_is_none(folder):
    return with_header(folder, lambda header: header.update(model="os.system"))


@broken("fit", "lacks parameters")
def no_parameters(folder):
    return with_header(folder, lambda header: header.update(parameters=7))


@broken("fit", "unknown option")
def an_option_that_is_none(folder):
    return with_header(folder, lambda header: header["parameters"].update(strength={"option": "Popen", "fields": {}}))


@broken("fit", "is damaged")
def an_array_that_is_not_there(folder):
    return with_header(folder, lambda header: header["parameters"].update(strength={"array": "nowhere"}))


@broken("fit", "lacks env")
def an_environment_of_the_wrong_type(folder):
    return with_header(folder, lambda header: header.update(env=[1, 2]))


@broken("fit", "of axis mode")
def arrays_of_other_sizes(folder):
    from swirl.io import netcdf

    arrays, header = netcdf.read(fit(folder))
    arrays["policies"] = np.ones((7, *arrays["policies"].shape[1:]))
    named = {name: (tuple(f"{name}{i}" for i in range(array.ndim)), array) for name, array in arrays.items()}
    return netcdf.write(folder / "mine.nc", named, header, overwrite=True)


@broken("fit", "is not a netCDF-4 (HDF5) file")
def a_bomb_in_npz_for_a_fit(folder):
    return CASES["no table: a bomb in npz"].make(folder)


@broken("fit", "is not a file")
def a_folder_for_a_fit(folder):
    (folder / "fit").mkdir()
    return folder / "fit"


@broken("fit", "does not exist")
def no_fit(folder):
    return folder / "nowhere.nc"
