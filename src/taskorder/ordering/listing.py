"""Every order of a small problem: the whole truth where it is affordable."""

from __future__ import annotations

import functools
import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from taskorder.checks import Floats, Ints
from taskorder.machine import cores
from taskorder.ordering.problem import Problem

MAX_LISTED = 11
"""Listing 11 tasks gives 40 million errors (320 MB); more is refused."""
MAX_KEPT = 8
"""Of up to so many tasks the list is made once: 2.6 MB. A plan from a pilot asks for it hundreds of times."""


def all_orders(num_tasks: int) -> Ints:
    """(n!, n) every order in lexicographic order: row i belongs to entry i of `all_errors`; not to be written to.

    >>> all_orders(3)[:3].tolist()
    [[0, 1, 2], [0, 2, 1], [1, 0, 2]]
    """
    return _kept(num_tasks) if num_tasks <= MAX_KEPT else _listed(num_tasks)


def _listed(num_tasks: int) -> Ints:
    count = math.factorial(num_tasks)
    flat = itertools.chain.from_iterable(itertools.permutations(range(num_tasks)))
    orders = np.fromiter(flat, np.int64, count * num_tasks).reshape(count, num_tasks)
    orders.flags.writeable = False
    return orders


_kept = functools.lru_cache(_listed)


def order_at(rank: int, num_tasks: int) -> Ints:
    """The order at one rank of the lexicographic list."""
    left, order = list(range(num_tasks)), []
    for size in range(num_tasks, 0, -1):
        position, rank = divmod(rank, math.factorial(size - 1))
        order.append(left.pop(position))
    return np.array(order, np.int64)


def all_errors(problem: Problem) -> Floats:
    """(n!,) the error of every order, precedence ignored, in the order of `all_orders`; about 10 ns an order.

    >>> from taskorder.ordering.problem import open_problem
    >>> C = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> all_errors(open_problem(C, None, np.ones(2), np.arange(0), np.arange(2), np.zeros((2, 2), bool))).tolist()
    [0.0625, 0.0625]
    """
    n = problem.size
    if n > MAX_LISTED:
        raise ValueError(f"`problem` must have at most {MAX_LISTED} open tasks to list every order, got {n}.")
    if n == 0:
        return np.array([problem.e])
    from taskorder.ordering.kernels.listing import list_many_rows, list_one_row

    errors = np.empty(math.factorial(n))
    blocks = errors.reshape(n, -1)
    gram, pull = problem.r.T @ problem.r, problem.r.T @ problem.h

    def fill(first: int) -> None:
        if len(problem.r) == 1:
            list_one_row(problem.e, problem.r[0], problem.h[0], problem.C, problem.G, first, blocks[first])
        else:
            list_many_rows(problem.e, gram, pull, problem.C, problem.G, first, blocks[first])

    if n < 9:  # starting threads would cost more than it saves
        for first in range(n):
            fill(first)
    else:
        with ThreadPoolExecutor(cores()) as threads:
            list(threads.map(fill, range(n)))
    return errors
