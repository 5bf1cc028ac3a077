"""A worker, a machine, the head or the driver of a cluster is killed while it trains: nothing that is finished is lost.

Each of the four ends `taskorder run` or `taskorder plan` once; what is finished by then stays as it is, and the results
are those of a process that nobody disturbs.
"""

import csv
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from taskorder.cli import main
from taskorder.runs.store import Store

from .conftest import environment, offspring, wait_for

pytest.importorskip("ray")
pytest.importorskip("jax")
pytest.importorskip("sklearn")

pytestmark = pytest.mark.slow("ray")

CLUSTER = """
import sys
from ray.cluster_utils import Cluster
ROOM = 80 * 2**20
cluster = Cluster()
cluster.add_node(num_cpus=0, include_dashboard=False, object_store_memory=ROOM)
others = [cluster.add_node(num_cpus=1, object_store_memory=ROOM) for _ in range(2)]
cluster.wait_for_nodes()
print(cluster.address, flush=True)
for line in sys.stdin:
    cluster.remove_node(others.pop(), allow_graceful=False)
    print("gone", flush=True)
"""
"""A head that does no work, and two machines that do; a line on stdin kills one of these."""

DRIVER = """
import sys
from taskorder.cli import main
from taskorder.runs import head

head.REACHED_SECONDS, head.ASKED_AGAIN_SECONDS = 3.0, 0.5
sys.exit(main(sys.argv[1:]))
"""
RUN = ("run", "tiny.toml", "--store", "{folder}/runs.sqlite", "--batch", "1")
PLAN = (
    "plan", "north.csv", "south.csv", "east.csv", "west.csv", "--pilot", "90%", "--seeds", "2", "--epochs", "60",
    "--learner", "sklearn:MLPClassifier(hidden_layer_sizes=(300,))", "--folder", "{folder}",
)  # fmt: skip
COMMANDS = {"run": (RUN, "runs.sqlite"), "plan": (PLAN, "fits.sqlite")}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with a config and with tables."""
    folder = tmp_path_factory.mktemp("deaths")
    (folder / "tiny.toml").write_text(
        "dataset = 'digits'\nnum_sets = 8\nnum_tasks = 3\nfraction = 1.0\norders = 'all'\nepochs = 3\n"
    )
    rng = np.random.default_rng(0)
    for number, name in enumerate(("north", "south", "east", "west")):
        x = rng.normal(size=(120, 2))
        labels = np.where(x @ [np.cos(number), np.sin(number)] > 0, "yes", "no")
        with open(folder / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([["age", "income", "label"], *zip(*x.T.tolist(), labels, strict=True)])
    return folder


@pytest.fixture(scope="module", params=[*COMMANDS])
def cluster(request, cache):
    """A cluster in a process of its own for a command, and its address; the deaths below leave ever less of it."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    process = subprocess.Popen([sys.executable, "-c", CLUSTER], env=environment(XDG_CACHE_HOME=cache), **pipes)
    process.command, process.address = request.param, process.stdout.readline().strip()
    yield process
    end(process)


def end(process):
    """Kill a process and all below it."""
    for pid in {*offspring(process.pid), process.pid} if process.poll() is None else ():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()


def entries(path):
    """What is finished, and when it was."""
    with Store(path) as store:
        return {entry.digest: entry.finished for entry in store.entries()}


def results(path):
    with Store(path) as store:
        return {entry.digest: store.result(entry.digest) for entry in store.entries()}


def kill_a_worker(cluster, driver):
    """One that is at work: Ray names a process after what it does."""
    limit = time.monotonic() + 60
    while time.monotonic() < limit:
        for pid in offspring(cluster.pid):
            try:
                name = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if name.startswith((b"ray::_work", b"ray::_fit")):
                os.kill(pid, signal.SIGKILL)
                return
    raise AssertionError("no worker was at work")


def kill_a_machine(cluster, driver):
    print("one", file=cluster.stdin, flush=True)
    assert cluster.stdout.readline() == "gone\n"


def kill_the_head(cluster, driver):
    end(cluster)


def kill_the_driver(cluster, driver):
    driver.kill()


@pytest.mark.parametrize("death", [kill_a_worker, kill_the_driver, kill_a_machine, kill_the_head])
def test_nothing_that_was_finished_is_lost(death, cluster, data, tmp_path, cache, undisturbed):
    words, store = COMMANDS[cluster.command]
    words = [word.format(folder=tmp_path) for word in words]
    path = tmp_path / store
    how = {"env": environment(XDG_CACHE_HOME=cache, RAY_ADDRESS=cluster.address), "cwd": data}
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, *words, "--ray", "auto"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how,
    )  # fmt: skip
    wait_for(path, 2, driver)
    before = entries(path)
    death(cluster, driver)
    out, said = driver.communicate(timeout=240)
    assert "Traceback" not in said
    assert before.items() <= entries(path).items()
    survives = death in (kill_a_worker, kill_a_machine)
    assert driver.returncode == (0 if survives else 2 if death is kill_the_head else -signal.SIGKILL), (out, said)
    kept = entries(path)
    wanted = results(undisturbed(cluster.command) / store)
    assert (len(kept) == len(wanted)) == survives  # the others were ended on the way
    if not survives:
        done = subprocess.run([sys.executable, "-c", DRIVER, *words], capture_output=True, text=True, **how)
        assert done.returncode == 0, done.stderr
    assert kept.items() <= entries(path).items()
    assert results(path) == wanted


@pytest.fixture(scope="module")
def undisturbed(data, tmp_path_factory, cache):
    """A function (command) -> folder of what it writes here, without Ray and in peace."""
    made = {}

    def make(command):
        if command not in made:
            folder = made[command] = tmp_path_factory.mktemp("undisturbed")
            words = [word.format(folder=folder) for word in COMMANDS[command][0]]
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(data)
                patch.setenv("XDG_CACHE_HOME", cache)
                assert main(words) == 0
        return made[command]

    return make
