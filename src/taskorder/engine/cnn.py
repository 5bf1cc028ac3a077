"""The paper's convolutional network, in the form that trains fastest on this device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import jax

from taskorder.engine.fused import faster_step, forced_step
from taskorder.engine.nets import Net, general_cnn

KERNELS = "kernels"
"""The form that trains by hand-written GPU kernels (engine/fused.py)."""


def cnn(
    input_shape: Sequence[int],
    num_outputs: int,
    channels: Sequence[int] = (32, 64),
    hidden: int = 256,
    form: str | None = None,
) -> Net:
    """The paper's network: 3 x 3 convolutions with ReLU and average pooling, one dense layer, and the output.

    form: one of `ops.CONV_FORMS`, or kernels, which trains by kernels for CUDA (and slowly, interpreted, elsewhere) and
    raises what keeps them from working. None takes what is fastest on this device (`ops.conv_form`); kernels are tried
    on a GPU alone, and where they do not fit (see engine/fused.py) or do not work, the general form is taken.
    """
    shape, counts = tuple(input_shape), tuple(channels)
    net = general_cnn(shape, num_outputs, counts, hidden, "columns" if form == KERNELS else form)
    step = None
    if form == KERNELS:
        step = forced_step(shape, counts, hidden)
    elif form is None and jax.default_backend() == "gpu":
        step = faster_step(net, shape, num_outputs, counts, hidden)
    return replace(net, step=step, again=partial(cnn, shape, num_outputs, counts, hidden, form))
