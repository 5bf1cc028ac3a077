"""What a process of this machine that has no token can hold against the explorer; bounded, and on loopback only."""

import itertools
import socket
import threading
import time
from contextlib import contextmanager, suppress

from taskorder.explorer.server import ADDRESS

HEADER = f"Host: {ADDRESS}\r\n".encode()
STATIC = b"GET /static/style.css HTTP/1.1\r\n" + HEADER + b"\r\n"
UPLOAD = b"POST /api/plan HTTP/1.1\r\n" + HEADER + b"Content-Length: 1000000\r\n\r\n"

FIRST_WORDS = {
    "silent": b"",
    "half a header": b"GET / HTTP/1.1\r\nHost: ",
    "letter by letter": b"GET / HTTP/1.1\r\nX: ",
    "a body that never comes": UPLOAD,
    "a body letter by letter": UPLOAD,
    "answers that nobody reads": STATIC * 200,
    "idle after an answer": STATIC,
    "half closed": b"GET / HTTP/1.1\r\n",
}
"""What each kind of stranger says when it comes."""


def connect(port, kind):
    """One connection of this kind."""
    held = socket.create_connection((ADDRESS, port), timeout=30)
    with suppress(TimeoutError, ConnectionError):  # cut off before it has said its word
        if kind == "answers that nobody reads":
            held.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            held.settimeout(0.01)
        held.sendall(FIRST_WORDS[kind])
        if kind == "half closed":
            held.shutdown(socket.SHUT_WR)
    return held


def is_open(held):
    """Whether the explorer has left it open; what it has said is read."""
    held.setblocking(False)
    try:
        while held.recv(2**16):
            pass
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@contextmanager
def crowd(port, kind, count, letters=20):
    """So many connections of a kind; those that speak letter by letter do so, for a while."""
    held, over = [], threading.Event()

    def speak():
        for _ in itertools.takewhile(lambda _: not over.wait(0.1), range(letters)):
            for one in held:
                with suppress(OSError):
                    one.send(b"x")

    speaking = threading.Thread(target=speak)
    try:
        for _ in range(count):
            held.append(connect(port, kind))
        if kind.endswith("letter by letter"):
            speaking.start()
        yield held
    finally:
        over.set()
        if speaking.ident:
            speaking.join()
        for one in held:
            one.close()


@contextmanager
def flood(port, count, threads=2, held=100):
    """So many connections in all, as fast as they go, the last ones held by each thread."""
    over = threading.Event()

    def connect_on():
        kept = []
        for _ in range(count // threads):
            if over.is_set():
                break
            with suppress(OSError):
                kept.append(socket.create_connection((ADDRESS, port), timeout=1))
            if len(kept) > held:
                kept.pop(0).close()
        over.wait(5)
        for one in kept:
            one.close()

    busy = [threading.Thread(target=connect_on) for _ in range(threads)]
    for thread in busy:
        thread.start()
    time.sleep(0.1)
    try:
        yield
    finally:
        over.set()
        for thread in busy:
            thread.join()
