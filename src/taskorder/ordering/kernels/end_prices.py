"""What it costs to fix one more task at either end, carried from a node to its children: compiled kernels.

For fixed multipliers the bound of bound.py is the least value of a quadratic form, at x and with the inverse matrix M.
Fixing j first is the linear condition v_j = r_j, fixing l last is C_l.v = r_l. So a node keeps, for the 2 m conditions
that its m open tasks offer, how far x misses each (`gap`) and their Gram matrix in M (`S`). Condition a raises the
bound by gap_a^2 / S_aa, and once it is met

    gap_b -= S_ab gap_a / S_aa,    S_bc -= S_ab S_ac / S_aa.

Then the conditions are restated for those who are left: after j first, v_i = r_i - r_j C_ij; after l last, v_l does
not count in C_i.v any more. A child costs O(m^2) that way instead of a factorization, and its own prices alone O(m).

Condition (end, j) has row end * m + j of S and, in all rows, place end * w + j with w = 8 blocks(m). S is flat, with
the matrix of a node at `at`; its diagonal is `size`. The last task takes the place of the one that leaves. Conditions
that rounding may have spoiled, those with S_aa far below what it once was (`scale`), cost nothing. Arrays come whole,
with the depth d of a node and a row of r: slices would be counted in and out, by locked instructions.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

from taskorder.ordering.kernels.jit import njit
from taskorder.ordering.kernels.simd import WIDTH, add_product, blocks, load, ratio, splat, store, total

SPOILED = 1e-6
"""Share of its first value below which S_aa is not trusted."""


@njit()
def room(m):
    """Numbers in the Gram matrix of a node with m open tasks."""
    return 4 * m * WIDTH * blocks(m)


@njit(error_model="numpy")
def survey(m, d, row, r, C, X, x, S, at, gap, size, scale):
    """Gaps and Gram matrix from scratch, for row `row` of the node at depth d; X, x: as `row_bound` leaves them."""
    w, wide = WIDTH * blocks(m), C.shape[2]
    start = d * C.shape[1] * wide
    for i in range(m):  # M = X^T X, then M C
        line = at + i * 2 * w
        for b in range(0, m, WIDTH):
            sums = splat(0.0)
            for k in range(max(i, b), m):
                sums = add_product(sums, splat(X[k, i]), load(X, k * wide + b))
            store(S, line + b, sums)
        for b in range(0, m, WIDTH):
            sums = splat(0.0)
            for k in range(m):
                sums = add_product(sums, splat(S[line + k]), load(C, start + k * wide + b))
            store(S, line + w + b, sums)
    for i in range(m):  # C M, C M C
        line = at + (m + i) * 2 * w
        for b in range(0, m, WIDTH):
            sums = splat(0.0)
            for k in range(m):
                sums = add_product(sums, splat(C[d, i, k]), load(S, at + k * 2 * w + w + b))
            store(S, line + w + b, sums)
        t = r[d, row, i]
        for j in range(m):
            S[line + j] = S[at + j * 2 * w + w + i]
            t -= C[d, i, j] * x[j]
        gap[d, row, 0, i], gap[d, row, 1, i] = r[d, row, i] - x[i], t
        for end in range(2):
            size[d, row, end, i] = scale[d, row, end, i] = S[at + (end * m + i) * 2 * w + end * w + i]


@njit(error_model="numpy")
def rises(m, d, row, gap, size, scale, front, back):
    """Add to front[d, j] and back[d, j] how much fixing j first or last raises the bound."""
    for j in range(m):
        s, t = size[d, row, 0, j], size[d, row, 1, j]
        front[d, j] += gap[d, row, 0, j] ** 2 / s if s > SPOILED * scale[d, row, 0, j] else 0.0
        back[d, j] += gap[d, row, 1, j] ** 2 / t if t > SPOILED * scale[d, row, 1, j] else 0.0


@njit(error_model="numpy")
def foresee(end, j, m, d, row, r, C, S, at, gap, size, scale, front, back):
    """Gaps, sizes and `rises` of the child that meets condition (end, j), at depth d + 1 and in its indices.

    The rows come in their order: the first one overwrites the prices, the others add to them.
    """
    w, last, wide = WIDTH * blocks(m), m - 1, gap.shape[3]
    line, twin, similar = at + (end * m + j) * 2 * w, at + j * 2 * w, (d * C.shape[1] + j) * C.shape[2]
    old, new = (d * gap.shape[1] + row) * 2 * wide, ((d + 1) * gap.shape[1] + row) * 2 * wide
    prices, inverse = (d + 1) * wide, 1.0 / size[d, row, end, j]
    p, cross = gap[d, row, end, j] * inverse, S[line + j]
    share = cross * inverse
    left = splat(S[twin + j] - share * cross)
    v = r[d, row, j] if end == 0 else r[d, row, j] - gap[d, row, 0, j] + cross * p
    zero, down, drop, spoiled = splat(0.0), splat(-p), splat(-inverse), splat(SPOILED)
    for b in range(0, m, WIDTH):
        c, s, t = load(C, similar + b), load(S, line + b), load(S, line + w + b)
        g, y = add_product(load(gap, old + b), down, s), add_product(load(gap, old + wide + b), down, t)
        first = add_product(load(size, old + b), add_product(zero, drop, s), s)
        final = add_product(load(size, old + wide + b), add_product(zero, drop, t), t)
        least, lowest = load(scale, old + b), load(scale, old + wide + b)
        if end == 0:
            g = add_product(g, splat(-v), c)
        else:
            y = add_product(y, splat(v), c)
            u = add_product(load(S, twin + w + b), splat(-share), t)
            final = add_product(final, c, add_product(add_product(zero, left, c), splat(-2.0), u))
            lowest = add_product(lowest, add_product(zero, splat(scale[d, row, 0, j]), c), c)
        store(gap, new + b, g)
        store(gap, new + wide + b, y)
        store(size, new + b, first)
        store(size, new + wide + b, final)
        store(scale, new + b, least)
        store(scale, new + wide + b, lowest)
        rise = ratio(add_product(zero, g, g), first, add_product(zero, spoiled, least))
        store(front, prices + b, rise if row == 0 else add_product(load(front, prices + b), splat(1.0), rise))
        rise = ratio(add_product(zero, y, y), final, add_product(zero, spoiled, lowest))
        store(back, prices + b, rise if row == 0 else add_product(load(back, prices + b), splat(1.0), rise))
    for side in range(2):
        gap[d + 1, row, side, j] = gap[d + 1, row, side, last]
        size[d + 1, row, side, j] = size[d + 1, row, side, last]
        scale[d + 1, row, side, j] = scale[d + 1, row, side, last]
    front[d + 1, j], back[d + 1, j] = front[d + 1, last], back[d + 1, last]


@njit()
def fewest(m, d, front, back, cut):
    """Children below `cut` of the node at depth d, at the end that has fewer."""
    few, many = 0, 0
    for j in range(m):
        few += front[d, j] < cut
        many += back[d, j] < cut
    return min(few, many)


@njit(error_model="numpy")
def meet(end, j, m, d, row, C, S, at, size, to, u):
    """The Gram matrix after condition (end, j), at `to`; u: scratch as long as a row."""
    last, similar = m - 1, (d * C.shape[1] + j) * C.shape[2]
    w, w2 = WIDTH * blocks(m), WIDTH * blocks(last)
    line, twin = at + (end * m + j) * 2 * w, at + j * 2 * w
    inverse = 1.0 / size[d, row, end, j]
    share = S[line + j] * inverse
    half = 0.5 * (S[twin + j] - share * S[line + j])
    if end == 1:
        for b in range(0, m, WIDTH):
            store(u, b, add_product(load(S, twin + b), splat(-share), load(S, line + b)))
            sums = add_product(load(S, twin + w + b), splat(-share), load(S, line + w + b))
            store(u, w + b, add_product(sums, splat(-half), load(C, similar + b)))
    for side in range(2):
        for i in range(last):
            a = last if i == j else i
            old, new = at + (side * m + a) * 2 * w, to + (side * last + i) * 2 * w2
            f, c = -inverse * S[line + side * w + a], -C[d, j, a] if side == 1 and end == 1 else 0.0
            drop = -u[side * w + a] if end == 1 else 0.0
            for b in range(0, last, WIDTH):
                sums = add_product(load(S, old + b), splat(f), load(S, line + b))
                other = add_product(load(S, old + w + b), splat(f), load(S, line + w + b))
                if end == 1:
                    sums = add_product(sums, splat(c), load(u, b))
                    other = add_product(other, splat(c), load(u, w + b))
                    other = add_product(other, splat(drop), load(C, similar + b))
                store(S, new + b, sums)
                store(S, new + w2 + b, other)
            if j < last:
                S[new + j] = S[old + last] + f * S[line + last] + (c * u[last] if end == 1 else 0.0)
                S[new + w2 + j] = S[old + w + last] + f * S[line + w + last]
                if end == 1:
                    S[new + w2 + j] += c * u[w + last] + drop * C[d, j, last]


@njit(error_model="numpy")
def promise(m, d, row, r, S, at, gap, s):
    """(Newton's step on the multiplier, what it promises to add to the bound); s: scratch."""
    w, slope, curvature = WIDTH * blocks(m), 0.0, 0.0
    for i in range(m, w):
        s[i] = 0.0
    for i in range(m):
        miss = gap[d, row, 0, i] + gap[d, row, 1, i]
        s[i] = r[d, row, i] - miss
        slope -= 0.5 * (r[d, row, i] - gap[d, row, 0, i]) * miss
    for b in range(0, m, WIDTH):
        line = splat(0.0)
        for i in range(m):
            line = add_product(line, splat(s[i]), load(S, at + i * 2 * w + b))
        curvature += total(add_product(splat(0.0), line, load(s, b)))
    if not curvature > 0.0:
        return 0.0, 0.0
    return 2.0 * slope / curvature, slope * slope / curvature
