"""One task more at either end of an order, and the last few tried out: compiled kernels, arrays in and out.

Learning j next changes (e, r, h); fixing l as the last of the open tasks changes (e, h, G):

    first j:  e -= r_j (2 h_j - r_j G_jj);  r -= r_j C_j;  h -= r_j G_j
    last l:   e -= r_l (2 h_l - r_l G_ll);  h -= r_l G_l + C_l (h_l - r_l G_ll)
              G -= C_l G_l^T + G_l C_l^T - G_ll C_l C_l^T

C and G have padded rows (simd.py).
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering.kernels.jit import njit
from taskorder.ordering.kernels.simd import WIDTH, add_product, load, splat, store


@njit(error_model="numpy")
def learn_first(j, m, d, e, r, h, C, G, keep):
    """State d + 1 <- state d (m open tasks) after learning its position j next; the last takes the place of j."""
    last = m - 1
    e[d + 1] = e[d]
    for row in range(r.shape[1]):
        v = r[d, row, j]
        e[d + 1] -= v * (2.0 * h[d, row, j] - v * G[d, j, j])
        for i in range(last):
            r[d + 1, row, i] = r[d, row, i] - v * C[d, j, i]
            h[d + 1, row, i] = h[d, row, i] - v * G[d, j, i]
        if j < last:
            r[d + 1, row, j] = r[d, row, last] - v * C[d, j, last]
            h[d + 1, row, j] = h[d, row, last] - v * G[d, j, last]
    rows, width = C.shape[1], C.shape[2]
    for i in range(last):
        a = last if i == j else i
        keep[d + 1, i] = keep[d, a]
        old, new = (d * rows + a) * width, ((d + 1) * rows + i) * width
        for b in range(0, last, WIDTH):
            store(C, new + b, load(C, old + b))
            store(G, new + b, load(G, old + b))
        C[d + 1, i, j], G[d + 1, i, j] = C[d, a, last], G[d, a, last]


@njit(error_model="numpy")
def fix_last(j, m, d, e, r, h, C, G, keep):
    """State d + 1 <- state d (m open tasks) after fixing its position j last; the last one takes the place of j."""
    last = m - 1
    own = G[d, j, j]
    e[d + 1] = e[d]
    for row in range(r.shape[1]):
        v = r[d, row, j]
        pull = h[d, row, j] - v * own
        e[d + 1] -= v * (h[d, row, j] + pull)
        for i in range(last):
            r[d + 1, row, i] = r[d, row, i]
            h[d + 1, row, i] = h[d, row, i] - v * G[d, j, i] - C[d, j, i] * pull
        if j < last:
            r[d + 1, row, j] = r[d, row, last]
            h[d + 1, row, j] = h[d, row, last] - v * G[d, j, last] - C[d, j, last] * pull
    rows, width = C.shape[1], C.shape[2]
    gone = (d * rows + j) * width
    for i in range(last):
        a = last if i == j else i
        keep[d + 1, i] = keep[d, a]
        c = C[d, a, j]
        g = G[d, a, j] - own * c
        old, new = (d * rows + a) * width, ((d + 1) * rows + i) * width
        for b in range(0, last, WIDTH):
            store(C, new + b, load(C, old + b))
            line = add_product(load(G, old + b), splat(-c), load(G, gone + b))
            store(G, new + b, add_product(line, splat(-g), load(C, gone + b)))
        C[d + 1, i, j], G[d + 1, i, j] = C[d, a, last], G[d, a, last] - c * G[d, j, last] - g * C[d, j, last]


@njit(error_model="numpy", fastmath={"contract"})
def finish(m, e, r, h, C, G, keep, before, best, tail):
    """Try every allowed order of the last m <= 3 tasks; tail <- the best one below `best`, whose error is returned."""
    one = np.uint64(1)
    for i in range(m):
        a = np.uint64(keep[i])
        for j in range(m):
            if j == i and m > 1:
                continue
            b = np.uint64(keep[j])
            k = 3 - i - j  # the third of three
            value = e
            for row in range(r.shape[0]):
                u = r[row, i]
                value -= u * (2.0 * h[row, i] - u * G[i, i])
                if m > 1:
                    v = r[row, j] - u * C[i, j]
                    value -= v * (2.0 * (h[row, j] - u * G[i, j]) - v * G[j, j])
                    if m > 2:
                        w = r[row, k] - u * C[i, k] - v * C[j, k]
                        value -= w * (2.0 * (h[row, k] - u * G[i, k] - v * G[j, k]) - w * G[k, k])
            if value < best:
                if m > 1 and (before[a] >> b) & one:
                    continue
                if m > 2:
                    c = np.uint64(keep[k])
                    if ((before[a] | before[b]) >> c) & one:
                        continue
                    tail[2] = keep[k]
                best = value
                tail[0] = keep[i]
                if m > 1:
                    tail[1] = keep[j]
    return best


@njit(error_model="numpy")
def order_error(e, r, h, C, G, order):
    """Error after learning `order`; r and h are used up."""
    for j in order:
        for row in range(r.shape[0]):
            v = r[row, j]
            e -= v * (2.0 * h[row, j] - v * G[j, j])
            for i in range(r.shape[1]):
                r[row, i] -= v * C[j, i]
                h[row, i] -= v * G[j, i]
    return e


@njit()
def keep_best(order, begun, tail, count, best_order):
    """best_order <- order with `count` tasks of `tail` at `begun`; slices would take seconds to compile here."""
    for i in range(len(order)):
        best_order[i] = order[i]
    for i in range(count):
        best_order[begun + i] = tail[i]


@njit(error_model="numpy")
def more_room(table, values, rows):
    """Copies of both with room for that many rows."""
    longer, more = np.zeros((rows, table.shape[1]), np.int8), np.zeros(rows)
    for i in range(len(table)):
        more[i] = values[i]
        for j in range(table.shape[1]):
            longer[i, j] = table[i, j]
    return longer, more


@njit()
def leave_open(depth, top, goal, turn, count, price, child, at_front, ends, tasks, order, left, bounds, num_left):
    """Append to `left` and `bounds` the children below `goal` that a search has not tried; returns the number of rows.

    A search from depth `top` stands at `depth`. tasks[d]: the open tasks at depth d; child[d, t]: which of them is the
    t-th to try; turn[d]: the first t not tried. ends[d]: tasks fixed at the front and at the back. `order` is used up.
    """
    n = len(order)
    for d in range(depth, top - 1, -1):  # from the deepest: what is written into `order` there is not read above
        for t in range(turn[d], count[d]):
            if price[d, t] < goal:
                order[ends[d, 0] if at_front[d] else n - 1 - ends[d, 1]] = tasks[d, child[d, t]]
                for i in range(n):
                    left[num_left, i + 2] = order[i]
                left[num_left, 0], left[num_left, 1] = ends[d, 0] + at_front[d], ends[d, 1] + (not at_front[d])
                bounds[num_left] = price[d, t]
                num_left += 1
    return num_left
