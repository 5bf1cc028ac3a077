"""Run what is missing on this machine, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.runs.store_file import StoreError
from taskorder.runs.sweep import Device, Done, Finished, Interrupted, RunBatch, RunReport, sweep, timed

__all__ = ["Interrupted", "RunBatch", "RunReport", "complete", "run"]


def run(
    specs: Sequence[RunSpec],
    run_batch: RunBatch,
    store: Store,
    *,
    batch_size: int = 50,
    report: RunReport | None = None,
) -> list[dict[str, Any]]:
    """The results of all `specs`, in their order; what the store lacks is run first."""
    complete(specs, run_batch, store, batch_size=batch_size, report=report)
    results = [result for result in store.get(specs) if result is not None]
    if len(results) < len(specs):
        raise RuntimeError(f"The store lost {len(specs) - len(results)} of {len(specs)} results while they were read.")
    return results


def complete(
    specs: Sequence[RunSpec],
    run_batch: RunBatch,
    store: Store,
    *,
    batch_size: int = 50,
    report: RunReport | None = None,
    keep_going: bool = False,
    inputs: str = "",
    device: Device = "",
    finished: Finished | None = None,
) -> int:
    """Run and keep, batch by batch, what the store lacks of `specs`; how many failed (see runs/sweep.py).

    keep_going: leave the errors of failing specs in the store and go on with the others.
    inputs, device: digest of the data and name of the device, kept with every result.
    """
    how: dict[str, Any] = {"report": report, "keep_going": keep_going, "inputs": inputs}
    return sweep(specs, _Here(run_batch, batch_size, device), store, device=device, finished=finished, **how)


class _Here:
    """This process, one batch at a time."""

    def __init__(self, run_batch: RunBatch, batch_size: int, device: Device) -> None:
        self._run_batch, self._batch_size, self._device = run_batch, batch_size, device
        self._outcome: Done | Exception | None = None

    def batch_size(self, ask: Callable[[], None]) -> int:
        """What the caller asked for."""
        return self._batch_size

    def room(self) -> int:
        """One batch."""
        return 1

    def start(self, batch: Sequence[RunSpec]) -> int:
        """Run it."""
        try:
            self._outcome = timed(self._run_batch, batch, self._device)
        except (StoreError, Interrupted):
            raise
        except Exception as problem:
            self._outcome = problem
        return 0

    def wait(self) -> tuple[int, Done | Exception]:
        """What came of it."""
        assert self._outcome is not None
        return 0, self._outcome

    def cancel(self) -> None:
        """Nothing runs on."""
