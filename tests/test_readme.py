"""The README must be true: its Python runs as a doctest and its commands print what it shows."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README.read_text(), re.DOTALL)
CONSOLE = [block.split("\n", 1) for language, block in BLOCKS if language == "console"]


def steady(text: str) -> list[str]:
    """The lines without trailing blanks and without the time a run took."""
    return [line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith("time ")]


def test_python_blocks_print_what_they_show():
    result = doctest.testfile(str(README), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted >= 6
    assert result.failed == 0


@pytest.mark.parametrize(("command", "shown"), CONSOLE, ids=[command for command, _ in CONSOLE])
def test_commands_print_what_they_show(command, shown):
    words = shlex.split(command.removeprefix("$ "))
    assert words[0] == "taskorder"
    done = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    assert steady(done.stdout) == steady(shown)


def test_links_and_make_targets_exist():
    text = README.read_text()
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / target).exists(), target
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^ +make (\w+)", text, re.MULTILINE):
        assert f"\n{target}:" in makefile, target
