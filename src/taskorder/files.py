"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` at the end; nothing is left of it where anything fails.

    It is beside `path`, has its ending, which may decide the format, and is of this process alone.
    """
    target = Path(path)
    part = target.with_name(f".{os.getpid()}.part.{target.name}")
    try:
        yield part
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink()
