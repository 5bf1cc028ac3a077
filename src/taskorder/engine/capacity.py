"""How many networks to train at once."""

from __future__ import annotations

import math

import jax

from taskorder.engine.nets import Net
from taskorder.strategies import EWC, Distill, L2Init, Strategy

MOST_ON_CPU = 64
"""More at once bring nothing on a CPU (`python benchmarks/engine.py steps`): it trains them in small groups."""
NETWORK_SHARE = 0.4
"""Elsewhere, the share of the device's memory that is for networks."""
UNKNOWN_DEVICE_BYTES = 2_000_000_000
"""Memory for networks on a device that does not say how much it has."""
COPIES = 12
"""Arrays as large as the parameters for each network in training: its state, its parent's, and what XLA keeps."""
COPIES_BESIDE = 4
"""The same for each array that a strategy has beside parameters and moments."""
BESIDE = {EWC: 2, Distill: 1, L2Init: 1}
"""How many these are: the matrix, the weights when the task began, the first weights."""


def networks_that_fit(net: Net, bytes_allowed: float | None = None, strategy: Strategy | None = None) -> int:
    """How many networks to train at once, a power of two: what fits the device."""
    shapes = jax.eval_shape(net.init, jax.random.key(0))
    size = 4 * sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(shapes))
    device = jax.devices()[0]
    if bytes_allowed is None and device.platform == "cpu":
        return min(MOST_ON_CPU, networks_that_fit(net, UNKNOWN_DEVICE_BYTES, strategy))
    if bytes_allowed is None:
        stats = device.memory_stats()
        bytes_allowed = NETWORK_SHARE * stats["bytes_limit"] if stats else UNKNOWN_DEVICE_BYTES
    copies = COPIES + COPIES_BESIDE * BESIDE.get(type(strategy), 0)
    return _power_below(int(bytes_allowed // (copies * size)))


def _power_below(count: int) -> int:
    """The largest power of two up to `count`, from 1 to 4096."""
    return max(1, min(4096, 1 << max(0, count.bit_length() - 1)))
