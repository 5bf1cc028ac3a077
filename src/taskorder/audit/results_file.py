"""Results from a file: CSV, also compressed, with commas, semicolons or tabs."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import os
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from taskorder.audit.results import Results, Row, needed_columns, results_from_rows

MAX_BYTES = 2**30


def read_results(path: str | os.PathLike[str], where: Mapping[str, str] | None = None) -> Results:
    """The results in a CSV file (.csv, .csv.gz, tabs or semicolons; "-" reads standard input).

    `where` keeps the rows with these values: {"set": "0"}; only these are in memory.
    """
    label = os.fspath(path)
    try:
        with _opened(label) as stream:
            return results_from_rows(_rows(_lines(stream, label), label), label, where)
    except (OSError, EOFError, zlib.error) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise ValueError(f"`{label}` must be a readable file, got: {reason}.") from None


@contextmanager
def _opened(path: str) -> Iterator[io.BufferedReader | gzip.GzipFile]:
    """The bytes of a file or of standard input, unpacked where they are packed."""
    if path == "-" and sys.stdin is None:
        raise ValueError("`standard input` must be open to read from it, got a closed one. Name a file.")
    source: Any = sys.stdin.buffer if path == "-" else open(path, "rb", buffering=0)  # noqa: SIM115 (closed below)
    stream = io.BufferedReader(source)
    try:
        if stream.peek(2).startswith(b"\x1f\x8b"):
            with gzip.open(stream) as packed:
                yield packed
        else:
            yield stream
    finally:
        stream.detach()  # standard input is not ours to close
        if path != "-":
            source.close()


def _lines(stream: io.BufferedReader | gzip.GzipFile, label: str) -> Iterator[str]:
    """One line after another, for files that may be large."""
    size = 0
    for number in itertools.count(1):
        line = stream.readline(MAX_BYTES + 1)
        if not line:
            return
        size += len(line)
        if size > MAX_BYTES:
            limit = f"{MAX_BYTES // 2**20} MB"
            raise ValueError(f"`{label}` must have at most {limit}, got more. Keep the last step of a run.")
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            said = f"got an odd byte on line {number}. Save it as UTF-8."
            raise ValueError(f"`{label}` must be UTF-8 text, {said}") from None


def _rows(lines: Iterator[str], label: str) -> Iterator[Row]:
    """The lines below the header; blank lines are skipped."""
    first, blank = next(lines, ""), 0
    while first and not first.strip():  # it would say nothing about the separator
        first, blank = next(lines, ""), blank + 1
    mark = max((",", ";", "\t"), key=first.count)
    reader = csv.reader(itertools.chain([first], lines), delimiter=mark)
    header: list[str] = []
    try:
        for cells in reader:
            line = blank + reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = [cell.strip().lower() for cell in cells]
                twice = [name for name in header if header.count(name) > 1]
                if twice:
                    raise ValueError(f"`{label}` must name each column once, got {twice[0]!r} twice on line {line}.")
                needed_columns(header, label)
                continue
            if len(cells) != len(header):
                raise ValueError(f"`{label}` must have {len(header)} cells a row, got {len(cells)} on line {line}.")
            yield line, dict(zip(header, (cell.strip() for cell in cells), strict=True))
    except csv.Error as problem:
        line = blank + reader.line_num
        raise ValueError(f"`{label}` must be CSV, got a problem on line {line}: {problem}.") from None
