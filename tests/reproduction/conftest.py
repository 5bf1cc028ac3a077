"""Results of image runs with known answers, made up in place of trained networks."""

import itertools

import numpy as np
import pytest


def tables(similarity):
    """What a run measures when zero-shot transfer gives this similarity exactly."""
    C = np.asarray(similarity, dtype=float)
    return {"loss": ((1 - C) ** 2).tolist(), "chance": np.ones_like(C).tolist(), "accuracy": np.ones_like(C).tolist()}


def random_similarity(num_tasks, seed):
    """A symmetric matrix with ones on the diagonal and entries in [-0.1, 0.5]."""
    C = np.random.default_rng(seed).uniform(-0.1, 0.5, (num_tasks, num_tasks))
    C = (C + C.T) / 2
    np.fill_diagonal(C, 1.0)
    return C


@pytest.fixture(scope="session")
def make_result():
    """A function that gives the result of a run in which `accuracy(order)` is the accuracy of each task at the end.

    similarity: (P, P), or a dict of them by estimate. orders: None for all. pairs: accuracy after two tasks.
    """

    def make(number, similarity, accuracy, orders=None, pairs=lambda a, b: 0.5):
        by_estimate = similarity if isinstance(similarity, dict) else {"test": similarity}
        P = len(next(iter(by_estimate.values())))
        rows = {}
        for order in orders or itertools.permutations(range(P)):
            for length in range(P + 1):
                beginning = tuple(order[:length])
                value = accuracy(beginning) if length == P else pairs(*beginning) if length == 2 else 0.5
                rows.setdefault(beginning, [float(value)] * P)
        values = list(rows.values())
        return {
            "task_set": {"names": [f"task {i}" for i in range(P)], "seed": number, "dataset": "made up", "tasks": []},
            "beginnings": [".".join(map(str, beginning)) for beginning in rows],
            "accuracy": values,
            "loss": values,
            "chance": values,
            "similarities": {
                name: {"value": C.tolist()} if name == "curvature" else tables(C) for name, C in by_estimate.items()
            },
        }

    return make


@pytest.fixture(scope="session")
def make_similarity():
    """A function (num_tasks, seed) -> similarity."""
    return random_similarity
