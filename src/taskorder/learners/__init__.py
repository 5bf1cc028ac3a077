"""Learners: what turns data into losses. One adapter a file; `protocol` says what a learner of your own must do.

>>> from taskorder import learners
>>> learners.SklearnLearner.__name__
'SklearnLearner'

Adapters load on first use, and with them the package they adapt.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taskorder.learners.black_box import CallableLearner, CommandLearner
    from taskorder.learners.huggingface import HuggingFaceLearner
    from taskorder.learners.huggingface_recipe import FineTuning
    from taskorder.learners.jax import JaxLearner
    from taskorder.learners.orders import LearnerError, learn_orders
    from taskorder.learners.protocol import Learner, Score, score
    from taskorder.learners.sklearn import SklearnLearner
    from taskorder.learners.strategy import KeptExamples, OwnStrategy
    from taskorder.learners.torch import TorchLearner
    from taskorder.strategies import EWC, Distill, L2Init, Replay

__all__ = [
    "EWC",
    "CallableLearner",
    "CommandLearner",
    "Distill",
    "FineTuning",
    "HuggingFaceLearner",
    "JaxLearner",
    "KeptExamples",
    "L2Init",
    "Learner",
    "LearnerError",
    "OwnStrategy",
    "Replay",
    "Score",
    "SklearnLearner",
    "TorchLearner",
    "learn_orders",
    "score",
]

_HOMES = {
    "black_box": ("CallableLearner", "CommandLearner"),
    "huggingface": ("HuggingFaceLearner",),
    "huggingface_recipe": ("FineTuning",),
    "jax": ("JaxLearner",),
    "orders": ("LearnerError", "learn_orders"),
    "protocol": ("Learner", "Score", "score"),
    "sklearn": ("SklearnLearner",),
    "strategy": ("KeptExamples", "OwnStrategy"),
    "torch": ("TorchLearner",),
}
_HOME = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names}
_HOME |= dict.fromkeys(("Distill", "EWC", "L2Init", "Replay"), "taskorder.strategies")


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_HOME[name]), name)
    except ModuleNotFoundError as problem:
        if problem.name != "jax":
            raise
        raise ValueError('The JAX engine is not installed. Install it with: pip install "taskorder[neural]".') from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
