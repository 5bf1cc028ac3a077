"""Check that the head of the connected cluster is reachable.

If the head is gone, Ray 2.60 blocks in every call that needs it (`ray.nodes`, the first task of a function) and ends
the process after a minute with its own message. If Ray's agent on this machine is gone, `ray.put` and `ray.get` of
large values end the process at once, without a message. Both are therefore checked before Ray is called, and calls
that query the head regularly run in a separate thread.
"""

from __future__ import annotations

import socket
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from threading import Thread
from typing import Any

RAY_MISSING = 'Ray is not installed. Install it with: pip install "taskorder[ray]".'
MOMENT_SECONDS = 0.5
"""How long to wait for results before checking the head and interrupts."""
REACHED_SECONDS = 20.0
"""How long to wait for the machine at an address, and for a head that does not respond."""
ANSWER_SECONDS = 2.0
"""Timeout of a single check of the head."""
ASKED_AGAIN_SECONDS = 5.0


def need_ray() -> Any:
    """Import Ray, or raise an error that explains how to install it."""
    if find_spec("ray") is None:
        raise ValueError(RAY_MISSING)
    return import_module("ray")


class HeadLost(Exception):
    """The head of the cluster cannot be reached."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"the head of the Ray cluster must answer, got nothing from {where}; what is finished is kept: "
            "start the cluster again, and the same command goes on"
        )


class Head:
    """The head of the cluster, and Ray's agent on this machine."""

    def __init__(self) -> None:
        # a client (ray://) may be unable to reach either; Ray raises a ConnectionError there
        outside = need_ray().util.client.ray.is_connected()
        self._address = "" if outside else str(need_ray().get_runtime_context().gcs_address)
        self._agent = None if outside else _agent()
        if self._agent is not None:
            weakref.finalize(self, self._agent.close)
        self._answered, self._silent = time.monotonic(), 0.0

    def answers(self) -> None:
        """Raise HeadLost if the head has not responded for too long, or if the agent has ended."""
        if self._agent is not None and _ended(self._agent):
            raise HeadLost("Ray's agent on this machine")
        now = time.monotonic()
        if not self._address or now - self._answered < ASKED_AGAIN_SECONDS:
            return
        try:
            reach(self._address, ANSWER_SECONDS)
        except OSError:
            self._silent = self._silent or now
            if now - self._silent > REACHED_SECONDS:
                raise HeadLost(self._address) from None
        else:
            self._answered, self._silent = now, 0.0

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Wrap a call of Ray, and raise HeadLost instead of Ray's error if the cluster is gone."""
        self.answers()
        try:
            yield
        except Exception:
            self.answers()
            raise


class PolledCount:
    """A number that only the head knows, requested periodically in a separate thread."""

    def __init__(self, ask: Callable[[], int], head: Head, again_seconds: float) -> None:
        self._ask, self._head, self._again_seconds = ask, head, again_seconds
        self._last: int | None = None
        self._start()

    def _start(self) -> None:
        self._asked, self._answer = time.monotonic(), _in_thread(self._ask)

    def last(self) -> int:
        """The latest answer of the head; waits for the first one."""
        while self._last is None and not self._answer.done():
            wait((self._answer,), MOMENT_SECONDS)
            self._head.answers()
        if self._answer.done():
            self._last = self._answer.result()
            if time.monotonic() - self._asked >= self._again_seconds:
                self._start()
        assert self._last is not None
        return self._last


def _in_thread(ask: Callable[[], int]) -> Future[int]:
    """Call `ask` in a daemon thread, which does not keep the process alive if no answer comes."""
    answer: Future[int] = Future()

    def work() -> None:
        try:
            answer.set_result(ask())
        except BaseException as problem:
            answer.set_exception(problem)

    Thread(target=work, daemon=True).start()
    return answer


@contextmanager
def from_outside() -> Iterator[None]:
    """Raise HeadLost if Ray's client reports a lost connection."""
    try:
        yield
    except ConnectionError as problem:
        raise HeadLost(f"there ({first_line(problem)})") from None


def first_line(problem: Exception) -> str:
    """The first line of an error message, with the last line if the first ends in a colon; or the error's type."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()] or [type(problem).__name__]
    return f"{lines[0]} {lines[-1]}" if lines[0].endswith(":") and len(lines) > 1 else lines[0]


def reach(address: str, seconds: float) -> None:
    """Raise an OSError if nothing listens at HOST:PORT."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), timeout=seconds).close()


def _agent() -> socket.socket | None:
    """A connection to Ray's agent on this machine (its raylet), which closes when the agent ends; None without one."""
    ray = need_ray()
    here = ray.get_runtime_context().get_node_id()
    names = [node["RayletSocketName"] for node in ray.nodes() if node["NodeID"] == here]
    if not hasattr(socket, "AF_UNIX"):
        return None
    line = socket.socket(socket.AF_UNIX)
    try:
        line.connect(names[0])
    except (OSError, IndexError):
        line.close()
        return None
    line.setblocking(False)
    return line


def _ended(line: socket.socket) -> bool:
    """Whether the peer has closed the connection; it never sends data."""
    try:
        return not line.recv(1)
    except BlockingIOError:
        return False
    except OSError:
        return True
