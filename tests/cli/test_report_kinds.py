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


def changed(audit, **fields):
    return json.dumps({**audit, **fields})


def test_an_audit_that_its_own_numbers_refute_is_corrected_and_said_to_be(results, here, capsys):
    assert main(["audit", results, "--json"]) == 0
    audit = json.loads(capsys.readouterr().out)
    parts = audit["components"]
    lies = {
        "says p = 0.9, its test gives": {"test": {**audit["test"], "p": 0.9}},
        "mean 0.99, its orders have": {"mean": 0.99},
        "other shares of the variance": {"components": [{**parts[0], "share": 0.01}, *parts[1:]]},
        "does not list its best orders first": {"orders": audit["orders"][::-1]},
        "shown is what the numbers of the audit give": {"verdict": "The order is proven not to matter."},
    }
    for said, lie in lies.items():
        (here / "audit.json").write_text(changed(audit, **lie))
        assert main(["report", "audit.json"]) == 0
        assert said in capsys.readouterr().err
        numbers = numbers_in()
        assert numbers["audit"]["verdict"] == audit["verdict"]
        assert numbers["audit"]["mean"] == pytest.approx(audit["mean"])
        assert numbers["audit"]["test"]["p"] == pytest.approx(audit["test"]["p"])
        assert [score["order"] for score in numbers["audit"]["orders"]] == [score["order"] for score in audit["orders"]]
        assert numbers["audit"]["components"][0]["share"] == pytest.approx(parts[0]["share"])
        with open("report.html", encoding="utf-8") as file:
            assert 'id="warnings"' in file.read()
    (here / "audit.json").write_text(changed(audit, test=None))
    os.remove("report.html")
    assert "got no test of the orders" in refused(capsys, "audit.json")


def test_an_audit_of_methods_that_its_own_numbers_refute_is_corrected(results, here, capsys):
    with open(results) as file:
        rows = list(csv.DictReader(file))
    with open("methods.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "method"])
        writer.writeheader()
        for method, more in (("ours", 1.0), ("theirs", 0.0)):
            writer.writerows({**row, "accuracy": float(row["accuracy"]) + more, "method": method} for row in rows)
    assert main(["audit", "methods.csv", "--where", "set=0", "--json"]) == 0
    audit = json.loads(capsys.readouterr().out)
    (here / "audit.json").write_text(json.dumps(audit))
    assert main(["report", "audit.json"]) == 0
    assert capsys.readouterr().err == ""
    first = audit["methods"][0]
    methods = [{**first, "audit": {**first["audit"], "mean": 0.99}}, *audit["methods"][1:]]
    (here / "audit.json").write_text(changed(audit, methods=methods, verdict="ours always wins"))
    assert main(["report", "audit.json"]) == 0
    said = capsys.readouterr().err
    assert f"The audit of {first['method']} says" in said
    assert "The verdict was another one" in said
    with open("report.html", encoding="utf-8") as file:
        assert "ours always wins" not in file.read()


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


def test_a_pilot_that_was_edited_is_corrected_and_said_to_be(pilot, here, capsys):
    shutil.copytree(pilot, here / "edited")
    plan = json.loads((pilot / "plan.json").read_text())
    capsys.readouterr()
    lies = {
        "its table gives": {"score": 0.99},
        "the rule auto proves nothing": {"proven": True, "bound": plan["score"]},
        "it predicts a mean accuracy of 0.99": {"prediction": {**plan["prediction"], "mean": 0.99}},
        "it says that order matters": {"confidence": {**plan["confidence"], "verdict": "order matters", "gain": 0.0,
                                                      "gain_low": -0.1, "gain_high": 0.1}},
    }  # fmt: skip
    for said, lie in lies.items():
        (here / "edited" / "plan.json").write_text(json.dumps({**plan, **lie}))
        assert main(["report", "edited"]) == 0
        assert said in capsys.readouterr().err
        assert said in numbers_in()["disagreements"][0]
        (key, told), *_ = lie.items()
        assert numbers_in()["plan"][key] != told
    (here / "edited" / "plan.json").write_text(json.dumps(plan))
    assert main(["report", "edited"]) == 0
    assert capsys.readouterr().err == ""


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
