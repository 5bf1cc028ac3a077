"""A checksum with every row of a store, so that a row which has changed is told from one that was written.

It is the SHA-256 of all cells of the row. A finished run and a failure must also have the digest of their own kind and
parameters: else the row counts as another run.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from taskorder.parsing import json_values
from taskorder.runs.specs import RunSpec

if TYPE_CHECKING:
    from hashlib import _Hash

CHECKED = {
    "results": ("digest", "kind", "params", "result", "seconds", "version", "inputs", "device", "finished"),
    "failures": ("digest", "kind", "params", "error", "failed", "version", "device"),
    "requests": ("name", "config", "digests"),
}
"""The columns of each table, but for the checksum, which comes last."""
REAL = "seconds"
"""The one column that is no text."""

Cell = bytes | str | float | None


def checksum(cells: Sequence[Cell]) -> str:
    """SHA-256 of the cells of a row, which are texts (or their bytes) and numbers.

    >>> checksum(["ab", "c"]) == checksum([b"ab", "c"]) != checksum(["a", "bc"])
    True
    """
    *before, last = map(_bytes, cells)
    found = checksum_so_far(before, len(last))
    found.update(last)
    return found.hexdigest()


def checksum_so_far(cells: Sequence[Cell], size: int) -> _Hash:
    """The checksum of a row whose last cell, of `size` bytes, is still to be added piece by piece."""
    found = sha256()
    for data in map(_bytes, cells):
        found.update(b"%d:" % len(data) + data)
    found.update(b"%d:" % size)
    return found


def _bytes(cell: Cell) -> bytes:
    return cell if isinstance(cell, bytes) else (cell if isinstance(cell, str) else repr(cell)).encode()


def checksum_in_sql(table: str) -> str:
    """The checksum of a row, as an expression."""
    return f"checksum_of({_cells(table)})"


def intact(table: str) -> str:
    """Whether a row is as it was written, as an expression that is 1 or 0."""
    if table == "requests":
        return f"(checksum = {checksum_in_sql(table)})"
    types = " || ".join(f"typeof({column})" for column in CHECKED[table])
    wanted = "".join("real" if column == REAL else "text" for column in CHECKED[table])
    return f"({types} = '{wanted}' and is_intact(cast(checksum as blob), {_cells(table)}))"


NAMED = "(typeof(digest) = 'text' and fits(cast(digest as blob), cast(kind as blob), cast(params as blob)))"
"""Whether a row has the digest of its kind and parameters, as an expression that is 1 or 0."""


def _cells(table: str) -> str:
    """Cells as SQL hands them to Python: a damaged text need not be text, and a number as text loses digits."""
    return ", ".join(column if column == REAL else f"cast({column} as blob)" for column in CHECKED[table])


def add_functions(db: sqlite3.Connection) -> None:
    """Let the expressions above be used in a database."""
    db.create_function("checksum_of", -1, lambda *cells: checksum(cells), deterministic=True)
    db.create_function("is_intact", -1, _is_intact, deterministic=True)
    db.create_function("fits", 3, fits, deterministic=True)


def _is_intact(found: bytes, digest: bytes, kind: bytes, params: bytes, *more: Cell) -> bool:
    return checksum([digest, kind, params, *more]).encode() == found and fits(digest, kind, params)


def fits(digest: bytes, kind: bytes, params: bytes) -> bool:
    """Whether a digest is that of the kind and the parameters."""
    try:
        return RunSpec(kind.decode(), json_values(params)).digest.encode() == digest
    except ValueError:
        return False
