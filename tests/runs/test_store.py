import subprocess
import sys
import time

import pytest

from taskorder.runs.local import Interrupted, run
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store

SPECS = [RunSpec("square.1", {"x": x}) for x in range(10)]


def square(specs):
    return [{"y": spec.params["x"] ** 2} for spec in specs]


def test_digest_ignores_the_order_of_keys_and_sees_everything_else():
    assert RunSpec("a", {"x": 1, "y": 2}).digest == RunSpec("a", {"y": 2, "x": 1}).digest
    digests = {RunSpec(k, p).digest for k, p in [("a", {"x": 1}), ("b", {"x": 1}), ("a", {"x": 2}), ("a", {"x": "1"})]}
    assert len(digests) == 4


@pytest.mark.parametrize("where", [None, "deep/er/runs.sqlite"])
def test_put_get_missing(tmp_path, where):
    with Store(where and tmp_path / where) as store:
        assert store.missing(SPECS) == SPECS
        store.put(SPECS[2:4], [{"y": 4}, {"y": 9}], seconds=3.0)
        assert store.missing(SPECS[:4]) == SPECS[:2]
        assert store.get(SPECS[1:4]) == [None, {"y": 4}, {"y": 9}]
        assert store.seconds(SPECS) == 3.0


def test_what_is_forgotten_is_gone_with_its_failure(tmp_path):
    with Store(tmp_path / "s") as store:
        store.put(SPECS[:2], [{"y": 0}, {"y": 1}], seconds=1.0)
        store.fail(SPECS[2], "broken")
        store.fail(SPECS[3], "broken too")
        store.forget([SPECS[0], SPECS[2]])
        assert store.missing(SPECS[:3]) == [SPECS[0], SPECS[2]]
        assert [failure.digest for failure in store.failures()] == [SPECS[3].digest]


def test_the_first_result_stays(tmp_path):
    with Store(tmp_path / "s") as first, Store(tmp_path / "s") as second:
        first.put(SPECS[:1], [{"y": 1}], 1.0)
        second.put(SPECS[:1], [{"y": 2}], 1.0)
        assert first.get(SPECS[:1]) == second.get(SPECS[:1]) == [{"y": 1}]


def test_what_cannot_be_a_store_is_refused(tmp_path):
    (tmp_path / "text").write_text("this is no database, and long enough to be sure of that " * 20)
    for path in (tmp_path, tmp_path / "text", tmp_path / "text" / "below"):
        with pytest.raises(ValueError, match="`store` must be a writable SQLite file"):
            Store(path)
    for path in (tmp_path, tmp_path / "text"):
        with pytest.raises(ValueError, match=r"`store` must be a store that `taskorder run` made, got .*Name that"):
            Store(path, create=False)


def test_run_does_only_what_is_missing():
    seen = []

    def watched(specs):
        seen.extend(specs)
        return square(specs)

    with Store() as store:
        store.put(SPECS[3:5], [{"y": -1}, {"y": -2}], 1.0)
        results = run(SPECS, watched, store, batch_size=3)
        assert [result["y"] for result in results] == [0, 1, 4, -1, -2, 25, 36, 49, 64, 81]
        assert seen == SPECS[:3] + SPECS[5:]
        assert run(SPECS, watched, store) == results
        assert len(seen) == 8


def test_an_interrupted_run_keeps_finished_batches():
    with Store() as store:
        with pytest.raises(Interrupted):
            run(SPECS, square, store, batch_size=2, report=lambda done, total: done >= 4)
        assert len(store.missing(SPECS)) == 6
        reports = []
        run(SPECS, square, store, batch_size=4, report=lambda done, total: reports.append((done, total)))
        assert reports == [(4, 10), (8, 10)]


def test_a_failing_batch_keeps_the_others():
    def picky(specs):
        if specs[0].params["x"] == 6:
            raise RuntimeError("six")
        return square(specs)

    with Store() as store:
        with pytest.raises(RuntimeError, match="six"):
            run(SPECS, picky, store, batch_size=2)
        assert store.missing(SPECS) == SPECS[6:]


SLOWLY = """
import sys, time
from taskorder.runs.local import run
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store

def slow(specs):
    time.sleep(0.02)
    return [{"y": spec.params["x"] ** 2} for spec in specs]

with Store(sys.argv[1]) as store:
    run([RunSpec("square.1", {"x": x}) for x in range(400)], slow, store, batch_size=1)
"""


def test_a_killed_run_loses_nothing_that_was_finished(tmp_path):
    path = tmp_path / "runs.sqlite"
    process = subprocess.Popen([sys.executable, "-c", SLOWLY, str(path)])
    specs = [RunSpec("square.1", {"x": x}) for x in range(400)]
    deadline = time.monotonic() + 20
    done = 0
    while done < 5 and time.monotonic() < deadline:
        time.sleep(0.05)
        if path.exists():
            with Store(path) as store:
                done = 400 - len(store.missing(specs))
    process.kill()
    process.wait()
    with Store(path) as store:
        left = store.missing(specs)
        assert 5 <= 400 - len(left) < 400
        results = run(specs, square, store)
        assert [result["y"] for result in results] == [x * x for x in range(400)]


def test_a_request_is_the_same_in_whatever_order_its_settings_come():
    """A mutant that did not sort the keys once survived."""
    with Store() as store:
        store.request("a", {"k": 1, "j": 2}, SPECS[:2])
        store.request("b", {"j": 2, "k": 1}, SPECS[:2])
        assert [request.name for request in store.requests()] == ["b"]


def test_a_batch_has_as_many_results_as_specs_and_shares_its_seconds():
    with Store() as store:
        with pytest.raises(ValueError, match="shorter"):
            store.put(SPECS[:2], [{"y": 0}], 1.0)
        assert store.missing(SPECS[:2]) == SPECS[:2]
        store.put(SPECS[:1], [{"y": 0}], 3.0)
        assert store.seconds(SPECS) == 3.0
