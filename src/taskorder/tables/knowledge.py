"""From what single-task learners do on every task to the transfer table of the law of retention (theory/law.py).

    m(k, j) = 1 - ((1 - accuracy(k, j)) / (1 - 1/K) + loss(k, j) / chance(k, j)) / 2

is the knowledge of task j in a learner that has learned task k alone: 1 is perfect, 0 is chance, negative is worse
than chance. K is the number of classes, chance(k, j) the loss with the labels of j shuffled. No square root is taken:
knowledge is counted in accuracy and loss, not in the correlations of the linear model (`loss_ratios.py`).

A table from few examples is noisy, most of all in what tells m from its transpose and in its diagonal.
`shrunken_table` keeps as much of these as stands out from the noise of counting right answers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import Floats, numbers, square_matrix
from taskorder.tables.loss_ratios import loss_ratios, loss_ratios_from_accuracy

TRANSPOSED_SHARE = 0.25
"""Weight of the transposed table: transfer from j to k tells something about transfer from k to j."""


def knowledge(
    losses: ArrayLike, chance: ArrayLike, accuracy: ArrayLike | None = None, num_classes: ArrayLike = 2
) -> Floats:
    """What learners of single tasks know of every task.

    Parameters
    ----------
    losses : (P, P) array
        Row k, column j: the loss on task j of a learner that was trained on task k alone.
    chance : (P, P) array
        The same losses with the labels of j shuffled.
    accuracy : (P, P) array, optional
        The accuracies, from 0 to 1. Without them the losses alone speak: 1 - loss / chance.
    num_classes
        The number of classes K of every task, or one for each.

    Returns
    -------
    (P, P) array
        1 is perfect, 0 is chance; the diagonal is what a learner knows of its own task.

    Examples
    --------
    >>> knowledge([[0.0, 0.25], [0.5, 0.1]], [[0.5, 0.5], [1.0, 1.0]], [[1.0, 0.75], [0.75, 0.95]])
    array([[1. , 0.5],
           [0.5, 0.9]])
    """
    ratios = loss_ratios(losses, chance)
    if accuracy is None:
        return np.asarray(1 - ratios)
    right, P = square_matrix(accuracy, "accuracy"), len(ratios)
    if right.shape != ratios.shape:
        raise ValueError(f"`accuracy` must be {P} x {P} like `losses`, got {len(right)} rows.")
    wrong = loss_ratios_from_accuracy(right, np.broadcast_to(1 / _classes(num_classes, P), (P, P)))
    return np.asarray(1 - (wrong + ratios) / 2)


def transfer_table(known: ArrayLike, share: float = TRANSPOSED_SHARE) -> Floats:
    """The transfer table of the law: S = (1 - share) m + share m^T off the diagonal, which stays as it is.

    Parameters
    ----------
    known : (P, P) array
        What learners of single tasks know of every task (`knowledge`).
    share
        The weight of the other direction, from 0 (as measured) to 0.5 (symmetric).

    Returns
    -------
    (P, P) array
        Row: task that was learned, column: task that is tested.

    Examples
    --------
    >>> transfer_table([[0.9, 0.5], [0.1, 1.0]])
    array([[0.9, 0.4],
           [0.2, 1. ]])
    """
    m = square_matrix(known, "known")
    if not 0 <= share <= 0.5:
        raise ValueError(f"`share` must be from 0 to 0.5, got {share!r}.")
    return np.asarray(m + share * (m.T - m))


def shrunken_table(
    losses: ArrayLike,
    chance: ArrayLike,
    accuracy: ArrayLike,
    num_examples: ArrayLike,
    num_classes: ArrayLike = 2,
    share: float = TRANSPOSED_SHARE,
    known: ArrayLike | None = None,
) -> tuple[Floats, float]:
    """The transfer table from few examples, and how much of its asymmetry is kept.

    With s = (m + m^T)/2 and a = (m - m^T)/2 the table is S = s + rho (1 - 2 share) a off the diagonal, and its diagonal
    moves to its mean by the same factor rho. With q = p (1 - p) / n / (1 - 1/K)^2 the binomial variance of an accuracy
    on the n examples of a cell, p = (n accuracy + 1/2) / (n + 1),

        rho = max(0, 1 - f mean((q + q^T) / 4) / mean(a^2)),   f = ((1 + min(1, l)) / 2)^2,

    means over the cells off the diagonal; l is the root mean square of 1 - loss/chance there over that of
    (accuracy - 1/K) / (1 - 1/K): where losses say less than accuracies, they also add less noise. Noise of training is
    not counted, so rho is too large where that dominates.

    Parameters
    ----------
    losses, chance, accuracy, num_classes
        As for `knowledge`.
    num_examples
        The number of examples n that a cell was measured on: one number, or one for each tested task.
    share
        As for `transfer_table`; with rho = 1 the two tables are the same.
    known : (P, P) array, optional
        A better estimate of m than these losses and accuracies give, which then tell the noise alone.

    Returns
    -------
    S : (P, P) array
        The transfer table.
    rho : float
        From 0 (noise: the table is symmetric, with a constant diagonal) to 1 (all of it is kept).

    Examples
    --------
    Eight right answers of twelve against four may be luck in part, 800 of 1200 against 400 are none:

    >>> losses, chance = [[0.1, 0.6], [0.8, 0.1]], [[0.7, 0.7], [0.7, 0.7]]
    >>> accuracy = [[1.0, 8 / 12], [4 / 12, 1.0]]
    >>> for num_examples in (12, 1200):
    ...     S, rho = shrunken_table(losses, chance, accuracy, num_examples)
    ...     print(round(rho, 2), S.round(2).tolist())
    0.66 [[0.93, 0.08], [-0.08, 0.93]]
    1.0 [[0.93, 0.12], [-0.12, 0.93]]
    """
    single = knowledge(losses, chance, accuracy, num_classes)
    m = single if known is None else square_matrix(known, "known")
    P = len(m)
    n = numbers(num_examples)
    if n is None or n.shape not in ((), (P,)) or not (n >= 1).all() or not np.isfinite(n).all():
        raise ValueError(f"`num_examples` must be one number of at least 1 or {P} of them, got {num_examples!r}.")
    guess = 1 / _classes(num_classes, P)
    right = square_matrix(accuracy, "accuracy")
    off = ~np.eye(P, dtype=bool)

    # Half the difference of two independent cells has a quarter of the sum of their variances.
    p = (n * right + 0.5) / (n + 1)
    q = p * (1 - p) / n / (1 - guess) ** 2
    by_loss, by_accuracy = 1 - loss_ratios(losses, chance), (right - guess) / (1 - guess)
    sizes = [float(np.sqrt((part[off] ** 2).mean())) if P > 1 else 0.0 for part in (by_loss, by_accuracy)]
    f = ((1 + min(1.0, sizes[0] / sizes[1] if sizes[1] else 1.0)) / 2) ** 2
    antisymmetric = (single - single.T) / 2
    spread = float((antisymmetric[off] ** 2).mean()) if P > 1 else 0.0
    noise = f * float(((q + q.T)[off] / 4).mean()) if P > 1 else 0.0
    rho = max(0.0, 1 - noise / spread) if spread else 0.0

    table = (m + m.T) / 2 + rho * (transfer_table(m, share) - transfer_table(m, 0.5))
    own = np.diagonal(m)
    np.fill_diagonal(table, own.mean() + rho * (own - own.mean()))
    return table, rho


def _classes(num_classes: ArrayLike, num_tasks: int) -> Floats:
    """The number of classes of every task, or one for each."""
    K = numbers(num_classes)
    if K is None or K.shape not in ((), (num_tasks,)) or not (K >= 2).all() or not np.isfinite(K).all():
        raise ValueError(f"`num_classes` must be a number of at least 2 or {num_tasks} of them, got {num_classes!r}.")
    return K
