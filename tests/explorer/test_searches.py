"""Searches over HTTP: few at a time, stopped on request, and ended with the tab that asked."""

import asyncio
import http.client
import json
import threading

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from starlette.requests import ClientDisconnect

from taskorder import chain, solve
from taskorder.explorer import security
from taskorder.explorer.app import SearchResponse
from taskorder.explorer.searches import Busy, Searches
from taskorder.explorer.server import ADDRESS

from .client import events, solve_body


def test_few_searches_at_a_time(server, client):
    running = [server.searches.begin(), server.searches.begin()]
    try:
        with pytest.raises(Busy, match="At most 2 searches"):
            server.searches.begin()
        answer = client.post("/api/solve", json=solve_body(chain(3, 0.5), rule="optimal"))
        assert answer.status == 429
        assert client.post(f"/api/stop/{running[0].key}").json() == {"stopped": True}
        assert client.post("/api/stop/unknown").json() == {"stopped": False}
        assert running[0].stopped.is_set()
        assert not running[1].stopped.is_set()
    finally:
        server.searches._running.clear()


def hard(size):
    factors = np.random.default_rng(0).normal(size=(size, size // 3)) + 0.5
    factors /= np.linalg.norm(factors, axis=1, keepdims=True)
    return np.clip(factors @ factors.T, -1, 1)


def test_a_closed_tab_stops_its_search(server, client):
    body = json.dumps({"similarity": hard(60).tolist(), "retention": 1, "rule": "optimal", "seconds": 600}).encode()
    connection = http.client.HTTPConnection(ADDRESS, server.port, timeout=240)
    headers = {security.TOKEN_HEADER: client.token}
    connection.request("POST", "/api/solve", body, headers)
    answer = connection.getresponse()
    assert "key" in json.loads(answer.readline())
    assert json.loads(answer.readline())["seconds"] >= 0
    (search,) = server.searches._running.values()
    answer.close()
    connection.close()
    search.thread.join(timeout=60)
    assert not search.thread.is_alive()
    assert server.searches._running == {}


def test_a_stopped_search_gives_the_best_it_has(server, client):
    answers = []

    def run():
        body = {"similarity": hard(40).tolist(), "retention": 1, "rule": "optimal", "seconds": 600}
        answers.extend(events(client.post("/api/solve", json=body)))

    thread = threading.Thread(target=run)
    thread.start()
    while not server.searches._running:
        assert thread.is_alive()
    (key,) = server.searches._running
    assert client.post(f"/api/stop/{key}").json() == {"stopped": True}
    thread.join(timeout=240)
    plan = answers[-1]["plan"]
    assert sorted(plan["order"]) == list(range(40))
    assert any(note.startswith("stopped by request") for note in plan["notes"])


def test_a_reader_that_never_came_frees_its_place():
    searches = Searches()
    response = SearchResponse(searches, searches.begin(), lambda watch: solve(chain(3, 0.5), watch=watch, retention=1))

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        raise OSError("the connection is closed")

    with pytest.raises(ClientDisconnect):
        asyncio.run(response({"type": "http", "asgi": {"spec_version": "2.4"}}, receive, send))
    assert searches._running == {}


def test_joining_leaves_no_thread():
    searches = Searches()
    searches.join()
    assert searches._running == {}
