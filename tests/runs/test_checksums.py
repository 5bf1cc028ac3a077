"""Rows that are not what was written: each is refused by name, and repair drops nothing else."""

import itertools
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from taskorder.cli import main
from taskorder.runs.checksums import CHECKED, add_functions, checksum_in_sql
from taskorder.runs.repair import repair
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.runs.store_file import UPGRADES, VERSION, DamagedStore, StoreError

SPECS = [RunSpec("neural.orders.2", {"set": number, "seed": 0}) for number in range(6)]
OLD = Path(__file__).with_name("store_of_version_2.db")


@pytest.fixture
def path(tmp_path):
    """Five results, a failure and a request."""
    with Store(tmp_path / "s") as store:
        store.put(SPECS[:5], [{"y": [number] * 800} for number in range(5)], 1.25, inputs="abc", device="cpu")
        store.fail(SPECS[5], "RuntimeError: five")
        store.request("six", {"num_sets": 6}, SPECS)
    return tmp_path / "s"


def all_that_is_in(path):
    with Store(path, create=False) as store:
        requests = [(request.name, request.config, list(store.digests(request))) for request in store.requests()]
        results = store.get(SPECS), store.inputs(SPECS), store.seconds(SPECS), store.entries()
        return requests, results, store.failures()


def change(path, statement, values=(), *, seal=""):
    """As somebody changes it who knows nothing of checksums, or who writes them, too."""
    with sqlite3.connect(path) as db:
        add_functions(db)
        db.execute(statement, values)
        if seal:
            db.execute(f"update {seal} set checksum = {checksum_in_sql(seal)}")
    db.close()


@pytest.mark.parametrize("value", ["0" * 64, b"no text", 5], ids=["another", "bytes", "number"])
def test_a_run_that_lost_its_digest_is_not_missing(path, value):
    """It would be trained again, and only who reads all of the store would hear of it."""
    change(path, "update results set digest = ? where digest = ?", (value, SPECS[2].digest))
    for ask in (lambda store: store.missing(SPECS[:3]), lambda store: store.get(SPECS), Store.entries):
        with Store(path, create=False) as store, pytest.raises(DamagedStore, match="a row is not what was written"):
            ask(store)
    with Store(path, create=False) as store:  # nothing is missing: nobody need read all
        assert store.missing(SPECS[:2]) == []
        assert store.get(SPECS[:1]) == [{"y": [0] * 800}]


EACH_CELL = [
    (table, column) for table, columns in CHECKED.items() for column in (*columns, "checksum") if column != "digest"
]


@pytest.mark.parametrize(("table", "column"), EACH_CELL, ids=[".".join(cell) for cell in EACH_CELL])
def test_every_cell_is_checked(path, table, column):
    key = "rowid" if table == "requests" else "digest"
    new = 1.250000001 if column == "seconds" else b"[]" if column == "digests" else "{}"
    change(path, f"update {table} set {column} = ? where {key} = (select min({key}) from {table})", (new,))
    with pytest.raises(DamagedStore, match=r"must be as it was written, got .*s, which is damaged: .*taskorder repair"):
        all_that_is_in(path)


def test_what_reads_one_run_checks_it(path):
    change(path, "update results set result = '{\"y\": 1}' where digest = ?", (SPECS[3].digest,))
    with Store(path) as store:
        assert store.get(SPECS[:3]) == [{"y": [number] * 800} for number in range(3)]
        for read in (store.get, store.inputs, store.seconds, lambda specs: store.entry(specs[0].digest)):
            with pytest.raises(DamagedStore, match=r"not what was written \(set 3, seed 0\)"):
                read(SPECS[3:4])


@pytest.mark.parametrize("column", ["digest", "params", "kind"])
def test_a_digest_that_is_that_of_another_run_is_refused(path, column):
    """It was counted as one more run."""
    new = {"digest": "0" * 64, "params": '{"set": 7, "seed": 0}', "kind": "neural.orders.3"}[column]
    change(path, f"update results set {column} = ? where digest = ?", (new, SPECS[3].digest), seal="results")
    with Store(path) as store, pytest.raises(DamagedStore, match=r"\(digest "):
        store.entries()
    assert len(repair(path).dropped) == 1
    with Store(path) as store:
        assert store.missing(SPECS) == SPECS[3:4] + SPECS[5:]


def test_a_digest_that_is_no_text_is_refused(path):
    change(
        path, "update results set digest = cast(digest as blob) where digest = ?", (SPECS[3].digest,), seal="results"
    )
    with pytest.raises(DamagedStore):
        all_that_is_in(path)


def test_flips_where_pages_begin_lose_no_row(path):
    """What SQLite says of a page: how many rows it has, and where."""
    whole, wanted, noticed = path.read_bytes(), all_that_is_in(path), 0
    for page, bit in itertools.product(range(0, len(whole), 4096), range(12 * 8)):
        start = page or 100  # the header of the file
        data = bytearray(whole)
        data[start + bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        try:
            assert all_that_is_in(path) == wanted
        except StoreError:
            noticed += 1
    assert noticed > 100


def test_a_store_of_version_2_goes_on_with_checksums(tmp_path):
    """Written by taskorder 0.1.0 on 19 November 2026."""
    path = tmp_path / "s"
    shutil.copy(OLD, path)
    with sqlite3.connect(OLD) as db:
        before = db.execute("select digest, params, result, seconds from results order by digest").fetchall()
        assert db.execute("pragma user_version").fetchone() == (2,)
    with Store(path, create=False) as store:
        (request,) = store.requests()
        assert sorted(store.digests(request)) == [row[0] for row in before]
        assert [(entry.digest, entry.seconds) for entry in store.entries()] == [(row[0], row[3]) for row in before]
        assert store._version() == VERSION
        store.put(SPECS[:1], [{"y": 1}], 1.0)
    with sqlite3.connect(path) as db:
        assert db.execute("select digest, params, result, seconds from results order by digest").fetchall()[:5]
        assert db.execute("select count(*) from results where length(checksum) = 64").fetchone() == (5,)
    change(path, "update results set result = replace(result, '0.576271', '0.776271')")
    with pytest.raises(DamagedStore):
        all_that_is_in(path)


def test_repair_drops_what_is_damaged_and_nothing_else(path, capsys):
    wanted = all_that_is_in(path)
    assert main(["repair", str(path)]) == 0
    assert capsys.readouterr().out == "nothing is damaged: 5 runs\n"
    assert all_that_is_in(path) == wanted
    change(path, "update results set result = '{}' where digest in (?, ?)", (SPECS[0].digest, SPECS[2].digest))
    change(path, "update failures set error = 'x'")
    assert main(["status", str(path)]) == 2
    assert "`taskorder repair" not in capsys.readouterr().out
    assert main(["repair", str(path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "kept 3 runs"
    assert sorted(said[1:-1]) == [f"dropped set {number}, seed 0" for number in (0, 2, 5)]
    requests, results, failures = all_that_is_in(path)
    assert requests == wanted[0]
    assert results[0] == [None, {"y": [1] * 800}, None, {"y": [3] * 800}, {"y": [4] * 800}, None]
    assert failures == []


def test_a_damaged_request_is_dropped_alone(path):
    wanted = all_that_is_in(path)
    change(path, "update requests set name = 'seven'")
    assert repair(path).dropped == ("request seven",)
    assert all_that_is_in(path) == ([], *wanted[1:])


def test_repair_of_a_file_whose_structure_is_damaged(path, capsys):
    """Two leaves of the tree of results are overwritten; the rows of all others are kept, also those between the two.

    SQLite finds a row that separates two leaves by way of one of them, so that two more may be lost.
    """
    specs = [RunSpec("square.1", {"x": x}) for x in range(90)]
    with Store(path) as store:
        store.put(specs, [{"y": [x] * 200} for x in range(90)], 1.0)
        store.request("ninety", {}, specs)
    whole = path.read_bytes()
    pages = [whole[start : start + 4096] for start in range(0, len(whole), 4096)]
    leaves = [number for number, page in enumerate(pages) if page[0] == 10 and b"square.1" in page]
    lost = [leaves[len(leaves) // 3], leaves[2 * len(leaves) // 3]]
    rows = sum(int.from_bytes(pages[number][3:5], "big") for number in lost)
    damaged = b"".join(b"\xa5" * 4096 if number in lost else page for number, page in enumerate(pages))
    path.write_bytes(damaged)
    with pytest.raises(DamagedStore, match="taskorder repair"):
        all_that_is_in(path)
    assert main(["repair", str(path)]) == 0
    said = capsys.readouterr().out.splitlines()[0]
    kept = int(said.split()[1])
    assert 95 - rows - 2 <= kept <= 95 - rows
    assert said == f"kept {kept} runs in a new file; the old one is {path}.damaged"
    assert Path(f"{path}.damaged").read_bytes() == damaged
    with Store(path) as store:
        done = [spec for spec in specs if spec not in store.missing(specs)]
        assert store.get(done) == [{"y": [spec.params["x"]] * 200} for spec in done]
        assert len(store.entries()) == kept
        assert [request.name for request in store.requests()] == ["six", "ninety"]
    path.write_bytes(damaged)
    assert main(["repair", str(path)]) == 2
    assert "must not have been repaired before" in capsys.readouterr().err


@pytest.mark.parametrize("version", [1, 2])
def test_repair_of_an_older_store_whose_structure_is_damaged(tmp_path, version):
    """Its rows have no checksums: those that can be read are taken as they are."""
    specs, path = [RunSpec("square.1", {"x": x}) for x in range(90)], tmp_path / "s"
    later = ("", "cpu", "2026") if version == 2 else ()
    with sqlite3.connect(path) as db:
        for statement in itertools.chain(*UPGRADES[:version]):
            db.execute(statement)
        for x, spec in enumerate(specs):
            row = spec.digest, spec.kind, json.dumps(spec.params), json.dumps({"y": [x] * 200}), 1.0, "0.1.0", *later
            db.execute(f"insert into results values ({', '.join('?' * len(row))})", row)
        if version == 2:
            db.execute("pragma user_version = 2")
            digests = json.dumps([spec.digest for spec in specs])
            db.execute("insert into requests values ('ninety', '{}', ?)", (digests,))
    db.close()
    whole = path.read_bytes()
    pages = [whole[start : start + 4096] for start in range(0, len(whole), 4096)]
    leaf = next(number for number, page in enumerate(pages) if page[0] == 10 and b"square.1" in page)
    lost = int.from_bytes(pages[leaf][3:5], "big")
    path.write_bytes(b"".join(b"\xa5" * 4096 if number == leaf else page for number, page in enumerate(pages)))
    kept, dropped, damaged = repair(path)
    assert 90 - lost - 1 <= kept <= 90 - lost
    assert (dropped, damaged) == ((), Path(f"{path}.damaged"))
    with Store(path, create=False) as store:
        done = [spec for spec in specs if spec not in store.missing(specs)]
        assert store.get(done) == [{"y": [spec.params["x"]] * 200} for spec in done]
        assert {(entry.seconds, entry.version, entry.inputs) for entry in store.entries()} == {(1.0, "0.1.0", "")}
        assert {entry.device for entry in store.entries()} == {"cpu" if version == 2 else ""}
        requests = [(request.name, len(list(store.digests(request)))) for request in store.requests()]
        assert requests == ([("ninety", 90)] if version == 2 else [])


def test_what_is_no_store_is_not_repaired(tmp_path, capsys):
    (tmp_path / "text").write_text("this is no database, and long enough to be sure of that " * 20)
    for name in ("text", "none"):
        assert main(["repair", str(tmp_path / name)]) == 2
        assert "`STORE` must be" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["text"]
