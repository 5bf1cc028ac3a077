"""Beam search from both ends, ranked by the lower bound: a compiled kernel, arrays in and out."""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering.kernels.bound import NEVER, price_children, row_bound, scratch
from taskorder.ordering.kernels.jit import njit
from taskorder.ordering.kernels.steps import fix_last, learn_first, new_states


@njit(error_model="numpy")
def beam_both_ends(e0, r0, h0, C0, G0, precedes, width, side, best, best_order, late):
    """Keep the `width` partial orders of smallest bound at every size; returns the best error (and its order) if it is
    below `best`, and `best` once late[0] is true.

    Each partial order grows at whichever end leaves it fewer children below `best`.
    """
    k, n = r0.shape
    shape, W, rise = width + 1, scratch(n), np.zeros((2, n))
    e, r, h, C, G, task = new_states(2 * shape, e0, r0, h0, C0, G0)
    now, then = 0, shape  # where the states of this size and those of the next begin
    order, order2 = np.zeros((shape, n), np.int64), np.zeros((shape, n), np.int64)
    ends, ends2 = np.zeros((shape, 2), np.int64), np.zeros((shape, 2), np.int64)
    lam, lam2 = np.full((shape, k), 0.1), np.full((shape, k), 0.1)
    price, parent = np.zeros(shape * n), np.zeros(shape * n, np.int64)
    choice, at_front = np.zeros(shape * n, np.int64), np.zeros(shape * n, np.bool_)
    count = 1
    for m in range(n, 1, -1):  # open tasks
        # Price the children of every partial order at both ends, and take those of the end with fewer below `best`.
        num_children = 0
        for b in range(count):
            bound = e[now + b]
            for j in range(m):
                rise[0, j], rise[1, j] = 0.0, 0.0
            for row in range(k):
                if late[0]:
                    return best
                steps = 30 if m == n else 2
                value, lam[b, row] = row_bound(r, h, C, G, now + b, row, m, lam[b, row], steps, 0.01, NEVER, W)
                bound += value
                if value > -NEVER:
                    price_children(r, C, now + b, row, m, W, rise)
            few, many, sum_front, sum_back = 0, 0, 0.0, 0.0
            cut = best - bound
            for j in range(m):
                for i in range(m):
                    if precedes[task[now + b, i], task[now + b, j]]:
                        rise[0, j] = NEVER
                    if precedes[task[now + b, j], task[now + b, i]]:
                        rise[1, j] = NEVER
                few += rise[0, j] < cut
                many += rise[1, j] < cut
                sum_front += min(rise[0, j], cut)
                sum_back += min(rise[1, j], cut)
            forward = few < many or (few == many and sum_front >= sum_back)
            if side != 0:
                forward = side > 0
            for j in range(m):
                value = rise[0 if forward else 1, j]
                if value < cut:
                    price[num_children], parent[num_children] = bound + value, b
                    choice[num_children], at_front[num_children] = j, forward
                    num_children += 1
        # Keep the cheapest children; their states go into `then`, which trades places with `now`.
        rank = np.argsort(price[:num_children])
        count, last = 0, -NEVER
        for c in rank:
            if count == width:
                break
            if abs(price[c] - last) <= 1e-12 * abs(last):  # most likely the mirror image of the one before
                continue
            last = price[c]
            b, j = parent[c], choice[c]
            for i in range(n):
                order2[count, i] = order[b, i]
            for row in range(k):
                lam2[count, row] = lam[b, row]
            ends2[count, 0], ends2[count, 1] = ends[b, 0], ends[b, 1]
            if at_front[c]:
                order2[count, ends[b, 0]] = task[now + b, j]
                ends2[count, 0] += 1
                learn_first(e, r, h, C, G, task, now + b, then + count, m, j)
            else:
                order2[count, n - 1 - ends[b, 1]] = task[now + b, j]
                ends2[count, 1] += 1
                fix_last(e, r, h, C, G, task, now + b, then + count, m, j)
            count += 1
        now, then = then, now
        order, order2, ends, ends2, lam, lam2 = order2, order, ends2, ends, lam2, lam
    for b in range(count):
        value = e[now + b]
        for row in range(k):
            v = r[now + b, row, 0]
            value -= v * (2.0 * h[now + b, row, 0] - v * G[now + b, 0, 0])
        if value < best:
            best = value
            order[b, ends[b, 0]] = task[now + b, 0]
            for i in range(n):
                best_order[i] = order[b, i]
    return best
