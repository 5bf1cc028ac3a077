"""What a random order costs: mean and spread of the final error over uniformly random orders."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import Floats, output_similarity, positive_count, seed_number, task_weights
from taskorder.theory.closed_form import output_factor, unit_diagonal_similarity

LISTING_LIMIT = 400_000
"""Largest number of orders times residual rows that is listed: 9! with a shared readout, about 0.1 s."""


@dataclass(frozen=True)
class RandomOrders:
    """Statistics of the final error (a sum over tasks, times weights) over random orders."""

    mean: float
    std: float
    """Standard deviation of the error between orders; of the population when exact, else its sample estimate."""
    sem: float
    """Standard error of `mean`; 0 when exact."""
    count: int
    """Number of orders that were evaluated."""
    exact: bool
    """True when every order was evaluated."""


def expected_random_error(
    similarity: ArrayLike,
    output: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    num_samples: int = 1000,
    seed: int = 0,
) -> RandomOrders:
    """Mean and spread of `final_error` over all P! orders, or over random ones when P! is too many.

    All orders are evaluated while P! times the rank of `output` is at most 400,000: to P = 9 for a shared readout.

    Parameters
    ----------
    similarity : array-like, (P, P)
        C, symmetric with ones on the diagonal; it need not be positive semidefinite.
    output : array-like, (P, P), optional
        Output similarity Co; None for one shared readout (all ones).
    weights : array-like, (P,), optional
        Weight of each task's error; 1 by default.
    num_samples : int
        Random orders to evaluate when there are too many.
    seed : int
        Of these random orders.

    Returns
    -------
    RandomOrders
        Mean, standard deviation, standard error of the mean, number of orders, and whether these are all.

    Examples
    --------
    >>> expected_random_error([[1, 0.5], [0.5, 1]])
    RandomOrders(mean=0.0625, std=0.0, sem=0.0, count=2, exact=True)
    """
    C = unit_diagonal_similarity(similarity)
    R = output_factor(output_similarity(output, len(C)), len(C))
    w = task_weights(weights, len(C))
    samples, seed = positive_count(num_samples, "num_samples"), seed_number(seed)
    exact = math.factorial(len(C)) * len(R) <= LISTING_LIMIT
    errors = listed_errors(C, R, w) if exact else sampled_errors(C, R, w, samples, np.random.default_rng(seed))
    std = float(errors.std(ddof=0 if exact else 1)) if len(errors) > 1 else 0.0
    sem = 0.0 if exact else std / math.sqrt(samples) if samples > 1 else math.inf
    return RandomOrders(float(errors.mean()), std, sem, len(errors), exact)


def listed_errors(C: Floats, R: Floats, w: Floats) -> Floats:
    """(P!,) errors of all orders, in lexicographic order; shared prefixes are computed once, level by level.

    A prefix keeps its error e and, for the open tasks only, r = R and h = R W C. With G = C W C, learning j does
    e -= r_j.(2 h_j - r_j G_jj), r -= r_j C_j, h -= r_j G_j.
    """
    G = (C * w) @ C
    open_tasks = np.arange(len(C))[None, :]
    e = np.array([float((R * R).sum(axis=0) @ w)])
    r, h = R[None], ((R * w) @ C)[None]
    for left in range(len(C), 0, -1):
        others = np.array([[p for p in range(left) if p != j] for j in range(left)], dtype=np.int64).reshape(
            left, left - 1
        )
        v, g = r.transpose(0, 2, 1), h.transpose(0, 2, 1)  # (prefix, next task, row)
        e = (e[:, None] - (v * (2 * g - v * np.diagonal(G)[open_tasks][:, :, None])).sum(axis=2)).ravel()
        rest = open_tasks[:, others]  # (prefix, next task, tasks still open after it)
        pairs = open_tasks[:, :, None], rest
        shape = (len(e), len(R), left - 1)
        r = (r[:, :, others].transpose(0, 2, 1, 3) - v[..., None] * C[pairs][:, :, None]).reshape(shape)
        h = (h[:, :, others].transpose(0, 2, 1, 3) - v[..., None] * G[pairs][:, :, None]).reshape(shape)
        open_tasks = rest.reshape(len(e), left - 1)
    # rounding may leave an exact zero slightly negative
    return np.asarray(np.maximum(e, 0.0))


def sampled_errors(C: Floats, R: Floats, w: Floats, num_samples: int, rng: np.random.Generator) -> Floats:
    """(num_samples,) errors of random orders, by the recursion on many orders at once.

    A triangular solve for each order would do less arithmetic, but its BLAS threads cost far more than they bring when
    the machine is busy; these elementwise steps stay in the cache and on one core.
    """
    errors = np.empty(num_samples)
    chunk = max(1, 65_536 // R.size)
    for start in range(0, num_samples, chunk):
        count = min(chunk, num_samples - start)
        orders = rng.permuted(np.tile(np.arange(len(C)), (count, 1)), axis=1)
        r = np.repeat(R[None], count, axis=0)
        step, each = np.empty_like(r), np.arange(count)
        for j in orders.T:
            np.multiply(r[each, :, j][:, :, None], C[j][:, None, :], out=step)
            r -= step
        errors[start : start + count] = (r * r).sum(axis=1) @ w
    return errors
