"""Connecting to a cluster; a fake Ray says what the real one says at bad times."""

from contextlib import nullcontext

import pytest

from taskorder.runs import cluster
from taskorder.runs.cluster import LOCAL, SERVERS, Share, connected

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
def fake(monkeypatch):
    def use(ray):
        monkeypatch.setattr(cluster, "need_ray", lambda: ray)
        monkeypatch.setattr(cluster, "alone", lambda: nullcontext("folder"))
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
    with (
        pytest.raises(ValueError, match="`cpus` and `gpus` must fit this machine, got 3 CPUs"),
        connected(LOCAL, Share(cpus=3)),
    ):
        pytest.fail("connected")
    assert ray.calls[-2:] == ["init", "shutdown"]


@pytest.mark.parametrize(
    ("said", "tries", "message"),
    [
        (CRASHED, SERVERS, "Initialization failure from server: .* start the head with GRPC_ENABLE_FORK_SUPPORT=0"),
        ("ray client connection timeout", 1, r"timeout\). It may want a token: set RAY_AUTH_MODE=token"),
        ("no room", 1, r"no room\). Start one with: ray start"),
    ],
)
def test_a_cluster_that_does_not_take_us_is_one_line(fake, listening, said, tries, message):
    ray = fake(FakeRay(99, said))
    refused = pytest.raises(ValueError, match=f"`address` must lead to a Ray cluster that runs, got .*{message}")
    with refused as caught, connected(address_of(listening)):
        pytest.fail("connected")
    assert "\n" not in str(caught.value)
    assert ray.calls.count("init") == tries


@pytest.mark.parametrize("address", ["auto", "127.0.0.1:PORT", "ray://127.0.0.1:PORT"])
def test_an_address_where_nothing_listens_is_not_left_to_ray(fake, listening, monkeypatch, address):
    ray, where = fake(FakeRay(0)), address_of(listening)
    monkeypatch.setenv("RAY_ADDRESS", where)
    listening.close()
    with pytest.raises(ValueError, match=r"must lead to a Ray cluster that runs, got .*Connection refused"):
        connected(address.replace("127.0.0.1:PORT", where)).__enter__()
    assert ray.calls == []


def test_a_share_is_checked():
    with pytest.raises(ValueError, match="`cpus` must be above 0, got 0"):
        Share(cpus=0)
    with pytest.raises(ValueError, match=r"`gpus` must be a share of one like 0.5 or a whole number, got 1.5"):
        Share(gpus=1.5)


def test_without_the_client_of_ray(fake, monkeypatch):
    fake(FakeRay(0))
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"`address` must be local, auto or HOST:PORT .* pip install .ray\[client\]"):
        connected("ray://there:10001").__enter__()
