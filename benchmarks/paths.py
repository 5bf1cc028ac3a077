"""Longest paths: our dynamic programming beside python-tsp's, and the local search beside its bound.

python benchmarks/paths.py            # about a minute
python benchmarks/paths.py --json     # the same as JSON on stdout
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from common import header, save, seconds, show
from instances import chain, clusters, factor

from taskorder.ordering import _path
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


def exact(sizes: tuple[int, ...], baseline_limit: int) -> list[dict[str, Any]]:
    """Time of the proven longest path; the baseline where it takes less than about a minute."""
    rows = []
    for size in sizes:
        weight = 1 - factor(size, 0.3, size // 2 + 1)
        ours, (_, length, _) = seconds(lambda w=weight: extreme_path(w, free(len(w))))
        row: dict[str, Any] = {"P": size, "ours ms": 1e3 * ours, "table MiB": size * (2 ** (size - 1) + 72) / 2**17}
        if size <= baseline_limit:
            theirs, same = seconds(lambda w=weight: baseline(w), repeats=1)
            row |= {"python-tsp ms": 1e3 * theirs, "ratio": theirs / ours, "difference": abs(length - same)}
        rows.append(row)
    return rows


def large(sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Time of the local search and its distance to the bound (the optimum lies between)."""
    rows = []
    for size in sizes:
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


def main() -> None:
    """Run both sections and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--save", action="store_true", help="keep the results under benchmarks/results")
    chosen = parser.parse_args()
    start = time.perf_counter()
    for size in (5, 25):
        extreme_path(1 - chain(size, 0.8), free(size))
    compile_seconds = time.perf_counter() - start
    kernels = (_path.subset_table, _path.degree_bound, _path.nearest_first, _path.kick_and_settle)
    cached = all(not kernel.stats.cache_misses for kernel in kernels)
    results = {
        "exact": exact((8, 10, 12) if chosen.quick else (8, 10, 12, 14, 16, 18, 20), 10 if chosen.quick else 14),
        "large": large((50,) if chosen.quick else (50, 200, 1000)),
    }
    if chosen.json:
        print(
            json.dumps({"machine": header(), "warm-up s": compile_seconds, "from cache": cached, **results}, indent=1)
        )
    else:
        print(header())
        print(f"warm-up (compile, or load from cache: {cached}): {compile_seconds:.2f} s, not counted below")
        show("Longest path, proven: ours and python-tsp (dummy city)", results["exact"])
        show("Local search: the optimum lies between length and bound", results["large"])
    if chosen.save:
        save("paths", results)


if __name__ == "__main__":
    main()
