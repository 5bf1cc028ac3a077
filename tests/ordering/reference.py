"""The plainest truth for small problems: every allowed order, the recursion in Python, nothing shared with src."""

from itertools import permutations

import numpy as np


def final_error(similarity, sequence, output=None, weights=None, learned=()):
    """Weighted error after learning `learned` and then `sequence`, one task at a time."""
    size = len(similarity)
    values, vectors = np.linalg.eigh(np.ones((size, size)) if output is None else output)
    residual = np.diag(np.sqrt(np.clip(values, 0, None))) @ vectors.T
    for task in (*learned, *sequence):
        residual = residual - np.outer(residual[:, task], similarity[task])
    return float((residual**2).sum(axis=0) @ (np.ones(size) if weights is None else weights))


def allowed_orders(size, learned=(), before=(), first=None, last=None, groups=()):
    """Every order of the tasks not yet learned that keeps the constraints."""
    for order in permutations([task for task in range(size) if task not in learned]):
        place = {task: step for step, task in enumerate(order)}
        if first is not None and order[0] != first:
            continue
        if last is not None and order[-1] != last:
            continue
        if all(a in learned or place[a] < place[b] for a, b in before) and keeps_groups((*learned, *order), groups):
            yield order


def keeps_groups(sequence, groups):
    """Whether the tasks of each group follow each other."""
    steps = [[step for step, task in enumerate(sequence) if task in group] for group in groups]
    return all(places[-1] - places[0] == len(places) - 1 for places in steps)


def extremes(similarity, output=None, weights=None, learned=(), before=(), first=None, last=None, groups=()):
    """Smallest and largest error over all allowed orders."""
    errors = [
        final_error(similarity, order, output, weights, learned)
        for order in allowed_orders(len(similarity), learned, before, first, last, groups)
    ]
    return min(errors), max(errors)
