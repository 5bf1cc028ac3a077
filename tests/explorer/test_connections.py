"""Connections without the token: held for a short time only, and never in the owner's way."""

import http.client
import socket
import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from taskorder.explorer import connections, security
from taskorder.explorer.connections import ACCEPTED_AT_ONCE, MOST_STRANGERS
from taskorder.explorer.server import ADDRESS

from .strangers import FIRST_WORDS, connect, crowd, flood, is_open


def wait_until(true):
    """For some seconds at most; a busy machine needs some."""
    for _ in range(400):
        if true():
            return True
        time.sleep(0.025)
    return False


@pytest.mark.parametrize("kind", FIRST_WORDS)
def test_the_owner_is_served_whatever_strangers_hold(server, client, kind):
    with crowd(server.port, kind, MOST_STRANGERS + ACCEPTED_AT_ONCE):
        for path in ("/", "/static/main.js", "/api/start"):
            assert client.get(path).status == 200


def test_the_owner_is_served_while_connections_pour_in(server, client):
    with flood(server.port, 1000):
        for _ in range(10):
            assert client.get("/").status == 200
            assert client.get("/api/start").status == 200


@pytest.mark.parametrize("kind", FIRST_WORDS)
def test_a_stranger_is_cut_off_in_time(server, client, monkeypatch, kind):
    monkeypatch.setattr(connections, "STRANGER_SECONDS", 0.3)
    with crowd(server.port, kind, 3, letters=1000):
        assert client.get("/").status == 200  # so all of them have been accepted
        assert wait_until(lambda: not server.server_state.connections)


def test_the_oldest_strangers_make_room(server):
    with crowd(server.port, "silent", MOST_STRANGERS + 7) as held:
        assert wait_until(lambda: not any(map(is_open, held[:7])))
        assert all(map(is_open, held[7:]))


def owners(port, token):
    """A connection that has shown the token."""
    connection = http.client.HTTPConnection(ADDRESS, port, timeout=30)
    connection.request("GET", "/api/start", headers={security.TOKEN_HEADER: token})
    assert connection.getresponse().read()
    return connection


def test_who_has_shown_the_token_is_no_stranger(server, client, monkeypatch):
    monkeypatch.setattr(connections, "STRANGER_SECONDS", 0.2)
    connection = owners(server.port, client.token)
    own, stranger = connection.sock, connect(server.port, "silent")
    assert wait_until(lambda: not is_open(stranger))
    with crowd(server.port, "silent", MOST_STRANGERS + ACCEPTED_AT_ONCE):
        connection.request("GET", "/api/start", headers={security.TOKEN_HEADER: client.token})
        assert connection.getresponse().status == 200
    assert connection.sock is own
    connection.close()
    stranger.close()


@pytest.mark.parametrize(("path", "token"), [("/", "right"), ("/api/start", ""), ("/api/start", "wrong")])
def test_a_stranger_gets_one_answer_on_a_connection(client, path, token):
    sent = client.token if token == "right" else token
    assert client.get(path, headers={security.TOKEN_HEADER: sent}).headers["connection"] == "close"
    assert "connection" not in client.get("/api/start").headers


def test_an_upload_may_take_longer(server, client, monkeypatch):
    monkeypatch.setattr(connections, "STRANGER_SECONDS", 0.1)
    body = b"task,a,b\na,1,0.5\nb,0.5,1\n"
    connection = http.client.HTTPConnection(ADDRESS, server.port, timeout=30)
    connection.putrequest("POST", "/api/table")
    for name, value in ((security.TOKEN_HEADER, client.token), ("content-length", str(len(body)))):
        connection.putheader(name, value)
    connection.endheaders()
    for start in range(0, len(body), 5):
        time.sleep(0.05)
        connection.send(body[start : start + 5])
    assert connection.getresponse().status == 200
    connection.close()


def test_nothing_is_kept_of_connections_that_ended(server, client):
    with crowd(server.port, "silent", 20):
        pass
    ended = owners(server.port, client.token)
    ended.close()
    assert wait_until(lambda: not server.server_state.connections)
    assert not server.connections.strangers


def test_a_connection_that_is_reset_before_it_is_accepted(server, client):
    for _ in range(50):
        gone = socket.create_connection((ADDRESS, server.port))
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # close() resets it
        gone.close()
    assert client.get("/").status == 200
