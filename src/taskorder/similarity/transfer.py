"""Similarity of tasks from how well a network trained on one does on another.

    ratio(A -> B) = loss of B under the network of A / that loss with B's labels shuffled
    similarity    = 1 - (sqrt(ratio(A -> B)) + sqrt(ratio(B -> A))) / 2

In the linear model with a shared readout the loss is (1 - C_AB)^2 and the shuffled one about 1, so this recovers C. The
table of ratios is not symmetric and is kept whole; making it symmetric is a step of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import Floats, square_matrix


def transfer_ratios(losses: ArrayLike, chance: ArrayLike) -> Floats:
    """(P, P) ratios: row A, column B is the loss on B after training on A over the loss with shuffled labels."""
    table, base = square_matrix(losses, "losses"), square_matrix(chance, "chance")
    if table.shape != base.shape:
        raise ValueError(f"`chance` must be {len(table)} x {len(table)} like `losses`, got {len(base)} rows.")
    if table.min() < 0:
        raise ValueError(f"`losses` must be at least 0, got {table.min():.6g}.")
    if base.min() <= 0:
        raise ValueError(f"`chance` must be above 0, got {base.min():.6g}: it is the loss with shuffled labels.")
    return np.asarray(table / base)


def transfer_similarity(ratios: ArrayLike) -> Floats:
    """(P, P) symmetric similarity with ones on the diagonal; entries may fall below 0, even below -1.

    >>> transfer_similarity([[0.0, 0.25], [0.04, 0.0]]).round(3)
    array([[1.  , 0.65],
           [0.65, 1.  ]])
    """
    table = square_matrix(ratios, "ratios")
    if table.min() < 0:
        raise ValueError(f"`ratios` must be at least 0, got {table.min():.6g}.")
    root = np.sqrt(table)
    similarity = 1 - (root + root.T) / 2
    np.fill_diagonal(similarity, 1.0)
    return np.asarray(similarity)
