"""Branch and bound on the problem form of problem.py: compiled kernels, arrays in and out.

A node fixes a prefix and an ending of the order. Its bound (bound.py) prices the children of both ends, and the end
with fewer surviving children is branched on, cheapest child first.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

from typing import NamedTuple

import numpy as np

from taskorder.ordering.kernels.bound import NEVER, price_children, row_bound, scratch
from taskorder.ordering.kernels.jit import njit
from taskorder.ordering.kernels.steps import finish, fix_last, learn_first, new_states

ONE = np.uint64(1)
MOST = 62
"""Tasks that bit masks and nodes can hold."""
NOT_BOUNDED = -1
"""The `turn` of a node before its children are listed."""
NODE = np.dtype(
    (
        np.record,
        [
            ("floor", "f8"),  # what is known of the node before its own bound is computed
            ("begun", "i8"),  # tasks fixed at the front
            ("ended", "i8"),  # and at the back
            ("free", "u8"),  # mask of the open tasks
            ("at_front", "?"),  # the end that is branched on
            ("count", "i8"),  # children below the goal
            ("turn", "i8"),  # the next one to try
            ("child", "i8", (MOST,)),  # indices among the open tasks, cheapest first
            ("price", "f8", (MOST,)),  # bounds of the children
        ],
    )
)
"""A node; that with d fixed tasks is number d of those between the whole problem and where the search is."""


class Whole(NamedTuple):
    """The problem that is searched."""

    e: float
    r: np.ndarray
    h: np.ndarray
    C: np.ndarray
    G: np.ndarray
    before: np.ndarray
    """(n,) uint64 masks of the tasks that must come before each."""
    after: np.ndarray
    """(n,) uint64 masks of the tasks that must come after each."""
    symmetry: np.ndarray
    """(s, n) int8: for each relabeling that changes nothing the direction in which it moves a task. Of equivalent
    orders only the lexicographically first is searched."""
    together: np.ndarray
    """(n,) uint64 masks of the tasks that stand together with each, itself among them."""


class Effort(NamedTuple):
    """How much is searched before the rest is left open."""

    limit: int
    """After so many nodes the search below a start stops."""
    shallow: int
    """But only where it is at most so many tasks deep: what is left open there is worth a new start."""
    enough: int
    """After so many nodes in all no start is begun."""
    late: np.ndarray
    """(1,) bool, true once the time is over: then all the rest is left open."""


@njit(error_model="numpy")
def descend(nodes, d, task, order, symmetry, moved):
    """Node d + 1 <- node d after `task` is fixed at the end that node d branches on; all but its state."""
    node, child = nodes[d], nodes[d + 1]
    front = node.at_front
    order[node.begun if front else len(order) - 1 - node.ended] = task
    child.begun, child.ended = node.begun + front, node.ended + (not front)
    child.free = node.free ^ (ONE << np.uint64(task))
    child.count, child.turn = 0, NOT_BOUNDED
    for i in range(len(symmetry)):
        moved[d + 1, i] = moved[d, i] or (front and symmetry[i, task] != 0)


@njit(error_model="numpy")
def list_children(node, task, d, m, low, goal, rise, before, after, symmetry, together, order, moved):
    """List the children of `node`, at depth d, that stay below `goal`: low plus the rise of the end with fewer.

    order: what is fixed. moved[d, i]: relabeling i moves a task of the prefix, so that it says nothing about what comes
    next.
    """
    free, none = node.free, np.uint64(0)
    # What is open of the groups that the two ends are in the middle of: nothing else may come there, and it may come
    # at the other end only where nothing else is open.
    ahead = together[order[node.begun - 1]] & free if node.begun > 0 else none
    behind = together[order[len(order) - node.ended]] & free if node.ended > 0 else none
    cut = min(goal - low, NEVER)  # forbidden children stay forbidden even where there is no bound
    few, many, sum_front, sum_back = 0, 0, 0.0, 0.0
    for j in range(m):
        t = task[d, j]
        if before[t] & node.free:
            rise[0, j] = NEVER
        if after[t] & node.free:
            rise[1, j] = NEVER
        own = together[t]
        if (ahead != none and own & ahead == none) or (own & behind != none and free != behind):
            rise[0, j] = NEVER
        if (behind != none and own & behind == none) or (own & ahead != none and free != ahead):
            rise[1, j] = NEVER
        for i in range(len(symmetry)):
            if symmetry[i, t] < 0 and not moved[d, i]:
                rise[0, j] = NEVER
        few += rise[0, j] < cut
        many += rise[1, j] < cut
        sum_front += min(rise[0, j], cut)
        sum_back += min(rise[1, j], cut)
    node.at_front = few < many or (few == many and sum_front >= sum_back)  # fewer children, or dearer ones
    end, count = 0 if node.at_front else 1, 0
    for j in range(m):
        if rise[end, j] < cut:
            # The multiplier is tuned only a little here, so what the parent knew may be the better bound.
            slot, value = count, max(low + rise[end, j], node.floor)
            while slot > 0 and node.price[slot - 1] > value:
                node.price[slot], node.child[slot] = node.price[slot - 1], node.child[slot - 1]
                slot -= 1
            node.price[slot], node.child[slot] = value, j
            count += 1
    node.count = count


@njit()
def keep_best(order, begun, tail, count, best_order):
    """best_order <- order with `count` tasks of `tail` at `begun`."""
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
def leave_open(nodes, task, depth, top, goal, order, left, bounds, num_left):
    """Append to `left` and `bounds` the children below `goal` that a search has not tried; returns the number of rows.

    A search from depth `top` stands at `depth`. `order` is used up.
    """
    n = len(order)
    for d in range(depth, top - 1, -1):  # from the deepest: what is written into `order` there is not read above
        node = nodes[d]
        for t in range(node.turn, node.count):
            if node.price[t] < goal:
                order[node.begun if node.at_front else n - 1 - node.ended] = task[d, node.child[t]]
                for i in range(n):
                    left[num_left, i + 2] = order[i]
                left[num_left, 0] = node.begun + node.at_front
                left[num_left, 1] = node.ended + (not node.at_front)
                bounds[num_left] = node.price[t]
                num_left += 1
    return num_left


@njit(error_model="numpy")
def branch(whole, starts, floors, best, best_order, relative, absolute, lam0, effort):
    """Search below some nodes; returns (best error, nodes, open nodes, bounds below these).

    starts: (q, n + 2) int8 nodes: how many tasks are fixed at the front and at the back, and an order with these.
    floors: (q,) known lower bounds of the nodes.
    best, best_order: the incumbent; best_order is overwritten when an error is found that is smaller by more than
    relative * |best| + absolute, and nothing that cannot be that much smaller is searched.
    lam0: (k,) starting multipliers, overwritten by those of the first node.
    When no node is left open, nothing here beats the returned error.
    """
    k, n = whole.r.shape
    before, after, symmetry, together = whole.before, whole.after, whole.symmetry, whole.together
    e, r, h, C, G, task = new_states(n + 1, whole.e, whole.r, whole.h, whole.C, whole.G)
    nodes, lam, moved = np.zeros(n + 1, NODE), np.zeros((n + 1, k)), np.zeros((n + 1, len(symmetry)), np.bool_)
    order, tail, W, rise = np.zeros(n, np.int64), np.zeros(6, np.int64), scratch(n), np.zeros((2, n))
    left, bounds, num_left = np.zeros((len(starts) + n * n, n + 2), np.int8), np.zeros(len(starts) + n * n), 0
    nodes[0].free = (ONE << np.uint64(n)) - ONE
    goal, seen = best - relative * abs(best) - absolute, 0
    for q in range(len(starts)):
        if not floors[q] < goal:
            continue
        if num_left + n * n > len(left):
            left, bounds = more_room(left, bounds, 2 * num_left + n * n)
        if seen >= effort.enough or effort.late[0]:
            for i in range(n + 2):
                left[num_left, i] = starts[q, i]
            bounds[num_left] = floors[q]
            num_left += 1
            continue
        # Fix the tasks of this start: first those at its front, then those at its back.
        begun, top = np.int64(starts[q, 0]), np.int64(starts[q, 0]) + np.int64(starts[q, 1])
        for d in range(top):
            wanted, j = starts[q, 2 + d if d < begun else n + 1 - (d - begun)], 0
            while task[d, j] != wanted:
                j += 1
            nodes[d].at_front = d < begun
            descend(nodes, d, task[d, j], order, symmetry, moved)
            if d < begun:
                learn_first(e, r, h, C, G, task, d, d + 1, n - d, j)
            else:
                fix_last(e, r, h, C, G, task, d, d + 1, n - d, j)
        for row in range(k):
            lam[top, row] = lam0[row]
        nodes[top].floor, nodes[top].count, nodes[top].turn = floors[q], 0, NOT_BOUNDED
        depth, stop = top, seen + effort.limit
        while depth >= top:
            node, m = nodes[depth], n - depth
            if node.turn == NOT_BOUNDED:
                seen += 1
                node.turn, low = 0, e[depth]
                if m <= 3:
                    first = order[node.begun - 1] if node.begun else -1
                    last = order[n - node.ended] if node.ended else -1
                    value = finish(e, r, h, C, G, task, depth, m, before, together, first, last, goal, tail)
                    if value < goal:
                        best, goal = value, value - relative * abs(value) - absolute
                        keep_best(order, node.begun, tail, m, best_order)
                    continue
                steps, least = (30, 1e-3) if depth == top else (2, 0.1)
                for j in range(m):
                    rise[0, j], rise[1, j] = 0.0, 0.0
                for row in range(k):
                    need = goal - low if row == k - 1 else NEVER
                    part, tuned = row_bound(r, h, C, G, depth, row, m, lam[depth, row], steps, least, need, W)
                    lam[depth, row] = tuned
                    low += part
                    if -NEVER < part < need:
                        price_children(r, C, depth, row, m, W, rise)
                if depth == top and q == 0:
                    for row in range(k):
                        lam0[row] = lam[top, row]
                if low < goal:
                    list_children(
                        node, task, depth, m, low, goal, rise, before, after, symmetry, together, order, moved
                    )
            elif node.turn < node.count and node.price[node.turn] < goal:
                enough = seen >= stop and (depth <= top + effort.shallow or seen >= stop + 3 * effort.limit)
                if enough or effort.late[0]:
                    break
                j = node.child[node.turn]
                nodes[depth + 1].floor = node.price[node.turn]
                node.turn += 1
                descend(nodes, depth, task[depth, j], order, symmetry, moved)
                if node.at_front:
                    learn_first(e, r, h, C, G, task, depth, depth + 1, m, j)
                else:
                    fix_last(e, r, h, C, G, task, depth, depth + 1, m, j)
                for row in range(k):
                    lam[depth + 1, row] = lam[depth, row]
                depth += 1
            else:
                depth -= 1
        num_left = leave_open(nodes, task, depth, top, goal, order, left, bounds, num_left)
    return best, seen, left[:num_left], bounds[:num_left]
