from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder import chain, leaves, ring, tree


def distances(num_nodes: int, edges: list[tuple[int, int]]) -> np.ndarray:
    """Edges between all nodes by breadth-first search."""
    neighbors: dict[int, list[int]] = {node: [] for node in range(num_nodes)}
    for a, b in edges:
        neighbors[a].append(b)
        neighbors[b].append(a)
    table = np.full((num_nodes, num_nodes), -1)
    for start in range(num_nodes):
        table[start, start] = 0
        queue = deque([start])
        while queue:
            node = queue.popleft()
            for other in neighbors[node]:
                if table[start, other] < 0:
                    table[start, other] = table[start, node] + 1
                    queue.append(other)
    return table


def heap_edges(num_nodes: int) -> list[tuple[int, int]]:
    return [((node - 1) // 2, node) for node in range(1, num_nodes)]


@given(st.integers(1, 40))
def test_chain_ring_and_tree_follow_the_graph(num_tasks):
    line = [(node, node + 1) for node in range(num_tasks - 1)]
    circle = [*line, (num_tasks - 1, 0)] if num_tasks > 2 else line
    np.testing.assert_allclose(chain(num_tasks, 0.5), 0.5 ** distances(num_tasks, line))
    np.testing.assert_allclose(ring(num_tasks, 0.5), 0.5 ** distances(num_tasks, circle))
    np.testing.assert_allclose(tree(num_tasks, 0.5), 0.5 ** distances(num_tasks, heap_edges(num_tasks)))


@given(st.integers(1, 40))
def test_leaves_are_the_leaves_of_the_tree_from_left_to_right(num_tasks):
    num_nodes = 2 * num_tasks - 1
    left_to_right = []
    stack = [0]
    while stack:
        node = stack.pop()
        children = [child for child in (2 * node + 2, 2 * node + 1) if child < num_nodes]
        stack.extend(children)
        if not children:
            left_to_right.append(node)
    table = distances(num_nodes, heap_edges(num_nodes))[np.ix_(left_to_right, left_to_right)]
    np.testing.assert_allclose(leaves(num_tasks, 0.5), 0.5**table)


@given(st.sampled_from([chain, ring, tree, leaves]), st.integers(1, 30), st.floats(0, 1))
def test_families_are_correlation_matrices(family, num_tasks, a):
    C = family(num_tasks, a)
    assert C.shape == (num_tasks, num_tasks)
    assert (C == C.T).all()
    assert (np.diagonal(C) == 1).all()
    assert np.linalg.eigvalsh(C)[0] > -1e-9


@pytest.mark.parametrize("family", [chain, ring, tree, leaves])
def test_bad_input_is_refused(family):
    with pytest.raises(ValueError, match="`num_tasks` must be a positive integer, got 0"):
        family(0, 0.5)
    with pytest.raises(ValueError, match=r"`a` must be a similarity in \[-1, 1\], got 1.5"):
        family(3, 1.5)
