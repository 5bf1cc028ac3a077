"""Which visit must come before which: the closure of pairs, of groups and of the two ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from taskorder.arguments import BadArgument
from taskorder.checks import Bools, Ints

DROP = ("Drop one of these pairs.",)


def closed_precedence(
    labels: Sequence[str],
    pairs: Iterable[tuple[int, int]],
    *,
    head: int | None = None,
    tail: int | None = None,
    groups: Ints | None = None,
    begun: Ints | None = None,
) -> Bools:
    """(n, n) closed precedence of visits with these labels; what cannot be kept is refused.

    head, tail: the very first and last visit. groups: (n,) the smallest visit of the group of each visit; what comes
    before one visit of a group comes before all of them, so that precedence orders groups as wholes and then the visits
    inside each. begun: visits of a group that must come first.

    >>> closed_precedence("ABC", [(1, 2)], groups=np.array([0, 0, 2])).astype(int).tolist()
    [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    """
    precedes = closure(len(labels), pairs, labels) if groups is None else _of_groups(labels, pairs, groups)
    # What comes first or last is added after the closure: rows or columns of ones keep it closed, and contradictions
    # show as entries that are already there.
    if begun is not None and len(begun):
        if head is not None and head not in begun:
            raise BadArgument(
                "`first` must be of the group that ",
                "learned",
                f" has begun, {_title(begun, labels)}, got {labels[head]}.",
            )
        outside = np.setdiff1d(np.arange(len(labels)), begun)
        if precedes[np.ix_(outside, begun)].any():
            blocker = labels[outside[precedes[np.ix_(outside, begun)].any(axis=1).argmax()]]
            raise BadArgument(
                "`before` must not put a task before a group that ",
                "learned",
                f" has begun, got {blocker} before {_title(begun, labels)}. Drop the pair, or change the group.",
            )
        precedes[np.ix_(begun, outside)] = True
    if head is not None and tail is not None and head != tail:
        both = _whole(head, groups)
        if tail in both and len(both) < len(labels):
            raise BadArgument(
                "`first` must not be of the group of ",
                "last",
                f" where tasks are outside of it, got {labels[head]} and {labels[tail]} of {_title(both, labels)}. "
                "Drop one of them, or change ",
                "groups",
                ".",
            )
    if head is not None:
        if precedes[:, head].any():
            blocker = labels[int(precedes[:, head].argmax())]
            raise BadArgument(
                "`first` must not contradict ",
                *_rules(groups),
                f", got first {labels[head]} but {blocker} before {labels[head]}.",
            )
        inside = _whole(head, groups)
        precedes[np.ix_(inside, np.setdiff1d(np.arange(len(labels)), inside))] = True
        precedes[head] = True
        precedes[head, head] = False
    if tail is not None:
        after = precedes[tail].copy()
        if after.any():
            blocker = labels[int(after.argmax())]
            raise BadArgument(
                "`last` must not contradict ",
                *_rules(groups),
                f", got last {labels[tail]} but {labels[tail]} before {blocker}.",
            )
        inside = _whole(tail, groups)
        precedes[np.ix_(np.setdiff1d(np.arange(len(labels)), inside), inside)] = True
        precedes[:, tail] = True
        precedes[tail, tail] = False
    return precedes


def _of_groups(labels: Sequence[str], pairs: Iterable[tuple[int, int]], groups: Ints) -> Bools:
    """The closure of pairs between groups and of those inside them."""
    between: list[tuple[int, int]] = []
    inside: list[tuple[int, int]] = []
    for a, b in pairs:
        (inside if groups[a] == groups[b] else between).append((a, b))
    titles = [_title(_whole(visit, groups), labels) for visit in range(len(labels))]
    fix = ("Drop one of these pairs, or change ", "groups", ".")
    wholes = closure(len(labels), [(int(groups[a]), int(groups[b])) for a, b in between], titles, fix)
    return np.asarray(wholes[np.ix_(groups, groups)] | closure(len(labels), inside, labels))


def _whole(visit: int, groups: Ints | None) -> Ints:
    """The visits of the group of a visit."""
    return np.array([visit]) if groups is None else np.flatnonzero(groups == groups[visit])


def _title(visits: Ints, labels: Sequence[str]) -> str:
    return labels[visits[0]] if len(visits) == 1 else f"[{', '.join(labels[visit] for visit in visits)}]"


def _rules(groups: Ints | None) -> tuple[str, ...]:
    return ("before",) if groups is None else ("before", " and ", "groups")


def closure(size: int, pairs: Iterable[tuple[int, int]], labels: Sequence[str], fix: tuple[str, ...] = DROP) -> Bools:
    """(n, n) transitive closure of `pairs`; a cycle is refused and spelled out by label.

    >>> closure(3, [(0, 1), (1, 2)], "ABC").astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    direct = np.zeros((size, size), dtype=np.bool_)
    for a, b in pairs:
        direct[a, b] = True
    reach = direct.copy()
    # Taking tasks from the end backwards, the reach of every successor is complete when it is needed.
    for task in reversed(_topological(direct, labels, fix)):
        after = np.flatnonzero(direct[task])
        if after.size:
            reach[task] |= reach[after].any(axis=0)
    return reach


def _topological(direct: Bools, labels: Sequence[str], fix: tuple[str, ...]) -> list[int]:
    """An order that keeps every pair."""
    pending = direct.sum(axis=0)
    ready = [int(task) for task in np.flatnonzero(pending == 0)]
    order = []
    while ready:
        task = ready.pop()
        order.append(task)
        pending = pending - direct[task]
        ready.extend(int(b) for b in np.flatnonzero(direct[task] & (pending == 0)))
    if len(order) < len(direct):
        cycle = _shortest_cycle(direct, np.setdiff1d(np.arange(len(direct)), order))
        chain = " before ".join(labels[task] for task in [*cycle, cycle[0]])
        raise BadArgument(f"`before` must not contain a cycle, got {chain}. {fix[0]}", *fix[1:])
    return order


def _shortest_cycle(direct: Bools, stuck: Ints) -> list[int]:
    """The shortest cycle, breadth first from each of the tasks `stuck` that no topological order reaches."""
    best: list[int] = []
    for start in stuck.tolist():
        routes = {start: [start]}
        wave = [start]
        while wave and not direct[wave, start].any():
            fresh: dict[int, list[int]] = {}
            for a in wave:
                fresh.update({b: [*routes[a], b] for b in np.flatnonzero(direct[a]).tolist() if b not in routes})
            routes.update(fresh)
            wave = list(fresh)
        closing = [routes[a] for a in wave if direct[a, start]]
        if closing and (not best or len(closing[0]) < len(best)):
            best = closing[0]
    return best
