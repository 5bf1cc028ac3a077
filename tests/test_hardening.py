"""Every command where things go wrong: odd paths and locales, no network, folders and disks that cannot be written.

The commands run in one process for each surrounding, with real files, as `python -m taskorder` would run them.
"""

import argparse
import json
import os
import re
import sqlite3
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("PIL")
pytest.importorskip("resource")

from taskorder.cli import build_parser

from .fuzz import readers, seeds

ODD = "Ünï  中文 it's 50% #1"
"""A folder with letters of several scripts, blanks, a quote, and what a shell, a URL or a format takes for its own."""

INPUTS = {
    "table é.csv": lambda: seeds.text_tables()[0],
    "weights é.txt": lambda: b"cats=2\ndogs=1\n",
    "plan é.json": lambda: seeds.plans()[0],
    "order é.json": lambda: seeds.orders()[0],
    "results é.csv": lambda: seeds.results()[0],
    "store é.sqlite": lambda: seeds.stores()[0],
    "audit é.json": lambda: seeds.audits()[0],
    "rows é.csv": lambda: b"x,y,label\n" + b"".join(b"%d,%d,%c\n" % (k, k % 7, b"abcd"[k % 4]) for k in range(160)),
    "run é.toml": lambda: b'dataset = "digits"\nnum_sets = 1\nnum_tasks = 2\nepochs = 1\nfraction = 0.05\n',
    "spec é.toml": lambda: b'[tasks]\none = ["a", "b"]\ntwo = ["c", "d"]\n',
    "names é.txt": lambda: seeds.name_lists()[0],
    "results é/fig3e.json": lambda: seeds.figures()[0],
}

LEARNER = ("--learner", "sklearn:GaussianNB", "--pilot", "20", "--seeds", "1", "--budget", "4")
READING = {
    "solve": ["solve", "table é.csv", "--weights", "weights é.txt"],
    "compare": ["compare", "table é.csv"],
    "simulate": ["simulate", "table é.csv", "--order", "cats,dogs,red cars", "--seeds", "2"],
    "audit": ["audit", "results é.csv"],
    "audit a store": ["audit", "store é.sqlite", "--where", "set=0"],
    "status": ["status", "store é.sqlite"],
    "completion": ["completion", "bash"],
    "data list": ["data", "list", "--folder", "."],
    "data check": ["data", "check", "rows é.csv"],
    "data get": ["data", "get", "digits", "--folder", "data"],
    "order": ["order", "order é.json", "--to", "renate"],
    "repair": ["repair", "store é.sqlite"],  # of a store in which nothing is damaged
}
WRITING = {
    "order -o": [
        "order", "plan é.json", "--classes", "[[0, 1], [2, 3], [4, 5]]", "--class-names", "names é.txt", "-o",
        "out/order.json",
    ],
    "report on a table": ["report", "table é.csv", "-o", "out/table.html"],
    "report on a plan": ["report", "plan é.json", "-o", "out/plan.html"],
    "report on a store": ["report", "store é.sqlite", "-o", "out/store.html"],
    "report on results": ["report", "results é.csv", "-o", "out/results.html"],
    "report on an audit": ["report", "audit é.json", "-o", "out/audit.html"],
    "export": ["export", "store é.sqlite", "-o", "out/runs.csv"],
    "export packed": ["export", "store é.sqlite", "-o", "out/runs.csv.gz"],
    "export a similarity": ["export", "store é.sqlite", "-o", "out/set.npz", "--task-set", "0"],
    "export whole": ["export", "store é.sqlite", "-o", "out/whole.csv.gz", "--whole"],
    "reproduction --report": ["reproduction", "--results", "results é", "--report", "out/REPRODUCTION.md"],
    "reproduction": ["reproduction", "fig6b", "--quick", "--results", "out/figures"],
    "run": ["run", "run é.toml", "--store", "out/run.sqlite"],
    "plan": ["plan", "rows é.csv", "--tasks", "spec é.toml", *LEARNER, "--folder", "out/plan"],
}  # fmt: skip

SLOW = ("plan", "run", "reproduction")
"""Their stores on a full disk: tests/runs/test_store_files.py and tests/cli/test_run.py."""

DRIVER = """
import contextlib, io, json, os, resource, sys
from reproduction.__main__ import main as reproduction
from taskorder.cli import main as taskorder
limit = int(os.environ.get("FILE_LIMIT", "0"))
answers = []
for argv in json.loads(sys.argv[1]):
    if argv[0] in ("plan", "reproduction", "report"):
        import scipy.stats, scipy.optimize, sklearn.naive_bayes  # their caches are not at stake here
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    # streams and words as the locale has them
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=sys.stdout.encoding) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        words = [os.fsdecode(word.encode()) for word in argv]
        try:
            code = reproduction(words[1:]) if words[0] == "reproduction" else taskorder(words)
        except BaseException as problem:  # the test of this command fails, not that of all
            code = repr(problem)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    answers.append([code, *(stream.buffer.getvalue().decode("latin-1") for stream in (out, err) if not stream.flush())])
os.write(1, json.dumps(answers).encode())
"""

NO_NETWORK = """
import os, sys
def refuse(event, args):
    named = event in ("socket.getaddrinfo", "socket.gethostbyname", "urllib.Request")
    if named or (event == "socket.connect" and isinstance(args[1], tuple) and args[1][0] not in ("127.0.0.1", "::1")):
        os.write(2, f"network: {event}\\n".encode())
        raise OSError("no network here")
sys.addaudithook(refuse)
"""

AT_ONCE = "import time\ntime.sleep = lambda seconds: None  # a download is tried again after seconds\n"


def prepared(parent):
    """The odd folder with all inputs."""
    folder = parent / ODD
    for name, make in INPUTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(make())
    (folder / "out").mkdir()
    return folder


@pytest.fixture
def here(tmp_path):
    return prepared(tmp_path)


def run(commands, folder, before="", environment=None, through=(sys.executable,)):
    """(exit code, stdout, stderr) of each command, one after another in a process of its own, begun by `through`."""
    site = folder.parent / "site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(before)
    paths = {"PYTHONPATH": os.pathsep.join([str(site), *sys.path]), "HOME": str(folder)}
    words = [*through, "-c", DRIVER, json.dumps(list(commands))]
    env = {**os.environ, **paths, **(environment or {})}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, timeout=900)
    said = done.stderr.decode(errors="replace")
    assert done.returncode == 0, said
    return json.loads(done.stdout), said


def answers_of(commands, folder, **how):
    """What each command answered, by its name, and what the process said beside."""
    answers, said = run(commands.values(), folder, **how)
    return dict(zip(commands, answers, strict=True)), said


@pytest.fixture(scope="module")
def without_network(tmp_path_factory):
    """All commands in one process: (answers by name, what was said beside, names of the files written)."""
    folder = prepared(tmp_path_factory.mktemp("hardening"))
    answers, said = answers_of({**READING, **WRITING}, folder, before=NO_NETWORK)
    out = folder / "out"
    return answers, said, {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", [*READING, *WRITING])
def test_a_command_without_a_network_in_an_odd_folder(without_network, name):
    answers, _, written = without_network
    code, out, err = answers[name]
    assert code == 0, (code, err)
    assert out
    if name in WRITING:
        files = {word[4:] for word in WRITING[name] if word.startswith("out/") and "." in word}
        assert files <= written


def test_no_command_asks_the_network(without_network):
    _, said, written = without_network
    assert "network:" not in said
    assert {"plan/plan.json", "plan/report.html", "whole.json", "figures/fig6b-quick.json"} <= written
    assert not [name for name in written if ".part" in name]


def test_every_command_is_tried_here():
    """`explore` and `demo` have tests of their own, below and in tests/cli/test_demo.py."""
    names = {tuple(words[: 2 if words[0] == "data" else 1]) for words in (*READING.values(), *WRITING.values())}
    assert names | {("explore",), ("demo",)} >= set(leaves(build_parser()))


def leaves(parser, words=()):
    """All commands below a parser, as words."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        return [words]
    return [leaf for action in below for name, sub in action.choices.items() for leaf in leaves(sub, (*words, name))]


def test_the_explorer_without_a_network(here):
    site = here.parent / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(NO_NETWORK)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])}
    words = [sys.executable, "-m", "taskorder", "explore", "table é.csv", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, cwd=here, env=environment, **pipes) as serving:
        page = urllib.request.urlopen(serving.stdout.readline().strip(), timeout=60).read().decode()
        serving.terminate()
        said = serving.stderr.read()
    assert "network:" not in said
    assert re.findall(r"""(?:src|href)=["'](?:https?:)?//""", page) == []


def test_the_hook_sees_a_download(here):
    ((code, _, err),), said = run([["data", "get", "fashion-mnist", "--folder", "data"]], here, NO_NETWORK + AT_ONCE)
    assert code == 2
    assert err.startswith("taskorder: error: ")
    assert "network:" in said


IN_A_LOCALE = {**READING, **{name: words for name, words in WRITING.items() if name not in SLOW}}


@pytest.fixture(scope="module")
def without_unicode(tmp_path_factory):
    """Python's own ways out of the C locale are closed, so files and streams have no UTF-8 but by our asking."""
    folder = prepared(tmp_path_factory.mktemp("hardening"))
    closed = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    return answers_of(IN_A_LOCALE, folder, environment=closed)[0], folder


@pytest.mark.parametrize("name", IN_A_LOCALE)
def test_a_command_in_a_locale_without_unicode(without_unicode, name):
    code, out, err = without_unicode[0][name]
    assert code == 0, (code, err)
    assert out


def test_files_are_utf8_in_a_locale_without_unicode(without_unicode):
    assert "red cars" in (without_unicode[1] / "out" / "table.html").read_text(encoding="utf-8")


WITHOUT_PRIVILEGES = """
import ctypes, os, sys
for capability in (1, 2):
    ctypes.CDLL(None).prctl(24, capability)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Also root must mind permissions: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH are dropped before the start."""


def is_one_line_of_refusal(code, err):
    return code in (1, 2) and err.startswith("taskorder: error: ") and err.count("\n") == 1


@pytest.fixture(scope="module")
def without_permission(tmp_path_factory):
    folder = prepared(tmp_path_factory.mktemp("hardening"))
    (folder / "out").chmod(0o555)
    answers, _ = answers_of(WRITING, folder, through=(sys.executable, "-c", WITHOUT_PRIVILEGES))
    (folder / "out").chmod(0o755)
    return answers, list((folder / "out").iterdir())


@pytest.mark.parametrize("name", WRITING)
def test_a_command_that_may_not_write(without_permission, name):
    code, out, err = without_permission[0][name]
    assert is_one_line_of_refusal(code, err), (code, err)
    assert out == ""
    assert without_permission[1] == []


def test_stores_that_cannot_be_written_are_still_read(here):
    store = here / "store é.sqlite"
    store.chmod(0o444)
    here.chmod(0o555)
    commands = {key: READING[key] for key in ("status", "audit a store")}
    answers, _ = answers_of(commands, here, through=(sys.executable, "-c", WITHOUT_PRIVILEGES))
    here.chmod(0o755)
    for name, (code, out, err) in answers.items():
        assert code == 0, (name, err)
        assert out, name


ON_A_FULL_DISK = {name: words for name, words in WRITING.items() if name not in (*SLOW, "order -o")}


@pytest.fixture(scope="module")
def full_disk(tmp_path_factory):
    """A limit on the size of files: the operating system refuses the rest of a write, as on a full disk."""
    folder = prepared(tmp_path_factory.mktemp("hardening"))
    limited = {"FILE_LIMIT": "200", "PYTHONDONTWRITEBYTECODE": "1"}
    answers, _ = answers_of(ON_A_FULL_DISK, folder, environment=limited)
    return answers, [path.name for path in (folder / "out").iterdir()]


@pytest.mark.parametrize("name", ON_A_FULL_DISK)
def test_a_full_disk_leaves_no_half_of_a_file(full_disk, name):
    code, _, err = full_disk[0][name]
    assert is_one_line_of_refusal(code, err), (code, err)
    assert full_disk[1] == []


@pytest.mark.parametrize("disk", ["full", "without permission"])
def test_a_damaged_store_that_cannot_be_written_stays_as_it_is(here, disk):
    store = here / "out" / "store.sqlite"
    store.write_bytes(seeds.stores()[0])
    with sqlite3.connect(store) as db:
        db.execute("update results set seconds = seconds + 1")
    db.close()
    before = store.read_bytes()
    if disk == "full":
        how = {"environment": {"FILE_LIMIT": "200", "PYTHONDONTWRITEBYTECODE": "1"}}
    else:
        store.chmod(0o444)
        (here / "out").chmod(0o555)
        how = {"through": (sys.executable, "-c", WITHOUT_PRIVILEGES)}
    (code, out, err), *_ = run([["repair", "out/store.sqlite"]], here, **how)[0]
    (here / "out").chmod(0o755)
    assert is_one_line_of_refusal(code, err), (code, err)
    assert out == ""
    assert store.read_bytes() == before
    assert [path.name for path in (here / "out").iterdir()] == ["store.sqlite"]


def test_several_processes_share_a_store(tmp_path):
    """Four processes with the same sixty runs: all are there, each was run once, and readers never see half of one."""
    script = (
        "import os, sys, time\n"
        "from taskorder.runs.local import complete\n"
        "from taskorder.runs.specs import RunSpec\n"
        "from taskorder.runs.store import Store\n"
        "log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)\n"
        "def work(specs):\n"
        "    os.write(log, b''.join(b'%d\\n' % spec.params['x'] for spec in specs))\n"
        "    time.sleep(0.005)\n"
        "    return [{'y': [spec.params['x']] * 1000} for spec in specs]\n"
        "specs = [RunSpec('square.1', {'x': x}) for x in range(60)]\n"
        "with Store(sys.argv[1]) as store:\n"
        "    complete(specs, work, store, batch_size=3)\n"
        "    assert store.missing(specs) == []\n"
    )
    path, log = tmp_path / "s", tmp_path / "log"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    workers = [subprocess.Popen([sys.executable, "-c", script, path, log], env=environment) for _ in range(4)]
    from taskorder.runs.store import Store

    seen = 0
    while any(worker.poll() is None for worker in workers):
        with Store(path) as store:
            entries = store.entries()
            assert all(store.result(entry.digest) == {"y": [entry.params["x"]] * 1000} for entry in entries)
            assert len(entries) >= seen
            seen = len(entries)
    assert [worker.returncode for worker in workers] == [0] * 4
    assert sorted(map(int, log.read_text().split())) == list(range(60))


TEXTS = {
    name: reader
    for name, reader in readers.READERS.items()
    if reader.ending in (".csv", ".json", ".toml", ".txt") and not reader.name.startswith("explorer")
}


@pytest.mark.parametrize("name", TEXTS)
def test_windows_line_ends_and_marks(name, tmp_path):
    """A file that went through an editor on Windows is read as before."""
    reader = TEXTS[name]
    (tmp_path / "a").mkdir()
    for data in reader.seeds():
        plain = data.decode("utf-8-sig").replace("\r\n", "\n")
        answers = []
        for text in (plain.encode(), plain.replace("\n", "\r\n").encode("utf-8-sig")):
            path = tmp_path / "a" / f"input{reader.ending}"
            path.write_bytes(text)
            try:
                answers.append(repr(reader.read(path)))
            except ValueError as problem:
                answers.append(f"refused: {problem}")
        assert answers[0] == answers[1]
