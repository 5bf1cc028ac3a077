"""A store is read page after page, also where somebody else wrote into it, and never without end."""

import itertools
import sqlite3

import pytest

from taskorder.runs import store as stores
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.runs.store_file import StoreError

SPECS = [RunSpec("square.1", {"x": x}) for x in range(7)]


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A store of seven results that is read two at a time."""
    monkeypatch.setattr(stores, "PAGE", 2)
    with Store(tmp_path / "s") as store:
        store.put(SPECS, [{"y": spec.params["x"] ** 2} for spec in SPECS], seconds=1.0)
    return tmp_path / "s"


def test_pages_hold_every_row_once(path):
    with Store(path) as store:
        assert [entry.digest for entry in store.entries()] == sorted(spec.digest for spec in SPECS)


def test_digests_that_are_bytes_come_after_those_that_are_text(path):
    """SQLite lets a cell hold anything, and sorts by type first."""
    with sqlite3.connect(path) as db:
        db.execute("update results set digest = cast(digest as blob) where digest > ?", ("8",))
        kinds = [row[0] for row in db.execute("select typeof(digest) from results order by digest")]
    assert kinds == sorted(kinds, reverse=True)
    assert set(kinds) == {"text", "blob"}
    with Store(path) as store:
        assert len(list(store._paged("kind", "results"))) == len(SPECS)


@pytest.mark.parametrize("page", [[("b", 0), ("b", 1)], [("c", 0), ("a", 9)], [(b"a", 0), ("b", 0)]])
def test_pages_that_do_not_go_on_are_refused(path, page, monkeypatch):
    """As a file with a damaged index gives them: the same page again and again, or an earlier one."""
    pages = itertools.chain([[("a", 0), ("b", 5)]], itertools.repeat(page))
    with Store(path) as store:
        monkeypatch.setattr(store, "_read", lambda *_: next(pages))
        rows = store._paged("kind", "results")
        with pytest.raises(StoreError, match="damaged: rows that are out of order"):
            list(itertools.islice(rows, 100))
