"""Connecting to a cluster, and noticing that its head is gone; a fake Ray says what the real one says at bad times."""

import socket
from types import SimpleNamespace

import pytest

from taskorder.execute import cluster
from taskorder.execute.cluster import LOCAL, SERVERS, Head, HeadLost, Share, connected, first_line

CRASHED = "Initialization failure from server:\nTraceback (most recent call last):\nRuntimeError: Starting failed"


class FakeRay:
    """Fails to connect so many times."""

    def __init__(self, failures, said=CRASHED):
        self.failures, self.said, self.calls = failures, said, []

    def is_initialized(self):
        return False

    def init(self, **options):
        self.calls.append("init")
        if self.calls.count("init") <= self.failures:
            raise ConnectionAbortedError(self.said)  # an OSError, as Ray's client raises it

    def nodes(self):
        return [{"Alive": True, "Resources": {"CPU": 2.0}}, {"Alive": False, "Resources": {"CPU": 64.0}}]

    def shutdown(self):
        self.calls.append("shutdown")


@pytest.fixture
def listening():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server


@pytest.fixture
def fake(monkeypatch):
    def use(ray):
        monkeypatch.setattr(cluster, "need_ray", lambda: ray)
        return ray

    return use


def address_of(server):
    return f"127.0.0.1:{server.getsockname()[1]}"


def test_a_server_for_clients_that_crashes_is_tried_again(fake, listening):
    ray, told = fake(FakeRay(SERVERS - 1)), []
    with connected(address_of(listening), tell=told.append):
        assert ray.calls == ["init", "shutdown"] * (SERVERS - 1) + ["init"]
    assert ray.calls[-1] == "shutdown"
    assert len(told) == SERVERS - 1
    assert f"the server that {address_of(listening)} starts for this run did not come up" in told[0]


def test_a_worker_that_does_not_fit_this_machine(fake):
    ray = fake(FakeRay(0))
    with connected(LOCAL, Share(cpus=2)):
        assert ray.calls == ["init"]
    with pytest.raises(ValueError, match="must fit this machine, got 3 CPUs"), connected(LOCAL, Share(cpus=3)):
        pytest.fail("connected")
    assert ray.calls[-2:] == ["init", "shutdown"]


@pytest.mark.parametrize(
    ("said", "tries", "message"),
    [
        (CRASHED, SERVERS, "Initialization failure from server: .* start the head with GRPC_ENABLE_FORK_SUPPORT=0"),
        ("no token", 1, r"no token\). Start one with: ray start"),
    ],
)
def test_a_cluster_that_does_not_take_us_is_one_line(fake, listening, said, tries, message):
    ray = fake(FakeRay(99, said))
    refused = pytest.raises(ValueError, match=f"must be the address of a Ray cluster that runs, got .*{message}")
    with refused as caught, connected(address_of(listening)):
        pytest.fail("connected")
    assert "\n" not in str(caught.value)
    assert ray.calls.count("init") == tries


def test_a_head_may_be_silent_for_a_while_and_no_longer(fake, listening, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(cluster, "time", SimpleNamespace(monotonic=lambda: now[0]))
    outside = SimpleNamespace(client=SimpleNamespace(ray=SimpleNamespace(is_connected=lambda: False)))
    context = SimpleNamespace(gcs_address=address_of(listening))
    fake(SimpleNamespace(util=outside, get_runtime_context=lambda: context))
    head = Head()
    now[0] += 1000  # nobody has asked for long: that is not its fault
    assert head.answers()
    listening.close()
    assert head.answers()  # not asked again so soon
    assert not head.answers(this_moment=True)
    now[0] += cluster.ASKED_AGAIN_SECONDS
    assert not head.answers()
    now[0] += cluster.REACHED_SECONDS - cluster.ASKED_AGAIN_SECONDS - 1
    assert not head.answers()
    now[0] += 2
    with pytest.raises(HeadLost, match=f"got nothing from {context.gcs_address}; what is finished is kept"):
        head.answers()


def test_what_is_said_of_an_error():
    assert first_line(ValueError("\n one\ntwo")) == "one"
    assert first_line(ValueError("failed:\n in a\nbecause")) == "failed: because"
    assert first_line(ValueError()) == "ValueError"
