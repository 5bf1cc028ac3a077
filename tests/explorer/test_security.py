"""Who may call the interface, from where, and which files it gives away."""

import re

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from taskorder.explorer import security
from taskorder.explorer.server import ADDRESS


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
    assert "localhost, evil.example" in (security.reason_to_refuse(headers, "/", "") or "")


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
    assert "Open the address that it printed" in answer.json()["error"]


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


def test_who_has_no_token_is_not_given_it(client):
    """Another user of the machine, who can get the page as well."""
    page = client.get("/", headers={security.TOKEN_HEADER: ""})
    scripts = set(re.findall(r'"(/static/[^"]+)"', page.text)) | {"/static/token.js"}
    given = [page, *(client.get(path, headers={security.TOKEN_HEADER: ""}) for path in scripts)]
    assert [answer.status for answer in given] == [200] * len(given)
    assert not any(client.token in answer.text + str(answer.headers) for answer in given)


def test_the_page_has_nothing_inline(client):
    page = client.get("/").text
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
