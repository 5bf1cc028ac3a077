"""`taskorder order`: a plan becomes order.json, order.json the settings of a framework."""

import io
import json

import pytest

from taskorder.cli import main
from taskorder.portable import PortableOrder

TABLE = "task,cats,cars,dogs\ncats,1,0.2,0.6\ncars,0.2,1,0.1\ndogs,0.6,0.1,1\n"
CLASSES = '{"cats": [0, 1], "cars": [4, 5], "dogs": [2, 3]}'


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """A folder with table.csv and plan.json."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(TABLE)
    assert main(["solve", "table.csv", "--retention", "1", "--json"]) == 0
    (tmp_path / "plan.json").write_text(capsys.readouterr().out)
    return tmp_path


def test_from_plan_to_order_to_frameworks(here, capsys):
    names = here / "names.txt"
    names.write_text("\n".join(["kitten", "cat", "puppy", "dog", "car", "truck", "", ""]))  # blank lines at the end
    words = ["--classes", CLASSES, "--class-names", "names.txt", "--training-seeds", "1,2", "-o", "order.json"]
    assert main(["order", "plan.json", *words]) == 0
    assert capsys.readouterr().out == "wrote order.json: cars -> dogs -> cats\n"
    order = PortableOrder.from_json((here / "order.json").read_text())
    assert order.class_order == (4, 5, 2, 3, 0, 1)
    assert order.class_names[1] == ("car", "truck")
    assert order.num_classes == 6
    assert order.training_seeds == (1, 2)
    assert sorted(path.name for path in here.iterdir()) == ["names.txt", "order.json", "plan.json", "table.csv"]

    assert main(["order", "order.json"]) == 0
    assert capsys.readouterr().out == (here / "order.json").read_text()
    assert main(["order", "order.json", "--to", "mammoth", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["class_order"] == [4, 5, 2, 3, 0, 1]
    assert main(["order", "order.json", "--to", "avalanche"]) == 0
    assert "class_order=[4, 5, 2, 3, 0, 1],\n    num_classes_per_exp=[2, 2, 2]," in capsys.readouterr().out
    assert main(["order", "order.json", "--to", "pycil", "-o", "pycil.txt"]) == 0
    assert '"init_cls": 2' in (here / "pycil.txt").read_text()


def test_standard_input_and_classes_from_a_file(here, capsys, monkeypatch):
    (here / "classes.json").write_text("[[0, 1], [4, 5], [2, 3]]")
    monkeypatch.setattr("sys.stdin", io.StringIO((here / "plan.json").read_text()))
    assert main(["order", "-", "--classes", "classes.json", "--to", "continuum", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"class_order": [4, 5, 2, 3, 0, 1], "increment": 2}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no.json"], "`no.json` must be a readable file, got: No such file"),
        (["table.csv"], "`table.csv` must be a plan or an order in JSON, got a parse error"),
        (["list.json"], "`list.json` must be a plan (taskorder solve --json) or an order.json, got other JSON"),
        (
            ["plan.json", "--to", "pycil"],
            "`--classes` must list the classes of each task, got none. Give `--classes` with the plan, like [[0, 1],",
        ),
        (["plan.json", "--to", "caffe"], "`--to` must be one of avalanche, avalanche-nc"),
        (["plan.json", "--classes", "[[0], [1]"], "`--classes` must be JSON like [[0, 1], [2, 3]], got a parse error"),
        (["plan.json", "--classes", "[0, 1, 2]"], "`--classes` must list the classes of each task"),
        (["plan.json", "--classes", '["0", "1", "2"]'], "`--classes` must list the classes of each task"),
        (
            ["plan.json", "--classes", "[[0], [1], [2]]", "--num-classes", "2"],
            "`--num-classes` must be above the highest",
        ),
        (["plan.json", "--training-seeds", "1;2"], "`--training-seeds` must be whole numbers with commas, got '1;2'"),
        (["order.json", "--classes", "[[0]]"], "`--classes` must come with a plan, got an order.json"),
        (["order.json", "--training-seeds", "1"], "`--training-seeds` must come with a plan, got an order.json"),
        (["bytes.json"], "`bytes.json` must be UTF-8 text"),
        (["plan.json", "--num-classes", "10"], "`--num-classes` must come with --classes, got none"),
        (["plan.json", "--class-names", "table.csv"], "`--class-names` must come with --classes, got none"),
        (["plan.json", "--training-seeds", "-1"], "`--training-seeds` must be a nonnegative integer, got -1"),
        (["plan.json", "-o", "plan.json"], "`--output` must be another file than the input, got 'plan.json' for both"),
    ],
)
def test_bad_input_is_named(here, capsys, words, message):
    (here / "list.json").write_text("[1, 2]")
    (here / "bytes.json").write_bytes(b"\xff\xff\xff")
    assert main(["order", "plan.json", "-o", "order.json"]) == 0
    capsys.readouterr()
    assert main(["order", *words]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_a_file_that_cannot_be_written(here, capsys):
    (here / "folder.json").mkdir()
    assert main(["order", "plan.json", "-o", "folder.json"]) == 1
    assert "cannot write folder.json: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "fix"),
    [("no/a b/order.json", "Make it first: mkdir -p 'no/a b'"), ("plan.json/order.json", "Choose another.")],
)
def test_a_folder_that_is_not_there(here, capsys, name, fix):
    assert main(["order", "plan.json", "-o", name]) == 2
    said = capsys.readouterr().err
    assert said == f"taskorder: error: `--output` must be in a folder that exists, got {name!r}. {fix}\n"
