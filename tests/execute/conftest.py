"""A Ray cluster of several machines, all of them this one."""

import os
import time
import warnings
from pathlib import Path

import pytest

ROOM = 80 * 2**20
"""Bytes for objects, the least that Ray takes."""


def add_machine(cluster, **more):
    """One more machine, with one CPU."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"os\.fork")  # JAX, if an earlier test has used it in this process
        return cluster.add_node(num_cpus=1, object_store_memory=ROOM, **more)


@pytest.fixture(scope="module")
def machines():
    """Two machines with one CPU each; tests may add others, and take away those that they have added."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        cluster = Cluster()
        try:
            add_machine(cluster, include_dashboard=False)
            add_machine(cluster)
            ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()


@pytest.fixture
def third(machines):
    """A third machine, gone at the end of the test."""
    node = add_machine(machines)
    machines.wait_for_nodes()
    yield node
    if node in machines.list_all_nodes():
        machines.remove_node(node)


def offspring(pid):
    """All processes below a process, by number."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue  # it has ended
    found, grown = set(), {pid}
    while grown:
        found |= grown
        grown = {child for child, parent in parents.items() if parent in found} - found
    return found - {pid}


def still_there(pids, seconds=60):
    """Which of the processes are there after so long at most."""
    end = time.monotonic() + seconds
    while (left := {pid for pid in pids if _runs(pid)}) and time.monotonic() < end:
        time.sleep(0.2)
    return left


def _runs(pid):
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
