"""Similarity matrices of tasks that sit on a graph: C_ij = a^(number of edges between i and j)."""

from __future__ import annotations

import numpy as np

from taskorder.checks import Floats, Ints, positive_count, similarity_number


def chain(num_tasks: int, a: float) -> Floats:
    """Similarity of tasks along a line: C_ij = a^|i - j|.

    Parameters
    ----------
    num_tasks : int
        P.
    a : float
        Similarity of two tasks that share an edge, in [-1, 1].

    Returns
    -------
    array, (P, P)

    Examples
    --------
    >>> chain(3, 0.5)
    array([[1.  , 0.5 , 0.25],
           [0.5 , 1.  , 0.5 ],
           [0.25, 0.5 , 1.  ]])
    """
    nodes = np.arange(positive_count(num_tasks))
    return _powers(a, np.abs(nodes[:, None] - nodes))


def ring(num_tasks: int, a: float) -> Floats:
    """Similarity of tasks around a circle: C_ij = a^min(|i - j|, P - |i - j|); for a < 0 it may be indefinite.

    Parameters
    ----------
    num_tasks : int
        P.
    a : float
        Similarity of two tasks that share an edge, in [-1, 1].

    Returns
    -------
    array, (P, P)

    Examples
    --------
    >>> ring(4, 0.5)[0]
    array([1.  , 0.5 , 0.25, 0.5 ])
    """
    nodes = np.arange(positive_count(num_tasks))
    apart = np.abs(nodes[:, None] - nodes)
    return _powers(a, np.minimum(apart, len(nodes) - apart))


def tree(num_tasks: int, a: float) -> Floats:
    """Similarity of all nodes of a binary tree in heap order: C_ij = a^(edges between i and j).

    Task 0 is the root, task i has the children 2i + 1 and 2i + 2. Any size works: the last level fills from the left.

    Parameters
    ----------
    num_tasks : int
        P.
    a : float
        Similarity of two tasks that share an edge, in [-1, 1].

    Returns
    -------
    array, (P, P)

    Examples
    --------
    >>> tree(7, 0.5)[3]
    array([0.25  , 0.5   , 0.125 , 1.    , 0.25  , 0.0625, 0.0625])
    """
    return _powers(a, _heap_distance(np.arange(1, positive_count(num_tasks) + 1)))


def leaves(num_tasks: int, a: float) -> Floats:
    """Similarity of the leaves of a binary tree, from left to right: C_ij = a^(edges between i and j).

    The tree is heap-ordered, with 2P - 1 nodes and two children at each inner node. When P is not a power of two its
    leaves lie on two levels: the deeper ones come first.

    Parameters
    ----------
    num_tasks : int
        P.
    a : float
        Similarity of two tasks that share an edge, in [-1, 1].

    Returns
    -------
    array, (P, P)

    Examples
    --------
    >>> leaves(3, 0.5)
    array([[1.   , 0.25 , 0.125],
           [0.25 , 1.   , 0.125],
           [0.125, 0.125, 1.   ]])
    """
    count = positive_count(num_tasks)
    nodes = np.arange(count, 2 * count)
    deepest = 1 << ((2 * count - 1).bit_length() - 1)
    return _powers(a, _heap_distance(np.roll(nodes, -(max(deepest, count) - count))))


def _heap_distance(nodes: Ints) -> Ints:
    """Edges between heap nodes counted from 1, where the parent of n is n // 2: halve the larger until both meet."""
    left, right = np.meshgrid(nodes, nodes, indexing="ij")
    edges = np.zeros_like(left)
    while (apart := left != right).any():
        larger = np.maximum(left, right)
        left, right = np.minimum(left, right), np.where(apart, larger // 2, larger)
        edges += apart
    return edges


def _powers(a: float, distance: Ints) -> Floats:
    return np.asarray(similarity_number(a, "a") ** distance, dtype=np.float64)
