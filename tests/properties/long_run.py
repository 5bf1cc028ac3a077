"""Try every property on many random cases and tally.

    PYTHONPATH=src nice -n 10 python -m tests.properties.long_run --cases 1000

A failure is printed once with the seed that shows it again; the exit code is 1 if there are any.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import test_audits, test_doors, test_planner, test_solver
from .cases import Rng

Property = Callable[[Rng], None]
COSTS = {"comparison_equals_solve": 4, "rules_between_best_and_worst": 4, "bounds_hold": 10, "one_question": 4}
"""A property that takes long gets so much fewer cases; those of the planner a tenth."""


def main() -> int:
    """The table of properties; 1 if one does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000, help="for each property (1000; a dear one gets a share)")
    parser.add_argument("--seed", type=int, default=0, help="the first one (0)")
    parser.add_argument("--only", default="", help="properties whose names have this in them")
    args = parser.parse_args()
    bad = 0
    sys.stdout.write(f"{'property':42} {'cases':>6} {'bad':>4} {'s':>6}\n")
    with test_doors.explorer() as client:
        for part, name, holds in properties(client):
            if args.only in f"{part}: {name}":
                cost = COSTS.get(name, 10 if part == "planner" else 1)
                bad += _tried(f"{part}: {name}", holds, max(1, args.cases // cost), args.seed)
    return 1 if bad else 0


def properties(client: Any) -> list[tuple[str, str, Property]]:
    """What each is about, its name, and what checks it. client: somebody who sends requests to an explorer."""
    every = {
        "solver": (*test_solver.PROPERTIES, test_solver.bounds_hold),
        "audits": test_audits.PROPERTIES,
        "planner": test_planner.PROPERTIES,
    }
    doors = ("doors", "one_question", partial(test_doors.one_question, client=client))
    return [doors, *((part, holds.__name__, holds) for part, several in every.items() for holds in several)]


def _tried(name: str, holds: Property, cases: int, first: int) -> int:
    failures: dict[str, list[int]] = {}
    start = time.monotonic()
    for seed in range(first, first + cases):
        try:
            holds(np.random.default_rng(seed))
        except Exception as problem:
            where = traceback.extract_tb(problem.__traceback__)[-1]
            failures.setdefault(f"{type(problem).__name__}: {problem} ({where.name}:{where.lineno})"[:300], []).append(
                seed
            )
    sys.stdout.write(f"{name:42} {cases:6} {sum(map(len, failures.values())):4} {time.monotonic() - start:6.0f}\n")
    for said, seeds in failures.items():
        sys.stdout.write(f"    {len(seeds)} x {said}, seed {seeds[0]}\n")
    sys.stdout.flush()
    return len(failures)


if __name__ == "__main__":
    sys.exit(main())
