"""All that the command line writes: one line on stderr, text on stdout, tables as text."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from taskorder.visible import visible, visible_lines

if TYPE_CHECKING:
    from rich.table import Table

CANNOT_WRITE = 1
BAD_INPUT = 2
INTERRUPTED = 130
PIECE = 2**20
"""Characters to print at once: the stream makes copies of what it prints."""


def output_file(name: str | Path, *endings: str, inputs: Iterable[str | None] = ()) -> Path:
    """The file that --output names, for commands to ask before they begin to work: never one that they read, and
    in a folder that is there.

    >>> output_file("report.pdf", ".html", ".htm")
    Traceback (most recent call last):
    ...
    ValueError: `--output` must end in .html or .htm, got 'report.pdf'.
    """
    path = Path(name)
    if endings and not path.name.lower().endswith(endings):
        *others, last = endings
        raise ValueError(f"`--output` must end in {', '.join(others)} or {last}, got {path.name!r}.")
    for read in inputs:
        with contextlib.suppress(OSError):  # one of them is not there, or is no path at all
            if read not in (None, "-") and path.samefile(read):
                raise ValueError(f"`--output` must be another file than the input, got {str(name)!r} for both.")
    folder = path.parent
    if not os.path.isdir(folder):
        fix = "Choose another." if os.path.lexists(folder) else f"Make it first: mkdir -p {shlex.quote(str(folder))}"
        raise ValueError(f"`--output` must be in a folder that exists, got {str(name)!r}. {fix}")
    return path


def say(message: str) -> None:
    """One line on stderr; if that cannot be written, nothing can be said."""
    try:
        print("taskorder:", visible(" ".join(message.splitlines())), file=sys.stderr, flush=True)
    except OSError:
        _abandon(sys.stderr)


@contextlib.contextmanager
def said_log() -> Iterator[None]:
    """Inside `with`, what the library logs is said, one line a message."""

    class Saying(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            say(record.getMessage())

    logger, handler = logging.getLogger("taskorder"), Saying(logging.INFO)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def as_line(text: str) -> str:
    """A line of text with names in it, none of which ends it.

    >>> as_line("wrote a\\nb.csv")
    'wrote a\\\\nb.csv\\n'
    """
    return visible(text) + "\n"


class Drawn(str):
    """Text with the colors of a terminal; the names in it are visible already."""


def write(text: str) -> int:
    """Print to stdout; the exit code."""
    if sys.stdout is None:
        say("error: cannot write to standard output: it is closed")
        return CANNOT_WRITE
    try:
        for start in range(0, max(1, len(text)), PIECE):  # even no text: what failed before shows only when one writes
            piece = text[start : start + PIECE]
            print(piece if isinstance(text, Drawn) else visible_lines(piece), end="", flush=True)
    except BrokenPipeError:  # the reader (head, less) has seen enough
        _abandon(sys.stdout)
    except OSError as problem:
        say(f"error: cannot write to standard output: {problem.strerror}")
        _abandon(sys.stdout)
        return CANNOT_WRITE
    return 0


def _abandon(stream: IO[str]) -> None:
    """Without this, Python would try to write once more while shutting down, and complain."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def page(draw: Callable[[int | None], tuple[Table, Sequence[str]]]) -> Drawn:
    """A table and lines below it: colors and line breaks for a terminal, plain whole lines for a pipe or a file.

    `draw` takes the width of the terminal, None where there is none.
    """
    from rich.console import Console

    terminal = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else None
    # rich has its own way with closed pipes, so it writes to memory; the encoding tells it which lines it can draw
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    paper = io.TextIOWrapper(io.BytesIO(), encoding, errors="backslashreplace", newline="\n", write_through=True)
    # the tables know the width themselves: rich would cut where it has too little room
    console = Console(file=paper, force_terminal=terminal, width=10_000, highlight=False, emoji=False)
    table, lines = draw(width)
    console.print(table)
    for text in lines:
        console.print(visible(text), markup=False, soft_wrap=not terminal, width=width)
    paper.seek(0)
    return Drawn("\n".join(line.rstrip() for line in paper.read().split("\n")))
