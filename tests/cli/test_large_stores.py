"""Commands that read a store do so in the same memory, whatever its size."""

import csv
import gzip
import json
import tracemalloc
from dataclasses import asdict, replace

import pytest

import taskorder.runs.store
from taskorder.cli import main
from taskorder.runs import settings
from taskorder.runs.results import SCORES
from taskorder.runs.specs import RunSpecs
from taskorder.runs.store import Store

CONFIG = settings.Config(num_tasks=1)
RESULT = {
    "task_set": {"names": ["a"]},
    "network_steps": 10,
    "beginnings": ["", "0"],
    **{name: [[0.5], [0.25]] for name in SCORES},
}


def store_of(path, count):
    """One that was asked for `count` runs and half of them, and has all but one, and one of another config."""
    config, half = (replace(CONFIG, num_sets=number) for number in (count, count // 2))
    specs = RunSpecs(config)
    with Store(path) as store:
        store.request("all", asdict(config), specs)
        store.request("half", asdict(half), RunSpecs(half))
        store.put(specs[1:], [RESULT] * (count - 1), count - 1.0, device="cpu: test")
        store.put(RunSpecs(replace(CONFIG, epochs=9))[:1], [RESULT], 5.0, device="gpu: test")
        store.fail(specs[0], "RuntimeError: first")
    return path


def store_of_one_config(path, count):
    """One that has half of its runs; the others have failed."""
    specs = RunSpecs(replace(CONFIG, num_sets=count))
    with Store(path) as store:
        store._db.execute("pragma synchronous = off")  # a commit for each failure
        store.put(specs[::2], [RESULT] * len(specs[::2]), 1.0, device="cpu: test")
        for spec in specs[1::2]:
            store.fail(spec, "RuntimeError: out\nof luck")
    return path


def peak(words):
    tracemalloc.start()
    try:
        assert main(words) == 0
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (store_of, ("status",)),
        (store_of, ("status", "--json")),
        (store_of, ("export", "-o", "out.csv")),
        (store_of_one_config, ("status", "--json")),
        (store_of_one_config, ("export", "-o", "out.csv.gz", "--whole")),
        (store_of_one_config, ("audit", "--where", "set=2")),
        (store_of_one_config, ("report", "--task-set", "2", "-o", "out.html")),
    ],
)
@pytest.mark.slow("memory")
def test_memory_does_not_grow_with_the_store(tmp_path, monkeypatch, make, words, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(taskorder.runs.store, "PAGE", 20)
    monkeypatch.setattr(taskorder.runs.store, "DIGEST_PIECE", 1000)
    command, *options = words
    stores = [str(make(tmp_path / str(count), count)) for count in (200, 2000)]
    peak([command, stores[0], *options])  # imports
    small, large = (peak([command, store, *options]) for store in stores)
    assert large < small + 120_000  # buffers; the digests alone would take 200,000
    capfd.readouterr()


@pytest.mark.parametrize("count", [1, 2, 60])
def test_all_failures_are_listed_in_one_document(tmp_path, count, capsys, monkeypatch):
    monkeypatch.setattr(taskorder.runs.store, "PAGE", 20)
    path = str(store_of_one_config(tmp_path / "s", count))
    assert main(["status", path, "--json"]) == 0
    said = capsys.readouterr().out
    document = json.loads(said)
    assert said == json.dumps(document, indent=2) + "\n"
    assert list(document) == ["configs", "failures", "device", "version", "inputs"]
    assert sorted(failure["params"]["set"] for failure in document["failures"]) == list(range(1, count, 2))
    assert {failure["error"] for failure in document["failures"]} <= {"RuntimeError: out\nof luck"}


def test_everything_of_one_config_is_written_in_order(tmp_path):
    path = store_of_one_config(tmp_path / "s", 60)
    assert main(["export", str(path), "-o", str(tmp_path / "s.csv.gz"), "--whole"]) == 0
    document = json.loads((tmp_path / "s.json").read_text())
    assert [run["set"] for run in document["runs"]] == list(range(0, 60, 2))
    assert (tmp_path / "s.json").read_text() == json.dumps(document, separators=(",", ":")) + "\n"
    with gzip.open(tmp_path / "s.csv.gz", "rt", newline="") as file:
        assert [int(row["set"]) for row in csv.DictReader(file)] == [number for number in range(0, 60, 2) for _ in "ab"]


def test_what_is_said_of_requests_that_overlap(tmp_path, capsys):
    assert main(["status", str(store_of(tmp_path / "s", 100)), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    numbers = ("config", "done", "of", "failed", "running", "seconds", "network_steps")
    assert [tuple(row[name] for name in numbers) for row in document["configs"]] == [
        ("all", 99, 100, 1, 0, 99.0, 990),
        ("half", 49, 50, 1, 0, 49.0, 490),
        ("(others)", 1, 1, 0, 0, 5.0, 10),
    ]
    assert [failure["params"]["set"] for failure in document["failures"]] == [0]
    assert document["device"] == ["cpu: test", "gpu: test"]


def test_a_table_of_several_configs_is_in_order(tmp_path):
    assert main(["export", str(store_of(tmp_path / "s", 100)), "-o", str(tmp_path / "s.csv")]) == 0
    with open(tmp_path / "s.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    places = [(int(row["epochs"]), int(row["set"]), int(row["step"])) for row in rows]
    assert places == sorted(places)
    assert len(places) == 2 * 100
    assert list(rows[0])[:3] == ["kind", "batch_size", "classes_per_task"]


def test_a_config_that_asked_for_nothing(tmp_path, capsys):
    with Store(tmp_path / "s") as store:
        store.request("none", {}, [])
    assert main(["status", str(tmp_path / "s"), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["configs"]
    assert (row["done"], row["of"], row["seconds"]) == (0, 0, 0)
