"""Kernels of the beam search from the front (ordering/beam_from_front.py): prices, children and shared inverses.

beam: the arrays of one `Beam`. The last axis of its tables is a slot, a task that is open in any of the partial orders;
ids[slot] is that task. m: slots in use; count: partial orders; label[b]: which set of learned tasks the partial order b
has.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering.kernels.jit import njit

WORST = 1e308
"""The highest price of a task that can come next."""


@njit(fastmath=True, error_model="numpy")
def _add(row, x, other):
    """row += x * other."""
    for s in range(len(row)):
        row[s] += x * other[s]


@njit(fastmath=True, error_model="numpy")
def _dot(row, other):
    """The sum of their products."""
    total = 0.0
    for s in range(len(row)):
        total += row[s] * other[s]
    return total


@njit(fastmath=True, error_model="numpy")
def roots(shut, m, inverse, slot, before, Z, weight):
    """Z and weight of each set from its row of shut: weight is 1 / (K^-1)_jj, 0 for what cannot come next.

    slot: by task, -1 for those that are open nowhere. before: (pairs, 2) tasks, the first to come before the second.
    """
    for g in range(len(shut)):
        left, d = weight[g], 0
        for t in range(m):
            left[t] = inverse[t, t]
        for t in range(m):
            if not shut[g, t]:
                continue
            z = Z[g, d]
            for s in range(m):
                z[s] = inverse[t, s]
            for p in range(d):
                _add(z, -Z[g, p, t], Z[g, p])
            root = 1.0 / np.sqrt(max(z[t], 1e-300))
            for s in range(m):
                z[s] *= root
                left[s] -= z[s] * z[s]
            d += 1
        for t in range(m):
            left[t] = 0.0 if shut[g, t] else 1.0 / max(left[t], 1e-300)
        for pair in range(len(before)):
            t = slot[before[pair, 0]]
            if t >= 0 and not shut[g, t]:
                left[slot[before[pair, 1]]] = 0.0


@njit(error_model="numpy")
def price(beam, count, m, label, weight, prices):
    """prices (count, m) <- the bound after each task that can come next, infinite for the others."""
    for b in range(count):
        left = weight[label[b]]
        for t in range(m):
            rise = 0.0
            for c in range(beam.r.shape[1]):
                rise += (beam.r[b, c, t] - beam.x[b, c, t]) ** 2
            value = beam.bound[b] + rise * left[t]
            prices[b, t] = np.inf if left[t] == 0.0 else value if value < WORST else WORST


@njit(fastmath=True, error_model="numpy")
def extend(beam, at, m, bound, parent, slot, label, Z, inverse, ids, C, G, names, child):
    """child <- the chosen partial orders, of at + 1 tasks each: parent[a] with the task in slot[a] next."""
    k, row = beam.r.shape[1], np.empty(m)
    near, far = np.empty(m), np.empty(m)
    for a in range(len(parent)):
        b, j = parent[a], slot[a]
        i, g = ids[j], label[b]
        for s in range(m):
            row[s] = inverse[j, s]
        for p in range(Z.shape[1]):
            _add(row, -Z[g, p, j], Z[g, p])
        for s in range(m):
            near[s], far[s] = C[i, ids[s]], G[i, ids[s]]
            child.shut[a, s] = beam.shut[b, s]
        child.shut[a, j] = True
        child.e[a], child.bound[a], child.key[a] = beam.e[b], bound[a], beam.key[b] ^ names[i]
        for step in range(at):
            child.order[a, step] = beam.order[b, step]
        child.order[a, at] = i
        for c in range(k):
            r, h, x = beam.r[b, c], beam.h[b, c], beam.x[b, c]
            v, gap = r[j], (r[j] - x[j]) / max(row[j], 1e-300)
            child.e[a] -= v * (2.0 * h[j] - v * far[j])
            for s in range(m):
                child.r[a, c, s] = r[s] - v * near[s]
                child.h[a, c, s] = h[s] - v * far[s]
                child.x[a, c, s] = x[s] + gap * row[s]


@njit(fastmath=True, error_model="numpy")
def renew(beam, count, m, lam, label, Z, inverse):
    """x and the bounds from scratch."""
    b = np.empty(m)
    for a in range(count):
        beam.bound[a] = beam.e[a]
        for c in range(beam.r.shape[1]):
            x = beam.x[a, c, :m]
            for s in range(m):
                b[s] = 0.0 if beam.shut[a, s] else beam.h[a, c, s] + 0.5 * lam * beam.r[a, c, s]
                x[s] = 0.0
            for s in range(m):
                _add(x, b[s], inverse[s, :m])
            for p in range(Z.shape[1]):
                z = Z[label[a], p]
                _add(x, -_dot(b, z), z)
            beam.bound[a] -= _dot(b, x)


@njit(fastmath=True, error_model="numpy")
def close(beam, count, m, inverse, ids):
    """Drop the slots that are shut everywhere, the last slot taking the place; gives how many slots are left."""
    t = 0
    while t < m:
        everywhere = True
        for b in range(count):
            everywhere = everywhere and beam.shut[b, t]
        if not everywhere:
            t += 1
            continue
        m -= 1
        column = inverse[t, : m + 1].copy()
        pivot = max(column[t], 1e-300)
        for s in range(m):
            inverse[t, s] = inverse[m, s]
        for s in range(m):
            inverse[s, t] = inverse[t, s]
        inverse[t, t] = inverse[m, m]
        column[t], ids[t] = column[m], ids[m]
        for b in range(count):
            beam.shut[b, t] = beam.shut[b, m]
            for c in range(beam.r.shape[1]):
                beam.r[b, c, t], beam.h[b, c, t], beam.x[b, c, t] = beam.r[b, c, m], beam.h[b, c, m], beam.x[b, c, m]
        for s in range(m):
            _add(inverse[s, :m], -column[s] / pivot, column[:m])
    return m
