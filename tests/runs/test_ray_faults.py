"""Workers, machines and drivers that die on the way; the store ends up as if nothing had happened."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from taskorder.runs.local import complete as complete_here
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store

from .conftest import add_machine, environment, free_port, offspring, still_there, wait_for

ray = pytest.importorskip("ray")
from taskorder.runs.cluster import TRIES, Share

pytestmark = pytest.mark.slow("ray")
from taskorder.runs.ray import complete

SPECS = [RunSpec("square.1", {"x": x}) for x in range(24)]


@pytest.fixture(autouse=True)
def by_value():
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    yield
    ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def square(batch):
    return [{"y": spec.params["x"] ** 2} for spec in batch]


def squares():
    with Store() as store:
        complete_here(SPECS, square, store)
        return store.get(SPECS)


class Once:
    """Does something terrible to the worker the first time that a spec is run, and squares after that."""

    def __init__(self, folder, xs, terrible):
        self.folder, self.xs, self.terrible = folder, xs, terrible

    def __call__(self, batch):
        for spec in batch:
            mark = self.folder / str(spec.params["x"])
            if spec.params["x"] in self.xs and not mark.exists():
                mark.touch()
                self.terrible()
        return square(batch)


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_costs_nothing(machines, tmp_path):
    with Store() as store:
        assert complete(SPECS, Once(tmp_path, {2, 9}, killed), store, batch_size=3, keep_going=True) == 0
        assert store.get(SPECS) == squares()
    assert {path.name for path in tmp_path.iterdir()} == {"2", "9"}


def test_a_spec_that_always_kills_its_worker_is_given_up_and_the_rest_goes_on(machines, tmp_path):
    log = tmp_path / "log"

    def deadly(batch):
        if any(spec.params["x"] == 7 for spec in batch):
            with log.open("a") as file:
                file.write(f"{len(batch)} ")
            killed()
        return square(batch)

    with Store() as store:
        assert complete(SPECS, deadly, store, batch_size=2, keep_going=True) == 1
        assert store.missing(SPECS) == SPECS[7:8]
        assert f"WorkerLost: WorkerCrashedError in {TRIES} tries" in store.failures()[0].error
    assert log.read_text().split() == ["2"] * TRIES + ["1"] * TRIES


def test_a_machine_that_dies_costs_nothing(machines, third, tmp_path):
    held = tmp_path / "held"

    def work(batch):
        (tmp_path / ray.get_runtime_context().get_node_id()).touch()
        while not held.exists():
            time.sleep(0.05)
        return square(batch)

    def report(done, total):
        if not held.exists() and len(list(tmp_path.iterdir())) == 3:  # every machine is at work
            machines.remove_node(third, allow_graceful=False)
            held.touch()

    with Store() as store:
        assert complete(SPECS, work, store, batch_size=2, report=report, keep_going=True) == 0
        assert store.get(SPECS) == squares()
    assert held.exists()


def test_a_slow_machine_gets_less_to_do(machines, tmp_path):
    node, begun = add_machine(machines, env_vars={"TASKORDER_TEST_SLOW": "1"}), tmp_path / "begun"

    def work(batch):
        slow = "TASKORDER_TEST_SLOW" in os.environ
        if slow:
            begun.touch()
        while not begun.exists():  # its worker may start late
            time.sleep(0.05)
        time.sleep(2.0 if slow else 0.1)
        return [{"slow": slow} for _ in batch]

    try:
        with Store() as store:
            assert complete(SPECS, work, store, batch_size=1) == 0
            slow = [result["slow"] for result in store.get(SPECS)]
    finally:
        machines.remove_node(node)
    assert 1 <= sum(slow) <= 8


def test_workers_that_cannot_do_it_at_all_are_one_error(machines):
    class Picky:
        def __reduce__(self):
            return (os.environ.__getitem__, ("TASKORDER_TEST_NOWHERE",))  # no worker has it

    with Store() as store:
        with pytest.raises(
            ValueError, match=r"Ray's machines must have taskorder .* got KeyError: 'TASKORDER_TEST_NOWHERE'"
        ):
            complete(SPECS, Picky(), store, keep_going=True)
        assert store.failures() == []


def test_a_worker_may_say_how_large_batches_are(machines):
    with Store() as store:
        assert complete(SPECS, lambda batch: [{"n": len(batch)} for _ in batch], store, batch_size=lambda: 12) == 0
        assert store.get(SPECS) == [{"n": 12}] * 24


def test_a_share_that_no_machine_has_is_counted_as_no_worker(machines):
    machines.wait_for_nodes()  # one that was taken away may be counted for a while
    assert Share().workers() == 2
    assert Share(cpus=0.5).workers() == 4
    assert Share(cpus=2).workers() == Share(gpus=1).workers() == 0


HOG = """
import time
import numpy as np
from taskorder.runs.ray import complete
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store

def work(batch):
    if any(spec.params["x"] == 3 for spec in batch):
        kept = [np.ones(10_000_000) for _ in range(MANY)]
        time.sleep(30)
    return [{"y": spec.params["x"] ** 2} for spec in batch]

specs = [RunSpec("square.1", {"x": x}) for x in range(6)]
with Store() as store:
    print(complete(specs, work, store, batch_size=1, keep_going=True))
    print(*(failure.error for failure in store.failures()))
    print([spec.params["x"] for spec in store.missing(specs)])
"""


def test_a_worker_that_runs_out_of_memory_loses_its_spec_and_no_other():
    """Ray's own guard ends it, at a limit that is set low here: 2 GB above what is in use."""
    memory = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    total, free = (int(memory[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    if free < 8_000_000:
        pytest.skip("needs 8 GB of free memory")
    limit = (total - free + 2_000_000) / total
    watched = environment(RAY_memory_usage_threshold=f"{limit:.4f}", RAY_memory_monitor_refresh_ms="50")
    script = HOG.replace("MANY", "50")
    done = subprocess.run([sys.executable, "-c", script], env=watched, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    num_failed, error, missing = done.stdout.splitlines()
    assert (num_failed, missing) == ("1", "[3]")
    assert error.startswith(f"WorkerLost: OutOfMemoryError in {TRIES} tries")


SLOW_SQUARES = """
import sys, time
from taskorder.cli import onray
from taskorder.runs import head
from taskorder.runs.cluster import Share
from taskorder.runs.ray import complete
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store

head.REACHED_SECONDS, head.ASKED_AGAIN_SECONDS = 3.0, 0.5
path, address, seconds, count, how = sys.argv[1:]

def work(batch):
    time.sleep(float(seconds) * batch[0].params["x"])
    return [{"y": spec.params["x"] ** 2} for spec in batch]

def ask(done, total):
    if how == "asks the head":  # most of the time; Ray never comes back from that, and ends the process after a minute
        import ray
        for _ in range(done and 1000):
            ray.nodes()

if how == "another machine":  # the head dies, Ray's agent on this one does not
    head._agent = lambda: None
try:
    with Store(path) as store, onray.on_ray(address, Share()):
        specs = [RunSpec("square.1", {"x": x}) for x in range(int(count))]
        complete(specs, work, store, batch_size=1, report=ask)
except ValueError as problem:
    onray.say(f"error: {problem}")
    sys.exit(2)
"""


def slow_squares(path, address, seconds, count=24, how="", **more):
    """The first takes no time, the next one so many seconds, the one after that twice as many."""
    command = [sys.executable, "-c", SLOW_SQUARES, str(path), address, str(seconds), str(count), how]
    return subprocess.Popen(command, env=environment(**more), stderr=subprocess.PIPE, text=True)


def test_a_driver_that_is_killed_leaves_its_results_and_no_process_and_another_goes_on(machines, tmp_path):
    path = tmp_path / "s.sqlite"
    process = slow_squares(path, "local", seconds=0.05)
    wait_for(path, 3, process)
    # Two agents of Ray's own look only now and then whether they are alone, and end after a minute.
    below = {pid for pid in offspring(process.pid) if b"Agent" not in Path(f"/proc/{pid}/cmdline").read_bytes()}
    assert len(below) > 3
    process.kill()
    process.communicate()
    assert still_there(below) == set()
    with Store(path) as store:
        kept = {entry.digest: entry.finished for entry in store.entries()}
        assert 3 <= len(kept) < 24
        assert complete(SPECS, square, store, batch_size=1) == 0
        assert store.get(SPECS) == squares()
        assert kept.items() <= {entry.digest: entry.finished for entry in store.entries()}.items()  # none again


CRASH_ONCE = """
import os, signal, sys

def crash_once():
    try:
        os.close(os.open(os.environ["TASKORDER_TEST_CRASHED"], os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGSEGV)

if "ray.util.client.server" in sys.orig_argv and "--mode=proxy" in sys.orig_argv:
    os.register_at_fork(after_in_child=crash_once)
"""
"""A sitecustomize.py: the first process that the server of clients forks crashes at once, as in gRPC."""

HEAD = """
import sys, time
from ray.cluster_utils import Cluster
cluster = Cluster()
cluster.add_node(num_cpus=4, include_dashboard=False, object_store_memory=80 * 2**20, ray_client_server_port=PORT)
print(cluster.address, flush=True)
sys.stdin.read()
"""


def test_a_head_that_dies_is_one_line_and_the_results_are_kept(tmp_path):
    """For a driver on its machine, on another, in a call that asks the head, and from outside (its server crashes)."""
    port, crashed = free_port(), tmp_path / "crashed"
    (tmp_path / "sitecustomize.py").write_text(CRASH_ONCE)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    variables = environment(PYTHONPATH=paths, TASKORDER_TEST_CRASHED=str(crashed))
    head = subprocess.Popen([sys.executable, "-c", HEAD.replace("PORT", str(port))], env=variables, **pipes)
    quick = {"RAY_ADDRESS": head.stdout.readline().strip(), "RAY_CLIENT_RECONNECT_GRACE_PERIOD": "3"}
    drivers = {}
    try:
        for how in ("outside", "here", "another machine", "asks the head"):
            path, address = tmp_path / how, f"ray://127.0.0.1:{port}" if how == "outside" else "auto"
            drivers[path] = slow_squares(path, address, seconds=1000, count=2, how=how, **quick)
        for path, driver in drivers.items():
            wait_for(path, 1, driver)
        assert crashed.exists()
    finally:
        for pid in {*offspring(head.pid), head.pid}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        head.communicate()
    for path, driver in drivers.items():
        _, said = driver.communicate(timeout=50)  # Ray itself would end it after a minute, with other words
        assert driver.returncode == 2, said
        *others, last = said.splitlines()
        assert last.startswith("taskorder: error: the head of the Ray cluster must answer, got nothing from")
        assert "Traceback" not in said
        assert path.name == "outside" or others == []  # there it has asked for another server, and Ray says a word
        with Store(path) as store:
            assert len(store.entries()) == 1
            assert store.failures() == []
            assert complete_here(SPECS, square, store) == 0
            assert store.get(SPECS) == squares()
