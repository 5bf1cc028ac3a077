"""Branch and bound on the problem form of problem.py: compiled kernels, arrays in and out.

A node fixes a beginning and an ending of the order. Visiting j next changes (e, r, h); fixing l as the last of the open
visits changes (e, h, G):

    first j:  e -= r_j (2 h_j - r_j G_jj);  r -= r_j C_j;  h -= r_j G_j
    last l:   e -= r_l (2 h_l - r_l G_ll);  h -= r_l G_l + C_l (h_l - r_l G_ll)
              G -= C_l G_l^T + G_l C_l^T - G_ll C_l C_l^T

The bound of _bound.py is tuned at the root. From there _ends.py carries it and the prices of the children of both ends
down the tree; it is tuned anew where that promises much, and _ranked.py raises it where that pays. The end with fewer
surviving children is branched on.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering._bound import NEVER, better_row_bound, row_bound
from taskorder.ordering._ends import SPOILED, foresee, meet, own, promise, rises, room, survey
from taskorder.ordering._jit import njit
from taskorder.ordering._lanes import padded
from taskorder.ordering._ranked import pays, survivors, tighten

RETUNE, RETUNE_SMALL, SMALL = 0.1, 0.5, 8
"""A new multiplier is worth a factorization when it promises this share of what the bound lacks; few open visits have
little below them, so there it must promise more."""


@njit(error_model="numpy", fastmath=True)
def visit_first(j, m, d, e, r, h, C, G, keep):
    """State d + 1 <- state d (m open visits) after visiting its position j next; the last takes the place of j."""
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
    for i in range(last):
        a = last if i == j else i
        keep[d + 1, i] = keep[d, a]
        for b in range(last):
            C[d + 1, i, b] = C[d, a, b]
            G[d + 1, i, b] = G[d, a, b]
        if j < last:
            C[d + 1, i, j] = C[d, a, last]
            G[d + 1, i, j] = G[d, a, last]


@njit(error_model="numpy", fastmath=True)
def fix_last(j, m, d, e, r, h, C, G, keep):
    """State d + 1 <- state d (m open visits) after fixing its position j last; the last one takes the place of j."""
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
    for i in range(last):
        a = last if i == j else i
        keep[d + 1, i] = keep[d, a]
        c = C[d, a, j]
        g = G[d, a, j] - own * c
        for b in range(last):
            C[d + 1, i, b] = C[d, a, b]
            G[d + 1, i, b] = G[d, a, b] - c * G[d, j, b] - g * C[d, j, b]
        if j < last:
            C[d + 1, i, j] = C[d, a, last]
            G[d + 1, i, j] = G[d, a, last] - c * G[d, j, last] - g * C[d, j, last]


@njit(error_model="numpy", fastmath=True)
def _finish(m, e, r, h, C, G, keep, before, best, tail):
    """Try every allowed order of the last m <= 3 visits; tail <- the best one below `best`, whose error is returned."""
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


@njit(error_model="numpy", fastmath=True)
def order_error(e, r, h, C, G, order):
    """Error after visiting `order`; r and h are used up."""
    for j in order:
        for row in range(r.shape[0]):
            v = r[row, j]
            e -= v * (2.0 * h[row, j] - v * G[j, j])
            for i in range(r.shape[1]):
                r[row, i] -= v * C[j, i]
                h[row, i] -= v * G[j, i]
    return e


@njit()
def _keep_best(order, begun, tail, count, best_order):
    """best_order <- order with `count` visits of `tail` at `begun`; slices would take seconds to compile here."""
    for i in range(len(order)):
        best_order[i] = order[i]
    for i in range(count):
        best_order[begun + i] = tail[i]


@njit(error_model="numpy")
def _open_nodes(depth, count, turn, price, child, keep, at_front, order, cut):
    """The untried children of every node on the current path: (orders, fixed at the front, at the back, bounds)."""
    n = len(order)
    total = 0
    for d in range(depth + 1):
        total += count[d] - turn[d]
    orders, bounds = np.zeros((total, n), np.int64), np.zeros(total)
    begins, ends = np.zeros(total, np.int64), np.zeros(total, np.int64)
    row, begun, ended = 0, 0, 0
    for d in range(depth + 1):
        for t in range(turn[d], count[d]):
            if price[d, t] < cut:
                place = begun if at_front[d] else n - ended - 1
                for i in range(n):
                    orders[row, i] = order[i]
                orders[row, place] = keep[d, child[d, t]]
                begins[row], ends[row], bounds[row] = begun + at_front[d], ended + (not at_front[d]), price[d, t]
                row += 1
        begun += at_front[d]
        ended += not at_front[d]
    return orders[:row], begins[:row], ends[:row], bounds[:row]


@njit(error_model="numpy")
def branch(
    e0, r0, h0, C0, G0, before, after, symmetry, best, best_order, relative, absolute, floor0, lam0, tally, limit
):
    """Search below one open problem; returns (best error, nodes, open nodes as `_open_nodes` gives them).

    before[j], after[j]: uint64 masks of the positions that must come before or after j.
    symmetry: (s, n) int8, for each relabeling that changes nothing the direction in which it moves a position; of
    equivalent orders only the lexicographically first is searched.
    best, best_order: the incumbent; best_order is overwritten when an error is found that is smaller by more than
    relative * |best| + absolute, and nothing that cannot be that much smaller is searched.
    floor0: a known lower bound of this problem. lam0: (k,) starting multipliers, overwritten by those of the root.
    tally: (n + 1, 3) where `tighten` paid so far, by the number of open visits; overwritten.
    limit: past this many nodes the search stops; no open node means that nothing here beats the returned error.
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
    S, gap, scale = np.zeros(at[n + 1]), np.zeros((n + 1, k, 2, n)), np.zeros((n + 1, k, 2, n))
    solid = np.zeros(n + 1, np.bool_)
    child, price = np.zeros((n + 1, n), np.int64), np.zeros((n + 1, n))
    count, turn = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    at_front = np.zeros(n + 1, np.bool_)
    X, K, x, s = np.zeros((n, w)), np.zeros((n, w)), np.zeros(w), np.zeros(w)
    front, back = np.zeros((n + 1, n)), np.zeros((n + 1, n))
    work, line = np.zeros((8, w)), np.zeros(2 * w)
    ranks, ranked, sign = np.zeros((n + 1, n)), np.zeros(n + 1, np.bool_), np.zeros((n + 1, n))
    active = np.zeros((n + 1, symmetry.shape[0]), np.int64)
    num_active = np.zeros(n + 1, np.int64)
    order, tail = np.zeros(n, np.int64), np.zeros(3, np.int64)
    e[0], floor[0] = e0, floor0
    goal = best - relative * abs(best) - absolute
    for i in range(n):
        keep[0, i] = i
        for j in range(n):
            C[0, i, j], G[0, i, j] = C0[i, j], G0[i, j]
        for row in range(k):
            r[0, row, i], h[0, row, i] = r0[row, i], h0[row, i]
    for row in range(k):
        lam[0, row] = lam0[row]
    for i in range(symmetry.shape[0]):
        active[0, i] = i
    num_active[0] = symmetry.shape[0]
    free = (np.uint64(1) << np.uint64(n)) - np.uint64(1)
    one = np.uint64(1)
    depth, nodes, begun, ended, entering = 0, 1, 0, 0, True
    while True:
        m = n - depth
        if entering:
            entering = False
            count[depth], turn[depth] = 0, 0
            if m <= 3:
                value = _finish(m, e[depth], r[depth], h[depth], C[depth], G[depth], keep[depth], before, goal, tail)
                if value < goal:
                    best, goal = value, value - relative * abs(value) - absolute
                    _keep_best(order, begun, tail, m, best_order)
            elif m == 4:  # 24 orders cost less than one bound
                for j in range(4):
                    if before[keep[depth, j]] & free:
                        continue
                    visit_first(j, m, depth, e, r, h, C, G, keep)
                    d = depth + 1
                    value = _finish(3, e[d], r[d], h[d], C[d], G[d], keep[d], before, goal, tail)
                    if value < goal:
                        best, goal = value, value - relative * abs(value) - absolute
                        order[begun] = keep[depth, j]
                        _keep_best(order, begun + 1, tail, 3, best_order)
            else:
                known, news, need = solid[depth], not solid[depth], goal - e[depth]
                solid[depth] = True
                for row in range(k):
                    here = at[depth] + row * room(m)
                    if known:
                        step, gain = promise(m, r[depth, row], S, here, gap[depth, row], s)
                        if gain < (RETUNE if m >= SMALL else RETUNE_SMALL) * (goal - bound[depth]):
                            continue
                        value, tuned = better_row_bound(
                            r[depth, row], h[depth, row], C[depth], G[depth], m, lam[depth, row], step,
                            part[depth, row], X, K, x,
                        )  # fmt: skip
                        if value <= part[depth, row]:
                            continue
                    else:
                        steps, least = (30, 1e-3) if depth == 0 else (2, 0.1)
                        value, tuned = row_bound(
                            r[depth, row], h[depth, row], C[depth], G[depth], m, lam[depth, row], steps, least,
                            need if row == k - 1 else NEVER, X, K, x, s,
                        )  # fmt: skip
                        need -= value
                    part[depth, row], lam[depth, row], news = value, tuned, True
                    if value > -NEVER:
                        survey(r[depth, row], C[depth], m, X, x, S, here, gap[depth, row], scale[depth, row])
                    else:
                        solid[depth] = False
                if news:
                    bound[depth] = e[depth]
                    for row in range(k):
                        bound[depth] += part[depth, row]
                    for j in range(m):
                        front[depth, j], back[depth, j] = 0.0, 0.0
                    if solid[depth]:
                        for row in range(k):
                            here = at[depth] + row * room(m)
                            rises(m, S, here, gap[depth, row], scale[depth, row], front[depth], back[depth])
                if depth == 0:
                    for row in range(k):
                        lam0[row] = lam[0, row]
                low = bound[depth]
                if k == 1 and solid[depth] and low < goal and pays(m, nodes, tally[m]):
                    for i in range(m):
                        x[i] = r[depth, 0, i] - gap[depth, 0, 0, i]
                        s[i] = own(S, at[depth], m, 0, i)
                    low = tighten(
                        e[depth], r[depth, 0], h[depth, 0], C[depth], G[depth], m, low, goal, lam[depth, 0],
                        ranks[depth], ranked[depth], sign[depth], front[depth], back[depth], X, x, s, K, work, tally[m],
                    )  # fmt: skip
                    ranked[depth] = True
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
            if nodes >= limit:
                break
            nodes += 1
            d, j = depth + 1, child[depth, turn[depth]]
            floor[d] = price[depth, turn[depth]]
            turn[depth] += 1
            end = 0 if at_front[depth] else 1
            solid[d], bound[d] = solid[depth], bound[depth]
            for row in range(k):
                here = at[depth] + row * room(m)
                solid[d] &= own(S, here, m, end, j) > SPOILED * scale[depth, row, end, j]
            if solid[d]:
                for i in range(m):
                    front[d, i], back[d, i] = 0.0, 0.0
                for row in range(k):
                    here = at[depth] + row * room(m)
                    rise = gap[depth, row, end, j] ** 2 / own(S, here, m, end, j)
                    bound[d] += rise
                    v = r[depth, row, j]
                    part[d, row] = part[depth, row] + rise + v * (2.0 * h[depth, row, j] - v * G[depth, j, j])
                    foresee(end, j, m, r[depth, row], C[depth], S, here, gap[depth, row], scale[depth, row],
                            front[d], back[d])  # fmt: skip
                if not survivors(m - 1, front[d], back[d], goal - bound[d]):
                    continue
            a = keep[depth, j]
            if at_front[depth]:
                order[begun] = a
                begun += 1
                visit_first(j, m, depth, e, r, h, C, G, keep)
            else:
                ended += 1
                order[n - ended] = a
                fix_last(j, m, depth, e, r, h, C, G, keep)
            for row in range(k):
                lam[d, row] = lam[depth, row]
                if solid[d] and m > 5:
                    meet(end, j, m, r[depth, row], C[depth], S, at[depth] + row * room(m), gap[depth, row],
                         scale[depth, row], at[d] + row * room(m - 1), gap[d, row], scale[d, row], line)  # fmt: skip
            for i in range(m - 1):
                ranks[d, i] = ranks[depth, i if i != j else m - 1]
                sign[d, i] = sign[depth, i if i != j else m - 1]
            ranked[d] = ranked[depth]
            free ^= one << np.uint64(a)
            num_active[d] = 0
            for i in range(num_active[depth]):
                if not at_front[depth] or symmetry[active[depth, i], a] == 0:
                    active[d, num_active[d]] = active[depth, i]
                    num_active[d] += 1
            depth = d
            entering = True
        else:
            if depth == 0:
                break
            depth -= 1
            if at_front[depth]:
                begun -= 1
                a = order[begun]
            else:
                a = order[n - ended]
                ended -= 1
            free |= one << np.uint64(a)
    still_open = _open_nodes(depth, count, turn, price, child, keep, at_front, order, goal)
    return best, nodes, still_open
