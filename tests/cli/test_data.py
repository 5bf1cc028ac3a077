"""`taskorder data`: what it prints, how it ends, and Ctrl-C in the middle of a real download."""

import argparse
import dataclasses
import gzip
import hashlib
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from taskorder.cli import data
from taskorder.datasets.sources import SOURCES
from taskorder.datasets.verification import contents_digest

INTERRUPTIBLE = """
import argparse, dataclasses, signal, sys
from taskorder.cli import data
from taskorder.datasets.sources import SOURCES
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let what runs in the background ignore it
SOURCES["fashion-mnist"] = dataclasses.replace(SOURCES["fashion-mnist"], address=sys.argv[1])
parser = argparse.ArgumentParser()
data.add(parser.add_subparsers())
args = parser.parse_args(["data", "get", "fashion-mnist", "--folder", sys.argv[2]])
code, text = args.run(args)
print(text)
sys.exit(code)
"""


def run(*argv):
    """Exit code and output of the command."""
    parser = argparse.ArgumentParser()
    data.add(parser.add_subparsers())
    args = parser.parse_args(["data", *map(str, argv)])
    return args.run(args)


def packed_idx(array):
    head = bytes((0, 0, 8, array.ndim)) + b"".join(size.to_bytes(4, "big") for size in array.shape)
    return gzip.compress(head + array.astype(np.uint8).tobytes())


@pytest.fixture
def files():
    """A small Fashion-MNIST, by file name."""
    rng = np.random.default_rng(0)
    packed = {}
    for split, count in (("train", 20), ("t10k", 10)):
        packed[f"{split}-images-idx3-ubyte.gz"] = packed_idx(rng.integers(0, 256, (count, 28, 28)))
        packed[f"{split}-labels-idx1-ubyte.gz"] = packed_idx(np.arange(count) % 10)
    return packed


@pytest.fixture
def site(files, monkeypatch):
    """The address of a server with these files; the first 100 bytes of slow/ arrive, and then nothing for long."""
    enough = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *ignored):
            pass

        def do_GET(self):
            content = files[self.path.rpartition("/")[2]]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[:100])
            if "slow" in self.path:
                self.wfile.flush()
                enough.wait(20)
            self.wfile.write(content[100:])

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *ignored):
            """A client that was interrupted hangs up."""

    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    server = Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    enough.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def small(site, files, monkeypatch):
    """Fashion-MNIST as the server has it, in place of the real one."""
    downloads = tuple((name, hashlib.md5(files[name]).hexdigest()) for name in SOURCES["fashion-mnist"].files)
    changes = {"address": site, "downloads": downloads, "num_rows": (2, 1), "digest": ""}
    source = dataclasses.replace(SOURCES["fashion-mnist"], **changes)
    monkeypatch.setitem(SOURCES, "fashion-mnist", source)
    return source


def test_get_then_list_then_check(small, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TASKORDER_DATA", str(tmp_path))
    assert run("list")[1].splitlines()[3].split()[:3] == ["fashion-mnist", "no", "31"]
    code, text = run("get", "fashion-mnist")
    assert (code, text) == (0, f"fashion-mnist: 20 + 10 images of 10 classes in {tmp_path / 'fashion-mnist'}\n")
    assert run("list")[1].splitlines()[3].split()[:3] == ["fashion-mnist", "yes", "31"]
    code, text = run("check")
    assert code == 0
    assert " ".join(text.splitlines()[2].split()) == "fashion-mnist 20 10 10 2 + 1 complete by counts"
    read = small.read(tmp_path)
    monkeypatch.setitem(SOURCES, "fashion-mnist", dataclasses.replace(small, digest=contents_digest(read)))
    assert "as published" in run("check", tmp_path)[1]
    assert capsys.readouterr().err == ""


def test_list_says_where_and_what_is_there_in_part(tmp_path):
    pytest.importorskip("sklearn")
    (tmp_path / "cifar-100-binary").mkdir()
    (tmp_path / "cifar-100-binary" / "train.bin").write_bytes(b"x")
    code, text = run("list", "--folder", tmp_path)
    lines = text.splitlines()
    assert code == 0
    assert [line.split()[0] for line in lines[2:6]] == list(SOURCES)
    assert lines[5].split()[1:3] == ["in", "part"]
    assert lines[2].split()[1] == "yes"
    assert lines[6].split() == ["where", str(tmp_path)]
    assert max(map(len, lines[:6])) <= 80


def test_check_says_one_line_a_problem(small, files, tmp_path, capsys):
    folder = tmp_path / "fashion-mnist"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(b"junk")
    (tmp_path / "cifar-10-batches-bin").mkdir()
    code, text = run("check", tmp_path)
    assert code == 2
    problems = capsys.readouterr().err.splitlines()
    assert len(problems) == 2
    assert "t10k-images-idx3-ubyte.gz` must start with the bytes 00 00 08 03, got 6a 75 6e 6b" in problems[0]
    assert "`cifar10` must be downloaded first, got nothing" in problems[1]
    assert text.count("unreadable") == 2


def test_refusals_reach_the_caller(small, tmp_path):
    pytest.importorskip("sklearn")
    with pytest.raises(ValueError, match="`name` must be one of digits, fashion-mnist, cifar10, cifar100, got 'x'"):
        run("get", "x")
    with pytest.raises(ValueError, match="must hold a data set"):
        run("check", tmp_path)
    assert "images of 10 classes in scikit-learn" in run("get", "digits")[1]


def test_the_bar_is_drawn_on_a_terminal(small, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    assert run("get", "fashion-mnist", "--folder", tmp_path)[0] == 0
    assert "fashion-mnist" in capsys.readouterr().err


def test_ctrl_c_keeps_the_part(site, small, tmp_path):
    running = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, site + "slow/", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    part = tmp_path / "fashion-mnist" / "train-images-idx3-ubyte.gz.part"
    until = time.monotonic() + 20
    while not part.exists() and time.monotonic() < until and running.poll() is None:
        time.sleep(0.02)
    time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, problems = running.communicate(timeout=10)
    assert running.returncode == 130, problems
    assert problems.startswith("taskorder: interrupted; what has arrived is kept in")
    assert len(problems.splitlines()) == 1
    assert part.stat().st_size == 100
    assert run("get", "fashion-mnist", "--folder", tmp_path)[0] == 0
    assert not part.exists()
