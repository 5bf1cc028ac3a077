"""Learning without forgetting: on new examples, answers about old tasks stay as they were when the task began.

    loss + strength * T^2 * sum over old heads of the mean of KL(softmax(z*/T) || softmax(z/T))

z are the outputs now, z* those with the weights at the beginning of the task, T is the temperature. With a head for
each task, every old head counts; else there is one, of all classes that were learned.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from taskorder.engine.losses import among
from taskorder.strategies import Distill


def divergence(settings: Distill, outputs: Array, before: Array, heads: Array) -> Array:
    """The penalty for one network; heads: (H, outputs) which outputs each old head has, none in an empty row."""
    T = settings.temperature
    rows = heads.reshape(len(heads), *[1] * (outputs.ndim - 1), heads.shape[1])
    old, new = (jax.nn.log_softmax(among(logits[None] / T, rows)) for logits in (before, outputs))
    apart = (jnp.exp(old) * (old - new)).sum(axis=-1)  # (H, batch, ...)
    return settings.strength * T**2 * apart.mean(axis=tuple(range(1, apart.ndim))).sum()
