"""The goldens came from the matrix formula; here the recursion, listing and plain Python confirm them."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest

from taskorder.theory import graphs
from taskorder.theory.random_orders import listed_errors

CASES = ["chain-5", "ring-5", "tree-7", "leaves-4", "leaves-8"]


def plain_error(C: list[list[float]], order: str) -> float:
    residual = [1.0] * len(C)
    for task in order:
        j = ord(task) - ord("A")
        seen = residual[j]
        residual = [r - seen * c for r, c in zip(residual, C[j], strict=True)]
    return sum(r * r for r in residual)


@pytest.mark.parametrize("name", CASES)
def test_golden(goldens, name):
    golden = goldens[name]
    num_tasks = golden["num_tasks"]
    C = getattr(graphs, golden["family"])(num_tasks, golden["a"])
    errors = listed_errors(C, np.ones((1, num_tasks)), np.ones(num_tasks))
    orders = np.array(["".join(order) for order in permutations("ABCDEFGH"[:num_tasks])])
    assert len(errors) == factorial(num_tasks)
    assert errors.min() == pytest.approx(golden["best"], rel=1e-10)
    assert errors.max() == pytest.approx(golden["worst"], rel=1e-10)
    assert errors.mean() == pytest.approx(golden["mean"], rel=1e-10)
    assert errors.std() == pytest.approx(golden["std"], rel=1e-9)
    assert orders[errors < golden["best"] + 1e-9].tolist() == golden["optimal_orders"]
    assert orders[errors > golden["worst"] - 1e-9].tolist() == golden["worst_orders"]
    for order in golden["optimal_orders"]:
        assert plain_error(C.tolist(), order) == pytest.approx(golden["best"], rel=1e-10)


def test_the_chain_of_the_paper(goldens):
    assert goldens["chain-5"]["optimal_orders"] == ["AECDB", "EACBD"]
    assert goldens["chain-5"]["worst_orders"] == ["ABCDE", "EDCBA"]
