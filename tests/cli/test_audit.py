"""`taskorder audit`: from files and stores to a table, a verdict and JSON."""

import gzip
import io
import itertools
import json

import numpy as np
import pytest

from taskorder.cli import main
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store

WAYS = [">".join(map(str, way)) for way in itertools.permutations(range(3))]


def accuracies(seed=0):
    """Six orders that differ, four seeds, three tasks."""
    rng = np.random.default_rng(seed)
    return 0.7 + 0.04 * rng.standard_normal((6, 1, 1)) + 0.01 * rng.standard_normal((6, 4, 3))


def table(accuracy, scale=1):
    lines = ["order,seed,task,accuracy"]
    for o, s, t in itertools.product(*map(range, accuracy.shape)):
        lines.append(f"{WAYS[o]},{s},{t},{float(scale * accuracy[o, s, t])!r}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with results.csv."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results.csv").write_text(table(accuracies()))
    return tmp_path


def report(capsys, *words):
    assert main(["audit", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_table_and_the_verdict(here, capsys):
    assert main(["audit", "results.csv", "--used", "0>1>2", "--compare", "0>1>2", "2>1>0"]) == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[0].split() == ["variance", "from", "share", "95", "%", "interval", "standard", "deviation"]
    assert [line.split("  ")[0] for line in lines[2:5]] == ["order", "seed", "order x seed and noise"]
    assert "24 runs, 6 orders, 4 seeds, 3 tasks (crossed)" in said.out
    assert "regret of 0>1>2:" in said.out
    assert "0>1>2 minus 2>1>0:" in said.out
    assert "paired over 4 seeds" in said.out
    assert lines[-1].startswith("Order matters: it accounts for 9")
    assert said.err == ""


def test_numbers_are_those_of_the_table(here, capsys):
    audit = report(capsys, "results.csv", "--used", "0 -> 1 -> 2", "--difference", "2")
    accuracy = accuracies()
    means = accuracy.mean(axis=(1, 2))
    assert [score["order"] for score in audit["orders"]] == [WAYS[place] for place in np.argsort(-means)]
    assert audit["orders"][0]["mean"] == pytest.approx(means.max())
    ranges = np.ptp(accuracy.mean(axis=1), axis=0)
    assert [part["value"] for part in audit["disparity"]] == pytest.approx(list(ranges))
    assert (audit["aopd"]["value"], audit["mopd"]["value"]) == pytest.approx((ranges.mean(), ranges.max()))
    assert audit["regret"]["observed"] == pytest.approx(means.max() - means[0])
    assert audit["needs"]["difference"] == pytest.approx(0.02)
    by_order, total = accuracy.mean(axis=2).mean(axis=1), accuracy.mean()
    order_squares = 4 * ((by_order - total) ** 2).sum() / 5
    rest = accuracy.mean(axis=2) - by_order[:, None] - accuracy.mean(axis=(0, 2)) + total
    assert audit["test"]["f"] == pytest.approx(order_squares / ((rest**2).sum() / 15))


def test_percent_gzip_and_standard_input_say_the_same(here, capsys, monkeypatch):
    whole = report(capsys, "results.csv")
    (here / "percent.csv.gz").write_bytes(gzip.compress(table(accuracies(), scale=100).encode()))
    packed = report(capsys, "percent.csv.gz")
    assert packed["test"]["f"] == pytest.approx(whole["test"]["f"])
    assert packed["aopd"]["value"] == pytest.approx(whole["aopd"]["value"])
    stream = io.TextIOWrapper(io.BytesIO((here / "results.csv").read_bytes()))
    monkeypatch.setattr("sys.stdin", stream)
    assert report(capsys, "-") == whole


def stored(path, sets=(0, 1)):
    """A store with runs of the form that the engine writes, and what was put in."""
    truth = {}
    ways = [way for length in range(4) for way in itertools.permutations(range(3), length)]
    with Store(path) as store:
        for number in sets:
            truth[number] = accuracies(number)
            for seed in range(4):
                rows = [
                    truth[number][list(itertools.permutations(range(3))).index(way), seed].tolist()
                    if len(way) == 3
                    else [0.1] * 3
                    for way in ways
                ]
                result = {
                    "task_set": {"names": ["owl", "cat", "emu"]},
                    "beginnings": [".".join(map(str, way)) for way in ways],
                    "network_steps": 1,
                    **dict.fromkeys(("accuracy", "loss", "chance"), rows),
                }
                spec = RunSpec("neural.orders.2", {"set": number, "seed": seed, "epochs": 1})
                store.put([spec], [result], 1.0)
    return truth


def test_a_store_and_its_export_say_the_same(here, capsys):
    truth = stored("a.sqlite")
    audit = report(capsys, "a.sqlite", "--where", "set=1", "--used", "emu>cat>owl")
    assert audit["mean"] == pytest.approx(truth[1].mean())
    assert audit["regret"]["used"] == "2>1>0"
    assert [part["name"] for part in audit["disparity"]] == ["owl", "cat", "emu"]
    assert main(["export", "a.sqlite", "-o", "a.csv"]) == 0
    capsys.readouterr()
    assert report(capsys, "a.csv", "--where", "set=1", "--used", "emu>cat>owl") == audit


@pytest.mark.parametrize("file", ["a.sqlite", "a.csv"])
def test_several_experiments_in_one_file(here, capsys, file):
    stored("a.sqlite")
    assert main(["export", "a.sqlite", "-o", "a.csv"]) == 0
    capsys.readouterr()
    assert main(["audit", file]) == 2
    said = capsys.readouterr().err
    assert "Choose one with `--where`: set=0" in said
    assert ("in set 0, seed 0 and in set 1, seed 0" in said) == (file == "a.sqlite")
    assert ("on line " in said) == (file == "a.csv")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["set=9"], "`--where` must leave rows of a last step, got none for set=9."),
        (
            ["set=9", "--where", "color=red"],
            "`--where` must name a column, got 'color'. Columns: kind, ",
        ),
        (["set=1", "--where", "task=7"], "`--where` must leave rows of a last step, got none for set=1, task=7."),
    ],
)
def test_what_is_chosen_of_a_store(here, capsys, words, message):
    stored("a.sqlite")
    assert main(["audit", "a.sqlite", "--where", *words]) == 2
    assert message in capsys.readouterr().err


def test_one_seed_is_said_plainly(here, capsys):
    (here / "one.csv").write_text(table(accuracies()[:, :1]))
    assert main(["audit", "one.csv"]) == 0
    out = capsys.readouterr().out
    assert "order and noise cannot be separated" in out
    assert "order and noise" in out.splitlines()[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no.csv"], "`no.csv` must be an existing file, got no such file"),
        (["."], "`.` must be a file, got a directory"),
        (["results.csv", "--used", "0>1"], "`--used` must name an order of the results, got '0>1'"),
        (["results.csv", "--compare", "0>1>2", "x"], "`--compare` must name an order of the results, got 'x'"),
        (["results.csv", "--difference", "0"], "`--difference` must be above 0 and below 100 points, got 0"),
        (["results.csv", "--difference", "nan"], "`--difference` must be above 0 and below 100 points, got nan"),
        (["results.csv", "--where", "seed"], "`--where` must be COLUMN=VALUE, got 'seed'"),
        (["results.csv", "--where", "color=red"], "`--where` must name a column, got 'color'"),
        (["results.csv", "--seed", "-1"], "`--seed` must be a nonnegative integer"),
        (["bad.csv"], "got 'oops' on line 3"),
        (["empty.sqlite"], "`empty.sqlite` must hold finished runs of `taskorder run`, got none"),
    ],
)
def test_bad_input_is_named(here, capsys, words, message):
    (here / "bad.csv").write_text("order,seed,task,accuracy\n0>1,0,0,0.5\n0>1,0,1,oops\n")
    with Store("empty.sqlite"):
        pass
    assert main(["audit", *words]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
