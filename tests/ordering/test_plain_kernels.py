"""The kernels as plain Python, where a read past the end of an array is an error: the same proofs."""

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json
import numpy as np
from taskorder import random_correlation
from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import prove
from taskorder.ordering.problem import open_problem

found = []
for size in (5, 7, 8, 9, 15, 16, 17):  # rows of eight, and their neighbors
    for rank in (None, 2):
        C, every = random_correlation(size, seed=size), np.arange(size)
        output = None if rank is None else np.corrcoef(np.random.default_rng(size).standard_normal((size, rank)))
        free = np.zeros((size, size), bool)
        problem = open_problem(C, output, np.ones(size), every[:0], every, free)
        proof = prove(problem, every, Clock(600.0), max_nodes=150)
        found.append([proof.order.tolist(), proof.error, proof.bound, proof.nodes])
print(json.dumps(found))
"""


@pytest.mark.slow("compile")
def test_kernels_stay_within_their_arrays_and_mean_the_same_as_plain_python():
    compiled, plain = (
        json.loads(
            subprocess.run(
                [sys.executable, "-W", "ignore::RuntimeWarning", "-c", SCRIPT],
                env={**os.environ, "NUMBA_DISABLE_JIT": off},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for off in "01"
    )
    assert len(plain) == 14
    for ours, theirs in zip(compiled, plain, strict=True):
        assert ours[0] == theirs[0]
        assert ours[1:3] == pytest.approx(theirs[1:3], rel=1e-9)
        assert abs(ours[3] - theirs[3]) <= 0.1 * theirs[3]
    assert all(outcome[3] > 1 for outcome in plain)
