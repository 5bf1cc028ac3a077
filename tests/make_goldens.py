"""Write tests/goldens.json: every order of five small graphs by the paper's formula with its inverse.

Run it with `python tests/make_goldens.py`. The tests check its file with other code (tests/theory/test_goldens.py).
"""

import json
from itertools import permutations
from pathlib import Path

import numpy as np

from taskorder.theory import graphs
from taskorder.theory.closed_form import closed_form_error

CASES = {
    "chain-5": ("chain", 5, 0.7),
    "ring-5": ("ring", 5, 0.7),
    "tree-7": ("tree", 7, 0.7),
    "leaves-4": ("leaves", 4, 0.7),
    "leaves-8": ("leaves", 8, 0.7),
}
TIE = 1e-9


def golden(family: str, num_tasks: int, a: float) -> dict[str, object]:
    similarity = getattr(graphs, family)(num_tasks, a)
    orders = ["".join(order) for order in permutations("ABCDEFGH"[:num_tasks])]
    errors = np.array([closed_form_error(similarity, [ord(task) - ord("A") for task in order]) for order in orders])
    return {
        "family": family,
        "num_tasks": num_tasks,
        "a": a,
        "best": errors.min(),
        "worst": errors.max(),
        "mean": errors.mean(),
        "std": errors.std(),
        "optimal_orders": [order for order, error in zip(orders, errors, strict=True) if error < errors.min() + TIE],
        "worst_orders": [order for order, error in zip(orders, errors, strict=True) if error > errors.max() - TIE],
    }


if __name__ == "__main__":
    goldens = {name: golden(*case) for name, case in CASES.items()}
    Path(__file__).with_name("goldens.json").write_text(json.dumps(goldens, indent=1) + "\n")
