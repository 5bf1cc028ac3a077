"""The tree of the prefixes of orders: what two orders share at their start has to be learned only once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Prefix = tuple[int, ...]
"""The first tasks of an order, in the order of learning."""


class PrefixTree:
    """The distinct prefixes of some orders; every prefix but the empty one grows from the one that is a task shorter.

    The length is the number of prefixes that have to be learned, so the empty one does not count.

    >>> tree = PrefixTree([(0, 1, 2), (0, 2)])
    >>> len(tree), tree.children[(0,)]
    (4, [(0, 1), (0, 2)])
    >>> tree.rows
    {(): 0, (0,): 0, (0, 1): 0, (0, 1, 2): 0, (0, 2): 1}
    """

    def __init__(self, orders: Iterable[Sequence[int]]) -> None:
        self.children: dict[Prefix, list[Prefix]] = {(): []}
        """The prefixes that are one task longer, in the order of their first appearance."""
        self.rows: dict[Prefix, int] = {(): 0}
        """Every prefix, parents first, with the number of the first order that begins with it."""
        for row, order in enumerate(orders):
            parent: Prefix = ()
            for length in range(1, len(order) + 1):
                prefix = tuple(order[:length])
                if prefix not in self.rows:
                    self.rows[prefix], self.children[prefix] = row, []
                    self.children[parent].append(prefix)
                parent = prefix

    def __len__(self) -> int:
        return len(self.rows) - 1
