"""Beam search from both ends, ranked by the lower bound: a compiled kernel, arrays in and out."""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering.kernels.bound import NEVER, price_children, row_bound
from taskorder.ordering.kernels.jit import njit
from taskorder.ordering.kernels.simd import padded
from taskorder.ordering.kernels.steps import fix_last, learn_first


@njit(error_model="numpy")
def _copy(m, a, e, r, h, C, G, keep, b, e2, r2, h2, C2, G2, keep2):
    """State b of the second arrays <- state a of the first."""
    e2[b] = e[a]
    for i in range(m):
        keep2[b, i] = keep[a, i]
        for row in range(r.shape[1]):
            r2[b, row, i], h2[b, row, i] = r[a, row, i], h[a, row, i]
        for j in range(m):
            C2[b, i, j], G2[b, i, j] = C[a, i, j], G[a, i, j]


@njit(error_model="numpy")
def beam_both_ends(e0, r0, h0, C0, G0, precedes, width, side, best, best_order):
    """Keep the `width` partial orders of smallest bound at every size; returns the best error (and its order) if it is
    below `best`.

    Each partial order grows at whichever end leaves it fewer children below `best`.
    """
    k, n = r0.shape
    shape, w = width + 1, padded(n)
    e, r, h = np.zeros(shape), np.zeros((shape, k, n)), np.zeros((shape, k, n))
    C, G, keep = np.zeros((shape, n, w)), np.zeros((shape, n, w)), np.zeros((shape, n), np.int64)
    e2, r2, h2, C2, G2, keep2 = e.copy(), r.copy(), h.copy(), C.copy(), G.copy(), keep.copy()
    e3, r3, h3, C3 = np.zeros(2), np.zeros((2, k, n)), np.zeros((2, k, n)), np.zeros((2, n, w))
    G3, keep3 = np.zeros((2, n, w)), np.zeros((2, n), np.int64)
    order, order2 = np.zeros((shape, n), np.int64), np.zeros((shape, n), np.int64)
    ends, ends2 = np.zeros((shape, 2), np.int64), np.zeros((shape, 2), np.int64)
    lam, lam2 = np.full((shape, k), 0.1), np.full((shape, k), 0.1)
    X, L, x, s = np.zeros((n, w)), np.zeros((n, w)), np.zeros(w), np.zeros(w)
    front, back, work = np.zeros(n), np.zeros(n), np.zeros((2, w))
    price, parent = np.zeros(shape * n), np.zeros(shape * n, np.int64)
    choice, at_front = np.zeros(shape * n, np.int64), np.zeros(shape * n, np.bool_)
    e[0] = e0
    for i in range(n):
        keep[0, i] = i
        for row in range(k):
            r[0, row, i], h[0, row, i] = r0[row, i], h0[row, i]
        for j in range(n):
            C[0, i, j], G[0, i, j] = C0[i, j], G0[i, j]
    count = 1
    for m in range(n, 1, -1):  # open tasks
        # Price the children of every partial order at both ends, and take those of the end with fewer below `best`.
        num_children = 0
        for b in range(count):
            bound = e[b]
            for j in range(m):
                front[j], back[j] = 0.0, 0.0
            for row in range(k):
                steps = 30 if m == n else 2
                value, lam[b, row] = row_bound(
                    r[b, row], h[b, row], C[b], G[b], m, lam[b, row], steps, 0.01, NEVER, X, L, x, s
                )
                bound += value
                if value > -NEVER:
                    price_children(r[b, row], C[b], m, X, x, front, back, NEVER, work)
            few, many, sum_front, sum_back = 0, 0, 0.0, 0.0
            cut = best - bound
            for j in range(m):
                for i in range(m):
                    if precedes[keep[b, i], keep[b, j]]:
                        front[j] = NEVER
                    if precedes[keep[b, j], keep[b, i]]:
                        back[j] = NEVER
                few += front[j] < cut
                many += back[j] < cut
                sum_front += min(front[j], cut)
                sum_back += min(back[j], cut)
            forward = few < many or (few == many and sum_front >= sum_back)
            if side != 0:
                forward = side > 0
            for j in range(m):
                rise = front[j] if forward else back[j]
                if rise < cut:
                    price[num_children], parent[num_children], choice[num_children], at_front[num_children] = (
                        bound + rise,
                        b,
                        j,
                        forward,
                    )
                    num_children += 1
        # Keep the cheapest children; their states go into the second arrays, which then trade places with the first.
        rank = np.argsort(price[:num_children])
        count, last = 0, -NEVER
        for c in rank:
            if count == width:
                break
            if abs(price[c] - last) <= 1e-12 * abs(last):  # most likely the mirror image of the one before
                continue
            last = price[c]
            b, j = parent[c], choice[c]
            _copy(m, b, e, r, h, C, G, keep, 0, e3, r3, h3, C3, G3, keep3)
            for i in range(n):
                order2[count, i] = order[b, i]
            for row in range(k):
                lam2[count, row] = lam[b, row]
            ends2[count, 0], ends2[count, 1] = ends[b, 0], ends[b, 1]
            if at_front[c]:
                order2[count, ends[b, 0]] = keep[b, j]
                ends2[count, 0] += 1
                learn_first(j, m, 0, e3, r3, h3, C3, G3, keep3)
            else:
                order2[count, n - 1 - ends[b, 1]] = keep[b, j]
                ends2[count, 1] += 1
                fix_last(j, m, 0, e3, r3, h3, C3, G3, keep3)
            _copy(m - 1, 1, e3, r3, h3, C3, G3, keep3, count, e2, r2, h2, C2, G2, keep2)
            count += 1
        e, e2, r, r2, h, h2, C, C2, G, G2, keep, keep2 = e2, e, r2, r, h2, h, C2, C, G2, G, keep2, keep
        order, order2, ends, ends2, lam, lam2 = order2, order, ends2, ends, lam2, lam
    for b in range(count):
        value = e[b]
        for row in range(k):
            v = r[b, row, 0]
            value -= v * (2.0 * h[b, row, 0] - v * G[b, 0, 0])
        if value < best:
            best = value
            order[b, ends[b, 0]] = keep[b, 0]
            for i in range(n):
                best_order[i] = order[b, i]
    return best
