"""The interface over HTTP: who may call it, what it refuses, and that its answers are the library's."""

import asyncio
import http.client
import json
import re
import signal
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from starlette.requests import ClientDisconnect

from taskorder import Plan, chain, final_error, solve
from taskorder.explorer import plans, security
from taskorder.explorer.app import SearchResponse
from taskorder.explorer.searches import Busy, Searches
from taskorder.explorer.server import ADDRESS, Server, listen


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str

    def json(self):
        return json.loads(self.text)


class Client:
    """Plain requests over a real socket, which lets headers and paths be as odd as an attacker's."""

    def __init__(self, port):
        self.port = port
        self.token = ""
        self.token = re.search('taskorder-token" content="([^"]+)"', self.get("/").text)[1]

    def send(self, method, path, *, content=None, json=None, headers=None):
        body = content if json is None else globals()["json"].dumps(json).encode()
        sent = {"host": f"{ADDRESS}:{self.port}", security.TOKEN_HEADER: self.token, **(headers or {})}
        connection = http.client.HTTPConnection(ADDRESS, self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True)
        for name, value in {**sent, "content-length": str(len(body or b""))}.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, text)

    def get(self, path, **more):
        return self.send("GET", path, **more)

    def post(self, path, **more):
        return self.send("POST", path, **more)


@pytest.fixture(scope="module")
def server():
    """A server on a real socket."""
    server = Server(None)
    with listen(0) as listening:
        server.port = listening.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield server
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def client(server):
    return Client(server.port)


def question(similarity, **more):
    return {"similarity": np.asarray(similarity).tolist(), "names": list("ABCDEFGHIJ"[: len(similarity)]), **more}


def events(answer):
    return [json.loads(line) for line in answer.text.splitlines()]


@pytest.mark.parametrize("host", ["127.0.0.1:8321", "localhost:8321", "localhost", "[::1]:8321", "LOCALHOST:1"])
def test_loopback_hosts_pass(client, host):
    assert client.get("/", headers={"host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8321", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "localhost.evil", "",
     "192.168.0.7:8321", "0.0.0.0:8321", "localhost:port", "127.0.0.1, evil.example", "[::2]"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/", "/static/main.js", "/api/start"])
def test_other_hosts_are_refused(client, host, path):
    answer = client.get(path, headers={"host": host})
    assert answer.status == 403
    assert "`Host` must be loopback" in answer.json()["error"]


def test_two_hosts_are_refused():
    headers = security.Headers(raw=[(b"host", b"localhost"), (b"host", b"evil.example")])
    assert "localhost, evil.example" in (security.refusal(headers, "/", "") or "")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:9"])
def test_other_origins_are_refused(client, origin):
    assert client.get("/api/start", headers={"origin": origin}).status == 403
    own = f"http://{ADDRESS}:{client.port}"
    assert client.get("/api/start", headers={"origin": own}).status == 200


@pytest.mark.parametrize("token", ["", "wrong", "ü"])
@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/api/start"), ("GET", "/api/example/demo"), ("POST", "/api/table"), ("POST", "/api/solve"),
     ("POST", "/api/stop/x"), ("POST", "/api/plan"), ("POST", "/api/report")],
)  # fmt: skip
def test_every_call_needs_the_token(client, method, path, token):
    sent = {security.TOKEN_HEADER: token, "cookie": f"token={client.token}"}
    answer = client.send(method, path, headers=sent)
    assert answer.status == 403
    assert "Reload the page" in answer.json()["error"]


def test_every_answer_carries_the_policy(client):
    for path in ("/", "/static/main.js", "/api/start", "/nowhere", "/api/example/none"):
        answer = client.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert not any(name.startswith("access-control") for name in answer.headers)


def test_no_answer_to_preflights_of_others(client):
    asked = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    answer = client.send("OPTIONS", "/api/solve", headers=asked)
    assert answer.status == 403
    assert "access-control-allow-origin" not in answer.headers


def test_the_page_has_the_token_and_nothing_inline(client):
    page = client.get("/").text
    assert f'content="{client.token}"' in page
    assert "style=" not in page
    assert "<style" not in page
    assert page.count("<script") == 1
    assert '<script type="module" src=' in page
    assert not any(f" {handler}=" in page for handler in ("onclick", "onload", "onerror"))


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/index.html",
     "/static/..%5capp.py", "/static/none.js", "/../../../../etc/passwd", "/static/%00", "/static/"],
)  # fmt: skip
def test_no_path_is_opened(client, path):
    answer = client.get(path)
    assert answer.status == 404
    assert "def " not in answer.text


def test_static_files_have_their_types(client):
    assert client.get("/static/main.js").headers["content-type"].startswith("text/javascript")
    assert client.get("/static/style.css").headers["content-type"].startswith("text/css")
    assert client.get("/static/icon.svg").headers["content-type"].startswith("image/svg+xml")


def test_a_table_comes_back_with_its_repair(client):
    body = b"task,<b>x</b>,y,z\n<b>x</b>,1,0.9,-0.9\ny,0.9,1,0.9\nz,-0.9,0.9,1\n"
    table = client.post("/api/table?name=C:\\odd/path/a.csv", content=body).json()
    assert table["names"] == ["<b>x</b>", "y", "z"]
    assert table["source"] == "a.csv"
    assert table["given"][0] == [1, 0.9, -0.9]
    assert np.linalg.eigvalsh(table["repaired"])[0] > -1e-9
    assert "nearest correlation matrix" in table["note"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "`bad.csv` must hold a similarity matrix, got an empty file."),
        (b"1,0.5\n0.5\n", "line 2"),
        (b"1,x\n0.5,1\n", "'x' on line 1, column 2"),
        (b"2,0\n0,1\n", "ones on the diagonal"),
        (b"1,1.5\n1.5,1\n", "[-1, 1]"),
        (b"A,A\n1,0\n0,1\n", "'A' more than once"),
        (b"\x80\x04pickle", "pickle"),
        (b"\x00\x01\x02", "binary data"),
        (b"[[1, 2", "JSON"),
    ],
)
def test_bad_tables_get_the_line_of_the_command_line(client, body, said):
    answer = client.post("/api/table?name=bad.csv", content=body)
    assert answer.status == 400
    assert said in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_large_tables_are_refused(client):
    answer = client.post("/api/table?name=big.csv", content=b"0," * (plans.MAX_BYTES // 2 + 8))
    assert answer.status == 400
    assert "`big.csv` must be at most 16 MB" in answer.json()["error"]
    many = json.dumps(np.eye(plans.MAX_TASKS + 1).tolist()).encode()
    answer = client.post("/api/table?name=many.json", content=many)
    assert answer.status == 400
    assert "at most 500 tasks to explore, got 501" in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "JSON object"),
        (b"[1]", "JSON object"),
        (b"[" * 100_000, "JSON object"),
        (b'{"similarity": 1}', "`similarity` must be a list of rows"),
        (b'{"similarity": [[1]], "order": [0, 0]}', "`order` must list each of the 1 open tasks"),
        (b'{"similarity": [[1]], "order": ["x"]}', "`order` must list task indices"),
        (b'{"similarity": [[1]], "order": 5}', "right types"),
        (b'{"similarity": [[1]], "order": [0], "rule": "<script>"}', "`rule` must be"),
        (b'{"similarity": [[1]], "order": [0], "before": 7}', "right types"),
        (b'{"similarity": [[1, 0], [0, 1]], "order": [0, 1], "weights": [0, 0]}', "`weights` must be"),
    ],
)
def test_bad_requests_are_told_why(client, body, said):
    answer = client.post("/api/plan", content=body)
    assert answer.status == 400
    assert said in answer.json()["error"]


@pytest.mark.parametrize("query", ["tasks=x", "tasks=0", "tasks=501", "a=2", "a=nan", "tasks=1e3"])
def test_bad_examples_are_told_why(client, query):
    assert client.get(f"/api/example/chain?{query}").status == 400
    assert "`example` must be one of" in client.get("/api/example/passwd").json()["error"]


def test_examples_are_the_librarys(client):
    found = client.get("/api/example/chain?tasks=6&a=0.5").json()
    np.testing.assert_array_equal(found["given"], chain(6, 0.5))
    assert len(client.get("/api/example/demo").json()["names"]) == 12


def test_a_search_ends_with_the_librarys_plan(client):
    body = question(chain(5, 0.7), rule="optimal", before=[[4, 0]], weights=[1, 2, 1, 1, 1])
    found = events(client.post("/api/solve", json=body))
    assert set(found[0]) == {"key"}
    plan = Plan.from_json(json.dumps(found[-1]["plan"]))
    expected = solve(chain(5, 0.7), before=[("E", "A")], weights=[1, 2, 1, 1, 1])
    assert plan.order == expected.order
    assert plan.error == expected.error
    assert plan.proven


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"rule": "best"}, "`rule` must be one of"),
        ({"rule": "optimal", "before": [[0, 1], [1, 0]]}, "cycle"),
        ({"rule": "optimal", "seconds": 0}, "`seconds` must be a positive"),
        ({"rule": "optimal", "seconds": 1e9}, "`seconds` must be at most 600"),
        ({"rule": "optimal", "names": ["A"]}, "`names` must name each"),
    ],
)
def test_problems_of_a_search_are_its_last_line(client, more, said):
    found = events(client.post("/api/solve", json=question(chain(3, 0.5), **more)))
    assert said in found[-1]["problem"]


def test_rules_that_cannot_read_weights_are_scored_with_them(client):
    weights = [5.0, 1, 1, 1, 1]
    found = events(client.post("/api/solve", json=question(chain(5, 0.7), rule="periphery-to-core", weights=weights)))
    plan = found[-1]["plan"]
    assert plan["order"] == list(solve(chain(5, 0.7), "periphery-to-core").order)
    assert plan["error"] == pytest.approx(final_error(chain(5, 0.7), plan["order"], weights=weights), rel=1e-12)


def test_an_order_made_by_hand_is_a_plan(client):
    body = question(chain(4, 0.6), order=[3, 0, 2], learned=[1], weights=[1, 2, 3, 4], before=[[0, 3]])
    plan = Plan.from_json(client.post("/api/plan", json=body).text)
    assert plan.rule == plans.BY_HAND
    assert plan.named_order == ("D", "A", "C")
    assert plan.error == pytest.approx(final_error(chain(4, 0.6), [1, 3, 0, 2], weights=[1, 2, 3, 4]), rel=1e-12)
    assert "this order breaks a constraint that was asked for" in plan.notes


def test_a_plan_has_the_digest_of_the_matrix_as_given(client):
    given = [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]
    plan = Plan.from_json(client.post("/api/plan", json=question(given, order=[0, 1, 2])).text)
    assert plan.similarity_digest == solve(given).similarity_digest
    assert plan.repair is not None


def test_few_searches_at_a_time(server, client):
    running = [server.searches.begin(), server.searches.begin()]
    try:
        with pytest.raises(Busy, match="At most 2 searches"):
            server.searches.begin()
        answer = client.post("/api/solve", json=question(chain(3, 0.5), rule="optimal"))
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
    body = json.dumps({"similarity": hard(60).tolist(), "rule": "optimal", "seconds": 600}).encode()
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
    found = []

    def run():
        body = {"similarity": hard(40).tolist(), "rule": "optimal", "seconds": 600}
        found.extend(events(client.post("/api/solve", json=body)))

    thread = threading.Thread(target=run)
    thread.start()
    while not server.searches._running:
        assert thread.is_alive()
    (key,) = server.searches._running
    assert client.post(f"/api/stop/{key}").json() == {"stopped": True}
    thread.join(timeout=240)
    plan = found[-1]["plan"]
    assert sorted(plan["order"]) == list(range(40))
    assert any(note.startswith("stopped by request") for note in plan["notes"])


def test_a_reader_that_never_came_frees_its_place():
    searches = Searches()
    response = SearchResponse(searches, searches.begin(), lambda watch: solve(chain(3, 0.5), watch=watch))

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        raise OSError("the connection is closed")

    with pytest.raises(ClientDisconnect):
        asyncio.run(response({"type": "http", "asgi": {"spec_version": "2.4"}}, receive, send))
    assert searches._running == {}


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
    server = Server(None)
    with listen(0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        port = listening.getsockname()[1]
        connection = half_request(port, Client(port).token)
        assert Client(port).get("/").status == 200  # so the half request has arrived
        server.handle_exit(signal.SIGTERM, None)
        thread.join(10)
        assert not thread.is_alive()
        connection.close()


def test_a_plan_that_does_not_fit_is_refused(client):
    plan = client.post("/api/plan", json={"similarity": [[1, 0.5], [0.5, 1]], "order": [0, 1]}).json()
    for change in ({"order": [7, 9]}, {"error_path": [[1]]}, {"task_errors": []}, {"options": []}, {"notes": [1]}):
        answer = client.post("/api/report", json={"similarity": [[1, 0.5], [0.5, 1]], "plan": {**plan, **change}})
        assert answer.status == 400
        assert "got parts that do not fit" in answer.json()["error"]


def test_joining_leaves_no_thread():
    searches = Searches()
    searches.join()
    assert searches._running == {}
