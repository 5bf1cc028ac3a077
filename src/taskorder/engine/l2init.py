"""Weight decay towards the weights of the fresh network.

loss + strength / 2 * sum of (w - w0)^2
"""

from __future__ import annotations

import jax

from taskorder.engine.nets import Params
from taskorder.strategies import L2Init


def pulled_to_first(settings: L2Init, gradient: Params, params: Params, first: Params) -> Params:
    """The gradient of the loss and of the penalty; elementwise, for any number of networks."""
    return jax.tree.map(lambda g, w, w0: g + settings.strength * (w - w0), gradient, params, first)
