"""Short versions of the soaks: nothing grows, and what grows is seen."""

import os
import subprocess
import sys
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
