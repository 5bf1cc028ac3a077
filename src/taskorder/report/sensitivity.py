"""How the final error of one order moves with the similarity of each pair: the exact derivative, not an expansion.

The sweep R <- R - R[:, j] C[j, :] is differentiated backward: with A = dE/dR after a visit of j, v = R[:, j] before it,

    dE/dC[j, :] -= v^T A,        A[:, j] -= A C[j, :]^T,

and a pair (a, b) collects both of its entries, since C is symmetric. As costly as the sweep itself. Around a constant
similarity this is `theory.perturbation(...).coefficient`; here it is taken at the matrix that the user has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taskorder.checks import Floats
from taskorder.theory.closed_form import output_factor


def pair_derivatives(
    similarity: Floats, visits: Sequence[int], output: Floats | None = None, weights: Floats | None = None
) -> Floats:
    """(P, P) symmetric: change of the final error per unit of similarity of each pair; zero on the diagonal.

    >>> C = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> pair_derivatives(C, [0, 1]).tolist()  # the error is r^2 (1 - r)^2, flat at its top r = 1/2
    [[0.0, 0.0], [0.0, 0.0]]
    """
    R = output_factor(output, len(similarity))
    before = np.empty((len(visits), len(R)))
    for step, j in enumerate(visits):
        before[step] = R[:, j]
        R = R - np.outer(R[:, j], similarity[j])
    A = 2 * R * (1.0 if weights is None else weights)
    slopes = np.zeros_like(similarity)
    for v, j in zip(before[::-1], reversed(visits), strict=True):
        slopes[j] -= v @ A
        A[:, j] -= A @ similarity[j]
    np.fill_diagonal(slopes, 0.0)
    return slopes + slopes.T


def table_derivatives(
    knowledge: Floats, visits: Sequence[int], retention: Floats, start: Floats, gradient: Floats
) -> tuple[Floats, Floats]:
    """Under the law of retention: what each entry of the transfer table and what each visit is worth at the end.

    gradient: (P,) derivative of the value for the final knowledge of each task; for a score the weights of the tasks.

    Returns (P, P) the change of the value per unit of each entry, and (visits,) what each visit leaves at the end. With
    v the worth of knowledge after a visit of k,

        v . s' = v . S_k + d (v - (v . S_k) e_k) . s,

    so v . S_k is what the visit leaves, and the bracket is the worth of knowledge before it. What the visits leave and
    what is left of `start` add up to the score.

    >>> slopes, left = table_derivatives(np.eye(2), [0, 1], np.array([0.5, 0.5]), np.zeros(2), np.array([0.5, 0.5]))
    >>> slopes.tolist(), left.tolist()
    ([[0.25, 0.0], [0.5, 0.5]], [0.25, 0.5])
    """
    state, own = start, []
    for k in visits:
        kept = retention[k] * state
        own.append(float(kept[k]))
        state = kept + knowledge[k] * (1 - kept[k])
    worth, slopes, left = gradient.copy(), np.zeros_like(knowledge), np.zeros(len(visits))
    for step in reversed(range(len(visits))):
        k = visits[step]
        slopes[k] += worth * (1 - own[step])
        left[step] = worth @ knowledge[k]
        worth = retention[k] * worth
        worth[k] -= retention[k] * left[step]
    return slopes, left
