"""Real tasks for every learner: five pairs of scikit-learn's digits, and a program that learns them as a black box."""

import sys
from pathlib import Path

import numpy as np
import pytest

from taskorder.task import Task

PROGRAM = Path(__file__).parent / "program.py"


@pytest.fixture(scope="session")
def digits():
    """0 or 1, 2 or 3, ..., 8 or 9: sixty to train on and forty to measure on; the last task has fewer to train on."""
    data = pytest.importorskip("sklearn.datasets").load_digits()
    tasks = []
    for low in range(0, 10, 2):
        rows = np.flatnonzero(np.isin(data.target, (low, low + 1)))
        inputs, labels = data.data[rows] / 16, (data.target[rows] == low + 1).astype(int)
        n = 41 if low == 8 else 60
        tasks.append(Task(f"{low} or {low + 1}", inputs[:n], labels[:n], inputs[60:100], labels[60:100]))
    return tuple(tasks)


@pytest.fixture(scope="session")
def command(digits, tmp_path_factory):
    """The command of a program that knows the tasks by name."""
    folder = tmp_path_factory.mktemp("program")
    arrays = {}
    for task in digits:
        arrays |= {f"{task.name}/inputs": task.inputs, f"{task.name}/labels": task.labels}
        arrays |= {f"{task.name}/eval_inputs": task.eval_inputs, f"{task.name}/eval_labels": task.eval_labels}
    np.savez(folder / "digits.npz", **arrays)
    return [sys.executable, str(PROGRAM), str(folder / "digits.npz")]
