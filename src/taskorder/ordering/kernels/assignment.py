"""Numba kernels for the first-order rule, a quadratic assignment problem.

Minimized is sum_i linear[i, p_i] + sum_{i<j} flow[i, j] S[p_i, p_j] over the orders p; `flow` and S are symmetric, with
a zero diagonal.
"""

from __future__ import annotations

import numpy as np

from taskorder.ordering.kernels.jit import njit


@njit()
def enumerate_orders(flow, linear, S, tail, precedes, tie):
    """The best order by depth-first listing; `tail[i]` bounds what positions i and later can add from below."""
    n = len(flow)
    best = np.inf
    best_order = np.zeros(n, dtype=np.int64)
    order = np.full(n, -1, dtype=np.int64)
    cost = np.zeros(n + 1)
    used = np.zeros(n, dtype=np.bool_)
    i = 0
    while i >= 0:
        task = order[i]
        if task >= 0:
            used[task] = False
        task += 1
        while task < n:
            if not used[task]:
                added = cost[i] + linear[i, task]
                for k in range(i):
                    added += flow[i, k] * S[task, order[k]]
                if added + tail[i + 1] < best - tie:
                    free = True
                    for b in range(n):
                        free &= used[b] or not precedes[b, task]
                    if free:
                        break
            task += 1
        if task == n:
            order[i] = -1
            i -= 1
            continue
        order[i] = task
        used[task] = True
        cost[i + 1] = added
        if i == n - 1:
            best = added
            for k in range(n):
                best_order[k] = order[k]
        else:
            i += 1
    return best_order


@njit(fastmath={"reassoc", "nsz", "contract"})
def overlap(flow_low, flow_high, T_low, T_high):
    """sum_k (flow_low - flow_high)_k (T_high - T_low)_k; reassociation lets it use vector instructions."""
    total = 0.0
    for k in range(len(flow_low)):
        total += (flow_low[k] - flow_high[k]) * (T_high[k] - T_low[k])
    return total


@njit()
def swap_delta(flow, linear, T, order, r, s):
    """Change of the objective when positions r and s change places; T is S in order."""
    # The diagonals vanish, so k = r and k = s each take the pair itself along once, with the wrong sign.
    delta = overlap(flow[r], flow[s], T[r], T[s]) + 2.0 * flow[r, s] * T[r, s]
    a, b = order[r], order[s]
    return delta + linear[r, b] + linear[s, a] - linear[r, a] - linear[s, b]


@njit()
def may_swap(order, precedes, r, s):
    """Whether the tasks at positions r < s may change places."""
    a, b = order[r], order[s]
    free = True
    for k in range(r + 1, s + 1):
        free &= not (precedes[a, order[k]] or precedes[order[k - 1], b])
    return free


@njit()
def swap(T, order, r, s):
    """Let positions r and s change places."""
    order[r], order[s] = order[s], order[r]
    for k in range(len(T)):
        T[r, k], T[s, k] = T[s, k], T[r, k]
    for k in range(len(T)):
        T[k, r], T[k, s] = T[k, s], T[k, r]


@njit()
def best_insertion(flow, linear, T, order, precedes, r, tie):
    """Where moving position r lowers the objective most: (change, target, positions tried).

    The task walks off by adjacent swaps that are only counted. What it has passed has shifted by one place.
    """
    n = len(order)
    best, target, tried = -tie, r, 0
    x = order[r]
    for side in (1, -1):
        change = 0.0
        at = r
        while 0 <= at + side < n:
            y = order[at + side]
            if (side == 1 and precedes[x, y]) or (side == -1 and precedes[y, x]):
                break
            low, high = (at, at + 1) if side == 1 else (at - 1, at)
            F_low, F_high, T_x, T_y = flow[low], flow[high], T[r], T[at + side]
            i, j = (r, at) if side == 1 else (at + 1, r + 1)
            head, foot = min(i, low), max(j, high + 1)
            total = overlap(F_low[:head], F_high[:head], T_x[:head], T_y[:head])
            total += overlap(F_low[i:j], F_high[i:j], T_x[i + side : j + side], T_y[i + side : j + side])
            total += overlap(F_low[foot:], F_high[foot:], T_x[foot:], T_y[foot:])
            total += linear[low, y] - linear[low, x] + linear[high, x] - linear[high, y]
            change += side * total
            at += side
            tried += 1
            if change < best:
                best, target = change, at
    return best, target, tried


@njit()
def descend(flow, linear, S, order, precedes, tie, cursor, quiet, budget):
    """Swaps and insertions, position after position, until n of them in a row changed nothing or the budget is spent.

    Returns (gain, next position, positions without a change, work); work counts the terms of the sums.
    """
    n = len(order)
    T = np.empty((n, n))
    constrained = False
    for i in range(n):
        for j in range(n):
            T[i, j] = S[order[i], order[j]]
            constrained |= precedes[i, j]
    gain, work = 0.0, 0
    while quiet < n and work < budget:
        changed = False
        for s in range(n):
            low, high = min(cursor, s), max(cursor, s)
            if low < high and (not constrained or may_swap(order, precedes, low, high)):
                work += n
                delta = swap_delta(flow, linear, T, order, low, high)
                if delta < -tie:
                    swap(T, order, low, high)
                    gain -= delta
                    changed = True
        change, target, tried = best_insertion(flow, linear, T, order, precedes, cursor, tie)
        work += n * (tried + 1)
        if target != cursor:
            gain -= change
            changed = True
            step = 1 if target > cursor else -1
            for k in range(cursor, target, step):
                swap(T, order, k, k + step)
            work += n * abs(target - cursor)
        quiet = 0 if changed else quiet + 1
        cursor = (cursor + 1) % n
    return gain, cursor, quiet, work
