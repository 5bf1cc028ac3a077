"""`taskorder export --similarity` on a store made by hand."""

import numpy as np
import pytest

from taskorder.cli import main
from taskorder.records import RunSpec
from taskorder.similarity.tables import read_similarity
from taskorder.store import Store


def result(losses, beginnings=("", "0", "1", "0.1", "1.0")):
    table = {"": [0.7, 0.7], "0": losses[0], "1": losses[1], "0.1": [0.3, 0.1], "1.0": [0.1, 0.3]}
    rows = [table[name] for name in beginnings]
    names = {"names": ["cat-ship", "frog-truck"]}
    return {
        "task_set": names, "beginnings": list(beginnings), "accuracy": rows, "loss": rows,
        "chance": [[1.0, 1.0] for _ in rows], "network_steps": 1,
    }  # fmt: skip


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "runs.sqlite"
    specs = [RunSpec("neural.orders.1", {"net": "mlp", "set": s, "seed": seed}) for s, seed in ((0, 0), (0, 1), (4, 0))]
    losses = [[[0.0, 0.25], [0.04, 0.0]], [[0.0, 0.09], [0.09, 0.0]], [[0.0, 1.0], [1.0, 0.0]]]
    with Store(path) as made:
        made.put(specs, [result(one) for one in losses], 1.0)
    return path


def test_a_table_ready_for_plan(store, tmp_path, capsys):
    assert main(["export", str(store), "-o", str(tmp_path / "s.csv"), "--similarity", "0"]) == 0
    matrix, names = read_similarity(tmp_path / "s.csv")
    assert names == ("cat-ship", "frog-truck")
    # 1 - (0.5 + 0.2) / 2 with one seed, 1 - 0.3 with the other
    np.testing.assert_allclose(matrix, [[1, (0.65 + 0.7) / 2], [(0.65 + 0.7) / 2, 1]])
    assert main(["plan", str(tmp_path / "s.csv")]) == 0
    assert "cat-ship" in capsys.readouterr().out
    assert [file.name for file in tmp_path.iterdir() if ".part" in file.name] == []


def test_bad_requests_are_named(store, tmp_path, capsys):
    out = ["-o", str(tmp_path / "s.csv")]
    assert main(["export", str(store), *out, "--similarity", "2"]) == 2
    assert "`--similarity` must name a finished task set, got 2. Sets: 0 to 4." in capsys.readouterr().err
    with Store(store) as more:
        spec = RunSpec("neural.orders.1", {"net": "cnn", "set": 4, "seed": 0})
        few = RunSpec("neural.orders.1", {"net": "mlp", "set": 5, "seed": 0})
        more.put([spec, few], [result([[0, 1.0], [1.0, 0]]), result([[0, 1.0], [1.0, 0]], ("", "1", "1.0"))], 1.0)
    assert main(["export", str(store), *out, "--similarity", "4"]) == 2
    assert "needs a store with one config" in capsys.readouterr().err
    assert main(["export", str(store), *out, "--similarity", "5"]) == 2
    assert "needs every task to come first in some order" in capsys.readouterr().err
    assert not (tmp_path / "s.csv").exists()
    assert main(["export", str(store), "-o", str(tmp_path / "s.xls"), "--similarity", "0"]) == 2
