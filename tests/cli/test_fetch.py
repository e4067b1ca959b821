"""`swirl fetch`: says what is where, downloads what is not, overwrites nothing unasked."""

import hashlib
import json

import pytest
from typer.testing import CliRunner

from swirl.cli.app import app
from swirl.datasets import download

runner = CliRunner()


def content(name):
    return f"bytes of {name}".encode()


@pytest.fixture
def downloads(monkeypatch, tmp_path):
    """Files of our own in place of the published ones; a download writes its bytes, or fails when offline."""
    made = {
        name: download.Published(file.path, hashlib.sha256(content(name)).hexdigest())
        for name, file in download.FILES.items()
    }
    monkeypatch.setattr(download, "FILES", made)
    monkeypatch.setattr(download, "cache_folder", lambda: tmp_path / "cache")
    by_address = {download.address(name): name for name in made}
    asked = []

    class Downloader:
        offline = False

        def __call__(self, url, output_file, pooch):
            if self.offline:
                raise ConnectionError("no route to host")
            asked.append(by_address[url])
            with open(output_file, "wb") as stream:
                stream.write(content(by_address[url]))

    downloader = Downloader()
    downloader.asked = asked
    monkeypatch.setattr("pooch.core.choose_downloader", lambda *_, **__: downloader)
    return downloader


def run(*arguments):
    return runner.invoke(app, ["fetch", *arguments], env={"SWIRL_DATA_DIR": None, "SWIRL_DEBUG": None})


def test_all_into_the_cache_and_only_once(downloads, tmp_path):
    first, second = run(), run()
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert downloads.asked == list(download.FILES)
    for name in download.FILES:
        assert (tmp_path / "cache" / name).read_bytes() == content(name)
        assert any(line.split()[:2] == [name, "downloaded"] for line in first.stdout.splitlines())
        assert any(line.split()[:3] == [name, "already", "there"] for line in second.stdout.splitlines())


@pytest.mark.parametrize("which", ["labyrinth", "spontaneous"])
def test_some_into_a_folder(downloads, tmp_path, which):
    result = run(which, "--output", str(tmp_path / "data"))
    assert result.exit_code == 0
    written = {str(p.relative_to(tmp_path / "data")) for p in (tmp_path / "data").rglob("*") if p.is_file()}
    assert written == {name for name in download.FILES if name.startswith(which)}
    assert len(written) == 2
    assert result.stdout.rstrip().endswith(f"export SWIRL_DATA_DIR={tmp_path / 'data'}")
    assert not (tmp_path / "cache").exists()


def test_as_json(downloads, tmp_path):
    found = json.loads(run("spontaneous", "--json").stdout)
    assert [entry["name"] for entry in found] == ["spontaneous/seqs.npy", "spontaneous/z_features.npy"]
    assert found[0] == {
        "name": "spontaneous/seqs.npy",
        "status": "downloaded",
        "path": str(tmp_path / "cache" / "spontaneous/seqs.npy"),
        "sha256": download.FILES["spontaneous/seqs.npy"].sha256,
        "url": download.address("spontaneous/seqs.npy"),
    }


def test_what_the_user_has_is_not_downloaded(downloads, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "seqs.npy").write_bytes(content("spontaneous/seqs.npy"))
    environment = {"SWIRL_DATA_DIR": str(tmp_path / "mine"), "SWIRL_DEBUG": None}
    result = runner.invoke(app, ["fetch", "spontaneous", "--json"], env=environment)
    statuses = {entry["path"]: entry["status"] for entry in json.loads(result.stdout)}
    assert statuses[str(tmp_path / "mine" / "seqs.npy")] == "already there"
    assert downloads.asked == ["spontaneous/z_features.npy"]


def test_nothing_that_differs_is_overwritten_unasked(downloads, tmp_path):
    mine = tmp_path / "data" / "labyrinth" / "trans_probs.npy"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"mine")
    arguments = ("labyrinth", "--output", str(tmp_path / "data"))
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert refused.stdout == ""
    assert str(mine) in refused.stderr
    assert "--force" in refused.stderr
    assert mine.read_bytes() == b"mine"
    assert downloads.asked == []
    assert run(*arguments, "--force").exit_code == 0
    assert mine.read_bytes() == content("labyrinth/trans_probs.npy")


def test_offline(downloads, tmp_path):
    downloads.offline = True
    result = run()
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: These recordings are not on this machine and could not be downloaded")
    assert all(download.address(name) in result.stderr for name in download.FILES)
    assert "ConnectionError: no route to host" in result.stderr
    assert "Traceback" not in result.stderr


def test_unknown_recordings():
    result = run("gridworld")
    assert result.exit_code == 2
    assert "labyrinth" in result.stderr
