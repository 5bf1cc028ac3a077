"""What the readers share: sizes checked before memory is taken, and refusals of one line."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MAX_BYTES = 2 * 2**30
"""Data sets that would take more memory than this are refused."""


def shown(path: str | os.PathLike[str]) -> str:
    """A path on one line."""
    text = os.fspath(path)
    return text if text.isprintable() else repr(text)[1:-1]


def file_size(path: Path, max_bytes: int = MAX_BYTES) -> int:
    """The size of a plain file that can be read, not empty and not too large."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise ValueError(f"`{shown(path)}` must be an existing file, got no such file. Check the path.") from None
    except OSError as problem:
        raise unreadable(path, problem) from None
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"`{shown(path)}` must be a plain file, got something else.")
    if not 0 < found.st_size <= max_bytes:
        raise ValueError(
            f"`{shown(path)}` must have 1 byte to {max_bytes / 2**20:.4g} MB, got {found.st_size / 2**20:.4g} MB. "
            "It is damaged, or some other file."
        )
    return found.st_size


def unreadable(path: Path, problem: OSError) -> ValueError:
    """The refusal for what the operating system says."""
    reason = problem.strerror or type(problem).__name__
    return ValueError(f"`{shown(path)}` must be readable, got: {reason}. Check its permissions and path.")


def no_room(folder: Path, problem: OSError) -> ValueError:
    """The refusal for a folder that cannot be written."""
    reason = problem.strerror or type(problem).__name__
    return ValueError(
        f"`{shown(folder)}` must be a folder with room to write, got: {reason}. "
        "Make room, or choose another `folder`; TASKORDER_DATA names the usual one."
    )


def damaged(path: Path, rule: str, found: str, fix: str = "Get the file again.") -> ValueError:
    """The refusal for a broken file."""
    return ValueError(f"`{shown(path)}` must {rule}, got {found}. {fix}")


def read_class_names(path: Path) -> tuple[str, ...]:
    """The class names in a text file, one a line."""
    file_size(path, 2**16)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise damaged(path, "be a text of class names", "odd bytes") from None
    except OSError as problem:
        raise unreadable(path, problem) from None
    names = tuple(line.strip() for line in lines if line.strip())
    if not names or len(set(names)) < len(names) or not all(name.isprintable() for name in names):
        raise damaged(path, "list different class names, one a line", f"{len(names)} that are not")
    return names
