"""The pages must be true: their Python runs, and their commands print what they show.

How a page says what is run:
    ```python    doctests, in the order of the page, with one set of names for the page
    ```console   `$ ` commands, run in bash in a folder of their own; `...` stands for what differs from run to run
    ```text      not run: it takes too long, or needs a network, a cluster or a package that CI does not have
    <!-- needs: torch -->   on the line above a block: not run where that package is missing
Commands of ours in text blocks and within lines are not run, but the command line must understand them.
"""

import ast
import contextlib
import doctest
import importlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from taskorder.cli import build_parser

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
ON_A_CLUSTER = {"docs/scale.md"}
"""Pages whose Python needs machines; tests/execute runs the same calls."""
FENCE = re.compile(r"(?:<!-- needs: (\w+) -->\n)?^```([^\n`]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMPARED = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FOLDERS = ("benchmarks", "configs", "docs", "examples", "results")


class Block(NamedTuple):
    needs: str
    language: str
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    return [Block(m[1] or "", m[2].strip(), m[3], text.count("\n", 0, m.start(3)) + 1) for m in FENCE.finditer(text)]


def commands(text: str) -> list[tuple[str, str]]:
    """Every command of a console block with what it should print; lines that begin with `> ` continue a command."""
    pairs: list[tuple[str, str]] = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        more = next((k for k, line in enumerate(lines[1:], 1) if not line.startswith("> ")), len(lines))
        pairs.append(("\n".join([lines[0], *(line[2:] for line in lines[1:more])]), "\n".join(lines[more:])))
    return pairs


def steady(text: str) -> str:
    """Without trailing blanks and without the time a run took."""
    return (
        "\n".join(line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith("time ")) + "\n"
    )


def shown(want: str, got: str) -> bool:
    return doctest.OutputChecker().check_output(steady(want), steady(got), COMPARED)


def run(command: str, folder: Path) -> str:
    ours = 'taskorder() { "$PYTHON" -m taskorder "$@"; }; python() { "$PYTHON" "$@"; }; set -eo pipefail; '
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    environment = {**os.environ, "PYTHON": sys.executable, "PYTHONPATH": path, "COLUMNS": "200"}
    done = subprocess.run(["bash", "-c", ours + command], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


def check_imports(text: str) -> None:
    """What the block imports is there, which is all that can be said without running it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module or "")
            assert all(hasattr(module, alias.name) for alias in node.names), ast.unparse(node)


def run_page(text: str, name: str, folder: Path) -> int:
    """Run every block of a page; the number of commands and examples."""
    parser, report, names, count = doctest.DocTestParser(), io.StringIO(), {"__name__": "page"}, 0
    for block in blocks(text):
        if block.needs and importlib.util.find_spec(block.needs) is None:
            continue
        if block.language == "python" and name in ON_A_CLUSTER:
            check_imports(block.text)
            count += 1
        elif block.language == "python":
            test = parser.get_doctest(block.text, names, name, name, block.line - 1)
            assert test.examples, f"{name}:{block.line}: no >>> in a python block"
            runner = doctest.DocTestRunner(optionflags=COMPARED, verbose=False)
            runner.run(test, out=report.write, clear_globs=False)
            assert runner.failures == 0, report.getvalue()
            names, count = test.globs, count + len(test.examples)
        elif block.language == "console":
            for command, want in commands(block.text):
                got = run(command, folder)
                assert shown(want, got), f"{name}:{block.line}: {command}\nshown:\n{want}\nprinted:\n{got}"
                count += 1
    return count


SLOW = {"audit.md", "gallery.md", "own_files.md", "own_tasks.md", "tour.md"}
RUN = [pytest.param(page, marks=pytest.mark.slow("pages") if page.name in SLOW else (), id=page.name) for page in PAGES]


@pytest.mark.parametrize("page", RUN)
def test_pages_show_what_happens(page, tmp_path, monkeypatch):
    for folder in FOLDERS:
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    languages = {block.language for block in blocks(text)}
    assert all(name in ("python", "console", "text", "toml", "math") or name.startswith("{") for name in languages)
    count = run_page(text, page.relative_to(ROOT).as_posix(), tmp_path)
    assert count > 0 or not languages & {"python", "console"}


@pytest.mark.parametrize(
    "page",
    ["```python\n>>> 1 + 1\n3\n```", "```python\nx = 1\n```", "```console\n$ taskorder --version\nnine\n```",
     "```console\n$ taskorder solve nothing.csv\n```", "```console\n$ echo one\n$ echo two\n> three\ntwo\n```"],
)  # fmt: skip
def test_a_page_that_is_wrong_fails(page, tmp_path):
    with pytest.raises(AssertionError):
        run_page(page, "page.md", tmp_path)


def said_commands(text: str) -> list[str]:
    """Commands of ours that a page names within a line or in a block that is not run."""
    fenced = [line for block in blocks(text) if block.language == "text" for line in block.text.splitlines()]
    rest = FENCE.sub("", text)
    indented = re.findall(r"^ {4,}(.+)$", rest, re.MULTILINE)
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", rest)]
    lines = [line.strip().removeprefix("$ ").partition(" #")[0].strip() for line in [*fenced, *indented, *spans]]
    return [line for line in lines if line.startswith("taskorder ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_within_lines_are_understood(page):
    parser = build_parser()
    for command in said_commands(page.read_text()):
        words = shlex.split(command.split(" | ")[0].split(" > ")[0])[1:]
        words = ["1" if word.isupper() else word for word in words]  # FILE, SET
        if words == ["--version"] or words[-1] in ("--help", "..."):
            continue
        problems = io.StringIO()
        try:
            with contextlib.redirect_stderr(problems), contextlib.redirect_stdout(io.StringIO()):
                parser.parse_args(words)
        except SystemExit:
            # a line may name a command without all that it needs
            assert "arguments are required" in problems.getvalue(), f"{command}: {problems.getvalue()}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_scripts_and_targets_exist(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", FENCE.sub("", text)):
        assert (page.parent / target).exists(), target
    for script in re.findall(r"python ((?:examples|benchmarks)/\S+\.py)", text):
        assert (ROOT / script).exists(), script
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^ +|`)make ([a-z]+)", text, re.MULTILINE):
        assert f"\n{target}:" in makefile, target


def is_there(dotted: str) -> bool:
    """Whether a dotted name leads to something of ours; true as well where a module needs a package that is missing."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ImportError as problem:
            if (problem.name or "").partition(".")[0] != "taskorder":
                return True
            continue
        for name in parts[length:]:
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_of_ours_that_no_block_runs_exist(page):
    text = page.read_text()
    names = set(re.findall(r"\btaskorder(?:\.\w+)+", FENCE.sub("", text)))
    shown = "".join(block.text for block in blocks(text) if block.language == "text")
    for module, imported in re.findall(r"^from (taskorder[\w.]*) import (.+)$", shown, re.MULTILINE):
        names |= {f"{module}.{name.strip()}" for name in imported.split(",")}
    assert [name for name in sorted(names) if not is_there(name)] == []


def test_names_that_are_not_there_are_noticed():
    assert is_there("taskorder.theory.law.final_knowledge")
    assert not is_there("taskorder.theory.law.carry")
    assert not is_there("taskorder.nowhere")


MEASURED = re.compile(r"\d[\d.]*(?: %)? \[[\d.]+, [\d.]+\]|\b\d{1,3}(?:,\d{3})+\b")
"""A number with its interval, or one of four digits and more."""


@pytest.mark.parametrize("name", ["theory.md", "speed.md", "faq.md"])
def test_measured_numbers_are_those_of_the_results(name):
    pages = ("README.md", "docs/choose.md", "docs/benchmarks.md")
    sources = [*(ROOT / page for page in pages), *(ROOT / "reproduction/pages").glob("*.md")]
    kept = "".join(source.read_text() for source in sources)
    numbers = MEASURED.findall((ROOT / "docs" / name).read_text())
    assert numbers
    assert [number for number in numbers if number not in kept and not rounded(number, kept)] == []


def parts(text):
    return [float(part.replace(",", "")) for part in re.findall(r"-?\d[\d,]*(?:\.\d+)?", text.replace("], ", "] "))]


def rounded(number, kept):
    """Whether the pages have a number that is this one with fewer digits, or in percent."""
    whole = "[" not in number
    candidates = re.findall(
        r"\b\d[\d,]*(?:\.\d+)?(?![\d.])" if whole else r"[+-]?\d[\d.]*(?: ?%)? \[[+-]?[\d.]+%?, [+-]?[\d.]+%?\]", kept
    )
    shown = parts(number)
    digits = len(number.replace(",", "").rstrip("0")) if whole else None

    def same(value, other, text):
        if whole:
            return other and abs(value - other) <= 0.51 * 10 ** (len(text.replace(",", "")) - digits)
        decimals = len(text.partition(".")[2])
        return any(abs(value - unit * other) <= 0.505 * 10**-decimals + 0.006 for unit in (1, 100))

    texts = [number] if whole else re.findall(r"[\d.]+", number)
    return any(
        len(others) == len(shown) and all(map(same, shown, others, texts))
        for others in ([abs(part) for part in parts(candidate)] for candidate in candidates)
    )


def test_numbers_of_the_readme_are_those_of_the_law():
    """r^2 of the law and of the closed form, and points over the mean order, of each data set."""
    page = (ROOT / "reproduction/pages/law.md").read_text()
    rows = [
        line.split("|")[1:-1]
        for line in (ROOT / "README.md").read_text().splitlines()
        if "NIST 50" in line or "CNN |" in line
    ]
    sets = ("Fashion-MNIST 50-99", "CIFAR-10 0-29", "CIFAR-100, 5 tasks", "CIFAR-100 100-149, 5 tasks")
    assert len(rows) == len(sets)
    for (_, law, closed, *points), name in zip(rows, sets, strict=True):
        r2 = re.search(rf"than the closed form; {re.escape(name)} \| ours \| r\^2 ([\d.]+) and ([\d.]+):", page)
        assert [float(law), float(closed)] == [float(part) for part in r2.groups()]
        rivals = ("row-sums", "periphery-to-core", "the closed form")
        for shown, rival in zip(points[1:], rivals, strict=True):
            earned = re.search(
                rf"above that of {rival}; {re.escape(name)} \|.*?; ([+-][\d.]+) and ([+-][\d.]+) points above", page
            )
            assert [round(float(part), 1) for part in earned.groups()] == [float(points[0]), float(shown)]


def test_every_example_of_the_gallery_is_shown_with_its_picture():
    text = (ROOT / "docs/gallery.md").read_text()
    names = {path.stem for path in (ROOT / "examples/gallery").glob("*.py")}
    assert len(names) >= 6
    assert {path.stem for path in (ROOT / "docs/gallery").glob("*.png")} == names
    for name in names:
        assert f"](gallery/{name}.png)" in text
        assert f"$ python examples/gallery/{name}.py {name}.png" in text


def test_every_public_name_is_in_the_reference():
    import taskorder
    from taskorder import learners

    text = (ROOT / "docs/api.rst").read_text()
    listed = set(re.findall(r"^\.\. auto\w+:: ([\w.]+)", text, re.MULTILINE))
    assert {f"taskorder.{name}" for name in taskorder.__all__ if name != "__version__"} <= listed
    assert {f"taskorder.learners.{name}" for name in learners.__all__} <= listed
