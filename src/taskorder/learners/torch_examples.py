"""KeptExamples to train a PyTorch module on, each with the outputs that its task is about, and the loss of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from taskorder.learners.protocol import enough_outputs
from taskorder.learners.strategy import KeptExamples
from taskorder.task import Task, rows_of
from taskorder.task.joined import joined
from taskorder.task.mixed import parts_of

try:
    import torch
except ImportError:  # TorchLearner says so
    torch = None


class Reader(Protocol):
    """What turns rows into tensors: a TorchLearner."""

    heads: str
    device: Any
    frozen: Any

    def given(self, inputs: Any) -> Any:
        """All rows on the device, or their features."""

    def tensor(self, inputs: Any) -> Any:
        """Rows on the device."""


class TorchBatch(NamedTuple):
    """KeptExamples of one step."""

    inputs: Any
    """A tensor, or a list of texts."""
    targets: Any
    allowed: Any
    """(n, classes) the outputs that each example is about; None for all."""
    num_classes: int
    """0 where labels are numbers."""

    def with_more(self, other: TorchBatch) -> TorchBatch:
        """These examples, then others."""
        inputs = [*self.inputs, *other.inputs] if isinstance(self.inputs, list) else _cat(self.inputs, other.inputs)
        allowed = None if self.allowed is None else _cat(self.allowed, other.allowed)
        return TorchBatch(inputs, _cat(self.targets, other.targets), allowed, self.num_classes)

    def loss(self, outputs: Any) -> Any:
        """The mean cross-entropy, or the mean squared error."""
        if not self.num_classes:
            return torch.nn.functional.mse_loss(single_output(outputs), self.targets)
        enough_outputs(outputs.shape[1], range(self.num_classes))
        if self.allowed is not None:
            outputs = outputs[:, : self.num_classes].masked_fill(~self.allowed, -torch.inf)
        return torch.nn.functional.cross_entropy(outputs, self.targets)


@dataclass(frozen=True, eq=False)
class TorchExamples:
    """All examples to train on: what is in memory goes to the device once, all else a batch at a time."""

    rows: Any
    whole: Any
    """All inputs on the device, or their features; None where they are read a batch at a time."""
    targets: Any
    task: Any
    """(n,) which of the tasks each example is of."""
    own: Any
    """(tasks, classes) the classes of each task; None where all outputs compete."""
    num_classes: int
    reader: Reader

    @classmethod
    def of_task(cls, task: Task, reader: Reader) -> TorchExamples:
        """The examples of a task, which may be a mixture."""
        parts, number = parts_of(task), len(task.classes)
        own = [np.unique(part.targets) if part.classes else np.empty(0, np.int64) for part in parts]
        places = np.repeat(np.arange(len(parts)), [len(part.targets) for part in parts])
        return cls._made(task.inputs, task.targets, places, own, reader, number)

    @classmethod
    def of_kept(cls, parts: Sequence[KeptExamples], reader: Reader, num_classes: int) -> TorchExamples:
        """KeptExamples of several tasks."""
        inputs, targets = joined([part.inputs for part in parts]), np.concatenate([part.targets for part in parts])
        task = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return cls._made(inputs, targets, task, [part.own for part in parts], reader, num_classes)

    @classmethod
    def _made(
        cls, inputs: Any, targets: Any, task: Any, own: Sequence[Any], reader: Reader, num_classes: int
    ) -> TorchExamples:
        at_once = isinstance(inputs, np.ndarray) or reader.frozen is not None
        whole = reader.given(inputs) if at_once else None
        kind = None if num_classes else torch.float32
        masks = None
        if reader.heads == "task" and num_classes:
            masks = torch.zeros((len(own), num_classes), dtype=torch.bool, device=reader.device)
            for row, classes in enumerate(own):
                masks[row, torch.from_numpy(classes)] = True
        return cls(
            rows_of(inputs), whole, torch.tensor(targets, device=reader.device, dtype=kind),
            torch.tensor(task, device=reader.device), masks, num_classes, reader,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, rows: Any) -> TorchBatch:
        """Some of them."""
        inputs = self.reader.tensor(self.rows[rows.numpy()]) if self.whole is None else self.whole[rows]
        allowed = None if self.own is None else self.own[self.task[rows]]
        return TorchBatch(inputs, self.targets[rows], allowed, self.num_classes)


def single_output(outputs: Any) -> Any:
    """(n,) the only output of each example."""
    if outputs.ndim > 2 or (outputs.ndim == 2 and outputs.shape[1] != 1):
        raise ValueError(
            "`module_factory` must make a module with one output where labels are numbers, "
            f"got shape {tuple(outputs.shape)}."
        )
    return outputs.reshape(len(outputs))


def _cat(one: Any, other: Any) -> Any:
    return torch.cat([one, other])
