"""Results to audit, with variances that are known."""

import itertools

import numpy as np

from taskorder.audit.results import Results


def draw(rng, orders, seeds, order, seed, rest):
    """A table with these variances."""
    effects = np.sqrt(order) * rng.standard_normal((orders, 1)) + np.sqrt(seed) * rng.standard_normal((1, seeds))
    return 0.5 + effects + np.sqrt(rest) * rng.standard_normal((orders, seeds))


def accuracy_table(seed=0, order=0.05, noise=0.01, shape=(6, 4, 3)):
    rng = np.random.default_rng(seed)
    return 0.7 + order * rng.standard_normal((shape[0], 1, 1)) + noise * rng.standard_normal(shape)


def results(accuracy, **more):
    """Results of an (orders, seeds, tasks) array."""
    names = [tuple(str(place) for place in range(size)) for size in accuracy.shape]
    return Results(names[0], names[1], names[2], more.pop("task_names", names[2]), accuracy)


def rows_of(accuracy, scale=1.0, **extra):
    """Lines of a table of three tasks in all six orders."""
    ways = [">".join(map(str, way)) for way in itertools.permutations(range(3))]
    return [
        {"order": ways[o], "seed": str(s), "task": str(t), "accuracy": repr(float(scale * accuracy[o, s, t])), **extra}
        for o, s, t in itertools.product(*map(range, accuracy.shape))
    ]
