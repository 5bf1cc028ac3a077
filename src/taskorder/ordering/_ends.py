"""What it costs to fix one more visit at either end, carried from a node to its children: compiled kernels.

For fixed multipliers the bound of _bound.py is the least value of a quadratic form, at x and with the inverse matrix M.
Fixing j first is the linear condition v_j = r_j, fixing l last is C_l.v = r_l. So a node keeps, for the 2 m conditions
that its m open visits offer, how far x misses each (`gap`) and their Gram matrix in M (`S`). Condition a raises the
bound by gap_a^2 / S_aa, and once it is met

    gap_b -= S_ab gap_a / S_aa,    S_bc -= S_ab S_ac / S_aa.

Then the conditions are restated for those who are left: after j first, v_i = r_i - r_j C_ij; after l last, v_l does
not count in C_i.v any more. A child costs O(m^2) that way instead of a factorization, and its own prices alone O(m).

Condition (end, j) has row end * m + j of S and, in all rows, place end * w + j with w = 8 blocks(m). S is flat, with
the matrix of a node at `at`. The last visit takes the place of the one that leaves. Conditions that rounding may have
spoiled, those with S_aa far below what it once was (`scale`), cost nothing.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

from taskorder.ordering._bound import FAST
from taskorder.ordering._jit import njit
from taskorder.ordering._lanes import WIDTH, add_product, blocks, load, splat, store, total

SPOILED = 1e-6
"""Share of its first value below which S_aa is not trusted."""


@njit()
def room(m):
    """Numbers in the Gram matrix of a node with m open visits."""
    return 4 * m * WIDTH * blocks(m)


@njit()
def own(S, at, m, end, j):
    """The diagonal entry of condition (end, j)."""
    w = WIDTH * blocks(m)
    return S[at + (end * m + j) * 2 * w + end * w + j]


@njit(error_model="numpy", fastmath=FAST)
def survey(r, C, m, X, x, S, at, gap, scale):
    """Gaps and Gram matrix from scratch; X, x: as `row_bound` leaves them."""
    w, n = WIDTH * blocks(m), C.shape[1]
    for i in range(m):  # M = X^T X, then M C
        row = at + i * 2 * w
        for b in range(0, m, WIDTH):
            line = splat(0.0)
            for k in range(max(i, b), m):
                line = add_product(line, splat(X[k, i]), load(X, k * n + b))
            store(S, row + b, line)
        for b in range(0, m, WIDTH):
            line = splat(0.0)
            for k in range(m):
                line = add_product(line, splat(S[row + k]), load(C, k * n + b))
            store(S, row + w + b, line)
    for i in range(m):  # C M, C M C
        row = at + (m + i) * 2 * w
        for b in range(0, m, WIDTH):
            line = splat(0.0)
            for k in range(m):
                line = add_product(line, splat(C[i, k]), load(S, at + k * 2 * w + w + b))
            store(S, row + w + b, line)
        t = r[i]
        for j in range(m):
            S[row + j] = S[at + j * 2 * w + w + i]
            t -= C[i, j] * x[j]
        gap[0, i], gap[1, i] = r[i] - x[i], t
        scale[0, i], scale[1, i] = own(S, at, m, 0, i), own(S, at, m, 1, i)


@njit(error_model="numpy", fastmath=FAST)
def rises(m, S, at, gap, scale, front, back):
    """Add to front[j] and back[j] how much fixing j first or last raises the bound."""
    for j in range(m):
        s, t = own(S, at, m, 0, j), own(S, at, m, 1, j)
        front[j] += gap[0, j] ** 2 / s if s > SPOILED * scale[0, j] else 0.0
        back[j] += gap[1, j] ** 2 / t if t > SPOILED * scale[1, j] else 0.0


@njit(error_model="numpy", fastmath=FAST)
def foresee(end, j, m, r, C, S, at, gap, scale, front, back):
    """`rises` of the child that meets condition (end, j), in its indices."""
    w = WIDTH * blocks(m)
    row, twin, step = at + (end * m + j) * 2 * w, at + j * 2 * w, 2 * w + 1
    inverse = 1.0 / own(S, at, m, end, j)
    p = gap[end, j] * inverse
    if end == 0:
        v = r[j]
        for i in range(m):
            s, t = S[row + i], S[row + w + i]
            g, y = gap[0, i] - s * p - v * C[j, i], gap[1, i] - t * p
            s = S[at + i * step] - s * s * inverse
            t = S[at + m * 2 * w + w + i * step] - t * t * inverse
            front[i] += g * g / s if s > SPOILED * scale[0, i] else 0.0
            back[i] += y * y / t if t > SPOILED * scale[1, i] else 0.0
    else:
        share = S[row + j] * inverse
        left = S[twin + j] - share * S[row + j]
        v = r[j] - gap[0, j] + S[row + j] * p  # the coefficient of j after all others
        for i in range(m):
            c, s, t = C[j, i], S[row + i], S[row + w + i]
            g, y = gap[0, i] - s * p, gap[1, i] - t * p + c * v
            s = S[at + i * step] - s * s * inverse
            u = S[twin + w + i] - share * t
            t = S[at + m * 2 * w + w + i * step] - t * t * inverse - 2.0 * c * u + c * c * left
            front[i] += g * g / s if s > SPOILED * scale[0, i] else 0.0
            back[i] += y * y / t if t > SPOILED * scale[1, i] else 0.0
    front[j], back[j] = front[m - 1], back[m - 1]


@njit(error_model="numpy", fastmath=FAST)
def meet(end, j, m, r, C, S, at, gap, scale, to, gap2, scale2, u):
    """The state after condition (end, j), at `to`; u: scratch as long as a row."""
    last = m - 1
    w, w2 = WIDTH * blocks(m), WIDTH * blocks(last)
    row, twin = at + (end * m + j) * 2 * w, at + j * 2 * w
    inverse = 1.0 / own(S, at, m, end, j)
    p = gap[end, j] * inverse
    share = S[row + j] * inverse
    v = r[j] if end == 0 else r[j] - gap[0, j] + S[row + j] * p
    half = 0.5 * (S[twin + j] - share * S[row + j])
    for i in range(m):
        c = C[j, i]
        gap2[0, i] = gap[0, i] - S[row + i] * p - (v * c if end == 0 else 0.0)
        gap2[1, i] = gap[1, i] - S[row + w + i] * p + (v * c if end == 1 else 0.0)
        scale2[0, i] = scale[0, i]
        scale2[1, i] = scale[1, i] + (c * c * scale[0, j] if end == 1 else 0.0)
        u[i], u[w + i] = S[twin + i] - share * S[row + i], S[twin + w + i] - share * S[row + w + i] - half * c
    for side in range(2):
        gap2[side, j], scale2[side, j] = gap2[side, last], scale2[side, last]
        for i in range(last):
            a = last if i == j else i
            old, new = at + (side * m + a) * 2 * w, to + (side * last + i) * 2 * w2
            f, c = -inverse * S[row + side * w + a], -C[j, a] if side == 1 and end == 1 else 0.0
            d = -u[side * w + a]
            for b in range(0, last, WIDTH):
                line = add_product(load(S, old + b), splat(f), load(S, row + b))
                other = add_product(load(S, old + w + b), splat(f), load(S, row + w + b))
                if end == 1:
                    line = add_product(line, splat(c), load(u, b))
                    other = add_product(other, splat(c), load(u, w + b))
                    other = add_product(other, splat(d), load(C, j * C.shape[1] + b))
                store(S, new + b, line)
                store(S, new + w2 + b, other)
            if j < last:
                S[new + j] = S[old + last] + f * S[row + last] + (c * u[last] if end == 1 else 0.0)
                S[new + w2 + j] = S[old + w + last] + f * S[row + w + last]
                if end == 1:
                    S[new + w2 + j] += c * u[w + last] + d * C[j, last]


@njit(error_model="numpy", fastmath=FAST)
def promise(m, r, S, at, gap, s):
    """(Newton's step on the multiplier, what it promises to add to the bound); s: scratch."""
    w, slope, curvature = WIDTH * blocks(m), 0.0, 0.0
    for i in range(m, w):
        s[i] = 0.0
    for i in range(m):
        s[i] = r[i] - gap[0, i] - gap[1, i]
        slope -= 0.5 * (r[i] - gap[0, i]) * (gap[0, i] + gap[1, i])
    for b in range(0, m, WIDTH):
        line = splat(0.0)
        for i in range(m):
            line = add_product(line, splat(s[i]), load(S, at + i * 2 * w + b))
        curvature += total(add_product(splat(0.0), line, load(s, b)))
    if not curvature > 0.0:
        return 0.0, 0.0
    return 2.0 * slope / curvature, slope * slope / curvature
