"""Specs are made as they are asked for, and are what they were when stores were written."""

import tracemalloc

import pytest

from taskorder.runs.settings import Config
from taskorder.runs.specs import RunSpecs


def test_digests_of_stores_that_are_there():
    first, second = RunSpecs(Config(num_sets=1, num_seeds=2))
    assert first.digest == "d690c5aa224b7688568b9f888af553ed6d8413b7671d6f098de9216d705d49ba"
    assert second.digest == "16ca31574a6cca65334d0f4e649118034265e0ebaab9d5a16d498a91912d6dbf"
    (named,) = RunSpecs(Config(num_sets=1, num_tasks=2, tasks=("3-5", "4-6")))
    assert named.digest == "ed97761c214c8bc85064670384a61d6a0d34eb8fe4007a649861e333f5c3195f"


def test_they_are_a_sequence():
    specs = RunSpecs(Config(num_sets=3, num_seeds=2))
    listed = list(specs)
    assert [(spec.params["set"], spec.params["seed"]) for spec in listed] == [
        (s, k) for s in range(3) for k in range(2)
    ]
    assert len(specs) == 6
    assert specs[-1] == listed[-1]
    assert specs[1:5:2] == listed[1:5:2]
    assert specs[4:100] == listed[4:]
    assert specs == listed
    assert specs != listed[:5]
    assert specs != RunSpecs(Config(num_sets=3, num_seeds=2, epochs=6))
    with pytest.raises(IndexError):
        specs[6]


@pytest.mark.slow("memory")
def test_a_million_take_no_memory():
    tracemalloc.start()
    try:
        specs = RunSpecs(Config(num_sets=10**6))
        assert specs[999_999].params["set"] == 999_999
        assert len(specs[500_000:500_100]) == 100
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()


def test_a_run_may_begin_at_any_set():
    later = RunSpecs(Config(num_sets=2, first_set=3, num_seeds=2))
    assert [(spec.params["set"], spec.params["seed"]) for spec in later] == [(3, 0), (3, 1), (4, 0), (4, 1)]
    assert later == RunSpecs(Config(num_sets=5, num_seeds=2))[6:]
