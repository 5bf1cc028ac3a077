"""The first solve on a machine, which compiles, and later ones, which read the cache, give the same answers."""

import os
import subprocess
import sys
from pathlib import Path

SOLVES = """
from instances import factor
from ordering import proof_of
from taskorder import leaves, solve
search = solve(factor(70, 0.3, 36), time_limit=None)
proof = proof_of(leaves(21, 0.8))
print(search.order, search.error.hex(), proof.order, proof.error.hex(), proof.nodes)
"""
"""Two that copies of the kernels with other rounding tell apart."""


def test_compiled_and_cached_kernels_round_alike(tmp_path):
    benchmarks = Path(__file__).parents[2] / "benchmarks"
    where = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    compiled, cached = (
        subprocess.run(
            [sys.executable, "-c", SOLVES], cwd=benchmarks, env=where, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    )
    assert any(tmp_path.rglob("*.nbc"))
    assert compiled == cached != ""
