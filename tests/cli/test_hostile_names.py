"""Names that move the cursor, end a line or turn it around: the command line shows them as escapes, files keep them."""

import io
import json
import sys
import unicodedata

import numpy as np
import pytest

from taskorder import Plan, read_results, read_similarity, solve, write_similarity
from taskorder.cli import main
from taskorder.cli.output import Drawn, page, say, write
from taskorder.cli.render import folded_table, plain_table
from taskorder.tables.separated import read_rows, write_rows

TABLE = [[1, 0.2, 0.6], [0.2, 1, 0.1], [0.6, 0.1, 1]]
EVIL = "\x1b[2J\x1b]0;owned\x07\u202e\x9b31m"
SHOWN = "\\u001b[2J\\u001b]0;owned\\u0007\\u202e\\u009b31m"


def is_plain(text):
    return {mark for mark in text if unicodedata.category(mark) in ("Cc", "Cf", "Cs")} <= {"\n"}


@pytest.fixture
def told(capsys, tmp_path, monkeypatch):
    """What a command says and its exit code, in a folder whose files have such names."""
    monkeypatch.chdir(tmp_path)

    def tell(*argv):
        code = main([*map(str, argv)])
        out, err = capsys.readouterr()
        assert is_plain(out), out
        assert is_plain(err), err
        return code, out, err

    return tell


def test_names_of_a_plan(told, tmp_path):
    plan = solve(TABLE, names=[EVIL, "a\nwrote /etc/passwd", "c"])
    (tmp_path / "plan.json").write_text(plan.to_json())
    code, said, _ = told("order", "plan.json", "-o", f"{EVIL}.json")
    assert code == 0
    assert SHOWN in said
    assert said.count("\n") == 1
    _, printed, _ = told("order", "plan.json")
    assert json.loads(printed)["names"] == [*plan.names]


def test_names_of_methods(told, tmp_path):
    rng = np.random.default_rng(0)
    cells = [["method", "order", "seed", "task", "accuracy"]]
    for method in (EVIL, "two\nlines", "=cmd|' /C calc'!A0"):
        for order in ("0>1>2", "2>1>0"):
            cells += [[method, order, seed, task, rng.random()] for seed in (0, 1) for task in (0, 1, 2)]
    with (tmp_path / f"{EVIL}.csv").open("w", encoding="utf-8", newline="") as file:
        write_rows(file, cells)
    code, said, _ = told("audit", f"{EVIL}.csv")
    assert code == 0
    assert SHOWN in said
    assert "\\n" in said
    assert "\n=cmd|" in said
    assert json.loads(told("audit", f"{EVIL}.csv", "--json")[1])


def test_names_of_files_and_stores(told, tmp_path):
    for argv in (
        ("solve", f"{EVIL}.csv"),
        ("status", f"{EVIL}.sqlite"),
        ("repair", f"{EVIL}.sqlite"),
        ("report", f"{EVIL}.json"),
        ("run", f"{EVIL}.toml"),
        ("plan", f"{EVIL}.csv", "--column", EVIL),
        ("data", "list", "--folder", f"{EVIL}\n"),
        ("export", f"{EVIL}.sqlite", "-o", f"{EVIL}\n.csv"),
    ):
        code, out, err = told(*argv)
        assert code in (0, 2)
        assert err.count("\n") == (code == 2)
        assert "\\u001b[2J" in out + err


def test_values_of_options(told, tmp_path):
    write_similarity(tmp_path / "table.csv", TABLE, ["a", "b", "c"])
    for argv in (
        ("solve", "table.csv", "--first", EVIL),
        ("solve", "table.csv", "--rule", EVIL),
        ("compare", "table.csv", "--before", f"a:{EVIL}"),
        (EVIL,),
        ("solve", "table.csv", f"--{EVIL}"),
    ):
        code, _, err = told(*argv)
        assert code == 2
        assert err.count("\n") == 1
        assert "[2J" in err


def test_a_config_with_such_a_name(told, tmp_path):
    pytest.importorskip("jax")
    (tmp_path / f"{EVIL}.toml").write_text("dataset = 3\n")
    code, _, err = told("run", f"{EVIL}.toml")
    assert code == 2
    assert err.count("\n") == 1


class Terminal(io.TextIOWrapper):
    def __init__(self):
        super().__init__(io.BytesIO(), "utf-8", newline="\n", write_through=True)

    def isatty(self):
        return True

    def text(self):
        return self.buffer.getvalue().decode()


def test_a_terminal_gets_our_colors_and_none_of_a_name(monkeypatch):
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm-256color")
    red = "\x1b[31mred\x1b[8m"
    rows = [["1", red], ["2", "two\nlines"]]
    for table in (folded_table(("step", "task"), rows, "task", 40), plain_table(("step", "task"), rows, ("task",))):
        write(page(lambda width, table=table: (table, [f"note {red}", "one\nerror: two"])))
    said = terminal.text()
    assert "\x1b[" in said
    assert "\x1b[31m" not in said
    assert "\x1b[8m" not in said
    assert said.count("\\u001b[31mred\\u001b[8m") == 4
    assert said.count("\nerror: two") == 0


def test_all_that_is_written_at_once_is_escaped(monkeypatch, capsys):
    assert write(f"a{EVIL}\n" * 3) == 0
    assert capsys.readouterr().out == f"a{SHOWN}\n" * 3
    assert write(Drawn("\x1b[1mbold\x1b[0m\n")) == 0
    assert capsys.readouterr().out == "\x1b[1mbold\x1b[0m\n"
    say(f"error: {EVIL}")
    assert capsys.readouterr().err == f"taskorder: error: {SHOWN}\n"


def test_the_bar_of_a_run_is_named_after_a_file(monkeypatch, capsys):
    from taskorder.cli import run

    monkeypatch.setattr(run, "LINE_EVERY_SECONDS", -1.0)
    meter = run._Meter(1, f"{EVIL}\n", draw=False)
    meter.end_specs(1, 1)
    meter.specs(1, 2)
    assert SHOWN + "\\n" in capsys.readouterr().err


FORMULAS = ("=1+2", "+1+2", "-1+2", "@SUM(A1)", "=cmd|' /C calc'!A0", "'=1", "''-x", "＝1", "-", "-inf", "+x,y")  # noqa: RUF001
PLAIN = ("-0.5", "+3", "-1e5", "cats", "'s Gravenhage", "a=b", "'")


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_a_spreadsheet_runs_no_name_and_we_read_the_same(ending, tmp_path):
    names = (*FORMULAS, *(name for name in PLAIN if name[0] not in "+-"))
    table = np.linspace(-0.9, 0.9, len(names) ** 2).reshape(len(names), -1)
    path = tmp_path / f"table{ending}"
    write_similarity(path, table, names)
    read, again = read_similarity(path, kind="transfer")
    assert again == names
    assert (read == table).all()
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        assert line[1] not in "=+-@\t\r＝"  # noqa: RUF001


def test_numbers_stay_numbers_and_texts_that_run_are_marked():
    paper = io.StringIO()
    write_rows(paper, [[-0.5, np.float32(-0.25), -3, float("-inf"), *PLAIN], ["\t=1", "\r=1", *FORMULAS]])
    numbers, _, rest = paper.getvalue().partition("\n")
    assert numbers == "-0.5,-0.25,-3,-inf,-0.5,+3,-1e5,cats,'s Gravenhage,a=b,'"
    assert rest.startswith("'\t=1,\"'\r=1\",'=1+2,'+1+2,'-1+2,'@SUM(A1),'=cmd|' /C calc'!A0,''=1,'''-x,'＝1,'-,'-inf,")  # noqa: RUF001
    cells = list(read_rows(io.StringIO(paper.getvalue(), newline=""), "a.csv", separator=",")[1])[1][1]
    assert cells == ["\t=1", "\r=1", *FORMULAS]


def test_blanks_before_a_formula_hide_it_not():
    paper = io.StringIO()
    write_rows(paper, [["x", " =1+2", "\u00a0@a", " ' =1", " -0.5", " a=b", "'s"]])
    assert paper.getvalue() == "x,' =1+2,'\u00a0@a,' ' =1, -0.5, a=b,'s\n"
    cells = next(read_rows(io.StringIO(paper.getvalue(), newline=""), "a.csv", separator=",")[1])[1]
    assert cells == ["x", " =1+2", "\u00a0@a", " ' =1", "-0.5", "a=b", "'s"]


def test_a_workbook_of_such_a_table_has_the_same_names(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["task", "'=1+2", "b"], ["'=1+2", 1, 0.5], ["b", 0.5, 1]):
        book.active.append(row)
    book.save(tmp_path / "table.xlsx")
    assert read_similarity(tmp_path / "table.xlsx")[1] == ("=1+2", "b")


def test_json_and_npz_keep_names_as_they_are(tmp_path):
    names = ("=1+2", "'=1", "@c")
    for ending in (".json", ".npz"):
        write_similarity(tmp_path / f"table{ending}", TABLE, names)
        assert read_similarity(tmp_path / f"table{ending}")[1] == names
    assert "'=1+2" not in (tmp_path / "table.json").read_text()


def test_results_with_names_that_begin_like_formulas(tmp_path):
    path = tmp_path / "results.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        write_rows(file, [["order", "seed", "=a", "-b"], ["=a>-b", 0, 0.5, 0.75]])
    assert path.read_text() == "order,seed,'=a,'-b\n'=a>-b,0,0.5,0.75\n"
    results = read_results(path)
    assert results.tasks == ("-b", "=a")


def test_one_writer_of_separated_text():
    from pathlib import Path

    import taskorder

    root = Path(taskorder.__file__).parent
    writers = [file.name for file in root.rglob("*.py") if "csv.writer(" in file.read_text(encoding="utf-8")]
    assert writers == ["separated.py"]


def test_plans_keep_names(tmp_path):
    plan = solve(TABLE, names=[EVIL, "=b", "c"])
    assert Plan.from_json(plan.to_json()).names == (EVIL, "=b", "c")
