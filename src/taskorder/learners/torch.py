"""A PyTorch module and an optimizer, each given as a function that makes one.

Weights, dropout and the order of examples are drawn from the seed; the caller's random state is left as it was. Losses
are measured in evaluation mode, so batch normalization uses what it has collected.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Floats, positive_count, seed_number
from taskorder.learners.protocol import ByClass, enough_outputs, inputs_as_floats, same_classes
from taskorder.task import Task

try:
    import torch
except ImportError:  # TorchLearner says so
    torch = None

FORWARD_EXAMPLES = 1024
"""Examples in one forward pass when losses are measured."""


@dataclass
class TorchModel:
    """A module in training with its optimizer."""

    module: Any
    optimizer: Any
    seed: int
    seen: tuple[str, ...] = ()
    """Names of the tasks learned so far."""
    classes: tuple[Hashable, ...] = ()


class TorchLearner(ByClass):
    """A PyTorch module, trained on cross-entropy.

    Inputs reach the module as they are in the task, except that uint8 becomes float from 0 to 1: images for
    convolutions have their channels first.

    Parameters
    ----------
    module_factory : callable
        Returns a fresh module with one logit a class.
    optimizer_factory : callable, optional
        From the parameters to an optimizer; Adam with its defaults if left out.
    epochs, batch_size : int
        Passes over the examples of a task, and examples a step.
    device : str
        Where the modules are trained.
    reset_optimizer : bool
        Whether every task starts with a fresh optimizer; by default its state carries over, as in the paper.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> learner = TorchLearner(lambda: torch.nn.Linear(4, 2), epochs=3)  # doctest: +SKIP
    """

    def __init__(
        self,
        module_factory: Callable[[], Any],
        optimizer_factory: Callable[[Any], Any] | None = None,
        *,
        epochs: int = 5,
        batch_size: int = 32,
        device: str = "cpu",
        reset_optimizer: bool = False,
    ) -> None:
        if torch is None:
            raise ValueError(
                "`TorchLearner` must have PyTorch, got no such package. "
                'Install it with: pip install "taskorder[torch]".'
            )
        self.module_factory = module_factory
        self.optimizer_factory = optimizer_factory or torch.optim.Adam
        self.epochs = positive_count(epochs, "epochs")
        self.batch_size = positive_count(batch_size, "batch_size")
        self.device = torch.device(device)
        self.reset_optimizer = reset_optimizer

    def make(self, seed: int) -> TorchModel:
        """A fresh module and optimizer."""
        with self._random(seed_number(seed)):
            module = self.module_factory()
        if not isinstance(module, torch.nn.Module):
            raise ValueError(f"`module_factory` must return an nn.Module, got {type(module).__name__}.")
        return self._model(module, seed)

    def fit(self, model: TorchModel, task: Task) -> TorchModel:
        """Train on; changes the model."""
        model.classes = same_classes(model.classes, task)
        inputs, targets = self._tensor(task.inputs), torch.tensor(task.targets, device=self.device)
        if self.reset_optimizer:
            model.optimizer = self.optimizer_factory(model.module.parameters())
        visit = zlib.crc32(f"{model.seed} {model.seen.count(task.name)} {task.name}".encode())
        model.module.train()
        with self._random(visit):
            for _ in range(self.epochs):
                for rows in self._batches(len(targets)):
                    logits = model.module(inputs[rows])
                    enough_outputs(logits.shape[1], task)
                    model.optimizer.zero_grad()
                    torch.nn.functional.cross_entropy(logits, targets[rows]).backward()
                    model.optimizer.step()
        model.seen += (task.name,)
        return model

    def losses_by_class(self, model: TorchModel, inputs: NDArray[Any]) -> Floats:
        """Minus the log probabilities."""
        model.module.eval()
        with torch.no_grad():
            parts = [
                torch.nn.functional.log_softmax(model.module(self._tensor(inputs[begin : begin + FORWARD_EXAMPLES])), 1)
                for begin in range(0, len(inputs), FORWARD_EXAMPLES)
            ]
        return np.asarray(-torch.cat(parts).cpu().numpy(), np.float64)

    def copy(self, model: TorchModel) -> TorchModel:
        """A module and an optimizer with copies of the state."""
        twin = self._model(copy.deepcopy(model.module), model.seed)
        twin.optimizer.load_state_dict(copy.deepcopy(model.optimizer.state_dict()))
        twin.seen, twin.classes = model.seen, model.classes
        return twin

    def describe(self) -> str:
        """The module, its first weights, the optimizer and all settings."""
        model = self.make(0)
        weights = [float(value.double().sum()) for value in model.module.state_dict().values()]
        return (
            f"torch {torch.__version__} {model.module} {weights} {model.optimizer} epochs={self.epochs} "
            f"batch_size={self.batch_size} device={self.device.type} reset_optimizer={self.reset_optimizer}"
        )

    def _model(self, module: Any, seed: int) -> TorchModel:
        module = module.to(self.device)
        return TorchModel(module, self.optimizer_factory(module.parameters()), seed)

    def _tensor(self, inputs: NDArray[Any]) -> Any:
        """Floats in single precision; whole numbers (tokens, say) stay whole."""
        values = inputs_as_floats(inputs)
        return torch.tensor(values, dtype=torch.float32 if values.dtype.kind == "f" else torch.int64).to(self.device)

    def _batches(self, count: int) -> list[Any]:
        """Places in random order; a last batch of one joins the one before, for batch normalization needs two."""
        batches = list(torch.randperm(count).split(self.batch_size))
        if len(batches) > 1 and len(batches[-1]) == 1:
            batches[-2:] = [torch.cat(batches[-2:])]
        return batches

    @contextmanager
    def _random(self, seed: int) -> Iterator[None]:
        """Torch's own random numbers start from `seed` inside, and go on outside as if nothing had happened."""
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            torch.manual_seed(seed)
            yield
