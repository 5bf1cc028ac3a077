"""Random samples of labeled examples with the same share of every class."""

from __future__ import annotations

import numpy as np

from taskorder.checks import Ints


def stratified_counts(sizes: Ints, total: int, *, least: int, most: Ints) -> Ints:
    """How many of each class make a sample of `total` examples, shared out by largest remainder.

    sizes: of the classes. least, most: bounds for every class; `total` must lie between their sums.

    >>> stratified_counts(np.array([6, 3, 1]), 4, least=1, most=np.array([6, 3, 1])).tolist()
    [2, 1, 1]
    """
    exact = sizes * (total / max(int(sizes.sum()), 1))
    counts: Ints = np.clip(np.floor(exact), least, most).astype(np.int64)
    while counts.sum() > total:  # rare classes got their least: the others make room
        counts[np.where(counts > least, counts - exact, -np.inf).argmax()] -= 1
    while (left := total - int(counts.sum())) > 0:  # what rounding left over goes where most is missing
        short = np.argsort(np.where(counts < most, counts - exact, np.inf), kind="stable")
        counts[short[: min(left, int((counts < most).sum()))]] += 1
    return counts


def stratified_rows(labels: Ints, counts: Ints, rng: np.random.Generator) -> Ints:
    """Random rows, sorted: `counts[k]` of the k-th of the classes that occur in `labels`.

    >>> rows = stratified_rows(np.array([5, 5, 7, 7, 7]), np.array([1, 2]), np.random.default_rng(0))
    >>> np.array([5, 5, 7, 7, 7])[rows].tolist()
    [5, 7, 7]
    """
    classes = np.unique(labels)
    chosen = [rng.permutation(np.flatnonzero(labels == k))[:n] for k, n in zip(classes, counts, strict=True)]
    return np.sort(np.concatenate(chosen))


def stratified_share(labels: Ints, share: float, seed: int) -> Ints:
    """Random rows, sorted: the same share of every class, at least one example of each.

    >>> len(stratified_share(np.repeat([0, 1], [90, 10]), 0.1, seed=0))
    10
    """
    sizes = np.unique(labels, return_counts=True)[1]
    counts = np.array([max(1, round(share * int(size))) for size in sizes])
    return stratified_rows(labels, counts, np.random.default_rng(seed))
