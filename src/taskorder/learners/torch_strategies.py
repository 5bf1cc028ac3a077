"""EWC, distillation and the pull to the first weights, for modules of PyTorch.

Each adds a penalty to the loss of a batch of new examples (strategy.py).
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from taskorder.arguments import BadArgument
from taskorder.checks import Ints
from taskorder.learners.strategy import MOST_SQUARED, FirmWeights, FormerNet, competing_classes, learned_classes
from taskorder.learners.torch_examples import TorchExamples
from taskorder.strategies import EWC, Distill, L2Init
from taskorder.task import Task

try:
    import torch
except ImportError:  # TorchLearner says so
    torch = None


class Consolidating:
    """EWC: strength / 2 times the sum of F (w - w*)^2."""

    memory_kind = FirmWeights

    def __init__(self, settings: EWC, learner: Any) -> None:
        self.settings, self.learner = settings, learner

    def remember(self, memory: FirmWeights | None, task: Task, model: Any, rng: np.random.Generator) -> FirmWeights:
        """The weights now, and F with that of the task added."""
        squares = self._squares(model.module, task, rng)
        before = {} if memory is None else memory.matters
        added = {
            name: each + self.settings.fading * before[name] if name in before else each
            for name, each in squares.items()
        }
        return FirmWeights(_weights(model.module), added)

    def penalty(self, memory: FirmWeights | None, module: Any, inputs: Any, outputs: Any) -> Any:
        """Nothing before the first task was learned."""
        if memory is None:
            return 0.0
        moved = ((memory.matters[name] * (now - memory.weights[name]) ** 2).sum() for name, now in _trained(module))
        return self.settings.strength / 2 * sum(moved)

    def _squares(self, module: Any, task: Task, rng: np.random.Generator) -> dict[str, Any]:
        """The mean squares of the gradients of the log-likelihood, one example at a time, in evaluation mode."""
        examples = TorchExamples.of_task(task, self.learner)
        chosen = rng.permutation(len(examples))[:MOST_SQUARED]
        total = {name: torch.zeros_like(weight) for name, weight in _trained(module)}
        module.eval()
        for row in chosen:
            batch = examples.take(torch.tensor([row]))
            loss = batch.loss(self.learner.outputs(module, batch.inputs))
            likelihood = loss / 2 if task.regression else loss  # of a normal distribution with variance 1
            weights = [weight for _, weight in _trained(module)]
            gradients = torch.autograd.grad(likelihood, weights, allow_unused=True)
            for (name, _), gradient in zip(_trained(module), gradients, strict=True):
                if gradient is not None:
                    total[name] += gradient**2 / len(chosen)
        return total


class Distilling:
    """Learning without forgetting: on new examples, what the module said of old tasks."""

    memory_kind = FormerNet

    def __init__(self, settings: Distill, learner: Any) -> None:
        self.settings, self.learner = settings, learner

    def remember(self, memory: FormerNet | None, task: Task, model: Any, rng: np.random.Generator) -> FormerNet:
        """A copy of the module, which learns nothing more."""
        if not task.classes:
            raise BadArgument(
                f"`strategy` must be another one where labels are numbers, got {self.settings!r} for {task.name!r}. "
                "Take Replay(20) or EWC(100.0)."
            )
        module = copy.deepcopy(model.module).eval().requires_grad_(False)
        return FormerNet(module, learned_classes(memory, task))

    def penalty(self, memory: FormerNet | None, module: Any, inputs: Any, outputs: Any) -> Any:
        """The divergence from the old answers, among the classes of each old task where it has outputs of its own."""
        if memory is None:
            return 0.0
        with torch.no_grad():
            said = self.learner.outputs(memory.net, inputs)
        heads = competing_classes(memory, self.learner.heads)
        return self.settings.strength * sum(self._divergence(said, outputs, own) for own in heads)

    def _divergence(self, said: Any, outputs: Any, own: Ints) -> Any:
        T = self.settings.temperature
        old, new = (torch.nn.functional.log_softmax(each[:, own] / T, dim=1) for each in (said, outputs))
        return T**2 * torch.nn.functional.kl_div(new, old, reduction="batchmean", log_target=True)


class Pulling:
    """L2Init: strength / 2 times the squared distance from the weights of the fresh module."""

    def __init__(self, settings: L2Init) -> None:
        self.settings = settings

    def start(self, module: Any) -> dict[str, Any]:
        """The first weights."""
        return _weights(module)

    def remember(self, memory: dict[str, Any], task: Task, model: Any, rng: np.random.Generator) -> dict[str, Any]:
        """Still the first weights."""
        return memory

    def penalty(self, memory: dict[str, Any], module: Any, inputs: Any, outputs: Any) -> Any:
        """The squared distance."""
        return self.settings.strength / 2 * sum(((now - memory[name]) ** 2).sum() for name, now in _trained(module))


def torch_strategy(settings: EWC | Distill | L2Init, learner: Any) -> Consolidating | Distilling | Pulling:
    """What carries out the settings."""
    if isinstance(settings, EWC):
        return Consolidating(settings, learner)
    return Distilling(settings, learner) if isinstance(settings, Distill) else Pulling(settings)


def _trained(module: Any) -> list[tuple[str, Any]]:
    return [(name, weight) for name, weight in module.named_parameters() if weight.requires_grad]


def _weights(module: Any) -> dict[str, Any]:
    return {name: weight.detach().clone() for name, weight in _trained(module)}
