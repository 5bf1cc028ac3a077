"""The law of retention: what a learner knows of every task after it has learned tasks one after another.

S is a P x P transfer table, in general not symmetric: row k says what a learner that has learned task k alone knows of
every task (1 is perfect, 0 is chance). The state s holds what the learner knows now, 0 at the start. Learning task k

    s <- d s + S_k (1 - d s_k)

keeps the share d of what was known, the **retention**, and then closes the gap on task k, which moves the other tasks
in proportion to S_k. d = 1 with a symmetric S is the recursion of Theorem 3.1 of the paper (r = 1 - s,
`closed_form.py`); d = 0 says that only the last task counts. Where tasks differ in size, d may differ by task: d_k
applies when k is learned.

Counted from the end the recursion is linear. Let a be the value of one unit of knowledge of each task (the weights at
the end). Learning k last adds a.S_k to the score and leaves the values d_k (a - (a.S_k) e_k) for what was known before.
In terms of g_j = a.S_j, the gain of learning j now, that is

    score += g_k;   g_j <- d_k (g_j - S_jk g_k)   for all j,

one peeling step for each task from the last to the first. With one retention d the gains x_t of the t-th task from the
end do not depend on d, and score = sum_t d^t x_t.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, numbers, square_matrix, task_weights, visit_order

PLAIN_RETENTION = 0.13
"""Retention of plain networks: one head, no replay.

Chosen on Fashion-MNIST task sets 0-49 (`reproduction/results/tables/fashion-mnist.csv.gz`), then tested as it is on
other task sets, on CIFAR-10 and on CIFAR-100.
"""


def knowledge_from_similarity(similarity: ArrayLike) -> Floats:
    """What a learner of one task knows of another, from how similar the two are.

    A similarity measured by transfer is rho = 1 - sqrt(loss ratio), so the share of the loss that is gone is
    1 - (1 - rho)^2. A negative similarity gives negative knowledge: worse than chance.

    Parameters
    ----------
    similarity
        One similarity, or a table of them.

    Returns
    -------
    ndarray of the same shape

    Examples
    --------
    >>> knowledge_from_similarity([[1, 0.5], [-0.5, 1]])
    array([[ 1.  ,  0.75],
           [-1.25,  1.  ]])
    """
    rho = numbers(similarity)
    if rho is None or not np.isfinite(rho).all():
        raise ValueError(f"`similarity` must be finite numbers, got {similarity!r}. Fill missing entries first.")
    return np.asarray(1 - (1 - rho) ** 2)


def knowledge_path(
    table: ArrayLike, order: Iterable[int], retention: ArrayLike, *, start: ArrayLike | None = None
) -> Floats:
    """What the learner knows of each task after every step of an order.

    Parameters
    ----------
    table
        (P, P) transfer table S; row: task that was learned, column: task that is tested. It need not be symmetric.
    order
        Task indices; tasks may repeat or be left out.
    retention
        The share d in [0, 1] of its knowledge that the learner keeps when it learns the next task: one number, or one
        for each task, which applies when that task is learned.
    start
        (P,) knowledge before the first step; 0 where it is left out.

    Returns
    -------
    ndarray of shape (len(order) + 1, P)
        Row t is the knowledge after t steps.

    Examples
    --------
    >>> knowledge_path([[1, 0.5], [0.5, 1]], [0, 1], retention=0.1)
    array([[0.   , 0.   ],
           [1.   , 0.5  ],
           [0.575, 1.   ]])
    """
    S = square_matrix(table, name="table")
    tasks = visit_order(order, len(S))
    d = checked_retention(retention, len(S))
    path = np.empty((len(tasks) + 1, len(S)))
    path[0] = 0.0 if start is None else checked_start(start, len(S))
    for step, k in enumerate(tasks):
        kept = d[k] * path[step]
        path[step + 1] = kept + S[k] * (1 - kept[k])
    return path


def final_knowledge(
    table: ArrayLike, order: Iterable[int], retention: ArrayLike, *, start: ArrayLike | None = None
) -> Floats:
    """What the learner knows of each task after the last step of an order.

    Parameters
    ----------
    table, order, retention, start
        As for `knowledge_path`.

    Returns
    -------
    ndarray of shape (P,)
        Knowledge by task index: 1 is perfect, 0 is chance. Near retention 1 it may exceed 1.

    Examples
    --------
    >>> final_knowledge([[1, 0.5], [0.5, 1]], [0, 1], retention=0.1)
    array([0.575, 1.   ])
    """
    final: Floats = knowledge_path(table, order, retention, start=start)[-1]
    return final


def final_score(
    table: ArrayLike,
    order: Iterable[int],
    retention: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    start: ArrayLike | None = None,
) -> float:
    """The score of an order: weighted mean knowledge after its last step.

    Parameters
    ----------
    table, order, retention, start
        As for `knowledge_path`.
    weights
        (P,) importance of each task; equal where they are left out.

    Returns
    -------
    float

    Examples
    --------
    >>> final_score([[1, 0.5], [0.5, 1]], [0, 1], retention=0.1)
    0.7875
    """
    knowledge = final_knowledge(table, order, retention, start=start)
    importance = task_weights(weights, len(knowledge))
    return float(knowledge @ importance / importance.sum())


def peeled_gains(table: ArrayLike, order: Iterable[int], weights: ArrayLike | None = None) -> Floats:
    """The gains x_t of an order counted from its end: for one retention d the score is sum_t d^t x_t.

    With R_k the weighted mean of row k, x_0 = R_last and x_1 = R_prev - S_prev,last R_last: typical tasks belong late,
    and neighbors should be dissimilar.

    Parameters
    ----------
    table, order
        As for `knowledge_path`.
    weights
        (P,) importance of each task; equal where they are left out.

    Returns
    -------
    ndarray of shape (len(order),)
        The gain of the last task first.

    Examples
    --------
    >>> x = peeled_gains([[1, 0.5], [0.5, 1]], [0, 1])
    >>> x, float(x @ [1, 0.1])
    (array([0.75 , 0.375]), 0.7875)
    """
    S = square_matrix(table, name="table")
    tasks = visit_order(order, len(S))
    importance = task_weights(weights, len(S))
    h = S @ (importance / importance.sum())
    gains = np.empty(len(tasks))
    for t, k in enumerate(tasks[::-1]):
        gains[t] = h[k]
        h = h - S[:, k] * h[k]
    return gains


def checked_retention(
    retention: ArrayLike | Mapping[str, float], num_tasks: int, names: Sequence[str] | None = None
) -> Floats:
    """(P,) retention of each task, from one number, one a task, or a mapping that has every one of `names`."""
    given: object = retention
    if isinstance(retention, Mapping):
        if names is None:
            raise BadArgument(f"`retention` must be one number or {num_tasks}, one for each task, got names.")
        if set(retention) != set(names):
            wrong = sorted(map(str, set(retention) ^ set(names)))[0]
            problem = "is no task" if wrong in retention else "is missing"
            raise BadArgument(
                f"`retention` must have one number for each task, got a mapping where {wrong!r} {problem}."
            )
        given = [retention[name] for name in names]
    d = numbers(given)  # type: ignore[arg-type]
    if d is None:
        raise BadArgument(f"`retention` must be a number in [0, 1] or one for each task, got {retention!r}.")
    if d.shape not in ((), (num_tasks,)):
        raise BadArgument(f"`retention` must be one number or {num_tasks}, one for each task, got shape {d.shape}.")
    if not ((d >= 0) & (d <= 1)).all():
        raise BadArgument(
            f"`retention` must be in [0, 1], got {retention!r}. {PLAIN_RETENTION} is usual for plain networks."
        )
    return np.broadcast_to(d, num_tasks)


def checked_start(start: ArrayLike, num_tasks: int) -> Floats:
    """(P,) finite knowledge at the start."""
    s = numbers(start)
    if s is None or s.shape != (num_tasks,) or not np.isfinite(s).all():
        raise ValueError(f"`start` must be {num_tasks} finite numbers, the knowledge of each task, got {start!r}.")
    return s
