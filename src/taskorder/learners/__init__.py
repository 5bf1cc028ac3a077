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
    from taskorder.learners.jax import JaxLearner
    from taskorder.learners.orders import LearnerError, learn_orders
    from taskorder.learners.protocol import Learner, Score, score
    from taskorder.learners.sklearn import SklearnLearner
    from taskorder.learners.torch import TorchLearner

__all__ = [
    "CallableLearner",
    "CommandLearner",
    "JaxLearner",
    "Learner",
    "LearnerError",
    "Score",
    "SklearnLearner",
    "TorchLearner",
    "learn_orders",
    "score",
]

_HOMES = {
    "black_box": ("CallableLearner", "CommandLearner"),
    "jax": ("JaxLearner",),
    "orders": ("LearnerError", "learn_orders"),
    "protocol": ("Learner", "Score", "score"),
    "sklearn": ("SklearnLearner",),
    "torch": ("TorchLearner",),
}
_HOME = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names}


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
