"""Results from a file: CSV, also compressed, with commas, semicolons or tabs."""

from __future__ import annotations

import csv
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from taskorder.audit.results import Results, Row, needed_columns, results_from_rows
from taskorder.files import utf8_text

MAX_BYTES = 2**30


def read_results(path: str | os.PathLike[str], where: Mapping[str, str] | None = None) -> Results:
    """The results in a CSV file (.csv, .csv.gz, tabs or semicolons; "-" reads standard input).

    `where` keeps the rows with these values: {"set": "0"}.
    """
    label, text = os.fspath(path), _text(os.fspath(path))
    return results_from_rows(_rows(text, label), label, where)


def _text(path: str) -> str:
    try:
        data = _bytes(sys.stdin.buffer) if path == "-" else _contents(Path(path))
        if data.startswith(b"\x1f\x8b"):
            with gzip.open(io.BytesIO(data)) as packed:
                data = _bytes(packed)
    except (OSError, EOFError, zlib.error) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise ValueError(f"`{path}` must be a readable file, got: {reason}.") from None
    if len(data) > MAX_BYTES:
        raise ValueError(f"`{path}` must have at most {MAX_BYTES // 2**20} MB, got more. Keep the last step of a run.")
    return utf8_text(data, path)


def _contents(path: Path) -> bytes:
    with open(path, "rb") as stream:
        return _bytes(stream)


def _bytes(stream: IO[bytes] | gzip.GzipFile) -> bytes:
    """All of it up to one byte past the limit, piece by piece: a read takes room for all that it may give."""
    data = bytearray()
    while len(data) <= MAX_BYTES and (piece := stream.read(2**20)):
        data += piece
    return bytes(data[: MAX_BYTES + 1])


def _rows(text: str, label: str) -> Iterator[Row]:
    """The lines below the header; blank lines are skipped."""
    first = text.split("\n", 1)[0]
    mark = max((",", ";", "\t"), key=first.count)
    reader = csv.reader(io.StringIO(text), delimiter=mark)
    header: list[str] = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = [cell.strip().lower() for cell in cells]
                twice = [name for name in header if header.count(name) > 1]
                if twice:
                    raise ValueError(f"`{label}` must name each column once, got {twice[0]!r} twice on line 1.")
                needed_columns(header, label)
                continue
            if len(cells) != len(header):
                raise ValueError(
                    f"`{label}` must have {len(header)} cells a row, got {len(cells)} on line {reader.line_num}."
                )
            yield reader.line_num, dict(zip(header, (cell.strip() for cell in cells), strict=True))
    except csv.Error as problem:
        raise ValueError(f"`{label}` must be CSV, got a problem on line {reader.line_num}: {problem}.") from None
