"""The engine gives the same table everywhere: one or two threads, Ray with one, two or three machines, interrupted."""

import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from taskorder.cli import main
from taskorder.runs.settings import read_config
from taskorder.runs.specs import RunSpecs
from taskorder.runs.store import Store

from .conftest import environment, offspring, still_there, wait_for

pytest.importorskip("ray")
pytestmark = [
    pytest.mark.slow("ray"),
    pytest.mark.skipif(find_spec("jax") is None or find_spec("sklearn") is None, reason="needs the engine"),
]

TINY = """
dataset = "digits"
num_sets = 6
num_tasks = 2
epochs = 1
fraction = 0.2
similarities = ["test", "curvature"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("engine")
    (path / "tiny.toml").write_text(TINY)
    return path


@pytest.fixture(scope="module")
def command(folder, cache):
    """Starts `taskorder run` into a store of that name."""

    def start(name, *more, **variables):
        words = [sys.executable, "-m", "taskorder", "run", str(folder / "tiny.toml"), "--store", str(folder / name)]
        return subprocess.Popen(
            [*words, *more],
            env=environment(XDG_CACHE_HOME=cache, **variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def finished(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "6 of 6 done, 0 failed" in out


def results(path):
    """The exported table as bytes, the similarities, and those by curvature, from a store."""
    assert main(["export", str(path), "-o", f"{path}.csv"]) == 0
    with Store(path) as store:
        similarities = [
            result["similarities"] for result in store.get(RunSpecs(read_config(path.parent / "tiny.toml")))
        ]
    curvature = [by_name.pop("curvature")["value"] for by_name in similarities]
    return Path(f"{path}.csv").read_bytes(), similarities, np.array(curvature)


@pytest.fixture(scope="module")
def whole(folder, command):
    """The results of a run with one thread."""
    finished(command("whole", NPROC="1"))
    return results(folder / "whole")


def same(ours, whole):
    """Bit by bit, but for the curvature, where XLA's sum over the examples depends on the number of threads."""
    assert ours[0] == whole[0]
    assert ours[1] == whole[1]
    np.testing.assert_allclose(ours[2], whole[2], rtol=0, atol=1e-5 * np.abs(whole[2]).max())


def test_two_threads(folder, command, whole):
    finished(command("two", NPROC="2"))
    same(results(folder / "two"), whole)


def test_ctrl_c_ends_a_run_on_ray_and_the_same_command_finishes_it(folder, command, whole):
    process = command("again", "--ray")
    wait_for(folder / "again", 1, process)
    below = offspring(process.pid)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "the same command goes on from there" in said
    assert len(below) > 3
    assert still_there(below) == set()
    with Store(folder / "again") as store:
        assert 1 <= len(store.entries()) < 6
    finished(command("again", "--ray"))
    same(results(folder / "again"), whole)


def test_two_machines_from_outside(folder, command, whole, machines):
    finished(command("outside", "--ray", machines.outside))
    same(results(folder / "outside"), whole)


def test_three_machines(folder, whole, machines, third):
    from taskorder.datasets import load
    from taskorder.runs.ray import complete
    from taskorder.runs.training import Training

    training = Training(load("digits"))
    with Store(folder / "three") as store:
        wanted = RunSpecs(read_config(folder / "tiny.toml"))
        assert complete(wanted, training, store, batch_size=1, device=training.device) == 0
        assert all(entry.device.startswith("cpu: ") for entry in store.entries())
    same(results(folder / "three"), whole)
