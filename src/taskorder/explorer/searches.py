"""Searches that run beside the server: a thread each, few at a time, stopped by a click or by a closed tab."""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from taskorder.ordering.clock import Watch
from taskorder.records import Plan

MAX_SEARCHES = 2
"""Searches at a time: each one already uses every core where that helps."""

Event = dict[str, Any]


class Busy(Exception):
    """As many searches run as may."""

    def __init__(self) -> None:
        super().__init__(f"At most {MAX_SEARCHES} searches may run at a time. Stop one first, here or in another tab.")


@dataclass(eq=False)
class RunningSearch:
    """One running search: what it is called, how to stop it, and the thread that does it."""

    key: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    stopped: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None


class Searches:
    """The searches of one server."""

    def __init__(self) -> None:
        self._running: dict[str, RunningSearch] = {}
        self._lock = threading.Lock()
        self.closing = False
        """Whether the server is about to end."""

    def begin(self) -> RunningSearch:
        """Take a place for a search; `Busy` where none is left."""
        with self._lock:
            if len(self._running) >= MAX_SEARCHES:
                raise Busy
            search = RunningSearch()
            self._running[search.key] = search
            return search

    def end(self, search: RunningSearch) -> None:
        """Give the place back."""
        with self._lock:
            self._running.pop(search.key, None)

    def stop(self, key: str) -> bool:
        """Ask a search to end with the best it has; False where it is not running."""
        with self._lock:
            search = self._running.get(key)
        if search is None:
            return False
        search.stopped.set()
        return True

    def stop_all(self) -> None:
        """The server ends, and every search with it; safe in a signal handler, which must not wait for the lock."""
        self.closing = True
        for search in list(self._running.values()):
            search.stopped.set()

    def join(self) -> None:
        """Wait until no search is left."""
        self.stop_all()
        for search in list(self._running.values()):
            if search.thread is not None:
                search.thread.join()

    async def events(self, search: RunningSearch, solve: Callable[[Watch], Plan]) -> AsyncIterator[Event]:
        """The key, then progress as it comes, then the plan or an error; a reader that goes away stops the search."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Event] = asyncio.Queue()

        def tell(event: Event) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, event)

        def watch(value: float, bound: float, seconds: float) -> bool:
            tell({"value": _finite(value), "bound": _finite(bound), "seconds": seconds})
            return search.stopped.is_set()

        def work() -> None:
            try:
                outcome: Event = {"plan": json.loads(solve(watch).to_json(indent=None))}
            except ValueError as problem:
                outcome = {"problem": str(problem)}
            except Exception as problem:  # the page must learn of a failure of ours too
                outcome = {"problem": f"The search failed: {type(problem).__name__}: {problem}"}
            finally:
                self.end(search)
            tell(outcome)

        search.thread = threading.Thread(target=work, name=f"search-{search.key}")
        search.thread.start()
        try:
            yield {"key": search.key}
            event: Event = {}
            while not {"plan", "problem"} & event.keys():
                event = await queue.get()
                yield event
        finally:
            search.stopped.set()


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
