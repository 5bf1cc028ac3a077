"""Networks as pairs of plain functions: `init(key)` draws parameters, `apply(params, inputs)` gives logits.

Both are written for one network; the engine batches them. Any such pair will do: parameters may be any tree of arrays.
A network may also bring its own training step for many at once, where the general one is not the fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from taskorder.engine.losses import CrossEntropy, Loss
from taskorder.engine.ops import CONV_FORMS, average_pool, conv_form, dense

if TYPE_CHECKING:
    from taskorder.engine.train import Recipe, State

Params = Any
"""A tree of arrays."""
Step: TypeAlias = "Callable[[Recipe, State, Array, Array], State]"
"""From N networks, (N, batch, ...) inputs as they are in the pool and (N, batch) labels to the networks one step on."""


@dataclass(frozen=True)
class Net:
    """One kind of network."""

    init: Callable[[Array], Params]
    """From a random key to the parameters of one network."""
    apply: Callable[[Params, Array], Array]
    """From parameters and (batch, ...) inputs to (batch, outputs) logits."""
    step: Step | None = None
    """Trains all networks at once, in place of the gradient of `apply` and Adam, and means the same. It is taken for
    cross-entropy where all outputs compete and the strategy adds nothing to the loss."""
    loss: Loss = CrossEntropy()  # noqa: RUF009 (frozen)
    """What it is trained for and tested by."""
    again: Callable[[], Net] | None = field(default=None, compare=False, repr=False)
    """Makes it anew: what is pickled in its place, for where it arrives another form may be the fastest."""

    def __reduce__(self) -> tuple[Any, ...]:
        if self.again:
            return _made_again, (self.again, self.loss)
        return Net, (self.init, self.apply, self.step, self.loss)


def _made_again(again: Callable[[], Net], loss: Loss) -> Net:
    """The net that was pickled."""
    return replace(again(), loss=loss)


def mlp(input_shape: Sequence[int], num_outputs: int, hidden: Sequence[int] = (128, 64)) -> Net:
    """A multi-layer perceptron with ReLU; the default is the paper's."""
    sizes = [int(np.prod(input_shape)), *hidden, num_outputs]

    def init(key: Array) -> Params:
        keys = jax.random.split(key, len(sizes) - 1)
        return [_layer(k, (a, b)) for k, a, b in zip(keys, sizes[:-1], sizes[1:], strict=True)]

    def apply(params: Params, x: Array) -> Array:
        h = x.reshape(len(x), -1)
        for layer in params[:-1]:
            h = jax.nn.relu(dense(h, layer["w"]) + layer["b"])
        return dense(h, params[-1]["w"]) + params[-1]["b"]

    return Net(init, apply, again=partial(mlp, tuple(input_shape), num_outputs, tuple(hidden)))


def general_cnn(
    input_shape: Sequence[int], num_outputs: int, channels: Sequence[int], hidden: int, form: str | None = None
) -> Net:
    """The paper's convolutional network, trained by gradients; `cnn.cnn` takes what is faster where there is that.

    form: one of `ops.CONV_FORMS`; None takes what is fastest on this device (`ops.conv_form`).
    """
    height, width, depth = input_shape
    depths = [depth, *channels]
    features = (height >> len(channels)) * (width >> len(channels)) * channels[-1]
    if features == 0:
        raise ValueError(f"`input_shape` must allow {len(channels)} poolings by 2, got {height} x {width}.")
    conv = CONV_FORMS[form or conv_form(jax.default_backend())]

    def init(key: Array) -> Params:
        keys = jax.random.split(key, len(channels) + 2)
        convs = [_layer(k, (3, 3, a, b)) for k, a, b in zip(keys, depths[:-1], depths[1:], strict=False)]
        return {
            "convs": convs,
            "hidden": _layer(keys[-2], (features, hidden)),
            "output": _layer(keys[-1], (hidden, num_outputs)),
        }

    def apply(params: Params, x: Array) -> Array:
        h = x
        for layer in params["convs"]:
            h = average_pool(jax.nn.relu(conv(h, layer["w"]) + layer["b"]))
        h = jax.nn.relu(dense(h.reshape(len(h), -1), params["hidden"]["w"]) + params["hidden"]["b"])
        return dense(h, params["output"]["w"]) + params["output"]["b"]

    return Net(init, apply)


def _layer(key: Array, shape: tuple[int, ...]) -> dict[str, Array]:
    """LeCun-normal weights and zero biases."""
    return {"w": jax.nn.initializers.lecun_normal()(key, shape), "b": jnp.zeros(shape[-1])}
