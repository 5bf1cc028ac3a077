"""`taskorder plan` on tables as people have them: text, labels that overlap, numbers to predict, and what is wrong."""

import csv
import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from taskorder.cli import main
from taskorder.learners.named import named_learner
from taskorder.learners.orders import learn_orders
from taskorder.planning.pilot import LEAST
from taskorder.planning.plan import run_pilot
from taskorder.records import Plan
from taskorder.task import Task, align

sys.path.append(str(Path(__file__).parents[2] / "examples"))
from support_tickets import CUSTOMERS, HEADER, QUEUES, SIZES, ticket_rows, write_tickets

TEXT = ("--text", "subject", "--text", "body")
QUICK = ("--seeds", "1", "--json")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder; confidence takes few resamples, for it is not what is tested."""
    monkeypatch.setattr("taskorder.planning.plan.run_pilot", partial(run_pilot, draws=10))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tickets(here):
    """The folder with the tickets of eight customers."""
    write_tickets(here / "tickets")
    return "tickets"


def planned(capsys, *words):
    assert main(["plan", *words]) == 0
    return Plan.from_json(capsys.readouterr().out)


def refused(capsys, *words):
    assert main(["plan", *words]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def write(name, header, rows):
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def test_eight_customers_get_a_right_plan_from_their_files_as_they_are(tickets, here, capsys):
    """Queues overlap: `billing` is one class for six customers, and no customer's first queue is another's."""
    plan = planned(capsys, tickets, *TEXT, *QUICK, "--budget", "64", "-o", "plan.json")
    assert plan.names == tuple(CUSTOMERS)
    assert Plan.from_json((here / "plan.json").read_text()) == plan
    notes = "; ".join(plan.notes)
    assert "learned from the text of subject, body; labels are queue; not used: ticket_id, created, priority" in notes
    assert f"classes are matched by name: {len(QUEUES)} outputs, {len(QUEUES)} of them for classes of two" in notes
    assert f"pilot: {4 * LEAST} of 240 examples of acme bank, {3 * LEAST} of 130 of borealis" in notes
    assert not [caution for caution in plan.warnings if caution.kind in ("small pilot", "different classes")]

    def task(name):
        rows, tests = ticket_rows(name, SIZES[name]), ticket_rows(name, 60, seed=1)
        inputs, eval_inputs = (["\n".join(row[2:4]) for row in part] for part in (rows, tests))
        return Task(name, inputs, [row[-1] for row in rows], eval_inputs, [row[-1] for row in tests])

    tasks = align(map(task, CUSTOMERS))
    learner = named_learner('sklearn:SGDClassifier(loss="log_loss")', tasks, epochs=2)
    rng = np.random.default_rng(0)
    orders = [plan.order, *(tuple(rng.permutation(8).tolist()) for _ in range(4))]
    (scores,) = learn_orders(learner, tasks, orders, (100,))
    mine, *others = (np.mean([score.accuracy for score in scores[order]]) for order in orders)
    assert mine > np.mean(others) + 0.02, "trained for real on all tickets, the plan beats random orders"
    assert main(["report", "plan.json", "-o", "page.html"]) == 0
    assert "acme bank" in (here / "page.html").read_text()


def test_one_file_with_a_column_of_tasks_is_the_same_as_a_file_a_task(tickets, capsys):
    names = ("borealis", "edukate", "finlink")
    rows = [[name, *row] for name in names for row in ticket_rows(name, SIZES[name])]
    write("all.csv", ["customer", *HEADER], rows)
    column = planned(capsys, "all.csv", "--column", "customer", *TEXT, *QUICK, "--folder", "one")
    files = planned(capsys, *(f"tickets/{name}.csv" for name in names), *TEXT, *QUICK, "--folder", "files")
    assert (column.names, column.order, column.score) == (files.names, files.order, files.score)


@pytest.mark.parametrize("ending", [".tsv", ".jsonl", ".parquet"])
def test_other_kinds_of_tables_hold_the_same_tickets(ending, here, capsys):
    names = ("borealis", "finlink")
    for name in names:
        rows = ticket_rows(name, 90)
        write(f"{name}.csv", HEADER, rows)
        if ending == ".tsv":
            with open(f"{name}.tsv", "w", newline="") as file:
                csv.writer(file, delimiter="\t").writerows([HEADER, *rows])
        elif ending == ".jsonl":
            (here / f"{name}.jsonl").write_text(
                "".join(json.dumps(dict(zip(HEADER, row, strict=True))) + "\n" for row in rows)
            )
        else:
            pyarrow = pytest.importorskip("pyarrow")
            from pyarrow import parquet

            columns = [list(column) for column in zip(*rows, strict=True)]
            parquet.write_table(pyarrow.table(columns, names=HEADER), f"{name}.parquet")
    words = (*TEXT, *QUICK, "--label", "queue")
    wanted = planned(capsys, *(f"{name}.csv" for name in names), *words, "--folder", "csv")
    again = planned(capsys, *(f"{name}{ending}" for name in names), *words, "--folder", "other")
    assert (again.names, again.order, again.score) == (wanted.names, wanted.order, wanted.score)


def outputs(capsys, *words):
    """How many classes a plan has, by its note."""
    return [note.split(",")[0] for note in planned(capsys, *words).notes if note.startswith("classes are matched")]


def test_labels_are_shared_by_position_only_where_that_is_asked_for(tickets, capsys):
    words = ("tickets/borealis.csv", "tickets/finlink.csv", "tickets/acme bank.csv", *TEXT, *QUICK)
    assert outputs(capsys, *words) == ["classes are matched by name: 7 outputs"]
    plan = planned(capsys, *words, "--labels", "by-position", "--folder", "position")
    assert "labels by position: the first class of each task shares an output, and so on" in plan.notes
    groups = ("digits", "--learner", 'sklearn:SGDClassifier(loss="log_loss")', *QUICK, "--epochs", "1")
    plan = planned(capsys, *groups, "--folder", "digits")
    assert [caution.kind for caution in plan.warnings if caution.kind == "different classes"]
    plan = planned(capsys, *groups, "--labels", "by-position", "--folder", "digits")
    assert not [caution for caution in plan.warnings if caution.kind == "different classes"]


def test_groups_share_outputs_in_the_order_of_their_lists(here):
    from taskorder.datasets.task_files import TaskSpec, read_tasks

    rng = np.random.default_rng(0)
    np.savez("things.npz", inputs=rng.normal(size=(160, 4)), labels=np.repeat(["cat", "dog", "car", "bus"], 40))
    spec = {"pets": ("cat", "dog"), "wheels": ("car", "bus")}
    by_name = read_tasks(["things.npz"], TaskSpec(spec)).tasks
    assert by_name[0].classes == ("bus", "car", "cat", "dog")
    assert [task.own_classes for task in by_name] == [("cat", "dog"), ("bus", "car")]
    by_position = read_tasks(["things.npz"], TaskSpec(spec, by_position=True)).tasks
    assert {task.classes for task in by_position} == {(0, 1)}
    wheels = by_position[1].labels.tolist()  # cars come first in the file, buses in the alphabet
    assert wheels == sorted(wheels)


def houses(angle, seed, count=90):
    rng = np.random.default_rng(seed)
    size, age = rng.uniform(40, 200, count), rng.integers(0, 80, count)
    price = 2000.5 * size * np.cos(angle) - 1500 * age * np.sin(angle) + rng.normal(0, 5000, count)
    return [[f"{a:.1f}", b, f"{c:.2f}"] for a, b, c in zip(size, age, price, strict=True)]


def test_numbers_with_fractions_are_predicted_and_that_is_said(here, capsys):
    for k, town in enumerate(("bonn", "graz", "oslo")):
        write(f"{town}.csv", ["size", "age", "price"], houses(k * 0.5, k))
    words = ("bonn.csv", "graz.csv", "oslo.csv", "--learner", "sklearn:SGDRegressor", "--seeds", "1")
    plan = planned(capsys, *words, "--json", "-o", "plan.json")
    assert "price holds numbers with fractions, which are predicted (a regression)" in plan.notes
    assert "labels are the last column, price" in plan.notes
    assert plan.prediction.unit != "accuracy"
    assert main(["report", "plan.json", "-o", "page.html"]) == 0
    assert main(["plan", *words]) == 0
    assert "at the end" in capsys.readouterr().out
    said = refused(capsys, *words, "--target", "classes")
    assert "must" in said


def test_numbers_are_predicted_from_text(here, capsys):
    for name in ("borealis", "finlink"):
        rows = ticket_rows(name, 60)
        minutes = [[row[3], 10 * len(row[3]) + number % 7] for number, row in enumerate(rows)]
        write(f"{name}.csv", ["body", "minutes"], minutes)
    words = ("borealis.csv", "finlink.csv", "--text", "body", *QUICK)
    assert "predict numbers with `--target`: regression." in refused(capsys, *words)
    plan = planned(capsys, *words, "--target", "regression")
    assert plan.prediction.unit != "accuracy"


BAD_TICKETS = {
    (): "Learn from columns of text with `--text`: subject, body.",
    ("--text", "bodi"): "`--text` must be one of the columns ticket_id, created, subject, body, priority, queue of "
    "{acme}, got 'bodi'. Did you mean 'body'?",
    (*TEXT, "--label", "Queues"): "`--label` must be one of the columns ticket_id, created, subject, body, priority, ",
    (*TEXT, "--label", "ticket_id"): "240 different values in 240 rows of 'ticket_id'. Name another column of labels "
    "with `--label`: queue.",
    (*TEXT, "--label", "body"): "`--label` must be another column than those of text and tasks, got 'body' for both.",
    (*TEXT, "--learner", "mlp"): "`--learner` must be one for texts, like sklearn:SGDClassifier(loss=\"log_loss\"), ",
}  # fmt: skip


@pytest.mark.parametrize(("words", "message"), BAD_TICKETS.items(), ids=map(" ".join, BAD_TICKETS))
def test_what_is_wrong_about_columns_is_told_with_the_fix(words, message, tickets, capsys):
    assert message.format(acme="tickets/acme bank.csv") in refused(capsys, tickets, *words)


def test_categories_are_no_free_text(here, capsys):
    rows = [[k, ("DE", "FR")[k % 2], ("yes", "no")[k % 3 == 0]] for k in range(40)]
    for name in "ab":
        write(f"{name}.csv", ["age", "country", "label"], rows)
    said = refused(capsys, "a.csv", "b.csv")
    assert (
        "got 'DE' in 'country' on line 2. Encode it as numbers, or learn from it as text with `--text`: country."
        in said
    )


def bad_files(name):
    """Write bad.csv, each in its own way."""
    good, path = ticket_rows("borealis", 40), Path("bad.csv")
    accent = "1,2,caf\u00e9,x,low,refund\n"
    if name == "empty":
        path.write_text("")
    elif name == "header":
        write("bad.csv", HEADER, [])
    elif name == "one class":
        write("bad.csv", HEADER, [[*row[:-1], "billing"] for row in good])
    elif name == "column":
        write("bad.csv", [*HEADER[:3], "Body text", *HEADER[4:]], good)
    elif name == "windows":
        path.write_bytes((",".join(HEADER) + "\n" + accent).encode("cp1252"))
    elif name == "mixed":
        path.write_bytes((",".join(HEADER) + "\n" + accent).encode() + accent.encode("cp1252"))
    elif name == "no label":
        write("bad.csv", HEADER, [*good[:5], [*good[5][:-1], ""]])
    elif name == "quotes":
        path.write_text(",".join(HEADER) + "\n1,2,hello, dear team,x,low,refund\n")


BAD_FILES = {
    "empty": "`bad.csv` must have 1 byte to 2048 MB, got 0 MB",
    "header": "`bad.csv` must have rows of features and a label, got none. Write one row a line.",
    "one class": "`labels` of task 'bad' must have at least two classes, got only 'billing'. Give it examples of",
    "column": "must have the column 'body' of good.csv, got ticket_id, created, subject, Body text, priority, queue. "
    "Rename it.",
    "windows": "got an odd byte on line 2. Save it as UTF-8: iconv -f WINDOWS-1252 -t UTF-8 bad.csv > utf8.csv.",
    "mixed": "`bad.csv` must be UTF-8 text, got UTF-8 on line 2 and an odd byte on line 3. It was joined from files of",
    "no label": "`bad.csv` must have a label in each row, got none in 'queue' on line 7. Fill or drop the row.",
    "quotes": "`bad.csv` must have 6 cells in each row, got 7 on line 2. Fill or drop the row; quote cells that hold",
}


@pytest.mark.parametrize(("name", "message"), BAD_FILES.items())
def test_a_file_that_cannot_be_read_is_named(name, message, here, capsys):
    write("good.csv", HEADER, ticket_rows("borealis", 40))
    bad_files(name)
    assert message in refused(capsys, "good.csv", "bad.csv", *TEXT)
    assert not (here / "plan").exists()


def test_a_convolution_gets_images_with_their_channels_first(here, capsys):
    pytest.importorskip("torch")
    (here / "conv.py").write_text(
        "import torch\n\ndef make():\n    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(),"
        " torch.nn.Flatten(), torch.nn.Linear(4 * 4 * 6, 4))\n"
    )
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (160, 6, 8, 3)).astype(np.uint8)
    np.savez("shots.npz", inputs=images, labels=np.arange(160) % 4)
    words = ("shots.npz", "--learner", "torch:conv:make", "--epochs", "1", *QUICK, "--budget", "4")
    assert planned(capsys, *words).names == ("0-1", "2-3")
