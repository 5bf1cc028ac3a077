"""What a learner does against forgetting: the settings of each strategy, in plain records.

A learner without a strategy trains plainly on one task after another. How a strategy is carried out is up to the
engine and to each learner, which may refuse one that it cannot do; the settings mean the same in all of them.

>>> strategy_of("replay", kept=5)
Replay(kept=5, share=0.5, memory='balanced')
>>> strategy_of("plain") is None
True
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from taskorder.arguments import BadArgument, unknown
from taskorder.checks import to_float, whole

PLAIN = "plain"
MEMORIES = ("balanced", "reservoir")
SHARED, BY_TASK, BY_CLASS = HEADS = ("shared", "task", "class")
"""What a task is trained and tested on: all outputs, those of its own classes, or all where no class is shared."""


@dataclass(frozen=True)
class Replay:
    """Keep some examples of every task that was learned, and mix them into the batches of later tasks.

    The batches keep their examples of the new task, so a task takes as many steps as without replay.

    Examples
    --------
    >>> Replay(20).kept
    20
    """

    kept: int = 20
    """Examples of each class."""
    share: float = 0.5
    """Share of a batch that is replayed."""
    memory: str = "balanced"
    """balanced: `kept` examples of each class of each task that was seen. reservoir: `kept` times the number of all
    classes, each example that was seen equally likely, whatever its class. A class of two tasks counts twice in runs,
    which know all their tasks, and once in learners."""

    def __post_init__(self) -> None:
        count = whole(self.kept)
        if count is None or count < 1:
            raise BadArgument(
                f"`kept` must be a whole number of examples of each class, at least 1, got {self.kept!r}."
            )
        if not 0 < to_float(self.share) < 1:
            raise BadArgument(f"`share` must be a share of a batch, above 0 and below 1, got {self.share!r}.")
        if self.memory not in MEMORIES:
            raise unknown("memory", self.memory, MEMORIES)
        _take(self, kept=count, share=float(self.share))

    def extra(self, batch_size: int) -> int:
        """How many replayed examples join a batch of new ones, at least one.

        >>> Replay(share=0.5).extra(4), Replay(share=0.2).extra(8), Replay(share=0.1).extra(4)
        (4, 2, 1)
        """
        return max(1, round(batch_size * self.share / (1 - self.share)))


@dataclass(frozen=True)
class EWC:
    """Elastic weight consolidation, online, with a diagonal Fisher matrix: weights that mattered stay where they are.

    The loss gets `strength` / 2 times the sum of F (w - w*)^2, where w* are the weights after the last task and F the
    mean squares of the gradients of the log-likelihood of each learned task, added up.

    Examples
    --------
    >>> EWC(100.0).strength
    100.0
    """

    strength: float = 100.0
    fading: float = 1.0
    """Share of the earlier F that stays when a task is added; 1 forgets none of it."""

    def __post_init__(self) -> None:
        if not 0 <= to_float(self.fading) <= 1:
            raise BadArgument(f"`fading` must be from 0 to 1, got {self.fading!r}.")
        _take(self, strength=_positive(self.strength, "strength"), fading=float(self.fading))


@dataclass(frozen=True)
class Distill:
    """Learning without forgetting (LwF): on new examples, answer about old tasks as before the new task began.

    The loss gets `strength` times the squared temperature times the divergence of the new answers from the old ones,
    both softened by the temperature.

    Examples
    --------
    >>> Distill(temperature=2.0).strength
    1.0
    """

    strength: float = 1.0
    temperature: float = 2.0

    def __post_init__(self) -> None:
        numbers = {name: _positive(getattr(self, name), name) for name in ("strength", "temperature")}
        _take(self, **numbers)


@dataclass(frozen=True)
class L2Init:
    """Weight decay towards the weights of the fresh network: the loss gets `strength` / 2 times the squared distance.

    Examples
    --------
    >>> L2Init(0.01).strength
    0.01
    """

    strength: float = 1e-3

    def __post_init__(self) -> None:
        _take(self, strength=_positive(self.strength, "strength"))


Strategy = Replay | EWC | Distill | L2Init
STRATEGIES: Mapping[str, type[Strategy]] = {"replay": Replay, "ewc": EWC, "lwf": Distill, "l2init": L2Init}
"""By the name that settings and the command line use."""


def strategy_of(name: str, **settings: Any) -> Strategy | None:
    """The strategy of this name with these settings; None for plain training. A setting that it has not is refused.

    >>> strategy_of("lwf", temperature=4.0)
    Distill(strength=1.0, temperature=4.0)
    """
    if name != PLAIN and name not in STRATEGIES:
        raise unknown("strategy", name, (PLAIN, *STRATEGIES))
    known = [field.name for field in fields(STRATEGIES[name])] if name != PLAIN else []
    for key in settings:
        if key not in known:
            there = f"It has {', '.join(known)}." if known else "Leave it out, or name a strategy that has it."
            raise BadArgument(f"`{key}` must be a setting of the strategy {name}, got one that it has not. {there}")
    return STRATEGIES[name](**settings) if name != PLAIN else None


def _positive(value: float, name: str) -> float:
    if not 0 < to_float(value) < math.inf:
        raise BadArgument(f"`{name}` must be a positive number, got {value!r}.")
    return float(value)


def _take(settings: Strategy, **numbers: float | None) -> None:
    """Numbers in one kind: 100 and 100.0 are one setting, and stores know fits and runs by the text of it."""
    for name, value in numbers.items():
        object.__setattr__(settings, name, value)
