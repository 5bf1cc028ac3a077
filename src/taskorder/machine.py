"""The machine: what it is, kept beside every number that took time, and how much of it a process may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
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


@cache
def _blas() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (brings a BLAS of its own, and only what is loaded can be limited)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _Limited:
    """How many threads of this process have asked for one thread of BLAS, and what gives the others back."""

    lock = Lock()
    count = 0
    limiter: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Many small matrix products: on a busy machine the threads of BLAS cost up to ten times what they bring.

    The limit is one of the whole process: the first to come sets it, and the last to go lifts it.
    """
    with _Limited.lock:
        if _Limited.count == 0:
            _Limited.limiter = _blas().limit(limits=1, user_api="blas")
        _Limited.count += 1
    try:
        yield
    finally:
        with _Limited.lock:
            _Limited.count -= 1
            if _Limited.count == 0:
                _Limited.limiter.restore_original_limits()
