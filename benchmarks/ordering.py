"""Finding the best order: taskorder beside the paper's way (the matrix formula for every permutation).

python benchmarks/ordering.py                 # all sections but the two of sizes
python benchmarks/ordering.py sizes           # how many tasks can be proven in 1 s (about five minutes)
python benchmarks/ordering.py sizes60         # seconds that a proof takes at larger sizes, at most 60
python benchmarks/ordering.py listing moves   # only some sections
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import RESULTS, header, save, seconds, show
from instances import chain, clusters, factor, leaves, plane, ring, tree

from taskorder import solve
from taskorder.ordering import rules
from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import prove
from taskorder.ordering.listing import all_errors
from taskorder.ordering.optimum import MAX_UNCOMPILED, minimize
from taskorder.ordering.problem import Problem, open_problem

BEST_KNOWN = Path(__file__).parent / "best_known.json"


def baseline(similarity: np.ndarray) -> float:
    """The paper's way: permute both matrices, invert I + U, take the trace, for every permutation."""
    size = len(similarity)
    output = np.ones((size, size))
    best = math.inf
    for order in itertools.permutations(range(size)):
        inputs = similarity[np.ix_(order, order)]
        outputs = output[np.ix_(order, order)]
        rest = np.eye(size) - np.linalg.inv(np.eye(size) + np.triu(inputs, 1)) @ inputs
        best = min(best, float(np.trace(rest.T @ outputs @ rest)))
    return best


def problem_of(similarity: np.ndarray, output: np.ndarray | None = None) -> Problem:
    """The open problem without constraints."""
    n = len(similarity)
    empty = np.zeros((n, n), bool)
    return open_problem(similarity, output, np.ones(n), np.arange(0), np.arange(n), empty)


def proof_of(similarity: np.ndarray, limit: float = 600.0, output: np.ndarray | None = None):
    """A proven optimum as `solve` finds it: search, then branch and bound."""
    problem = problem_of(similarity, output)
    if problem.size <= MAX_UNCOMPILED:  # solve lists these; here the proof is measured
        return prove(problem, rules.ascending(similarity.sum(axis=0), problem.precedes), Clock(limit))
    return minimize(problem, seed=0, clock=Clock(limit))


def listing() -> list[dict]:
    """All orders: the kernel that shares prefixes against the matrix formula."""
    rows = []
    for size in (5, 7, 8, 9):
        matrix = factor(size, 0.3, 4 * size)
        problem = problem_of(matrix)
        ours, errors = seconds(lambda problem=problem: all_errors(problem), 20)
        theirs, best = seconds(lambda matrix=matrix: baseline(matrix), 1 if size > 7 else 3)
        assert abs(errors.min() - best) < 1e-9
        count = math.factorial(size)
        rows.append({"P": size, "orders": count, "ours ms": 1e3 * ours, "ns/order": 1e9 * ours / count,
                     "paper's way s": theirs, "ratio": theirs / ours})  # fmt: skip
    return rows


def proof() -> list[dict]:
    """Proven optimum against the paper's way, on fewer tasks where every permutation would take too long."""
    rows = []
    base = {size: seconds(lambda size=size: baseline(factor(size, 0.3, 4 * size)), 1)[0] for size in (7, 8)}
    cases = [("factor .3", factor(8, 0.3, 32), 8), ("chain .5", chain(8, 0.5), 8),
             ("factor .3", factor(20, 0.3, 80), 7), ("factor .3", factor(26, 0.3, 104), 8)]  # fmt: skip
    for name, matrix, size in cases:
        ours, proof = seconds(lambda matrix=matrix: proof_of(matrix), 5)
        rows.append({"matrix": name, "P": len(matrix), "ours ms": 1e3 * ours, "nodes": proof.nodes,
                     "proven": proof.complete,
                     "paper's way at": f"P = {size}", "s": base[size], "ratio": base[size] / ours})  # fmt: skip
    return rows


def moves() -> list[dict]:
    """Pricing one insertion against one full evaluation by the recursion (both compiled)."""
    from taskorder.ordering.kernels.insertion import price
    from taskorder.ordering.kernels.steps import order_error
    from taskorder.ordering.order_state import state

    rows = []
    for size in (50, 200, 1000):
        problem = problem_of(factor(size, 0.3, size // 2 + 1))
        order = np.random.default_rng(0).permutation(size)
        now = state(problem, order)
        cost, scratch = np.empty(size), [np.empty(size), np.empty(1), np.empty(1)]

        def every_position(problem=problem, now=now, cost=cost, scratch=scratch, size=size) -> None:
            for task in range(size):
                price(task, now.error, now.order, now.pos, now.v, now.f, problem.C, now.A, now.Phi, problem.precedes,
                      cost, *scratch)  # fmt: skip

        def evaluate(problem=problem, order=order) -> None:
            for _ in range(20):
                order_error(problem.e, problem.r.copy(), problem.h.copy(), problem.C, problem.G, order)

        candidate = seconds(every_position, 5)[0] / size**2
        evaluation = seconds(evaluate, 5)[0] / 20
        rows.append({"P": size, "ns/candidate": 1e9 * candidate, "full evaluation us": 1e6 * evaluation,
                     "ratio": evaluation / candidate})  # fmt: skip
    return rows


FAMILIES = {
    "chain .8": lambda P, s: chain(P, 0.8),
    "chain .5": lambda P, s: chain(P, 0.5),
    "ring .8": lambda P, s: ring(P, 0.8),
    "ring .6": lambda P, s: ring(P, 0.6),
    "tree .6": lambda P, s: tree(P, 0.6),
    "leaves .8": lambda P, s: leaves(P, 0.8),
    "general Co, rank P": lambda P, s: (factor(P, 0.3, 4 * P, s), factor(P, 0.6, 4 * P, s + 1)),
    "general Co, rank 2": lambda P, s: (factor(P, 0.3, 4 * P, s), plane(P, s)),
    "factor .1 k=4P": lambda P, s: factor(P, 0.1, 4 * P, s),
    "factor .3 k=4P": lambda P, s: factor(P, 0.3, 4 * P, s),
    "factor .6 k=4P": lambda P, s: factor(P, 0.6, 4 * P, s),
    "clusters": lambda P, s: clusters(P, s),
    "factor .1 k=P/2+1": lambda P, s: factor(P, 0.1, P // 2 + 1, s),
    "factor .3 k=P/2+1": lambda P, s: factor(P, 0.3, P // 2 + 1, s),
    "factor .6 k=P/2+1": lambda P, s: factor(P, 0.6, P // 2 + 1, s),
}
FIRST_SIZES = {
    "factor .1 k=P/2+1": 20, "factor .3 k=P/2+1": 26, "factor .6 k=P/2+1": 20, "factor .1 k=4P": 16,
    "factor .3 k=4P": 22, "chain .8": 24, "chain .5": 12, "ring .8": 18, "ring .6": 14, "tree .6": 20, "leaves .8": 13,
    "clusters": 20, "general Co, rank P": 11,
}  # fmt: skip
"""Where `sizes` starts to look for the largest P; 12 for the other families."""
SIZES60 = {
    "factor .1 k=P/2+1": 26, "factor .3 k=P/2+1": 32, "factor .6 k=P/2+1": 24, "factor .1 k=4P": 18,
    "factor .3 k=4P": 22, "chain .8": 26, "chain .5": 14, "ring .8": 24, "ring .6": 17, "tree .6": 24, "leaves .8": 15,
    "clusters": 20, "general Co, rank P": 12,
}  # fmt: skip
"""Sizes of `sizes60`, by family."""


def sizes() -> list[dict]:
    """Largest P that is proven within 1 s, for three seeds."""
    rows: list[dict] = []
    for name, make in FAMILIES.items():
        start = FIRST_SIZES.get(name, 12)
        took = proven_within(make, start, 1.0, 3)
        if took is None:  # somewhere between what is proven and what is not
            size, took, beyond = 8, 0.0, start
            while beyond - size > 1:
                middle = (size + beyond) // 2
                more = proven_within(make, middle, 1.0, 3)
                size, took, beyond = (size, took, middle) if more is None else (middle, more, beyond)
        else:
            size, more = start, took
            while more is not None:
                more = proven_within(make, size + 1, 1.0, 3)
                size, took = (size, took) if more is None else (size + 1, more)
        row = {"matrix": name, "P": size, "slowest seed s": took}
        rows.append(row)
        show(f"(so far) {name}", [row])
    return rows


def sizes60() -> list[dict]:
    """Seconds that a proof takes at the sizes SIZES60, for each of three seeds; at most 60."""
    rows: list[dict] = []
    for name, size in SIZES60.items():
        row: dict = {"matrix": name, "P": size}
        for seed in range(3 if "factor" in name or name[:2] in ("cl", "si", "ge") else 1):  # graphs are not random
            took = proven_within(lambda P, _, s=seed, make=FAMILIES[name]: make(P, s), size, 60.0, 1)
            row[f"seed {seed}"] = "not proven" if took is None else took
        rows.append(row)
        save("ordering", {"sizes60": rows})
        show(f"(so far) {name}", [row])
    return rows


def proven_within(make, size: int, limit: float, num_seeds: int) -> float | None:
    """Seconds of the slowest seed, or None when one is not proven within the limit."""
    slowest = 0.0
    for seed in range(num_seeds):
        made = make(size, seed)
        matrix, output = made if isinstance(made, tuple) else (made, None)
        start = time.perf_counter()
        proof = proof_of(matrix, limit, output)
        slowest = max(slowest, time.perf_counter() - start)
        if not proof.complete or slowest > limit:
            return None
    return slowest


LARGE = {
    "factor m=.3 k=P/2+1": lambda P: factor(P, 0.3, P // 2 + 1),
    "factor m=.6 k=P/2+1": lambda P: factor(P, 0.6, P // 2 + 1),
    "factor m=.3 k=4P": lambda P: factor(P, 0.3, 4 * P),
    "factor m=.6 k=4P": lambda P: factor(P, 0.6, 4 * P),
    "chain .8": lambda P: chain(P, 0.8),
    "clusters": lambda P: clusters(P),
}


def large(sizes_: tuple[int, ...] = (50, 200, 1000), limits: tuple[float, ...] = (1.0, 10.0)) -> list[dict]:
    """Error relative to the best known value; a better one found here is written back."""
    known = json.loads(BEST_KNOWN.read_text()) if BEST_KNOWN.exists() else {}
    rows = []
    for name, make in LARGE.items():
        for size in sizes_:
            matrix, key = make(size), f"{name} P={size}"
            plans = [solve(matrix, time_limit=limit, retention=1) for limit in limits]
            known[key] = min([known.get(key, math.inf), *(plan.error for plan in plans)])
            rng = np.random.default_rng(0)
            orders = np.array([rng.permutation(size) for _ in range(30)])
            row = {"matrix": name, "P": size, "best known": known[key]}
            row["random mean"] = float(problem_of(matrix).errors(orders).mean()) / known[key]
            for rule in ("periphery-to-core", "max-path"):
                row[rule] = solve(matrix, rule, retention=1).error / known[key]
            for limit, plan in zip(limits, plans, strict=True):
                row[f"{limit:g} s"] = plan.error / known[key]
            row["bound/best"] = plans[-1].bound / known[key]
            rows.append(row)
    BEST_KNOWN.write_text(json.dumps(known, indent=1) + "\n")
    return rows


def peak_memory() -> float:
    """Megabytes; on Linux not ru_maxrss, which starts from the size of the parent process."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(fields["VmHWM"].split()[0]) / 1024


GROWTH = """
import sys, time, json
sys.path.insert(0, "benchmarks")
from instances import factor
from ordering import peak_memory, problem_of
from taskorder import solve
from taskorder.ordering.clock import Clock
from taskorder.machine import one_blas_thread
from taskorder.ordering.search import search
size = int(sys.argv[1])
matrix = factor(size, 0.3, 4 * size)
solve(factor(12, 0.3, 48), retention=1)
problem = problem_of(matrix)
with one_blas_thread():
    start = time.perf_counter()
    order = search(problem, seed=0, clock=Clock(1e9), effort=1e-9)
    first = time.perf_counter() - start
plan = solve(matrix, time_limit=10.0, retention=1)
print(json.dumps([first, problem.error(order) / plan.error, plan.seconds, plan.proven, peak_memory()]))
"""


def growth() -> list[dict]:
    """By P, each in a process of its own: the first descended order, then solve for at most 10 s (factor .3 k=4P)."""
    rows = []
    for size in (10, 14, 18, 22, 26, 30, 50, 100, 200, 500, 1000):
        command = [sys.executable, "-c", GROWTH, str(size)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
        first, ratio, took, proven, memory = json.loads(done.stdout)
        rows.append({"P": size, "first order s": first, "its error / final": ratio, "solve s": took,
                     "proven": proven, "peak MB": memory})  # fmt: skip
    return rows


def compilation() -> list[dict]:
    """Seconds of a first solve with an empty and a full cache of kernels, and the peak memory of the process."""
    rows = [{"cache": "empty"}, {"cache": "full"}]
    for matrices, *names in (
        ("chain(12, 0.8), clusters(20, 2)", "chain of 12 tasks s", "then clusters of 20 tasks s", "peak MB"),
        ("factor(1000, 0.3, 501),", "1000 tasks s", "1000 tasks MB"),
    ):
        code = (
            "from time import perf_counter as now; from taskorder import solve, chain\n"
            "from instances import clusters, factor; from ordering import peak_memory\n"
            f"for matrix in {matrices}: start = now(); solve(matrix, retention=1); print(now() - start)\n"
            "print(peak_memory())"
        )
        with tempfile.TemporaryDirectory() as cache:
            for row in rows:
                done = subprocess.run(
                    [sys.executable, "-c", code], capture_output=True, text=True, check=True,
                    cwd=Path(__file__).parent, env={**os.environ, "NUMBA_CACHE_DIR": cache},
                )  # fmt: skip
                row |= zip(names, map(float, done.stdout.split()), strict=True)
    return rows


SECTIONS = {"listing": listing, "proof": proof, "moves": moves, "large": large, "growth": growth,
            "compilation": compilation, "sizes": sizes, "sizes60": sizes60}  # fmt: skip


def main() -> None:
    """Run the named sections, print their tables and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    chosen = parser.parse_args().sections or [name for name in SECTIONS if not name.startswith("sizes")]
    print(" · ".join(f"{key} {value}" for key, value in header().items()))
    proof_of(chain(12, 0.8))  # warm-up: compile or load every kernel
    proof_of(chain(10, 0.5), output=factor(10, 0.6, 40))
    all_errors(problem_of(chain(5, 0.5)))
    for name in chosen:
        rows = SECTIONS[name]()
        show(f"{name}: {SECTIONS[name].__doc__}", rows)
        save("ordering", {name: rows})
    print(f"\npeak memory of this process {peak_memory():.0f} MB; results in {RESULTS.name}/ordering.json")


if __name__ == "__main__":
    main()
