"""The machine: what it is, kept beside every number that took time, and how much of it a process may use."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


def describe(*packages: str) -> dict[str, Any]:
    """Processor, cores, Python, and the versions of taskorder and of `packages` that are installed."""
    import importlib.metadata
    import platform

    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":", 1)[1].strip() if lines else model
    versions: dict[str, str] = {}
    for name in ("taskorder", *packages):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {"cpu": model, "cores": os.cpu_count(), "python": platform.python_version(), **versions}


def cores() -> int:
    """How many threads this process should work with: NPROC, as for XLA, or the cores that it may run on."""
    limit = os.environ.get("NPROC", "")
    if limit.isdecimal() and int(limit) > 0:
        return int(limit)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Limited:
    """How many calls under way have asked for one thread of BLAS, and what gives the others back."""

    lock = Lock()
    calls = 0
    limits = ExitStack()
    libraries = 0
    """How many packages that bring a BLAS of their own were loaded when it was limited last."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One thread for all BLAS of the process, as a block or a decorator: the first to come sets it, the last lifts it.

    BLAS divides a sum among its threads, so their number changes its last digit, and that may change an order: whatever
    leads to one runs in here. And on a busy machine, threads cost small products up to ten times what they bring.
    """
    with _Limited.lock:
        _limit()
        _Limited.calls += 1
    try:
        yield
    finally:
        with _Limited.lock:
            _Limited.calls -= 1
            if _Limited.calls == 0:
                _Limited.limits.close()


def _limit() -> None:
    """Limit what is loaded; SciPy's BLAS may come while NumPy's has its limit already."""
    libraries = 1 + ("scipy.linalg" in sys.modules)
    if _Limited.calls == 0 or libraries > _Limited.libraries:
        _Limited.limits.enter_context(_controller(libraries).limit(limits=1, user_api="blas"))
        _Limited.libraries = libraries


@cache
def _controller(libraries: int) -> ThreadpoolController:
    """What limits the BLAS of so many packages; to look for them takes a millisecond."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
