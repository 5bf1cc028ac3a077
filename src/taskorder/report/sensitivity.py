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
    knowledge: Floats, visits: Sequence[int], retention: Floats, start: Floats, weights: Floats
) -> Floats:
    """(P, P) change of the score under the law of retention per unit of each entry of the transfer table.

    >>> table_derivatives(np.eye(2), [0, 1], np.array([0.5, 0.5]), np.zeros(2), np.array([0.5, 0.5]))
    array([[0.25, 0.  ],
           [0.5 , 0.5 ]])
    """
    state, own = start, []
    for k in visits:
        kept = retention[k] * state
        own.append(float(kept[k]))
        state = kept + knowledge[k] * (1 - kept[k])
    value, slopes = weights.copy(), np.zeros_like(knowledge)
    for k, known in zip(reversed(visits), reversed(own), strict=True):
        slopes[k] += value * (1 - known)
        gain = float(value @ knowledge[k])
        value = retention[k] * value
        value[k] -= retention[k] * gain
    return slopes
