"""Where the published recordings are looked for, and that no wrong copy is ever used or good one lost."""

import hashlib
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from swirl.datasets import download

NAME = "spontaneous/seqs.npy"
GOOD = b"the published bytes"
LAYOUTS = ["spontaneous/seqs.npy", "spontda/data/seqs.npy", "seqs.npy"]


def published(name, content):
    return {name: download.Published(download.FILES[name].path, hashlib.sha256(content).hexdigest())}


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """A cache of our own, and bytes of our own in place of the published ones; no address answers."""
    monkeypatch.delenv("SWIRL_DATA_DIR", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(download, "FILES", {**download.FILES, **published(NAME, GOOD)})
    monkeypatch.setattr(download, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(download, "BASE_URL", "http://127.0.0.1:1")
    return tmp_path / "cache"


@pytest.fixture
def server(monkeypatch, cache):
    """A real server on this machine; `.content` is what it answers with, `.asked` what it was asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(self.server.content)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.content, server.asked = GOOD, []
        monkeypatch.setattr(download, "BASE_URL", f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def put(path, content=GOOD):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_registry_is_the_design():
    assert download.BASE_URL.startswith("https://raw.githubusercontent.com/BRAINML-GT/SWIRL/9a5c441")
    table = {file.path: file.sha256 for file in download.FILES.values()}
    design = Path(__file__).parents[2] / "docs" / "design.md"
    listed = dict(re.findall(r"^\| (\S+\.npy) \| ([0-9a-f]{64}) \|$", design.read_text(encoding="utf-8"), re.MULTILINE))
    assert table == listed


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_users_folder_comes_first_in_every_layout(cache, monkeypatch, tmp_path, layout):
    put(cache / NAME)
    monkeypatch.setenv("SWIRL_DATA_DIR", str(tmp_path / "mine"))
    mine = put(tmp_path / "mine" / layout)
    assert download.find(NAME) == mine


def test_then_the_cache(cache, monkeypatch, tmp_path):
    monkeypatch.setenv("SWIRL_DATA_DIR", str(tmp_path / "nothing here"))
    kept = put(cache / NAME)
    assert download.find(NAME) == kept


def test_then_the_download_which_is_kept(cache, server):
    assert download.find(NAME) == cache / NAME
    assert contents(cache) == {NAME: GOOD}
    assert download.find(NAME) == cache / NAME
    assert server.asked == ["/spontda/data/seqs.npy"]


def test_a_corrupted_download_leaves_nothing(cache, server):
    server.content = b"<html>sign in first</html>"
    with pytest.raises(ValueError, match=r"answered with something other than the published spontaneous/seqs.npy"):
        download.find(NAME)
    assert contents(cache) == {}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_wrong_file_in_the_users_folder_is_refused(cache, server, monkeypatch, tmp_path, layout):
    monkeypatch.setenv("SWIRL_DATA_DIR", str(tmp_path / "mine"))
    wrong = put(tmp_path / "mine" / layout, b"other")
    with pytest.raises(ValueError) as fault:
        download.find(NAME)
    words = str(fault.value)
    for expected in (
        str(wrong),
        hashlib.sha256(b"other").hexdigest(),
        hashlib.sha256(GOOD).hexdigest(),
        "take it away",
    ):
        assert expected in words
    assert server.asked == []
    # The remedy that the message names is one.
    download.fetch([NAME], tmp_path / "mine", force=True)
    assert download.find(NAME).read_bytes() == GOOD


def test_a_wrong_file_in_the_cache_is_replaced_only_by_force(cache, server):
    put(cache / NAME, b"other")
    with pytest.raises(ValueError, match="replace it by `swirl fetch --force`"):
        download.find(NAME)
    assert contents(cache) == {NAME: b"other"}
    assert download.fetch([NAME], force=True) == [download.Fetched(NAME, cache / NAME, "downloaded")]
    assert contents(cache) == {NAME: GOOD}


def test_offline_the_message_says_what_to_do(cache, monkeypatch, tmp_path):
    monkeypatch.setenv("SWIRL_DATA_DIR", str(tmp_path / "unmounted"))
    with pytest.raises(FileNotFoundError) as fault:
        download.find(NAME)
    words = str(fault.value)
    for expected in (
        f"{NAME}  from http://127.0.0.1:1/spontda/data/seqs.npy",
        str(cache),
        f"$SWIRL_DATA_DIR names (now {tmp_path / 'unmounted'}, which is no folder)",
        "swirl fetch --output DIR",
    ):
        assert expected in words
    assert contents(tmp_path) == {}


def test_offline_all_that_is_missing_is_named_at_once(cache):
    put(cache / NAME)
    with pytest.raises(FileNotFoundError) as fault:
        download.fetch(["labyrinth/trans_probs.npy", NAME, "spontaneous/z_features.npy"])
    named = [name for name in download.FILES if f"  {name}  from" in str(fault.value)]
    assert named == ["labyrinth/trans_probs.npy", "spontaneous/z_features.npy"]


def test_fetching_into_a_folder_copies_what_is_here_already(cache, tmp_path):
    put(cache / NAME)
    goal = tmp_path / "out" / NAME
    assert download.fetch([NAME], tmp_path / "out") == [download.Fetched(NAME, goal, "copied")]
    assert download.fetch([NAME], tmp_path / "out") == [download.Fetched(NAME, goal, "already there")]
    assert contents(tmp_path / "out") == {NAME: GOOD}


def test_fetching_into_a_folder_downloads_the_rest_into_it(cache, server, tmp_path):
    assert download.fetch([NAME], tmp_path / "out")[0].status == "downloaded"
    assert contents(tmp_path / "out") == {NAME: GOOD}
    assert contents(tmp_path) == {f"out/{NAME}": GOOD}


def test_fetching_never_overwrites_what_differs_unless_forced(cache, server, tmp_path):
    wrong = put(tmp_path / "out" / NAME, b"mine")
    with pytest.raises(ValueError, match=re.escape(str(wrong))):
        download.fetch([NAME, "labyrinth/trans_probs.npy"], tmp_path / "out")
    assert contents(tmp_path / "out") == {NAME: b"mine"}
    assert server.asked == []
    put(cache / NAME)
    assert download.fetch([NAME], tmp_path / "out", force=True)[0].status == "copied"
    assert contents(tmp_path / "out") == {NAME: GOOD}


def test_a_file_in_the_place_of_the_folder(cache, tmp_path):
    with pytest.raises(NotADirectoryError, match="is a file: give a folder"):
        download.fetch([NAME], put(tmp_path / "out"))


def test_arrays_are_loaded_without_pickle(cache, monkeypatch):
    put(cache / NAME).unlink()
    np.save(cache / NAME, np.array([{"an": "object"}], dtype=object))
    monkeypatch.setattr(download, "FILES", published(NAME, (cache / NAME).read_bytes()))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        download.load(NAME)
    np.save(cache / NAME, np.arange(3))
    monkeypatch.setattr(download, "FILES", published(NAME, (cache / NAME).read_bytes()))
    np.testing.assert_array_equal(download.load(NAME), np.arange(3))


@pytest.mark.slow
def test_pooch_is_imported_on_demand():
    program = "import sys, swirl.datasets; print([n for n in ('pooch', 'requests', 'pandas') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"
