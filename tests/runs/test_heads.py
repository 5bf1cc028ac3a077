"""Heads in settings, specs, results, exports and archives."""

import csv
import json

import numpy as np
import pytest

from taskorder.runs.archive import load_archive, write_archive
from taskorder.runs.results import misfit, run_result
from taskorder.runs.settings import Config, config_of
from taskorder.runs.specs import RunSpecs
from taskorder.runs.store import Store

pytest.importorskip("jax")
pytest.importorskip("sklearn")

from taskorder.cli import main
from taskorder.runs.training import run_batch

SMALL = {
    "num_sets": 1,
    "num_tasks": 3,
    "orders": 1,
    "epochs": 1,
    "fraction": 0.2,
    "similarities": ["test", "30 examples"],
}


@pytest.fixture(scope="module")
def results():
    specs = {head: RunSpecs(config_of({**SMALL, "head": head}))[0] for head in ("shared", "task", "class")}
    return {head: (spec, as_stored(spec)) for head, spec in specs.items()}


def as_stored(spec):
    """The result of a spec, as JSON has it."""
    return json.loads(json.dumps(run_batch([spec])[0]))


def test_the_shared_head_leaves_specs_as_they_were():
    (spec,) = RunSpecs(Config(num_sets=1, head="shared"))
    assert spec.digest == "d690c5aa224b7688568b9f888af553ed6d8413b7671d6f098de9216d705d49ba"
    (other,) = RunSpecs(Config(num_sets=1, head="task"))
    assert other.params["head"] == "task"
    with pytest.raises(
        ValueError, match=r"`head` must be one of shared, task, class, got 'tasks'\. Did you mean 'task'"
    ):
        config_of({"head": "tasks"})


@pytest.mark.slow("training")
def test_results_have_what_their_head_tells(results):
    for head, (_, result) in results.items():
        assert misfit(result) == ""
        assert ("accuracy_seen" in result) == (head == "class")
        assert set(result["similarities"]) == {"test", "30 examples"}
    result = results["class"][1]
    last, all_seen = np.array(result["accuracy"]), np.array(result["accuracy_seen"])
    assert (all_seen[0] == 0).all()
    np.testing.assert_array_equal(all_seen[-1], last[-1])  # all classes have been seen then
    assert (all_seen >= last)[1:].any()
    losses = np.array(results["class"][1]["loss"][0]), np.array(results["shared"][1]["loss"][0])
    assert losses[0].mean() > losses[1].mean() + 0.5  # six classes compete, not two


@pytest.mark.slow("training")
def test_exports_and_archives_have_the_accuracy_among_classes_seen(results, tmp_path):
    with Store(tmp_path / "all.sqlite") as store, Store(tmp_path / "class.sqlite") as one:
        for head, (spec, result) in results.items():
            store.put([spec], [result], 0.0)
            if head == "class":
                one.put([spec], [result], 0.0)
    assert main(["export", str(tmp_path / "all.sqlite"), "-o", str(tmp_path / "all.csv")]) == 0
    rows = list(csv.DictReader((tmp_path / "all.csv").read_text().splitlines()))
    assert {row["head"] for row in rows} == {"", "task", "class"}
    assert all((row["accuracy_seen"] != "") == (row["head"] == "class") for row in rows)
    with Store(tmp_path / "class.sqlite") as one, Store() as again:
        write_archive(tmp_path / "class.csv.gz", one)
        assert load_archive(tmp_path / "class.json", again) == 1
        (entry,) = again.entries()
        assert run_result(again, entry)["accuracy_seen"] == results["class"][1]["accuracy_seen"]


@pytest.mark.slow("training")
def test_tasks_of_different_numbers_of_classes():
    named = {**SMALL, "tasks": ["3-5", "1-8-4", "0-2"], "orders": "1+law"}
    with pytest.raises(ValueError, match=r"`tasks` must have equally many classes each .* Set head to task"):
        run_batch(RunSpecs(config_of(named)))
    for head in ("task", "class"):
        result = as_stored(RunSpecs(config_of({**named, "head": head}))[0])
        assert misfit(result) == ""
