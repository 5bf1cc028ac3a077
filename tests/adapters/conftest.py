"""What the tests with real frameworks share."""

import sys
import warnings

import pytest


@pytest.fixture(scope="session")
def torchvision():
    """torchvision, which looks for two operators at import that it cannot load beside a CPU torch."""
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return pytest.importorskip("torchvision")
        except RuntimeError:
            library = torch.library.Library("torchvision", "DEF")
            for name in ("nms", "qnms"):
                library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
                del sys.modules[name]  # half imported
            return pytest.importorskip("torchvision")
