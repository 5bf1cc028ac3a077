"""`taskorder report` on real files of every kind."""

import itertools
import json
import os
import shlex
import subprocess
import sys

import numpy as np
import pytest

from taskorder.cli import main
from taskorder.portable import PortableOrder
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.tables.writing import write_similarity

NAMES = ("cats", "dogs", "owls", "a:b", "<script>")
TABLE = 0.7 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5)))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Every test works in a folder of its own, with a table."""
    monkeypatch.chdir(tmp_path)
    write_similarity("table.csv", TABLE, NAMES)
    return tmp_path


def numbers_in(path="report.html"):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    start = text.index('id="numbers">') + len('id="numbers">')
    return json.loads(text[start : text.index("</script>", start)])


def printed(capsys, *argv):
    assert main([*argv, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    document.pop("seconds", None)
    return document


def refused(capsys, *argv):
    """The one line that a bad command prints; nothing is written."""
    assert main(["report", *argv]) == 2
    out, problem = capsys.readouterr()
    assert out == ""
    assert problem.startswith("taskorder: error: ")
    assert problem.count("\n") == 1
    assert not os.path.exists("report.html")
    return problem


@pytest.mark.parametrize("source", ["table.csv", "--demo"])
@pytest.mark.slow("sizes")
def test_numbers_equal_those_of_plan_and_compare(capsys, source):
    assert main(["report", source, "--time-limit", "60"]) == 0
    assert capsys.readouterr().out.startswith("wrote report.html: 0.")
    numbers = numbers_in()
    numbers["plan"].pop("seconds")
    assert numbers["plan"] == printed(capsys, "solve", source, "--time-limit", "60")
    assert numbers["comparison"] == printed(capsys, "compare", source, "--time-limit", "60")


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".json", ".npz"])
def test_every_format_of_tables(ending):
    path = f"other{ending}"
    write_similarity(path, TABLE, NAMES)
    assert main(["report", path, "-o", "other.html"]) == 0
    assert numbers_in("other.html")["plan"]["names"] == list(NAMES)


def test_options_are_those_of_plan(capsys):
    options = ["--weights", "cats=2", "--before", "owls:a:b", "--first", "dogs", "--rule", "greedy", "--seed", "3"]
    assert main(["report", "table.csv", *options]) == 0
    capsys.readouterr()
    numbers = numbers_in()
    numbers["plan"].pop("seconds")
    assert numbers["plan"] == printed(capsys, "solve", "table.csv", *options)


def test_output_similarity_visits_and_learned():
    write_similarity("out.csv", TABLE, NAMES)
    options = ["--visits", "5", "--learned", "cats", "--retention", "1"]  # an output similarity is the paper's
    assert main(["report", "table.csv", "--output-similarity", "out.csv", *options]) == 0
    plan = numbers_in()["plan"]
    assert plan["options"]["output"] == TABLE.tolist()
    assert len(plan["order"]) == 5


def test_transfer_tables():
    ratios = (1 - TABLE) ** 2
    write_similarity("ratios.csv", ratios, NAMES)
    assert main(["report", "ratios.csv", "--ratios"]) == 0
    numbers = numbers_in()
    np.testing.assert_allclose(numbers["table"], 1 - ratios, atol=1e-12)
    assert numbers["plan"]["objective"] == "score"
    assert main(["report", "ratios.csv", "--ratios", "--retention", "1"]) == 0
    numbers = numbers_in()
    np.testing.assert_allclose(numbers["table"], TABLE, atol=1e-12)
    assert any("loss ratios" in note for note in numbers["plan"]["notes"])


def test_a_plan_with_and_without_its_matrix(capsys):
    assert main(["solve", "table.csv", "--json", "--weights", "dogs=3"]) == 0
    with open("plan.json", "w") as file:
        file.write(capsys.readouterr().out)
    assert main(["report", "plan.json", "-o", "alone.html"]) == 0
    assert main(["report", "plan.json", "--similarity", "table.csv", "-o", "all.html"]) == 0
    alone, whole = numbers_in("alone.html"), numbers_in("all.html")
    with open("plan.json") as file:
        assert alone["plan"] == whole["plan"] == json.load(file)
    assert "comparison" not in alone
    capsys.readouterr()
    assert whole["comparison"] == printed(capsys, "compare", "table.csv", "--weights", "dogs=3")
    capsys.readouterr()
    write_similarity("other.csv", TABLE**2, NAMES)
    assert "another digest" in refused(capsys, "plan.json", "--similarity", "other.csv")
    assert "`--rule` must be left out for a plan" in refused(capsys, "plan.json", "--rule", "greedy")


@pytest.mark.parametrize(
    ("key", "value"),
    [("order", [9, 1, 2, 3, 4]), ("order", "ABCDE"), ("error_path", [[1.0]]), ("knowledge_path", [[1.0]]),
     ("names", [1, 2, 3, 4, 5]),
     ("error", "x"), ("seconds", "x"), ("task_errors", None), ("options", []), ("options", {"learned": ["nobody"]}),
     ("options", {"weights": [1]}), ("error_path", "x"), ("error", float("nan")),
     ("knowledge", []), ("score", None), ("objective", "x")],
)  # fmt: skip
def test_a_plan_that_was_tampered_with_is_refused(capsys, key, value):
    assert main(["solve", "table.csv", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    with open("plan.json", "w") as file:
        json.dump({**plan, key: value}, file)
    assert "must" in refused(capsys, "plan.json")


@pytest.mark.parametrize("retention", [[], ["--retention", "1"]])
def test_a_plan_that_its_table_refutes_is_not_repeated(capsys, retention):
    assert main(["solve", "table.csv", "--json", *retention]) == 0
    plan = json.loads(capsys.readouterr().out)
    value = plan["error" if retention else "score"]
    lie = {"error": 1e-9, "bound": 1e-9} if retention else {"score": 0.99, "bound": 0.99}
    with open("plan.json", "w") as file:
        json.dump({**plan, **lie}, file)
    assert main(["report", "plan.json", "--similarity", "table.csv"]) == 0
    assert "taskorder: warning: The plan says a final" in capsys.readouterr().err
    numbers = numbers_in()
    assert numbers["plan"]["error" if retention else "score"] == pytest.approx(value)
    assert numbers["plan"]["proven"] is False
    assert "its table gives" in numbers["disagreements"][0]
    with open("report.html", encoding="utf-8") as file:
        text = file.read()
    warned = text[text.index('id="warnings"') :]
    assert "its table gives" in warned[: warned.index("</section>")]
    assert "It is proven" not in text
    assert main(["report", "plan.json"]) == 0  # its own numbers refute it, too
    assert "taskorder: warning: The plan contradicts itself: it says a final" in capsys.readouterr().err
    assert numbers_in()["plan"]["error" if retention else "score"] == pytest.approx(value)


def test_a_plan_that_nothing_refutes_is_no_warning(capsys):
    assert main(["solve", "table.csv", "--json"]) == 0
    with open("plan.json", "w") as file:
        file.write(capsys.readouterr().out)
    for words in ([], ["--similarity", "table.csv"]):
        assert main(["report", "plan.json", *words]) == 0
        assert capsys.readouterr().err == ""


def test_a_table_with_other_names_is_said_to_have_them(capsys):
    assert main(["solve", "table.csv", "--json"]) == 0
    with open("plan.json", "w") as file:
        file.write(capsys.readouterr().out)
    write_similarity("renamed.csv", TABLE, ("cats", "dogs", "owls", "bats", "<script>"))
    assert main(["report", "plan.json", "--similarity", "renamed.csv"]) == 0
    assert "warning: The plan calls a task a:b that its table calls bats." in capsys.readouterr().err


def test_hostile_words_in_a_plan_are_escaped(capsys):
    assert main(["solve", "table.csv", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    bad = "</script><script>alert(1)</script>"
    plan |= {
        "rule": bad,
        "notes": [bad],
        "version": bad,
        "similarity_digest": bad,
        "names": ["\ud800", bad, "c", "d", "e"],
    }
    plan["options"] = {bad: [bad], "first": bad}
    with open("plan.json", "w") as file:
        json.dump(plan, file)
    assert main(["report", "plan.json", "--title", bad]) == 0
    with open("report.html", encoding="utf-8") as file:
        text = file.read()
    assert "<script>alert" not in text
    assert text.count("<script") == 3


@pytest.mark.parametrize("kind", ["matrix", "plan"])
def test_standard_input(kind, here):
    source = (here / "table.csv").read_bytes()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def run(*argv, data):
        command = [sys.executable, "-m", "taskorder", *argv]
        return subprocess.run(command, input=data, capture_output=True, env=environment, timeout=120, check=True).stdout

    if kind == "plan":
        source = run("solve", "-", "--json", data=source)
    page = run("report", "-", "-o", "-", data=source)
    assert page.startswith(b"<!doctype html>")
    (here / "piped.html").write_bytes(page)
    assert numbers_in("piped.html")["plan"]["names"] == list(NAMES)
    assert b"from standard input" in page


def test_the_command_in_the_page_makes_it_again(capsys):
    options = [
        "--before",
        "cats:dogs",
        "--before",
        "dogs:owls",
        "--no-repair",
        "--title",
        "it's <mine>",
        "--visits",
        "6",
    ]
    assert main(["report", "table.csv", *options]) == 0
    with open("report.html", encoding="utf-8") as file:
        text = file.read()
    from html import unescape

    command = unescape(text[text.index("<code>") + 6 : text.index("</code>")])
    first = numbers_in()
    os.remove("report.html")
    assert main(shlex.split(command)[1:]) == 0
    again = numbers_in()
    for numbers in (first, again):
        numbers["plan"].pop("seconds")
    assert again == first


@pytest.fixture
def store():
    """Three tasks in all six orders; later tasks are learned better."""
    ways = [way for length in range(4) for way in itertools.permutations(range(3), length)]
    result = {
        "task_set": {"names": ["cats", "dogs", "<b>owls"]},
        "beginnings": [".".join(map(str, way)) for way in ways],
        "accuracy": [[0.5 + 0.1 * (way.index(t) + 1) if t in way else 0.5 for t in range(3)] for way in ways],
        "similarities": {
            "test": {"loss": [[0.1, 0.5, 0.6], [0.5, 0.1, 0.7], [0.6, 0.7, 0.1]], "chance": [[1.0] * 3] * 3}
        },
    }
    with Store("runs.sqlite") as runs:
        for number in range(2):
            params = {"dataset": "animals", "num_tasks": 3, "orders": "all", "set": number, "seed": 0}
            runs.put([RunSpec("neural.orders.2", params)], [result], 1.0)
    return "runs.sqlite"


def test_a_run_store(store, capsys):
    assert main(["report", store, "--task-set", "1"]) == 0
    numbers = numbers_in()
    assert numbers["kind"] == "runs"
    assert numbers["set"] == 1
    assert len(numbers["accuracy"]) == 6
    os.remove("report.html")
    capsys.readouterr()
    assert "Sets: 0 to 1" in refused(capsys, store, "--task-set", "2")
    assert "`--first` must be left out for a run store" in refused(capsys, store, "--first", "cats")
    assert "`--similarity` must be left out" in refused(capsys, store, "--similarity", "table.csv")
    said = refused(capsys, store, "--where", "set=0")
    assert "`--where` must be left out for a run store, got 'set=0'. Choose a task set with --task-set." in said


BAD_INPUTS = {
    ("missing.csv",): "no such file",
    (".",): "must be a folder that `taskorder plan` wrote",
    ("empty",): "empty",
    ("text.json",): "must be JSON",
    ("list.json",): "got no key 'names'",
    ("broken.sqlite",): "store",
    ("order.json",): "got an order.json, which has no errors. Give its plan.",
    (): "--demo",
    ("table.csv", "--demo"): "not both",
    ("table.csv", "--task-set", "0"): "`--task-set` must be left out for a matrix",
    ("table.csv", "--rule", "nonsense"): "`--rule` must be one of",
    ("table.csv", "--first", "nobody"): "known task",
}


@pytest.mark.parametrize(
    ("argv", "message"), BAD_INPUTS.items(), ids=[" ".join(argv) or "nothing" for argv in BAD_INPUTS]
)
def test_bad_inputs_get_one_line(capsys, here, argv, message):
    (here / "empty").write_text("")
    (here / "text.json").write_text("{not json")
    (here / "list.json").write_text('{"order": [1], "error_path": [], "similarity_digest": ""}')
    (here / "broken.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 100)
    (here / "order.json").write_text(PortableOrder(names=("a", "b"), order=(1, 0)).to_json())
    assert message in refused(capsys, *argv)


def test_a_missing_folder_is_named_before_the_work(capsys, here):
    assert main(["report", "missing.csv", "-o", "no/such/page.html"]) == 2  # nothing was read yet
    said = "`--output` must be in a folder that exists, got 'no/such/page.html'. Make it first: mkdir -p no/such"
    assert capsys.readouterr().err == f"taskorder: error: {said}\n"


def test_nothing_is_lost_when_it_cannot_write(capsys, here):
    (here / "folder.html").mkdir()
    assert main(["report", "table.csv", "-o", "folder.html"]) == 1
    assert "cannot write folder.html: " in capsys.readouterr().err
    (here / "page.html").write_text("old")
    assert main(["report", "missing.csv", "-o", "page.html"]) == 2
    assert (here / "page.html").read_text() == "old"
    capsys.readouterr()
    before = (here / "table.csv").read_bytes()
    (here / "table.html").write_bytes(before)
    assert "must be another file than the input" in refused(capsys, "table.html", "-o", "./table.html")
    assert (here / "table.html").read_bytes() == before
    assert main(["report", "table.csv", "-o", "page.html"]) == 0
    assert (here / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["report.pdf", "report", "report.html.gz"])
def test_a_page_ends_in_html(capsys, here, name):
    (here / name).write_text("old")
    said = f"`--output` must end in .html or .htm, got {name!r}.\n"
    assert refused(capsys, "missing.csv", "-o", name).endswith(said)  # before anything is read
    assert (here / name).read_text() == "old"
    assert not [name for name in os.listdir() if ".part." in name]


def test_help_loads_no_numerical_package():
    code = "import sys\nfrom taskorder.cli import main\nmain(['report', '--help'])\nassert 'numpy' not in sys.modules"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, timeout=60)


@pytest.mark.slow("training")
def test_a_real_run(here, capsys):
    pytest.importorskip("jax")
    pytest.importorskip("sklearn")
    (here / "tiny.toml").write_text(
        'dataset = "digits"\nnum_sets = 1\nnum_tasks = 3\nepochs = 1\nfraction = 0.2\nnum_seeds = 2\n'
    )
    assert main(["run", "tiny.toml", "--store", "runs.sqlite"]) == 0
    assert main(["report", "runs.sqlite"]) == 0
    numbers = numbers_in()
    assert numbers["num_seeds"] == 2
    assert len(numbers["accuracy"]) == 6
    assert 0.3 < numbers["accuracy"][-1] <= numbers["accuracy"][0] <= 1
