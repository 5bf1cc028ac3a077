"""From losses to loss ratios to similarity.

    loss ratio(A, B) = loss on B of a network trained on A / its loss with B's labels shuffled
    similarity(A, B) = 1 - (sqrt(loss ratio(A, B)) + sqrt(loss ratio(B, A))) / 2

A loss ratio of 0 is perfect transfer, 1 is chance. In the linear model with a shared readout the loss is (1 - C_AB)^2
and the loss with shuffled labels about 1, so the similarity is C. Loss ratios are not symmetric.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, square_matrix


def loss_ratios(losses: ArrayLike, chance: ArrayLike) -> Floats:
    """Loss ratios: losses over the losses with shuffled labels.

    Parameters
    ----------
    losses : (P, P) array
        Row A, column B: the loss on task B of a network trained on task A.
    chance : (P, P) array
        The same losses with the labels of B shuffled.

    Returns
    -------
    (P, P) array
        0 is perfect, 1 is chance.

    Examples
    --------
    >>> loss_ratios([[0.0, 0.25], [0.5, 0.1]], [[0.5, 0.5], [1.0, 1.0]])
    array([[0. , 0.5],
           [0.5, 0.1]])
    """
    table, base = square_matrix(losses, "losses"), square_matrix(chance, "chance")
    if table.shape != base.shape:
        raise BadArgument(f"`chance` must be {len(table)} x {len(table)} like ", "losses", f", got {len(base)} rows.")
    if table.min() < 0:
        raise BadArgument(f"`losses` must be at least 0, got {table.min():.6g}.")
    if base.min() <= 0:
        raise BadArgument(f"`chance` must be above 0, got {base.min():.6g}: it is the loss with shuffled labels.")
    return np.asarray(table / base)


def loss_ratios_from_accuracy(accuracy: ArrayLike, chance: ArrayLike) -> Floats:
    """Loss ratios from accuracies, with the share of errors as the loss: (1 - accuracy) / (1 - chance).

    Parameters
    ----------
    accuracy : (P, P) array
        Row A, column B: the accuracy on task B, from 0 to 1, of a network trained on task A.
    chance : (P, P) array
        The accuracy of guessing: 0.5 for two equally frequent classes.

    Returns
    -------
    (P, P) array
        0 where the network is always right, 1 where it guesses, more where it is worse than that.

    Examples
    --------
    >>> similarity_from_loss_ratios(loss_ratios_from_accuracy([[1.0, 0.875], [0.875, 1.0]], [[0.5, 0.5], [0.5, 0.5]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    table, base = square_matrix(accuracy, "accuracy"), square_matrix(chance, "chance")
    if table.min() < 0 or table.max() > 1:
        worst = table.max() if table.max() > 1 else table.min()
        raise BadArgument(f"`accuracy` must be from 0 to 1, got {worst:.6g}. Divide percentages by 100.")
    if base.min() < 0 or base.max() >= 1:
        worst = base.max() if base.max() >= 1 else base.min()
        raise BadArgument(f"`chance` must be at least 0 and below 1, got {worst:.6g}: it is the accuracy of guessing.")
    return loss_ratios(1 - table, 1 - base)


def clip_similarity(similarity: ArrayLike) -> tuple[Floats, int]:
    """The similarity with entries below -1 raised to -1, and how many pairs of tasks were below.

    >>> clip_similarity([[1.0, -1.5], [-1.5, 1.0]])
    (array([[ 1., -1.], [-1.,  1.]]), 1)
    """
    matrix = square_matrix(similarity)
    return np.maximum(matrix, -1.0), int((np.triu(matrix, 1) < -1).sum())


def similarity_from_loss_ratios(ratios: ArrayLike) -> Floats:
    """Similarity from loss ratios, averaged over both directions.

    Parameters
    ----------
    ratios : (P, P) array
        Loss ratios, at least 0; the diagonal is ignored.

    Returns
    -------
    (P, P) array
        Symmetric, with ones on the diagonal. Entries may fall below 0 and even below -1 (see `clip_similarity`).

    Examples
    --------
    >>> similarity_from_loss_ratios([[0.0, 0.25], [0.04, 0.0]]).round(3)
    array([[1.  , 0.65],
           [0.65, 1.  ]])
    """
    table = square_matrix(ratios, "ratios")
    if table.min() < 0:
        raise BadArgument(f"`ratios` must be at least 0, got {table.min():.6g}.")
    root = np.sqrt(table)
    similarity = 1 - (root + root.T) / 2
    np.fill_diagonal(similarity, 1.0)
    return np.asarray(similarity)


def measured_matrix(tables: Mapping[str, ArrayLike]) -> Floats:
    """(P, P) what a run measured (runs/estimates.py): loss ratios, or values of curvature; not symmetric."""
    if "value" in tables:
        return square_matrix(tables["value"], "value")
    return loss_ratios(tables["loss"], tables["chance"])


def measured_similarity(tables: Mapping[str, ArrayLike]) -> Floats:
    """(P, P) symmetric similarity from what a run measured.

    Curvature has no unit: it is divided by the largest entry off the diagonal. That leaves paths as they are.

    >>> measured_similarity({"value": [[-9, -2], [-4, -9]]})
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    if "value" not in tables:
        return similarity_from_loss_ratios(measured_matrix(tables))
    values = measured_matrix(tables)
    similarity = (values + values.T) / 2
    np.fill_diagonal(similarity, 0.0)
    similarity /= np.abs(similarity).max() or 1.0
    np.fill_diagonal(similarity, 1.0)
    return similarity
