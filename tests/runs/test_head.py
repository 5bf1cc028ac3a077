"""Noticing that the head of a cluster is gone, and asking it without being held up."""

import itertools
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from taskorder.runs import head
from taskorder.runs.head import Head, HeadLost, PolledCount, first_line, from_outside


@pytest.fixture
def agent(tmp_path):
    """What listens at the socket of Ray's agent."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "raylet"))
        server.listen()
        yield server


@pytest.fixture
def connect(listening, agent, monkeypatch):
    """The head that a process on this machine sees, or one from outside."""

    def made(*, outside=False):
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        context = SimpleNamespace(gcs_address=address, get_node_id=lambda: "here")
        client = SimpleNamespace(ray=SimpleNamespace(is_connected=lambda: outside))
        nodes = [{"NodeID": name, "RayletSocketName": agent.getsockname()} for name in ("there", "here")]
        ray = SimpleNamespace(
            util=SimpleNamespace(client=client), get_runtime_context=lambda: context, nodes=lambda: nodes
        )
        monkeypatch.setattr(head, "need_ray", lambda: ray)
        return Head()

    return made


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(head, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_a_head_may_be_silent_for_a_while_and_no_longer(connect, listening, clock):
    connection = connect()
    clock[0] += 1000  # nobody has asked for long: that is not its fault
    connection.answers()
    address = f"127.0.0.1:{listening.getsockname()[1]}"
    listening.close()
    for seconds in (0, head.ASKED_AGAIN_SECONDS, head.REACHED_SECONDS - 1):
        clock[0] += seconds
        connection.answers()
    clock[0] += 2
    with pytest.raises(HeadLost, match=f"got nothing from {address}; what is finished is kept"):
        connection.answers()


def test_an_agent_that_ends_is_noticed_at_once(connect, agent):
    connection = connect()
    line, _ = agent.accept()
    with connection.guarded():
        line.close()
    with pytest.raises(HeadLost, match="got nothing from Ray's agent on this machine"):
        connection.answers()
    with pytest.raises(HeadLost), connection.guarded():
        pytest.fail("Ray was asked")


def test_an_error_of_ray_is_the_heads_fault_where_that_is_gone(connect, agent):
    connection = connect()
    line, _ = agent.accept()

    def fail(*, because_of_the_agent):
        if because_of_the_agent:
            line.close()
        raise OSError("Connection reset by peer")

    with pytest.raises(OSError, match="reset"), connection.guarded():
        fail(because_of_the_agent=False)
    with pytest.raises(HeadLost), connection.guarded():
        fail(because_of_the_agent=True)


def test_from_outside_ray_says_it(connect, listening, agent, clock):
    connection = connect(outside=True)
    listening.close()
    agent.close()
    clock[0] += 1000
    connection.answers()
    with pytest.raises(HeadLost, match=r"got nothing from there \(lost\)"), from_outside():
        raise ConnectionError("lost")


def test_a_number_is_asked_for_beside_the_work(connect):
    answers, held = itertools.chain([2], itertools.repeat(3)), threading.Event()

    def ask():
        value = next(answers)
        if value == 3:
            held.wait(10)
        return value

    count = PolledCount(ask, connect(), 0.0)
    assert [count.last() for _ in range(3)] == [2, 2, 2]  # the second answer takes long
    held.set()
    until = time.monotonic() + 10
    while count.last() == 2 and time.monotonic() < until:
        time.sleep(0.01)
    assert count.last() == 3


def test_a_number_that_never_comes_holds_nobody_up(connect, agent):
    connection = connect()
    line, _ = agent.accept()
    line.close()
    with pytest.raises(HeadLost):
        PolledCount(threading.Event().wait, connection, 5.0).last()


def test_what_is_said_of_an_error():
    assert first_line(ValueError("\n one\ntwo")) == "one"
    assert first_line(ValueError("failed:\n in a\nbecause")) == "failed: because"
    assert first_line(ValueError()) == "ValueError"
