"""Training runs in workers that may have neither the data set nor the driver's kind of device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from taskorder.datasets.dataset import Dataset
from taskorder.records import RunSpec
from taskorder.runs.settings import Config


@dataclass(frozen=True, eq=False)
class Training:
    """A `run_batch` that carries its data set along."""

    data: Dataset

    def __call__(self, batch: Sequence[RunSpec]) -> list[dict[str, Any]]:
        """Train a batch of specs together."""
        return list(_engine().run_batch(batch, data=self.data))

    def specs_at_once(self, config: Config) -> int:
        """How many specs the device of the worker trains together."""
        return int(_engine().specs_at_once(config, self.data))

    def device(self) -> str:
        """The device of the worker."""
        return str(_engine().device_name())


def _engine() -> Any:
    """The engine, which loads JAX; what it compiles is kept on the worker's disk."""
    from taskorder.engine.compiled import keep_compiled
    from taskorder.runs import task_sets as runs

    keep_compiled()
    return runs
