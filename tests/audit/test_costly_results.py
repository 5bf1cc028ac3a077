"""Results that ask for more than their file holds, and rows kept in columns; see tests/fuzz/test_bombs.py, too."""

import gzip
import io
import itertools
import json

import numpy as np
import pytest

from taskorder import costs, read_methods, read_results
from taskorder.audit import columns, records, results
from taskorder.audit.cells import sorted_texts
from taskorder.audit.collected import CheckedRow, Collected


@pytest.fixture
def file(tmp_path):
    """A function from text to a file."""

    def make(text, name="a.csv"):
        data = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return tmp_path / name

    return make


def test_orders_and_seeds_that_hardly_meet(file, monkeypatch):
    """50,000 rows asked for a table of 2.5 billion cells."""
    path = file("order,seed,accuracy\n" + "".join(f"o{k},{k},0.5\n" for k in range(200)))
    assert read_results(path).accuracy.shape == (200, 200, 1)
    monkeypatch.setattr(costs, "FREE_MEMORY", 300_000)
    monkeypatch.setattr(np, "full", lambda *_: pytest.fail("the table was made"))
    with pytest.raises(ValueError, match="have seeds that orders share, got 200 orders and 200 seeds, hardly any"):
        read_results(path)
    rows = [{"order": f"o{k}", "seed": k, "accuracy": 0.5} for k in range(200)]
    with pytest.raises(ValueError, match="`results` must have seeds that orders share"):
        read_results(rows)


def test_records_that_have_little_in_common(file, monkeypatch):
    text = json.dumps([{"order": "0>1", "accuracy": 0.5, str(k): 0} for k in range(300)])
    monkeypatch.setattr(costs, "FREE_MEMORY", 200_000)
    with pytest.raises(
        ValueError, match="runs with the same columns, got 300 records of 302 columns, most of them blank"
    ):
        read_results(file(text))
    by_column = {"order": {str(k): "0>1" for k in range(3)}, **{str(k): {str(k): 0} for k in range(300)}}
    with pytest.raises(ValueError, match="runs with the same columns, got 300 records of 301 columns"):
        read_results(file(json.dumps(by_column)))
    monkeypatch.setattr(records, "CELL_BYTES", 0)
    with pytest.raises(ValueError, match="have accuracies"):  # they were put together
        read_results(file(text))


def test_json_of_many_small_values_on_several_lines(file, monkeypatch):
    """Lines were parsed one by one where the whole was too much."""
    monkeypatch.setattr(costs, "FREE_MEMORY", 1000)
    with pytest.raises(ValueError, match="must be JSON of runs, got so many small values"):
        read_results(file("[[]" + ",[]" * 1000 + "]\n[[]]\n"))


def test_json_on_one_long_line(file, monkeypatch):
    """Runs of W&B are one line, however many; only rows of text have a limit."""
    monkeypatch.setattr("taskorder.tables.input_files.MAX_LINE", 100)
    runs = [{"order": order, "seed": 0, "accuracy": 0.5} for order in ("0>1", "1>0")]
    assert read_results(file(" \n" + json.dumps(runs))).orders == ("0>1", "1>0")
    assert read_results(file("\ufeff" + json.dumps(runs), "b.json.gz")).orders == ("0>1", "1>0")


def test_equal_rows_in_gzip_are_counted(file, monkeypatch):
    """2.6 million of them took 21 s out of a file of 3 MB, for which the budget is 16 s."""
    monkeypatch.setattr(costs, "FREE_SECONDS", 0.01)
    with pytest.raises(ValueError, match=r"as many results as its size allows, got 1\d\d\d on line 1\d\d\d"):
        read_results(file("order,seed,accuracy\n" + "0>1,1,0.5\n" * 5000, "a.csv.gz"))
    plain = "order,seed,accuracy\n" + "".join(f"0>1,{k},0.5\n" for k in range(5000))
    assert len(read_results(file(plain)).seeds) == 5000


def test_what_is_kept_of_rows_is_counted(file, monkeypatch):
    text = "order,seed,accuracy\n" + "".join(f"0>1,{k},0.5\n" for k in range(5000))
    monkeypatch.setattr(costs, "FREE_MEMORY", 300_000)
    assert len(read_results(file(text)).seeds) == 5000  # a plain file is as long as what it holds
    with pytest.raises(
        ValueError, match=r"as many results as its size allows, got \d+ on line \d+. Keep only the rows"
    ):
        read_results(file(text, "a.csv.gz"))


def test_rows_that_are_not_kept_cost_nothing(file, monkeypatch):
    text = "order,seed,accuracy\n" + "".join(f"0>1,{k},0.5\n" for k in range(5000))
    monkeypatch.setattr(costs, "FREE_MEMORY", 700_000)
    assert read_results(file(text, "a.csv.gz"), {"seed": "17"}).seeds == ("17",)


def test_orders_and_methods_have_a_number(file, monkeypatch):
    monkeypatch.setattr(results, "MAX_TASKS", 5)
    with pytest.raises(ValueError, match="have orders of at most 5 tasks, got 6 on line 2"):
        read_results(file("order,accuracy\n0>1>2>3>4>5,0.5\n"))
    monkeypatch.setattr(results, "MOST_METHODS", 5)
    rows = "".join(f"m{method},{order},0,0.5\n" for method in range(6) for order in ("0>1", "1>0"))
    with pytest.raises(ValueError, match="have at most 5 methods, got 6"):
        read_methods(file("method,order,seed,accuracy\n" + rows))


def test_numbers_of_thousands_of_digits_are_names(file):
    """Python refuses to make a number of them, in words of its own."""
    long = "9" * 5000
    found = read_results(file(f"order,seed,accuracy\n{long}>1,1,0.5\n1>{long},1,0.6\n"))
    assert found.orders == (f"1>{long}", f"{long}>1")
    with pytest.raises(ValueError, match="must have whole numbers as steps, got '99999"):
        read_results(file(f"order,step,seed,task,accuracy\n0>1,{long},0,0,0.5\n"))


def test_texts_are_sorted_by_number_where_they_are_numbers():
    assert sorted_texts(["10>9", "9>10", "9>2"]) == ("9>2", "9>10", "10>9")
    assert sorted_texts(["b>10", "b>9", "a", "10", "9"]) == ("9", "10", "a", "b>9", "b>10")
    assert sorted_texts(["9" * 20, "1", "x"]) == ("1", "9" * 20, "x")


class CountedText(str):
    """A name of a column that counts the looks at its parts."""

    looks = 0

    def __getitem__(self, part):
        CountedText.looks += 1
        return str.__getitem__(self, part)


def test_tasks_are_looked_up_in_columns_and_not_tried_one_by_one():
    """20,000 tasks were looked for in 20,000 columns: hours for 0.4 MB."""
    tasks = [str(k) for k in range(500)]
    names = [CountedText(f"acc/{task}") for task in tasks]
    assert columns._wide(names, tasks, "a.csv") == {task: f"acc/{task}" for task in tasks}
    assert 0 < CountedText.looks < 100 * len(names)
    CountedText.looks = 0
    assert columns._wide(names[:-1], tasks, "a.csv") == {}  # fewer columns than tasks
    assert columns._wide([CountedText("acc/0" + "x" * 200)] * 600, tasks, "a.csv") == {}
    assert CountedText.looks == 0


@pytest.mark.parametrize(
    ("names", "tasks"),
    [
        (["cats_acc", "dogs_acc", "lr"], ["cats", "dogs"]),
        (["task0", "task1"], ["0", "1"]),
        (["acc/1", "acc/11", "acc/111"], ["1", "11", "111"]),
        (["final acc of a b", "final acc of a"], ["a b", "a"]),
    ],
)
def test_columns_of_tasks_are_found(names, tasks):
    assert sorted(columns._wide(names, tasks, "a.csv")) == sorted(tasks)


def collected(*rows):
    """Rows from (order, seed, log step, run)."""
    made = Collected()
    for number, (order, seed, step, run) in enumerate(rows, start=1):
        made.add(CheckedRow(("", order, seed, "0"), number, number / 10, False, ("x",), step, run))
    return made


def test_the_first_row_that_repeats_another_is_found():
    rows = [("a", "1", 0, ""), ("b", "1", 0, ""), ("a", "2", 0, ""), ("b", "1", 0, ""), ("a", "1", 0, "")]
    assert collected(*rows).clash(has_log=False) == (1, 3)
    assert collected(*rows[:3]).clash(has_log=False) is None
    assert collected(*rows).clash(has_log=True) is None
    of_runs = [("a", "1", 0, "x"), ("a", "1", 1, "x"), ("b", "1", 0, "x"), ("a", "1", 2, "y")]
    assert collected(*of_runs).clash(has_log=True) == (1, 3)


def test_the_last_step_of_a_log_counts():
    rows = [("a", "1", 2, ""), ("a", "1", 7, ""), ("b", "1", 0, ""), ("a", "1", 7, ""), ("a", "1", 3, "")]
    assert collected(*rows).last_steps().tolist() == [2, 3]


def test_a_row_comes_back_as_it_was():
    made = Collected()
    given = [
        CheckedRow(("m", order, seed, "t"), place, 0.25, signed, (order, ""), 3.0, "run")
        for (order, seed), place, signed in zip(
            itertools.product("ab", "12"), (7, "in set 0", "in set 1", 9), (0, 1, 1, 0), strict=True
        )
    ]
    for row in given:
        made.add(row)
    assert [made[k] for k in range(4)] == given
    assert [made.location(k) for k in range(4)] == [7, "in set 0", "in set 1", 9]
    assert made.num_bytes > 4 * 100


def test_rows_of_the_same_text_share_it():
    """Texts are counted once: settings that are alike in a million rows take no memory."""
    rows = [("a", str(k % 2), 0, "") for k in range(100)]
    few, many = collected(*rows[:50]), collected(*rows)
    assert many.num_bytes - few.num_bytes == 50 * 120


@pytest.mark.parametrize("kind", ["rows", "JSON", "packed rows"])
def test_plain_text_from_a_pipe_is_as_long_as_what_it_holds(monkeypatch, kind):
    """It has no size of its own: only what is packed gets no more than what is free."""
    text = "order,seed,accuracy\n" + "".join(f"0>1,{k},0.5\n" for k in range(5000))
    if kind == "JSON":
        text = json.dumps([{"order": "0>1", "seed": k, "accuracy": 0.5} for k in range(5000)])
    data = gzip.compress(text.encode()) if kind == "packed rows" else text.encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    monkeypatch.setattr(costs, "FREE_MEMORY", 300_000)
    if kind == "packed rows":
        with pytest.raises(ValueError, match="as many results as its size allows"):
            read_results("-")
    else:
        assert len(read_results("-").seeds) == 5000
