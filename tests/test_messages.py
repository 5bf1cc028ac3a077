"""Refusals of the library speak of its parameters; the command line puts its options in their place."""

import argparse
import ast
import json
import re
from pathlib import Path

import pytest

import taskorder
from reproduction.running import reproduce
from taskorder.arguments import BadArgument
from taskorder.cli import build_parser, main
from taskorder.cli.options import option_names
from taskorder.learners.named import named_learner

PACKAGE = Path(taskorder.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")
COMMAND = re.compile(r"(taskorder [a-z]+|ray start) [^.`]*$")


def options_in_refusals(text):
    """The options that the `raise` statements of a module name, but for those in whole commands."""
    options = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise) and node.exc is not None:
            texts = [part.value for part in ast.walk(node.exc) if isinstance(part, ast.Constant)]
            said = "".join(text for text in texts if isinstance(text, str))
            options += [said[m.start() :] for m in OPTION.finditer(said) if not COMMAND.search(said[: m.start()])]
    return options


def test_the_library_names_no_option():
    library = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "cli"]
    assert len(library) > 150
    assert {path.name: options for path in library if (options := options_in_refusals(path.read_text()))} == {}


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
    problem = BadArgument("`cpus` must fit `this`, ", "learner", " too, ", "other", " too, not the `budget`.")
    assert problem.spelled(names) == (
        "`--cpus-per-worker` must fit `this`, `--learner` too, `other` too, not the `budget`."
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


def destinations(parser: argparse.ArgumentParser) -> set[str]:
    """What all the commands call their arguments in Python."""
    names = set()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            names |= set().union(*map(destinations, action.choices.values()))
        names.add(action.dest)
    return names


NO_ARGUMENTS = {
    "task/task.py": "tasks and their parts, from Python or from data",
    "task/together.py": "tasks and their parts, from Python or from data",
    "adapters/avalanche.py": "frameworks call it",
    "audit/results_file.py": "results given from Python",
    "datasets/class_tasks.py": "settings in a file",
    "datasets/download.py": "addresses of the package",
    "explorer/app.py": "what a page asks for",
    "explorer/plans.py": "what a page asks for",
    "learners/black_box.py": "learners that only Python has",
    "learners/orders.py": "a store given from Python",
    "learners/protocol.py": "tasks, from Python or from data",
    "metrics.py": "called from Python only",
    "ordering/candidates.py": "called from Python only",
    "planning/estimate.py": "a text given from Python",
    "planning/pilot.py": "tasks, from Python or from data",
    "records/plan.py": "a text given from Python",
    "runs/settings.py": "settings in a file",
    "runs/training.py": "batches of runs",
    "tables/knowledge.py": "called from Python only",
    "theory/closed_form.py": "called from Python only",
    "theory/steps.py": "called from Python only",
}
"""Modules that may speak of what has the name of an argument of some command without meaning that argument, and why."""


def not_translated(text: str, names: set[str]) -> list[str]:
    """The arguments that errors of a module speak of without being a BadArgument."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and node.args]
    errors = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "ValueError"]
    starts = [re.match(r"f?[\"']`(\w+)` ", ast.unparse(call.args[0])) for call in errors]
    return [start[1] for start in starts if start and start[1] in names]


def test_errors_about_arguments_know_their_names():
    names = destinations(build_parser())
    texts = {str(path.relative_to(PACKAGE)): path.read_text() for path in PACKAGE.rglob("*.py")}
    plain = {name: wrong for name, text in texts.items() if (wrong := not_translated(text, names))}
    assert plain.keys() == NO_ARGUMENTS.keys()


def test_what_counts_as_an_error_about_an_argument():
    text = "raise ValueError('`seed` must be one.')\nraise ValueError(f'{x}: `seed` must')\nBadArgument('`rule` must')"
    assert not_translated(text, {"seed", "rule"}) == ["seed"]


def test_what_a_file_holds_is_not_blamed_on_an_option(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text("1,0.2,0.5\n0.2,1,0.1\n0.5,0.1,1\n")
    assert main(["solve", "table.csv", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    Path("plan.json").write_text(json.dumps(plan))
    Path("odd.json").write_text(json.dumps({**plan, "options": {**plan["options"], "first": "zoo"}}))
    assert "`first` must name a known task" in said(capsys, "report", "odd.json", "--similarity", "table.csv")
    assert "`--first` must name a known task" in said(capsys, "report", "table.csv", "--first", "zoo")

    assert main(["order", "plan.json", "--classes", "[[0], [1], [2]]"]) == 0
    order = json.loads(capsys.readouterr().out)
    Path("order.json").write_text(json.dumps({**order, "class_groups": [[0], [1]]}))
    assert "`class_groups` must have one group" in said(capsys, "order", "order.json")
    assert "`--classes` must have one group" in said(capsys, "order", "plan.json", "--classes", "[[0], [1]]")
