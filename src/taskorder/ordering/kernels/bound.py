"""The lower bound behind branch and bound. Every other module refers to this statement of it.

The state of a partial order (problem.py) is its error e and, for the open tasks, the residuals r, h = r W C, C and
G = C W C. If v_j is the residual of task j when it is learned, completing the order leaves the error
e - 2 h.v + v G v^T. Every completion obeys (1/2) v (C + I) v^T = r.v, for any symmetric C with unit diagonal. With a
multiplier lam on this identity, K = G + (lam/2)(C + I) positive definite, b = h + (lam/2) r and x = K^-1 b,

    bound(lam) = e - b K^-1 b

is below the error of every completion. It is concave in lam; Newton's step is lam += 2 q / (s K^-1 s) with
s = (C + I) x - r and q = x (C + I) x / 2 - r.x. lam = 0 is plain least squares.
 Fixing j first (v_j = r_j) raises it by at least (r_j - x_j)^2 / (K^-1)_jj, fixing l last
(C_l.v = r_l) by at least (r_l - C_l.x)^2 / (C_l K^-1 C_l): one factorization prices the children of both ends. (Pricing
pairs of ends saves a tenth of the nodes and costs half as much again.) With a general output similarity each row of r
has its own multiplier and the bounds add.

Matrices have padded rows (simd.py), and so do scratch vectors.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering.kernels.jit import njit
from taskorder.ordering.kernels.simd import WIDTH, add_product, load, splat, store, total

NEVER = 1e300


@njit(error_model="numpy")
def least_value(K, m, X, x):
    """-b K^-1 b for K with b in its column m, minus NEVER when K is not safely positive definite; K is used up.

    X <- inverse of the lower Cholesky factor of K, x <- K^-1 b.
    """
    w, value = K.shape[1], 0.0
    for j in range(m):
        pivot = K[j, j]
        for at in range(j // WIDTH * WIDTH, m + 1, WIDTH):
            line = load(K, j * w + at)
            for k in range(j):
                line = add_product(line, splat(-K[k, j]), load(K, k * w + at))
            store(K, j * w + at, line)
        if not K[j, j] > 1e-9 * abs(pivot):
            return -NEVER
        d = 1.0 / np.sqrt(K[j, j])
        for at in range(j // WIDTH * WIDTH, m + 1, WIDTH):
            store(K, j * w + at, add_product(splat(0.0), splat(d), load(K, j * w + at)))
        value -= K[j, m] * K[j, m]
        for at in range(0, j + 1, WIDTH):
            line = splat(0.0)
            for k in range(at, j):
                line = add_product(line, splat(-d * K[k, j]), load(X, k * w + at))
            store(X, j * w + at, line)
        X[j, j] = d
    for at in range(0, m, WIDTH):
        line = splat(0.0)
        for i in range(at, m):
            line = add_product(line, splat(K[i, m]), load(X, i * w + at))
        store(x, at, line)
    return value


@njit(error_model="numpy")
def multiply(C, m, x, out):
    """out <- C x for symmetric C."""
    w = C.shape[1]
    for at in range(0, m, WIDTH):
        line = splat(0.0)
        for i in range(m):
            line = add_product(line, splat(x[i]), load(C, i * w + at))
        store(out, at, line)


@njit(error_model="numpy")
def _at(r, h, C, G, m, lam, X, K, x):
    """`least_value` of K = G + (lam/2)(C + I), b = h + (lam/2) r, less its rounding."""
    w, half, size = K.shape[1], 0.5 * lam, 0.0
    for i in range(m):
        for at in range(0, m, WIDTH):
            store(K, i * w + at, add_product(load(G, i * w + at), splat(half), load(C, i * w + at)))
        K[i, i] += half
        K[i, m] = h[i] + half * r[i]
    value = least_value(K, m, X, x)
    for j in range(m):
        size += x[j] * x[j] * (abs(G[j, j]) + abs(lam))
    return value - 1e-15 * m * m * size if value > -NEVER else value


@njit(error_model="numpy")
def row_bound(r, h, C, G, m, lam, steps, least, need, X, K, x, s):
    """The row's part of the bound, -b K^-1 b, after at most `steps` Newton steps on lam: returns (part, lam).

    Stops early once the part reaches `need`, or when a step promises less than the share `least` of what is missing.
    X and x belong to the returned lam; K is scratch.
    """
    best, best_lam, wall, failures, halvings = -NEVER, lam, -NEVER, 0, 0
    while True:
        value = _at(r, h, C, G, m, lam, X, K, x)
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
        if steps <= 0 or value >= need or halvings >= 8:
            return value, lam
        steps -= 1
        slope = 0.0
        multiply(C, m, x, s)
        for i in range(m):
            s[i] += x[i] - r[i]
            slope += 0.5 * x[i] * (s[i] - r[i])
        for i in range(m, len(s)):
            s[i] = 0.0
        curvature = 0.0
        for i in range(m):
            line = splat(0.0)
            for at in range(0, i + 1, WIDTH):
                line = add_product(line, load(X, i * X.shape[1] + at), load(s, at))
            curvature += total(line) ** 2
        if curvature <= 0.0:
            return value, lam
        step = 2.0 * slope / curvature
        missing = need - value if need < NEVER else abs(value)
        if 0.5 * slope * step < least * missing:
            return value, lam
        lam = max(lam + step, 0.5 * (lam + wall))


@njit(error_model="numpy")
def better_row_bound(r, h, C, G, m, lam, step, part, X, K, x):
    """`row_bound` with a better multiplier than lam, which gives `part`: lam + step, or nearer where that fails.

    (part, lam) when there is none; X and x mean nothing then.
    """
    for _ in range(3):
        value = _at(r, h, C, G, m, lam + step, X, K, x)
        if value > part:
            return value, lam + step
        step *= 0.3
    return part, lam


@njit(error_model="numpy")
def price_children(r, C, m, X, x, front, back, enough, work):
    """Add to front[j] and back[j] how much fixing j first or last raises this row's bound; work: (2, w) scratch.

    The ending costs most of the time: it is left out when at most one task to come first stays below `enough`.
    """
    w, size, gap = C.shape[1], work[0], work[1]
    for at in range(0, m, WIDTH):
        squares = splat(0.0)
        for i in range(at, m):
            line = load(X, i * w + at)
            squares = add_product(squares, line, line)
        store(size, at, squares)
    below = 0
    for j in range(m):
        front[j] += (r[j] - x[j]) ** 2 / size[j]
        below += front[j] < enough
    if below <= 1:
        return
    for at in range(0, m, WIDTH):
        squares = splat(0.0)
        for i in range(m):
            line = splat(0.0)
            for k in range(i + 1):
                line = add_product(line, splat(X[i, k]), load(C, k * w + at))
            squares = add_product(squares, line, line)
        store(size, at, squares)
    multiply(C, m, x, gap)
    for j in range(m):
        back[j] += (r[j] - gap[j]) ** 2 / size[j]
