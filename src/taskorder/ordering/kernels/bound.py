"""The lower bound behind branch and bound. Every other module refers to this statement of it.

The state of a partial order (problem.py) is its error e and, for the open tasks, the residuals r, h = r W C, C and
G = C W C. If v_j is the residual of task j when it is learned, completing the order leaves the error
e - 2 h.v + v G v^T. Every completion obeys (1/2) v (C + I) v^T = r.v, for any symmetric C with unit diagonal. With a
multiplier lam on this identity, K = G + (lam/2)(C + I) positive definite, b = h + (lam/2) r and x = K^-1 b,

    bound(lam) = e - b K^-1 b

is below the error of every completion. It is concave in lam; Newton's step is lam += 2 q / (s K^-1 s) with
s = (C + I) x - r and q = x (C + I) x / 2 - r.x. lam = 0 is plain least squares. Fixing j first (v_j = r_j) raises the
bound by at least (r_j - x_j)^2 / (K^-1)_jj, fixing l last (C_l.v = r_l) by at least (r_l - C_l.x)^2 / (C_l K^-1 C_l):
one factorization prices the children of both ends. With a general output similarity each row of r has its own
multiplier and the bounds add.

K = U^T D U with U unit upper triangular and D diagonal, so that K^-1 is never needed: b K^-1 b is the sum of
y_j^2 / D_j for U^T y = b. The inner loops run along rows and have no sums, so that the compiler can use vector
instructions without changing any rounding.

Arguments: r, h (s, k, n), C, G (s, n, n): several states (steps.py), of which number a with m open tasks is meant.
W: (n + 3, 3 n + 1) scratch. Its row j holds row j of D U, with 1 / D_j on the diagonal, and y_j in column m; the rows
after n are x, C x and a spare one.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering.kernels.jit import njit

NEVER = 1e300


@njit(error_model="numpy")
def scratch(n):
    """W for up to n tasks."""
    return np.zeros((n + 3, 3 * n + 1))


@njit(error_model="numpy")
def _factorize(r, h, C, G, a, row, m, lam, W):
    """-b K^-1 b less its rounding, or minus NEVER where K is not safely positive definite; W <- the factor and x."""
    x, half, value, size = r.shape[2], 0.5 * lam, 0.0, 0.0
    for j in range(m):
        for i in range(j, m):
            W[j, i] = G[a, j, i] + half * C[a, j, i]
        W[j, j] += half
        W[j, m] = h[a, row, j] + half * r[a, row, j]
        pivot = W[j, j]
        for k in range(j):
            f = W[k, j] * W[k, k]
            for i in range(j, m + 1):
                W[j, i] -= f * W[k, i]
        if not W[j, j] > 1e-9 * abs(pivot):
            return -NEVER
        W[j, j] = 1.0 / W[j, j]
        value -= W[j, m] * W[j, m] * W[j, j]
    for j in range(m - 1, -1, -1):
        t = W[j, m]
        for i in range(j + 1, m):
            t -= W[j, i] * W[x, i]
        W[x, j] = t * W[j, j]
        size += W[x, j] * W[x, j] * (abs(G[a, j, j]) + abs(lam))
    return value - 1e-15 * m * m * size


@njit(error_model="numpy")
def _slope_and_curvature(r, C, a, row, m, W):
    """(q, s K^-1 s) of Newton's step; W <- C x."""
    x = r.shape[2]
    Cx, s, slope, curvature = x + 1, x + 2, 0.0, 0.0
    for i in range(m):
        W[Cx, i] = 0.0
    for k in range(m):
        f = W[x, k]
        for i in range(m):
            W[Cx, i] += f * C[a, k, i]
    for i in range(m):
        W[s, i] = W[Cx, i] + W[x, i] - r[a, row, i]
        slope += 0.5 * W[x, i] * (W[s, i] - r[a, row, i])
    for k in range(m):  # s <- U^-T s
        f = W[s, k] * W[k, k]
        curvature += f * W[s, k]
        for i in range(k + 1, m):
            W[s, i] -= f * W[k, i]
    return slope, curvature


@njit(error_model="numpy")
def row_bound(r, h, C, G, a, row, m, lam, steps, least, need, W):
    """A row's part of the bound of state a, -b K^-1 b, after at most `steps` Newton steps on lam: (part, lam).

    Stops early once the part reaches `need`, or when a step promises less than the share `least` of what is missing.
    W is that of the returned lam; where the part is below `need` it is ready for `price_children`.
    """
    best, best_lam, wall, failures, halvings = -NEVER, lam, -NEVER, 0, 0
    while True:
        value = _factorize(r, h, C, G, a, row, m, lam, W)
        if value == -NEVER:
            failures += 1
            if best == -NEVER:  # outside the region where K is positive definite: larger multipliers lead into it
                if failures > 60:
                    return -NEVER, lam
                lam = 2.0 * abs(lam) + 1e-3
                continue
            if lam < best_lam:
                wall = lam
            lam = 0.5 * (lam + best_lam)
            if failures > 20:
                lam, steps = best_lam, 0
            continue
        if value < best and halvings < 8:
            halvings += 1
            lam = 0.5 * (lam + best_lam)
            if halvings == 8:
                lam = best_lam
            continue
        best, best_lam = value, lam
        if value >= need:
            return value, lam
        slope, curvature = _slope_and_curvature(r, C, a, row, m, W)
        if steps <= 0 or halvings >= 8 or curvature <= 0.0:
            return value, lam
        steps -= 1
        step = 2.0 * slope / curvature
        missing = need - value if need < NEVER else abs(value)
        if 0.5 * slope * step < least * missing:
            return value, lam
        lam = max(lam + step, 0.5 * (lam + wall))


@njit(error_model="numpy")
def price_children(r, C, a, row, m, W, rise):
    """Add to rise[0, j] and rise[1, j] how much fixing j first or last raises this row's bound."""
    x = r.shape[2]
    Cx, size, last, first = x + 1, x + 2, m + 1, 2 * m + 1
    # For each column c of C and of the identity, side by side, size <- c K^-1 c.
    for i in range(last, first + m):
        W[size, i] = 0.0
    for k in range(m):
        for i in range(m):
            W[k, last + i] = C[a, k, i]
            W[k, first + i] = 0.0
        W[k, first + k] = 1.0
        for j in range(k):
            f = W[j, k] * W[j, j]
            for i in range(last, first + j + 1):
                W[k, i] -= f * W[j, i]
        f = W[k, k]
        for i in range(last, first + k + 1):
            W[size, i] += f * (W[k, i] * W[k, i])
    for j in range(m):
        rise[0, j] += (r[a, row, j] - W[x, j]) ** 2 / W[size, first + j]
        rise[1, j] += (r[a, row, j] - W[Cx, j]) ** 2 / W[size, last + j]
