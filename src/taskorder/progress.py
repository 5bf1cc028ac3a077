"""A progress bar where somebody can see it: in a notebook, and on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from taskorder.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Report = Callable[[int, int], object]
BAR_AFTER_SECONDS = 1.0
"""Work that is done sooner shows nothing."""


def in_notebook() -> bool:
    """Whether this runs in a kernel of Jupyter, whose cells show HTML."""
    modules = sys.modules.get("IPython")
    shell = None if modules is None else modules.get_ipython()
    return shell is not None and "IPKernelApp" in shell.config


def is_seen() -> bool:
    """Whether somebody may be watching: a notebook, or a terminal that shows errors."""
    return in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


class ProgressBar:
    """A bar that appears after a second, and is gone once it is stopped.

    Examples
    --------
    >>> bar = ProgressBar("fits")
    >>> bar.count(1, 3)  # nothing is shown yet
    >>> bar.stop()
    """

    def __init__(self, label: str = "") -> None:
        self._label = label
        self._start = time.perf_counter()
        self._shown: _Terminal | _Notebook | _Lines | None = None

    def count(self, done: int, total: int) -> None:
        """Show that `done` of `total` equal parts are finished."""
        self.show(f"{self._label}  {done} of {total}", done, total)

    def show(self, said: str, completed: float, total: float | None) -> None:
        """Show `said` beside a bar; `total` is None where the end is not known."""
        if time.perf_counter() - self._start < BAR_AFTER_SECONDS:
            return
        if self._shown is None:
            self._shown = _Notebook() if in_notebook() else _Terminal() if is_seen() else _Lines()
        self._shown.show(visible(said), completed, total)

    def stop(self) -> None:
        """Remove the bar."""
        if self._shown is not None:
            self._shown.stop()


class _Terminal:
    """On stderr, in the colors of the terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = TextColumn("{task.description}", markup=False), BarColumn()
        self._progress: Progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._row: TaskID | None = None

    def show(self, said: str, completed: float, total: float | None) -> None:
        if self._row is None:
            self._row = self._progress.add_task(said, total=total)
            self._progress.start()
        self._progress.update(self._row, completed=completed, total=total, description=said)

    def stop(self) -> None:
        self._progress.stop()


class _Notebook:
    """Below the cell, as an element that every browser draws; rich would need ipywidgets for it."""

    def __init__(self) -> None:
        display: Any = import_module("IPython.display")
        self._html = display.HTML
        self._handle = display.display(display.HTML(""), display_id=True)

    def show(self, said: str, completed: float, total: float | None) -> None:
        ends = "" if total is None else f' value="{completed:g}" max="{total:g}"'
        self._handle.update(self._html(f"<progress{ends}></progress> {escape(said)}"))

    def stop(self) -> None:
        self._handle.update(self._html(""))


class _Lines:
    """In a log file: a line for every tenth of the work."""

    def __init__(self) -> None:
        self._tenths = -1

    def show(self, said: str, completed: float, total: float | None) -> None:
        tenths = -1 if not total else int(10 * completed / total)
        if tenths > self._tenths:
            self._tenths = tenths
            print(said, file=sys.stderr, flush=True)

    def stop(self) -> None:
        pass


@contextmanager
def shown_progress(wanted: bool | None, report: Report | None) -> Iterator[Report | None]:
    """What to call with the number of parts done and to do: it calls `report`, and shows a bar where that is `wanted`.

    None shows it where somebody may be watching, unless there is a `report`, which may show something itself.
    """
    if not (wanted or (wanted is None and report is None and is_seen())):
        yield report
        return
    bar = ProgressBar("fits")

    def counted(done: int, total: int) -> None:
        bar.count(done, total)
        if report is not None:
            report(done, total)

    try:
        yield counted
    finally:
        bar.stop()
