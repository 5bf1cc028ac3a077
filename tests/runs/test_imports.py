"""No module of runs/ loads JAX, Ray or PyTorch when it is imported: they are loaded when something is run."""

import subprocess
import sys
from pathlib import Path

import taskorder.runs

MODULES = sorted(file.stem for file in Path(taskorder.runs.__file__).parent.glob("*.py") if file.stem != "__init__")


def test_runs_load_nothing_heavy():
    imports = ", ".join(f"taskorder.runs.{name}" for name in MODULES)
    code = f"import sys, {imports}; print(sorted({{'jax', 'ray', 'torch'}} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(MODULES) > 10
    assert done.stdout == "[]\n"
