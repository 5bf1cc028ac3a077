"""Branch and bound where many prefixes have the same tasks open: compiled kernels, arrays in and out.

On clusters hundreds of prefixes have the same tasks open, so what these share is looked up (bound_table.py) instead of
carried down the tree (branch.py, which is better where little is shared and where task_multipliers.py pays). One
multiplier serves all that share an entry: that of the node that came first, or of the latest one that promised much.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering.kernels.bound import NEVER
from taskorder.ordering.kernels.bound_table import fertile, find, make_room, price_first, price_last, promise, tabulate
from taskorder.ordering.kernels.jit import njit
from taskorder.ordering.kernels.simd import WIDTH, add_product, load, padded, splat, store
from taskorder.ordering.kernels.steps import finish, keep_best, leave_open, more_room

RETUNE = 0.4
"""A new multiplier is worth a new entry when it promises this share of what the bound lacks."""
FRONT = 2
"""Branching on the ending must save more children than this: endings in a different order share nothing."""
MAX_ENDED, BITS = 20, 6
"""Endings up to this long fit into a key: two words, so many bits a task."""


@njit(error_model="numpy")
def step(at_front, j, d, m, at_G, e, r, h, open_tasks, C, G):
    """State d + 1 <- state d after its j-th open task, of m, comes first or last; an ending changes G as well."""
    a, w = open_tasks[d, j], C.shape[1]
    old, new, row = d * w, (d + 1) * w, at_G + a * w
    v, own = r[old + a], G[row + a]
    pull = h[old + a] - v * own
    e[d + 1] = e[d] - v * (h[old + a] + pull)
    for i in range(m - 1):
        open_tasks[d + 1, i] = open_tasks[d, i if i < j else i + 1]
    for b in range(0, w, WIDTH):
        line = add_product(load(h, old + b), splat(-v), load(G, row + b))
        if at_front:
            store(r, new + b, add_product(load(r, old + b), splat(-v), load(C, a * w + b)))
            store(h, new + b, line)
        else:
            store(r, new + b, load(r, old + b))
            store(h, new + b, add_product(line, splat(-pull), load(C, a * w + b)))
    if at_front:
        return
    for k in range(m - 1):
        i = open_tasks[d + 1, k]
        c, g = -C[i, a], own * C[i, a] - G[at_G + i * w + a]
        old, new = at_G + i * w, ((d + 1) * len(C) + i) * w
        for b in range(0, w, WIDTH):
            line = add_product(load(G, old + b), splat(c), load(G, row + b))
            store(G, new + b, add_product(line, splat(g), load(C, a * w + b)))


@njit()
def insert(rise, i, num, cut, price, child, d):
    """Whether child i is below `cut`; if so, it joins the `num` children of the node at depth d, cheapest first."""
    if not rise < cut:
        return False
    while num > 0 and price[d, num - 1] > rise:
        price[d, num], child[d, num] = price[d, num - 1], child[d, num - 1]
        num -= 1
    price[d, num], child[d, num] = rise, i
    return True


@njit(error_model="numpy")
def branch_with_table(
    e0, r0, h0, C0, G0, before, after, symmetry, starts, floors, best, best_order, relative, absolute, lam0,
    limit, shallow, enough, table, keys, places, filled,
):  # fmt: skip
    """As `branch` of branch.py, for one row of r.

    table, keys, places, filled: the table, for this problem only: flat numbers, (z, 3) uint64 and (z,) int64 with z a
    power of two, and (3,) counts: entries and numbers in use, entries ever made. At first `places` is -1 and `filled` 0
    everywhere; when there is no room, all is forgotten.
    """
    n = r0.shape[1]
    w = padded(n)
    e, r, h, floor = np.zeros(n + 1), np.zeros((n + 1) * w), np.zeros((n + 1) * w), np.zeros(n + 1)
    C, G = np.zeros((n, w)), np.zeros((n + 1) * n * w)
    lam, at_G, open_tasks = np.zeros(n + 1), np.zeros(n + 1, np.int64), np.zeros((n + 1, n), np.int64)
    free, tail_key = np.zeros(n + 1, np.uint64), np.zeros((n + 1, 2), np.uint64)
    child, price = np.zeros((n + 1, n), np.int64), np.zeros((n + 1, n))
    count, turn, at_front = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64), np.zeros(n + 1, np.bool_)
    active, num_active = np.zeros((n + 1, symmetry.shape[0]), np.int64), np.zeros(n + 1, np.int64)
    C_open, G_open, X, K = np.zeros((n, w)), np.zeros((n, w)), np.zeros((n, w)), np.zeros((n, w))
    r_open, h_open, x, s = np.zeros(w), np.zeros(w), np.zeros(w), np.zeros(w)
    r_row, h_row = r_open.reshape(1, w), h_open.reshape(1, w)
    front, back, pull, miss = np.zeros(w), np.zeros(w), np.zeros(w), np.zeros(w)
    order, tail, ends = np.zeros(n, np.int64), np.zeros(3, np.int64), np.zeros((n + 1, 2), np.int64)
    left, bounds = np.zeros((len(starts) + n * n, n + 2), np.int8), np.zeros(len(starts) + n * n)
    one, num_left, nodes = np.uint64(1), 0, 0
    goal = best - relative * abs(best) - absolute
    e[0], free[0] = e0, (one << np.uint64(n)) - one
    for i in range(n):
        open_tasks[0, i], r[i], h[i] = i, r0[0, i], h0[0, i]
        for j in range(n):
            C[i, j], G[i * w + j] = C0[i, j], G0[i, j]
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
        for i in range(n):
            order[i] = starts[q, i + 2]
        depth, entering, replayed = 0, top == 0, 0
        nodes += entering
        ends[0, 0], ends[0, 1], num_active[0], lam[0], floor[0] = 0, 0, symmetry.shape[0], lam0, floors[q]
        for i in range(symmetry.shape[0]):
            active[0, i] = i
        # The fixed tasks of this start are replayed first, without pricing; below `top` nodes are entered and priced.
        while True:
            m = n - depth
            if entering:
                entering = False
                count[depth], turn[depth] = 0, 0
                for i in range(m):
                    a = open_tasks[depth, i]
                    r_open[i], h_open[i] = r[depth * w + a], h[depth * w + a]
                if m <= 3:
                    for i in range(m):
                        for j in range(m):
                            a, b = open_tasks[depth, i], open_tasks[depth, j]
                            C_open[i, j], G_open[i, j] = C[a, b], G[at_G[depth] + a * w + b]
                    value = finish(m, e[depth], r_row, h_row, C_open, G_open, open_tasks[depth], before, goal, tail)
                    if value < goal:
                        best, goal = value, value - relative * abs(value) - absolute
                        keep_best(order, ends[depth, 0], tail, m, best_order)
                else:
                    # Longer endings do not fit into a key: their entry is written anew each time, at the table's start.
                    mask, u, v, at = free[depth], tail_key[depth, 0], tail_key[depth, 1], 0
                    if ends[depth, 1] <= MAX_ENDED:
                        at = places[find(mask, u, v, keys, places)]
                    fresh = at <= 0
                    if at < 0:
                        at = make_room(m, mask, u, v, len(table), keys, places, filled)
                    tuned, num = fresh, num_active[depth]
                    while True:
                        if fresh:
                            tabulate(
                                m, open_tasks[depth], r_open, h_open, lam[depth], 10 if depth == 0 else 1,
                                goal - e[depth], C, G, at_G[depth], table, at, C_open, G_open, X, K, x, s,
                            )  # fmt: skip
                            filled[2] += 1
                        lam[depth], fresh, solid = table[at], False, table[at + 1] >= 0.0
                        low, cut, few, many = -NEVER, NEVER, 0, m
                        if solid:
                            low = e[depth] - price_first(m, r_open, h_open, table, at, pull, x, front)
                            cut = goal - low
                        if low >= goal:
                            break
                        for i in range(m):
                            a = open_tasks[depth, i]
                            rise = front[i] if solid else 0.0
                            if rise < cut and not before[a] & mask:
                                for k in range(num):
                                    if symmetry[active[depth, k], a] < 0:
                                        rise = NEVER
                                few += insert(rise, i, few, cut, price, child, depth)
                        if few <= 1 or not solid:
                            break
                        slope, many = price_last(m, r_open, table, at, pull, x, back, miss), 0
                        for i in range(m):
                            if after[open_tasks[depth, i]] & mask:
                                back[i] = NEVER
                            many += back[i] < cut
                        if tuned or many <= 1 or promise(m, slope, table, at, miss, s) < RETUNE * cut:
                            break
                        fresh, tuned = True, True
                    # Prefixes share entries and endings do not, so the front is preferred.
                    at_front[depth] = few <= many + FRONT or ends[depth, 1] >= MAX_ENDED
                    count[depth] = few if many > 0 else 0
                    if not at_front[depth]:
                        count[depth] = 0
                        for i in range(m):
                            count[depth] += insert(back[i], i, count[depth], cut, price, child, depth)
                    num_fertile = 0
                    for i in range(count[depth]):
                        rise, j = price[depth, i], child[depth, i]
                        if not (at_front[depth] and solid and m > 4) or fertile(
                            j, m, cut - rise, r_open, x, table, at, miss, s
                        ):
                            price[depth, num_fertile], child[depth, num_fertile] = max(low + rise, floor[depth]), j
                            num_fertile += 1
                    nodes += count[depth] - num_fertile
                    count[depth] = num_fertile
            j = -1
            if depth < top and replayed == depth:
                at_front[depth] = depth < begun
                a, j = order[depth] if depth < begun else order[n - 1 - (depth - begun)], 0
                while open_tasks[depth, j] != a:
                    j += 1
                replayed += 1
                floor[depth + 1] = floors[q]
            elif depth >= top and turn[depth] < count[depth] and price[depth, turn[depth]] < goal:
                if nodes >= stop and (depth <= top + shallow or nodes >= stop + 3 * limit):
                    break
                j = child[depth, turn[depth]]
                floor[depth + 1] = price[depth, turn[depth]]
                turn[depth] += 1
            if j >= 0:
                d, a = depth + 1, open_tasks[depth, j]
                step(at_front[depth], j, depth, m, at_G[depth], e, r, h, open_tasks, C, G)
                free[d], lam[d], at_G[d] = free[depth] ^ (one << np.uint64(a)), lam[depth], at_G[depth]
                tail_key[d, 0], tail_key[d, 1] = tail_key[depth, 0], tail_key[depth, 1]
                ends[d, 0], ends[d, 1] = ends[depth, 0], ends[depth, 1]
                if at_front[depth]:
                    order[ends[depth, 0]] = a
                    ends[d, 0] += 1
                else:
                    order[n - 1 - ends[depth, 1]] = a
                    ends[d, 1] += 1
                    at_G[d] = d * n * w
                    word = min(ends[depth, 1] * BITS // 60, 1)
                    tail_key[d, word] = (tail_key[depth, word] << np.uint64(BITS)) | np.uint64(a + 1)
                num_active[d] = 0
                for i in range(num_active[depth]):
                    if not at_front[depth] or symmetry[active[depth, i], a] == 0:
                        active[d, num_active[d]] = active[depth, i]
                        num_active[d] += 1
                depth = d
                if depth >= top:
                    entering = True
                    nodes += 1
            elif depth > top:
                depth -= 1
            else:
                break
        num_left = leave_open(
            depth, top, goal, turn, count, price, child, at_front, ends, open_tasks, order, left, bounds, num_left
        )
    return best, nodes, left[:num_left], bounds[:num_left]
