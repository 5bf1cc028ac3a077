"""A frozen part of PyTorch: a module, or a function that uses some."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from taskorder.arguments import BadArgument
from taskorder.learners.frozen import FrozenPart, check_rows, refuse_not_finite, single_precision
from taskorder.learners.frozen_description import is_module, uses_of
from taskorder.task import number_array, rows_of
from taskorder.task.rows import is_tensor

try:
    import torch
except ImportError:  # TorchLearner says so
    torch = None


class TorchFrozen(FrozenPart):
    """Used in evaluation mode and without gradients on the device of the learner, and then put back as it was."""

    def _values(self, rows: Any) -> Any:
        known = rows_of(rows)
        return list(known.values) if known.shown == "texts" else single_precision(number_array(rows))

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

    def _state(self) -> list[tuple[Any, int]]:
        uses = [use for use in uses_of(self.given) if is_tensor(use)]
        return [(tensor, 0 if tensor.is_inference() else tensor._version) for tensor in uses]

    @contextmanager
    def _at_rest(self, reader: Any) -> Iterator[None]:
        """Tensors lend their place to copies where those on the device are others, and buffers always."""
        uses = list(uses_of(self.given))
        found = [use for use in uses if is_module(use)]
        modes = [(module, module.training) for each in found for module in each.modules()]
        buffers = {id(buffer) for module in found for buffer in module.buffers()}
        before = [(use, use.data) for use in uses if is_tensor(use)]
        try:
            for module in found:
                module.eval()
            for tensor, data in before:
                tensor.data = data.to(reader.device, copy=id(tensor) in buffers)
            with reader.seeded(0), torch.no_grad():
                yield
        finally:
            for tensor, data in before:
                tensor.data = data
            for module, mode in modes:
                module.training = mode

    def check_apart(self, name: str, module: Any, optimizer: Any = None) -> None:
        """Refuse a module, or an optimizer, that holds weights of the frozen part: training would change them."""
        own = {id(use) for use in uses_of(self.given) if is_tensor(use)}
        held = [*module.parameters(), *module.buffers()]
        held += [] if optimizer is None else [weight for group in optimizer.param_groups for weight in group["params"]]
        shared = len(own & set(map(id, held)))
        if shared:
            raise BadArgument(
                f"`{name}` must train only what stands on top of `frozen`, got {shared} of its weights. "
                "Leave them out: features of `frozen` are what the module is given."
            )
