"""`taskorder report` on order audits and on pilot folders."""

import csv
import gzip
import io
import itertools
import json
import os
import shlex
import shutil
from html import unescape

import numpy as np
import pytest

from taskorder.cli import main

from .test_report import numbers_in, refused


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def results(here):
    """All orders of three tasks with three seeds; set 1 is another experiment."""
    rng = np.random.default_rng(0)
    rows = [["order", "seed", "task", "accuracy", "set"]]
    for way, seed, task in itertools.product(itertools.permutations(range(3)), range(3), range(3)):
        accuracy = 60 + 10 * way.index(task) + 3 * way[2] + rng.normal()
        rows.append([">".join(map(str, way)), seed, task, round(accuracy, 3), 0])
    with open("results.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    return "results.csv"


OPTIONS = ["--used", "0>1>2", "--compare", "0>1>2", "2>1>0", "--difference", "2", "--seed", "3", "--where", "set=0"]


def test_results_and_the_audit_of_them_give_the_same_page(results, capsys):
    assert main(["audit", results, *OPTIONS, "--json"]) == 0
    printed = capsys.readouterr().out
    with open("audit.json", "w") as file:
        file.write(printed)
    with open(results, "rb") as plain, gzip.open("packed.csv.gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    assert main(["report", results, *OPTIONS, "-o", "a.html"]) == 0
    assert main(["report", "packed.csv.gz", *OPTIONS, "-o", "b.html"]) == 0
    assert main(["report", "audit.json", "-o", "c.html"]) == 0
    numbers = numbers_in("a.html")
    assert numbers["audit"] == json.loads(printed)
    assert numbers_in("b.html") == numbers_in("c.html") == numbers


def test_the_command_in_the_page_makes_it_again(results):
    assert main(["report", results, *OPTIONS, "--title=-- a title"]) == 0
    with open("report.html", encoding="utf-8") as file:
        text = file.read()
    os.remove("report.html")
    assert main(shlex.split(unescape(text[text.index("<code>") + 6 : text.index("</code>")]))[1:]) == 0
    with open("report.html", encoding="utf-8") as file:
        assert file.read() == text


WAYS = [*itertools.permutations("abcd")]


def test_what_is_wrong_with_an_audit_is_said_in_one_line(results, here, capsys, monkeypatch):
    assert main(["audit", results, "--json"]) == 0
    audit = json.loads(capsys.readouterr().out)
    (here / "bad.json").write_text(json.dumps({**audit, "mean": "x"}))
    assert "`bad.json` must be what `taskorder audit --json` writes, got 'x' at mean." in refused(capsys, "bad.json")
    (here / "bad.json").write_text(json.dumps({**audit, "orders": []}))
    assert "no orders" in refused(capsys, "bad.json")
    (here / "single.csv").write_text(
        "\n".join(["order,acc", *(f"{'>'.join(w)},0.{k + 10}" for k, w in enumerate(WAYS))])
    )
    assert main(["audit", "single.csv", "--json"]) == 0
    single = json.loads(capsys.readouterr().out)
    (here / "bad.json").write_text(json.dumps({**single, "orders": single["orders"][1:]}))
    assert "got a model of other orders" in refused(capsys, "bad.json")
    (here / "good.json").write_text(json.dumps(audit))
    assert "`--used` must be left out for an audit" in refused(capsys, "good.json", "--used", "0>1>2")
    assert "`--rule` must be left out for a table of results" in refused(capsys, results, "--rule", "greedy")
    assert "got '9>9'" in refused(capsys, results, "--used", "9>9")
    assert "`--difference` must be above 0" in refused(capsys, results, "--difference", "0")
    assert "`--where` must be COLUMN=VALUE" in refused(capsys, results, "--where", "set")
    (here / "lacking.csv").write_text("order,seed,task,score\n0>1,0,0,1\n")
    assert "must have a column accuracy, or one for each task" in refused(capsys, "lacking.csv")
    with open(results, "rb") as piped:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(piped))
        assert "Or pipe what `taskorder audit - --json` prints." in refused(capsys, "-")
    (here / "table.csv").write_text("1,0.5\n0.5,1\n")
    assert "`--used` must be left out for a matrix" in refused(capsys, "table.csv", "--used", "0>1")


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    """A real pilot: three tasks in a table, scikit-learn, all pairs learned."""
    pytest.importorskip("sklearn")
    folder = tmp_path_factory.mktemp("pilot")
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(240, 3))
    with open(folder / "data.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["x", "y", "z", "task", "label"])
        for row, cells in enumerate(inputs.tolist()):
            rows.writerow([*cells, "<b>abc"[3 + row % 3], int(cells[row % 3] > 0)])
    out = folder / "out"
    options = [
        "--column",
        "task",
        "--learner",
        'sklearn:SGDClassifier(loss="log_loss")',
        "--pilot",
        "40",
        "--seeds",
        "2",
    ]
    assert main(["plan", str(folder / "data.csv"), *options, "--epochs", "2", "--folder", str(out)]) == 0
    return out


def test_a_pilot_folder(pilot, here, capsys):
    capsys.readouterr()
    assert main(["report", str(pilot)]) == 0
    numbers = numbers_in()
    plan = json.loads((pilot / "plan.json").read_text())
    assert numbers["plan"] == plan
    assert plan["confidence"] is not None
    with open("report.html", encoding="utf-8") as file:
        text = file.read()
    for key in ("beats_random", "same_first", "same_last", "same_neighbors"):
        assert f'data-value="{plan["confidence"][key]!r}"' in text
    for value in (*plan["prediction"]["tasks"], *(other["expected"] for other in plan["alternatives"])):
        assert f'data-value="{value!r}"' in text
    for warning in plan["warnings"]:
        assert warning["text"] in unescape(text)
    assert 'id="prediction"' in text
    assert 'id="standing"' in text


def test_a_plan_from_a_pilot_alone(pilot, here, capsys):
    assert main(["report", str(pilot / "plan.json")]) == 0
    with open("report.html", encoding="utf-8") as file:
        text = file.read()
    assert 'id="sureness"' in text
    assert 'id="alternatives"' in text
    plan = json.loads((pilot / "plan.json").read_text())
    for other in plan["alternatives"]:
        assert f'data-value="{other["expected"]!r}"' in text


BAD_PARTS = {
    "confidence": lambda plan: {"confidence": {"verdict": "sure"}},
    "gain": lambda plan: {"confidence": {**plan["confidence"], "gain": "x"}},
    "warnings": lambda plan: {"warnings": [{"kind": "a", "text": 1}]},
    "alternatives": lambda plan: {"alternatives": [{**plan["alternatives"][0], "order": [9, 9]}]},
    "expected": lambda plan: {"expected": "x"},
    "prediction": lambda plan: {"prediction": {**plan["prediction"], "tasks": [0.5]}},
}


@pytest.mark.parametrize("bad", BAD_PARTS.values(), ids=BAD_PARTS)
def test_a_plan_with_a_bad_part(pilot, here, capsys, bad):
    plan = json.loads((pilot / "plan.json").read_text())
    (here / "bad.json").write_text(json.dumps({**plan, **bad(plan)}))
    assert "must be" in refused(capsys, "bad.json")


def test_a_folder_that_is_not_quite_a_pilot(pilot, here, capsys):
    copy = shutil.copytree(pilot, here / "copy")
    plan = (copy / "plan.json").read_bytes()
    assert "must end in .html or .htm, got 'plan.json'" in refused(capsys, "copy", "-o", "copy/plan.json")
    assert (copy / "plan.json").read_bytes() == plan
    (copy / "transfer.csv").write_text(",a,b,c\na,1,0,0\nb,0,1,0\nc,0,0,1\n")
    assert "another digest" in refused(capsys, "copy")
    (copy / "transfer.csv").unlink()
    assert "transfer.csv" in refused(capsys, "copy")
    (copy / "plan.json").unlink()
    assert "The pilot is not finished" in refused(capsys, "copy")
