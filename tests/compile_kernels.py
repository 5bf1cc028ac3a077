"""Compile the numba kernels of a fresh clone, in two processes that hardly share any; `make test` runs this first.

python tests/compile_kernels.py
"""

import subprocess
import sys

TABLE = """
import numpy as np
import taskorder
x = np.random.default_rng(0).normal(size=({0}, {0})) + 0.5
table = np.corrcoef(x)
"""
PARTS = (
    # proofs: branch and bound, meeting in the middle, repeated visits
    TABLE.format(10) + "for options in ({}, {'rule': 'worst'}, {'visits': 11}): taskorder.solve(table, **options)",
    # searches of large tables, and the rules that follow paths
    TABLE.format(70) + "taskorder.compare(table, time_limit=0.1)",
)

if __name__ == "__main__":
    processes = [subprocess.Popen([sys.executable, "-c", part]) for part in PARTS]
    sys.exit(max(process.wait() for process in processes))
