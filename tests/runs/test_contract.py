"""What every executor must do: the same calls give the same store, here and on Ray."""

import os
import sys

import numpy as np
import pytest

from taskorder.runs import local
from taskorder.runs.local import Interrupted
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store

SPECS = [RunSpec("square.1", {"x": x}) for x in range(23)]


def square(batch):
    return [{"y": spec.params["x"] ** 2} for spec in batch]


def picky(batch):
    if any(spec.params["x"] in (3, 6) for spec in batch):
        raise KeyError("three or six")
    return square(batch)


def diverging(batch):
    return [{"y": float("inf") if spec.params["x"] == 4 else 0.0} for spec in batch]


def cut(batch):
    return [{"with": [spec.params["x"] for spec in batch]} for _ in batch]


@pytest.fixture(params=["local", "ray"])
def complete(request):
    if request.param == "local":
        return local.complete
    request.getfixturevalue("machines")
    import ray

    from taskorder.runs.ray import complete as on_ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    return on_ray


@pytest.mark.parametrize("batch_size", [1, 4, 50])
def test_everything_is_run_once_and_kept(complete, batch_size):
    came, seen = [], []
    with Store() as store:
        how = {"batch_size": batch_size, "inputs": "abc", "device": lambda: "cpu: test"}
        finished = lambda batch, results: came.extend(zip(batch, results, strict=True))  # noqa: E731
        assert complete(SPECS, square, store, finished=finished, report=lambda *now: seen.append(now), **how) == 0
        assert [result["y"] for result in store.get(SPECS)] == [x * x for x in range(23)]
        assert sorted(spec.params["x"] for spec, _ in came) == list(range(23))
        assert all(result["y"] == spec.params["x"] ** 2 for spec, result in came)
        assert {(entry.inputs, entry.device) for entry in store.entries()} == {("abc", "cpu: test")}
        assert seen[0] == (0, 23)
        seen.clear()
        assert complete(SPECS, picky, store, report=lambda *now: seen.append(now), **how) == 0  # nothing is left to do
        assert seen == []


@pytest.mark.parametrize("batch_size", [1, 4])
def test_failures_are_kept_and_the_rest_goes_on(complete, batch_size):
    with Store() as store:
        assert complete(SPECS, picky, store, batch_size=batch_size, keep_going=True) == 2
        assert [spec.params["x"] for spec in store.missing(SPECS)] == [3, 6]
        assert {failure.error for failure in store.failures()} == {"KeyError: 'three or six'"}
        assert complete(SPECS, square, store, batch_size=batch_size, keep_going=True) == 0
        assert store.failures() == []


def test_the_error_itself_comes_out_when_failures_are_not_wanted(complete):
    with Store() as store, pytest.raises(KeyError, match="three or six"):
        complete(SPECS, picky, store, batch_size=2)


def test_a_result_that_cannot_be_kept_is_a_failure(complete):
    with Store() as store:
        assert complete(SPECS, diverging, store, batch_size=5, keep_going=True) == 1
        assert store.missing(SPECS) == SPECS[4:5]
        assert "diverged" in store.failures()[0].error


def test_batches_are_cut_at_the_same_places_whatever_is_missing(complete):
    with Store() as store:
        store.put(SPECS[1:3], [{"with": []}] * 2, 1.0)
        complete(SPECS[:10], cut, store, batch_size=4)
        batches = [result["with"] for result in store.get(SPECS[:10])]
    assert batches == [[0, 3], [], [], [0, 3], *[[4, 5, 6, 7]] * 4, *[[8, 9]] * 2]


def test_the_caller_may_end_it(complete):
    with Store() as store:
        with pytest.raises(Interrupted):
            complete(SPECS, square, store, batch_size=2, report=lambda done, total: done >= 6)
        assert 6 <= len(store.entries()) < 23
        assert complete(SPECS, square, store, batch_size=2) == 0


class Lazy:
    """A sequence that makes its specs as they are asked for, and counts how many are there at most."""

    def __init__(self, count):
        self.count, self.longest = count, 0

    def __len__(self):
        return self.count

    def __getitem__(self, part):
        specs = [RunSpec("square.1", {"x": x}) for x in range(*part.indices(self.count))]
        self.longest = max(self.longest, len(specs))
        return specs


def test_specs_are_looked_at_batch_by_batch(complete):
    specs = Lazy(4000)
    with Store() as store:
        assert complete(specs, square, store, batch_size=20) == 0
        assert len(store.entries()) == 4000
    assert specs.longest <= 1000


@pytest.mark.slow("ray")
def test_arrays_that_a_batch_needs_are_shared_and_cannot_be_written(machines):
    import ray

    from taskorder.runs.ray import complete

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    table = np.arange(1e6)

    def look_up(batch):
        assert not table.flags.writeable
        return [{"y": table[spec.params["x"]], "threads": os.environ["NPROC"], "pid": os.getpid()} for spec in batch]

    with Store() as store:
        assert complete(SPECS, look_up, store, batch_size=2) == 0
        results = store.get(SPECS)
    assert [result["y"] for result in results] == list(range(23))
    assert {result["threads"] for result in results} == {"1"}
    assert len({result["pid"] for result in results}) <= 2  # processes are used again, with what they have compiled
