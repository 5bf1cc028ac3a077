"""Branch and bound on the problem form of problem.py: compiled kernels, arrays in and out.

A node fixes a prefix and an ending of the order. The bound of bound.py is tuned at the node that a search starts from.
From there end_prices.py carries it and the prices of the children of both ends down the tree; it is tuned anew where
that promises much. The end with fewer surviving children is branched on.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering.kernels.bound import NEVER, better_row_bound, row_bound
from taskorder.ordering.kernels.end_prices import SPOILED, fewest, foresee, meet, promise, rises, room, survey
from taskorder.ordering.kernels.jit import njit
from taskorder.ordering.kernels.simd import padded
from taskorder.ordering.kernels.steps import finish, fix_last, keep_best, learn_first, leave_open, more_room

RETUNE, RETUNE_SMALL, SMALL = 0.1, 0.5, 8
"""A new multiplier is worth a factorization when it promises this share of what the bound lacks; few open tasks have
little below them, so there it must promise more."""


@njit(error_model="numpy")
def branch(
    e0, r0, h0, C0, G0, before, after, symmetry, starts, floors, best, best_order, relative, absolute, lam0, limit,
    shallow, enough,
):  # fmt: skip
    """Search below some nodes; returns (best error, nodes, open nodes, bounds below these).

    before[j], after[j]: uint64 masks of the positions that must come before or after j.
    symmetry: (s, n) int8, for each relabeling that changes nothing the direction in which it moves a position; of
    equivalent orders only the lexicographically first is searched.
    starts: (q, n + 2) int8 nodes: how many positions are fixed at the front and at the back, and an order with these.
    floors: (q,) known lower bounds of the nodes.
    best, best_order: the incumbent; best_order is overwritten when an error is found that is smaller by more than
    relative * |best| + absolute, and nothing that cannot be that much smaller is searched.
    lam0: (k,) starting multipliers, overwritten by those of the first node.
    limit, shallow: after `limit` nodes the search below a node stops where it is at most `shallow` tasks deep: what it
    leaves open is then worth a new start. enough: after so many nodes in all no start is begun. When no node is left
    open, nothing here beats the returned error.
    """
    k, n = r0.shape
    w = padded(n)
    e, floor, bound = np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    r, h = np.zeros((n + 1, k, n)), np.zeros((n + 1, k, n))
    C, G = np.zeros((n + 1, n, w)), np.zeros((n + 1, n, w))
    keep = np.zeros((n + 1, n), np.int64)
    lam, part = np.zeros((n + 1, k)), np.zeros((n + 1, k))
    at = np.zeros(n + 2, np.int64)
    for d in range(n + 1):
        at[d + 1] = at[d] + k * room(n - d)
    S, gap = np.zeros(at[n + 1]), np.zeros((n + 1, k, 2, w))
    size, scale, solid = np.zeros((n + 1, k, 2, w)), np.zeros((n + 1, k, 2, w)), np.zeros(n + 1, np.bool_)
    child, price = np.zeros((n + 1, n), np.int64), np.zeros((n + 1, n))
    count, turn = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    at_front, forced = np.zeros(n + 1, np.bool_), np.zeros(n + 1, np.bool_)
    X, K, x, s = np.zeros((n, w)), np.zeros((n, w)), np.zeros(w), np.zeros(w)
    front, back = np.zeros((n + 1, w)), np.zeros((n + 1, w))
    line = np.zeros(2 * w)
    active = np.zeros((n + 1, symmetry.shape[0]), np.int64)
    num_active = np.zeros(n + 1, np.int64)
    order, tail, ends = np.zeros(n, np.int64), np.zeros(3, np.int64), np.zeros((n + 1, 2), np.int64)
    left, bounds = np.zeros((len(starts) + n * n, n + 2), np.int8), np.zeros(len(starts) + n * n)
    one, num_left, nodes = np.uint64(1), 0, 0
    goal = best - relative * abs(best) - absolute
    # State 0 is the whole problem; state d is what d fixed tasks leave open.
    e[0] = e0
    for i in range(n):
        keep[0, i] = i
        for j in range(n):
            C[0, i, j], G[0, i, j] = C0[i, j], G0[i, j]
        for row in range(k):
            r[0, row, i], h[0, row, i] = r0[row, i], h0[row, i]
    for q in range(len(starts)):
        if not floors[q] < goal:
            continue
        if num_left + n * n > len(left):
            left, bounds = more_room(left, bounds, 2 * num_left + n * n)
        if nodes >= enough:
            for i in range(n + 2):
                left[num_left, i] = starts[q, i]
            bounds[num_left] = floors[q]
            num_left += 1
            continue
        begun, ended = np.int64(starts[q, 0]), np.int64(starts[q, 1])
        top, stop = begun + ended, nodes + limit
        free = (one << np.uint64(n)) - one
        for i in range(n):
            order[i] = starts[q, i + 2]
        # Fix the tasks of this start: first those at its front, then those at its back.
        for d in range(top):
            a = order[d] if d < begun else order[n - 1 - (d - begun)]
            j = 0
            while keep[d, j] != a:
                j += 1
            if d < begun:
                learn_first(j, n - d, d, e, r, h, C, G, keep)
            else:
                fix_last(j, n - d, d, e, r, h, C, G, keep)
            free ^= one << np.uint64(a)
        # Relabelings that move a task of the prefix no longer say anything about what comes next.
        num_active[top] = 0
        for i in range(symmetry.shape[0]):
            moved = False
            for d in range(begun):
                moved |= symmetry[i, order[d]] != 0
            if not moved:
                active[top, num_active[top]] = i
                num_active[top] += 1
        for row in range(k):
            lam[top, row] = lam0[row]
        floor[top], solid[top] = floors[q], False
        ends[top, 0], ends[top, 1] = begun, ended
        depth, entering = top, True
        nodes += 1
        while True:
            m = n - depth
            if entering:
                entering = False
                count[depth], turn[depth] = 0, 0
                if m <= 3:
                    value = finish(m, e[depth], r[depth], h[depth], C[depth], G[depth], keep[depth], before, goal, tail)
                    if value < goal:
                        best, goal = value, value - relative * abs(value) - absolute
                        keep_best(order, begun, tail, m, best_order)
                elif m == 4:  # 24 orders cost less than one bound
                    for j in range(4):
                        if before[keep[depth, j]] & free:
                            continue
                        learn_first(j, m, depth, e, r, h, C, G, keep)
                        d = depth + 1
                        value = finish(3, e[d], r[d], h[d], C[d], G[d], keep[d], before, goal, tail)
                        if value < goal:
                            best, goal = value, value - relative * abs(value) - absolute
                            order[begun] = keep[depth, j]
                            keep_best(order, begun + 1, tail, 3, best_order)
                else:
                    known, news, low = solid[depth], not solid[depth], bound[depth] if solid[depth] else e[depth]
                    pass_on = known and forced[depth]  # with one child to go to, the bound can be raised there
                    solid[depth] = True
                    # Tune the multiplier of each row of r where that promises enough; a first node has no bound yet.
                    for row in range(0 if pass_on else k):
                        here = at[depth] + row * room(m)
                        if known:
                            step, gain = promise(m, depth, row, r, S, here, gap, s)
                            if gain < (RETUNE if m >= SMALL else RETUNE_SMALL) * (goal - low):
                                continue
                            value, tuned = better_row_bound(
                                r[depth, row], h[depth, row], C[depth], G[depth], m, lam[depth, row], step,
                                part[depth, row], X, K, x,
                            )  # fmt: skip
                            if value <= part[depth, row]:
                                continue
                            low -= part[depth, row]
                        else:
                            steps, least = (30, 1e-3) if depth == top else (2, 0.1)
                            value, tuned = row_bound(
                                r[depth, row], h[depth, row], C[depth], G[depth], m, lam[depth, row], steps, least,
                                goal - low if row == k - 1 else NEVER, X, K, x, s,
                            )  # fmt: skip
                        part[depth, row], lam[depth, row], news = value, tuned, True
                        low += value
                        if value == -NEVER:
                            solid[depth] = False
                        elif low < goal or row < k - 1:
                            survey(m, depth, row, r, C, X, x, S, here, gap, size, scale)
                    if news and low < goal:
                        for j in range(m):
                            front[depth, j], back[depth, j] = 0.0, 0.0
                        if solid[depth]:
                            for row in range(k):
                                rises(m, depth, row, gap, size, scale, front, back)
                    if depth == top and q == 0:
                        for row in range(k):
                            lam0[row] = lam[top, row]
                    bound[depth] = low
                    if low < goal:
                        # The multiplier is tuned only a little here, so what the parent knew may be the better bound.
                        cut = min(goal - low, NEVER)  # forbidden children stay forbidden even where there is no bound
                        few, many, sum_front, sum_back = 0, 0, 0.0, 0.0
                        for j in range(m):
                            a = keep[depth, j]
                            if before[a] & free:
                                front[depth, j] = NEVER
                            if after[a] & free:
                                back[depth, j] = NEVER
                            for i in range(num_active[depth]):
                                if symmetry[active[depth, i], a] < 0:
                                    front[depth, j] = NEVER
                            few += front[depth, j] < cut
                            many += back[depth, j] < cut
                            sum_front += min(front[depth, j], cut)
                            sum_back += min(back[depth, j], cut)
                        # Branch on the end that leaves fewer children, or the dearer ones.
                        at_front[depth] = few < many or (few == many and sum_front >= sum_back)
                        for j in range(m):
                            rise = front[depth, j] if at_front[depth] else back[depth, j]
                            if rise < cut:
                                slot = count[depth]
                                value = max(low + rise, floor[depth])
                                while slot > 0 and price[depth, slot - 1] > value:
                                    price[depth, slot] = price[depth, slot - 1]
                                    child[depth, slot] = child[depth, slot - 1]
                                    slot -= 1
                                price[depth, slot], child[depth, slot] = value, j
                                count[depth] += 1
            if turn[depth] < count[depth] and price[depth, turn[depth]] < goal:
                if nodes >= stop and (depth <= top + shallow or nodes >= stop + 3 * limit):
                    break
                nodes += 1
                d, j = depth + 1, child[depth, turn[depth]]
                floor[d] = price[depth, turn[depth]]
                turn[depth] += 1
                end = 0 if at_front[depth] else 1
                solid[d], bound[d] = solid[depth], bound[depth]
                for row in range(k):
                    solid[d] &= size[depth, row, end, j] > SPOILED * scale[depth, row, end, j]
                if solid[d]:  # else rounding spoiled the child's bound, which is then computed from scratch
                    for row in range(k):
                        rise = gap[depth, row, end, j] ** 2 / size[depth, row, end, j]
                        bound[d] += rise
                        v = r[depth, row, j]
                        part[d, row] = part[depth, row] + rise + v * (2.0 * h[depth, row, j] - v * G[depth, j, j])
                        here = at[depth] + row * room(m)
                        foresee(end, j, m, depth, row, r, C, S, here, gap, size, scale, front, back)
                    left_over = fewest(m - 1, d, front, back, goal - bound[d])
                    if left_over == 0:  # no grandchild is below the goal: the child need not be entered
                        continue
                    forced[d] = left_over == 1
                a = keep[depth, j]
                if at_front[depth]:
                    order[begun] = a
                    begun += 1
                    learn_first(j, m, depth, e, r, h, C, G, keep)
                else:
                    ended += 1
                    order[n - ended] = a
                    fix_last(j, m, depth, e, r, h, C, G, keep)
                for row in range(k):
                    lam[d, row] = lam[depth, row]
                    if solid[d] and m > 5:
                        here, there = at[depth] + row * room(m), at[d] + row * room(m - 1)
                        meet(end, j, m, depth, row, C, S, here, size, there, line)
                free ^= one << np.uint64(a)
                num_active[d] = 0
                for i in range(num_active[depth]):
                    if not at_front[depth] or symmetry[active[depth, i], a] == 0:
                        active[d, num_active[d]] = active[depth, i]
                        num_active[d] += 1
                ends[d, 0], ends[d, 1] = begun, ended
                depth, entering = d, True
            else:
                if depth == top:
                    break
                depth -= 1
                if at_front[depth]:
                    begun -= 1
                    a = order[begun]
                else:
                    a = order[n - ended]
                    ended -= 1
                free |= one << np.uint64(a)
        num_left = leave_open(
            depth, top, goal, turn, count, price, child, at_front, ends, keep, order, left, bounds, num_left
        )
    return best, nodes, left[:num_left], bounds[:num_left]
