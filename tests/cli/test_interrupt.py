"""Ctrl-C on a search that is really running, with stderr on a pseudo-terminal as a person has it."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from taskorder.records import Plan

pty = pytest.importorskip("pty")

START_SECONDS = 240
"""On a fresh machine the kernels are compiled first."""


@pytest.fixture
def hard_table(tmp_path):
    """120 tasks that share hidden factors: far beyond what can be proven in the time of this test."""
    factors = np.random.default_rng(0).normal(size=(120, 40)) + 0.5
    table = factors @ factors.T
    scale = np.sqrt(np.diag(table))
    path = tmp_path / "hard.npy"
    table = table / np.outer(scale, scale)
    np.fill_diagonal(table, 1.0)
    np.save(path, (table + table.T) / 2)
    return str(path)


class Running:
    """A search whose bar has been seen, so that it is surely inside the solver."""

    def __init__(self, *argv):
        self.seen = b""
        terminal, worker_end = pty.openpty()
        self.terminal = terminal
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", "COLUMNS": "200"}
        command = [sys.executable, "-m", "taskorder", *argv]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=worker_end, env=environment)
        os.close(worker_end)

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        os.close(self.terminal)

    def wait_for(self, text):
        end = time.monotonic() + START_SECONDS
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            assert self.process.poll() is None, self.seen
            if select.select([self.terminal], [], [], 0.2)[0]:
                self.seen += os.read(self.terminal, 65536)

    def finish(self):
        """(exit code, standard output); the terminal is read to its end, or a full one would block the command."""

        def drain():
            with contextlib.suppress(OSError):
                while os.read(self.terminal, 65536):
                    pass

        reading = threading.Thread(target=drain, daemon=True)
        reading.start()
        text = self.process.stdout.read().decode()
        code = self.process.wait(timeout=60)
        reading.join()
        return code, text


def test_interrupt_gives_the_best_order_so_far(hard_table):
    with Running("solve", hard_table, "--retention", "1", "--time-limit", "600", "--json") as running:
        running.wait_for(b"best")
        running.process.send_signal(signal.SIGINT)
        code, text = running.finish()
    assert code == 130
    plan = Plan.from_json(text)
    assert sorted(plan.order) == list(range(120))
    assert not plan.proven
    assert plan.notes
    assert b"bound" in running.seen
    assert b"inf" not in running.seen  # a bound that is not known yet is not shown as a number


@pytest.mark.slow("interrupt")
def test_interrupted_tables_say_so(hard_table):
    with Running("solve", hard_table, "--retention", "1", "--time-limit", "600") as running:
        running.wait_for(b"best")
        running.process.send_signal(signal.SIGINT)
        code, text = running.finish()
    assert code == 130
    assert "not proven" in text
    assert "\x1b" not in text


@pytest.mark.slow("interrupt")
def test_interrupted_comparison(hard_table):
    with Running("compare", hard_table, "--retention", "1", "--time-limit", "600", "--json") as running:
        running.wait_for(b"comparing rules")
        running.process.send_signal(signal.SIGINT)
        code, text = running.finish()
    assert code == 130
    assert '"verdict"' in text
    assert b"gap" not in running.seen


def test_the_second_interrupt_kills():
    """A search that never reports cannot hold the program."""
    code = (
        "import signal, time\nfrom taskorder.cli.progress import Watcher\n"
        "with Watcher(None, draw=False) as watcher:\n"
        "    print('ready', flush=True)\n"
        "    while not watcher.interrupted: time.sleep(0.01)\n"
        "    print('first', flush=True)\n"
        "    time.sleep(60)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    for line in (b"ready\n", b"first\n"):
        assert process.stdout.readline() == line
        process.send_signal(signal.SIGINT)
    process.stdout.close()
    assert process.wait(timeout=20) == -signal.SIGINT
