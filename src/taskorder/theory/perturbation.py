"""How each pairwise similarity moves the final error when all tasks are almost equally similar.

Theorem 4.1 and appendix B of the paper. With C_ij = m + dM_ij and Co_ij = rho_out off the diagonal, positions i < j,

    error = error[m, rho_out] + sum_{i<j} coefficient_ij dM_ij + O(dM^2),     coefficient = 2 G,

where G is the matrix that the paper prints. The factor 2 is missing there (docs/errata.md, item 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taskorder.checks import Floats, Ints, positive_count, similarity_number


@dataclass(frozen=True, eq=False)
class Perturbation:
    """First-order coefficients for every pair of positions; each matrix is (P, P) and strictly upper triangular."""

    coefficient: Floats
    """True derivative of the final error with respect to the similarity of positions i < j: twice `paper`."""
    paper: Floats
    """G as printed in the paper; `typicality + distance`."""
    typicality: Floats
    """G+ = g_o(i) + g_o(j) + g_+(i + j), the part that asks for periphery-to-core when rho_out = 1 and 0 < m < 1."""
    distance: Floats
    """G- = g_-(j - i), the part that depends on the distance in the order only; max-path when rho_out = 1."""
    alpha_plus: float | None
    """(2 - m) / (3 - m) (1 - m)^P of the main text; None unless rho_out = 1."""
    alpha_minus: float | None
    """G-_ij = alpha_minus (1 - m)^(P - (j - i)) of the main text; None unless rho_out = 1."""


def perturbation(num_tasks: int, m: float, rho_out: float = 1.0) -> Perturbation:
    """First-order change of the final error around a constant similarity `m` and output similarity `rho_out`.

    Every quotient by 1 - m in the paper is written here as a power with one exponent less, so m = 1 is fine.

    Parameters
    ----------
    num_tasks : int
        P.
    m : float
        The constant similarity between different tasks.
    rho_out : float
        The constant output similarity between different tasks; 1 for one shared readout.

    Returns
    -------
    Perturbation
        Coefficients for every pair of positions i < j.

    Examples
    --------
    >>> around = perturbation(3, 0.3)
    >>> around.coefficient.round(4)
    array([[ 0.    ,  0.3763,  0.0475],
           [ 0.    ,  0.    , -0.0676],
           [ 0.    ,  0.    ,  0.    ]])
    """
    P = positive_count(num_tasks)
    m, rho_out = similarity_number(m, "m"), similarity_number(rho_out, "rho_out")
    i, j = np.triu_indices(P, 1)
    q = 1 - m
    private = (1 - rho_out) * m / (2 - m)
    shared = rho_out - private
    slope = q**P * (3 - m) / (2 - m) + m * P * q ** (P - 1) - 1

    first, second = i + 1, j + 1  # the paper counts positions from 1
    total, gap = first + second, second - first

    def single(position: Ints) -> Floats:
        return np.asarray(private * q ** (P - position) - shared * q ** (P + position - 1))

    tail = P * m + 2 * q - q**2 / (2 - m)
    g_plus = shared * (3 - m) / (2 - m) * q ** (total - 1) - private * tail * q ** (2 * P - total)
    plus = single(first) + single(second) + g_plus
    minus = private / (2 - m) * q ** (gap - 1) + shared * slope * q ** (P - gap) + private * q ** (P - gap - 1)

    def upper(values: Floats) -> Floats:
        matrix = np.zeros((P, P))
        matrix[i, j] = values
        return matrix

    main_text = rho_out == 1
    return Perturbation(
        coefficient=upper(2 * (plus + minus)),
        paper=upper(plus + minus),
        typicality=upper(plus),
        distance=upper(minus),
        alpha_plus=(2 - m) / (3 - m) * q**P if main_text else None,
        alpha_minus=slope if main_text else None,
    )
