"""Clocks of the wall may jump by hours: time limits, budgets, locks and timeouts follow a clock that only goes on."""

import ast
import itertools
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import taskorder
from taskorder import Task, run_pilot, solve
from taskorder.learners import CallableLearner
from taskorder.runs import store as store_module
from taskorder.runs.local import complete
from taskorder.runs.locks import SpecLocks
from taskorder.runs.progress import store_progress
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store

ROOT = Path(taskorder.__file__).parent
WALL = {
    "time": {"time", "time_ns", "ctime", "localtime", "gmtime", "asctime", "strftime", "clock_gettime"},
    "datetime": {"now", "utcnow", "today", "fromtimestamp"},
    "date": {"today", "fromtimestamp"},
}
ALLOWED = {("runs/store.py", "datetime.now")}
"""When a run was finished, for people: nothing is decided by it."""
IN_SCRIPTS = re.compile(r"\bDate\b|\btimeOrigin\b|\.timeStamp\b")
HOURS = 5
SPECS = [RunSpec("square.1", {"x": x}) for x in range(6)]


def wall_clocks(text):
    """The calls in a module that ask a clock of the wall."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in WALL:
            asked = {name.name for name in node.names} & WALL[node.module]
            yield from (f"{node.module}.{name}" for name in asked)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            if node.attr in WALL.get(owner, ()):
                yield f"{owner}.{node.attr}"


def test_only_a_note_asks_a_clock_of_the_wall():
    found = {
        (file.relative_to(ROOT).as_posix(), clock)
        for file in ROOT.rglob("*.py")
        for clock in wall_clocks(file.read_text(encoding="utf-8"))
    }
    assert found == ALLOWED
    scripts = [file.name for file in ROOT.rglob("*.js") if IN_SCRIPTS.search(file.read_text(encoding="utf-8"))]
    assert scripts == []


@pytest.mark.parametrize(
    "text",
    [
        "time.time()",
        "from time import time",
        "datetime.datetime.now()",
        "date.today()",
        "x = time.time_ns",
        "datetime.now(UTC)",
    ],
)
def test_the_search_for_clocks_finds_them(text):
    assert [*wall_clocks(text)] != []
    assert [*wall_clocks("time.sleep(1); from time import sleep")] == []


@pytest.fixture(params=["ahead", "back", "to and fro"])
def jumps(request, monkeypatch):
    """A clock of the wall that is set by hours whenever it is asked."""
    ways = {"ahead": [HOURS], "back": [-HOURS], "to and fro": [HOURS, -2 * HOURS, HOURS]}[request.param]
    wall, set_by = time.time, itertools.accumulate(itertools.cycle(ways))

    def jumping():
        return wall() + 3600 * next(set_by)

    def noted():
        return datetime.fromtimestamp(jumping(), UTC).isoformat(timespec="seconds")

    monkeypatch.setattr(time, "time", jumping)
    monkeypatch.setattr(time, "time_ns", lambda: int(1e9 * jumping()))
    monkeypatch.setattr(store_module, "_now", noted)
    return jumping


def test_a_time_limit_neither_ends_early_nor_never(jumps, make_correlation):
    table = make_correlation(12, 3)
    assert solve(table, retention=1, time_limit=600, watch=lambda *now: jumps() < 0).proven
    hard = solve(make_correlation(60, 3), retention=1, time_limit=0.3)
    assert not hard.proven
    assert round(hard.seconds / 3600) == 0  # no hour has passed


def test_a_pilot_with_a_budget_of_time_learns_what_it_can(jumps):
    def pilot(budget):
        asked = []

        def answer(learned, test, seed):
            jumps()
            asked.append((learned, test, seed))
            return 0.5 ** learned.count(test)

        made = run_pilot([Task(name) for name in "abcd"], CallableLearner(answer, chance=1.0), draws=0, budget=budget)
        return made.plan.order, sorted(asked)

    assert pilot("60min") == pilot(10_000)


def square(specs):
    return [{"y": spec.params["x"] ** 2} for spec in specs]


def test_a_run_goes_on_where_it_was_although_its_end_lies_before_its_beginning(jumps, tmp_path):
    def jumping(specs):
        jumps()
        return square(specs)

    path = tmp_path / "runs.sqlite"
    with Store(path) as store:
        store.request("a run", {}, SPECS)
        assert complete(SPECS[:3], jumping, store, batch_size=1) == 0
    with Store(path) as store:
        kept = {entry.digest: entry.finished for entry in store.entries()}
        assert complete(SPECS, jumping, store, batch_size=2) == 0
        assert kept.items() <= {entry.digest: entry.finished for entry in store.entries()}.items()
        assert [result["y"] for result in store.get(SPECS)] == [x * x for x in range(6)]
        assert [tally.done for tally in store_progress(store, 5).tallies] == [6]
        assert 0 <= store.seconds(SPECS) < 100


HOLD = """
import sys
from pathlib import Path
from taskorder.runs.locks import SpecLocks
with SpecLocks(Path(sys.argv[1])) as locks, locks.hold(sys.argv[2:]) as taken:
    print(taken, flush=True)
    sys.stdin.read()
"""


def test_a_lock_outlives_any_hour_and_ends_with_its_process(jumps, tmp_path):
    path, digests = tmp_path / "runs.sqlite", [spec.digest for spec in SPECS]
    with Store(path):
        pass
    command = [sys.executable, "-c", HOLD, str(path), *digests[:2]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "True\n"
        with SpecLocks(path) as locks:
            for _ in range(5):
                jumps()
                with locks.hold(digests) as free:
                    assert not free
            holder.communicate("")
            with locks.hold(digests) as free:
                assert free


def test_a_bar_appears_after_a_second_of_its_own(jumps, monkeypatch):
    from taskorder import progress

    shown = []
    monkeypatch.setattr(progress._Lines, "show", lambda self, *what: shown.append(what))
    monkeypatch.setattr(progress, "is_seen", lambda: False)
    monkeypatch.setattr(progress, "BAR_AFTER_SECONDS", 60.0)
    bar = progress.ProgressBar("fits")
    jumps()
    bar.count(1, 2)
    assert shown == []
    monkeypatch.setattr(progress, "BAR_AFTER_SECONDS", 0.0)
    bar.count(2, 2)
    assert len(shown) == 1


def test_the_explorer_answers_slow_requests_and_ends_those_that_never_come(jumps, monkeypatch):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    import http.client
    import json
    import threading

    from taskorder.explorer.security import TOKEN_HEADER
    from taskorder.explorer.server import Server, listen

    server = Server("ours")
    with listen(0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        host, port = listening.getsockname()[:2]

        def request(parts, length):
            connection = http.client.HTTPConnection(host, port, timeout=60)
            connection.putrequest("POST", "/api/plan")
            for name, value in ((TOKEN_HEADER, "ours"), ("content-length", str(length))):
                connection.putheader(name, value)
            connection.endheaders()
            for part in parts:
                jumps()
                connection.send(part)
            answer = connection.getresponse()
            answer.read()
            connection.close()
            return answer.status

        try:
            body = json.dumps({"similarity": np.eye(2).tolist(), "order": [0, 1]}).encode()
            assert request([body[:5], body[5:9], body[9:]], len(body)) == 200
            monkeypatch.setattr("taskorder.explorer.app.READING_SECONDS", 0.2)
            assert request([b"{"], 100) == 408
        finally:
            server.should_exit = True
            thread.join(20)
        assert not thread.is_alive()
