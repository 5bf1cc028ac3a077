"""`taskorder status` and `taskorder export` read a store of any size in the same memory."""

import csv
import json
import tracemalloc
from dataclasses import asdict, replace

import pytest

import taskorder.store
from taskorder.cli import main
from taskorder.neural import settings
from taskorder.store import Store

CONFIG = settings.Config(num_tasks=1)
RESULT = {
    "task_set": {"names": ["a"]},
    "network_steps": 10,
    "beginnings": ["", "0"],
    **{name: [[0.5], [0.25]] for name in settings.SCORES},
}


def store_of(path, count):
    """One that was asked for `count` runs and half of them, and has all but one, and one of another config."""
    config, half = (replace(CONFIG, num_sets=number) for number in (count, count // 2))
    specs = settings.specs(config)
    with Store(path) as store:
        store.request("all", asdict(config), specs)
        store.request("half", asdict(half), settings.specs(half))
        store.put(specs[1:], [RESULT] * (count - 1), count - 1.0, device="cpu: test")
        store.put(settings.specs(replace(CONFIG, epochs=9))[:1], [RESULT], 5.0, device="gpu: test")
        store.fail(specs[0], "RuntimeError: first")
    return path


def peak(words):
    tracemalloc.start()
    try:
        assert main(words) == 0
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("export", "-o", "out.csv")])
def test_memory_does_not_grow_with_the_store(tmp_path, monkeypatch, words, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(taskorder.store, "PAGE", 20)
    monkeypatch.setattr(taskorder.store, "PIECE", 1000)
    command, *options = words
    stores = [str(store_of(tmp_path / str(count), count)) for count in (200, 2000)]
    peak([command, stores[0], *options])  # imports
    small, large = (peak([command, store, *options]) for store in stores)
    assert large < small + 60_000  # the digests alone would take 200,000
    capsys.readouterr()


def test_what_is_said_of_requests_that_overlap(tmp_path, capsys):
    assert main(["status", str(store_of(tmp_path / "s", 100)), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    numbers = ("config", "done", "of", "failed", "running", "seconds", "network_steps")
    assert [tuple(row[name] for name in numbers) for row in found["configs"]] == [
        ("all", 99, 100, 1, 0, 99.0, 990),
        ("half", 49, 50, 1, 0, 49.0, 490),
        ("(others)", 1, 1, 0, 0, 5.0, 10),
    ]
    assert [failure["params"]["set"] for failure in found["failures"]] == [0]
    assert found["device"] == ["cpu: test", "gpu: test"]


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
