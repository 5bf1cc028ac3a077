"""Requests that never end: cut off, and in nobody's way."""

import http.client
import json
import signal
import threading
import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from taskorder.explorer import security
from taskorder.explorer.server import ADDRESS, Server, listen

from .client import Client


def half_request(port, token):
    """A connection that has sent the head of a request and one of the hundred bytes that it promises."""
    connection = http.client.HTTPConnection(ADDRESS, port, timeout=60)
    connection.putrequest("POST", "/api/plan")
    for name, value in ((security.TOKEN_HEADER, token), ("content-length", "100")):
        connection.putheader(name, value)
    connection.endheaders(b"{")
    return connection


@pytest.mark.parametrize("trickle", [False, True])
def test_a_slow_request_is_cut_off(server, client, monkeypatch, trickle):
    monkeypatch.setattr("taskorder.explorer.app.READING_SECONDS", 0.2)
    connection = half_request(server.port, client.token)
    for _ in range(9 * trickle):
        connection.send(b" ")
        time.sleep(0.05)
    answer = connection.getresponse()
    assert answer.status == 408
    assert "must arrive within" in json.loads(answer.read())["error"]
    connection.close()


def test_ending_does_not_wait_for_a_slow_request():
    server = Server("ours")
    with listen(0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        port = listening.getsockname()[1]
        connection = half_request(port, "ours")
        assert Client(port, "ours").get("/").status == 200  # so the half request has arrived
        server.handle_exit(signal.SIGTERM, None)
        thread.join(10)
        assert not thread.is_alive()
        connection.close()
