"""The watcher behind a running command: a progress bar on a terminal, and an orderly end after Ctrl-C."""

from __future__ import annotations

import math
import signal
import threading
import time
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from taskorder.progress import ProgressBar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Interruptible:
    """Inside `with`, the first Ctrl-C only sets `interrupted`, for the work to end when it can; the second one kills.

    Raised wherever Python happens to be, it may land in a callback of a library, which swallows it.
    """

    interrupted = False
    _bar: Progress | None = None
    _row: TaskID | None = None
    _previous: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # only there may handlers be set
            self._previous = signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
        if self._bar is not None:
            self._bar.stop()

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True
        signal.signal(signal.SIGINT, signal.SIG_DFL)


class Watcher(Interruptible):
    """Hand it to `solve(..., watch=watcher)` inside `with`: it draws a bar and asks the search to stop after Ctrl-C.

    With a `label` the bar shows that instead of the numbers of the search.
    """

    def __init__(self, limit: float | None = None, *, draw: bool, label: str = "") -> None:
        self._label = label
        self._limit = limit
        self._shown = ProgressBar(label) if draw else None
        self._start = 0.0

    def __enter__(self) -> Self:
        super().__enter__()
        self._start = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, value, trace)
        if self._shown is not None:
            self._shown.stop()

    def __call__(self, error: float, bound: float, seconds: float) -> bool:
        """Show where the search stands; true when it should stop."""
        elapsed = time.perf_counter() - self._start
        said = f"{self._label}  {elapsed:.0f} s" if self._label else line(error, bound, elapsed)
        if self._shown is not None:
            self._shown.show(said, min(elapsed, self._limit or elapsed), self._limit)
        return self.interrupted

    def count(self, done: int, total: int) -> bool:
        """Show that `done` of `total` equal parts are finished; true when the work should stop."""
        if self._shown is not None:
            self._shown.count(done, total)
        return self.interrupted

    def count_or_stop(self, done: int, total: int) -> None:
        """As `count`, for work that only an exception stops."""
        if self.count(done, total):
            raise KeyboardInterrupt


def line(error: float, bound: float, elapsed: float) -> str:
    """What the bar says.

    >>> line(0.5, 0.4, 3)
    'best 0.5  bound 0.4  gap 20 %  3 s'
    >>> line(0.5, float("-inf"), 3)
    'best 0.5  no bound yet  3 s'
    """
    best = f"best {error:.6g}" if math.isfinite(error) else "searching"
    if not math.isfinite(error - bound):
        return f"{best}  no bound yet  {elapsed:.0f} s"
    top = max(abs(error), abs(bound))
    gap = 100 * abs(error - bound) / top if top > 0 else 0.0
    return f"{best}  bound {bound:.6g}  gap {gap:.3g} %  {elapsed:.0f} s"
