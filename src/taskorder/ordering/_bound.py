"""The lower bound behind branch and bound: compiled kernels, arrays in and out.

The visit coefficients v of every completion obey v (C + I) v^T / 2 = r.v, so for any multiplier lam that makes
K = G + (lam/2)(C + I) positive definite, with b = h + (lam/2) r and x = K^-1 b,

    bound(lam) = e - b K^-1 b

is below every completion. Fixing j first (v_j = r_j) raises it by at least (r_j - x_j)^2 / (K^-1)_jj, fixing l last
(C_l.v = r_l) by at least (r_l - C_l.x)^2 / (C_l K^-1 C_l): one factorization prices the children of both ends. (Pricing
pairs of ends saves a tenth of the nodes and costs half as much again.) With a general output similarity each row of r
has its own multiplier and the bounds add.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering._jit import njit

NEVER = 1e300
FAST = {"reassoc", "contract", "arcp", "nsz"}
"""Fast arithmetic that still tells numbers from infinities and from what is no number."""


@njit(error_model="numpy", fastmath=FAST)
def invert_factor(K, m, X):
    """X <- inverse of the lower Cholesky factor of K; False when K is not safely positive definite.

    Only the upper triangle of K is read, and it is used up. Inner loops run along rows, as vector instructions.
    """
    for j in range(m):
        pivot = K[j, j]
        for k in range(j):
            c = K[k, j]
            for i in range(j, m):
                K[j, i] -= c * K[k, i]
        if not K[j, j] > 1e-9 * abs(pivot):
            return False
        d = 1.0 / np.sqrt(K[j, j])
        for i in range(j, m):
            K[j, i] *= d
        for i in range(j):
            X[j, i] = 0.0
        for k in range(j):
            c = K[k, j] * d
            for i in range(k + 1):
                X[j, i] -= c * X[k, i]
        X[j, j] = d
    return True


@njit(error_model="numpy", fastmath=FAST)
def _factor(C, G, m, lam, X, K):
    """`invert_factor` of K = G + (lam/2)(C + I)."""
    half = 0.5 * lam
    for i in range(m):
        for j in range(i, m):
            K[i, j] = G[i, j] + half * C[i, j]
        K[i, i] += half
    return invert_factor(K, m, X)


@njit(error_model="numpy", fastmath=FAST)
def row_bound(r, h, C, G, m, lam, steps, least, need, X, K, x, s):
    """The row's part of the bound, -b K^-1 b, after at most `steps` Newton steps on lam: returns (part, lam).

    Stops early once the part reaches `need`, or when a step promises less than the share `least` of what is missing.
    X and x belong to the returned lam; K is scratch.
    """
    best, best_lam, wall, failures, halvings = -NEVER, lam, -NEVER, 0, 0
    while True:
        if not _factor(C, G, m, lam, X, K):
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
        value, size = 0.0, 0.0
        for j in range(m):
            x[j] = 0.0
        for i in range(m):
            y = 0.0
            for j in range(i + 1):
                y += X[i, j] * (h[j] + 0.5 * lam * r[j])
            value -= y * y
            for j in range(i + 1):
                x[j] += X[i, j] * y
        for j in range(m):
            size += x[j] * x[j] * (abs(G[j, j]) + abs(lam))
        value -= 1e-15 * m * m * size  # rounding of the factorization: backward error times |x|^2
        if value < best and halvings < 8:
            halvings += 1
            lam = 0.5 * (lam + best_lam)
            if halvings == 8:
                lam = best_lam
            continue
        best, best_lam = value, lam
        if steps <= 0 or value >= need or halvings >= 8:
            return value, lam
        steps -= 1
        slope = 0.0
        for i in range(m):
            t = x[i] - r[i]
            for j in range(m):
                t += C[i, j] * x[j]
            s[i] = t
            slope += 0.5 * x[i] * (t - r[i])
        curvature = 0.0
        for i in range(m):
            t = 0.0
            for j in range(i + 1):
                t += X[i, j] * s[j]
            curvature += t * t
        if curvature <= 0.0:
            return value, lam
        step = 2.0 * slope / curvature
        missing = need - value if need < NEVER else abs(value)
        if 0.5 * slope * step < least * missing:
            return value, lam
        lam = max(lam + step, 0.5 * (lam + wall))


@njit(error_model="numpy", fastmath=FAST)
def price_children(r, C, m, X, x, front, back, enough, work):
    """Add to front[j] and back[j] how much fixing j first or last raises this row's bound; work: (3, n) scratch.

    The ending costs most of the time: it is left out when at most one beginning stays below `enough`. Inner loops run
    over j, along rows, so that they become vector instructions.
    """
    line, size, gap = work[0], work[1], work[2]
    for j in range(m):
        size[j] = 0.0
    for i in range(m):
        for j in range(i + 1):
            size[j] += X[i, j] * X[i, j]
    below = 0
    for j in range(m):
        front[j] += (r[j] - x[j]) ** 2 / size[j]
        below += front[j] < enough
    if below <= 1:
        return
    for j in range(m):
        size[j], gap[j] = 0.0, r[j]
    for i in range(m):
        for j in range(m):
            line[j] = 0.0
        for k in range(i + 1):
            c = X[i, k]
            for j in range(m):
                line[j] += c * C[k, j]
        for j in range(m):
            size[j] += line[j] * line[j]
            gap[j] -= x[i] * C[i, j]
    for j in range(m):
        back[j] += gap[j] * gap[j] / size[j]
