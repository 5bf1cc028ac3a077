"""The tree of prefixes: every distinct prefix once, parents before children."""

import itertools

import pytest

from taskorder.prefixes import PrefixTree


@pytest.mark.parametrize(
    "orders", [[], [()], [(0,)], [(0, 1, 0), (0, 1), (1, 0)], list(itertools.permutations(range(4)))]
)
def test_every_prefix_is_there_once(orders):
    tree = PrefixTree(orders)
    prefixes = {order[:length] for order in orders for length in range(len(order) + 1)} | {()}
    assert set(tree.rows) == set(tree.children) == prefixes
    assert len(tree) == len(prefixes) - 1
    children = [child for grown in tree.children.values() for child in grown]
    assert len(children) == len(set(children)) == len(tree)
    assert all(child[:-1] == parent for parent, grown in tree.children.items() for child in grown)


def test_rows_name_the_first_order_and_list_parents_first():
    orders = [(2, 0, 1), (2, 1), (0, 2), (2, 0)]
    tree = PrefixTree(orders)
    assert all(orders[row][: len(prefix)] == prefix for prefix, row in tree.rows.items())
    assert tree.rows[(2, 1)] == 1
    assert list(tree.rows) == sorted(tree.rows, key=lambda prefix: (tree.rows[prefix], len(prefix)))


def test_five_tasks_have_325_prefixes():
    assert len(PrefixTree(itertools.permutations(range(5)))) == 325


def test_long_orders():
    assert len(PrefixTree([range(3000)])) == 3000
