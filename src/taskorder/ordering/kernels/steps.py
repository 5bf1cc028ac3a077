"""One task more at either end of an order, and the last few tried out: compiled kernels, arrays in and out.

Learning j next changes (e, r, h); fixing l as the last of the open tasks changes (e, h, G):

    first j:  e -= r_j (2 h_j - r_j G_jj);  r -= r_j C_j;  h -= r_j G_j
    last l:   e -= r_l (2 h_l - r_l G_ll);  h -= r_l G_l + C_l (h_l - r_l G_ll)
              G -= C_l G_l^T + G_l C_l^T - G_ll C_l C_l^T

Several states stand side by side in the arrays e (s,), r, h (s, k, n), C, G (s, n, n) and task (s, n), which says which
tasks are open. A state with m open tasks uses the first m places of every axis after the first. When a task leaves, the
last one takes its place. (A record of these arrays would cost more than the steps: numba counts references to each.)
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering.kernels.jit import njit


@njit(error_model="numpy")
def new_states(size, e0, r0, h0, C0, G0):
    """The six arrays, with room for `size` states, of which the first is this problem."""
    k, n = r0.shape
    e, r, h = np.zeros(size), np.zeros((size, k, n)), np.zeros((size, k, n))
    C, G, task = np.zeros((size, n, n)), np.zeros((size, n, n)), np.zeros((size, n), np.int64)
    e[0] = e0
    for i in range(n):
        task[0, i] = i
        for j in range(n):
            C[0, i, j], G[0, i, j] = C0[i, j], G0[i, j]
        for row in range(k):
            r[0, row, i], h[0, row, i] = r0[row, i], h0[row, i]
    return e, r, h, C, G, task


@njit(error_model="numpy")
def learn_first(e, r, h, C, G, task, a, b, m, j):
    """State b <- state a, with m open tasks, after learning its j-th next."""
    last = m - 1
    e[b] = e[a]
    for row in range(r.shape[1]):
        v = r[a, row, j]
        e[b] -= v * (2.0 * h[a, row, j] - v * G[a, j, j])
        for i in range(last):
            r[b, row, i] = r[a, row, i] - v * C[a, j, i]
            h[b, row, i] = h[a, row, i] - v * G[a, j, i]
        if j < last:
            r[b, row, j] = r[a, row, last] - v * C[a, j, last]
            h[b, row, j] = h[a, row, last] - v * G[a, j, last]
    for i in range(last):
        p = last if i == j else i
        task[b, i] = task[a, p]
        for q in range(last):
            C[b, i, q] = C[a, p, q]
            G[b, i, q] = G[a, p, q]
        C[b, i, j], G[b, i, j] = C[a, p, last], G[a, p, last]


@njit(error_model="numpy")
def fix_last(e, r, h, C, G, task, a, b, m, j):
    """State b <- state a, with m open tasks, after fixing its j-th as the last of them."""
    last, own = m - 1, G[a, j, j]
    e[b] = e[a]
    for row in range(r.shape[1]):
        v = r[a, row, j]
        pull = h[a, row, j] - v * own
        e[b] -= v * (h[a, row, j] + pull)
        for i in range(last):
            r[b, row, i] = r[a, row, i]
            h[b, row, i] = h[a, row, i] - v * G[a, j, i] - C[a, j, i] * pull
        if j < last:
            r[b, row, j] = r[a, row, last]
            h[b, row, j] = h[a, row, last] - v * G[a, j, last] - C[a, j, last] * pull
    for i in range(last):
        p = last if i == j else i
        task[b, i] = task[a, p]
        c = C[a, p, j]
        g = G[a, p, j] - own * c
        for q in range(last):
            C[b, i, q] = C[a, p, q]
            G[b, i, q] = G[a, p, q] - c * G[a, j, q] - g * C[a, j, q]
        C[b, i, j], G[b, i, j] = C[a, p, last], G[a, p, last] - c * G[a, j, last] - g * C[a, j, last]


@njit(error_model="numpy")
def divides(together, ahead, tail, m, behind):
    """Whether the m tasks tail[3:] divide a group between `ahead` and `behind`, the ends so far (-1 for none)."""
    one, none = np.uint64(1), np.uint64(0)
    rest = one << np.uint64(behind) if behind >= 0 else none
    for i in range(m):
        rest |= one << np.uint64(tail[3 + i])
    for i in range(m + (behind >= 0)):
        task = tail[3 + i] if i < m else behind
        bit = one << np.uint64(task)
        if ahead >= 0 and together[ahead] & rest != none and together[ahead] & bit == none:
            return True
        rest ^= bit
        ahead = task
    return False


@njit(error_model="numpy")
def finish(e, r, h, C, G, task, a, m, before, together, ahead, behind, best, tail):
    """Try every allowed order of the m <= 3 tasks of state a; tail <- the best; returns its error, or `best`.

    together: (n,) masks of the groups; ahead, behind: what comes just before and after, -1 for nothing. tail: (6,), of
    which the last three places are scratch.
    """
    one = np.uint64(1)
    for i in range(m):
        first = np.uint64(task[a, i])
        for j in range(m):
            if j == i and m > 1:
                continue
            second = np.uint64(task[a, j])
            k = 3 - i - j  # the third of three
            value = e[a]
            for row in range(r.shape[1]):
                u = r[a, row, i]
                value -= u * (2.0 * h[a, row, i] - u * G[a, i, i])
                if m > 1:
                    v = r[a, row, j] - u * C[a, i, j]
                    value -= v * (2.0 * (h[a, row, j] - u * G[a, i, j]) - v * G[a, j, j])
                    if m > 2:
                        w = r[a, row, k] - u * C[a, i, k] - v * C[a, j, k]
                        value -= w * (2.0 * (h[a, row, k] - u * G[a, i, k] - v * G[a, j, k]) - w * G[a, k, k])
            if value < best:
                if m > 1 and (before[first] >> second) & one:
                    continue
                tail[3], tail[4] = first, second
                if m > 2:
                    third = np.uint64(task[a, k])
                    if ((before[first] | before[second]) >> third) & one:
                        continue
                    tail[5] = third
                if divides(together, ahead, tail, m, behind):
                    continue
                best = value
                for q in range(m):
                    tail[q] = tail[3 + q]
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
