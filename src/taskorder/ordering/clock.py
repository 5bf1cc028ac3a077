"""When to stop: a time limit and a watcher that may ask for an early end."""

from __future__ import annotations

import functools
import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from taskorder.checks import Bools, Floats, Ints

Watch = Callable[[float, float, float], bool | None]
"""Called now and then with (best error, bound, seconds); a true answer asks the search to stop."""

IMPORTING = threading.Lock()
"""Two threads that both import numba first wait for each other forever: one by one."""
INTERVAL = 0.1
"""Seconds between two calls of the watcher."""
STEPS_AT_ONCE = 100_000_000
"""Steps, of one number each, that are taken with many orders between two looks at the clock: about 0.1 s."""
SOON = 0.005
"""Least seconds that an alarm waits between two looks at its clock."""
_logger = logging.getLogger(__name__)


@functools.cache
def log_compilation() -> None:
    """Say what the first long wait is for, once a process."""
    _logger.info("compiling numerical kernels for this machine: about 20 s, once; later runs read them from a cache")


class Clock:
    """Counts seconds, passes progress to the watcher, and remembers whether the watcher asked for an end.

    unit: what the watcher wants to see for 1; negative when the search minimizes minus the error.
    """

    def __init__(self, limit: float, watch: Watch | None = None, *, unit: float = 1.0) -> None:
        self._start = time.perf_counter()
        self.limit = limit
        """Seconds allowed in all; of a share, that part of all of them, however many are left: what is decided by it
        must not depend on how fast the machine is."""
        self._watch = watch
        self._unit = unit
        self._next = 0.0
        self.stopped = False
        """True once the watcher asked for an end."""
        self.cut = False
        """True once a search was told to end before it was done."""
        self.compiling = 0.0
        """Seconds spent compiling kernels: they come once for a machine and do not count against the limit."""
        self._compiles_since: float | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the search began, compilation left out."""
        now = time.perf_counter() if self._compiles_since is None else self._compiles_since
        return now - self._start - self.compiling

    @property
    def left(self) -> float:
        """Seconds left, 0 once the search must end."""
        return 0.0 if self.stopped else max(0.0, self.limit - self.seconds)

    def report(self, error: float, bound: float) -> bool:
        """Tell the watcher where the search stands; True when the search must end."""
        now = self.seconds
        if self._watch is not None and now >= self._next:
            self._next = now + INTERVAL
            self.stopped = bool(self._watch(self._unit * error, self._unit * bound, now)) or self.stopped
        return self.over()

    def over(self) -> bool:
        """Whether the search must end; it then counts as cut short."""
        return not self.room(0.0)

    def room(self, seconds: float) -> bool:
        """Whether there is time for a step of about so many seconds; without, the search counts as cut short."""
        enough = self.left > seconds
        self.cut = self.cut or not enough
        return enough

    @contextmanager
    def first_try(self) -> Iterator[None]:
        """What is cut short inside the block goes on later, and does not count as cut short yet."""
        clocks: list[Clock] = [self]
        while isinstance(clocks[-1], _Share):
            clocks.append(clocks[-1]._whole)
        before = [clock.cut for clock in clocks]
        yield
        for clock, cut in zip(clocks, before, strict=True):
            clock.cut = cut

    @contextmanager
    def alarm(self) -> Iterator[Bools]:
        """A flag that is raised when the time is over, for compiled kernels, which cannot ask what time it is."""
        late, done = np.array([self.left <= 0]), threading.Event()

        def wait() -> None:
            while not late[0] and not done.wait(min(max(self.left, SOON), INTERVAL)):
                late[0] = self.left <= 0

        if late[0] or (np.isinf(self.limit) and self._watch is None):
            yield late
            return
        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        try:
            yield late
        finally:
            done.set()
            thread.join()

    def share(self, fraction: float, *, unit: float = 1.0, quiet: bool = False) -> Clock:
        """A clock that ends after a fraction of the time left, and with this one; a quiet one tells no watcher."""
        return _Share(self, fraction, unit, quiet)

    @contextmanager
    def without_compilation(self) -> Iterator[None]:
        """Leave what numba compiles inside this block out of the count."""
        with IMPORTING:
            from numba.core import event

        class Stopwatch(event.Listener):
            depth = 0

            def on_start(listener, event: object) -> None:
                if listener.depth == 0:
                    log_compilation()
                    self._compiles_since = time.perf_counter()
                listener.depth += 1  # a kernel compiles the kernels that it calls

            def on_end(listener, event: object) -> None:
                listener.depth -= 1
                if listener.depth == 0 and self._compiles_since is not None:
                    self.compiling += time.perf_counter() - self._compiles_since
                    self._compiles_since = None

        stopwatch = Stopwatch()
        event.register("numba:compile", stopwatch)  # type: ignore[no-untyped-call]
        try:
            yield
        finally:
            event.unregister("numba:compile", stopwatch)  # type: ignore[no-untyped-call]
            if self.compiling:
                gc.collect()  # the compiler leaves some 25 MB in cycles


class Steps(Clock):
    """Counts what is reported in place of seconds: a search that ends by it does not depend on how fast the machine is.

    >>> steps = Steps(2)
    >>> [steps.report(0.0, 0.0) for _ in range(2)]
    [False, True]
    """

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._taken = 0

    @property
    def seconds(self) -> float:
        """Steps so far."""
        return self._taken

    def report(self, error: float, bound: float) -> bool:
        """One more step; True when the search must end."""
        self._taken += 1
        return super().report(error, bound)


def while_time(
    work: Callable[[Ints], Floats], orders: Ints, steps: int, clock: Clock | None, at_once: int | None = None
) -> Floats:
    """What `work` makes of orders, each of so many steps: of the first ones only, where the time is over before.

    at_once: orders that go together; as many as STEPS_AT_ONCE allows by default.

    >>> while_time(lambda rows: rows.sum(axis=1) / 2, np.ones((3, 4), np.int64), STEPS_AT_ONCE, None).tolist()
    [2.0, 2.0, 2.0]
    """
    several = at_once or max(1, STEPS_AT_ONCE // max(1, steps))
    done = [work(orders[:several])]
    for first in range(several, len(orders), several):
        if clock is not None and clock.over():
            break
        done.append(work(orders[first : first + several]))
    return np.concatenate(done)


class _Share(Clock):
    """Part of another clock's time."""

    def __init__(self, whole: Clock, fraction: float, unit: float, quiet: bool) -> None:
        watch = None if quiet else lambda error, bound, _: whole.report(error, bound)
        super().__init__(whole.limit * fraction, watch, unit=unit)
        self._allowed = whole.left * fraction
        self._whole = whole
        self._begun = whole.seconds

    def room(self, seconds: float) -> bool:
        enough = super().room(seconds)
        whole: Clock = self
        while not enough and isinstance(whole, _Share):  # a share may be one of a share
            whole = whole._whole
            whole.cut = True
        return enough

    @property
    def seconds(self) -> float:
        return self._whole.seconds - self._begun

    @property
    def left(self) -> float:
        return 0.0 if self.stopped else max(0.0, min(self._whole.left, self._allowed - self.seconds))
