"""Tables of results: all kinds of files say the same, and what is wrong is named with its line."""

import csv
import gzip
import io
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskorder.audit.audit import audit_results
from taskorder.audit.results import results_from_rows
from taskorder.audit.results_file import read_results

from .drawn_results import accuracy_table, rows_of


def write(path, rows, mark=","):
    with io.StringIO() as text:
        writer = csv.DictWriter(text, list(rows[0]), delimiter=mark)
        writer.writeheader()
        writer.writerows(rows)
        data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_files_of_all_kinds_say_the_same(tmp_path):
    accuracy = accuracy_table()
    rows = rows_of(accuracy)
    plain = read_results(write(tmp_path / "a.csv", rows))
    np.testing.assert_array_equal(plain.accuracy, accuracy)
    assert plain.orders == ("0>1>2", "0>2>1", "1>0>2", "1>2>0", "2>0>1", "2>1>0")
    shuffled = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]
    spaced = [{**row, "order": row["order"].replace(">", " -> ")} for row in shuffled]
    for number, other in enumerate(
        (
            write(tmp_path / "b.csv.gz", shuffled),
            write(tmp_path / "c.tsv", spaced, "\t"),
            write(tmp_path / "d.csv", rows, ";"),
            write(tmp_path / "e.csv", rows_of(accuracy, scale=100)),
        )
    ):
        again = read_results(other)
        np.testing.assert_allclose(again.accuracy, accuracy, atol=0 if number < 3 else 1e-12)
        assert (again.orders, again.seeds, again.tasks) == (plain.orders, plain.seeds, plain.tasks)


@given(st.integers(0, 1000))
@settings(max_examples=10)
def test_names_of_tasks_orders_and_seeds_do_not_matter(seed):
    accuracy = accuracy_table(seed)
    base = audit_results(results_from_rows(enumerate(rows_of(accuracy), 2), "a"))
    names = dict(zip("012", ("owl", "cat", "emu"), strict=True))
    renamed = [
        {**row, "task": names[row["task"]], "order": ">".join(names[t] for t in row["order"].split(">")),
         "seed": f"run {row['seed']}"}
        for row in rows_of(accuracy)
    ]  # fmt: skip
    other = audit_results(results_from_rows(enumerate(renamed, 2), "a"))
    assert other.test.p == pytest.approx(base.test.p)
    assert other.aopd.value == pytest.approx(base.aopd.value)
    assert [s.mean for s in other.orders] == pytest.approx([s.mean for s in base.orders])


def test_only_the_last_step_of_an_export_counts():
    accuracy = accuracy_table()
    last = rows_of(accuracy, step="3", kind="neural.orders.2", set="0", task_name="x", position="1", loss="0.1")
    early = rows_of(
        accuracy * 0 + 0.1, step="1", kind="neural.orders.2", set="0", task_name="x", position="1", loss="9"
    )
    last_steps = results_from_rows(enumerate(early + last, 2), "a")
    np.testing.assert_array_equal(last_steps.accuracy, accuracy)
    sets = last + [{**row, "set": "1"} for row in last]
    with pytest.raises(ValueError, match=r"on line 2 and on line 74\. Choose one with `where`: set=0"):
        results_from_rows(enumerate(sets, 2), "a")
    other = [{**row, "set": "1", "seed": "9" + row["seed"]} for row in last]
    with pytest.raises(
        ValueError, match=r"must hold one experiment, got several with set 0, 1\. Choose one with `where`: set"
    ):
        results_from_rows(enumerate(last + other, 2), "a")
    assert results_from_rows(enumerate(sets, 2), "a", {"set": "1"}).accuracy.shape == (6, 4, 3)


def test_names_of_tasks_find_an_order():
    names = dict(zip("012", ("owl", "cat", "emu"), strict=True))
    rows = [{**row, "task_name": names[row["task"]]} for row in rows_of(accuracy_table())]
    table = results_from_rows(enumerate(rows, 2), "a")
    assert table.task_names == ("owl", "cat", "emu")
    assert table.find("emu -> owl -> cat", "used") == table.find("2>0>1", "used") == 4
    with pytest.raises(ValueError, match=r"`used` must name an order of the results, got 'emu>cat'. Orders: 0>1>2, "):
        table.find("emu>cat", "used")


def test_orders_with_names_of_their_own():
    rows = [{**row, "order": "abcdef"[int(row["order"][0])]} for row in rows_of(accuracy_table())]
    unique = {(row["order"], row["seed"], row["task"]): row for row in rows}
    assert results_from_rows(enumerate(unique.values(), 2), "a").orders == ("a", "b", "c")


def test_a_run_without_a_task_is_left_out_and_said():
    rows = rows_of(accuracy_table())
    incomplete = results_from_rows(enumerate(rows[1:], 2), "a")
    assert incomplete.notes == ("1 incomplete run left out (order 0>1>2, seed 0 has no task 0)",)
    audit = audit_results(incomplete)
    assert (audit.design, audit.num_runs) == ("crossed", 20)
    assert audit.notes[1].startswith("3 of 23 runs are left out")
    with pytest.raises(ValueError, match="`used` must name an order with the seeds of the others, got '0>1>2'"):
        audit_results(incomplete, used="0>1>2")


def test_other_columns_that_vary_are_noted():
    rows = [{**row, "host": "ab"[int(row["seed"]) % 2]} for row in rows_of(accuracy_table())]
    (note,) = results_from_rows(enumerate(rows, 2), "a").notes
    assert note == "column host has several values (a, b) and is ignored; `where` keeps one value"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"accuracy": "nan"}, "accuracies from 0 to 1 or from 0 to 100, got 'nan' on line 3"),
        ({"accuracy": "high"}, "got 'high' on line 3"),
        ({"accuracy": ""}, "got '' on line 3"),
        ({"accuracy": "-0.1"}, "got '-0.1' on line 3"),
        ({"accuracy": "101"}, "got '101' on line 3"),
        ({"accuracy": "1.2"}, "all from 0 to 1 or all from 0 to 100, got a mixture: 1.2 on line 3"),
        ({"accuracy": "70"}, "all from 0 to 1 or all from 0 to 100, got a mixture: 70 on line 3"),
        ({"order": "0>1>3"}, "must have the same tasks in every order, got '0>1>3' on line 3"),
        ({"order": "0>1"}, "must have the same tasks in every order, got '0>1' on line 3"),
        ({"order": "mine"}, "must have the same tasks in every order, got 'mine' on line 3"),
        ({"order": "0>1>1"}, "must have orders like 2>0>1 with each task once, got '0>1>1' on line 3"),
        ({"order": ""}, "must have orders like 2>0>1 with each task once, got '' on line 3"),
        ({"task": "7"}, "got task '7' on line 3, which is not in '0>1>2'"),
        ({"seed": ""}, "must have a seed and a task in every row, got a blank on line 3"),
        ({"task": "0"}, "got order 0>1>2, seed 0, task 0 on line 2 and on line 3. Drop one of them"),
        ({"task": "0", "seed": "0"}, "on line 2 and on line 3"),
    ],
)
def test_bad_rows_are_named_with_their_line(change, message):
    rows = rows_of(accuracy_table())
    rows[1] = {**rows[1], **change}
    with pytest.raises(ValueError) as refusal:  # noqa: PT011
        results_from_rows(enumerate(rows, 2), "a.csv")
    assert message in str(refusal.value)
    assert str(refusal.value).startswith("`a.csv` must")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "must have rows of results below a header, got none"),
        (b"order,seed,task,accuracy\n", "must have rows of results below a header, got none"),
        (b"seed,accuracy\n1,0.5\n", "must have a column order, got none among: seed, accuracy. Say which it is with"),
        (b"order,seed,task\n0>1,1,0\n", "must have a column accuracy, or one for each task, got neither among: order"),
        (b"order,seed,task,accuracy\n0>1,1,0\n", "must have 4 cells a row, got 3 on line 2"),
        (b"order,seed,seed,accuracy\n", "must name each column once, got 'seed' twice on line 1"),
        (b"order,seed,task,accuracy\n\xff,1,0,0.5\n", "must be UTF-8 text, got an odd byte on line 2"),
        (
            b"order,seed,task,accuracy,step\n0>1,1,0,0.5,first\n",
            "must have whole numbers as steps, got 'first' on line 2",
        ),
        (b"order,seed,task,accuracy,step\n0>1,1,0,0.5,1\n", "must have rows of the last step of an order, got none"),
        (b"order,seed,task,accuracy,step\nmine,1,0,0.5,1\n", "must have orders like 2>0>1 beside a column step"),
        (b"order,seed,task,accuracy\n0>1,1,0,0.5\n0>1,2,1,0.5\n", "must have runs with every task, got none"),
        (b"\x1f\x8b damaged", "must be a whole gzip file, got a damaged one"),
    ],
)
def test_bad_files_are_named(tmp_path, data, message):
    (tmp_path / "a.csv").write_bytes(data)
    with pytest.raises(ValueError) as refusal:  # noqa: PT011
        read_results(tmp_path / "a.csv")
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


@given(st.lists(st.lists(st.text("0>1,.n-\"'a;\t ", max_size=6), min_size=4, max_size=4), max_size=6))
def test_any_text_is_read_or_refused_in_one_line(cells):
    rows = [dict(zip(("order", "seed", "task", "accuracy"), row, strict=True)) for row in cells]
    said = ""
    try:
        table = results_from_rows(enumerate(rows, 2), "a")
    except ValueError as problem:
        said = str(problem)
    if said:
        assert "must" in said
        assert "\n" not in said
    else:
        assert audit_results(table).verdict


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
@pytest.mark.slow("memory")
def test_memory_is_for_what_is_kept(tmp_path, name):
    def peak(num_sets):
        rows = [{**row, "set": str(number)} for number in range(num_sets) for row in rows_of(accuracy_table())]
        text = "".join(f"{','.join(cells)}\n" for cells in (rows[0], *(row.values() for row in rows)))
        (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        tracemalloc.start()
        try:
            assert read_results(tmp_path / name, {"set": "0"}).accuracy.shape == (6, 4, 3)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(300) < peak(30) + 50_000  # of 750,000 bytes


def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("order,seed,task,accuracy\n" + "0>1,1,0,0.5\n" * 10)
    monkeypatch.setattr("taskorder.audit.results_file.MAX_RESULTS_BYTES", 100)
    with pytest.raises(ValueError, match=r"must be at most 9\.537e-05 MB, got more"):
        read_results(tmp_path / "a.csv", {"seed": "2"})


def test_blank_lines_above_the_header_do_not_hide_its_separator(tmp_path):
    path = write(tmp_path / "a.csv", rows_of(accuracy_table()), ";")
    path.write_bytes(b"\n \n" + path.read_bytes())
    np.testing.assert_array_equal(read_results(path).accuracy, accuracy_table())
    path.write_bytes(b"\n \norder;seed;task;accuracy\n0>1;9\n")
    with pytest.raises(ValueError, match="must have 4 cells a row, got 2 on line 4"):
        read_results(path)
