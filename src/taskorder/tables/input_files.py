"""Files that others wrote, as bytes or lines: sizes are checked before memory is taken, and refusals are one line.

Their size, what they unpack to, and the length of a line are limited here; the budget is that of taskorder/costs.py.
"""

from __future__ import annotations

import gzip
import io
import itertools
import os
import re
import shlex
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any

from taskorder.arguments import BadArgument
from taskorder.costs import megabytes, most_unpacked
from taskorder.visible import visible

MAX_LINE = 2**24
"""Characters in a line: a file without line ends must not fill the memory."""
LINE_BYTES = 32
"""What a line of a packed file counts beside its characters: a row takes time, however short it is."""

FileOrStream = str | os.PathLike[str] | IO[Any]
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_HEAD = 4096


class Refusal(BadArgument):
    """A message of our own, as opposed to one of the many errors that a damaged file causes in other libraries."""

    def parts(self) -> tuple[str, ...]:
        """Text and names of arguments in turn: it begins with the name of a file, which is none."""
        return self.args


def refusal(path: str | os.PathLike[str], rule: str, got: str, *fix: str) -> Refusal:
    """The error for a file that breaks a rule; a fix that names arguments comes in parts, like a `BadArgument`.

    >>> refusal("a.csv", "be UTF-8 text", "an odd byte on line 3", "Save it as UTF-8.")
    Refusal('`a.csv` must be UTF-8 text, got an odd byte on line 3. Save it as UTF-8.')
    """
    first, *rest = fix or ("Get the file again.",)
    return Refusal(f"`{printable(path)}` must {rule}, got {got}." + f" {first}" * bool(first), *rest)


def printable(path: str | os.PathLike[str]) -> str:
    """A path on one line."""
    return visible(os.fspath(path))


def unreadable(path: str | os.PathLike[str], problem: OSError) -> Refusal:
    """The error for what the operating system refuses."""
    reason = problem.strerror or str(problem) or type(problem).__name__
    return Refusal(f"`{printable(path)}` must be readable, got: {reason}. Check its permissions and path.")


def file_size(path: str | os.PathLike[str], max_bytes: int) -> int:
    """The size of a plain file that can be read, not empty and not too large."""
    status = _status(path)
    if not stat.S_ISREG(status.st_mode):
        raise Refusal(f"`{printable(path)}` must be a plain file, got something else.")
    if not 0 < status.st_size <= max_bytes:
        rule, got = f"have 1 byte to {megabytes(max_bytes)}", megabytes(status.st_size)
        raise refusal(path, rule, got, "It is damaged, or some other file.")
    return status.st_size


def read_bytes(
    source: FileOrStream, name: str | None = None, *, max_bytes: int, content: str = "a similarity matrix"
) -> tuple[bytes, str]:
    """The contents of a path, a stream or "-" (standard input), and what messages call it."""
    if isinstance(source, (str, os.PathLike)) and os.fspath(source) == "-":
        source, name = _standard_input(), name or "standard input"
    if isinstance(source, (str, os.PathLike)):
        label = printable(name or source)
        _limit(_status(source, label).st_size, max_bytes, label)
        try:
            with open(source, "rb") as stream:
                data = stream.read(max_bytes + 1)
        except OSError as problem:
            raise unreadable(label, problem) from None
    else:
        label = printable(name or str(getattr(source, "name", "the stream")))
        try:
            data = source.read(max_bytes + 1)
        except OSError as problem:
            raise unreadable(label, problem) from None
        data = data.encode() if isinstance(data, str) else data
    _limit(len(data), max_bytes, label)
    if not data.strip():
        raise Refusal(f"`{label}` must hold {content}, got an empty file.")
    return data, label


@dataclass(frozen=True)
class OpenFile:
    """A file that is open to be read, unpacked where it is packed."""

    label: str
    """What messages call it."""
    stream: Any
    """Binary, with `peek`."""
    num_bytes: int | None
    """As it lies there. What comes through a pipe has no size: None for plain text, which is as long as what it holds,
    and 0 for a packed one."""
    is_packed: bool

    def lines(self, max_bytes: int) -> Iterator[str]:
        """Its lines, as they are needed."""
        most = most_unpacked(self.num_bytes or 0) if self.is_packed else None
        return text_lines(self.stream, self.label, max_bytes=max_bytes, most=most)

    def read(self, max_bytes: int, fix: str = "Keep only what is needed.") -> bytes:
        """All of it, at most so many bytes."""
        most = min(max_bytes, most_unpacked(self.num_bytes or 0)) if self.is_packed else max_bytes
        data: bytes = self.stream.read(most + 1)
        if len(data) > max_bytes:
            raise refusal(self.label, f"be at most {megabytes(max_bytes)}", "more", fix)
        if len(data) > most:
            raise unpacks_to_more(self.label, most)
        return data


@contextmanager
def open_file(path: str | os.PathLike[str]) -> Iterator[OpenFile]:
    """A file, plain or in gzip, or "-" (standard input)."""
    is_standard_input = os.fspath(path) == "-"
    label = "standard input" if is_standard_input else printable(path)
    status = None if is_standard_input else _status(path)
    num_bytes = None if status is None or not stat.S_ISREG(status.st_mode) else status.st_size
    try:
        source: Any = _standard_input() if is_standard_input else open(path, "rb", buffering=0)  # noqa: SIM115
        stream: Any = io.BufferedReader(source)
        is_packed = stream.peek(2).startswith(b"\x1f\x8b")
        unpacked: Any = gzip.GzipFile(fileobj=stream) if is_packed else stream
        try:
            yield OpenFile(label, unpacked, 0 if is_packed and num_bytes is None else num_bytes, is_packed)
        finally:
            if is_packed:
                unpacked.close()
            stream.detach()
            if not is_standard_input:  # which is not ours to close
                source.close()
    except (gzip.BadGzipFile, zlib.error, EOFError) as problem:
        raise refusal(label, "be a whole gzip file", f"a damaged one: {problem}".rstrip(".")) from None
    except OSError as problem:
        raise unreadable(label, problem) from None


@contextmanager
def open_lines(path: str | os.PathLike[str], *, max_bytes: int) -> Iterator[Iterator[str]]:
    """The lines of a text file, plain or in gzip, or of "-" (standard input), read as they are needed."""
    with open_file(path) as file:
        yield file.lines(max_bytes)


def unpacks_to_more(path: str | os.PathLike[str], most: int) -> Refusal:
    """The error for a packed file that would cost more than its size allows; unpacked it is larger and may."""
    fix = f"Unpack it first: gunzip -k {shlex.quote(printable(path))}."
    return refusal(path, f"unpack to at most {megabytes(most)} for its size", "more", fix)


def text_lines(stream: Any, label: str, *, max_bytes: int, most: int | None = None) -> Iterator[str]:
    """The lines of a binary stream of UTF-8 text, with their line ends and without a byte order mark.

    most: bytes that a packed file may unpack to, counted with `LINE_BYTES` for each line.
    """
    refuse_binary(stream.peek(_HEAD)[:_HEAD], label)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    size = beyond_ascii = 0
    try:
        for number in itertools.count(1):
            line = text.readline(MAX_LINE + 1)
            size += len(line)
            if not line:
                return
            if len(line) > MAX_LINE:
                rule = f"have lines of at most {MAX_LINE} characters"
                raise refusal(label, rule, f"a longer one on line {number}", "Write each row on its own line.")
            if size > max_bytes:
                raise refusal(label, f"be at most {megabytes(max_bytes)}", "more", "Keep only the rows needed.")
            if most is not None and size + LINE_BYTES * number > most:
                raise unpacks_to_more(label, most)
            if not line.isascii():
                if _NOT_UTF8.search(line):
                    raise _not_utf8(label, number, beyond_ascii)
                beyond_ascii = beyond_ascii or number
            yield line
    finally:
        with suppress(ValueError):  # closed already, where nobody read to the end
            text.detach()


def _not_utf8(label: str, number: int, before: int) -> Refusal:
    """The error for a line in another encoding; `before` is a line of good UTF-8 beyond ASCII, if there was one."""
    rule = "be UTF-8 text"
    if before:
        got = f"UTF-8 on line {before} and an odd byte on line {number}"
        return refusal(label, rule, got, "It was joined from files of two encodings: save each as UTF-8, then join.")
    fix = f"Save it as UTF-8: iconv -f WINDOWS-1252 -t UTF-8 {shlex.quote(label)} > utf8.csv."
    return refusal(label, rule, f"an odd byte on line {number}", fix)


def refuse_binary(data: bytes, label: str) -> None:
    """Refuse what is no text, by its first bytes."""
    head = data[:_HEAD]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise refusal(label, "be UTF-8 text", "UTF-16", "Save it as UTF-8.")
    if head.startswith(b"\x80"):
        raise refusal(label, "hold a table", "a pickle, which can run code when opened", "Save plain numbers and text.")
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise refusal(label, "hold a table as text", "a workbook or an archive", "Save its sheet as CSV.")
    if head.startswith(b"SQLite format 3"):
        raise refusal(label, "hold a table", "a store of runs", f"Read it with: taskorder report {label}.")
    if b"\0" in head or sum(byte < 32 and byte not in b"\t\n\r\f" for byte in head) > len(head) / 10:
        raise Refusal(f"`{label}` must hold a table, got binary data: not a text table, NPY or NPZ.")


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:
        raise Refusal("`standard input` must be open to read from it, got a closed one. Name a file.")
    return sys.stdin.buffer


def _status(path: str | os.PathLike[str], label: str | None = None) -> os.stat_result:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise refusal(label or path, "be an existing file", "no such file", "Check the path.") from None
    except OSError as problem:
        raise unreadable(label or path, problem) from None
    if stat.S_ISDIR(status.st_mode):
        raise refusal(label or path, "be a file", "a directory", "Name the file inside it.")
    return status


def _limit(size: int, max_bytes: int, label: str) -> None:
    if size > max_bytes:
        rule, got = f"be at most {megabytes(max_bytes)}", f"at least {megabytes(size)}"
        raise refusal(label, rule, got, "Keep only the table in it, or save it as NPY.")
