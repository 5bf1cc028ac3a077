"""Run what is missing on a Ray cluster: the same signature, batches and tables as runs/local.py.

Ray places the batches; this process keeps a bounded number of them out, retries those whose worker was lost, and
writes the store.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from taskorder._version import __version__
from taskorder.runs.cluster import TRIES, Packed, Share, WorkerLost, cancel, connected, load_once, pack
from taskorder.runs.head import MOMENT_SECONDS, Head, PolledCount, first_line, from_outside, need_ray
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.runs.sweep import Device, Done, Finished, RunBatch, RunReport, chunks, error_text, sweep, timed

AHEAD = 2
"""Batches (or fits of a learner) out for every worker: one at work, and one that waits."""
COUNT_AGAIN_SECONDS = 5.0
"""How often to look whether the cluster has grown."""


def complete(
    specs: Sequence[RunSpec],
    run_batch: RunBatch,
    store: Store,
    *,
    batch_size: int | Callable[[], int] = 50,
    report: RunReport | None = None,
    keep_going: bool = False,
    inputs: str = "",
    device: Device = "",
    finished: Finished | None = None,
    share: Share | None = None,
) -> int:
    """Run and keep what the store lacks of `specs`; how many failed (see `runs.local.complete`).

    run_batch: anything that can be pickled. Arrays that it holds are put once into Ray's object store, and all workers
        of a machine read them in place.
    batch_size, device: a function is called in a worker, which may be another kind of machine.
    share: what each worker has for itself; one CPU by default.
    """
    how: dict[str, Any] = {"report": report, "keep_going": keep_going, "inputs": inputs, "device": device}
    share = share or Share()
    if not any(store.missing(part) for part in chunks(specs)):
        return 0  # no need to disturb the cluster
    with connected(share=share), from_outside():
        return sweep(specs, _Cluster(run_batch, batch_size, device, share), store, finished=finished, **how)


class _Sent(NamedTuple):
    ticket: int
    batch: Sequence[RunSpec]
    tries: int = 1


class _Cluster:
    """The workers of the cluster."""

    def __init__(self, run_batch: RunBatch, batch_size: int | Callable[[], int], device: Device, share: Share) -> None:
        self._ray = need_ray()
        self._head = Head()
        self._shared = uuid.uuid4().hex, self._ray.put(pack((run_batch, batch_size, device))), share
        # A process is used again and again (max_calls), also where it has a GPU. Retries are ours: Ray would try a
        # batch that needs more memory than there is forever.
        options = {"num_cpus": share.cpus, "num_gpus": share.gpus, "max_calls": 0, "max_retries": 0}
        self._work = self._ray.remote(**options)(_work)
        self._ask = self._ray.remote(**options)(_ask)
        self._out: dict[Any, _Sent] = {}
        self._count = 0
        self._workers = PolledCount(share.workers, self._head, COUNT_AGAIN_SECONDS)

    def batch_size(self, ask: Callable[[], None]) -> int:
        """What a worker says, or was told; an error in one line if workers cannot do the work at all."""
        answer = self._ask.remote(*self._shared)
        self._out[answer] = _Sent(0, ())
        while not self._come([answer]):
            ask()
        del self._out[answer]
        try:
            with self._head.guarded():
                version, size = self._ray.get(answer)
        except self._ray.exceptions.RayError as problem:
            cause = getattr(problem, "cause", None)
            reason = error_text(cause) if isinstance(cause, Exception) else first_line(problem)
            raise ValueError(
                f"Ray's machines must have taskorder {__version__} and all that it needs here, got {reason}."
            ) from None
        if version != __version__:
            raise ValueError(f"Ray's machines must have taskorder {__version__}, got {version}.")
        return int(size)

    def room(self) -> int:
        """Some batches for every worker that the cluster holds now; a few where it has yet to grow."""
        return AHEAD * max(1, self._workers.last())

    def start(self, batch: Sequence[RunSpec]) -> int:
        """Hand a batch to Ray."""
        self._count += 1
        self._submit(_Sent(self._count, batch))
        return self._count

    def wait(self) -> tuple[int, Done | Exception] | None:
        """A batch that came back; one whose worker is lost is handed out again instead."""
        errors = self._ray.exceptions
        ready = self._come(list(self._out))
        if not ready:
            return None
        sent = self._out.pop(ready[0])
        try:
            with self._head.guarded():
                return sent.ticket, self._ray.get(ready[0])
        except errors.RayTaskError as problem:
            cause = problem.cause
            return sent.ticket, cause if isinstance(cause, Exception) else RuntimeError(first_line(problem))
        except errors.RayError as problem:
            if sent.tries < TRIES:
                self._submit(sent._replace(tries=sent.tries + 1))
                return None
            return sent.ticket, WorkerLost.from_ray(problem)

    def _come(self, refs: list[Any]) -> list[Any]:
        """One of the references that is through, or none after a moment."""
        with self._head.guarded():
            return list(self._ray.wait(refs, num_returns=1, timeout=MOMENT_SECONDS)[0])

    def _submit(self, sent: _Sent) -> None:
        self._out[self._work.remote(*self._shared, sent.batch)] = sent

    def cancel(self) -> None:
        """Kill what is at work, and forget what waits."""
        cancel(self._out, self._head)
        self._out.clear()


def _work(key: str, parts: Packed, share: Share, batch: Sequence[RunSpec]) -> Done:
    run_batch, _, device = load_once(key, parts, share)
    return timed(run_batch, batch, device)


def _ask(key: str, parts: Packed, share: Share) -> tuple[str, int]:
    _, batch_size, _ = load_once(key, parts, share)
    return __version__, batch_size if isinstance(batch_size, int) else batch_size()
