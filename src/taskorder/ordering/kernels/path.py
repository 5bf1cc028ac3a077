"""Numba kernels for Hamiltonian paths: dynamic programming over subsets, and an iterated local search.

The local search works on costs to be minimized, over the tasks 0..n-1 between a start node n and an end node n + 1 that
never move. So prefixes and suffixes need no special case.
"""

from __future__ import annotations

import numpy as np

from taskorder.ordering.kernels.jit import njit


@njit(error_model="numpy")
def subset_table(into, needs, stride):
    """Flat table of the greatest weight of a path from j through all of S, j not in S.

    It stands at j * stride + (S with bit j cut out), so no cell is wasted. The caller pads the stride, for columns a
    power of two apart would fall into the same cache lines. `into[k, j]` is the weight of the step from j to k (rows
    padded for vector instructions), `needs[j]` the bitmask of the tasks before j.
    """
    n = len(needs)
    width = into.shape[1]
    table = np.empty(n * stride)
    acc = np.empty(width)
    constrained = False
    for j in range(n):
        table[j * stride] = 0.0
        constrained |= needs[j] != 0
    for s in range(1, (1 << n) - 1):
        if constrained:
            reachable = True
            for j in range(n):
                if not s >> j & 1 and needs[j] & s:
                    reachable = False
                    break
            if not reachable:
                continue
        acc[:] = -np.inf
        for k in range(n):
            if s >> k & 1 and not needs[k] & s:
                low = (1 << k) - 1
                rest = table[k * stride + ((s & low) | (s >> 1 & ~low))]
                row = into[k]
                for j in range(width):
                    value = row[j] + rest
                    acc[j] = value if value > acc[j] else acc[j]
        for j in range(n):
            if not s >> j & 1:
                low = (1 << j) - 1
                table[j * stride + ((s & low) | (s >> 1 & ~low))] = acc[j]
    return table


@njit()
def degree_bound(cost, degree, value, steps):
    """A lower bound on any path, and the node prices that give it.

    Each node pays half of its `degree` cheapest edges; prices that are charged to both ends of an edge and paid back by
    degree leave paths alone and tighten the bound (subgradient steps towards the known `value`).
    """
    n = len(cost)
    price = np.zeros(n)
    best_price = np.zeros(n)
    used = np.empty(n)
    best = -np.inf
    scale = 1.0
    stale = 0
    for _ in range(steps):
        bound = 0.0
        for i in range(n):
            used[i] = -0.5 * degree[i]
        for i in range(n):
            least, second = np.inf, np.inf
            at_least, at_second = -1, -1
            for j in range(n):
                c = cost[i, j] + price[j]
                if c < second:
                    if c < least:
                        second, at_second = least, at_least
                        least, at_least = c, j
                    else:
                        second, at_second = c, j
            bound += 0.5 * least - 0.5 * degree[i] * price[i]
            used[at_least] += 0.5
            if degree[i] == 2:
                bound += 0.5 * second
                used[at_second] += 0.5
        # Subgradient steps do not rise at every step, so the best prices are kept and the step is halved when stuck.
        stale += 1
        if bound > best:
            best = bound
            stale = 0
            for i in range(n):
                best_price[i] = price[i]
        norm = 0.0
        for i in range(n):
            norm += used[i] * used[i]
        if norm == 0.0 or value <= best:
            break
        if stale == 5:
            scale *= 0.5
            stale = 0
        for i in range(n):
            price[i] += scale * (value - bound) / norm * used[i]
    return best, best_price


@njit()
def nearest_first(cost, pending, precedes):
    """A feasible sequence from the start node: always the cheapest allowed task."""
    n = len(cost) - 2
    order = np.empty(n + 2, dtype=np.int64)
    order[0], order[n + 1] = n, n + 1
    for step in range(1, n + 1):
        here = order[step - 1]
        best = -1
        for j in range(n):
            if pending[j] == 0 and (best < 0 or cost[here, j] < cost[here, best]):
                best = j
        order[step] = best
        pending[best] = -1
        for j in range(n):
            pending[j] -= precedes[best, j]
    return order


@njit()
def reverse(order, pos, i, j):
    """Reverse positions i..j in place."""
    while i < j:
        a, b = order[i], order[j]
        order[i], order[j] = b, a
        pos[b], pos[a] = i, j
        i += 1
        j -= 1


@njit()
def crosses(order, pos, heads, links, i, j, low, high):
    """Whether a task at positions i..j must come before a later one at positions low..high."""
    for at in range(i, j + 1):
        task = order[at]
        for link in range(heads[task], heads[task + 1]):
            position = pos[links[link]]
            if position > at and low <= position <= high:
                return True
    return False


@njit()
def move(order, pos, heads, links, first, last, left, flip):
    """Put positions first..last behind position `left` (outside the block), flipped or not; False where forbidden."""
    if flip and crosses(order, pos, heads, links, first, last, first, last):
        return False
    i, j, k = (first, last, left) if left > last else (left + 1, first - 1, last)
    if j < k and crosses(order, pos, heads, links, i, j, j + 1, k):
        return False
    if flip:
        reverse(order, pos, first, last)
    if i <= j < k:
        # Two neighboring blocks change places when both and then the whole are reversed.
        for low, high in ((i, j), (j + 1, k), (i, k)):
            reverse(order, pos, low, high)
    return True


@njit()
def improve_at(a, cost, near, order, pos, heads, links, touched):
    """Apply an improving move that gives node a a nearer neighbor; the gain (0 when there is none)."""
    eps = 1e-12
    end = len(order) - 1
    i = pos[a]
    # Length 0 stands for 2-opt: edges (a, b) and (c, d) become (a, c) and (b, d), what lies between is flipped.
    # Else Or-opt: a block of that length, from a to z, leaves p and q and goes between c and d, with a beside c.
    for length in range(4):
        for side in (1, -1):
            if not 0 <= i + side <= end:
                continue
            b = order[i + side]
            z, other, off = b, b, 0.0
            first, last = i, i
            if length:
                b = order[i - side]
                far = i + side * (length - 1)
                if i in (0, end) or not 0 < far < end:
                    continue
                first, last = min(i, far), max(i, far)
                z, other = order[far], order[far + side]
                off = cost[z, other] - cost[b, other]
            for c in near[a]:
                near_gain = cost[a, b] - cost[a, c]
                if near_gain <= eps:
                    break
                k = pos[c]
                if length and first <= k <= last:
                    continue
                for way in (1, -1):
                    if not 0 <= k + way <= end or (length == 0 and way != side):
                        continue
                    d = order[k + way]
                    if length and first <= k + way <= last:
                        continue
                    gain = near_gain + off + cost[c, d] - cost[z, d]
                    if not gain > eps:
                        continue
                    left = k if way == 1 else k - 1
                    flip = way != side
                    if length == 0:
                        first, last = (min(i, k) + 1, max(i, k)) if side == 1 else (min(i, k), max(i, k) - 1)
                        left, flip = first - 1, True
                    if move(order, pos, heads, links, first, last, left, flip):
                        touched[0], touched[1], touched[2], touched[3], touched[4], touched[5] = a, b, c, d, z, other
                        return gain
    return 0.0


@njit()
def settle(queue, cost, near, order, pos, heads, links, waiting):
    """Improve around every node of `queue` until nothing improves: (total gain, work in looks at a node)."""
    touched = np.empty(6, dtype=np.int64)
    stack = np.empty(len(order), dtype=np.int64)
    height = 0
    for a in queue:
        if not waiting[a]:
            waiting[a] = True
            stack[height] = a
            height += 1
    total = 0.0
    work = 0
    while height:
        work += 1
        height -= 1
        a = stack[height]
        waiting[a] = False
        gain = improve_at(a, cost, near, order, pos, heads, links, touched)
        if gain > 0.0:
            total += gain
            work += len(order) // 16
            for b in touched:
                if not waiting[b]:
                    waiting[b] = True
                    stack[height] = b
                    height += 1
    return total, work


@njit()
def draw(state, limit):
    """A number in [0, limit) from Marsaglia's 64-bit xorshift (2003); the state lives with the caller."""
    state[0] ^= state[0] << np.uint64(13)
    state[0] ^= state[0] >> np.uint64(7)
    state[0] ^= state[0] << np.uint64(17)
    return np.int64(state[0] >> np.uint64(33)) % limit


@njit()
def cuts(near, pos, reach, local, state, out):
    """Three positions to cut behind, ascending: within `reach` of each other, or at the ends of walks to neighbors."""
    size = len(pos)
    if local:
        out[0] = draw(state, size - 3)
        out[1] = out[0] + 1 + draw(state, min(reach, size - 3 - out[0]))
        out[2] = out[1] + 1 + draw(state, min(reach, size - 2 - out[1]))
        return
    start = draw(state, size - 2)
    for t in range(3):
        node = start
        for _ in range(3 * t):
            node = near[node, draw(state, near.shape[1])]
        out[t] = min(pos[node], size - 2)
    low, high = min(out[0], out[1], out[2]), max(out[0], out[1], out[2])
    out[0], out[1], out[2] = low, out[0] + out[1] + out[2] - low - high, high


@njit()
def kick_and_settle(cost, near, order, heads, links, budget, reach, slack, state):
    """Swap two neighboring blocks and settle, over and over; the gain of the best order met, left in `order`.

    Outcomes more than `slack` worse than the best are undone. The budget counts looks at a node (a move counts for
    more), so that a seed gives the same answer on any machine.
    """
    size = len(order)
    pos = np.empty(size, dtype=np.int64)
    for i in range(size):
        pos[order[i]] = i
    waiting = np.zeros(size, dtype=np.bool_)
    best, work = settle(order.copy(), cost, near, order, pos, heads, links, waiting)
    now = best
    best_order = order.copy()
    kept_order, kept_pos = order.copy(), pos.copy()
    at = np.empty(3, dtype=np.int64)
    ends = np.empty(6, dtype=np.int64)
    constrained = len(links) > 0
    kick = 0
    while work < budget:
        work += 1
        kick += 1
        cuts(near, pos, reach, constrained or kick % 4 == 0, state, at)
        i, j, k = at[0], at[1], at[2]
        if i == j or j == k or not move(order, pos, heads, links, i + 1, j, k, False):
            continue
        for t in range(3):
            ends[2 * t], ends[2 * t + 1] = kept_order[at[t]], kept_order[at[t] + 1]
        p, a, b, c, d, q = ends[0], ends[1], ends[2], ends[3], ends[4], ends[5]
        gain = cost[p, a] + cost[b, c] + cost[d, q] - cost[p, c] - cost[d, a] - cost[b, q]
        settled, looks = settle(ends, cost, near, order, pos, heads, links, waiting)
        gain += settled
        work += looks
        if now + gain >= best - slack:
            now += gain
            kept_order[:] = order
            kept_pos[:] = pos
            if now > best:
                best = now
                best_order[:] = order
        else:
            order[:] = kept_order
            pos[:] = kept_pos
    order[:] = best_order
    return best
