"""Longest paths: our dynamic programming beside python-tsp's, and the local search beside its bound.

python benchmarks/paths.py            # about a minute; needs python-tsp, which `make bench` installs
python benchmarks/paths.py large      # only one section
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from common import header, save, seconds, show
from instances import chain, clusters, factor

from taskorder.ordering.path import extreme_path, path_bound, path_length


def free(size: int) -> np.ndarray:
    """No precedence."""
    return np.zeros((size, size), dtype=bool)


def baseline(weight: np.ndarray) -> float:
    """Length of the longest path by python-tsp: a city at distance 0 from all others turns the tour into a path."""
    from python_tsp.exact import solve_tsp_dynamic_programming

    size = len(weight)
    distance = np.zeros((size + 1, size + 1))
    distance[1:, 1:] = weight.max() - weight
    np.fill_diagonal(distance, 0.0)
    tour, _ = solve_tsp_dynamic_programming(distance)
    return path_length(weight, np.array(tour[1:]) - 1)


def exact() -> list[dict[str, Any]]:
    """The proven longest path: ours, and python-tsp's where that takes less than about a minute."""
    rows = []
    for size in (8, 10, 12, 14, 16, 18, 20):
        weight = 1 - factor(size, 0.3, size // 2 + 1)
        ours, (_, length, _) = seconds(lambda w=weight: extreme_path(w, free(len(w))))
        row: dict[str, Any] = {"P": size, "ours ms": 1e3 * ours, "table MiB": size * (2 ** (size - 1) + 72) / 2**17}
        if size <= 14:
            theirs, same = seconds(lambda w=weight: baseline(w), repeats=1)
            row |= {"python-tsp ms": 1e3 * theirs, "ratio": theirs / ours, "difference": abs(length - same)}
        rows.append(row)
    return rows


def large() -> list[dict[str, Any]]:
    """The local search and its distance to the bound: the optimum lies between."""
    rows = []
    for size in (50, 200, 1000):
        families = {
            "factor .3": factor(size, 0.3, size // 2 + 1),
            "chain .8": chain(size, 0.8),
            "clusters": clusters(size),
        }
        for name, similarity in families.items():
            weight = 1 - similarity
            for longest in (True, False):
                took, (_, length, _) = seconds(
                    lambda w=weight, up=longest: extreme_path(w, free(len(w)), longest=up), 1
                )
                bound = path_bound(weight, longest=longest)
                gap = abs(bound - length) / max(abs(length), 1e-12)
                rows.append(
                    {"P": size, "family": name, "path": "max" if longest else "min", "seconds": took, "length": length,
                     "bound": bound, "gap %": 100 * gap}
                )  # fmt: skip
    return rows


SECTIONS = {"exact": exact, "large": large}


def main() -> None:
    """Run the named sections, print their tables and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    chosen = parser.parse_args().sections or SECTIONS
    print(" · ".join(f"{key} {value}" for key, value in header().items()))
    for size in (5, 25):  # warm-up: compile or load every kernel
        extreme_path(1 - chain(size, 0.8), free(size))
    for name in chosen:
        rows = SECTIONS[name]()
        show(f"{name}: {SECTIONS[name].__doc__}", rows)
        save("paths", {name: rows})


if __name__ == "__main__":
    main()
