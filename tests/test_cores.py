"""The same orders, bounds and trained numbers on machines with 1, 3, 8, 64 and 256 cores, and no more threads."""

import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict

import numpy as np
import pytest

from taskorder import simulate, solve
from taskorder.machine import cores
from taskorder.ordering.listing import all_errors
from taskorder.ordering.solver_input import solver_input

CORES = 1, 3, 8, 64, 256


@pytest.fixture
def machine(monkeypatch):
    """A function (number of cores) that makes this machine look so, and lists how many threads were there at a time."""
    most, begin = [], threading.Thread.start
    monkeypatch.delenv("NPROC", raising=False)

    def started(thread):
        begin(thread)
        most.append(threading.active_count())

    def change(count):
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(count)), raising=False)
        monkeypatch.setattr(os, "cpu_count", lambda: count)
        monkeypatch.setattr(threading.Thread, "start", started)
        assert cores() == count
        most[:] = [threading.active_count()]
        return most

    return change


def plan_of(table, **options):
    return json.dumps({**asdict(solve(table, time_limit=None, **options)), "seconds": 0})


def simulated(table):
    return simulate(table, range(3), num_seeds=12, steps=5).to_json()


def listed(table):
    return all_errors(solver_input(table, retention=1).problem()).tobytes()


JOBS = {
    "branch and bound": (lambda table: plan_of(table, retention=1), 13),
    "meet in the middle": (lambda table: plan_of(table, retention=1, output=0.5 + 0.5 * np.eye(10)), 10),
    "the law": (lambda table: plan_of(table), 30),
    "a list of all orders": (listed, 9),
    "a simulation": (simulated, 3),
}


@pytest.mark.parametrize("job", [*JOBS])
def test_the_number_of_cores_changes_no_digit(job, machine, make_correlation):
    work, size = JOBS[job]
    table = make_correlation(size, 3)
    before = threading.active_count()
    answers = set()
    for count in CORES:
        most = machine(count)
        answers.add(work(table))
        assert max(most) - before <= count
        assert threading.active_count() == before
    assert len(answers) == 1


def test_networks_are_trained_to_the_same_bits(machine, monkeypatch):
    pytest.importorskip("jax")
    from taskorder import Task
    from taskorder.engine import train
    from taskorder.engine.nets import mlp
    from taskorder.learners import JaxLearner, learn_orders

    monkeypatch.setattr(train, "CACHE_BYTES", 1)  # two networks at a time are one piece of work
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(3, 40, 4)).astype(np.float32)
    tasks = [Task(f"t{k}", x, x[:, k] > 0) for k, x in enumerate(inputs)]
    learner = JaxLearner(mlp((4,), 2, hidden=(8,)))
    before, answers = threading.active_count(), []
    for count in CORES:
        most = machine(count)
        train._cores.cache_clear()
        answers.append(learn_orders(learner, tasks, [(0, 1), (1, 2)], range(4)))
        train._cores().shutdown()
        assert max(most) - before <= count
    train._cores.cache_clear()
    assert all(answer == answers[0] for answer in answers)


TRAINING = """
import numpy as np
from taskorder import Task
from taskorder.engine.nets import mlp
from taskorder.learners import JaxLearner, SklearnLearner, TorchLearner, learn_orders
import torch
from sklearn.neural_network import MLPClassifier

rng = np.random.default_rng(0)
inputs = rng.normal(size=(2, 300, 64)).astype(np.float32)
tasks = [Task(f"t{k}", x, x[:, k] > 0) for k, x in enumerate(inputs)]
net = lambda: torch.nn.Sequential(torch.nn.Linear(64, 200), torch.nn.ReLU(), torch.nn.Linear(200, 2))
jax, sklearn = JaxLearner(mlp((64,), 2, hidden=(200,))), SklearnLearner(MLPClassifier((200,)), epochs=2)
for learner in (jax, sklearn, TorchLearner(net, epochs=2)):
    for table in learn_orders(learner, tasks, [(0, 1), (1, 0)], (0, 1)):
        print({prefix: [float(score.loss).hex() for score in row] for prefix, row in table.items()})
"""


@pytest.mark.slow("training")
def test_threads_of_the_libraries_change_no_trained_number():
    """XLA, OpenBLAS, OpenMP and MKL are told how many threads to take."""
    pytest.importorskip("jax")
    pytest.importorskip("sklearn")
    pytest.importorskip("torch")
    answers = set()
    for count in CORES:
        names = "NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **dict.fromkeys(names, str(count))}
        done = subprocess.run([sys.executable, "-c", TRAINING], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        answers.add(done.stdout)
    assert len(answers) == 1
    assert answers.pop().count("\n") == 6
