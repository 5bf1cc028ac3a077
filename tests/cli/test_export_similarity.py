"""`taskorder export --similarity` on a store made by hand."""

import numpy as np
import pytest

from taskorder.cli import main
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.tables.reading import read_similarity


def result(losses):
    chance = [[1.0, 1.0]] * 2
    tables = {
        "test": {"accuracy": losses, "loss": losses, "chance": chance},
        "curvature": {"value": [[0, -4], [-2, 0]]},
    }
    rows = [[0.7, 0.7], [0.1, 0.3]]
    return {
        "task_set": {"names": ["cat-ship", "frog-truck"]}, "beginnings": ["", "0"], "accuracy": rows, "loss": rows,
        "chance": rows, "network_steps": 1, "similarities": tables,
    }  # fmt: skip


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "runs.sqlite"
    specs = [RunSpec("neural.orders.2", {"net": "mlp", "set": s, "seed": seed}) for s, seed in ((0, 0), (0, 1), (4, 0))]
    losses = [[[0.0, 0.25], [0.04, 0.0]], [[0.0, 0.09], [0.09, 0.0]], [[0.0, 1.0], [1.0, 0.0]]]
    with Store(path) as made:
        made.put(specs, [result(table) for table in losses], 1.0)
    return path


def test_a_table_ready_for_plan(store, tmp_path, capsys):
    assert main(["export", str(store), "-o", str(tmp_path / "s.csv"), "--task-set", "0"]) == 0
    matrix, names = read_similarity(tmp_path / "s.csv")
    assert names == ("cat-ship", "frog-truck")
    # 1 - (0.5 + 0.2) / 2 with one seed, 1 - 0.3 with the other
    np.testing.assert_allclose(matrix, [[1, (0.65 + 0.7) / 2], [(0.65 + 0.7) / 2, 1]])
    assert main(["solve", str(tmp_path / "s.csv")]) == 0
    assert "cat-ship" in capsys.readouterr().out
    assert [file.name for file in tmp_path.iterdir() if ".part" in file.name] == []


def test_bad_requests_are_named(store, tmp_path, capsys):
    out = ["-o", str(tmp_path / "s.csv")]
    assert main(["export", str(store), *out, "--task-set", "2"]) == 2
    assert "`--task-set` must name a finished task set, got 2. Sets: 0 to 4." in capsys.readouterr().err
    with Store(store) as more:
        spec = RunSpec("neural.orders.2", {"net": "cnn", "set": 4, "seed": 0})
        more.put([spec], [result([[0, 1.0], [1.0, 0]])], 1.0)
    assert main(["export", str(store), *out, "--task-set", "4"]) == 2
    assert "needs a store with one config" in capsys.readouterr().err
    assert main(["export", str(store), *out, "--task-set", "0", "--by", "1%"]) == 2
    assert "`--by` must be measured by the run, got 1%. Measured: curvature, test." in capsys.readouterr().err
    assert main(["export", str(store), *out, "--task-set", "0", "--by", ""]) == 2
    assert "`--by` must be measured by the run" in capsys.readouterr().err
    assert main(["export", str(store), *out, "--raw"]) == 2
    assert "`--by` and `--raw` must come with --task-set N." in capsys.readouterr().err
    assert not (tmp_path / "s.csv").exists()
    (tmp_path / "s.xls").write_text("old")
    assert main(["export", "no.sqlite", "-o", str(tmp_path / "s.xls"), "--task-set", "0"]) == 2
    assert "`--output` must end in .csv, .tsv, .json or .npz, got 's.xls'." in capsys.readouterr().err
    assert (tmp_path / "s.xls").read_text() == "old"


@pytest.mark.parametrize("more", [(), ("--task-set", "0"), ("--whole",)])
def test_no_export_takes_the_place_of_its_store(store, capsys, more):
    named = store.with_name("s.json" if "--whole" in more else "s.csv")
    store.rename(named)
    out = named.with_name("s.csv.gz") if "--whole" in more else named
    before = named.read_bytes()
    assert main(["export", str(named), "-o", str(out), *more]) == 2
    assert "`--output` must be another file than the input" in capsys.readouterr().err
    assert named.read_bytes() == before


@pytest.mark.parametrize(("count", "said"), [(1, "1 run"), (2, "2 runs")])
@pytest.mark.parametrize(("name", "more"), [("s.csv", ()), ("s.csv.gz", ("--whole",))], ids=["csv", "whole"])
def test_runs_are_counted_in_words(tmp_path, capsys, count, said, name, more):
    specs = [RunSpec("neural.orders.2", {"net": "mlp", "set": number, "seed": 0}) for number in range(count)]
    with Store(tmp_path / "s") as made:
        made.put(specs, [result([[0, 1.0], [1.0, 0]])] * count, 1.0)
    assert main(["export", str(tmp_path / "s"), "-o", str(tmp_path / name), *more]) == 0
    assert capsys.readouterr().out.endswith(f": {said}\n")


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--raw"], [[0, (0.25 + 0.09) / 2], [(0.04 + 0.09) / 2, 0]]),
        (["--by", "curvature"], [[1, -1], [-1, 1]]),
        (["--by", "curvature", "--raw"], [[0, -4], [-2, 0]]),
    ],
)
def test_what_was_measured(store, tmp_path, options, wanted):
    assert main(["export", str(store), "-o", str(tmp_path / "s.csv"), "--task-set", "0", *options]) == 0
    np.testing.assert_allclose(read_similarity(tmp_path / "s.csv")[0], wanted)
