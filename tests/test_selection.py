"""`make test` leaves out only what CONTRIBUTING.md lists as slow, and CI forbids skips of what it installs."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
MARK = re.compile(r"mark\.slow(?:\(\"(\w+)\"\))?")
ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", re.MULTILINE)
CLOCKS = re.compile(
    r"assert .*(?:perf_counter|monotonic|time\.time|\bseconds <|ru_maxrss|VmHWM|get_traced_memory|\bpeak\b)"
)


def name_of(path):
    return path.relative_to(ROOT / "tests").as_posix()


def test_what_is_slow_is_listed_with_its_reason():
    marked = {
        (group, name_of(path)) for path in TESTS for group in MARK.findall(path.read_text()) if path != Path(__file__)
    }
    rows = ROW.findall((ROOT / "CONTRIBUTING.md").read_text())
    assert marked == {(group, file) for group, files, _ in rows for file in re.findall(r"`([^`]+)`", files)}
    assert all(len(reason.split()) > 3 for _, _, reason in rows)


def is_slow(function, module):
    """Whether a test of a module is marked, itself or with the whole module."""
    marks = [ast.unparse(decorator) for decorator in function.decorator_list]
    marks += [
        ast.unparse(node.value)
        for node in module.body
        if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node.targets[0])
    ]
    return any("mark.slow" in mark for mark in marks)


def quick_tests(text):
    module = ast.parse(text)
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    return [function for function in functions if not is_slow(function, module)]


@pytest.mark.parametrize("path", TESTS, ids=name_of)
def test_only_slow_tests_measure_time_or_memory(path):
    lines = {function.name: ast.unparse(function) for function in quick_tests(path.read_text())}
    assert {name: CLOCKS.findall(text) for name, text in lines.items() if CLOCKS.search(text)} == {}


def test_measuring_is_seen():
    text = f"def test_a():\n    assert time.{'perf'}_counter() - start < 5\n"
    (function,) = quick_tests(text)
    assert CLOCKS.search(ast.unparse(function))
    assert quick_tests("@pytest.mark.slow('time')\n" + text) == []
    assert quick_tests("pytestmark = [pytest.mark.slow('time')]\n" + text) == []


SKIPS = {
    "test": "def test_a():\n    pytest.importorskip('no_torch')\n",
    "module": "pytest.importorskip('no_torch')\n",
    "fixture": "@pytest.fixture\ndef it():\n    pytest.importorskip('no_torch')\ndef test_a(it):\n    pass\n",
}


def test_a_forbidden_skip_fails(tmp_path):
    """In a test, in a whole file and in a fixture."""
    shutil.copy(ROOT / "tests/conftest.py", tmp_path)
    (tmp_path / "pytest.ini").touch()
    for name, text in SKIPS.items():
        (tmp_path / f"test_{name}.py").write_text(f"import pytest\n{text}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    ends = []
    for pattern in ("Chromium", "Chromium|no_torch"):
        environment = {**os.environ, "TASKORDER_NO_SKIPS": pattern, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        ends.append(re.sub(" in .*", "", done.stdout.splitlines()[-1]))
    assert ends == ["3 skipped", "1 failed, 2 errors"]


def test_ci_runs_every_test_once_and_forbids_skips():
    script = (ROOT / ".ci/run").read_text()
    assert re.findall(r"^make (\S+)$", script, re.MULTILINE) == [
        "torch",
        "docs",
        "test",
        "test-slow",
        "test-adapters",
        "test-trackers",
        "test-hf",
        "lint",
    ]
    (pattern,) = re.findall(r'^export TASKORDER_NO_SKIPS="(.+)"$', script, re.MULTILINE)
    for reason in (
        "could not import 'torch': No module",
        "no Chromium on this machine",
        "could not import 'playwright.sync_api': No",
    ):
        assert re.search(pattern.replace("\\\\", "\\"), reason), reason
    assert not re.search(pattern.replace("\\\\", "\\"), "could not import 'torchvision': No module")
    makefile = (ROOT / "Makefile").read_text()
    assert re.findall(r"-m (\"not slow\"|slow) ", makefile) == ['"not slow"', "slow"]
