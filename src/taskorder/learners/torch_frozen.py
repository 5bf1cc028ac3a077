"""A frozen part of PyTorch: a module, or a function that uses some."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from taskorder.arguments import BadArgument
from taskorder.learners.frozen import FrozenPart, check_rows, refuse_not_finite
from taskorder.learners.frozen_description import is_module, uses_of
from taskorder.task import number_array, rows_of
from taskorder.task.rows import is_tensor

try:
    import torch
except ImportError:  # TorchLearner says so
    torch = None


class TorchFrozen(FrozenPart):
    """Used in evaluation mode and without gradients on the device of the learner, and then put back as it was."""

    def __init__(self, given: Any) -> None:
        super().__init__(given)
        uses = list(uses_of(given))
        self._modules = [use for use in uses if is_module(use)]
        inner = {id(tensor) for module in self._modules for tensor in (*module.parameters(), *module.buffers())}
        self._others = [use for use in uses if is_tensor(use) and id(use) not in inner]
        """Tensors of no module, which a function takes from where it was made."""

    def _values(self, rows: Any) -> Any:
        known = rows_of(rows)
        return list(known.values) if known.shown == "texts" else number_array(rows)

    def _passed(self, values: Any, reader: Any) -> Any:
        found = reader.outputs(self.given, reader.tensor(values))
        check_rows(
            found.shape if is_tensor(found) else None, found, len(values),
            "Take what you need of it, like frozen=lambda inputs: net(inputs)[0].",
        )  # fmt: skip
        found = found.detach().to(reader.device)
        found = found.float() if found.is_floating_point() else found
        refuse_not_finite(int((~torch.isfinite(found).reshape(len(found), -1).all(1)).sum()), len(found))
        return found

    def _room(self, count: int, like: Any) -> Any:
        return like.new_empty((count, *like.shape[1:]))

    def _state(self) -> Hashable:
        """Also how often each tensor was written to."""
        return tuple((id(each), 0 if each.is_inference() else each._version) for each in self._tensors())

    def _tensors(self) -> list[Any]:
        return [
            *self._others,
            *(weight for module in self._modules for weight in module.parameters()),
            *self._buffers(),
        ]

    def _buffers(self) -> list[Any]:
        return [buffer for module in self._modules for buffer in module.buffers()]

    @contextmanager
    def _at_rest(self, reader: Any) -> Iterator[None]:
        """Tensors lend their place to copies where those on the device are others, and buffers always."""
        modes = [(module, module.training) for each in self._modules for module in each.modules()]
        buffers = set(map(id, self._buffers()))
        before = [(tensor, tensor.data) for tensor in self._tensors()]
        try:
            for module in self._modules:
                module.eval()
            for tensor, data in before:
                tensor.data = data.to(reader.device, copy=id(tensor) in buffers)
            with reader.seeded(0), torch.no_grad():
                yield
        finally:
            for tensor, data in before:
                tensor.data = data
            for each, mode in modes:
                each.training = mode

    def check_apart(self, name: str, module: Any, optimizer: Any = None) -> None:
        """Refuse a module, or an optimizer, that holds weights of the frozen part: training would change them."""
        own = {id(tensor) for tensor in self._tensors()}
        held = [*module.parameters(), *module.buffers()]
        held += [] if optimizer is None else [weight for group in optimizer.param_groups for weight in group["params"]]
        shared = len(own & set(map(id, held)))
        if shared:
            raise BadArgument(
                f"`{name}` must train only what stands on top of `frozen`, got {shared} of its weights. "
                "Leave them out: features of `frozen` are what the module is given."
            )
