"""Workers, machines and drivers that die on the way; the store ends up as if nothing had happened."""

import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from taskorder.cli import main
from taskorder.execute.local import complete as complete_here
from taskorder.records import RunSpec
from taskorder.store import Store

from .conftest import add_machine, offspring, still_there

ray = pytest.importorskip("ray")
from taskorder.execute.cluster import TRIES, Share  # noqa: E402
from taskorder.execute.ray import complete  # noqa: E402

SPECS = [RunSpec("square.1", {"x": x}) for x in range(24)]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RAY_USAGE_STATS_ENABLED": "0"}


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


def test_a_slow_machine_gets_less_to_do(machines):
    node = add_machine(machines, env_vars={"TASKORDER_TEST_SLOW": "1"})

    def work(batch):
        slow = "TASKORDER_TEST_SLOW" in os.environ
        time.sleep(3.0 if slow else 0.1)
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
from taskorder.execute.ray import complete
from taskorder.records import RunSpec
from taskorder.store import Store

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
    environment = {**ENVIRONMENT, "RAY_memory_usage_threshold": f"{limit:.4f}", "RAY_memory_monitor_refresh_ms": "50"}
    script = HOG.replace("MANY", "50")
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    num_failed, error, missing = done.stdout.splitlines()
    assert (num_failed, missing) == ("1", "[3]")
    assert error.startswith(f"WorkerLost: OutOfMemoryError in {TRIES} tries")


SLOW_SQUARES = """
import sys, time
from taskorder.execute.ray import complete
from taskorder.records import RunSpec
from taskorder.store import Store

def work(batch):
    time.sleep(0.3)
    return [{"y": spec.params["x"] ** 2} for spec in batch]

with Store(sys.argv[1]) as store:
    complete([RunSpec("square.1", {"x": x}) for x in range(24)], work, store, batch_size=1)
"""


def wait_for(path, count, process):
    """Until so many results are in the store."""
    end = time.monotonic() + 200
    while time.monotonic() < end and process.poll() is None:
        if path.exists():
            with Store(path) as store:
                if len(store.entries()) >= count:
                    return
        time.sleep(0.05)
    raise AssertionError(f"no {count} results came: {process.communicate()}")


def test_a_driver_that_is_killed_leaves_its_results_and_no_process(tmp_path):
    path = tmp_path / "s.sqlite"
    command = [sys.executable, "-c", SLOW_SQUARES, str(path)]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
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
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    with Store(path) as store:
        assert store.get(SPECS) == squares()
        assert kept.items() <= {entry.digest: entry.finished for entry in store.entries()}.items()  # none again


TINY = "dataset = 'digits'\nnum_sets = 6\nnum_tasks = 2\nepochs = 1\nfraction = 0.2\n"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("jax") is None or find_spec("sklearn") is None, reason="needs the engine")
def test_ctrl_c_ends_a_run_on_ray_and_the_same_command_finishes_it(tmp_path, capsys):
    (tmp_path / "tiny.toml").write_text(TINY)
    environment = {**ENVIRONMENT, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "taskorder", "run", str(tmp_path / "tiny.toml"), "--store"]
    path, whole = tmp_path / "ray.sqlite", tmp_path / "whole.sqlite"
    process = subprocess.Popen([*command, str(path), "--ray"], env=environment, stderr=subprocess.PIPE, text=True)
    wait_for(path, 1, process)
    below = offspring(process.pid)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "the same command goes on from there" in said
    assert len(below) > 3
    assert still_there(below) == set()
    with Store(path) as store:
        assert 1 <= len(store.entries()) < 6
    for more in ([str(path), "--ray"], [str(whole)]):
        done = subprocess.run([*command, *more], env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert "6 of 6 done, 0 failed" in done.stdout
    for store in (path, whole):
        assert main(["export", str(store), "-o", f"{store}.csv"]) == 0
    assert Path(f"{path}.csv").read_bytes() == Path(f"{whole}.csv").read_bytes()
