"""What learners do against forgetting: the examples that they keep, and strategies of your own.

A strategy has a memory on every model. It is never changed, only replaced, so that copies of a model share it:

    replayed(memory)                              examples of old tasks, which join the batches of the next one
    remember(memory, task, model, rng)            the memory after a task was learned; None before the first one

and, for networks of PyTorch, `penalty(memory, module, inputs, outputs)`: a number that is added to the loss of a batch
of new examples. All that is drawn at random depends on the seed of the model, the task and the visit, not on what was
learned before.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from taskorder.arguments import BadArgument, unknown
from taskorder.checks import Floats, Ints
from taskorder.learners.protocol import described
from taskorder.strategies import HEADS, Replay, Strategy
from taskorder.task import Task, rows_of
from taskorder.task.joined import joined

MOST_SQUARED = 1000
"""Examples of a task whose gradients are squared for EWC, each in a pass of its own: more add time, not precision."""


@dataclass(frozen=True, eq=False)
class KeptExamples:
    """Examples of a task that a learner has kept.

    Examples
    --------
    >>> task = Task("signs", [[-1.0], [1.0], [2.0]], ["minus", "plus", "plus"])
    >>> kept = KeptExamples.of(task, np.array([0, 2]))
    >>> kept.inputs.tolist(), kept.targets.tolist(), len(kept)
    ([[-1.0], [2.0]], [0, 1], 2)
    """

    task: str
    """The name of the task."""
    inputs: Any = field(repr=False)
    """Rows in memory, of the kind that the task has."""
    targets: NDArray[Any] = field(repr=False)
    """(n,) as those of the task."""
    own: Ints = field(repr=False)
    """The classes of the task, as places among those of all tasks."""

    def __len__(self) -> int:
        return len(self.targets)

    @classmethod
    def of(cls, task: Task, rows: Any = None) -> KeptExamples:
        """Some rows of a task, by number or by a mask of them all; all of them where `rows` is left out."""
        rows = np.arange(len(task.targets))[slice(None) if rows is None else rows]
        own = np.unique(task.targets) if task.classes else np.empty(0, np.int64)
        return cls(task.name, task.rows[rows], np.array(task.targets[rows]), own)

    def take(self, rows: Ints) -> KeptExamples:
        """Some of them."""
        return replace(self, inputs=rows_of(self.inputs)[rows], targets=self.targets[rows])


class OwnStrategy(Protocol):
    """What a strategy of your own must do; a learner keeps what `remember` returns on each model.

    Examples
    --------
    Ten examples of the last task join the batches of the next one:

    >>> class Latest:
    ...     def replayed(self, memory):
    ...         return memory or []
    ...     def remember(self, memory, task, model, rng):
    ...         return [KeptExamples.of(task, rng.permutation(len(task.targets))[:10])]
    ...     def __repr__(self):
    ...         return "Latest()"
    >>> from sklearn.linear_model import SGDClassifier
    >>> from taskorder.learners import SklearnLearner
    >>> learner = SklearnLearner(SGDClassifier(loss="log_loss"), strategy=Latest())
    >>> task = Task("signs", [[-1.0], [1.0]] * 8, [0, 1] * 8)
    >>> [len(kept) for kept in learner.fit(learner.make(seed=0), task).memory]
    [10]
    """

    def replayed(self, memory: Any) -> Sequence[KeptExamples]:
        """Examples of old tasks, which join the batches of the next task: half of a batch, or the share `share`."""

    def remember(self, memory: Any, task: Task, model: Any, rng: np.random.Generator) -> Any:
        """What to remember when `model` has learned `task`: a new object, for copies of a model share the old one."""


class ReplayMemory(NamedTuple):
    """The memory of replay."""

    parts: tuple[KeptExamples, ...] = ()
    priorities: tuple[Floats, ...] = ()
    """Of each example of each part: where there is no room for all, those of the highest stay."""


class Replaying:
    """Replay as a strategy: some examples of each task, which are taken once and never change."""

    memory_kind = ReplayMemory

    def __init__(self, settings: Replay) -> None:
        self.settings = settings
        self.share = settings.share

    def replayed(self, memory: ReplayMemory | None) -> Sequence[KeptExamples]:
        """All that is kept."""
        return [] if memory is None else memory.parts

    def remember(self, memory: ReplayMemory | None, task: Task, model: Any, rng: np.random.Generator) -> ReplayMemory:
        """The memory with some examples of the task, in place of those of an earlier visit to it."""
        # a random priority for every example: who stays does not depend on the order of tasks
        priority, kept = rng.random(len(task.targets)), self.settings.kept
        whole = self.settings.memory == "reservoir"
        pools = (
            [np.arange(len(priority))] if whole else [np.flatnonzero(task.strata == k) for k in np.unique(task.strata)]
        )
        room = kept * max(1, len(task.classes)) if whole else kept
        rows = np.sort(np.concatenate([pool[np.argsort(-priority[pool])[:room]] for pool in pools]))
        others = [] if memory is None else zip(*memory, strict=True)
        parts = [(part, high) for part, high in others if part.task != task.name]
        parts.append((KeptExamples.of(task, rows), priority[rows]))
        if whole:
            parts = _highest(parts, room)
        return ReplayMemory(tuple(part for part, _ in parts), tuple(high for _, high in parts))


def _highest(parts: list[tuple[KeptExamples, Floats]], room: int) -> list[tuple[KeptExamples, Floats]]:
    """The examples of highest priority, which are a random sample of all that were seen."""
    every = np.sort(np.concatenate([high for _, high in parts]))
    least = every[-min(room, len(every))]
    stay = [(part, high, np.flatnonzero(high >= least)) for part, high in parts]
    return [(part if len(rows) == len(part) else part.take(rows), high[rows]) for part, high, rows in stay if len(rows)]


class Old(NamedTuple):
    """All examples of old tasks that join the batches of a new one."""

    inputs: Any
    targets: NDArray[Any]
    parts: tuple[KeptExamples, ...]
    replay: Replay
    """How many join a batch."""
    rng: np.random.Generator

    def places(self, count: int) -> Ints:
        """So many places among them at random, each equally often as far as can be.

        >>> old = Old(None, np.zeros(3), (), Replay(), np.random.default_rng(0))
        >>> np.bincount(old.places(7)).tolist()
        [2, 2, 3]
        """
        rounds = [self.rng.permutation(len(self.targets)) for _ in range(-(-count // len(self.targets)))]
        return np.concatenate(rounds)[:count] if rounds else np.empty(0, np.int64)


class FirmWeights(NamedTuple):
    """The memory of EWC: weights that must not move much, and how much each matters."""

    weights: Any
    matters: Any


class LearnedClasses(NamedTuple):
    """The memory of what the engine does beside the state of its networks."""

    classes: tuple[Ints, ...]
    """Of each learned task."""


class FormerNet(NamedTuple):
    """The memory of distillation: the network after the last task, and the classes of each task that it learned."""

    net: Any
    classes: tuple[Ints, ...]


BUILT_IN_MEMORIES = ReplayMemory | FirmWeights | FormerNet | LearnedClasses
"""What no strategy of a person remembers."""


def learned_classes(memory: FormerNet | LearnedClasses | None, task: Task) -> tuple[Ints, ...]:
    """The classes of each learned task, the last one included."""
    return *(() if memory is None else memory.classes), np.unique(task.targets)


def competing_classes(memory: FormerNet | LearnedClasses, heads: str) -> list[Ints]:
    """The classes that compete in old answers: those of each learned task with a head of its own, or all of them."""
    if heads == "task":
        return list({own.tobytes(): own for own in memory.classes}.values())
    return [np.unique(np.concatenate(memory.classes))]


Self = TypeVar("Self", bound="Strategic")


class Strategic:
    """A learner that has a strategy."""

    strategy: Any = None
    """As it was given; None for plain training."""
    heads: str = HEADS[0]
    mixes = True
    _acting: Any = None
    """What carries the strategy out."""

    def with_strategy(self: Self, strategy: Strategy | OwnStrategy | None) -> Self:
        """The same learner with another strategy, or with none."""
        twin = copy.copy(self)
        twin._set_strategy(strategy)
        return twin

    def _set_strategy(self, strategy: Strategy | OwnStrategy | None) -> None:
        self.strategy = strategy
        self._acting = None if strategy is None else self._carried_out(strategy)

    def _carried_out(self, strategy: Strategy | OwnStrategy) -> Any:
        """The object that does what the strategy says; an error where this learner cannot do it."""
        if isinstance(strategy, Replay):
            return Replaying(strategy)
        name = type(self).__name__
        if isinstance(strategy, Strategy):
            raise BadArgument(
                f"`strategy` must be one that {name} has, like Replay(20), got {strategy!r}. TorchLearner and "
                "JaxLearner have it."
            )
        if isinstance(strategy, type) or not hasattr(strategy, "remember") or not hasattr(strategy, "replayed"):
            what = strategy.__name__ if isinstance(strategy, type) else type(strategy).__name__
            raise BadArgument(
                f"`strategy` must be Replay(20), another record of taskorder.strategies or an object with remember and "
                f"replayed, got {what}. See taskorder.learners.OwnStrategy."
            )
        if hasattr(strategy, "penalty"):
            raise BadArgument(
                f"`strategy` must only replay examples in {name}, got {type(strategy).__name__} with a penalty. "
                "TorchLearner adds it to the loss."
            )
        return strategy

    def _check_memory(self, memory: Any) -> None:
        """Refuse a model that remembers what another strategy needs."""
        if self._acting is None or memory is None:
            return
        wanted = getattr(self._acting, "memory_kind", None)
        fits = isinstance(memory, wanted) if wanted else not isinstance(memory, BUILT_IN_MEMORIES)
        if not fits:
            raise BadArgument(
                f"`model` must be one that was trained with {self.strategy!r}, or with no strategy, got one with "
                "another. Plan with the learner that trained it."
            )

    def _old(self, memory: Any, seed: int, task: str, visit: int) -> Old | None:
        """The old examples that join the batches of a task; None where there are none."""
        if self._acting is None or not hasattr(self._acting, "replayed"):
            return None
        replayed = tuple(self._acting.replayed(memory) or ())
        strange = next((part for part in replayed if not isinstance(part, KeptExamples)), None)
        if strange is not None:
            raise BadArgument(
                f"`strategy` must replay KeptExamples, got {type(strange).__name__}. "
                "Keep them with KeptExamples.of(task, rows)."
            )
        parts = tuple(part for part in replayed if len(part))
        if not parts:
            return None
        replay = Replay(share=getattr(self._acting, "share", Replay().share))
        inputs = joined([part.inputs for part in parts])
        targets = np.concatenate([part.targets for part in parts])
        return Old(inputs, targets, parts, replay, drawn_with(seed, task, visit, 1))

    def _remembered(self, model: Any, task: Task, visit: int) -> Any:
        """The memory after the task."""
        if self._acting is None:
            return model.memory
        return self._acting.remember(model.memory, task, model, drawn_with(model.seed, task.name, visit, 2))

    def _said(self) -> str:
        """What `describe` adds: nothing for a learner without a strategy and with shared heads."""
        heads = "" if self.heads == HEADS[0] else f" heads={self.heads}"
        return heads + ("" if self.strategy is None else f" strategy={described(self.strategy)}")


def drawn_with(seed: int, task: str, visit: int, purpose: int) -> np.random.Generator:
    """Random numbers of their own for one visit to a task."""
    return np.random.default_rng([seed, zlib.crc32(task.encode()), visit, purpose])


def checked_heads(heads: str) -> str:
    """A known name."""
    if heads not in HEADS:
        raise unknown("heads", heads, HEADS)
    return heads
