"""What reading a file may cost: one budget of memory and time for every reader, by the size of the file on disk.

Most of what users give is read a part at a time, and what is kept of it is smaller than it was. Where a file can claim
or hide more than it holds (a header, a packed archive, short text that becomes many objects), the reader compares what
that would cost with the budget before it pays: for JSON and TOML in `taskorder.parsing`, for all else where it is read.
"""

from __future__ import annotations

MB = 2**20
FREE_MEMORY, MEMORY_FACTOR = 256 * MB, 16
FREE_SECONDS, SECONDS_PER_MB = 10.0, 2.0
DISK_BLOCK = 4096
"""A file of a folder counts as this many bytes at least: it takes them on a disk."""


def most_memory(num_bytes: int) -> int:
    """Bytes of memory that reading a file of this size may take.

    >>> most_memory(0) // MB, most_memory(100 * MB) // MB
    (256, 1856)
    """
    return FREE_MEMORY + MEMORY_FACTOR * num_bytes


def most_unpacked(num_bytes: int) -> int:
    """Bytes that a packed file of this size may unpack to: half of the memory, for they are copied once.

    >>> most_unpacked(0) // MB, most_unpacked(100 * MB) // MB
    (128, 928)
    """
    return most_memory(num_bytes) // 2


def most_seconds(num_bytes: int) -> float:
    """Seconds that reading a file of this size may take on one core of an ordinary machine.

    >>> most_seconds(0), most_seconds(100 * MB)
    (10.0, 210.0)
    """
    return FREE_SECONDS + SECONDS_PER_MB * num_bytes / MB


def megabytes(num_bytes: int) -> str:
    """A size for a message.

    >>> megabytes(1_500_000), megabytes(20_000 * MB)
    ('1.431 MB', '20000 MB')
    """
    size = num_bytes / MB
    return f"{size:.0f} MB" if size >= 1000 else f"{size:.4g} MB"
