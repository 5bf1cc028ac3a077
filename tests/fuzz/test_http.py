"""Damaged requests over a real socket to a real explorer: it answers 4xx or closes, and goes on answering others.

FUZZ_INPUTS asks for another number of requests than 200.
"""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
from random import Random

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from .mutate import WORDS, damaged, odd_json
from .seeds import json_tables, solve_bodies, text_tables

INPUTS = int(os.environ.get("FUZZ_INPUTS", "200"))
SECONDS = 20.0


@pytest.fixture(scope="module")
def explorer():
    """Port and token of an explorer, and in the end what it complained about, which must be nothing."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "taskorder", "explore", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    port, token = re.search(r":(\d+)/#token=(\S+)", process.stdout.readline()).groups()
    yield int(port), token
    process.terminate()
    said = process.communicate(timeout=60)[1]
    assert "Traceback" not in said
    assert process.returncode == -signal.SIGTERM  # it was still serving


def send(port: int, data: bytes, patience: float = SECONDS) -> bytes:
    """The answer to some bytes; where none begins in time, the explorer is told that no more come from here."""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        answer = b""
        try:
            connection.sendall(data)
            if not select.select([connection], [], [], patience)[0]:
                connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(2**16):
                answer += piece
        except (ConnectionResetError, BrokenPipeError):  # it has heard enough
            pass
    return answer


def request(method: str, path: str, token: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-taskorder-token: {token}\r\n"
    return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


def seeds(token: str) -> list[bytes]:
    made = [request("POST", f"/api/{what}", token, body) for what in ("plan", "solve") for body in solve_bodies()]
    made += [request("POST", "/api/table?name=x.csv", token, body) for body in (*text_tables(), *json_tables())]
    paths = (
        "/",
        "/static/app.js",
        "/api/start",
        "/api/example/ring?tasks=5&a=0.5",
        "/api/example/demo",
        "/../../etc/passwd",
    )
    return made + [request("GET", path, token) for path in paths] + [request("POST", "/api/stop/x", token)]


@pytest.mark.slow("sizes")
def test_damaged_requests(explorer):
    port, token = explorer
    rng, codes = Random(0), []
    whole = seeds(token)
    for _ in range(INPUTS):
        answer = send(port, damaged(rng.choice(whole), rng), patience=0.1)
        codes.append(int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else 0)
        assert codes[-1] < 500
        assert not any(name in answer for name in (b"root:", b"Traceback"))
    assert {200, 400, 403} <= set(codes)
    assert send(port, whole[0]).startswith(b"HTTP/1.1 200 ")


@pytest.mark.slow("sizes")
def test_odd_solve_bodies(explorer):
    port, token = explorer
    rng, codes = Random(1), set()
    for _ in range(INPUTS):
        path = rng.choice(("plan", "solve", "report"))
        answer = send(port, request("POST", f"/api/{path}", token, odd_json(rng.choice(solve_bodies()), rng)))
        codes.add(int(answer[9:12]))
        if answer.startswith(b"HTTP/1.1 400 "):
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
    assert codes <= {200, 400, 429}
    assert {200, 400} <= codes


def test_half_a_character_in_what_is_refused(explorer):
    """JSON may hold one, UTF-8 may not: the refusal that named it was no answer but a traceback."""
    port, token = explorer
    body = json.dumps({**json.loads(solve_bodies()[0]), "rule": "\ud800"}).encode()
    answer = send(port, request("POST", "/api/plan", token, body))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert "`rule` must be" in json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


@pytest.mark.parametrize("word", WORDS)
def test_odd_headers_and_addresses(explorer, word):
    port, token = explorer
    for head in (
        b"GET /static/" + word + b" HTTP/1.1\r\nHost: 127.0.0.1",
        b"GET /api/example/ring?tasks="
        + word
        + b"&a="
        + word
        + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nx-taskorder-token: "
        + token.encode(),
        b"GET / HTTP/1.1\r\nHost: " + word,
        b"POST /api/plan HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " + word,
        word + b" / HTTP/1.1\r\nHost: 127.0.0.1",
    ):
        answer = send(port, head + b"\r\nConnection: close\r\n\r\n", patience=0.1)
        assert answer == b"" or 200 <= int(answer[9:12]) < 500
