"""The head of the cluster that this process is connected to: whether it is there.

Ray 2.60 waits for a head that is gone wherever it has to ask it (`ray.nodes`, the first task of a function), and ends
the whole process after a minute, with words of its own. Where Ray's agent on this machine is gone, `ray.put` and
`ray.get` of what is large end the process at once, without a word. So both are looked at before Ray is asked, and what
asks the head often is asked beside the work.
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
"""How long to wait for work before looking around."""
REACHED_SECONDS = 20.0
"""How long the machine at an address may take to answer, and the head of the cluster may be silent."""
ANSWER_SECONDS = 2.0
"""How long a head that runs takes to answer at most."""
ASKED_AGAIN_SECONDS = 5.0


def need_ray() -> Any:
    """The package, or an error that says how to get it."""
    if find_spec("ray") is None:
        raise ValueError(RAY_MISSING)
    return import_module("ray")


class HeadLost(Exception):
    """The head of the cluster is gone, and with it the cluster."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"the head of the Ray cluster must answer, got nothing from {where}; what is finished is kept: "
            "start the cluster again, and the same command goes on"
        )


class Head:
    """The head, and Ray's agent on this machine."""

    def __init__(self) -> None:
        # who comes from outside (ray://) may reach neither, and is told by Ray: a ConnectionError
        outside = need_ray().util.client.ray.is_connected()
        self._address = "" if outside else str(need_ray().get_runtime_context().gcs_address)
        self._agent = None if outside else _agent()
        if self._agent is not None:
            weakref.finalize(self, self._agent.close)
        self._answered, self._silent = time.monotonic(), 0.0

    def answers(self) -> None:
        """HeadLost where it has not for long, or where the agent has ended."""
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
        """Around a call of Ray: HeadLost in place of what Ray says or does where the cluster is gone."""
        self.answers()
        try:
            yield
        except Exception:
            self.answers()
            raise


class PolledCount:
    """A number that only the head knows, asked for now and then, beside the work."""

    def __init__(self, ask: Callable[[], int], head: Head, again_seconds: float) -> None:
        self._ask, self._head, self._again_seconds = ask, head, again_seconds
        self._last: int | None = None
        self._start()

    def _start(self) -> None:
        self._asked, self._answer = time.monotonic(), _in_thread(self._ask)

    def last(self) -> int:
        """What the head said last; the first answer is waited for."""
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
    """The answer to come; a question without one keeps nobody from ending."""
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
    """Say HeadLost where Ray's client says that the connection is lost."""
    try:
        yield
    except ConnectionError as problem:
        raise HeadLost(f"there ({first_line(problem)})") from None


def first_line(problem: Exception) -> str:
    """The first line of an error that has many, with the last where it only announces that; or its kind."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()] or [type(problem).__name__]
    return f"{lines[0]} {lines[-1]}" if lines[0].endswith(":") and len(lines) > 1 else lines[0]


def reach(address: str, seconds: float) -> None:
    """An OSError if nothing listens at HOST:PORT."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), timeout=seconds).close()


def _agent() -> socket.socket | None:
    """A connection to Ray's agent on this machine (its raylet) that ends with it; None where it has no such socket."""
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
    """Whether the other side of a connection, on which nothing is ever said, is gone."""
    try:
        return not line.recv(1)
    except BlockingIOError:
        return False
    except OSError:
        return True
