"""The first correction to Theorem 3.1 for a finite number of inputs.

The theorem is the limit N_s / N_x -> 0. With S_mn = (N_s / N_x) A_m^T A_n = C_mn I + H_mn the noise H is small:

    <tr H_ab H_cd> / N_s  =  (C_ad C_bc + C_ac C_bd / N_s) N_s / N_x,        <H> = 0.

Training task j takes D_j S_jj^-1 S_jm = D_j (C_jm + E_jm + ...) from the residual of task m, E_jm = H_jm - C_jm H_jj,
and the second-order term of S_jj^-1 S_jm has no mean. With D_m = r_m + L_m + Q_m by powers of H and q_m = <Q_m>,

    r_m <- r_m - r_j C_jm,    L_m <- L_m - L_j C_jm - r_j E_jm,    q_m <- q_m - q_j C_jm - <tr L_j E_jm> / N_s,

and the error of task m is r_m^2 + <tr L_m^T L_m> / N_s + 2 r_m q_m, exact to first order in 1 / N_x. This is ours: the
paper only says that the correction is of order P N_s / N_x.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import Floats, output_similarity, positive_count, visit_order
from taskorder.theory.closed_form import output_factor, unit_diagonal_similarity


def finite_size_errors(
    similarity: ArrayLike,
    order: Iterable[int],
    num_latent: int,
    num_inputs: int,
    output: ArrayLike | None = None,
) -> Floats:
    """Expected error of each task after `order`, each task trained to convergence, to first order in 1 / N_x.

    Time O(k P^4) and 8 P^3 bytes for an output similarity of rank k.

    Parameters
    ----------
    similarity : array-like, (P, P)
        C, symmetric with ones on the diagonal; it need not be positive semidefinite.
    order : iterable of int
        Task indices in the order of learning. Tasks may be visited again or left out.
    num_latent, num_inputs : int
        N_s and N_x.
    output : array-like, (P, P), optional
        Output similarity Co; None for one shared readout (all ones).

    Returns
    -------
    array, (P,)
        By task index.

    Examples
    --------
    >>> finite_size_errors([[1, 0.5], [0.5, 1]], [0, 1], 30, 3000).round(4)
    array([0.0643, 0.    ])
    """
    C = unit_diagonal_similarity(similarity)
    P, N_s = len(C), positive_count(num_latent, "num_latent")
    load = N_s / positive_count(num_inputs, "num_inputs")
    rows = output_factor(output_similarity(output, P), P)
    visits = visit_order(order, P)
    total = np.zeros(P)
    for row in rows:
        r, q, L = row.copy(), np.zeros(P), np.zeros((P, P, P))  # L[m, a, b] is the factor of H_ab in L_m
        for j in visits:
            u, w = L[j] @ C[j], C[j] @ L[j]
            met = C @ u + (C @ w) / N_s  # the mean of tr L_j H_jm / N_s, in units of N_s / N_x
            q -= q[j] * C[j] + met - C[j] * met[j]
            L -= C[j][:, None, None] * L[j]
            L[np.arange(P), j, np.arange(P)] -= r[j]
            L[:, j, j] += r[j] * C[j]
            r -= r[j] * C[j]
        CL = np.einsum("ac,mcd->mad", C, L, optimize=True)
        CLC = CL @ C
        noise = np.einsum("mab,mab->m", L, CLC) + np.einsum("mab,mba->m", L, CLC) / N_s
        total += r * r + load * (noise + 2 * r * q)
    return total
