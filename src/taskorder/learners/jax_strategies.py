"""EWC, distillation and the pull to the first weights, for JAX networks: what each remembers.

What they add to the loss of a batch is in jax_training.py. Memories hold arrays of numpy, a network each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from taskorder.engine.nets import Params
from taskorder.learners.jax_examples import SMALLEST_BUCKET, class_mask, on_device, padded_count
from taskorder.learners.jax_training import FormerAnswers, squared_gradients, together
from taskorder.learners.protocol import own_outputs
from taskorder.learners.strategy import MOST_SQUARED, FirmWeights, FormerNet, competing_classes, learned_classes
from taskorder.strategies import EWC, Distill, L2Init
from taskorder.task import Task


class HeldWeights:
    """EWC: strength / 2 times the sum of F (w - w*)^2."""

    memory_kind = FirmWeights

    def __init__(self, settings: EWC, learner: Any) -> None:
        self.settings, self.learner = settings, learner

    def remember(self, memory: FirmWeights | None, task: Task, model: Any, rng: np.random.Generator) -> FirmWeights:
        """The weights now, and F with that of the task added."""
        chosen = rng.permutation(len(task.targets))[:MOST_SQUARED]
        inputs = self.learner.given(task.inputs)
        padded = np.zeros((padded_count(len(chosen), SMALLEST_BUCKET), *inputs.shape[1:]), inputs.dtype)
        labels = np.zeros(len(padded), np.int32)
        padded[: len(chosen)], labels[: len(chosen)] = inputs[chosen], task.targets[chosen]
        outputs = self.learner.num_outputs(task)
        own = own_outputs(self.learner, task)
        mask = np.ones(outputs, bool) if own is None else class_mask(own, outputs)
        params = weights_of(model)
        squares = jax.device_get(
            squared_gradients(self.learner.net, params, on_device(padded), labels, mask, np.int32(len(chosen)))
        )
        if memory is not None:
            squares = jax.tree.map(lambda new, old: new + self.settings.fading * old, squares, memory.matters)
        return FirmWeights(params, squares)

    def read(self, models: Sequence[Any], tasks: Sequence[Task]) -> FirmWeights:
        """What the penalty reads: nothing matters before the first task was learned."""
        params = [weights_of(model) for model in models]
        none = jax.tree.map(np.zeros_like, params[0])
        held: FirmWeights = together([FirmWeights(now, none) if model.memory is None else model.memory
                                      for model, now in zip(models, params, strict=True)])  # fmt: skip
        return held


class FormerAnswering:
    """Learning without forgetting: on new examples, what the network said of old tasks."""

    memory_kind = FormerNet

    def __init__(self, settings: Distill, learner: Any) -> None:
        self.settings, self.learner = settings, learner

    def remember(self, memory: FormerNet | None, task: Task, model: Any, rng: np.random.Generator) -> FormerNet:
        """The weights now."""
        return FormerNet(weights_of(model), learned_classes(memory, task))

    def read(self, models: Sequence[Any], tasks: Sequence[Task]) -> FormerAnswers:
        """What the penalty reads: no heads before the first task was learned."""
        outputs = self.learner.num_outputs(tasks[0])
        own = [[] if model.memory is None else competing_classes(model.memory, self.learner.heads) for model in models]
        heads = np.zeros((len(models), padded_count(max(1, *map(len, own))), outputs), bool)
        for network, some in enumerate(own):
            for number, classes in enumerate(some):
                heads[network, number] = class_mask(classes, outputs)
        params = together([weights_of(m) if m.memory is None else m.memory.net for m in models])
        return FormerAnswers(params, jnp.asarray(heads))


class PulledBack:
    """L2Init: strength / 2 times the squared distance from the weights of the fresh network."""

    def __init__(self, settings: L2Init) -> None:
        self.settings = settings

    def start(self, model: Any) -> Params:
        """The first weights."""
        return weights_of(model)

    def remember(self, memory: Params, task: Task, model: Any, rng: np.random.Generator) -> Params:
        """Still the first weights."""
        return memory

    def read(self, models: Sequence[Any], tasks: Sequence[Task]) -> Params:
        """What the penalty reads."""
        return together([model.memory for model in models])


def jax_strategy(settings: EWC | Distill | L2Init, learner: Any) -> HeldWeights | FormerAnswering | PulledBack:
    """What carries out the settings."""
    if isinstance(settings, EWC):
        return HeldWeights(settings, learner)
    return FormerAnswering(settings, learner) if isinstance(settings, Distill) else PulledBack(settings)


def weights_of(model: Any) -> Params:
    """The parameters of one network."""
    return jax.tree.map(lambda leaf: np.asarray(leaf[model.row]), model.batch.params)
