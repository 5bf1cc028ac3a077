"""Tables as people and trackers write them: all say the same, and what cannot be told is refused with its fix.

The files in exports/ were written by MLflow 3.17 (search_runs, run.to_dictionary and its REST answer), and by W&B 0.31
(summary and config of offline runs, in the form of W&B's own export script); the table of runs has the columns of W&B's
CSV download. All hold the same eight runs, the last of which crashed.
"""

import gzip
import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from taskorder import audit_results, read_methods, read_results

from .drawn_results import accuracy_table

EXPORTS = Path(__file__).parent / "exports"
TASKS = ("cats", "dogs", "cars")
ORDERS = list(itertools.permutations(TASKS))


def table(accuracy, columns="{task}", mark=",", cell=repr, order=">".join):
    """A wide table of three tasks in all six orders."""
    lines = [mark.join(["order", "seed", *(columns.format(task=task) for task in TASKS)])]
    for o, s in itertools.product(range(6), range(accuracy.shape[1])):
        values = [cell(float(value)) for value in accuracy[o, s]]
        lines.append(mark.join([order(ORDERS[o]), str(s), *values]))
    return "\n".join(lines) + "\n"


def read(tmp_path, text, **options):
    path = tmp_path / "a.csv"
    path.write_text(text)
    return read_results(path, **options)


def refused(tmp_path, text, **options):
    with pytest.raises(ValueError) as refusal:  # noqa: PT011
        read(tmp_path, text, **options)
    said = str(refusal.value)
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"columns": "accuracy/{task}"},
        {"columns": "{task}_acc"},
        {"columns": "metrics.test {task}"},
        {"mark": "\t", "cell": lambda value: f"{100 * value:.17g} %"},
        {"mark": ";", "cell": lambda value: f"{value:.17g}".replace(".", ",")},
        {"order": " -> ".join},
        {"mark": ";", "order": ",".join},
        {"mark": "\t", "order": json.dumps},
        {"mark": "\t", "order": lambda way: str(list(way))},
        {"order": "|".join},
    ],
    ids=(
        "plain",
        "metric first",
        "metric last",
        "prefix",
        "percent",
        "decimal comma",
        "arrows",
        "commas",
        "json",
        "list",
        "bars",
    ),
)
def test_wide_tables_say_the_same(tmp_path, form):
    accuracy = accuracy_table()
    wide = read(tmp_path, table(accuracy, **form))
    by_order = [wide.orders.index(">".join(way)) for way in ORDERS]
    by_task = [wide.tasks.index(task) for task in TASKS]
    np.testing.assert_allclose(wide.accuracy[by_order][:, :, by_task], accuracy, rtol=1e-14)
    assert not wide.averages


def test_averages_are_audited_without_tasks(tmp_path):
    accuracy = accuracy_table()
    lines = [f"{'>'.join(ORDERS[o])},{s},{float(accuracy[o, s].mean())!r}" for o in range(6) for s in range(4)]
    averages = read(tmp_path, "\n".join(["task order,seed,avg_acc", *lines]))
    assert averages.averages
    audit, whole = audit_results(averages), audit_results(read(tmp_path, table(accuracy)))
    assert audit.test.f == pytest.approx(whole.test.f)
    assert (audit.num_tasks, audit.disparity, audit.aopd) == (3, (), None)
    assert any("nothing can be said about single tasks" in note for note in audit.notes)
    assert audit_results(averages, used="dogs,cats,cars").regret.used == "dogs>cats>cars"


def test_frames_and_records_say_the_same(tmp_path):
    accuracy = accuracy_table()
    wanted = read(tmp_path, table(accuracy))
    records = [
        {"order": list(ORDERS[o]), "seed": s, **dict(zip(TASKS, accuracy[o, s].tolist(), strict=True))}
        for o, s in itertools.product(range(6), range(4))
    ]
    pandas = pytest.importorskip("pandas")
    sources = [records, pandas.DataFrame(records), pandas.DataFrame(records).astype({"seed": float})]
    for name, text in (
        ("records.json", json.dumps(records)),
        ("columns.json", pandas.DataFrame(records).to_json()),
        ("split.json", pandas.DataFrame(records).to_json(orient="split")),
        ("lines.jsonl", "\n".join(map(json.dumps, records))),
    ):
        (tmp_path / name).write_bytes(text.encode())
        sources.append(tmp_path / name)
    (tmp_path / "packed.json.gz").write_bytes(gzip.compress(json.dumps(records).encode()))
    for source in [*sources, tmp_path / "packed.json.gz"]:
        again = read_results(source)
        np.testing.assert_allclose(again.accuracy, wanted.accuracy, atol=1e-9)
        assert (again.orders, again.seeds, again.tasks) == (wanted.orders, wanted.seeds, wanted.tasks)


def test_polars_frames_are_read():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"order": [["a", "b"], ["b", "a"]], "seed": [1, 1], "a": [0.5, 0.6], "b": [0.7, 0.8]})
    np.testing.assert_array_equal(read_results(frame).accuracy[:, 0], [[0.5, 0.7], [0.6, 0.8]])


@pytest.mark.parametrize("name", sorted(path.name for path in EXPORTS.iterdir()))
def test_exports_of_trackers_say_the_same(name):
    methods, wanted = read_methods(EXPORTS / name), read_methods(EXPORTS / "wandb_runs_table.csv")
    assert list(methods) == ["plain", "replay"]
    assert methods["plain"].orders == ("cars>dogs>cats", "cats>dogs>cars")
    for method in methods:
        np.testing.assert_allclose(methods[method].accuracy, wanted[method].accuracy, atol=1e-9)
        assert methods[method].seeds == ("0", "1")
    assert np.isnan(methods["replay"].accuracy).all(axis=2).sum() == 1  # the run that crashed
    assert wanted["plain"].accuracy[1, 0].tolist() == [0.6123, 0.7911, 0.6809]
    assert any("1 run left out" in note for note in methods["plain"].notes)


def test_the_last_values_of_a_history_count():
    def history(order, seed, last):
        return [
            {"_step": 0, "_timestamp": 1.0, "loss": 0.3, "order": order, "seed": seed},
            {"_step": 2, "_timestamp": 3.0, "acc/a": last, "acc/b": None, "order": order, "seed": seed},
            {"_step": 1, "_timestamp": 2.0, "acc/a": 0.1, "acc/b": 0.4, "order": order, "seed": seed},
        ]

    runs = read_results([*history("a>b", 0, 0.6), *history("b>a", 0, 0.7)])
    np.testing.assert_array_equal(runs.accuracy[:, 0], [[0.6, 0.4], [0.7, 0.4]])
    two = [{**row, "run_id": name} for name in "xy" for row in history("a>b", 0, 0.6)]
    with pytest.raises(ValueError, match="must have one row for each order, seed and task"):
        read_results(two)


def test_without_seeds_runs_have_nothing_in_common(tmp_path):
    lines = [f"{order},{value}" for order in ("a>b", "b>a") for value in (0.5, 0.6, 0.7)]
    seedless = read(tmp_path, "\n".join(["order,accuracy", *lines]))
    assert audit_results(seedless).design == "nested"
    assert "no column seed" in " ".join(seedless.notes)


def test_columns_can_be_named(tmp_path):
    text = "tasks,rng,test/b,test/a,train/a,train/b,algo\nb>a,7,0.1,0.2,0.9,0.9,x\na>b,7,0.3,0.4,0.9,0.9,x\n"
    named = {"order": "tasks", "seed": "rng", "accuracy": "test/{task}", "method": "Algo"}
    named_columns = read(tmp_path, text, columns=named)
    np.testing.assert_array_equal(named_columns.accuracy[:, 0], [[0.4, 0.3], [0.2, 0.1]])
    assert "have one column of accuracies for each task, got several: test/{task}, train/{task}" in refused(
        tmp_path, text, columns={"order": "tasks"}
    )
    for columns, said in (
        ({"color": "x"}, "`columns` must name some of order, seed, method, task, accuracy, state, got 'color'"),
        ({"order": "x"}, "`columns` must name a column, got order=x. Columns: tasks, rng"),
        ({"order": "tasks", "accuracy": "val/{task}"}, "a column val/{task} for each task, got none called 'val/b'"),
    ):
        assert said in refused(tmp_path, text, columns=columns)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "order,seed,acc\na>b,1,80%\nb>a,1,0.7\n",
            "a percent sign in every accuracy or in none, got 80 % on line 2 but",
        ),
        ("order,seed,acc\na>b,1,80\nb>a,1,0.7\nb>a,2,0.6\n", "got a mixture: 80 on line 2. Write all in the same way."),
        ("order,seed,acc\na>b,1,80 ± 2\n", "'80 ± 2' on line 2. Give each run a row with its own accuracy"),
        ("order,seed,acc\na>a,1,0.5\n", "orders like 2>0>1 with each task once, got 'a>a' on line 2"),
        ('order,seed,acc\n"a,b",1,0.5\n"a,c",1,0.5\n', "the same tasks in every order, got 'a,c' on line 3"),
        ("order,seed,acc\na>b,1,0.5\na>b,1,0.6\n", "for each order and seed, got order a>b, seed 1 on line 2 and on"),
        ("order,seed,a,b\na>b,1,0.5,\n", "got '' for task b on line 2. Run it again or drop the row."),
        ("order,seed,acc,avg_acc\na>b,1,0.5,0.6\n", "one column of accuracies, got several: acc, avg_acc. Choose one"),
        ("order,seed,lr,acc\na>b,1,1,0.5\na>b,1,2,0.5\n", "Choose one with `where`: lr=1."),
        ("order,method,acc\na>b,,0.5\n", "must have a method in every row, got a blank on line 2"),
        ("order,method,acc\na>b,x,0.5\na>b,y,0.5\n", "must hold one method, got 2: x, y. Compare them"),
        ("order,state,acc\na>b,failed,0.5\n", "must have runs that finished, got 1 run that did not"),
        ('[{"order": "a>b"', "must be JSON, got something else"),
        ("[1, 2]", "must hold a list of runs, got something else"),
    ],
)
def test_what_cannot_be_told_is_refused_with_its_fix(tmp_path, text, said):
    assert said in refused(tmp_path, text)


def test_workbooks_are_refused_with_what_to_do():
    with pytest.raises(ValueError, match=r"got a workbook\. Save the sheet as CSV, or give the DataFrame of pandas"):
        read_methods("results.xlsx")


@pytest.mark.parametrize("results", [None, 3])
def test_what_is_no_table_is_refused(results):
    with pytest.raises(
        ValueError, match=r"^`results` must be a path, a DataFrame or a list of dicts, got (NoneType|int)"
    ):
        read_methods(results)


def test_several_methods_are_apart(tmp_path):
    text = "order,seed,strategy,acc\n" + "".join(
        f"{order},{seed},{method},{value}\n"
        for order, seed, method, value in (("a>b", 1, "x", 50), ("b>a", 1, "x", 60), ("a>b", 1, "y", 50))
    )
    (tmp_path / "a.csv").write_text(text)
    methods = read_methods(tmp_path / "a.csv")
    np.testing.assert_allclose(methods["x"].accuracy.ravel(), [0.5, 0.6])
    assert methods["y"].orders == ("a>b",)
    chosen = read_results(tmp_path / "a.csv", {"method": "y"})
    assert (chosen.orders, chosen.accuracy.tolist()) == (("a>b",), [[[0.5]]])
