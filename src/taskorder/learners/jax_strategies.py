"""EWC, distillation and the pull to the first weights, for JAX networks: the engine carries them out.

What the engine must know of the past is made here: examples that are kept, and heads of learned tasks. All else that a
strategy keeps is in the state of the networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from taskorder.engine.past import Past
from taskorder.engine.replay import check_kept
from taskorder.learners.jax_examples import KEPT_BUCKET, class_mask, padded_count
from taskorder.learners.strategy import LearnedClasses, Old, competing_classes, learned_classes
from taskorder.strategies import EWC, Distill, L2Init, Strategy
from taskorder.task import Task


class Consolidated(LearnedClasses):
    """The memory of EWC."""


class Distilled(LearnedClasses):
    """The memory of distillation."""


class PulledBack(LearnedClasses):
    """The memory of the pull to the first weights."""


KINDS_OF_MEMORY: Mapping[type[Strategy], type[LearnedClasses]] = {
    EWC: Consolidated,
    Distill: Distilled,
    L2Init: PulledBack,
}


class ByEngine:
    """A strategy that the engine carries out: what is remembered beside the state is the classes of each task."""

    def __init__(self, settings: EWC | Distill | L2Init) -> None:
        self.memory_kind = KINDS_OF_MEMORY[type(settings)]

    def remember(
        self, memory: LearnedClasses | None, task: Task, model: Any, rng: np.random.Generator
    ) -> LearnedClasses:
        """The classes of the task as well."""
        return self.memory_kind(learned_classes(memory, task))


def past_of_kept(olds: Sequence[Old], places: Mapping[int, int], num_examples: int) -> Past:
    """What N networks have kept. places: where each part begins in the pool, by its id; num_examples: of a batch."""
    kept = [np.concatenate([places[id(part)] + np.arange(len(part)) for part in old.parts]) for old in olds]
    most = max(map(len, kept))
    check_kept(most, olds[0].replay.extra(num_examples))
    return Past.of_examples(kept, padded_count(most, KEPT_BUCKET))


def past_of_heads(memories: Sequence[LearnedClasses | None], heads: str, outputs: int) -> Past:
    """The heads of the tasks that each of N networks has learned: none before the first one."""
    own = [[] if memory is None else competing_classes(memory, heads) for memory in memories]
    masks = [np.array([class_mask(classes, outputs) for classes in each]).reshape(-1, outputs) for each in own]
    return Past.of_heads(masks, padded_count(max(1, *map(len, own))))
