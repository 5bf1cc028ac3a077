"""Files that are written whole or not at all, and text out of their bytes."""

from __future__ import annotations

import gzip
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO


def utf8_text(data: bytes, label: str) -> str:
    """The text in the bytes of a file that is called `label`, without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise ValueError(f"`{label}` must be UTF-8 text, got an odd byte on line {line}. Save it as UTF-8.") from None


@contextmanager
def gzip_text(path: Path) -> Iterator[TextIO]:
    """A text file to write, packed; its bytes hold no name and no time, so that equal tables are equal files."""
    with (
        open(path, "wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as file,
    ):
        yield file


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` at the end; nothing is left of it where anything fails.

    It is beside `path`, has its ending, which may decide the format, and is of this process alone. A link stays a link,
    and who might read the file still may, nobody else. A device or a pipe has no place to take: it is written to.
    """
    if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():
        yield Path(path)
        return
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{os.getpid()}.part.{target.name}")
    try:
        yield part
        if target.exists():
            shutil.copymode(target, part)
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink()
