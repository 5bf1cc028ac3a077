"""A Ray cluster of several machines, all of them this one."""

import os
import socket
import sys
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
        warnings.simplefilter("ignore", ResourceWarning)  # Ray leaves files open for the server of clients
        return cluster.add_node(num_cpus=1, object_store_memory=ROOM, **more)


HEAD = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "GRPC_ENABLE_FORK_SUPPORT": "0",  # else its server for who comes from outside crashes at times
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # all machines are this one
}
"""For the head of a cluster: Ray tells nobody of it, it takes clients, as docs/scale.md says, and is on loopback."""


def environment(**more):
    """For other processes: they find the package, and Ray is as it should be."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **HEAD, **more}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def listening():
    """A port of this machine where somebody listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server


@pytest.fixture(scope="package")
def cache(tmp_path_factory):
    """A folder for what JAX compiles, shared by all processes here."""
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="package")
def machines(cache):
    """Two machines with one CPU each; tests may add others, and take away those that they have added.

    `machines.outside` is the address for who comes from outside.
    """
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        for name, value in HEAD.items():
            patch.setenv(name, value)
        patch.setattr("ray._private.ray_constants.ENABLE_RAY_CLUSTER", False)  # read before those variables were set
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.setenv("XDG_CACHE_HOME", cache)
        cluster = Cluster()
        port = free_port()
        cluster.outside = f"ray://127.0.0.1:{port}"
        try:
            add_machine(cluster, include_dashboard=False, ray_client_server_port=port)
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
    family, grown = set(), {pid}
    while grown:
        family |= grown
        grown = {child for child, parent in parents.items() if parent in family} - family
    return family - {pid}


def wait_for(path, count, process):
    """Until a process has so many results in its store."""
    from taskorder.runs.store import Store

    end = time.monotonic() + 200
    while time.monotonic() < end and process.poll() is None:
        if path.exists():
            with Store(path) as store:
                if len(store.entries()) >= count:
                    return
        time.sleep(0.05)
    raise AssertionError(f"no {count} results came: {process.communicate()}")


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
