"""The first solve on a machine compiles: in little memory, and to the answers of later ones, which read the cache."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOLVES = """
import json
from instances import factor
from ordering import peak_memory, proof_of
from taskorder import leaves, solve
large = solve(factor(1000, 0.3, 501), time_limit=None, retention=1)
peak = peak_memory()
search = solve(factor(70, 0.3, 36), time_limit=None, retention=1)
proof = proof_of(leaves(21, 0.8))
errors = [found.error.hex() for found in (large, search, proof)]
print(json.dumps([peak, errors, large.order, search.order, list(map(int, proof.order)), proof.nodes]))
"""
"""The last two tell apart copies of the kernels with other rounding."""


@pytest.mark.slow("compile")
def test_compiled_and_cached_kernels_round_alike_and_compiling_takes_little_memory(tmp_path):
    benchmarks = Path(__file__).parents[2] / "benchmarks"
    where = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    (compiling, *compiled), (_, *cached) = (
        json.loads(
            subprocess.run(
                [sys.executable, "-c", SOLVES], cwd=benchmarks, env=where, capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(2)
    )
    assert any(tmp_path.rglob("*.nbc"))
    assert compiled == cached
    assert compiling < 500  # megabytes, with 1,000 tasks


@pytest.mark.slow("compile")
def test_the_command_line_says_what_the_first_wait_is_for(tmp_path):
    def said(*argv, cache):
        where = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / cache), "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run([sys.executable, *argv], env=where, capture_output=True, text=True, check=True).stderr

    command = ("-m", "taskorder", "solve", "--demo", "--retention", "1")
    first = said(*command, cache="command")
    assert first.startswith("taskorder: compiling numerical kernels for this machine: about 20 s, once")
    assert first.count("\n") == 1
    assert said(*command, cache="command") == ""
    # a program that asked for no log gets none
    code = "import taskorder; taskorder.solve(taskorder.demo_similarity()[0], retention=1)"
    assert said("-c", code, cache="library") == ""
