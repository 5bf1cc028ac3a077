"""What the nodes that have the same tasks open share, kept in a table: compiled kernels, arrays in and out.

The matrices behind the bound of bound.py depend on which tasks are open and on the fixed ending, not on the order of
the prefix. With them in a table, the prices of a node cost two products of a matrix and a vector.

An entry for m open tasks, in ascending order, with w = 8 blocks(m): the multiplier, the share by which rounding may
have spoiled the bound (negative: no bound), then 1 / M_jj and 1 / (C M C)_jj in w places each, then M, M C and C.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering.kernels.bound import NEVER, row_bound
from taskorder.ordering.kernels.end_prices import SPOILED
from taskorder.ordering.kernels.jit import njit
from taskorder.ordering.kernels.simd import WIDTH, add_product, blocks, load, splat, store, total

HEAD = 8
"""Places before the rows of an entry, without the sizes."""
EPS, MAX_OPEN = 2.2e-16, 62
"""Rounding of one operation, and the most open tasks: that much room at the start of a table is for longer endings."""


@njit()
def entry_size(m):
    """Numbers in the entry of m open tasks."""
    return HEAD + WIDTH * blocks(m) * (3 * m + 2)


@njit()
def find(a, b, c, keys, places):
    """Where the entry of the key (a, b, c) stands in `places`, or belongs."""
    z = a * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(31)) ^ b) * np.uint64(0xD6E8FEB86659FD93)
    z = (z ^ (z >> np.uint64(29)) ^ c) * np.uint64(0x9E3779B97F4A7C15)
    last = len(places) - 1
    spot = np.int64(z >> np.uint64(20)) & last
    while places[spot] >= 0 and (keys[spot, 0] != a or keys[spot, 1] != b or keys[spot, 2] != c):
        spot = (spot + 1) & last
    return spot


@njit()
def make_room(m, a, b, c, length, keys, places, filled):
    """Where the new entry of the key (a, b, c) with m open tasks shall stand in a table that long."""
    if filled[1] + entry_size(m) > length or 2 * filled[0] > len(places):
        filled[0], filled[1] = 0, 0
        for i in range(len(places)):
            places[i] = -1
    spot, at = find(a, b, c, keys, places), max(filled[1], entry_size(MAX_OPEN))
    keys[spot, 0], keys[spot, 1], keys[spot, 2], places[spot] = a, b, c, at
    filled[0], filled[1] = filled[0] + 1, at + entry_size(m)
    return at


@njit(error_model="numpy")
def tabulate(m, open_tasks, r, h, lam, steps, need, C, G, at_G, table, at, C_open, G_open, X, K, x, s):
    """Write the entry of the open `open_tasks`; the multiplier is `lam`, or tuned for r and h in some steps from there.

    C, G: whole, flat G from `at_G` on. steps, need: see `row_bound`. The last six are scratch.
    """
    w, wide, size = WIDTH * blocks(m), C.shape[1], 0.0
    for i in range(m):
        for j in range(m):
            C_open[i, j], G_open[i, j] = C[open_tasks[i], open_tasks[j]], G[at_G + open_tasks[i] * wide + open_tasks[j]]
    part, lam = row_bound(r, h, C_open, G_open, m, lam, steps, 0.02, need, X, K, x, s)
    table[at], table[at + 1] = lam, -1.0
    if part == -NEVER:
        return
    rows = at + HEAD + 2 * w
    for i in range(m):
        line = rows + i * w
        for b in range(0, m, WIDTH):
            sums = splat(0.0)
            for k in range(max(i, b), m):
                sums = add_product(sums, splat(X[k, i]), load(X, k * wide + b))
            store(table, line + b, sums)
        for b in range(0, m, WIDTH):
            sums = splat(0.0)
            for k in range(m):
                sums = add_product(sums, splat(table[line + k]), load(C_open, k * wide + b))
            store(table, line + m * w + b, sums)
            store(table, line + 2 * m * w + b, load(C_open, i * wide + b))
    for i in range(m):
        back = 0.0
        for k in range(m):
            back += C_open[i, k] * table[rows + (m + k) * w + i]
        own = table[rows + i * w + i]
        table[at + HEAD + i], table[at + HEAD + w + i] = 1.0 / own, 1.0 / back
        size += own * (abs(G_open[i, i]) + abs(lam))
    table[at + 1] = EPS * m * size


@njit(error_model="numpy")
def price_first(m, r, h, table, at, pull, x, front):
    """front[j] <- how much fixing j first raises the bound; returns what the open tasks take off the error at most.

    pull <- h + (lam/2) r, x <- M pull.
    """
    w, half, zero, value = WIDTH * blocks(m), 0.5 * table[at], splat(0.0), splat(0.0)
    for i in range(m):
        pull[i] = h[i] + half * r[i]
    for b in range(0, m, WIDTH):
        here, line = zero, at + HEAD + 2 * w + b
        for i in range(m):
            here = add_product(here, splat(pull[i]), load(table, line))
            line += w
        gap = add_product(load(r, b), splat(-1.0), here)
        store(x, b, here)
        store(front, b, add_product(zero, add_product(zero, gap, gap), load(table, at + HEAD + b)))
        value = add_product(value, load(pull, b), here)
    return total(value) * (1.0 + table[at + 1])


@njit(error_model="numpy")
def fertile(j, m, cut, r, x, table, at, over, rest):
    """Whether another task can follow the j-th open one for less than `cut` more, as far as this entry tells.

    See `foresee` of end_prices.py; a child without children need not be looked up. over, rest: scratch.
    """
    w, zero, alive = WIDTH * blocks(m), splat(0.0), 0
    inverse, row, similar = at + HEAD, at + HEAD + w * (j + 2), at + HEAD + w * (2 * m + j + 2)
    own, v = table[inverse + j], r[j]
    p = splat((x[j] - v) * own)
    for b in range(0, m, WIDTH):
        cross, size = load(table, row + b), load(table, inverse + b)
        gap = add_product(add_product(load(r, b), splat(-1.0), load(x, b)), p, cross)
        gap = add_product(gap, splat(-v), load(table, similar + b))
        share = add_product(zero, add_product(zero, cross, cross), size)
        left = add_product(splat(1.0), splat(-own), share)  # nothing for j itself
        store(rest, b, left)
        store(over, b, add_product(add_product(zero, splat(-cut), left), add_product(zero, gap, gap), size))
    for i in range(m):
        alive += (over[i] < 0.0) | (rest[i] < SPOILED)
    return alive > 1


@njit(error_model="numpy")
def price_last(m, r, table, at, pull, x, back, miss):
    """back[j] <- how much fixing j last raises the bound; returns its slope by the multiplier; miss: see `promise`."""
    w, zero, slope = WIDTH * blocks(m), splat(0.0), splat(0.0)
    for b in range(0, m, WIDTH):
        there, line = zero, at + HEAD + w * (m + 2) + b
        for i in range(m):
            there = add_product(there, splat(pull[i]), load(table, line))
            line += w
        here, own = load(x, b), load(r, b)
        gap = add_product(own, splat(-1.0), there)
        store(back, b, add_product(zero, add_product(zero, gap, gap), load(table, at + HEAD + w + b)))
        rest = add_product(here, splat(-1.0), gap)
        store(miss, b, rest)
        slope = add_product(slope, here, add_product(own, splat(-1.0), rest))
    return 0.5 * total(slope)


@njit(error_model="numpy")
def promise(m, slope, table, at, miss, s):
    """What Newton's step on the multiplier promises to add to the bound; miss = (C + I) x - r, s: scratch."""
    w, curvature = WIDTH * blocks(m), 0.0
    for b in range(0, m, WIDTH):
        line = splat(0.0)
        for i in range(m):
            line = add_product(line, splat(miss[i]), load(table, at + HEAD + w * (i + 2) + b))
        store(s, b, line)
    for i in range(m):
        curvature += s[i] * miss[i]
    return slope * slope / curvature if curvature > 0.0 else 0.0
