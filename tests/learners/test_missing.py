"""Without an optional package, what needs it says how to get it, and all else works."""

import subprocess
import sys

import pytest

CODE = """
import sys
sys.modules[{package!r}] = None
from taskorder import learners
import taskorder.planning.pilot
learners.SklearnLearner, learners.CommandLearner
try:
    learners.{name}({arguments})
except ValueError as problem:
    print(problem)
"""


@pytest.mark.parametrize(
    ("package", "name", "message"),
    [
        ("torch", "TorchLearner", "`TorchLearner` must have PyTorch, got no such package."),
        ("torch", "HuggingFaceLearner", "`HuggingFaceLearner` must have PyTorch, got no such package."),
        ("transformers", "HuggingFaceLearner", "`HuggingFaceLearner` must have transformers, got no such package."),
        ("jax", "JaxLearner", "The JAX engine is not installed."),
    ],
)
def test_a_missing_package_is_named(package, name, message):
    if package == "transformers":
        pytest.importorskip("torch")
    code = CODE.format(package=package, name=name, arguments="None, None" if name[0] == "H" else "None")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    extra = "hf" if name[0] == "H" else {"torch": "torch", "jax": "neural"}[package]
    assert done.stdout == f'{message} Install it with: pip install "taskorder[{extra}]".\n'


def test_learners_load_no_package_before_they_are_used():
    packages = {"jax", "torch", "sklearn", "transformers"}
    code = f"import sys, taskorder.learners, taskorder.planning; print({packages} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
