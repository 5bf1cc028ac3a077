"""A frozen part of JAX: a function of a batch of inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.engine.losses import as_floats
from taskorder.learners.frozen import FROZEN_AT_ONCE, FrozenPart, check_rows, refuse_not_finite, single_precision
from taskorder.learners.jax_examples import dense_array, on_device


class JaxFrozen(FrozenPart):
    """Used on batches of one size, so that it is compiled once; features are kept as inputs are, outside the device."""

    def _values(self, rows: Any) -> NDArray[Any]:
        return single_precision(dense_array(rows))

    def _passed(self, values: Any, reader: Any) -> NDArray[np.float32]:
        padded = values[np.minimum(np.arange(FROZEN_AT_ONCE), len(values) - 1)]
        found = self.given(as_floats(on_device(padded)))
        check_rows(
            getattr(found, "shape", None), found, FROZEN_AT_ONCE,
            "Take what you need of it, like frozen=lambda inputs: apply(weights, inputs)[0].",
        )  # fmt: skip
        features = np.asarray(found, np.float32)[: len(values)]
        bad = ~np.isfinite(features).reshape(len(features), -1).all(axis=1)
        refuse_not_finite(int(bad.sum()), len(features))
        return features

    def _room(self, count: int, like: Any) -> NDArray[np.float32]:
        return np.empty((count, *like.shape[1:]), np.float32)
