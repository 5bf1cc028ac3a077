"""What a local cluster of Ray shows to others: no port beyond loopback, nothing without its token, no file."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import environment, offspring

pytest.importorskip("ray")
from ray._private import ray_constants

from taskorder.runs.alone import LOOPBACK_VARIABLE, alone

LOOPBACK = {"0100007F", "0" * 24 + "01000000", "0000000000000000FFFF00000100007F"}
"""127.0.0.1, ::1 and ::ffff:127.0.0.1, as Linux writes them."""

CLUSTER = """
import os, sys
from taskorder.runs.cluster import connected
with connected():
    import ray
    assert ray.get(ray.remote(lambda: 1).remote()) == 1
    print(ray.get_runtime_context().gcs_address, ray.nodes()[0]["RayletSocketName"], flush=True)
    sys.stdin.read()
print(*[name for name in os.environ if name.startswith("RAY_AUTH")])
"""

STRANGER = """
import sys
from ray._raylet import GcsClient
print(len(GcsClient(address=sys.argv[1]).get_all_node_info()))
"""


def listening(pids):
    """(process, address in hex) of each port at which one of the processes listens."""
    owners = {}
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            try:
                owners[os.readlink(link)] = pid
            except OSError:
                continue  # closed meanwhile
    tables = [Path(f"/proc/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table]
    sockets = [(owners.get(f"socket:[{row[9]}]"), row[1].partition(":")[0]) for row in rows if row[3] == "0A"]
    return [(pid, address) for pid, address in sockets if pid is not None]


@pytest.mark.slow("ray")
def test_nobody_else_is_let_in(tmp_path):
    clean = {name: value for name, value in environment(HOME=str(tmp_path)).items() if not name.startswith("RAY_")}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", CLUSTER], env=clean, **pipes) as cluster:
        address, raylet = cluster.stdout.readline().split()
        ports = listening({cluster.pid, *offspring(cluster.pid)})
        assert len(ports) >= 5
        assert {where for _, where in ports} <= LOOPBACK
        folder = Path(raylet).parents[3]
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        for token, told in ({}, "Token"), ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}, "InvalidAuthToken"):
            asked = subprocess.run(
                [sys.executable, "-c", STRANGER, address], env={**clean, **token}, capture_output=True, text=True
            )
            assert (asked.returncode, asked.stdout) == (1, "")
            assert told in asked.stderr
        assert cluster.communicate()[0].split() == []
    assert not folder.exists()
    assert not (tmp_path / ".ray").exists()


@pytest.mark.parametrize("loopback", [None, "1"])
def test_everything_is_as_before_afterwards(monkeypatch, loopback):
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "mine")
    if loopback is not None:
        monkeypatch.setenv(LOOPBACK_VARIABLE, loopback)
    before, clusters, tokens = dict(os.environ), ray_constants.ENABLE_RAY_CLUSTER, []
    for _ in range(2):
        with alone() as folder:
            assert os.environ[LOOPBACK_VARIABLE] == "0"
            assert os.environ["RAY_AUTH_MODE"] == "token"
            assert not ray_constants.ENABLE_RAY_CLUSTER
            assert stat.S_IMODE(Path(folder).parent.stat().st_mode) == 0o700
            tokens.append(os.environ["RAY_AUTH_TOKEN"])
        assert dict(os.environ) == before
        assert clusters == ray_constants.ENABLE_RAY_CLUSTER
    assert len({*tokens, "mine"}) == 3


def test_a_mode_that_is_set_is_respected(monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    with alone():
        assert os.environ["RAY_AUTH_MODE"] == "disabled"
        assert "RAY_AUTH_TOKEN" not in os.environ
