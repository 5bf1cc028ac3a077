"""`taskorder run --ray`: what it refuses, in one line."""

import os
import socket
import subprocess
import sys

import pytest

from taskorder.cli import main

pytest.importorskip("jax")
pytest.importorskip("sklearn")


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text("dataset = 'digits'\nnum_sets = 2\nnum_tasks = 2\nfraction = 0.2\n")
    return "tiny.toml"


def test_without_ray_it_says_how_to_get_it(config, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["run", config, "--ray"]) == 2
    said = capsys.readouterr().err
    assert 'Ray is not installed. Install it with: pip install "taskorder[ray]".' in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tiny.toml", "--gpus-per-worker", "1"], "`--gpus-per-worker` must come with --ray"),
        (["tiny.toml", "--ray", "--cpus-per-worker", "0"], "CPUs per worker must be above 0, got 0.0"),
        (["tiny.toml", "--ray", "--gpus-per-worker", "1.5"], "a share of one like 0.5 or a whole number, got 1.5"),
        (["--ray", "tiny.toml"], "got 'tiny.toml'. Put CONFIG.toml first."),
    ],
)
def test_bad_options(config, words, message, capsys):
    pytest.importorskip("ray")
    try:
        code = main(["run", *words])
    except SystemExit as end:
        code = end.code
    assert code == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_an_address_where_no_cluster_answers(config):
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "taskorder", "run", config, "--ray", address]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert f"`--ray` must be the address of a Ray cluster that runs, got {address}" in done.stderr
    assert done.stderr.count("\n") == 1
