"""What the tests with real frameworks share."""

import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="session")
def torchvision():
    """torchvision, also beside a CPU build of PyTorch."""
    pytest.importorskip("torch")
    if find_spec("torchvision") is None:
        pytest.importorskip("torchvision")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.syspath_prepend(str(BENCHMARKS))
        from cpu_torchvision import import_torchvision

        return import_torchvision()
