"""A PyTorch module and an optimizer, each given as a function that makes one.

Inputs in memory go to the device as one tensor; all others (a data set, a sparse matrix, a table) a batch at a time.
Weights, dropout and the order of examples are drawn from the seed; the caller's random state is left as it was. Losses
are measured in evaluation mode, so batch normalization uses what it has collected.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from taskorder.arguments import BadArgument, unknown
from taskorder.checks import Floats, positive_count, seed_number
from taskorder.learners.frozen import checked_frozen
from taskorder.learners.frozen_description import frozen_text
from taskorder.learners.protocol import ByClass, enough_outputs, inputs_as_floats, same_classes
from taskorder.learners.strategy import OwnStrategy, Strategic, checked_heads
from taskorder.learners.torch_examples import TorchExamples, single_output
from taskorder.learners.torch_frozen import TorchFrozen
from taskorder.learners.torch_strategies import torch_strategy
from taskorder.strategies import EWC, Distill, L2Init, Strategy
from taskorder.task import Rows, Task, number_array, rows_of

try:
    import torch
except ImportError:  # TorchLearner says so
    torch = None

FORWARD_EXAMPLES = 1024
"""Examples in one forward pass when losses are measured."""
CHANNELS = ("first", "last")


def need_torch() -> None:
    """Say what is missing where there is no PyTorch."""
    if torch is None:
        raise ValueError(
            '`TorchLearner` must have PyTorch, got no such package. Install it with: pip install "taskorder[torch]".'
        )


@dataclass
class TorchModel:
    """A module in training with its optimizer."""

    module: Any
    optimizer: Any
    seed: int
    seen: tuple[str, ...] = ()
    """Names of the tasks learned so far."""
    classes: tuple[Hashable, ...] = ()
    memory: Any = None
    """What the strategy remembers; copies share it."""


class TorchLearner(Strategic, ByClass):
    """A PyTorch module, trained on cross-entropy; on the squared error where labels are numbers.

    Inputs reach the module as they are in the task, except that uint8 becomes float from 0 to 1. Texts reach it as a
    list, rows of a sparse matrix dense.

    Parameters
    ----------
    module_factory : callable
        Returns a fresh module with one logit a class, in the order of the sorted classes of all tasks, or one output
        where labels are numbers.
    optimizer_factory : callable, optional
        From the parameters to an optimizer; Adam with its defaults if left out.
    epochs, batch_size : int
        Passes over the examples of a task, and examples a step.
    device : str
        Where the modules are trained.
    reset_optimizer : bool
        Whether every task starts with a fresh optimizer; by default its state carries over, as in the paper.
    channels : str
        Where images have their channels: "first" for tensors, which is what convolutions take; "last" for images as
        files hold them, and then they are moved.
    heads : str
        shared: the module's outputs are those of the labels, and all compete. task: each task is trained and tested on
        the outputs of its own classes, as if it had a last layer of its own. class: as shared, where tasks have classes
        of their own.
    strategy : Replay, EWC, Distill, L2Init or object, optional
        What to do against forgetting: a record of `taskorder.strategies`, or an object of yours (`OwnStrategy`).
    frozen : module or callable, optional
        What is never trained, a pretrained network say: it turns inputs into features, and these are what the modules
        of `module_factory` are given. Each example goes through it once in a process, in evaluation mode; its features
        stay in the memory of the device.

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
        channels: str = "first",
        heads: str = "shared",
        strategy: Strategy | OwnStrategy | None = None,
        frozen: Callable[[Any], Any] | None = None,
    ) -> None:
        need_torch()
        self.module_factory = module_factory
        self.optimizer_factory = optimizer_factory or torch.optim.Adam
        for name, given, fix in (
            ("module_factory", module_factory, "a function that makes a module anew, like lambda: Net()"),
            ("optimizer_factory", self.optimizer_factory, "a function of weights, like lambda weights: Adam(weights)"),
        ):
            if isinstance(given, torch.nn.Module) or not callable(given):
                raise BadArgument(f"`{name}` must be {fix}, got {type(given).__name__}.")
        self.epochs = positive_count(epochs, "epochs")
        self.batch_size = positive_count(batch_size, "batch_size")
        self.device = torch.device(device)
        self.reset_optimizer = reset_optimizer
        if channels not in CHANNELS:
            raise unknown("channels", channels, CHANNELS)
        self.channels = channels
        wanted = "a module or a function of a batch of inputs, like frozen=Net()"
        self.frozen = checked_frozen(frozen, wanted, modules=True)
        self._frozen = None if frozen is None else TorchFrozen(frozen)
        self.heads = checked_heads(heads)
        self._set_strategy(strategy)

    def make(self, seed: int) -> TorchModel:
        """A fresh module and optimizer."""
        with self.seeded(seed_number(seed)):
            module = self.module_factory()
        if not isinstance(module, torch.nn.Module):
            raise ValueError(f"`module_factory` must return an nn.Module, got {type(module).__name__}.")
        return self._model(module, seed)

    def adopt(self, given: Any, classes: tuple[Hashable, ...]) -> TorchModel:
        """A copy of a module, of a module and its optimizer, or of a model of this learner."""
        if isinstance(given, TorchModel):
            self._check_memory(given.memory)
            self._check_apart("model", given.module, given.optimizer)
            return self._begun(self.copy(given))
        module, optimizer = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
        if not isinstance(module, torch.nn.Module):
            raise ValueError(
                "`model` must be an nn.Module, (module, optimizer) or a model of this learner, "
                f"got {type(given).__name__}."
            )
        if not isinstance(optimizer, torch.optim.Optimizer | None):
            raise ValueError(f"`model` must be (module, optimizer), got {type(optimizer).__name__} for the second.")
        self._check_apart("model", module, optimizer)
        if optimizer is None:
            return replace(self._model(copy.deepcopy(module), 0), classes=classes)
        return self._begun(replace(self.copy(TorchModel(module, optimizer, 0)), classes=classes))

    def fit(self, model: TorchModel, task: Task) -> TorchModel:
        """Train on; changes the model."""
        visit = model.seen.count(task.name)
        self._train(model, task, zlib.crc32(f"{model.seed} {visit} {task.name}".encode()))
        model.memory = self._remembered(model, task, visit)
        model.seen += (task.name,)
        return model

    def _train(self, model: TorchModel, task: Task, seed: int) -> None:
        """Train on the examples of a task, and on old ones that a strategy has kept."""
        model.classes = same_classes(model.classes, task, numbers=task.regression)
        if task.regression and self.heads != "shared":
            raise BadArgument(
                f"`heads` must be 'shared' where labels are numbers, got {self.heads!r} for {task.name!r}: one "
                "output predicts them all."
            )
        new = TorchExamples.of_task(task, self)
        kept = self._old(model.memory, model.seed, task.name, model.seen.count(task.name))
        old = None if kept is None else TorchExamples.of_kept(kept.parts, self, len(model.classes))
        if self.reset_optimizer:
            model.optimizer = self.optimizer_factory(model.module.parameters())
        model.module.train()
        with self.seeded(seed):
            for _ in range(self.epochs):
                for rows in self._batches(len(new)):
                    batch = new.take(rows)
                    if old is not None and kept is not None:
                        batch = batch.with_more(old.take(torch.from_numpy(kept.places(kept.replay.extra(len(rows))))))
                    outputs = self.outputs(model.module, batch.inputs)
                    loss = batch.loss(outputs)
                    if hasattr(self._acting, "penalty"):
                        first = batch.inputs[: len(rows)]
                        loss = loss + self._acting.penalty(model.memory, model.module, first, outputs[: len(rows)])
                    model.optimizer.zero_grad()
                    loss.backward()
                    model.optimizer.step()

    def losses_by_class(self, model: TorchModel, inputs: Any) -> Floats:
        """Minus the log probabilities."""
        outputs = self._forward(model, inputs)
        enough_outputs(outputs.shape[1], model.classes)
        return np.asarray(-torch.nn.functional.log_softmax(outputs, 1).numpy(), np.float64)

    def predicted(self, model: TorchModel, inputs: Any) -> Floats:
        """The only output for each row."""
        return np.asarray(single_output(self._forward(model, inputs)).numpy(), np.float64)

    def copy(self, model: TorchModel) -> TorchModel:
        """A copy of the module, and one of the optimizer that trains that copy."""
        module, optimizer = copy.deepcopy((model.module, model.optimizer))
        return replace(model, module=module, optimizer=optimizer)

    def _carried_out(self, strategy: Strategy | OwnStrategy) -> Any:
        """Also what adds to the loss."""
        if isinstance(strategy, EWC | Distill | L2Init):
            return torch_strategy(strategy, self)
        if hasattr(strategy, "penalty") and hasattr(strategy, "remember") and not isinstance(strategy, type):
            return strategy
        return super()._carried_out(strategy)

    def describe(self) -> str:
        """The module, its first weights, the optimizer and all settings."""
        model = self.make(0)
        weights = [float(value.double().sum()) for value in model.module.state_dict().values()]
        return (
            f"torch {torch.__version__} {model.module} {weights} {model.optimizer} epochs={self.epochs} "
            f"batch_size={self.batch_size} device={self.device.type} reset_optimizer={self.reset_optimizer}"
            f"{' channels=last' if self.channels == 'last' else ''}{self._said()}"
            f"{'' if self.frozen is None else f' frozen={frozen_text(self.frozen)}'}"
        )

    def _model(self, module: Any, seed: int) -> TorchModel:
        self._check_apart("module_factory", module)
        module = module.to(self.device)
        optimizer = self.optimizer_factory(module.parameters())
        self._check_apart("optimizer_factory", module, optimizer)
        return self._begun(TorchModel(module, optimizer, seed))

    def _check_apart(self, name: str, module: Any, optimizer: Any = None) -> None:
        """Refuse to train what is frozen."""
        if self._frozen is not None:
            self._frozen.check_apart(name, module, optimizer)

    def _begun(self, model: TorchModel) -> TorchModel:
        """With what the strategy remembers before the first task."""
        if model.memory is None and hasattr(self._acting, "start"):
            model.memory = self._acting.start(model.module)
        return model

    def _forward(self, model: TorchModel, inputs: Any) -> Any:
        """What the module says in evaluation mode, on the processor."""
        rows: Rows = rows_of(inputs)
        features = None if self.frozen is None else self.given(inputs)
        model.module.eval()
        parts = []
        with torch.no_grad():
            for begin in range(0, len(rows), FORWARD_EXAMPLES):
                some = slice(begin, min(begin + FORWARD_EXAMPLES, len(rows)))
                # a copy, for modules may write to what they are given
                batch = self.tensor(rows[np.arange(len(rows))[some]]) if features is None else features[some].clone()
                parts.append(self.outputs(model.module, batch))
        return torch.cat(parts).cpu()

    def outputs(self, module: Any, batch: Any) -> Any:
        """What the module says, or how images must lie for it."""
        try:
            return module(batch)
        except RuntimeError as problem:
            on_features = self.frozen is not None and module is not self.frozen
            if getattr(batch, "ndim", 0) != 4 or "channels" not in str(problem) or on_features:
                raise
            now, other = self.channels, "last" if self.channels == "first" else "first"
            raise ValueError(
                f"`channels` must say where images have their channels, got {now!r} and inputs of shape "
                f"{tuple(batch.shape[1:])} for the module. Try TorchLearner(..., channels={other!r})."
            ) from problem

    def given(self, inputs: Any) -> Any:
        """All rows as the module is given them: features where there is a frozen part, which nobody may write to."""
        return self.tensor(inputs) if self._frozen is None else self._frozen.features(inputs, self)

    def tensor(self, inputs: Any) -> Any:
        """Floats in single precision; whole numbers (tokens, say) stay whole; texts stay a list of texts."""
        rows = rows_of(inputs)
        if rows.shown == "texts":
            return list(rows.values)
        values = inputs_as_floats(number_array(inputs))
        if self.channels == "last" and values.ndim > 3:
            values = np.moveaxis(values, -1, 1)
        return torch.tensor(values, dtype=torch.float32 if values.dtype.kind == "f" else torch.int64).to(self.device)

    def _batches(self, count: int) -> list[Any]:
        """Places in random order; a last batch of one joins the one before, for batch normalization needs two."""
        batches = list(torch.randperm(count).split(self.batch_size))
        if len(batches) > 1 and len(batches[-1]) == 1:
            batches[-2:] = [torch.cat(batches[-2:])]
        return batches

    @contextmanager
    def seeded(self, seed: int) -> Iterator[None]:
        """Torch's own random numbers start from `seed` inside, and go on outside as if nothing had happened."""
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            torch.manual_seed(seed)
            yield
