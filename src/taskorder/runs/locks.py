"""Locks on specs, so that processes that share a store do not run the same spec at the same time.

A spec is locked by one byte of the file `STORE.lock`, at an offset that its digest gives. The operating system drops a
lock with its process, however that ends: no lock outlives its owner, and none needs a clock. Where locks do not work
(Windows, some network file systems) every spec counts as free: work may be done twice, but the store keeps the first
result, so nothing is doubled.

STORE is the file that is meant, whatever links lead to it; files with several names are not written to (store_file.py).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HELD_ELSEWHERE = (errno.EAGAIN, errno.EACCES)


class SpecLocks:
    """The locks of this process on the specs of a store; a store in memory is not shared and needs none."""

    def __init__(self, store: Path | None) -> None:
        self._file: int | None = None
        if store is not None and fcntl is not None:
            with suppress(OSError):  # no room for a file, or a read-only folder: as where locks do not work
                self._file = os.open(_lock_file(store), os.O_RDWR | os.O_CREAT, 0o666)

    def __enter__(self) -> SpecLocks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.close(self._file)

    @contextmanager
    def hold(self, digests: Sequence[str]) -> Iterator[bool]:
        """Lock all of `digests` or none until the end of the block; whether they are locked."""
        held: list[str] = []
        try:
            for digest in digests:
                if not self._lock(digest):
                    break
                held.append(digest)
            yield len(held) == len(digests)
        finally:
            for digest in held:
                self._unlock(digest)

    def _lock(self, digest: str) -> bool:
        if self._file is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _offset(digest))
        except OSError as problem:
            return problem.errno not in HELD_ELSEWHERE
        return True

    def _unlock(self, digest: str) -> None:
        if self._file is not None:
            with suppress(OSError):  # where locks do not work there was none
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _offset(digest))


def locked_elsewhere(store: Path, digests: Iterable[str]) -> set[str]:
    """Which of `digests` other processes have locked."""
    if fcntl is None or not os.path.exists(_lock_file(store)):
        return set()
    locked = set()
    with SpecLocks(store) as locks:
        for digest in digests:
            with locks.hold([digest]) as free:
                if not free:
                    locked.add(digest)
    return locked


def _lock_file(store: Path) -> str:
    return f"{os.path.realpath(store)}.lock"


def _offset(digest: str) -> int:
    return int(digest[:15], 16)
