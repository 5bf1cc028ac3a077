"""torchvision beside a CPU build of PyTorch: Avalanche and Continuum need it, but not its compiled operators."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

KEPT: list[Any] = []
"""A library of PyTorch takes its operators along when it goes."""


def import_torchvision() -> Any:
    """The module, which looks for two operators at import that it cannot load beside a CPU build."""
    import torch

    try:
        return import_module("torchvision")
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        KEPT.append(library)
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]  # half imported
        return import_module("torchvision")
