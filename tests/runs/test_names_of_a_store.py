"""One file under several names: what is locked is the file that is meant."""

import os
from contextlib import closing

import pytest

from taskorder.runs import store_file
from taskorder.runs.local import complete
from taskorder.runs.locks import SpecLocks, locked_elsewhere
from taskorder.runs.repair import repair
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.runs.store_file import StoreError, is_mount, open_database

from .test_local import Holder

SPECS = [RunSpec("square.1", {"x": x}) for x in range(4)]
DIGESTS = [spec.digest for spec in SPECS]


def names(folder, monkeypatch):
    """The names of folder/s: a link, a link to a link, a folder that is one, a relative path, a way round."""
    (folder / "link").symlink_to(folder / "s")
    (folder / "again").symlink_to("link")
    (folder / "folder").symlink_to(folder, target_is_directory=True)
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    return [folder / "link", folder / "again", folder / "folder" / "s", "../s", folder / "below" / ".." / "s"]


@pytest.mark.parametrize("made", [True, False], ids=["of a file", "before there is one"])
def test_every_name_is_locked_as_one(tmp_path, monkeypatch, made):
    if made:
        Store(tmp_path / "s")._db.close()
    with Holder(tmp_path / "s", DIGESTS[:2]) as other:
        assert other.taken == "True"
        for name in names(tmp_path, monkeypatch):
            with SpecLocks(name) as locks, locks.hold(DIGESTS[1:]) as free:
                assert not free, name
            assert locked_elsewhere(name, DIGESTS) == set(DIGESTS[:2])
    assert [file.name for file in tmp_path.iterdir() if "lock" in file.name] == ["s.lock"]


def test_two_writers_by_two_names_do_the_work_once(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "s")  # before there is a file
    seen = []

    def square(specs):
        seen.extend(specs)
        with Store(tmp_path / "s") as other:  # while the first holds the lock
            for spec in specs:
                with SpecLocks(other.real_path) as locks, locks.hold([spec.digest]) as free:
                    assert free  # this process has it
        return [{"y": 1}] * len(specs)

    with Holder(tmp_path / "s", DIGESTS[:1]), Store(tmp_path / "link") as store:
        complete(SPECS[1:], square, store, batch_size=1)
        assert store.real_path == tmp_path / "s"
    with Store(tmp_path / "s") as store:
        assert complete(SPECS, square, store, batch_size=1) == 0
    assert sorted(spec.params["x"] for spec in seen) == [0, 1, 2, 3]


def test_a_store_stays_where_it_is_when_the_working_folder_changes(tmp_path, monkeypatch):
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)
    with Store("s") as store:
        monkeypatch.chdir(tmp_path / "below")
        complete(SPECS, lambda specs: [{"y": 1}] * len(specs), store)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["below", "s", "s.lock"]


def test_a_file_with_hard_links_is_read_but_not_written(tmp_path):
    """SQLite keeps its journal, and we our locks, beside the name: with another name neither is seen."""
    with Store(tmp_path / "s") as store:
        store.put(SPECS[:1], [{"y": 0}], 1.0)
    os.link(tmp_path / "s", tmp_path / "other")
    for name in ("s", "other"):
        with pytest.raises(StoreError, match=r"must be a file with one name to be written to, got .* has hard links"):
            Store(tmp_path / name)
        with Store(tmp_path / name, create=False) as store:
            assert store.get(SPECS[:1]) == [{"y": 0}]
    (tmp_path / "other").unlink()
    with Store(tmp_path / "s") as store:
        store.put(SPECS[1:2], [{"y": 1}], 1.0)


def test_what_only_reads_does_not_write_to_one_of_several_names(tmp_path):
    """A repair drops rows, and an older version is brought up to date."""
    with Store(tmp_path / "s") as store:
        store.put(SPECS[:2], [{"y": 0}, {"y": 1}], 1.0)
    (tmp_path / "s").write_bytes((tmp_path / "s").read_bytes().replace(b'{"y": 1}', b'{"y": 7}'))
    with closing(older_store(tmp_path / "old")):
        pass
    for name, use in (("s", repair), ("old", lambda path: Store(path, create=False))):
        before = (tmp_path / name).read_bytes()
        os.link(tmp_path / name, tmp_path / "other")
        with pytest.raises(StoreError, match="has hard links"):
            use(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
        (tmp_path / "other").unlink()
    assert repair(tmp_path / "s").kept == 1


def older_store(path):
    """A store of version 2."""
    db = open_database(str(path))
    for statement in (*store_file.UPGRADES[0], *store_file.UPGRADES[1], "pragma user_version = 2"):
        db.execute(statement)
    return db


def test_a_file_that_is_mounted_by_itself_is_not_written(tmp_path, monkeypatch):
    """As containers mount one; its folder is another one here than elsewhere."""
    path = tmp_path / "with space"
    Store(path)._db.close()
    line = "36 35 0:32 /data/s {} rw,relatime - ext4 /dev/sda rw\n"
    (tmp_path / "mounts").write_text(line.format("/") + line.format(str(path).replace(" ", r"\040")))
    monkeypatch.setattr(store_file, "MOUNTS", tmp_path / "mounts")
    assert is_mount(path)
    assert not is_mount(tmp_path)
    with pytest.raises(StoreError, match="mounted by itself"):
        Store(path)
    Store(path, create=False)._db.close()
    monkeypatch.setattr(store_file, "MOUNTS", tmp_path / "none")
    assert not is_mount(path)
