"""A process works with as many threads as it may."""

import os
from contextlib import ExitStack

import pytest
from threadpoolctl import ThreadpoolController

from taskorder.machine import cores, describe, one_blas_thread


@pytest.mark.parametrize(("said", "count"), [("3", 3), ("", 1), ("0", 1), ("many", 1)])
def test_nproc_or_the_cores_that_it_may_run_on(said, count, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {7}, raising=False)
    monkeypatch.setenv("NPROC", said)
    assert cores() == count


def test_where_there_is_no_affinity(monkeypatch):
    monkeypatch.delenv("NPROC", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert cores() == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1


def test_the_machine_is_described_with_versions():
    told = describe("numpy", "a package that is not there")
    assert told.keys() == {"cpu", "cores", "python", "numpy"} | ({"taskorder"} & told.keys())
    assert told["cpu"]
    assert told["cores"] == os.cpu_count()


def test_blas_gets_its_threads_back_when_searches_overlap():
    """The first to end used to lift the limit of the second, which then set it for good."""

    def threads():
        return [library["num_threads"] for library in ThreadpoolController().info() if library["user_api"] == "blas"]

    before = threads()
    with ExitStack() as first, ExitStack() as second:
        for stack in (first, second):
            stack.enter_context(one_blas_thread())
        first.close()
        assert set(threads()) == {1}
        second.close()
    assert threads() == before
