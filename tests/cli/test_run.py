"""`taskorder run`, `status` and `export`: with the real engine killed on the way, and with a fake one for the rest."""

import csv
import gzip
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from taskorder.cli import main
from taskorder.runs.store import Store

pytest.importorskip("jax")
from taskorder.runs import settings
from taskorder.runs import training as runs
from taskorder.runs.specs import RunSpecs

pytest.importorskip("sklearn")

TINY = """
dataset = "digits"
num_sets = 8
num_tasks = 3
epochs = 1
fraction = 0.2
"""


def fake_batch(specs, report=None):
    """Numbers that say which set, seed, beginning and task they belong to."""
    results = []
    for spec in specs:
        P, number = spec.params["num_tasks"], spec.params["set"] * 1000 + spec.params["seed"] * 100
        ways = [way for length in range(P + 1) for way in itertools.permutations(range(P), length)]
        table = [[number + sum(way) + task / 10 for task in range(P)] for way in ways]
        results.append(
            {
                "task_set": {"names": [f"task {task}" for task in range(P)]},
                "beginnings": [".".join(map(str, way)) for way in ways],
                "network_steps": 1000,
                **dict.fromkeys(("accuracy", "loss", "chance"), table),
            }
        )
    return results


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a tiny config; the engine is fake and nothing is kept for JAX."""
    from taskorder.engine import compiled

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runs, "run_batch", fake_batch)
    monkeypatch.setattr(compiled, "keep_compiled", lambda: None)
    (tmp_path / "tiny.toml").write_text(TINY)
    return tmp_path


def test_run_status_export(here, capsys):
    assert main(["run", "tiny.toml"]) == 0
    assert f"tiny: 8 of 8 done, 0 failed, in {Path('results') / 'tiny.sqlite'}" in capsys.readouterr().out
    assert main(["status", "results/tiny.sqlite", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    (row,) = status["configs"]
    assert (row["config"], row["done"], row["of"], row["failed"], row["running"]) == ("tiny", 8, 8, 0, 0)
    assert row["network_steps"] == 8000
    assert row["settings"]["fraction"] == 0.2
    assert status["device"][0].startswith("cpu: ")
    assert status["inputs"] == [runs.inputs_digest("digits")]
    assert main(["status", "results/tiny.sqlite"]) == 0
    assert "8,000" in capsys.readouterr().out
    assert main(["export", "results/tiny.sqlite", "-o", "tiny.csv"]) == 0
    with open("tiny.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8 * 6 * 4 * 3
    for row in rows[:: len(rows) // 50]:
        way = [int(task) for task in row["order"].split(">")]
        step, task = int(row["step"]), int(row["task"])
        assert float(row["loss"]) == int(row["set"]) * 1000 + sum(way[:step]) + task / 10
        assert way[int(row["position"]) - 1] == task
        assert (row["task_name"], row["kind"], row["dataset"]) == (f"task {task}", "neural.orders.2", "digits")
    assert len({(r["set"], r["seed"], r["order"], r["step"], r["task"]) for r in rows}) == len(rows)
    assert main(["export", "results/tiny.sqlite", "-o", "tiny.csv.gz"]) == 0
    assert gzip.decompress(Path("tiny.csv.gz").read_bytes()) == Path("tiny.csv").read_bytes()
    assert sorted(path.name for path in here.iterdir()) == ["results", "tiny.csv", "tiny.csv.gz", "tiny.toml"]


def test_the_order_in_which_runs_finish_changes_no_table(here):
    assert main(["run", "tiny.toml", "--store", "a"]) == 0
    assert main(["run", "tiny.toml", "--store", "c", "--batch", "3"]) == 0
    specs = RunSpecs(settings.Config(num_sets=8, num_tasks=3, epochs=1, fraction=0.2))
    with Store("b") as store:
        for spec in reversed(specs):
            store.put([spec], fake_batch([spec]), 1.0)
    for name in "abc":
        assert main(["export", name, "-o", f"{name}.csv"]) == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes() == Path("c.csv").read_bytes()


def test_parquet_has_the_same_table(here):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert main(["run", "tiny.toml", "--store", "a"]) == 0
    for ending in ("csv", "parquet"):
        assert main(["export", "a", "-o", f"a.{ending}"]) == 0
    with open("a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [
        {key: str(value) for key, value in row.items()} for row in parquet.read_table("a.parquet").to_pylist()
    ] == rows


def test_without_pyarrow_or_jax_it_says_what_to_install(here, capsys, monkeypatch):
    from taskorder.cli import export, run

    assert main(["run", "tiny.toml", "--store", "a"]) == 0
    for module in (export, run):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    capsys.readouterr()
    assert main(["export", "a", "-o", "a.parquet"]) == 2
    assert 'pip install "taskorder[parquet]"' in capsys.readouterr().err
    assert main(["run", "tiny.toml"]) == 2
    said = capsys.readouterr().err
    assert said == (
        'taskorder: error: The JAX engine is not installed. Install it with: pip install "taskorder[neural]".\n'
    )


def test_failures_are_told_and_tried_again(here, capsys, monkeypatch):
    def picky(specs, report=None):
        if any(spec.params["set"] == 3 for spec in specs):
            raise RuntimeError("no\nthree")
        return fake_batch(specs)

    monkeypatch.setattr(runs, "run_batch", picky)
    assert main(["run", "tiny.toml", "--store", "a", "--batch", "4"]) == 1
    said = capsys.readouterr()
    assert "7 of 8 done, 1 failed" in said.out
    assert "1 failed; taskorder status a says why" in said.err
    assert main(["status", "a"]) == 0
    assert "set 3, seed 0: RuntimeError: no three" in capsys.readouterr().out
    monkeypatch.setattr(runs, "run_batch", fake_batch)
    assert main(["run", "tiny.toml", "--store", "a"]) == 0
    assert "8 of 8 done, 0 failed" in capsys.readouterr().out
    assert main(["status", "a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["failures"] == []


def test_interrupt_keeps_what_is_finished(here, capsys, monkeypatch):
    def interrupted(specs, report=None):
        if specs[0].params["set"] == 5:
            raise KeyboardInterrupt
        return fake_batch(specs)

    monkeypatch.setattr(runs, "run_batch", interrupted)
    assert main(["run", "tiny.toml", "--store", "a"]) == 130
    assert "what is finished is kept in a, and the same command goes on" in capsys.readouterr().err
    with Store("a") as store:
        assert len(store.entries()) == 5


def test_a_full_disk_ends_the_run_and_the_same_command_goes_on(here, capsys, monkeypatch):
    prepare = Store._prepare

    def small(store):
        prepare(store)
        store._db.execute("pragma max_page_count = 8")

    monkeypatch.setattr(Store, "_prepare", small)
    assert main(["run", "tiny.toml", "--store", "a"]) == 1
    assert "`store` must have room to grow" in capsys.readouterr().err
    monkeypatch.setattr(Store, "_prepare", prepare)
    with Store("a") as store:
        assert 0 < len(store.entries()) < 8
    assert main(["run", "tiny.toml", "--store", "a"]) == 0


def test_other_data_are_not_mixed_in(here, capsys, monkeypatch):
    assert main(["run", "tiny.toml", "--store", "a"]) == 0
    monkeypatch.setattr(runs, "inputs_digest", lambda name: "others")
    assert main(["run", "tiny.toml", "--store", "a"]) == 2
    assert "`--store` must hold results from the same data" in capsys.readouterr().err


def test_lines_where_there_is_no_terminal(here, capsys, monkeypatch):
    from taskorder.cli import run
    from taskorder.engine.tree import Work

    def slow(specs, report):
        report(Work(10, 5000))
        return fake_batch(specs)

    monkeypatch.setattr(runs, "run_batch", slow)
    assert main(["run", "tiny.toml", "--store", "a"]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(run, "LINE_EVERY_SECONDS", 0.0)
    assert main(["run", "tiny.toml", "--store", "b"]) == 0
    said = capsys.readouterr().err
    assert "tiny  7 of 8 done" in said
    assert "network-steps/s, about" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "no.toml"], "`CONFIG.toml` must be an existing TOML file"),
        (["run", "bad.toml"], "bad.toml: `epoch` must be a known key. Did you mean 'epochs'? Known keys: dataset"),
        (["run", "many.toml"], "`num_tasks` must need at most the 10 classes there are"),
        (["run", "absent.toml"], "must be downloaded first"),
        (["run", "unknown.toml"], "must be one of"),
        (["run", "tiny.toml", "--batch", "0"], "`--batch` must be at least 1, got 0"),
        (["status", "no.sqlite"], "`STORE` must be an existing file, got no.sqlite"),
        (
            ["status", "tiny.toml"],
            "a store that `taskorder run` made, got tiny.toml: file is not a database. Name",
        ),
        (["status", "."], "`STORE` must be a store that `taskorder run` made, got .: unable to open database file."),
        (["status", "nothing"], "a store that `taskorder run` made, got nothing: it is empty. Name that file, like"),
        (["export", "tiny.toml", "-o", "a.csv"], "a store that `taskorder run` made, got tiny.toml: file is not a"),
        (["export", "empty.sqlite", "-o", "a.csv"], "`STORE` must hold finished runs"),
        (["export", "empty.sqlite", "-o", "a.txt"], "`--output` must end in .csv, .csv.gz or .parquet, got 'a.txt'"),
    ],
)
def test_bad_input_is_named(here, capsys, monkeypatch, words, message):
    monkeypatch.setenv("TASKORDER_DATA", str(here / "data"))
    (here / "bad.toml").write_text("epoch = 3")
    (here / "many.toml").write_text("num_tasks = 6")
    (here / "absent.toml").write_text("dataset = 'cifar10'")
    (here / "unknown.toml").write_text("dataset = 'mnst'")
    (here / "nothing").write_bytes(b"")
    Store("empty.sqlite")._db.close()
    assert main(words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert (here / "nothing").read_bytes() == b""
    assert not (here / "results").exists()


def test_a_store_that_cannot_be_used_ends_a_run(here, capsys):
    assert main(["run", "tiny.toml", "--store", "tiny.toml"]) == 1
    assert "file is not a database" in capsys.readouterr().err
    assert (here / "tiny.toml").read_text() == TINY


def test_an_export_that_cannot_be_written_leaves_nothing(here, capsys):
    assert main(["run", "tiny.toml", "--store", "a"]) == 0
    (here / "folder.csv").mkdir()
    before = sorted(here.iterdir())
    assert main(["export", "a", "-o", "folder.csv"]) == 1
    assert "cannot write folder.csv: " in capsys.readouterr().err
    for words in (["-o", "no/folder/a.csv"], ["-o", "no/folder/a.csv.gz", "--whole"]):
        assert main(["export", "a", *words]) == 2
        assert capsys.readouterr().err.endswith("Make it first: mkdir -p no/folder\n")
    assert sorted(here.iterdir()) == before


def start(folder, store):
    environment = {
        **{key: value for key, value in os.environ.items() if key != "TASKORDER_DATA"},
        "PYTHONPATH": os.pathsep.join(sys.path),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    command = [sys.executable, "-m", "taskorder", "run", str(folder / "tiny.toml"), "--store", str(store)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def count(store):
    if not store.exists():
        return 0
    with Store(store) as opened:
        return len(opened.entries())


@pytest.mark.slow("interrupt")
def test_the_real_engine_killed_again_and_again(tmp_path, capsys):
    """Ctrl-C, kills at random moments, then two processes at once: the table of a run that nothing disturbed."""
    (tmp_path / "tiny.toml").write_text(TINY.replace("num_tasks = 3", "num_tasks = 2"))
    whole, broken = tmp_path / "whole.sqlite", tmp_path / "broken.sqlite"
    process = start(tmp_path, whole)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert "8 of 8 done" in out
    rng = random.Random(1)
    for number in range(4):
        process = start(tmp_path, broken)
        before, end = count(broken), time.monotonic() + 120
        while count(broken) == before and number % 2 == 0 and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(rng.uniform(0, 0.2) if number % 2 == 0 else rng.uniform(0.5, 3))
        process.send_signal(signal.SIGINT if number == 0 else signal.SIGKILL)
        _, err = process.communicate(timeout=60)
        assert count(broken) >= before
        if number == 0:
            assert process.returncode == 130, err
            assert "the same command goes on from there" in err
            assert count(broken) < 8
    processes = [start(tmp_path, broken) for _ in range(2)]
    for process in processes:
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        assert "8 of 8 done" in out
    for store in (whole, broken):
        assert main(["export", str(store), "-o", f"{store}.csv"]) == 0
    assert Path(f"{whole}.csv").read_bytes() == Path(f"{broken}.csv").read_bytes()
