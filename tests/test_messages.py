"""Refusals of the library speak of its parameters; the command line puts its options in their place."""

import ast
import re
from pathlib import Path

import pytest

import taskorder
from reproduction.running import reproduce
from taskorder.cli import build_parser, main
from taskorder.cli.options import option_names, with_option_names
from taskorder.learners.named import named_learner

PACKAGE = Path(taskorder.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")
COMMAND = re.compile(r"(taskorder [a-z]+|ray start) [^.`]*$")


def options_in_refusals(text):
    """The options that the `raise` statements of a module name, but for those in whole commands."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise) and node.exc is not None:
            texts = [part.value for part in ast.walk(node.exc) if isinstance(part, ast.Constant)]
            said = "".join(text for text in texts if isinstance(text, str))
            found += [said[m.start() :] for m in OPTION.finditer(said) if not COMMAND.search(said[: m.start()])]
    return found


def test_the_library_names_no_option():
    library = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "cli"]
    assert len(library) > 150
    assert {path.name: found for path in library if (found := options_in_refusals(path.read_text()))} == {}


def test_what_counts_as_an_option():
    assert options_in_refusals("raise ValueError(f'`--port` must be free, got {port}.')")
    assert not options_in_refusals("raise ValueError('Use: taskorder solve --time-limit')")
    assert not options_in_refusals("raise ValueError('a dash -- like this')")


def test_the_library_names_its_parameters(tmp_path):
    for call, message in (
        (lambda: named_learner("magic", []), "`learner` must be mlp, cnn, sklearn:CLASS"),
        (lambda: reproduce("fig2b", tmp_path, partial=True), "`partial` must come without `again`, with one of: fig1c"),
        (lambda: reproduce("fig2b", tmp_path, settings={"x": "1"}), "`settings` must name a setting, got 'x'"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def names_of(*argv):
    parser = build_parser()
    return option_names(parser, parser.parse_args(argv))


def test_arguments_of_a_command_are_shown_as_options():
    names = names_of("plan", "digits")
    assert names["name_or_path"] == "DATA"
    assert names["learner"] == "--learner"
    assert names["cpus"] == "--cpus-per-worker"
    assert with_option_names("`cpus` must fit, `learner` too, the `other` not, nor budget.", names) == (
        "`--cpus-per-worker` must fit, `--learner` too, the `other` not, nor budget."
    )
    assert names_of("report", "store.sqlite")["task_set"] == "--task-set"
    assert names_of("data", "get", "digits")["folder"] == "--folder"


def test_a_file_that_has_the_name_of_an_option_keeps_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["solve", "seed"]) == 2
    assert "`seed` must" in capsys.readouterr().err
    assert main(["solve", "--demo", "--seed", "-1"]) == 2
    assert "`--seed` must" in capsys.readouterr().err


def said(capsys, *words: str) -> str:
    assert main([*words]) == 2
    return capsys.readouterr().err


def test_what_was_got_keeps_its_words(tmp_path, capsys, monkeypatch):
    """Options are named in the rule of a message, never in what it quotes: tasks, files and other programs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(",A,`last`\nA,1,0.5\n`last`,0.5,1\n")
    message = said(capsys, "solve", "table.csv", "--first", "`last`", "--before", "A:`last`")
    assert "`--first` must not contradict `--before`, got first `last` but A before `last`" in message
    (tmp_path / "run.toml").write_text("batch = 3\n")
    assert "`batch` must" in said(capsys, "run", "run.toml")
    (tmp_path / "first").write_text("x")
    assert "`--first`" not in said(capsys, "solve", "table.csv", "--output-similarity=first")
