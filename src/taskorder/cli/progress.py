"""The watcher behind a running command: a progress bar on a terminal, and an orderly end after Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from taskorder.cli.output import say
from taskorder.progress import BAR_AFTER_SECONDS, ProgressBar

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
        self._draw = draw
        self._shown = ProgressBar(label) if draw else None
        self._start = 0.0
        self._reported = False
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        super().__enter__()
        self._start = time.perf_counter()
        if self._draw and not _has_compiled_kernels():
            self._timer = threading.Timer(BAR_AFTER_SECONDS, self._say_compiling)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, value, trace)
        self._reported = True
        if self._shown is not None:
            self._shown.stop()
        if self._timer is not None:
            self._timer.cancel()

    def __call__(self, error: float, bound: float, seconds: float) -> bool:
        """Show where the search stands; true when it should stop."""
        self._reported = True
        elapsed = time.perf_counter() - self._start
        said = f"{self._label}  {elapsed:.0f} s" if self._label else line(error, bound, elapsed)
        if self._shown is not None:
            self._shown.show(said, min(elapsed, self._limit or elapsed), self._limit)
        return self.interrupted

    def count(self, done: int, total: int) -> bool:
        """Show that `done` of `total` equal parts are finished; true when the work should stop."""
        self._reported = True
        if self._shown is not None:
            self._shown.count(done, total)
        return self.interrupted

    def count_or_stop(self, done: int, total: int) -> None:
        """As `count`, for work that only an exception stops."""
        if self.count(done, total):
            raise KeyboardInterrupt

    def _say_compiling(self) -> None:
        if not self._reported:
            say("compiling numerical kernels (about 35 s, once); later runs read them from a cache")


def line(error: float, bound: float, elapsed: float) -> str:
    """What the bar says.

    >>> line(0.5, 0.4, 3)
    'best 0.5  bound 0.4  gap 20 %  3 s'
    """
    top = max(abs(error), abs(bound))
    gap = f"{100 * abs(error - bound) / top:.3g} %" if 0 < top < float("inf") else "unknown"
    return f"best {error:.6g}  bound {bound:.6g}  gap {gap}  {elapsed:.0f} s"


def _has_compiled_kernels() -> bool:
    """Whether numba's cache beside the kernels has entries; a cache elsewhere counts as filled."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return True
    return any((Path(__file__).parents[1] / "ordering" / "__pycache__").glob("*.nbi"))
