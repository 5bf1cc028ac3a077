"""A check that a trainer of transformers or TRL really takes its examples in the planned order."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.arguments import BadArgument
from taskorder.portable import PortableOrder

try:
    from transformers import TrainerCallback
except ImportError:  # nobody else calls it
    TrainerCallback = object

STEP = "order_step"
"""The column of a joined data set that says at which step of the order a row is learned, counted from 0."""


class OrderCheck(TrainerCallback):  # type: ignore[misc]
    """A callback that stops training as soon as an example comes out of the planned order.

    It stands between the trainer and its sampler, so it sees what is drawn, whatever shuffled it: the sampler, the data
    set before it, or a second epoch, which starts again with the first task.

    Parameters
    ----------
    trainer
        The trainer whose `train_dataset` has the column, before `train()`.
    order
        The order, or its task names, for what is said.
    column
        The column of the joined data set that says at which step of the order a row is learned, counted from 0.
    warn
        Warn once instead of stopping.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> trainer = SimpleNamespace(train_dataset={"order_step": [0, 0, 1]})
    >>> check = OrderCheck(trainer, ["cats", "dogs"])
    >>> batches = SimpleNamespace(sampler=[0, 2, 1])
    >>> check.on_train_begin(train_dataloader=SimpleNamespace(batch_sampler=batches))
    >>> list(batches.sampler)
    Traceback (most recent call last):
    ...
    ValueError: `train_dataset` must come in the planned order, got 'cats' (step 1 of 2) after 'dogs' (step 2 of 2). ...
    """

    def __init__(
        self, trainer: Any, order: PortableOrder | Sequence[str], *, column: str = STEP, warn: bool = False
    ) -> None:
        self.trainer = trainer
        self.names = order.named_order if isinstance(order, PortableOrder) else tuple(order)
        self.column = column
        self.warn = warn
        self.reached = 0
        """The last step whose examples have come."""
        self.warned = False

    def on_train_begin(self, *_: Any, train_dataloader: Any = None, **more: Any) -> None:
        """Stand before the sampler of the data loader."""
        steps = self._steps()
        batches: Any = getattr(train_dataloader, "batch_sampler", None)
        while hasattr(batches, "batch_sampler"):  # in several processes, one that skips what is for others
            batches = batches.batch_sampler
        if not hasattr(getattr(batches, "sampler", None), "__len__"):  # that of a stream draws nothing, for ever
            raise BadArgument(
                "`trainer` must take its examples by index to be checked, got a stream or batches of another kind. "
                "Train one task at a time instead."
            )
        self.reached, self.warned = 0, False
        batches.sampler = _Watched(batches.sampler, steps, self)

    def on_train_end(self, *_: Any, **more: Any) -> None:
        """Warn where training ended before the last task."""
        if self.reached < len(self.names) - 1:
            warnings.warn(
                f"Training ended at {self._said(self.reached)}: later tasks were not learned.", RuntimeWarning, 2
            )

    def drawn(self, step: int) -> None:
        """Take note of an example of this step, and complain where a later step was reached before."""
        if step >= self.reached:
            self.reached = step
            return
        text = (
            f"`train_dataset` must come in the planned order, got {self._said(step)} after {self._said(self.reached)}. "
            'Set train_sampling_strategy="sequential", num_train_epochs=1 and, in TRL, shuffle_dataset=False, '
            "or train one task at a time."
        )
        if not self.warn:
            raise ValueError(text)
        if not self.warned:
            self.warned = True
            warnings.warn(text, RuntimeWarning, 2)

    def _said(self, step: int) -> str:
        return f"{self.names[step]!r} (step {step + 1} of {len(self.names)})"

    def _steps(self) -> NDArray[np.int64]:
        """The step of each row."""
        try:
            steps = np.asarray(self.trainer.train_dataset[self.column], dtype=np.int64)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise BadArgument(
                f"`trainer` must have a train_dataset with whole numbers in the column {self.column!r}, got none. "
                "Add the step of each row before the trainer is made; packing drops the column."
            ) from None
        found, planned = set(steps.tolist()), set(range(len(self.names)))
        if found - planned:
            raise BadArgument(
                f"`order` must have a task for every step in the column {self.column!r}, "
                f"got {len(self.names)} tasks and a step {max(found - planned, key=abs)}. Count from 0."
            )
        if planned - found:
            raise BadArgument(
                f"`trainer` must have rows of every task in its train_dataset, got none for "
                f"{self._said(min(planned - found))}. Were all of them too long?"
            )
        return steps


class _Watched:
    """A sampler that says what it draws."""

    def __init__(self, sampler: Any, steps: NDArray[np.int64], check: OrderCheck) -> None:
        self._sampler, self._steps, self._check = sampler, steps, check

    def __iter__(self) -> Iterator[int]:
        for row in self._sampler:
            self._check.drawn(int(self._steps[row]))
            yield row

    def __len__(self) -> int:
        return len(self._sampler)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # not yet there while a copy is made
            raise AttributeError(name)
        return getattr(self._sampler, name)  # set_epoch and the like
