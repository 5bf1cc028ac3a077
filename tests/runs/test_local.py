"""Batches, failures, and processes that share a store."""

import itertools
import subprocess
import sys

import pytest

from taskorder.runs import sweep
from taskorder.runs.local import Interrupted, complete
from taskorder.runs.locks import SpecLocks, locked_elsewhere
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store

SPECS = [RunSpec("square.1", {"x": x}) for x in range(10)]
DIGESTS = [spec.digest for spec in SPECS]


def square(specs):
    return [{"y": spec.params["x"] ** 2} for spec in specs]


def picky(specs):
    if any(spec.params["x"] in (3, 6) for spec in specs):
        raise RuntimeError("three or six")
    return square(specs)


@pytest.mark.parametrize("batch_size", [1, 3, 10])
def test_failures_are_kept_and_the_rest_goes_on(batch_size):
    with Store() as store:
        assert complete(SPECS, picky, store, batch_size=batch_size, keep_going=True, device="cpu") == 2
        assert [spec.params["x"] for spec in store.missing(SPECS)] == [3, 6]
        assert {failure.error for failure in store.failures()} == {"RuntimeError: three or six"}
        assert complete(SPECS, square, store, batch_size=batch_size, keep_going=True) == 0
        assert store.failures() == []
        assert [result["y"] for result in store.get(SPECS)] == [x * x for x in range(10)]


def test_a_result_that_cannot_be_kept_is_a_failure():
    def diverging(specs):
        return [{"y": float("inf") if spec.params["x"] == 4 else 0.0} for spec in specs]

    with Store() as store:
        assert complete(SPECS, diverging, store, batch_size=5, keep_going=True) == 1
        assert store.missing(SPECS) == SPECS[4:5]
        assert "diverged" in store.failures()[0].error


def test_batches_are_cut_at_the_same_places_whatever_is_missing():
    seen = []

    def watched(specs):
        seen.append([spec.params["x"] for spec in specs])
        return square(specs)

    with Store() as store:
        store.put(SPECS[1:3], square(SPECS[1:3]), 1.0)
        complete(SPECS, watched, store, batch_size=4)
    assert seen == [[0, 3], [4, 5, 6, 7], [8, 9]]


def test_data_and_device_are_kept():
    with Store() as store:
        complete(SPECS, square, store, inputs="abc", device="cpu: test")
        assert {(entry.inputs, entry.device) for entry in store.entries()} == {("abc", "cpu: test")}


HOLD = """
import sys
from pathlib import Path
from taskorder.runs.locks import SpecLocks
locks = SpecLocks(Path(sys.argv[1]))
with locks.hold(sys.argv[2:]) as taken:
    print(taken, flush=True)
    sys.stdin.read()
"""


class Holder:
    """Another process that locks specs until it is killed."""

    def __init__(self, path, digests):
        command = [sys.executable, "-c", HOLD, str(path), *digests]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.taken = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def test_locks_are_for_all_or_none_and_end_with_their_process(tmp_path):
    path = tmp_path / "s"
    with SpecLocks(path) as locks:
        with Holder(path, DIGESTS[2:4]) as other:
            assert other.taken == "True"
            with locks.hold(DIGESTS[:3]) as taken:
                assert not taken
                with Holder(path, DIGESTS[3:4]) as third:
                    assert third.taken == "False"
            assert locked_elsewhere(path, DIGESTS) == set(DIGESTS[2:4])
            with locks.hold(DIGESTS[4:]) as taken:
                assert taken
        with locks.hold(DIGESTS) as taken:
            assert taken
    assert locked_elsewhere(path, DIGESTS) == set()
    assert locked_elsewhere(tmp_path / "none", DIGESTS) == set()


def test_what_another_process_runs_is_left_to_it_and_taken_over_when_it_dies(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "RETRY_SECONDS", 0.01)
    path = tmp_path / "s"
    seen, waited = [], []

    def watched(specs):
        seen.extend(spec.params["x"] for spec in specs)
        return square(specs)

    with Store(path) as store, Holder(path, DIGESTS[2:4]) as other:

        def report(done, total):
            if len(seen) == 8:
                waited.append(done)
                if len(waited) == 3:
                    other.process.kill()
                    other.process.wait()

        complete(SPECS, watched, store, batch_size=1, report=report)
    assert seen == [0, 1, 4, 5, 6, 7, 8, 9, 2, 3]
    assert len(waited) >= 3


def test_waiting_for_another_process_can_be_interrupted(tmp_path):
    path = tmp_path / "s"
    looks = itertools.count()
    with Store(path) as store, Holder(path, DIGESTS[:1]), pytest.raises(Interrupted):
        complete(SPECS[:1], square, store, report=lambda done, total: next(looks) == 3)
    assert next(looks) == 4
