"""Compile the numba kernels of a fresh clone, in two processes that hardly share any; `make test` runs this first.

python tests/compile_kernels.py
"""

import subprocess
import sys

START = """
import numpy as np
from taskorder import compare, solve
def table(size, mean=0.5):
    return np.corrcoef(np.random.default_rng(0).normal(size=(size, size)) + mean * np.arange(size))
"""
PARTS = (
    # proofs by listing, by meeting in the middle and by branch and bound, with one and with several output dimensions
    START + "for size in (7, 9, 12): solve(table(size), retention=1); solve(table(size), 'worst', retention=1)\n"
    "for size in (7, 9): solve(table(size), output=table(size), retention=1)\n"
    "solve(table(6), visits=8)",
    # searches, and the rules that follow paths
    START + "for size in (9, 23, 70): compare(table(size), time_limit=1, retention=1)",
)

if __name__ == "__main__":
    processes = [subprocess.Popen([sys.executable, "-c", part]) for part in PARTS]
    codes = [process.wait() for process in processes]
    sys.exit(any(codes))
