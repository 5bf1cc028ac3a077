"""`taskorder explore` as a process: its address, its errors, and its end."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from taskorder.cli import main

pytest.importorskip("uvicorn")


@contextmanager
def explorer(*argv, port=0):
    """A running explorer and its address."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "taskorder", "explore", "--port", str(port), *argv]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        yield process, process.stdout.readline().strip()
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def port_of(address):
    return urlsplit(address).port


def call(address, path, body=None):
    place, token = address.split("#token=")
    request = urllib.request.Request(place + path, data=body, headers={"X-Taskorder-Token": token})
    return urllib.request.urlopen(request, timeout=300)


def test_it_serves_the_file_and_frees_its_port(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("task,cats,dogs\ncats,1,0.5\ndogs,0.5,1\n")
    with explorer(str(table)) as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#token=[\w-]{32}", address)
        start = json.loads(call(address, "api/start").read())
        assert start["table"]["names"] == ["cats", "dogs"]
        assert start["table"]["source"] == "t.csv"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
        stderr = process.stderr.read()
    assert "Traceback" not in stderr
    assert stderr.splitlines()[-1] == "taskorder: the explorer has ended"
    with explorer(port=port_of(address)) as (_, again):
        assert port_of(again) == port_of(address)
        assert again != address  # an address is of one start


@pytest.mark.slow("interrupt")
def test_interrupt_ends_a_running_search():
    rows = [[1.0 if i == j else 0.3 + 0.001 * ((i * j) % 7) for j in range(60)] for i in range(60)]
    body = {"similarity": rows, "rule": "optimal", "retention": 1}
    with explorer() as (process, address):
        call(address, "api/solve", json.dumps({**body, "seconds": 0.5}).encode()).read()  # compiling cannot be stopped
        stream = call(address, "api/solve", json.dumps({**body, "seconds": 600}).encode())
        assert "key" in json.loads(stream.readline())
        assert "seconds" in json.loads(stream.readline())  # surely inside the solver
        process.send_signal(signal.SIGINT)
        last = stream.read().decode().splitlines()[-1]
        assert process.wait(timeout=40) == 0
        assert "plan" in json.loads(last)
        assert "Traceback" not in process.stderr.read()


def test_only_loopback_is_bound():
    with explorer() as (_, address):
        port = port_of(address)
        addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)}
        for other in addresses - {"127.0.0.1"}:
            with pytest.raises(OSError):  # noqa: PT011
                socket.create_connection((other, port), timeout=2)
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            assert connection.getpeername()[0] == "127.0.0.1"


def test_a_port_in_use_is_one_line_with_the_fix(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["explore", "--port", str(port)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"taskorder: error: `--port` must be free to listen on, got {port}: ")
    assert said.err.endswith("Choose another, or 0 for any free one.\n")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--port", "70000"], "`--port` must be from 0 to 65535, got 70000."),
        (["--port", "x"], "argument --port"),
        (["nowhere.csv"], "`nowhere.csv` must be an existing file"),
        (["nowhere.csv", "--demo"], "not both"),
    ],
)
def test_bad_input(capsys, argv, said):
    assert main(["explore", *argv]) == 2
    assert said in capsys.readouterr().err


def test_a_missing_extra_names_the_command(capsys, monkeypatch):
    monkeypatch.setattr("taskorder.cli.explore.find_spec", lambda name: None)
    assert main(["explore"]) == 2
    assert capsys.readouterr().err == (
        'taskorder: error: The explorer needs starlette and uvicorn. Install it with: pip install "taskorder[web]".\n'
    )


def test_open_gives_the_browser_a_file_that_only_this_user_reads(monkeypatch, capsys):
    opened, handed = [], []
    monkeypatch.setattr("webbrowser.open", opened.append)

    def serve(listening, token, start, retention):
        time.sleep(0.2)
        (door,) = (Path(unquote(urlsplit(address).path)) for address in opened)
        handed.extend((token, door, door.read_text(), door.parent.stat().st_mode & 0o777))

    monkeypatch.setattr("taskorder.explorer.server.serve", serve)
    assert main(["explore", "--demo", "--port", "0", "--open"]) == 0
    address = capsys.readouterr().out.strip()
    token, door, text, mode = handed
    assert address.endswith(f"#token={token}")
    assert f"url={address}" in text
    assert token not in opened[0]  # everybody can list the words that programs were started with
    assert mode == 0o700
    assert not door.exists()
