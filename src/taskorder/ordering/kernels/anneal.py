"""Annealing by insertion moves.

Temperatures are in units of the error itself, so the same numbers serve every scale. Numbers of steps and random draws
decide everything, and the cost is counted (in about nanoseconds of one core), never timed: the same seed gives the same
order on a slow machine.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

from __future__ import annotations

import numpy as np

from taskorder.ordering.kernels.insertion import move, price
from taskorder.ordering.kernels.jit import njit


@njit()
def draw(state):
    """A uniform number in [0, 1) from a 64-bit xorshift generator; `state` is one nonzero uint64, changed in place."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.float64((x * np.uint64(2685821657736338717)) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(fastmath=True, error_model="numpy")
def walk(steps, hot, cold, members, error, order, pos, v, f, C, A, Phi, precedes, best_order, best, random):
    """`steps` heat-bath moves while the temperature falls from `hot` to `cold` (0: descent); gives (error, best, cost).

    A step draws a task of `members`, prices its positions, and draws one with probability proportional to
    exp(-error / temperature). best_order is overwritten by the first order with an error below `best`, and so on.
    """
    n = len(order)
    cost, work = np.empty(n), np.empty((8, n))
    d, u = np.empty(v.shape[1]), np.empty(v.shape[1])
    m = len(members)
    spent = 0.0
    for step in range(steps):
        i = members[min(m - 1, int(draw(random) * m))]
        lo, hi = price(i, error, order, pos, v, f, C, A, Phi, precedes, cost, work[0], d, u)
        spent += (hi - lo + 2.0) * (15.0 + 0.25 * n) + 200.0
        q = lo
        for w in range(lo + 1, hi + 1):
            if cost[w] < cost[q]:
                q = w
        p = pos[i]
        if hot > 0.0:
            least = cost[q]
            temperature = hot * (cold / hot) ** (step / steps) * abs(least) + 1e-300
            total = 0.0
            for w in range(lo, hi + 1):
                cost[w] = np.exp((least - cost[w]) / temperature)
                total += cost[w]
            x = draw(random) * total
            q = lo
            while q < hi and x >= cost[q]:
                x -= cost[q]
                q += 1
        elif not cost[q] < cost[p] - 1e-13 * abs(cost[p]):
            q = p
        if q != p:
            error = move(i, q, error, order, pos, v, f, C, A, Phi, work, d, u)
            spent += 1000.0 + n * n
            if error < best:
                best = error
                for w in range(n):
                    best_order[w] = order[w]
    return error, best, spent
