"""Stores with a schema that computes, and what is kept of runs in files that unpack to much."""

import gzip
import json
import sqlite3
from contextlib import closing

import pytest

from reproduction.running import load_results, read
from taskorder import costs
from taskorder.arguments import BadArgument
from taskorder.cli import main
from taskorder.runs import archive, results, store_file
from taskorder.runs.archive import load_archive, read_archive
from taskorder.runs.repair import repair
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.runs.store_file import StoreError, our_schemas
from tests.fuzz.bomb_files import changed_store, kept, packed

SCHEMAS = {
    "a view": (
        "alter table results rename to old",
        "create view results as select digest, kind, params, result, seconds, version, inputs, device, finished, "
        "checksum from old",
    ),
    "a computed column": (
        "alter table results rename column device to old",
        "alter table results add column device text generated always as (lower(old))",
    ),
    "a check": ("create table other (x check (length(hex(zeroblob(1000))) > x))",),
    "a trigger": ("create trigger t after insert on failures begin delete from results; end",),
    "an index that computes": ("create index i on failures (lower(error))",),
}


@pytest.mark.parametrize("statements", SCHEMAS.values(), ids=SCHEMAS)
@pytest.mark.parametrize(
    "use", [lambda path: Store(path, create=False), Store, repair], ids=["read", "write", "repair"]
)
def test_a_schema_that_is_not_ours_is_refused_before_it_runs(tmp_path, monkeypatch, statements, use):
    """A view without an end is 30 KB, and was counted for ever."""
    changed_store(*statements)(tmp_path / "s")
    monkeypatch.setattr(Store, "_check_structure", lambda _: pytest.fail("the file was checked"))
    with pytest.raises(
        StoreError, match=r"must be a file that taskorder made, got (other tables in|another database:) "
    ):
        use(tmp_path / "s")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_stores_of_every_version_have_a_schema_of_ours(tmp_path, version):
    path = tmp_path / "s"
    with closing(store_file.open_database(str(path))) as db:
        for step in store_file.UPGRADES[:version]:
            for statement in step:
                db.execute(statement)
        db.execute(f"pragma user_version = {version if version > 1 else 0}")
        assert store_file.schema_of(db) == our_schemas()[version - 1]
    with Store(path, create=False) as store:
        assert store.count() == 0
    with closing(sqlite3.connect(path)) as db:
        assert store_file.schema_of(db) == our_schemas()[-1]


def test_statistics_of_sqlite_are_no_other_tables(tmp_path):
    changed_store("analyze")(tmp_path / "s")
    with Store(tmp_path / "s", create=False) as store:
        assert store.count() == 4


def test_a_result_of_many_small_values_is_not_parsed(tmp_path, monkeypatch):
    spec = RunSpec("a.1", {"x": 1.23456789})
    with Store(tmp_path / "s") as store:
        store.put([spec], [{"y": [[]] * 1000}], 1.0)
        assert store.result(spec.digest)
        monkeypatch.setattr(costs, "FREE_MEMORY", 100)
        with pytest.raises(StoreError, match="must hold JSON values"):
            store.result(spec.digest)


def load(folder):
    with Store() as store:
        return load_archive(folder / "kept.json", store)


def test_a_table_that_unpacks_to_more_than_its_size_allows(tmp_path, monkeypatch):
    kept(b"0,0,orders,,0,1,1,1,\n" * 5000)(tmp_path / "x")
    monkeypatch.setattr(costs, "FREE_MEMORY", 100_000)
    with pytest.raises(ValueError, match=r"kept.csv.gz` must unpack to at most .* for its size"):
        load(tmp_path)


def test_lists_of_rows_are_counted_as_they_grow(tmp_path, monkeypatch):
    """Each network begins lists of its own, of which a packed file may ask for millions."""
    kept(b"0,0,orders,,0,1,1,1,\n" * 5000)(tmp_path / "x")
    monkeypatch.setattr(costs, "FREE_MEMORY", 1_000_000)
    monkeypatch.setattr(archive, "misfit", lambda _: pytest.fail("all was read"))
    with pytest.raises(ValueError, match=r"kept.csv.gz` must unpack to at most .* for its size"):
        load(tmp_path)


def test_a_description_of_many_small_values(tmp_path, monkeypatch):
    (tmp_path / "kept.json").write_text('{"settings": [' + "[]," * 1000 + "[]]}")
    monkeypatch.setattr(costs, "FREE_MEMORY", 0)
    with pytest.raises(ValueError, match="must describe a table of runs, got so many small values"):
        read_archive(tmp_path / "kept.json")
    with pytest.raises(ValueError, match=r"nowhere.json` must be an existing file"):
        read_archive(tmp_path / "nowhere.json")


def test_tasks_are_counted_once_for_all_prefixes(monkeypatch):
    """20,000 tasks with as many prefixes took the product of both."""
    made = []
    monkeypatch.setattr(results, "is_prefix", lambda text, known: made.append(id(known)) or True)
    names, prefixes = ["a", "b"], ["", "0", "1", "0.1", "1.0"]
    tables = {name: [[0.5, 0.5]] * 5 for name in results.SCORES}
    assert results.misfit({"task_set": {"names": names}, "beginnings": prefixes, **tables}) == ""
    assert len(made) == 5
    assert len(set(made)) == 1


def test_kept_results_that_unpack_to_more_than_their_size_allows(tmp_path, monkeypatch):
    """2 MB were unpacked to 2 GB."""
    path = tmp_path / "a.runs.json.gz"
    packed(b"[", b" " * 100_000, b"]")(path)
    monkeypatch.setattr(costs, "FREE_MEMORY", 10_000)
    with Store() as store, pytest.raises(BadArgument, match=r"got a damaged file: .* must unpack to at most"):
        load_results(path, store)
    path.write_bytes(gzip.compress(json.dumps([]).encode()))
    with Store() as store:
        assert load_results(path, store) == 0


def test_figures_of_many_small_values(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text("[" + "[]," * 1000 + "[]]")
    monkeypatch.setattr(costs, "FREE_MEMORY", 0)
    with pytest.raises(BadArgument, match=r"must hold a figure, got a damaged one: .* so many small values"):
        read(tmp_path / "a.json")


def test_a_strange_schema_is_one_line(tmp_path, capsys):
    changed_store(*SCHEMAS["a view"])(tmp_path / "s")
    for command in ("status", "export", "audit", "repair"):
        assert (
            main([command, str(tmp_path / "s"), *(["-o", str(tmp_path / "o.csv")] if command == "export" else [])]) == 2
        )
        assert capsys.readouterr().err.count("\n") == 1
