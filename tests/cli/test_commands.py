"""The command line on real files: tables, JSON, pipes, options."""

import dataclasses
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from taskorder import compare
from taskorder.cli import main, render
from taskorder.ordering import solve as solve_module
from taskorder.records import Plan
from taskorder.tables.reading import demo_similarity
from taskorder.tables.writing import write_similarity

NAMES = ("cats", "dogs", "owls", "a:b", "x, y")
TABLE = 0.7 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5)))


def run(*argv, **options):
    """The real program in its own process."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "FORCE_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "taskorder", *map(str, argv)],
        capture_output=True,
        env=environment,
        timeout=300,
        **options,
    )


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    write_similarity(path, TABLE, NAMES)
    return str(path)


@pytest.fixture
def calls(monkeypatch):
    """What the command line asked of `solve`; the real one still answers."""
    seen = []
    real = solve_module.solve

    def spy(*args, **options):
        seen.append((args, options))
        return real(*args, **options)

    monkeypatch.setattr(solve_module, "solve", spy)
    return seen


def plan_of(capsys, *argv):
    assert main([*argv, "--json"]) == 0
    text, problems = capsys.readouterr()
    assert problems == ""
    json.loads(text)
    return Plan.from_json(text)


@pytest.mark.parametrize("start", [["--version"], ["--help"], ["solve", "--help"], ["compare", "--help"]])
def test_starts_without_numerical_packages(start):
    code = (
        "import sys\nfrom taskorder.cli import main\n"
        f"try:\n    main({start!r})\nexcept SystemExit as end:\n    assert not end.code\n"
        "print([m for m in ('numpy', 'numba', 'scipy', 'rich', 'matplotlib') if m in sys.modules], file=sys.stderr)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert done.stderr.strip() == "[]"
    assert done.returncode == 0
    assert "taskorder" in done.stdout
    if start[0] in ("solve", "compare"):
        assert f"taskorder {start[0]} similarity.csv" in done.stdout


def test_plan_prints_numbered_steps(table, capsys):
    assert main(["solve", table]) == 0
    text, problems = capsys.readouterr()
    assert problems == ""
    assert "\x1b" not in text
    plan = solve_module.solve(TABLE, names=NAMES)
    for step, task in enumerate(plan.named_order, start=1):
        row = next(line for line in text.splitlines() if line.split()[:1] == [str(step)])
        assert task in row
    assert f"{plan.score:.4f}" in text
    assert "proven in the model" in text
    assert "keeps 13 % of what it knew" in text


@pytest.mark.parametrize("objective", ["score", "error"])
def test_the_last_total_is_the_value_of_the_plan(objective, table, capsys):
    assert main(["solve", table, "--weights", "cats=3,owls=0.5", "--objective", objective]) == 0
    lines = capsys.readouterr().out.splitlines()
    last = next(line for line in lines if line.split()[:1] == ["5"])
    error = next(line for line in lines if line.startswith(objective))
    assert float(last.split()[-2]) == pytest.approx(float(error.split()[1]), abs=6e-5)


def test_weights_by_name_are_those_of_python(table, capsys):
    assert plan_of(capsys, "solve", table, "--weights", "cats=3").options["weights"] == [3.0, 1.0, 1.0, 1.0, 1.0]
    assert main(["compare", table, "--weights", "cats=3", "--json"]) == 0
    best = json.loads(capsys.readouterr().out)["best"]
    assert best == compare(TABLE, names=NAMES, weights={"cats": 3}).best != compare(TABLE).best


def test_half_a_table_is_filled_and_both_commands_say_so(capsys, tmp_path):
    path = tmp_path / "half.csv"
    path.write_text("cats,1\ndogs,60 %,1\nowls,10 %,20 %,1\n")
    for command in ("solve", "compare", "simulate"):
        order = ["--order", "cats,dogs,owls", "--seeds", "1"] if command == "simulate" else []
        assert main([command, str(path), *order]) == 0
        said = capsys.readouterr()
        assert "the missing upper triangle is the mirror image of the lower one" in said.out
        assert said.err == ""
    assert main(["solve", str(path), "--kind", "transfer"]) == 2
    assert f"`{path}` must have a number in every cell, got none in row cats, column dogs" in capsys.readouterr().err
    path.write_text(",cats,dogs\ncats,0.9,\ndogs,0.4,0.8\n")
    assert main(["compare", str(path)]) == 2
    assert "if it is one, set `--kind` to similarity." in capsys.readouterr().err
    assert main(["solve", str(path), "--losses", "--chance", "1"]) == 2
    assert "similarity" not in capsys.readouterr().err


def test_json_is_the_plan_itself(table, capsys):
    plan = plan_of(capsys, "solve", table)
    again = solve_module.solve(TABLE, names=NAMES)
    assert dataclasses.replace(plan, seconds=0.0) == dataclasses.replace(again, seconds=0.0)
    assert Plan.from_json(plan.to_json()) == plan


def test_every_option_reaches_the_solver(table, tmp_path, calls, capsys):
    output = tmp_path / "output.csv"
    co = 0.5 + 0.5 * np.eye(5)
    co[0, 1] = co[1, 0] = 0.75
    back = [4, 3, 2, 1, 0]
    write_similarity(output, co[np.ix_(back, back)], NAMES[::-1])
    plan = plan_of(
        capsys, "solve", table, "--rule", "greedy", "--output-similarity", str(output), "--weights", "1,2,1,1,1",
        "--before", "cats:a:b", "--before", "a:b:dogs", "--first", "cats", "--last", "dogs", "--learned", '"x, y"',
        "--time-limit", "3", "--seed", "7", "--no-repair", "--retention", "1",
        "--objective", "error", "--kind", "similarity", "--group", "owls, a:b", "--group", "dogs",
    )  # fmt: skip
    (args, options), *more = calls
    assert not more
    assert args[1] == "greedy"
    np.testing.assert_array_equal(args[0], TABLE)
    np.testing.assert_array_equal(options["output"], co)
    assert options["weights"].tolist() == [1, 2, 1, 1, 1]
    assert options["before"] == [("cats", "a:b"), ("a:b", "dogs")]
    assert (options["first"], options["last"], options["learned"]) == ("cats", "dogs", ["x, y"])
    assert options["groups"] == [["owls", "a:b"], ["dogs"]]
    assert (options["time_limit"], options["seed"], options["repair"]) == (3.0, 7, False)
    assert (options["retention"], options["objective"], options["kind"]) == (1.0, "error", "similarity")
    assert plan.named_order == ("cats", "a:b", "owls", "dogs") or plan.named_order == ("cats", "owls", "a:b", "dogs")


def test_visits_and_no_time_limit(table, calls, capsys):
    plan = plan_of(capsys, "solve", table, "--visits", "7", "--time-limit", "none", "--retention", "1")
    assert len(plan.order) == 7
    assert set(plan.order) == set(range(5))
    assert calls[0][1]["visits"] == 7
    assert calls[0][1]["time_limit"] is None


@pytest.mark.parametrize("rule", solve_module.RULES)
def test_every_rule_prints_a_table(rule, table, capsys):
    assert main(["solve", table, "--rule", rule]) == 0
    text = capsys.readouterr().out
    assert rule in text
    assert all(name in text for name in NAMES)


def test_compare_table_and_json(table, capsys):
    assert main(["compare", table]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert main(["compare", table, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["verdict"] in text
    assert {score["rule"] for score in data["scores"]} <= set(solve_module.RULES)
    words = [line.split() for line in text.splitlines() if "%" in line]
    rows = [first for first, *_ in words if first in solve_module.RULES]
    assert rows == [score["rule"] for score in data["scores"]]
    assert f"{data['random_mean']:.6g}" in text


def test_compare_says_what_each_constraint_costs(table, capsys):
    asked = ["compare", table, "--last", "cats", "--group", "dogs,owls"]
    assert main(asked) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("price: ")]
    assert [line.partition(" costs ")[0] for line in said] == ["price: last cats", "price: group dogs,owls"]
    assert main([*asked, "--no-prices"]) == 0
    assert "price: " not in capsys.readouterr().out


def test_demo(capsys):
    assert plan_of(capsys, "solve", "--demo").names == demo_similarity()[1]
    assert main(["compare", "--demo", "--num-random", "50"]) == 0
    assert "more" in capsys.readouterr().out  # 12 tasks: the orders are shortened


def test_a_table_that_needs_repair_says_so(tmp_path, capsys):
    path = tmp_path / "broken.csv"
    path.write_text("1,0.9,-0.9\n0.9,1,0.9\n-0.9,0.9,1\n")
    assert main(["solve", str(path), "--retention", "1"]) == 0
    assert "nearest correlation matrix" in capsys.readouterr().out
    assert main(["solve", str(path), "--no-repair"]) == 2
    assert "taskorder: error:" in capsys.readouterr().err


def test_markup_in_names_is_text(tmp_path, capsys):
    path = tmp_path / "table.json"
    write_similarity(path, np.eye(2), ["[bold]x[/bold]", ":smile:"])
    assert main(["solve", str(path)]) == 0
    text = capsys.readouterr().out
    assert "[bold]x[/bold]" in text
    assert ":smile:" in text


def test_pipes_in_and_out(table):
    with open(table, "rb") as stream:
        done = run("solve", "-", stdin=stream)
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout
    assert b"cats" in done.stdout


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_closed_pipe_is_quiet(more, table):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "taskorder", "solve", table, *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr as stream:
        assert stream.read() == b""
    assert process.wait(timeout=300) == 0


def test_names_that_the_terminal_cannot_show(tmp_path):
    path = tmp_path / "table.json"
    write_similarity(path, np.eye(2), ["Ελλάδα", "日本"])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "taskorder", "solve", str(path)]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=300)
    assert done.returncode == 0
    assert rb"\u65e5" in done.stdout


@pytest.mark.parametrize("command", ["solve", "compare"])
def test_piped_tables_have_no_trailing_blanks(command, table, capsys):
    assert main([command, table]) == 0
    text = capsys.readouterr().out
    assert text.endswith("\n")
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


@pytest.mark.parametrize("command", [[], ["solve"], ["compare"]])
def test_help_fits_eighty_columns(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*command, "--help"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    if command == ["solve"]:
        assert all(f"\n  {rule} " in text for rule in solve_module.RULES)
        assert "2000 tasks" in text


def test_no_command_prints_the_help_to_stderr(capsys):
    assert main([]) == 2
    text, problems = capsys.readouterr()
    assert text == ""
    assert "usage: taskorder" in problems
    assert "taskorder solve --demo" in problems


def on_a_terminal(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


@pytest.mark.parametrize("columns", [50, 60, 90])
def test_a_narrow_terminal_folds_names(columns, tmp_path, capsys, monkeypatch):
    names = ["".join(chr(97 + (7 * i + k) % 26) for i in range(45)) for k in range(3)]
    path = tmp_path / "table.csv"
    write_similarity(path, TABLE[:3, :3], names)
    on_a_terminal(monkeypatch, columns)
    assert main(["solve", str(path), "--retention", "1"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= columns
    assert "\u2026" not in text
    cells = [line[7:].split("  ")[0].strip() for line in text.splitlines()]
    assert all(name in "".join(cells) for name in names)
    assert "3.0000" in text


@pytest.mark.parametrize("columns", [45, 79, 99, 100, 200])
def test_a_narrow_comparison_leaves_the_orders_out(columns, table, capsys, monkeypatch):
    on_a_terminal(monkeypatch, columns)
    assert main(["compare", table]) == 0
    text = capsys.readouterr().out
    assert "\u2026" not in text
    assert max(map(len, text.splitlines())) <= columns
    assert all(header in text for header in ("rule", "score", "of lead", "percentile"))
    assert ("orders: see --json or a wider terminal" in text) == (columns < 100)
    assert ("cats" in text) == (columns >= 100)


def test_unfinished_rules_and_only_one_order(table, tmp_path, capsys):
    from rich.console import Console

    from taskorder.ordering.compare import compare

    result = compare(TABLE, names=NAMES)
    cut = tuple(dataclasses.replace(score, proven=False, complete=score.rule != "max-path") for score in result.scores)
    console = Console(width=200)
    with console.capture() as page:
        console.print(render.comparison_table(dataclasses.replace(result, scores=cut), 160))
    assert page.get().count("(unfinished)") == 1
    assert "max-path (unfinished)" in page.get()
    path = tmp_path / "one.csv"
    path.write_text("1")
    assert main(["compare", str(path)]) == 0
    assert "the only order at retention 0.13: mean" in capsys.readouterr().out
