"""The best order under the law of retention: how many tasks are proven, how fast, and the gap where none is.

python benchmarks/law.py                  # proofs, first answer, gaps (about ten minutes)
python benchmarks/law.py proofs           # only some sections
python benchmarks/law.py known --seconds 600   # best known orders: ten seeds for so many seconds each, kept
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from common import header, save, show

from taskorder import solve
from taskorder.ordering.law_search import spread_over_orders
from taskorder.ordering.solver_input import solver_input

SEEDS = 3
BEST_KNOWN = Path(__file__).parent / "best_known_law.json"
GAPS = {12: (0.7, 0.9), 20: (0.7, 0.9), 200: (0.5, 0.7)}
"""Retentions above those of the proofs, by number of tasks."""


def effects(num_tasks: int, seed: int) -> np.ndarray:
    """Tasks that teach more and tasks that are learned more easily, and noise: like measured tables."""
    rng = np.random.default_rng(seed)
    teach, learn = rng.normal(0, 0.12, (num_tasks, 1)), rng.normal(0, 0.08, (1, num_tasks))
    return _table(0.35 + teach + learn + rng.normal(0, 0.12, (num_tasks, num_tasks)), rng)


def uniform(num_tasks: int, seed: int) -> np.ndarray:
    """Entries uniform in [0, 1]: with many tasks all row sums are nearly the same."""
    rng = np.random.default_rng(seed)
    return _table(rng.random((num_tasks, num_tasks)), rng)


def factors(num_tasks: int, seed: int) -> np.ndarray:
    """What a task teaches and what another one needs, as positive combinations of eight skills."""
    rng = np.random.default_rng(seed)
    teach = np.abs(rng.normal(size=(num_tasks, 8)))
    need = teach + 0.5 * np.abs(rng.normal(size=(num_tasks, 8)))
    cosine = (teach / np.linalg.norm(teach, axis=1)[:, None]) @ (need / np.linalg.norm(need, axis=1)[:, None]).T
    return _table(cosine**3, rng)


def groups(num_tasks: int, seed: int) -> np.ndarray:
    """Groups of about ten tasks that teach each other 0.7 and others 0.2, with noise."""
    rng = np.random.default_rng(seed)
    label = rng.integers(max(2, num_tasks // 10), size=num_tasks)
    inside = label[:, None] == label
    return _table(np.where(inside, 0.7, 0.2) + rng.normal(0, 0.1, inside.shape), rng)


def signed(num_tasks: int, seed: int) -> np.ndarray:
    """A third of all transfer is negative."""
    rng = np.random.default_rng(seed)
    return _table(0.1 + rng.normal(0, 0.25, (num_tasks, num_tasks)), rng, low=-0.5)


FAMILIES = {"effects": effects, "uniform": uniform, "factors": factors, "groups": groups, "signed": signed}


def _table(values: np.ndarray, rng: np.random.Generator, low: float = 0.0) -> np.ndarray:
    """Within [low, 1], with 0.8 to 1 on the diagonal."""
    table = np.clip(values, low, 1)
    np.fill_diagonal(table, rng.uniform(0.8, 1, len(table)))
    return table


def proofs() -> list[dict]:
    """Seconds until proven to 1e-9 of the spread over random orders; the slowest of the seeds."""
    rows = []
    for size, retentions, limit in ((20, (0.13, 0.3, 0.5), 10.0), (200, (0.13, 0.3), 10.0), (2000, (0.13,), 60.0)):
        for name, family in FAMILIES.items():
            row: dict = {"tables": name, "P": size}
            for retention in retentions:
                plans = [solve(family(size, seed), retention=retention, time_limit=limit) for seed in range(SEEDS)]
                slowest = max(plan.seconds for plan in plans)
                proven = sum(plan.proven for plan in plans)
                row[f"d = {retention:g}"] = f"{slowest:.2f} s" + ("" if proven == SEEDS else f" ({proven}/{SEEDS})")
            rows.append(row)
    return rows


def first_answer() -> list[dict]:
    """Seconds from the start of Python to a proven plan of 200 tasks, with nothing compiled or cached."""
    code = (
        "import time, sys; start = time.perf_counter()\n"
        "from law import effects; from taskorder import solve\n"
        "table = effects(200, 0); begun = time.perf_counter(); plan = solve(table, retention=0.3)\n"
        "print(time.perf_counter() - begun, time.perf_counter() - start, plan.proven, 'numba' in sys.modules)"
    )
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=True,
            env={"PATH": "", "PYTHONPATH": ":".join(sys.path), "NUMBA_CACHE_DIR": empty},
        )  # fmt: skip
    solving, whole, proven, compiled = done.stdout.split()
    return [{"solve s": float(solving), "with imports s": float(whole), "proven": proven, "numba imported": compiled}]


def gaps() -> list[dict]:
    """Where no proof is in reach: after 10 s the gap to the bound and to the best known, over the spread of orders."""
    known = json.loads(BEST_KNOWN.read_text()) if BEST_KNOWN.exists() else {}
    rows = []
    for size, retentions in GAPS.items():
        for name, family in FAMILIES.items():
            for retention in retentions:
                table = family(size, 0)
                plan = solve(table, retention=retention, time_limit=10.0)
                spread = spread_over_orders(solver_input(table, retention=retention).law_problem(), 0)
                best = known.get(f"{name} {size} {retention:g}")
                rows.append(
                    {
                        "tables": name,
                        "P": size,
                        "d": retention,
                        "score": plan.score,
                        "gap / spread": 0.0 if plan.proven else "no bound" if plan.bound is None
                        else (plan.bound - plan.score) / spread,
                        "below best known / spread": "" if best is None else max(0.0, best - plan.score) / spread,
                    }
                )  # fmt: skip
    return rows


def known(seconds: float) -> list[dict]:
    """The best of ten seeds, kept if it is better than what is kept."""
    kept = json.loads(BEST_KNOWN.read_text()) if BEST_KNOWN.exists() else {}
    rows = []
    for size, retentions in GAPS.items():
        for name, family in FAMILIES.items():
            for retention in retentions:
                key = f"{name} {size} {retention:g}"
                scores = [
                    solve(family(size, 0), retention=retention, seed=seed, time_limit=seconds).score or 0.0
                    for seed in range(10)
                ]
                kept[key] = max(kept.get(key, -np.inf), *scores)
                BEST_KNOWN.write_text(json.dumps(kept, indent=1) + "\n")
                rows.append({"table": key, "best": max(scores), "worst of ten": min(scores)})
    return rows


def main() -> None:
    """Run the sections that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sections = {"proofs": proofs, "first_answer": first_answer, "gaps": gaps}
    parser.add_argument("sections", nargs="*", default=list(sections), choices=[*sections, "known"])
    parser.add_argument("--seconds", type=float, default=600.0, help="for each seed of `known`")
    args = parser.parse_args()
    print(header())
    for section in args.sections:
        rows = known(args.seconds) if section == "known" else sections[section]()
        show(section, rows)
        save("law", {section: rows})


if __name__ == "__main__":
    main()
