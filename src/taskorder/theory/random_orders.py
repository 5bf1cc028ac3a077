"""What a random order is worth: mean and spread of the final error or score over uniformly random orders."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import (
    Floats,
    Ints,
    output_similarity,
    positive_count,
    seed_number,
    square_matrix,
    task_weights,
)
from taskorder.constraints import Constraints, TaskName
from taskorder.theory.closed_form import no_output, output_factor, unit_diagonal_similarity
from taskorder.theory.law import checked_retention, checked_start

LISTING_LIMIT = 400_000
"""Largest number of orders times residual rows that is listed: 9! with a shared readout, about 0.1 s."""

GROUPED_LIMIT = 40_320
"""Largest number of orders that keep groups together that is listed: as many as of eight tasks."""

SUBSET_LIMIT = 12
"""Largest number of tasks for which the moments of the score over all orders are computed: about 0.1 s."""


@dataclass(frozen=True)
class RandomOrders:
    """Statistics over random orders of the final error (a weighted sum over tasks) or score (a weighted mean)."""

    mean: float
    std: float
    """Standard deviation between orders; of the population when exact, else its sample estimate."""
    sem: float
    """Standard error of `mean`; 0 when exact."""
    count: int
    """Number of orders that these are statistics of."""
    exact: bool
    """True when these are all orders."""


def expected_random_error(
    similarity: ArrayLike,
    output: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    retention: ArrayLike = 1.0,
    groups: Iterable[Iterable[TaskName]] = (),
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
    retention : float or array-like, (P,)
        As for `final_error`; below 1 `similarity` may be any transfer table, and `output` must be None.
    groups : lists of tasks
        Tasks that stay together: only orders in which those of one list follow each other count, all alike. Up to
        40,320 of them are evaluated.
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
    >>> expected_random_error(np.eye(4), groups=[[0, 1], [2, 3]]).count
    8
    """
    S = square_matrix(similarity)
    samples, rng = positive_count(num_samples, "num_samples"), np.random.default_rng(seed_number(seed))
    w, d = task_weights(weights, len(S)), checked_retention(retention, len(S))
    together = Constraints.of(len(S), groups=groups).together
    listed = None if together is None else orders_in_groups(together)
    if (d < 1).any():
        no_output(output)
        if together is not None:
            drawn = uniform_orders(len(S), samples, rng, together) if listed is None else listed
            return _statistics((1 - knowledge_after(S, drawn, d)) ** 2 @ w, listed is not None)
        exact = math.factorial(len(S)) <= LISTING_LIMIT
        orders = (
            np.array(list(itertools.permutations(range(len(S))))) if exact else uniform_orders(len(S), samples, rng)
        )
        return _statistics((1 - knowledge_after(S, orders, d)) ** 2 @ w, exact)
    C = unit_diagonal_similarity(S)
    R = output_factor(output_similarity(output, len(C)), len(C))
    if together is not None:
        errors = sampled_errors(C, R, w, samples, rng, together) if listed is None else errors_after(C, R, w, listed)
        return _statistics(errors, listed is not None)
    exact = math.factorial(len(C)) * len(R) <= LISTING_LIMIT
    return _statistics(listed_errors(C, R, w) if exact else sampled_errors(C, R, w, samples, rng), exact)


def expected_random_score(
    table: ArrayLike,
    retention: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    start: ArrayLike | None = None,
    groups: Iterable[Iterable[TaskName]] = (),
    num_samples: int = 1000,
    seed: int = 0,
) -> RandomOrders:
    """Mean and spread of `final_score` over all P! orders, or over random ones for more than 12 tasks.

    Every step is affine in the state. So mean and covariance of the state over all orders of a subset follow from those
    of the subsets with one task less, and 2^P subsets stand for P! orders.

    Parameters
    ----------
    table : array-like, (P, P)
        Transfer table of knowledge; row: task that was learned, column: task that is tested.
    retention : float or array-like, (P,)
        Share of its knowledge that the learner keeps when it learns the next task.
    weights : array-like, (P,), optional
        Importance of each task; equal by default.
    start : array-like, (P,), optional
        Knowledge of each task before the first step; 0 by default.
    groups : lists of tasks
        Tasks that stay together: only orders in which those of one list follow each other count, all alike. Up to
        40,320 of them are evaluated.
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
    >>> expected_random_score([[1, 0.5], [0.1, 1]], retention=0)
    RandomOrders(mean=0.65, std=0.1, sem=0.0, count=2, exact=True)
    """
    S = square_matrix(table, "table")
    samples, rng = positive_count(num_samples, "num_samples"), np.random.default_rng(seed_number(seed))
    w, d = task_weights(weights, len(S)), checked_retention(retention, len(S))
    s = np.zeros(len(S)) if start is None else checked_start(start, len(S))
    w = w / w.sum()
    together = Constraints.of(len(S), groups=groups).together
    if together is not None:
        listed = orders_in_groups(together)
        drawn = uniform_orders(len(S), samples, rng, together) if listed is None else listed
        return _statistics(knowledge_after(S, drawn, d, s) @ w, listed is not None)
    if len(S) > SUBSET_LIMIT:
        return _statistics(knowledge_after(S, uniform_orders(len(S), samples, rng), d, s) @ w, exact=False)
    mean, covariance = moments_over_orders(S, d, s)
    return RandomOrders(
        float(mean @ w), math.sqrt(max(0.0, float(w @ covariance @ w))), 0.0, math.factorial(len(S)), exact=True
    )


def _statistics(values: Floats, exact: bool) -> RandomOrders:
    std = float(values.std(ddof=0 if exact else 1)) if len(values) > 1 else 0.0
    sem = 0.0 if exact else std / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return RandomOrders(float(values.mean()), std, sem, len(values), exact)


def orders_in_groups(together: Ints) -> Ints | None:
    """(b, P) every order that keeps groups together, as `Constraints.together` gives them; None for too many.

    >>> orders_in_groups(np.array([0, 0, 2])).tolist()
    [[0, 1, 2], [2, 0, 1], [1, 0, 2], [2, 1, 0]]
    """
    groups = [np.flatnonzero(together == head).tolist() for head in np.unique(together)]
    if math.factorial(len(groups)) * math.prod(math.factorial(len(group)) for group in groups) > GROUPED_LIMIT:
        return None
    inside = itertools.product(*(itertools.permutations(group) for group in groups))
    return np.array([sum(order, ()) for parts in inside for order in itertools.permutations(parts)], dtype=np.int64)


def uniform_orders(num_tasks: int, count: int, rng: np.random.Generator, together: Ints | None = None) -> Ints:
    """(count, P) uniformly random orders, of those that keep groups together where there are some."""
    if together is not None:
        of_group, own = rng.random((count, num_tasks))[:, together], rng.random((count, num_tasks))
        return np.lexsort((own, of_group), axis=1)
    return rng.permuted(np.tile(np.arange(num_tasks), (count, 1)), axis=1)


def knowledge_after(S: Floats, orders: Ints, d: Floats, start: Floats | None = None) -> Floats:
    """(count, P) knowledge after each of many orders of equal length."""
    s = np.zeros((len(orders), len(S))) if start is None else np.tile(start, (len(orders), 1))
    each = np.arange(len(orders))
    for k in orders.T:
        s *= d[k][:, None]
        s += S[k] * (1 - s[each, k])[:, None]
    return s


def moments_over_orders(S: Floats, d: Floats, start: Floats) -> tuple[Floats, Floats]:
    """Mean (P,) and covariance (P, P) of the final knowledge over all orders.

    In a subset A each task k is the last with equal probability. Learning it takes mean and covariance of A without k
    to d_k m + S_k (1 - d_k m_k) and d_k^2 (I - S_k e_k^T) V (I - S_k e_k^T)^T; the means of the k differ, too.
    """
    tasks = np.arange(len(S))
    member = (np.arange(2 ** len(S))[:, None] >> tasks) & 1 == 1
    size, index = member.sum(axis=1), np.zeros(len(member), dtype=np.int64)
    mean, V = start[None], np.zeros((1, len(S), len(S)))
    for level in range(1, len(S) + 1):
        subsets = np.flatnonzero(size == level)
        last = np.nonzero(member[subsets])[1].reshape(-1, level)
        before = index[subsets[:, None] ^ (1 << last)]
        row, share = S[last], d[last][..., None]
        kept = share * mean[before]
        moved = kept + row * (1 - np.take_along_axis(kept, last[..., None], axis=2))
        V = V[before]
        with_last = np.take_along_axis(V, last[..., None, None], axis=2)[:, :, 0]  # covariance with the last task
        change = row[..., None] * with_last[:, :, None]
        own = np.take_along_axis(with_last, last[..., None], axis=2)[..., None]
        V = V - change - change.swapaxes(2, 3) + own * row[..., None] * row[:, :, None]
        mean = moved.mean(axis=1)
        spread = moved - mean[:, None]
        V = (share[..., None] ** 2 * V).mean(axis=1) + spread.swapaxes(1, 2) @ spread / level
        index[subsets] = np.arange(len(subsets))
    return mean[0], V[0]


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


def sampled_errors(
    C: Floats, R: Floats, w: Floats, num_samples: int, rng: np.random.Generator, together: Ints | None = None
) -> Floats:
    """(num_samples,) errors of random orders, by the recursion on many orders at once.

    A triangular solve for each order would do less arithmetic, but its BLAS threads cost far more than they bring when
    the machine is busy; these elementwise steps stay in the cache and on one core.
    """
    errors = np.empty(num_samples)
    chunk = max(1, 65_536 // R.size)
    for start in range(0, num_samples, chunk):
        count = min(chunk, num_samples - start)
        orders = uniform_orders(len(C), count, rng, together)
        errors[start : start + count] = errors_after(C, R, w, orders)
    return errors


def errors_after(C: Floats, R: Floats, w: Floats, orders: Ints) -> Floats:
    """(count,) errors after each of many orders of all tasks, advanced together."""
    r = np.repeat(R[None], len(orders), axis=0)
    step, each = np.empty_like(r), np.arange(len(orders))
    for j in orders.T:
        np.multiply(r[each, :, j][:, :, None], C[j][:, None, :], out=step)
        r -= step
    return np.asarray((r * r).sum(axis=1) @ w)
