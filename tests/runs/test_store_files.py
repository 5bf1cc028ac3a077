"""Files that are old, new, foreign, damaged or out of room."""

import json
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence

import pytest

import taskorder.runs.store
import taskorder.runs.store_file
from taskorder.runs.checksums import checksum_in_sql
from taskorder.runs.local import complete
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import DIGEST_PIECE, Store
from taskorder.runs.store_file import VERSION, StoreError, scratch

SPECS = [RunSpec("square.1", {"x": x}) for x in range(10)]

VERSION_1 = """
create table if not exists results (
  digest text primary key, kind text not null, params text not null, result text not null,
  seconds real not null, version text not null
) without rowid
"""


def old_store(path):
    """As the first release wrote it."""
    db = sqlite3.connect(path)
    with db:
        db.execute(VERSION_1)
        row = SPECS[0].digest, "square.1", '{"x": 0}', '{"y": 0}', 1.5, "0.1.0"
        db.execute("insert into results values (?, ?, ?, ?, ?, ?)", row)
    db.close()


def test_an_old_store_opens_and_goes_on(tmp_path):
    old_store(tmp_path / "s")
    for _ in range(2):
        with Store(tmp_path / "s") as store:
            assert store.get(SPECS[:2]) == [{"y": 0}, None]
            (entry,) = store.entries()
            assert (entry.seconds, entry.inputs, entry.device, entry.finished) == (1.5, "", "", "")
    with Store(tmp_path / "s", create=False) as store:
        store.put(SPECS[1:2], [{"y": 1, "network_steps": 7}], 2.0, inputs="abc", device="cpu: test")
        entry = next(entry for entry in store.entries() if entry.digest == SPECS[1].digest)
        assert (entry.inputs, entry.device, entry.network_steps) == ("abc", "cpu: test", 7)
        assert entry.finished.endswith("+00:00")


def test_an_old_store_that_may_only_be_read_is_told_what_it_needs(tmp_path):
    old_store(tmp_path / "s")
    data = bytearray((tmp_path / "s").read_bytes())
    data[18] = 3  # a way of writing that SQLite does not know: it only reads then, whoever the user is
    (tmp_path / "s").write_bytes(data)
    with pytest.raises(StoreError, match=r"must be writable once, for an older version made it, got .*Copy it"):
        Store(tmp_path / "s", create=False)
    assert (tmp_path / "s").read_bytes() == data


def test_a_newer_store_is_refused_untouched(tmp_path):
    Store(tmp_path / "s")._db.close()
    db = sqlite3.connect(tmp_path / "s")
    db.execute(f"pragma user_version = {VERSION + 1}")
    db.close()
    before = (tmp_path / "s").read_bytes()
    with pytest.raises(StoreError, match=rf"must be of version {VERSION} or older, got .* of version {VERSION + 1}"):
        Store(tmp_path / "s")
    assert (tmp_path / "s").read_bytes() == before


def test_another_database_is_refused_untouched(tmp_path):
    db = sqlite3.connect(tmp_path / "s")
    with db:
        db.execute("create table bookmarks (x)")
    db.close()
    before = (tmp_path / "s").read_bytes()
    with pytest.raises(StoreError, match="must be a file that taskorder made"):
        Store(tmp_path / "s")
    assert (tmp_path / "s").read_bytes() == before


def test_a_store_that_must_be_there(tmp_path):
    with pytest.raises(ValueError, match="`store` must be an existing file"):
        Store(tmp_path / "s", create=False)
    assert list(tmp_path.iterdir()) == []


def filled(path):
    with Store(path) as store:
        for spec in SPECS:
            store.put([spec], [{"y": "text " * 2000}], 1.0)
    return path.read_bytes()


def test_a_damaged_store_is_named_wherever_it_is_damaged(tmp_path):
    path = tmp_path / "s"
    whole = filled(path)
    page, problems = 4096, []
    for place in range(0, len(whole), page):
        path.write_bytes(whole[:place] + b"\xa5" * page + whole[place + page :])
        try:
            with Store(path, create=False) as store:
                store.get(SPECS), store.failures(), store.requests()
        except StoreError as problem:
            problems.append(str(problem))
    assert all("`store` must" in problem for problem in problems)
    assert len(problems) >= len(whole) // page - 1  # the index of the requests is read by writers alone
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match="malformed"), Store(path, create=False) as store:
        store.get(SPECS)


def test_a_full_disk_loses_only_what_does_not_fit(tmp_path):
    seen = []

    def big(specs):
        seen.extend(specs)
        return [{"y": "text " * 2000} for _ in specs]

    with Store(tmp_path / "s") as store:
        store._db.execute("pragma max_page_count = 30")  # SQLite answers as on a full disk
        with pytest.raises(StoreError, match=r"must have room to grow, got .*full.*make room"):
            complete(SPECS, big, store, batch_size=1, keep_going=True)
        num_done = len(SPECS) - len(store.missing(SPECS))
        assert 3 <= num_done < len(SPECS)
        assert store.failures() == []
        assert len(seen) == num_done + 1
        store._db.execute("pragma max_page_count = 1000")
        assert complete(SPECS, big, store, batch_size=1) == 0
        assert store.missing(SPECS) == []
        assert len(seen) == len(SPECS) + 1


FILL = """
import resource, sys
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.runs.store_file import StoreError
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
store = Store(sys.argv[1])
for x in range(10):
    try:
        store.put([RunSpec("square.1", {"x": x})], [{"y": "text " * 2000}], 1.0)
    except StoreError as problem:
        sys.exit(str(problem))
    print(x, flush=True)
"""


def test_writes_that_the_system_refuses(tmp_path):
    """A limit on the size of files, for the operating system's own refusal."""
    pytest.importorskip("resource")
    path = tmp_path / "s"
    ended = subprocess.run([sys.executable, "-c", FILL, path], capture_output=True, text=True)
    done = [int(line) for line in ended.stdout.split()]
    assert ended.returncode == 1
    assert "`store` must have room to grow" in ended.stderr
    assert 0 < len(done) < 10
    with Store(path, create=False) as store:
        assert store.missing(SPECS) == SPECS[len(done) :]
        assert store._read("pragma integrity_check") == [("ok",)]


def test_failures_stay_until_there_is_a_result(tmp_path):
    with Store(tmp_path / "s") as store:
        store.fail(SPECS[0], "RuntimeError: first", device="cpu")
        store.fail(SPECS[0], "RuntimeError: second", device="cpu")
        (failure,) = store.failures()
        assert (failure.digest, failure.params, failure.error) == (SPECS[0].digest, {"x": 0}, "RuntimeError: second")
        assert store.missing(SPECS[:1]) == SPECS[:1]
        store.put(SPECS[:1], [{"y": 0}], 1.0)
        assert store.failures() == []


def write_request(store, digests):
    """As others write it."""
    store._db.execute("insert into requests values (?, ?, ?, '')", ("a", '{"k": 1}', digests))
    store._db.execute(f"update requests set checksum = {checksum_in_sql('requests')}")


def asked(store):
    return list(store.digests(store.requests()[0]))


def test_requests_are_kept_once(tmp_path):
    with Store(tmp_path / "s") as store:
        for name, config in (("a", {"k": 1}), ("b", {"k": 2}), ("a", {"k": 1})):
            store.request(name, config, SPECS[:3])
        assert [(request.name, request.config) for request in store.requests()] == [("b", {"k": 2}), ("a", {"k": 1})]
        assert asked(store) == [spec.digest for spec in SPECS[:3]]


@pytest.mark.parametrize("count", [0, 1, 2, DIGEST_PIECE // 68, DIGEST_PIECE // 68 + 1, 2500])
def test_requests_of_any_length(tmp_path, count):
    specs = [RunSpec("square.1", {"x": x}) for x in range(count)]
    with Store(tmp_path / "s") as store:
        store.request("a", {"k": 1}, specs)
        assert asked(store) == [spec.digest for spec in specs]


def test_requests_that_were_written_whole_are_read(tmp_path):
    digests = json.dumps([spec.digest for spec in SPECS])
    with Store(tmp_path / "s") as store:
        write_request(store, digests)
        assert asked(store) == [spec.digest for spec in SPECS]
        (before,) = store.requests()
        store.request("b", {"k": 2}, SPECS[:1])
        store.request("a", {"k": 1}, SPECS[:2])
        assert [len(list(store.digests(request))) for request in store.requests()] == [1, 2]
        assert list(store.digests(before)) == []  # asked again meanwhile


@pytest.mark.slow("memory")
def test_a_request_takes_no_memory(tmp_path):
    class Many(Sequence):
        def __len__(self):
            return 5_000

        def __getitem__(self, place):
            return RunSpec("square.1", {"x": range(5_000)[place]})

    with Store(tmp_path / "s") as store:
        tracemalloc.start()
        try:
            store.request("a", {"k": 1}, Many())
            store.inputs(Many())
            assert tracemalloc.get_traced_memory()[1] < 200_000  # the list of digests alone would take 500,000
        finally:
            tracemalloc.stop()


def test_others_write_while_a_request_is_being_made(tmp_path, monkeypatch):
    monkeypatch.setattr(taskorder.runs.store_file, "WAIT_SECONDS", 0.5)
    with Store(tmp_path / "s") as store, Store(tmp_path / "s") as other:

        class Slow(Sequence):
            def __len__(self):
                return 3

            def __getitem__(self, place):
                other.put([SPECS[:3][place]], [{"y": place}], 0.1)
                return SPECS[:3][place]

        store.request("a", {"k": 1}, Slow())
        assert asked(store) == [spec.digest for spec in SPECS[:3]]
        assert store.get(SPECS[:3]) == [{"y": 0}, {"y": 1}, {"y": 2}]


@pytest.mark.parametrize("digests", ['{"a": 1}', '["a", 2', '["a", 2]', '["\\ud800"]', '["a" "b"]', "", "a, b", 7])
def test_a_request_without_its_digests_is_named(tmp_path, digests):
    with Store(tmp_path / "s") as store:
        write_request(store, digests)
        with pytest.raises(StoreError, match="`store` must"):
            asked(store)


def test_reading_on_while_others_write(tmp_path, monkeypatch):
    """Pages, not one long look: a writer need not wait for a reader that is slow."""
    monkeypatch.setattr(taskorder.runs.store, "PAGE", 10)
    specs = [RunSpec("square.1", {"x": x}) for x in range(25)]
    with Store(tmp_path / "s") as store, Store(tmp_path / "s") as other:
        store.put(specs[:-1], [{"y": 1}] * (len(specs) - 1), 1.0)
        for spec in specs:
            store.fail(spec, "x")
        other._db.execute("pragma busy_timeout = 0")
        seen = []
        for entry in store.each_entry():
            seen.append(entry.digest)
            if len(seen) == 3:
                other.put(specs[-1:], [{"y": 1}], 1.0)
        assert seen == sorted(seen)
        assert {spec.digest for spec in specs[:-1]} <= set(seen)
        assert [failure.digest for failure in store.each_failure()] == sorted(spec.digest for spec in specs[:-1])
        assert store.entry(specs[-1].digest) == max(store.entries(), key=lambda entry: entry.params["x"])
        assert store.entry("none") is None


def test_scratch_room_that_is_not_there():
    def fill():
        with scratch("create table t (x)") as db:
            db.execute("pragma max_page_count = 3")
            db.executemany("insert into t values (?)", [("text" * 1000,)] * 10)

    with pytest.raises(StoreError, match=r"folder for temporary files must have room, got: .*full"):
        fill()


def test_the_data_behind_results(tmp_path):
    with Store(tmp_path / "s") as store:
        store.put(SPECS[:2], [{"y": 1}] * 2, 1.0, inputs="abc")
        store.put(SPECS[2:3], [{"y": 1}], 1.0, inputs="def")
        assert store.inputs(SPECS[:2]) == {"abc"}
        assert store.inputs(SPECS) == {"abc", "def"}
        assert store.inputs(SPECS[5:]) == set()


def test_numbers_must_be_finite(tmp_path):
    with Store(tmp_path / "s") as store:
        with pytest.raises(ValueError, match="finite numbers"):
            store.put(SPECS[:2], [{"y": 1.0}, {"y": float("nan")}], 1.0)
        assert store.missing(SPECS[:2]) == SPECS[:2]
