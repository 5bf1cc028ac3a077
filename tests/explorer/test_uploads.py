"""Uploads that are large or ask for much: Ctrl-C ends the explorer, and other requests are answered meanwhile."""

import contextlib
import http.client
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from taskorder import costs
from taskorder.explorer import plans, security
from taskorder.explorer.server import ADDRESS, Server, listen

from .client import Client

TABLE = "A,B\n1,0.5\n0.5,1\n"


@pytest.fixture
def running():
    """A server of its own for a test, in a thread."""
    server = Server("ours")
    with listening_server(server) as client:
        yield server, client


class listening_server:
    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.listening = listen(0)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listening]})
        self.thread.start()
        return Client(self.listening.getsockname()[1], "ours")

    def __exit__(self, *ignored):
        self.server.handle_exit(signal.SIGTERM, None)
        self.thread.join(30)
        self.listening.close()
        assert not self.thread.is_alive()


def test_one_upload_is_read_at_a_time_and_others_are_answered(running, monkeypatch):
    _, client = running
    reading, go_on, seen = threading.Event(), threading.Event(), []

    def slow(data, name):
        seen.append(name)
        reading.set()
        go_on.wait(30)
        return {"source": name}

    monkeypatch.setattr(plans, "table_payload", slow)
    uploads = [
        threading.Thread(target=client.post, args=[f"/api/table?name={k}"], kwargs={"content": b"1"}) for k in "ab"
    ]
    for upload in uploads:
        upload.start()
    assert reading.wait(30)
    assert [client.get("/api/example/ring").status for _ in range(3)] == [200] * 3
    assert len(seen) == 1
    go_on.set()
    for upload in uploads:
        upload.join(30)
    assert sorted(seen) == ["a", "b"]


def test_uploads_that_wait_are_not_begun_when_the_server_ends(monkeypatch):
    server, seen = Server("ours"), []
    reading, go_on = threading.Event(), threading.Event()

    def slow(data, name):
        seen.append(name)
        reading.set()
        go_on.wait(30)
        return {"source": name}

    monkeypatch.setattr(plans, "table_payload", slow)
    with listening_server(server) as client:
        uploads = [threading.Thread(target=quietly, args=[client, k]) for k in "abcd"]
        uploads[0].start()
        assert reading.wait(30)
        for upload in uploads[1:]:
            upload.start()
        time.sleep(0.2)
        server.handle_exit(signal.SIGTERM, None)
        go_on.set()
    for upload in uploads:
        upload.join(30)
    assert seen == ["a"]


def quietly(client, name):
    with contextlib.suppress(OSError, http.client.HTTPException):  # the explorer has ended
        client.post(f"/api/table?name={name}", content=b"1")


def test_requests_of_many_small_values_are_refused(client, monkeypatch):
    monkeypatch.setattr(costs, "FREE_MEMORY", 1000)
    answer = client.post("/api/plan", content=b'{"similarity": [' + b"[]," * 1000 + b"[]]}")
    assert (answer.status, answer.json()) == (400, {"error": "`request` must be a JSON object."})
    answer = client.post("/api/table?name=x", content=b"[" + b"[]," * 1000 + b"[]]")
    assert answer.status == 400
    assert "so many small values" in answer.json()["error"]
    assert client.post("/api/table?name=x", content=TABLE.encode()).status == 200


UPLOADS = {
    "lists": b"[" + b"[]," * 5_000_000 + b"[]]",
    "one name twice": b"{" + b",".join(b'"%x":0' % k for k in range(1_000_000)) + b',"0":0}',
    "2000 x 2000 digits": "\n".join(
        ",".join("1" if i == j else "0" for j in range(2000)) for i in range(2000)
    ).encode(),
    "comments": b"#\n" * 8_000_000,
}


@pytest.mark.slow("memory")
@pytest.mark.parametrize("body", UPLOADS.values(), ids=UPLOADS)
def test_the_worst_uploads(body):
    """Four at a time: others wait no longer than the budget of one, and so does whoever presses Ctrl-C."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "taskorder", "explore", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    port, token = re.search(r":(\d+)/#token=(\S+)", process.stdout.readline()).groups()
    client, limit = Client(int(port), token), costs.most_seconds(len(body))
    sent = {security.TOKEN_HEADER: token, "host": f"{ADDRESS}:{port}"}

    def upload():
        with (
            contextlib.suppress(OSError, http.client.HTTPException),  # the explorer has ended
            contextlib.closing(http.client.HTTPConnection(ADDRESS, int(port), timeout=300)) as connection,
        ):
            connection.request("POST", "/api/table?name=x", body, sent)
            connection.getresponse().read()

    uploads = [threading.Thread(target=upload) for _ in range(4)]
    for thread in uploads:
        thread.start()
    waited = []
    for _ in range(10):
        start = time.monotonic()
        assert client.get("/api/example/ring").status == 200
        waited.append(time.monotonic() - start)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(300) == 0
    assert time.monotonic() - start < limit
    assert max(waited) < limit
    for thread in uploads:
        thread.join(300)
    assert "Traceback" not in process.communicate()[1]
