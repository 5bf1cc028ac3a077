"""Random orders under precedence, every allowed order equally likely wherever its completions can be counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from taskorder.checks import Bools, Ints
from taskorder.ordering.groups import members
from taskorder.ordering.precedence import components

DOWNSET_LIMIT = 20_000
UNEVEN = "the constraints are too many to count: random orders are drawn step by step, not all equally likely"
"""What to tell the user where `is_uniform` is False."""


def random_order(precedes: Bools, rng: np.random.Generator, together: Ints | None = None) -> Ints:
    """One random order; see `random_orders` for its distribution."""
    return np.asarray(random_orders(precedes, 1, rng, together)[0])


def random_orders(precedes: Bools, num: int, rng: np.random.Generator, together: Ints | None = None) -> Ints:
    """(num, n) independent random orders, every allowed order equally likely wherever `is_uniform(precedes)`.

    The precedence is taken apart into parts that do not constrain each other (interleaved at random) and parts that
    follow each other (joined). What cannot be taken apart is drawn by counting its completions. Only where that count
    needs more than 20,000 states does the part fall back to list scheduling: each visit draws a priority, and the
    allowed visit of highest priority goes next. That reaches every allowed order, but not equally often.

    together: groups of visits that stay together (groups.py). Their order and the orders inside them are independent,
    and so are drawn apart.

    >>> random_orders(np.array([[False, True], [False, False]]), 2, np.random.default_rng(0)).tolist()
    [[0, 1], [0, 1]]
    """
    if together is None:
        return _draw(np.arange(len(precedes), dtype=np.int64), precedes, num, rng)
    heads = np.unique(together)
    wholes = random_orders(precedes[np.ix_(heads, heads)], num, rng)
    key = np.argsort(wholes, axis=1)[:, np.searchsorted(heads, together)] * len(precedes)
    for group in members(together):
        if len(group) > 1:
            key[:, group] += np.argsort(random_orders(precedes[np.ix_(group, group)], num, rng), axis=1)
    return np.argsort(key, axis=1)


def is_uniform(precedes: Bools, together: Ints | None = None) -> bool:
    """Whether `random_orders` draws every allowed order with the same probability.

    >>> is_uniform(np.zeros((100, 100), dtype=bool))
    True
    """
    if together is not None:
        apart = [np.unique(together), *members(together)]
        return all(is_uniform(precedes[np.ix_(visits, visits)]) for visits in apart)

    def check(visits: Ints) -> bool:
        parts, _ = _split(visits, precedes)
        if len(parts) == 1 and len(visits) > 1:
            return _downsets(precedes[np.ix_(visits, visits)]) is not None
        return all(check(part) for part in parts if len(part) > 1)

    return check(np.arange(len(precedes), dtype=np.int64))


def _draw(visits: Ints, precedes: Bools, num: int, rng: np.random.Generator) -> Ints:
    """(num, len(visits)) random orders of `visits`."""
    parts, serial = _split(visits, precedes)
    if len(parts) == 1 and len(visits) > 1:
        inner = precedes[np.ix_(visits, visits)]
        counts = _downsets(inner)
        drawn = _by_priority(inner, num, rng) if counts is None else _by_count(inner, counts, num, rng)
        return np.asarray(visits[drawn])
    if serial:
        return np.hstack([_draw(part, precedes, num, rng) for part in parts])
    # Interleave: sorted random keys go to each part in its own order, and the keys decide.
    keys = rng.random((num, len(visits)))
    column_of = {int(visit): column for column, visit in enumerate(visits)}
    for part in parts:
        if len(part) > 1:
            columns = [column_of[int(visit)] for visit in part]
            steps = np.argsort(_draw(part, precedes, num, rng), axis=1)
            # A part lists its visits ascending, so sorting a drawn order by visit gives the step of each visit.
            keys[:, columns] = np.take_along_axis(np.sort(keys[:, columns], axis=1), steps, axis=1)
    return np.asarray(visits[np.argsort(keys, axis=1)])


def _split(visits: Ints, precedes: Bools) -> tuple[list[Ints], bool]:
    """Parts without a relation between them; else parts that follow each other and True; else one part."""
    inner = precedes[np.ix_(visits, visits)]
    related = inner | inner.T
    if not related.any():
        return [visits[i : i + 1] for i in range(len(visits))], False
    parts = components(related)
    if len(parts) > 1:
        return [visits[part] for part in parts], False
    parts = components(~related)
    # All visits of an earlier part precede all of a later one, so one representative tells.
    parts.sort(key=lambda part: int(inner[:, part[0]].sum() - inner[np.ix_(part, part[:1])].sum()))
    return [visits[part] for part in parts], True


def _downsets(inner: Bools) -> dict[int, int] | None:
    """Number of completions of each set of visits that may be done first; None past the limit."""
    needs = [sum(1 << int(a) for a in np.flatnonzero(column)) for column in inner.T]
    layers: list[set[int]] = [{0}]
    total = 1
    for _ in needs:
        grown = _grown(layers[-1], needs, DOWNSET_LIMIT - total)
        if grown is None:
            return None
        layers.append(grown)
        total += len(grown)
    counts = {layers[-1].pop(): 1}
    for layer in reversed(layers[:-1]):
        counts.update({s: sum(counts.get(s | 1 << j, 0) for j in range(len(needs)) if not s >> j & 1) for s in layer})
    return counts


def _grown(sets: Iterable[int], needs: Sequence[int], most: int) -> set[int] | None:
    """Each set with one more visit; None as soon as these are more than `most`: of many visits they may be millions."""
    grown: set[int] = set()
    for s in sets:
        grown.update(s | 1 << j for j, need in enumerate(needs) if not s >> j & 1 and need & ~s == 0)
        if len(grown) > most:
            return None
    return grown


def _by_count(inner: Bools, counts: dict[int, int], num: int, rng: np.random.Generator) -> Ints:
    """Uniform orders of one part: each next visit in proportion to the completions it leaves."""
    size = len(inner)
    orders = np.empty((num, size), dtype=np.int64)
    for row, uniforms in zip(orders, rng.random((num, size)), strict=True):
        done = 0
        for step in range(size):
            options = [j for j in range(size) if not done >> j & 1 and done | 1 << j in counts]
            share = np.cumsum([counts[done | 1 << j] / counts[done] for j in options])
            row[step] = options[min(int(np.searchsorted(share, uniforms[step])), len(options) - 1)]
            done |= 1 << int(row[step])
    return orders


def _by_priority(inner: Bools, num: int, rng: np.random.Generator) -> Ints:
    """List scheduling with random priorities, all rows at once."""
    size = len(inner)
    priority = rng.random((num, size))
    pending = np.repeat(inner.sum(axis=0)[None], num, axis=0)
    orders = np.empty((num, size), dtype=np.int64)
    rows = np.arange(num)
    for step in range(size):
        orders[:, step] = best = np.where(pending == 0, priority, -1.0).argmax(axis=1)
        pending -= inner[best]
        pending[rows, best] = -1
    return orders
