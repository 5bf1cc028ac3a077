"""`taskorder order`: a plan becomes order.json, order.json the settings of a framework."""

import io
import json

import pytest

from taskorder import Plan
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


def test_a_plan_that_contradicts_itself_is_said_to(here, capsys):
    plan = json.loads((here / "plan.json").read_text())
    (here / "plan.json").write_text(json.dumps({**plan, "error": 1e-9}))
    assert main(["order", "plan.json"]) == 0
    out, said = capsys.readouterr()
    assert said.startswith("taskorder: warning: The plan contradicts itself: it says a final error of 1e-09")
    assert json.loads(out)["predicted_error"] == pytest.approx(plan["error"])
    assert json.loads(out)["order"] == plan["order"]


def test_standard_input_and_classes_from_a_file(here, capsys, monkeypatch):
    (here / "classes.json").write_text("[[0, 1], [4, 5], [2, 3]]")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((here / "plan.json").read_bytes())))
    assert main(["order", "-", "--classes", "classes.json", "--to", "continuum", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"class_order": [4, 5, 2, 3, 0, 1], "increment": 2}


def test_settings_of_a_tool_that_fine_tunes(here, capsys):
    assert main(["order", "plan.json", "--to", "llamafactory"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("# Planned order, from taskorder ")
    assert '\ndataset: "cars,dogs,cats"\nmix_strategy: concat\ndisable_shuffling: true\n' in said
    (here / "paths.json").write_text('{"cats": "c.jsonl", "cars": "b.jsonl", "dogs": "d.jsonl"}')
    assert main(["order", "plan.json", "--to", "swift", "--datasets", "paths.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["dataset"] == ["b.jsonl", "d.jsonl", "c.jsonl"]
    entries = '{"cats": {"path": "c", "type": "alpaca"}, "cars": "b", "dogs": "d"}'
    assert main(["order", "plan.json", "--to", "axolotl", "--datasets", entries]) == 0
    assert "  - path: c\n    type: alpaca\n" in capsys.readouterr().out
    assert main(["order", "plan.json", "-o", "order.json"]) == 0
    assert main(["order", "order.json", "--to", "trl", "-o", "train.py"]) == 0
    compile((here / "train.py").read_text(), "train.py", "exec")


def test_a_model_card(here, capsys):
    assert main(["order", "plan.json", "--to", "card"]) == 0
    said = capsys.readouterr().out
    assert said == Plan.from_json((here / "plan.json").read_text()).to_markdown()
    assert said.startswith("## Task order\n")
    assert main(["order", "plan.json", "--to", "card", "-o", "CARD.md"]) == 0
    assert (here / "CARD.md").read_text() == said


def test_a_list_of_too_many_class_names_is_not_cut_into_lines(here, capsys, monkeypatch):
    """64 MB of short lines took 1.6 GB."""
    monkeypatch.setattr("taskorder.portable.MAX_CLASSES", 10)
    (here / "names.txt").write_text("a\n" * 11)
    words = ["--classes", "[[0, 1], [4, 5], [2, 3]]", "--class-names", "names.txt"]
    assert main(["order", "plan.json", *words]) == 2
    assert "`--class-names` must list at most 10 classes, got more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["plan.json", "--to", "trl", "--datasets", "{"],
            '`--datasets` must be JSON like {"cats": "cats.jsonl"}, got a',
        ),
        (["plan.json", "--to", "trl", "--datasets", "no.json"], "`no.json` must be an existing file"),
        (
            ["plan.json", "--to", "trl", "--datasets", '{"cat": "c"}'],
            "`--datasets` must have task names as keys, got 'cat'",
        ),
        (["plan.json", "--to", "trl", "--datasets", '{"cats": "c"}'], "got none for 'cars'"),
        (["plan.json", "--to", "trl", "--datasets", "[1]"], "`--datasets` must map task names to data sets, got [1]"),
        (["plan.json", "--datasets", "{}"], "`--datasets` must come with `--to` and one of llamafactory, "),
        (["plan.json", "--to", "clarena", "--datasets", "{}"], "transformers, got clarena."),
        (["plan.json", "--to", "card", "--datasets", "{}"], "transformers, got card."),
        (["plan.json", "--to", "card", "--json"], "`--json` must come with settings, got a card."),
        (
            ["order.json", "--to", "card"],
            "`order.json` must be a plan (taskorder solve --json) for a card, got an order",
        ),
        (["plan.json", "--to", "llamafactroy"], "transformers, card, got 'llamafactroy'. Did you mean 'llamafactory'?"),
        (["no.json"], "`no.json` must be an existing file, got no such file"),
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
