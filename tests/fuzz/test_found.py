"""What fuzzing has found, each small and by hand, so that it stays found. All of these were tracebacks, or worse."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from reproduction.running import read
from taskorder.audit.results_file import read_results
from taskorder.cli import main
from taskorder.datasets import load
from taskorder.planning.estimate import TransferLosses
from taskorder.portable import PortableOrder
from taskorder.records import Plan
from taskorder.runs.archive import load_archive
from taskorder.runs.settings import read_config
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.tables.reading import read_similarity

from . import fuzz, readers

NO_TEXT = np.array([[2**31, 65]], dtype=np.uint32).view("U2").ravel()
"""numpy makes a string of any four bytes; Python dies of some of them, with a SystemError, much later."""


def test_names_and_labels_that_are_no_text(tmp_path):
    np.savez(tmp_path / "a.npz", similarity=[[1.0]], names=NO_TEXT)
    with pytest.raises(ValueError, match="must hold text in names, got characters that are none"):
        read_similarity(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", inputs=np.ones((4, 2)), labels=np.repeat(NO_TEXT, 4))
    with pytest.raises(ValueError, match="must have printable labels, got characters that are none"):
        load(tmp_path / "b.npz")


def test_orders_of_thousands_of_digits(tmp_path):
    (tmp_path / "c.toml").write_text(f'orders = "{"9" * 5000}"')
    with pytest.raises(ValueError, match="`orders` must be all, a number, or one like"):
        read_config(tmp_path / "c.toml")


@pytest.mark.parametrize("text", ["num_sets = 1000000000000", "num_tasks = 1000000000", "orders = 99999999999"])
def test_a_config_that_asks_for_too_much(text, tmp_path):
    """The first filled the memory, the second took a factorial of it."""
    (tmp_path / "c.toml").write_text(text)
    with fuzz.limits(), pytest.raises(ValueError, match=f"`{text.split()[0]}` must be at most"):
        read_config(tmp_path / "c.toml")


def test_too_many_runs_in_all(tmp_path):
    (tmp_path / "c.toml").write_text("num_sets = 100000\nnum_seeds = 100000")
    with pytest.raises(ValueError, match="`num_seeds` must give at most 10000000 runs"):
        read_config(tmp_path / "c.toml")


@pytest.mark.parametrize("words", [["order"], ["report"], ["solve"], ["order", "{plan}", "--classes"]])
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_deep_nesting(words, text, tmp_path, capsys):
    (tmp_path / "deep.json").write_text(text)
    (tmp_path / "plan.json").write_bytes(readers.plans()[0])
    words = [word.format(plan=tmp_path / "plan.json") for word in words]
    assert main([*words, str(tmp_path / "deep.json")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_deep_toml(tmp_path):
    (tmp_path / "c.toml").write_text("x = " + "[" * 50_000)
    with pytest.raises(ValueError, match="`config` must be a TOML file"):
        read_config(tmp_path / "c.toml")


@pytest.mark.parametrize("key", ["learning_rate", "fraction"])
def test_a_config_with_a_number_of_four_hundred_digits(key, tmp_path):
    (tmp_path / "c.toml").write_text(f"{key} = 1{'0' * 400}")
    with pytest.raises(ValueError, match=f"`{key}` must be .*, got inf"):
        read_config(tmp_path / "c.toml")


def test_class_ids_that_are_truth_values():
    plan = Plan.from_json(readers.plans()[0].decode())
    with pytest.raises(ValueError, match="`class_groups` must list class ids for each task"):
        PortableOrder.from_plan(plan, class_groups=[[True], [False], [2]])


@pytest.mark.parametrize(
    "change",
    [
        {"losses": [[[10**400] * 3] * 3]},
        {"chance": [[[float("nan")] * 3] * 3]},
        {"accuracy": [[[0.5] * 3] * 2]},
        {"examples": [[[[1.0]]]] * 3},
        {"names": ["cats", "cats", "dogs"]},
        {"names": 3},
        {"seeds": ["x"]},
    ],
)
def test_transfer_tables_that_are_damaged(change):
    whole = json.loads(readers.transfer_tables()[0])
    with pytest.raises(ValueError, match=r"`text` must be JSON written by TransferLosses\.to_json, got"):
        TransferLosses.from_json(json.dumps({**whole, **change}))
    with pytest.raises(ValueError, match=r"`text` must be JSON written by TransferLosses\.to_json, got"):
        TransferLosses.from_json("[" * 100_000)


def test_a_class_order_of_a_trillion_classes(tmp_path):
    whole = json.loads(readers.orders()[0])
    whole["class_groups"][0][0], whole["num_classes"] = 10**12, 10**12 + 1
    with fuzz.limits(), pytest.raises(ValueError, match="`num_classes` must be at most 1000000"):
        PortableOrder.from_json(json.dumps(whole))


def test_an_error_of_four_hundred_digits():
    whole = json.loads(readers.orders()[0])
    with pytest.raises(ValueError, match="`predicted_error` must be a finite number"):
        PortableOrder.from_json(json.dumps({**whole, "predicted_error": 10**400}))


@pytest.mark.parametrize("read", [Plan.from_json, PortableOrder.from_json])
def test_integers_of_thousands_of_digits(read):
    with pytest.raises(ValueError, match=r"must be JSON.*, got a parse error"):
        read('{"order": ' + "9" * 5000 + "}")


@pytest.mark.parametrize(("key", "value"), [("order", 3), ("error_path", [1.0]), ("names", None), ("notes", True)])
def test_plans_with_a_value_where_a_list_belongs(key, value):
    plan = json.loads(readers.plans()[0])
    with pytest.raises(ValueError, match=rf"must be JSON written by Plan\.to_json, got \S+ at {key}"):
        Plan.from_json(json.dumps({**plan, key: value}))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("learned", ["nobody"], "names of its tasks at options.learned"),
        ("learned", [None], "names of its tasks at options.learned"),
        ("learned", [[]], "names of its tasks at options.learned"),
        ("learned", 3, "names of its tasks at options.learned"),
        ("seed", "one", "`seed` must"),
        ("seed", 1.5, "`seed` must"),
    ],
)
def test_plans_with_odd_options(key, value, said):
    plan = json.loads(readers.plans()[0])
    plan["options"][key] = value
    with pytest.raises(ValueError, match=said):
        PortableOrder.from_plan(Plan.from_json(json.dumps(plan)))


def test_plans_with_other_options():
    plan = json.loads(readers.plans()[0])
    with pytest.raises(ValueError, match=r"must be JSON written by Plan\.to_json, got \[1\] at options"):
        PortableOrder.from_plan(Plan.from_json(json.dumps({**plan, "options": [1]})))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seconds": 10**400}, "must be a plan as `taskorder solve --json` writes it, got 1000"),
        ({"task_errors": [10**400] * 3}, "at task_errors[0]"),
        (
            {"options": {"x": float("nan")}},
            "must be a plan as `taskorder solve --json` writes it, got a number that is not finite at options",
        ),
    ],
)
def test_reports_on_plans_with_numbers_that_are_none(change, said, tmp_path, capsys):
    (tmp_path / "p.json").write_text(json.dumps({**json.loads(readers.plans()[0]), **change}))
    assert main(["report", str(tmp_path / "p.json"), "-o", str(tmp_path / "o.html")]) == 2
    assert said in capsys.readouterr().err


def test_a_small_table_of_results_takes_little_memory(tmp_path):
    """A read of at most 1 GB took room for 1 GB."""
    path = tmp_path / "r.csv"
    path.write_bytes(readers.results()[0])
    with fuzz.limits():
        assert len(read_results(path).orders) == 3
    path.write_bytes(gzip.compress(readers.results()[0]))
    with fuzz.limits():
        assert len(read_results(path).orders) == 3


def damaged_store(path: Path, change) -> Path:
    """A store in which the result of one run was changed."""
    path.write_bytes(readers.stores()[0])
    with Store(path) as store:
        entry = min(store.entries(), key=lambda each: (each.params["set"], each.params["seed"]))
        result = store.result(entry.digest)
        change(result)
        spec = RunSpec(entry.kind, entry.params)
        store.forget([spec])
        store.put([spec], [result], 1.0, inputs="abc", device="cpu: test")
    return path


CHANGES = {
    "no names": lambda result: result["task_set"].pop("names"),
    "no orders": lambda result: result["beginnings"].__setitem__(1, "7"),
    "a beginning twice": lambda result: result["beginnings"].__setitem__(1, "1"),
    "a row too few": lambda result: result["accuracy"].pop(),
    "a number of four hundred digits": lambda result: result["accuracy"][0].__setitem__(0, 10**400),
    "such a similarity": lambda result: result["similarities"]["test"]["loss"][0].__setitem__(1, -(10**400)),
    "text among numbers": lambda result: result["accuracy"][0].__setitem__(0, "1"),
    "an odd similarity": lambda result: result["similarities"]["test"]["loss"].pop(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize(
    "words", [["export", "-o", "out.csv"], ["audit", "--where", "set=0"], ["report", "-o", "o.html"]]
)
def test_stores_with_a_run_that_does_not_fit(words, change, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    damaged_store(tmp_path / "s", change)
    assert main([words[0], "s", *words[1:]]) == 2
    said = capsys.readouterr().err
    name = "STORE" if words[0] == "export" else "store"
    assert f"`{name}` must hold runs as `taskorder run` writes them, got a run with" in said
    assert "(set 0, seed 0) in s." in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s"]


def test_kept_tables_that_are_damaged(tmp_path):
    description, table = readers.kept()
    runs = {key: value for key, value in json.loads(description).items() if key not in ("table", "checksum")}
    half = {**runs, "runs": [{**run, "seed": "0"} for run in runs["runs"]]}
    twice = {**runs, "runs": [*runs["runs"], runs["runs"][0]]}
    short = gzip.compress(b"\n".join(gzip.decompress(table).split(b"\n")[:-2]))
    for about, numbers, message in (
        (description, table[:200] + b"\xff" * 50 + table[250:], "must be a whole gzip file"),
        (description, short, "must hold whole runs"),
        (json.dumps(half).encode(), table, "must describe runs by set and seed"),
        (json.dumps(twice).encode(), table, "must hold whole runs, got one of them twice"),
        (b"[" * 100_000, table, "must describe a table of runs"),
        (json.dumps({**runs, "device": "\ud800"}).encode(), table, "must have texts and finite numbers"),
    ):
        (tmp_path / "k.json").write_bytes(about)
        (tmp_path / "k.csv.gz").write_bytes(numbers)
        with Store() as store, pytest.raises(ValueError, match=message):
            load_archive(tmp_path / "k.json", store)


def test_figures_that_are_damaged(tmp_path):
    whole = json.loads(readers.figures()[0])
    for change in ({"made": {}}, {"checks": [{}]}, {"name": []}, {"made": {**whole["made"], "seconds": 10**400}}):
        (tmp_path / "f.json").write_text(json.dumps({**whole, **change}))
        with pytest.raises(ValueError, match="must hold a figure, got a damaged one"):
            read(tmp_path / "f.json")
