"""A file is there whole or not at all, and nothing is replaced that was not meant."""

import os

import pytest

from swirl.io.atomic_write import check_target, whole_file


def test_a_file_appears_whole_when_the_block_ends(tmp_path):
    path = tmp_path / "steps.csv"
    with whole_file(path) as temporary:
        temporary.write_text("half")
        assert not path.exists()
        assert temporary.name.endswith("steps.csv")
    assert (os.listdir(tmp_path), path.read_text()) == (["steps.csv"], "half")
    with pytest.raises(FileExistsError, match=r"steps\.csv exists already"), whole_file(path):
        pass
    with whole_file(path, overwrite=True) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "new"


def test_a_failure_leaves_what_was_there_and_names_the_file(tmp_path):
    path = tmp_path / "steps.csv"
    path.write_text("old")

    def half(temporary, error):
        temporary.write_text("half")
        raise error

    for error in (OSError(28, "No space left on device"), OSError(28, "No space left on device", "x"), KeyError("x")):
        with pytest.raises(type(error)), whole_file(path, overwrite=True) as temporary:
            half(temporary, error)
    assert (os.listdir(tmp_path), path.read_text()) == (["steps.csv"], "old")
    told = "No space left on device, so nothing was written"
    with pytest.raises(OSError, match=told) as caught, whole_file(path, overwrite=True):
        raise OSError(28, "a library's long words")
    assert caught.value.filename == str(path)
    with pytest.raises(FileNotFoundError) as caught, whole_file(path, overwrite=True):
        (tmp_path / "another").read_text()
    assert caught.value.filename == str(tmp_path / "another")


def test_links_are_followed_and_long_names_go(tmp_path):
    (tmp_path / "disk").mkdir()
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "disk" / "real.csv")
    for text in ("first", "second"):
        with whole_file(link, overwrite=True) as temporary:
            temporary.write_text(text)
        assert link.is_symlink()
        assert (tmp_path / "disk" / "real.csv").read_text() == text
    long = tmp_path / ("é" * 124 + ".csv")  # 252 bytes
    with whole_file(long) as temporary:
        temporary.write_text("x")
    assert long.exists()


def test_what_is_read_is_not_replaced_nor_is_a_device(tmp_path):
    source = tmp_path / "data.csv"
    source.write_text("mine")
    (tmp_path / "same.csv").symlink_to(source)
    check_target(tmp_path / "out.csv", sources=[source])
    check_target(source, overwrite=True, sources=[tmp_path / "nowhere.csv"])
    for path in (source, tmp_path / "same.csv"):
        with pytest.raises(FileExistsError, match="is what is being read: give the output another name"):
            check_target(path, overwrite=True, sources=[source])
    if os.path.exists("/dev/null"):
        with pytest.raises(FileExistsError, match="is a device or a pipe, not a file"):
            check_target("/dev/null", overwrite=True)
    with pytest.raises(IsADirectoryError, match="is a folder: give the name of a file"):
        check_target(tmp_path, overwrite=True)
    with pytest.raises(FileNotFoundError, match="does not exist; create it"):
        check_target(tmp_path / "no" / "x.csv")
