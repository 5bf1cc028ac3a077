"""Standard streams that are closed or full, as a shell hands them over with >&- or > /dev/full."""

import logging
import os
import subprocess
import sys

import pytest

from taskorder.cli.output import said_log
from taskorder.records import Plan

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a POSIX shell and /dev/full")


def shell(redirection, *argv, tmp_path):
    """The real program, with its streams redirected by a shell."""
    (tmp_path / "table.csv").write_text("1,0.5\n0.5,1\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    script = f'exec "$0" -m taskorder "$@" {redirection}'
    return subprocess.run(
        ["sh", "-c", script, sys.executable, *argv],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        timeout=300,
    )


@pytest.mark.parametrize("redirection", [">&-", "> /dev/full"])
@pytest.mark.parametrize("argv", [["solve", "table.csv"], ["solve", "table.csv", "--json"], ["compare", "table.csv"]])
def test_output_that_cannot_be_written(redirection, argv, tmp_path):
    done = shell(redirection, *argv, tmp_path=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("taskorder: error: cannot write to standard output: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("argv", [["--help"], ["--version"]])
def test_help_on_a_full_disk(argv, tmp_path):
    done = shell("> /dev/full", *argv, tmp_path=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("redirection", ["2>&-", "2> /dev/full"])
def test_without_stderr_only_results_reach_stdout(redirection, tmp_path):
    done = shell(redirection, "solve", "table.csv", "--json", tmp_path=tmp_path)
    assert done.returncode == 0
    assert len(Plan.from_json(done.stdout).order) == 2


@pytest.mark.parametrize("redirection", ["2>&-", "2> /dev/full"])
@pytest.mark.parametrize("argv", [["solve", "missing.csv"], ["solve", "--fast"], ["solve"]])
def test_without_stderr_errors_are_exit_codes(redirection, argv, tmp_path):
    done = shell(redirection, *argv, tmp_path=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("command", ["solve", "audit", "order"])
def test_closed_input(tmp_path, command):
    done = shell("<&-", command, "-", tmp_path=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("taskorder: error: `standard input` must be open to read from it")
    assert done.stderr.count("\n") == 1


def test_what_the_library_logs_is_said_while_a_command_runs(capsys):
    logger = logging.getLogger("taskorder.ordering")
    with said_log():
        logger.info("compiling %s", "kernels")
        logger.debug("nothing for people")
    logger.info("after the command")
    assert capsys.readouterr().err == "taskorder: compiling kernels\n"
