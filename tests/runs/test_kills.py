"""A hundred kills at random moments, of processes that share a store and do little but commit."""

import random
import subprocess
import sys
import time
from collections import Counter

import pytest

from taskorder.runs.local import run
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store

ROUNDS = 50

WORKER = """
import os, sys, time
from taskorder.runs.local import complete
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store

class Loud(Store):
    def put(self, specs, results, seconds, **more):
        super().put(specs, results, seconds, **more)
        os.write(log, b"".join(b"%d\\n" % spec.params["x"] for spec in specs))

def work(specs):
    time.sleep(0.002)
    return [{"y": [spec.params["x"] + k for k in range(300)]} for spec in specs]

log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
first, turn = int(sys.argv[3]), int(sys.argv[4])
specs = [RunSpec("square.1", {"x": x}) for x in range(first, first + 1000)]
with Loud(sys.argv[1]) as store:
    print("ready", flush=True)
    sys.stdin.readline()  # nobody may be done before the other one has begun
    complete(specs[turn:] + specs[:turn], work, store, batch_size=1 + turn)
"""


def work(specs):
    return [{"y": [spec.params["x"] + k for k in range(300)]} for spec in specs]


@pytest.mark.slow("interrupt")
def test_nothing_is_lost_and_nothing_is_doubled(tmp_path):
    path, log = tmp_path / "runs.sqlite", tmp_path / "log"
    rng = random.Random(0)
    first, num_done, grown = 0, 0, 0
    for _ in range(ROUNDS):
        command = [sys.executable, "-c", WORKER, str(path), str(log), str(first)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        workers = [subprocess.Popen([*command, turn], **pipes) for turn in ("0", "1")]
        for worker in workers:
            assert worker.stdout.readline() == b"ready\n"
        for worker in workers:
            worker.stdin.write(b"go\n")
            worker.stdin.close()
        for worker in workers:
            time.sleep(rng.uniform(0, 0.1))
            worker.kill()
            assert worker.wait() == -9  # it was still at work
            worker.stdout.close()
        with Store(path) as store:
            kept = {entry.params["x"] for entry in store.entries()}
        told = [int(line) for line in log.read_text().split()] if log.exists() else []
        assert set(told) <= kept  # what was finished is there
        assert max(Counter(told).values(), default=1) == 1  # and was run once
        grown += len(kept) > num_done
        num_done = len(kept)
        first = min(set(range(num_done + 1)) - kept)
    assert grown > ROUNDS // 3
    specs = [RunSpec("square.1", {"x": x}) for x in range(first + 1000)]
    with Store(path) as store:
        assert store._read("pragma integrity_check") == [("ok",)]
        assert run(specs, work, store) == work(specs)
