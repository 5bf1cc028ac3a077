"""Symmetries of an open problem: relabelings that change nothing, so that equivalent orders are searched once."""

from __future__ import annotations

import numpy as np

from taskorder.checks import Bools, Floats, Ints
from taskorder.ordering.clock import Clock
from taskorder.ordering.problem import Problem

MAX_SYMMETRIES = 2048
"""Any subset of the symmetries is valid for pruning, so a huge group is simply cut off here."""
SAME = 1e-12


def symmetries(problem: Problem, clock: Clock | None = None) -> tuple[Bools, Ints]:
    """What may be assumed of the order searched for: (precedes, images).

    precedes: (n, n) the constraints, plus "the lower position first" for twins: two tasks whose exchange changes
    nothing. images: (s, n) the other relabelings that change nothing, those that keep twins in order; image[i] takes
    the place of task i. The identity is left out; so are all where the time is over before they are found.
    """
    n = problem.size
    sums = np.sort(problem.C.sum(axis=0))
    if n < 2 or float(np.diff(sums).min()) > SAME * n:  # a symmetry exchanges tasks of equal row sums
        return problem.precedes, np.zeros((0, n), np.int64)
    tables = _tables(problem)
    labels = _signatures(tables)
    twins = _twins(tables, labels)
    precedes = problem.precedes | twins
    return precedes, _relabelings(tables, labels, twins, precedes, clock)


def _twins(tables: Floats, labels: Ints) -> Bools:
    """(n, n) bool, strictly upper: True where swapping two tasks leaves all tables unchanged."""
    n = len(labels)
    twins = np.zeros((n, n), bool)
    for i in range(n):
        for j in (np.flatnonzero(labels[i + 1 :] == labels[i]) + i + 1).tolist():
            swap = np.arange(n)
            swap[[i, j]] = j, i
            swapped = tables[:, swap][:, :, swap]
            twins[i, j] = bool((np.abs(swapped - tables)[:, [i, j]] <= SAME).all())
    return twins


def _relabelings(tables: Floats, labels: Ints, twins: Bools, ordered: Bools, clock: Clock | None) -> Ints:
    """Maps grown one task at a time, keeping those that agree with the tables and with `ordered` so far."""
    n = len(labels)
    maps = np.zeros((1, 0), np.int64)
    place, later = twins.sum(axis=0), twins.sum(axis=1)  # how many twins of each task come before it, and after it
    for i in range(n):
        if clock is not None and clock.left <= 0:
            return np.zeros((0, n), np.int64)
        # A symmetry that keeps twins in order takes each to the same place among others. Else there are as many maps
        # as subsets of twins, and all but one of them come to nothing.
        choices = np.flatnonzero((labels == labels[i]) & (place == place[i]) & (later == later[i]))
        grown = np.concatenate([np.repeat(maps, len(choices), axis=0), np.tile(choices, len(maps))[:, None]], axis=1)
        old, new = grown[:, :i], grown[:, i:]
        grown = grown[(old != new).all(axis=1) & ~(ordered[:i, i] & (old > new)).any(axis=1)]
        for table in tables:
            grown = grown[(np.abs(table[grown[:, :i], grown[:, i:]] - table[:i, i]) <= SAME).all(axis=1)]
        maps = grown[:MAX_SYMMETRIES]
    return np.ascontiguousarray(maps[(maps != np.arange(n)).any(axis=1)])


def _tables(problem: Problem) -> Floats:
    """The matrices whose rows a symmetry must preserve, scaled so that one tolerance serves all."""
    gram, pull = problem.r.T @ problem.r, problem.r.T @ problem.h
    precedes = problem.precedes.astype(np.float64)
    tables = [problem.C, problem.G, gram, pull, pull.T, precedes, precedes.T]
    if problem.together is not None:
        tables.append((problem.together[:, None] == problem.together).astype(np.float64))
    telling = [tables[0], *(table for table in tables[1:] if np.ptp(table) > 0)]  # any relabeling keeps the others
    return np.stack([table / (float(np.abs(table).max()) or 1.0) for table in telling])


def _signatures(tables: Floats) -> Ints:
    """(n,) a number for each task; tasks that a symmetry can exchange share it."""
    diagonals = np.diagonal(tables, axis1=1, axis2=2)
    keys = np.concatenate([*np.sort(tables, axis=2), diagonals.T], axis=1)
    labels = np.full(len(keys), -1)
    for i in range(len(keys)):
        if labels[i] < 0:
            labels[(labels < 0) & (np.abs(keys - keys[i]) <= SAME).all(axis=1)] = i
    return labels
