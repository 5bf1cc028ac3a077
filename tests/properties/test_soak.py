"""Short versions of the soaks: nothing grows, and what grows is seen."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

from .soak import SOAKS, Gauge

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory and files are read from /proc")
ROOT = Path(__file__).parents[2]


@pytest.mark.slow("memory")
@pytest.mark.parametrize("name", SOAKS)
def test_a_short_soak(name):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.properties.soak", name, "--share", "0.1"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("grown: nothing\n")


def test_files_that_stay_open_are_seen(tmp_path, capsys):
    gauge, opened = Gauge("files", 10), []
    for count in range(1, 11):
        opened.append((tmp_path / str(count)).open("w"))
        gauge.done(count)
    assert gauge.grown
    for stream in opened:
        stream.close()
    steady = Gauge("nothing", 10)
    for count in range(1, 11):
        steady.done(count)
    assert not steady.grown
    assert capsys.readouterr().out.count("\n") == 12


def test_threads_that_are_idle_may_end_before_they_count(capsys):
    """Up to five threads of the server's pool are idle for a while after several requests at once."""
    waiting, threads = threading.Event(), []

    def rest():
        waiting.set()
        for thread in threads:
            thread.join()

    idle, kept = Gauge("idle", 10, rest=rest), Gauge("kept", 10, rest=lambda: None)
    for gauge in (idle, kept):
        gauge.done(1)
    threads += [threading.Thread(target=waiting.wait) for _ in range(5)]
    for thread in threads:
        thread.start()
    kept.done(10)
    idle.done(10)
    assert kept.grown
    assert not idle.grown
    assert capsys.readouterr().out.count("\n") == 8
