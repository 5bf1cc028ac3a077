"""A file is whole or is not there, and what was there before stays until then."""

import os
from contextlib import contextmanager

import pytest

from taskorder.files import whole_file

resource = pytest.importorskip("resource")


@contextmanager
def full_disk():
    """No file may grow past 100 bytes: the operating system refuses the rest of a write, as on a full disk.

    Only around the write itself: what pytest prints may go into a file, too.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "plan.tar.gz"
    with whole_file(str(path)) as part:
        part.write_text("new")
        assert os.listdir(tmp_path) == [part.name]
        assert part.name.endswith(".plan.tar.gz")
        assert str(os.getpid()) in part.name
    assert os.listdir(tmp_path) == ["plan.tar.gz"]
    assert path.read_text() == "new"


def test_a_full_disk_leaves_what_was_there(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text("old")
    with full_disk(), pytest.raises(OSError, match="File too large"), whole_file(path) as part:
        part.write_bytes(b"x" * 1000)
    assert os.listdir(tmp_path) == ["plan.json"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("problem", [ValueError("no"), KeyboardInterrupt()])
def test_a_failure_leaves_what_was_there(tmp_path, problem):
    path = tmp_path / "plan.json"
    path.write_text("old")

    def write():
        with whole_file(path) as part:
            part.write_text("half")
            raise problem

    with pytest.raises(type(problem)):
        write()
    assert os.listdir(tmp_path) == ["plan.json"]
    assert path.read_text() == "old"


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "no" / "plan.json") as part:
        part.write_text("new")


def test_links_and_modes_stay(tmp_path):
    path, link = tmp_path / "plan.json", tmp_path / "link.json"
    path.write_text("old")
    path.chmod(0o600)
    link.symlink_to("plan.json")
    with whole_file(link) as part:
        part.write_text("new")
    assert (path.read_text(), link.is_symlink(), path.stat().st_mode & 0o777) == ("new", True, 0o600)
    assert sorted(os.listdir(tmp_path)) == ["link.json", "plan.json"]


def test_a_pipe_is_written_to(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with whole_file(path) as part:
            part.write_text("new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert path.is_fifo()
