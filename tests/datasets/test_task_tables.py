"""Columns of tables and what they are taken for; the same rows out of every kind of file."""

import gzip
import json

import numpy as np
import pytest

from taskorder.datasets.roles import CLASSES, REGRESSION, Wanted
from taskorder.datasets.table_files import is_table_file, open_table, table_name, tables_in
from taskorder.datasets.task_files import TaskSpec, read_tasks
from taskorder.datasets.task_tables import class_names, read_task_tables, target_of

COLUMNS = ("age", "note", "height", "queue")
ROWS = [
    (30 + k, f"late again, as always {k}", 1.5, "order")
    if k % 2
    else (30 + k, f"thank you for help {k}", 2.5, "praise")
    for k in range(16)
]


@pytest.fixture
def file(tmp_path):
    """A function (name, text) -> path."""

    def write(name, text):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


def separated(mark, rows=ROWS, columns=COLUMNS):
    lines = [[f'"{cell}"' if mark in str(cell) else str(cell) for cell in row] for row in (columns, *rows)]
    return "\n".join(map(mark.join, lines)) + "\n"


def json_lines(rows=ROWS, columns=COLUMNS):
    return "\n".join(json.dumps(dict(zip(columns, row, strict=True))) for row in rows) + "\n\n"


FILES = {
    "a.csv": separated(","),
    "a.tsv": separated("\t"),
    "b.csv": separated(";"),
    "c.csv.gz": separated(","),
    "a.jsonl": json_lines(),
    "a.ndjson.gz": json_lines(),
}


@pytest.mark.parametrize(("name", "text"), FILES.items())
def test_every_kind_of_file_gives_the_same_rows(file, name, text):
    path = file(name, text)
    assert is_table_file(path)
    assert table_name(path) == name[0]
    tasks, roles = read_task_tables([path], Wanted(text=("note",)))
    assert (roles.label, roles.unused) == ("queue", ("age", "height"))
    examples = tasks[name[0]]
    assert examples.inputs == [row[1] for row in ROWS]
    assert examples.labels == [row[3] for row in ROWS]


def parquet_file(path, columns):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), path)
    return path


def test_parquet_gives_the_same_rows(tmp_path):
    path = parquet_file(tmp_path / "p.parquet", dict(zip(COLUMNS, map(list, zip(*ROWS, strict=True)), strict=True)))
    tasks, _ = read_task_tables([path], Wanted(text=("note",)))
    assert tasks["p"].inputs == [row[1] for row in ROWS]
    assert tasks["p"].labels == [row[3] for row in ROWS]


def test_a_damaged_parquet_file_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "p.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ValueError, match=r"p\.parquet` must be a whole Parquet file, got a damaged one \("):
        read_task_tables([tmp_path / "p.parquet"], Wanted())


def test_parquet_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "p.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr("taskorder.datasets.table_files.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r'must be read with pyarrow, .*pip install "taskorder\[parquet\]"'):
        read_task_tables([tmp_path / "p.parquet"], Wanted())


def test_columns_are_matched_by_name_in_any_order(file):
    rows = [(f"{k}.5", k % 7, ("yes", "no")[k % 2]) for k in range(40)]
    a = file("a.csv", separated(",", rows, ("age", "income", "label")))
    b = file("b.csv", separated(",", [(c, y, x) for x, y, c in rows], ("label", "income", "age")))
    tasks, _ = read_task_tables([a, b], Wanted())
    assert np.array_equal(tasks["a"].inputs, tasks["b"].inputs)
    assert tasks["a"].inputs[3].tolist() == [3.5, 3]
    assert tasks["a"].labels == tasks["b"].labels


def test_tables_without_names_have_their_label_last(file):
    text = separated(",", [(k, 2 * k, k % 2) for k in range(40)], (0, 0, 1))
    tasks, roles = read_task_tables([file("a.csv", text), file("b.csv", text)], Wanted())
    assert not roles.named
    assert tasks["b"].inputs.shape == (41, 2)
    named = file("c.csv", separated(",", [(1, 2, 0)], ("x", "y", "label")))
    with pytest.raises(ValueError, match=r"must have the columns of .*a\.csv \(3 without names\), got x, y, label"):
        read_task_tables([file("a.csv", text), named], Wanted())


def test_labels_are_the_same_class_in_all_their_forms(file):
    paths = [
        file("a.csv", "x,label\n1,1.0\n2,2.0\n" * 1),
        file("b.jsonl", '{"x": 1, "label": 1}\n{"x": 2, "label": 2}\n'),
    ]
    assert {task.classes for task in read_tasks(paths).tasks} == {("1", "2")}


def test_what_labels_are_is_seen_on_all_files_together(file):
    whole = file("a.csv", "x,label\n" + "1,3\n2,4\n" * 12)
    parts = file("b.csv", "x,label\n" + "1,3.5\n2,4\n" * 12)
    words = file("c.csv", "x,label\n" + "1,3.5\n2,low\n" * 12)
    assert target_of(read_task_tables([whole], Wanted())[0], Wanted()) == CLASSES
    assert target_of(read_task_tables([whole, parts], Wanted())[0], Wanted()) == REGRESSION
    assert target_of(read_task_tables([parts, words], Wanted())[0], Wanted()) == CLASSES
    tasks = read_tasks([whole, parts]).tasks
    assert [task.regression for task in tasks] == [True, True]
    with pytest.raises(ValueError, match=r"c\.csv` must have numbers to predict, got 'low'\. Drop the row, or say"):
        read_tasks([parts, words], TaskSpec(target=REGRESSION))


def test_a_folder_of_tables_is_a_task_a_file(file, tmp_path):
    for name in ("b.csv", "a.jsonl"):
        file(name, FILES["a.csv"] if name.endswith("csv") else FILES["a.jsonl"])
    file(".hidden.csv", "x")
    file("read me.txt", "x")
    assert [path.name for path in tables_in(tmp_path)] == ["a.jsonl", "b.csv"]
    tasks = read_tasks([tmp_path], TaskSpec(text=("note",))).tasks
    assert [(task.name, len(task.targets)) for task in tasks] == [("a", 16), ("b", 16)]


def test_all_rows_of_a_table_are_there_for_the_pilot(file):
    tasks = read_tasks([file("a.csv", FILES["a.csv"]), file("b.csv", FILES["a.csv"])], TaskSpec(text=("note",))).tasks
    assert [len(task.targets) for task in tasks] == [16, 16]


def test_text_of_several_columns_comes_one_after_another(file):
    tasks, _ = read_task_tables([file("a.csv", FILES["a.csv"])], Wanted(text=("note", "age")))
    assert tasks["a"].inputs[0] == "thank you for help 0\n30"


def test_several_lines_in_quotes_and_missing_texts(file):
    rows = [("a\nb, c", "x"), ("", "y")] * 6
    text = "body,label\n" + "".join(f'"{body}",{label}\n' for body, label in rows)
    tasks, _ = read_task_tables([file("a.csv", text)], Wanted(text=("body",)))
    assert tasks["a"].inputs[:2] == ["a\nb, c", ""]
    text = '{"body": "a", "label": "x"}\n{"body": null, "label": "y"}\n{"label": "y"}\n'
    tasks, _ = read_task_tables([file("b.jsonl", text)], Wanted(text=("body",)))
    assert tasks["b"].inputs == ["a", "", ""]


NUMBERED = "x,label\n" + "".join(f"{k},{k}\n" for k in range(60))
TEXT = Wanted(text=("note",))
BAD = [
    ("a.csv", "", Wanted(), "must have 1 byte to"),
    ("a.csv", "x,label\n", Wanted(), "must have rows of features and a label, got none. Write one row a line."),
    ("a.csv", "\n\n", Wanted(), "must have rows of features and a label, got none"),
    ("a.csv", "x\ny\n", Wanted(), "got one column. Separate columns by commas."),
    ("a.csv", "x,x,label\n1,2,a\n", Wanted(), "must have columns of different names, got 'x' more than once"),
    ("a.csv", "x,y,label\n1,2,a\n3,4\n", Wanted(), "must have 3 cells in each row, got 2 on line 3"),
    ("a.csv", "x,label\n1,a\n,b\n", Wanted(), "must have a number in each cell, got none in 'x' on line 3"),
    ("a.csv", "x,label\n1,a\ninf,b\n", Wanted(), "must hold finite numbers of size float32, got inf at row 2"),
    ("a.csv", "x,label\n" + "1,a\n" * 2000 + "one,b\n", Wanted(), "got 'one' in 'x' on line 2002. Encode it"),
    ("a.csv", "x,label\n1,a\n2,\n", Wanted(), "must have a label in each row, got none in 'label' on line 3"),
    ("a.csv", "x,label\n1,a\n2,b\x07\n", Wanted(), "must have printable labels"),
    ("a.csv", "x,where,label\n1,,a\n", Wanted(task="where"), "must name a task in column 'where' of each row"),
    ("a.csv", FILES["a.csv"], Wanted(), "Learn from columns of text with `text`: note."),
    ("a.csv", FILES["a.csv"], Wanted(text=("nots",)), "must be one of the columns age, note, height, queue of"),
    ("a.csv", FILES["a.csv"], Wanted(text=("nots",)), "got 'nots'. Did you mean 'note'?"),
    ("a.csv", FILES["a.csv"], Wanted(text=COLUMNS), "`label` must name the column of the labels, got none beside age"),
    ("a.csv", FILES["a.csv"], Wanted(text=("note",), label="note"), "must be another column than those of text"),
    ("a.csv", NUMBERED, Wanted(), "60 different values in 60 rows of 'label'. Name another column of labels with "
     "`label`, or predict numbers with `target`: regression."),
    ("a.csv", NUMBERED.replace("label", "id, label ").replace("\n", ",z\n").replace("label ,z", "label"),
     Wanted(label="id"), "60 different values in 60 rows of 'id'. Name another column of labels with `label`"),
    ("a.jsonl", "[1, 2]\n", Wanted(), 'must have a JSON object on each line, got something else on line 1. Write one'),
    ("a.jsonl", '{"x": 1, "label": "a"}\n{"x": 1,\n', Wanted(), "got something else on line 2"),
    ("a.jsonl", '{"x": [1, 2], "label": "a"}\n', Wanted(), "got a list or an object in 'x' on line 1"),
    ("a.jsonl", '{"x": 1, "label": "a"}\n{"x": 1, "label": "a", "y": 2}\n', Wanted(), "got 'y' on line 2"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "wanted", "said"), BAD, ids=[said for *_, said in BAD])
def test_what_is_wrong_is_one_line_with_the_fix(file, name, text, wanted, said):
    path = file(name, text)

    def read():
        tasks, _ = read_task_tables([path], wanted)
        return [(examples.inputs, class_names(examples)) for examples in tasks.values()]

    with pytest.raises(ValueError, match=r"^`") as refusal:
        read()
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


SPECS = [
    (["a.csv", "b.jsonl", "c.npz"], TaskSpec(), "`DATA` must be files of one kind"),
    (["a.csv", "b.csv"], TaskSpec(column="age"), "`column` must be left out with several files, got 2"),
    (["a.csv", "sub/a.csv"], TaskSpec(), "got 'a' more than once"),
    (["c.npz"], TaskSpec(text=("note",)), "`text` must come with a table (CSV, TSV, JSON lines or Parquet), got"),
    (["digits"], TaskSpec(target=REGRESSION), "`target` must come with a table"),
    (["nowhere"], TaskSpec(text=("note",)), "`name_or_path` must be one of digits, fashion-mnist"),
    (["n.csv"], TaskSpec(), "`column` must name the column that tells tasks apart, got none for"),
]


@pytest.mark.parametrize(("names", "spec", "said"), SPECS, ids=[said for *_, said in SPECS])
def test_options_that_do_not_fit_are_refused(file, tmp_path, names, spec, said):
    (tmp_path / "sub").mkdir()
    for name in ("a.csv", "b.csv", "sub/a.csv", "b.jsonl"):
        file(name, FILES["a.jsonl" if name.endswith("jsonl") else "a.csv"])
    file("n.csv", "x,label\n" + "1,0.5\n2,1.5\n" * 6)
    np.savez(tmp_path / "c.npz", inputs=np.zeros((40, 2)), labels=np.arange(40) % 4)
    with pytest.raises(ValueError, match=r"must") as refusal:
        read_tasks([name if name == "digits" else tmp_path / name for name in names], spec)
    assert said in str(refusal.value)


def test_a_set_of_the_package_is_no_folder_here(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits").mkdir()
    (tmp_path / "digits" / "transfer.csv").write_text("x")
    assert [task.name for task in read_tasks(["digits"]).tasks] == ["0-1", "2-3", "4-5", "6-7", "8-9"]


def test_by_position_the_first_classes_share_an_output(file):
    paths = [file(name, f"x,label\n1,{first}\n2,{second}\n") for name, first, second in
             (("a.csv", "cat", "dog"), ("b.csv", "ship", "car"))]  # fmt: skip
    assert read_tasks(paths).tasks[0].classes == ("car", "cat", "dog", "ship")
    shared = read_tasks(paths, TaskSpec(by_position=True))
    assert [task.labels.tolist() for task in shared.tasks] == [[0, 1], [1, 0]]
    assert "labels by position: the first class of each task shares an output, and so on" in shared.notes


def test_rows_are_read_only_once(file):
    """The head that columns are judged by is not read a second time, nor lost."""
    path = file("a.csv", "x,label\n" + "".join(f"{k},{k % 3}\n" for k in range(2500)))
    tasks, _ = read_task_tables([path], Wanted())
    assert tasks["a"].inputs[:, 0].tolist() == list(range(2500))
    with open_table(path) as table:
        assert sum(1 for _ in table.rows) == 2500
