"""Claims on specs, so that processes that share a store do not run the same spec at the same time.

A claim is a lock on one byte of the file `STORE.lock`, at a place that the digest of the spec gives. The operating
system drops it with its process, however that ends: no claim outlives its owner, and none needs a clock. Where locks
do not work (Windows, some network file systems) everything can be claimed: work may be done twice, but the store keeps
the first result, so nothing is doubled.
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

TAKEN = (errno.EAGAIN, errno.EACCES)


class Claims:
    """The claims of this process on the specs of a store; a store in memory has no others to fear."""

    def __init__(self, store: Path | None) -> None:
        self._file: int | None = None
        if store is not None and fcntl is not None:
            with suppress(OSError):  # no room for a file, or a read-only folder: as where locks do not work
                self._file = os.open(f"{store}.lock", os.O_RDWR | os.O_CREAT, 0o666)

    def __enter__(self) -> Claims:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.close(self._file)

    @contextmanager
    def take(self, digests: Sequence[str]) -> Iterator[bool]:
        """Whether all of `digests` are claimed by this process now, until the end of the block; all or none."""
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
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(digest))
        except OSError as problem:
            return problem.errno not in TAKEN
        return True

    def _unlock(self, digest: str) -> None:
        if self._file is not None:
            with suppress(OSError):  # where locks do not work there was none
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(digest))


def claimed(store: Path, digests: Iterable[str]) -> set[str]:
    """Which of `digests` other processes have claimed."""
    if fcntl is None or not Path(f"{store}.lock").exists():
        return set()
    found = set()
    with Claims(store) as claims:
        for digest in digests:
            with claims.take([digest]) as free:
                if not free:
                    found.add(digest)
    return found


def _place(digest: str) -> int:
    return int(digest[:15], 16)
