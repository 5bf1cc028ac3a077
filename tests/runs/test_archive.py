"""Results as files for a repository: read back, they equal those in the store."""

import gzip
import json

import numpy as np
import pytest

from reproduction.running import load_tables
from taskorder.cli import main
from taskorder.runs.archive import description_path, load_archive, read_archive
from taskorder.runs.specs import KIND, RunSpec
from taskorder.runs.store import Store

BEGINNINGS = ["", "0", "0.1", "1", "1.0"]


def spec(number, **settings):
    return RunSpec(KIND, {"net": "mlp", "similarities": ["test", "curvature"], **settings, "set": number, "seed": 0})


def result(seed):
    rng = np.random.default_rng(seed)

    def table(rows):
        return [[float(f"{value:.6g}") for value in row] for row in rng.random((rows, 2))]

    tasks = [[[0, 1], [1, 0]], [[2, 3], [0, 1]]]
    return {
        "task_set": {"dataset": "digits", "names": ["a", "b"], "seed": seed, "tasks": tasks},
        "beginnings": BEGINNINGS, "accuracy": table(5), "loss": table(5), "chance": table(5), "network_steps": 7,
        "similarities": {
            "test": {"accuracy": table(2), "loss": table(2), "chance": table(2)}, "curvature": {"value": table(2)},
        },
    }  # fmt: skip


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "runs.sqlite"
    with Store(path) as made:
        for number in (0, 3):
            made.put([spec(number)], [result(number)], 2.5, inputs="abc", device="gpu: a fast one")
    return path


@pytest.fixture
def kept(store, tmp_path, capsys):
    (tmp_path / "tables").mkdir()
    path = tmp_path / "tables" / "runs.csv.gz"
    assert main(["export", str(store), "-o", str(path), "--whole"]) == 0
    assert "runs.csv.gz and runs.json: 2 runs" in capsys.readouterr().out
    return path


def test_read_back_unchanged(kept, store, tmp_path):
    with Store(store) as wanted, Store(tmp_path / "new.sqlite") as read:
        assert load_tables(kept.parent, read) == 2
        assert load_archive(description_path(kept), read) == 0  # nothing is put twice
        assert {entry.device for entry in read.entries()} == {"gpu: a fast one"}
        assert read.seconds([spec(0), spec(3)]) == 5.0
        for number in (0, 3):
            assert read.get([spec(number)]) == wanted.get([spec(number)]) != [None]
    assert [file.name for file in kept.parent.iterdir() if "part" in file.name] == []


def test_the_description_says_what_and_how(kept):
    about = read_archive(description_path(kept))
    assert about.specs == [spec(0), spec(3)]
    assert (about.inputs, about.device) == ("abc", "gpu: a fast one")
    assert [run["network_steps"] for run in about.runs] == [7, 7]


def test_damaged_files_are_named(kept, tmp_path):
    text = gzip.decompress(kept.read_bytes())
    other = "must be a table written by `taskorder export --whole`"
    for damaged, message in (
        (b"no gzip", other),
        (gzip.compress(text)[:-9], "must be a whole gzip file"),
        (gzip.compress(b"a,b\n1,2\n"), other),
        (gzip.compress(text + b"9,9\n"), other),
    ):
        kept.write_bytes(damaged)
        with Store() as empty, pytest.raises(ValueError, match=message):
            load_archive(description_path(kept), empty)
    description_path(kept).write_text("{}")
    with pytest.raises(ValueError, match="must describe a table of runs"):
        read_archive(description_path(kept))


def test_what_cannot_be_kept_is_refused(store, tmp_path, capsys):
    out = ["-o", str(tmp_path / "x.csv.gz"), "--whole"]
    assert main(["export", str(store), "-o", str(tmp_path / "x.csv"), "--whole"]) == 2
    assert "ends in .csv.gz" in capsys.readouterr().err
    with Store(store) as more:
        more.put([spec(9, net="cnn")], [result(9)], 1.0, inputs="abc", device="gpu: a fast one")
    assert main(["export", str(store), *out]) == 2
    assert "runs of one config, got several" in capsys.readouterr().err
    with Store(tmp_path / "none.sqlite"):
        pass
    assert main(["export", str(tmp_path / "none.sqlite"), *out]) == 2
    assert not (tmp_path / "x.csv.gz").exists()


def test_every_flipped_bit_of_a_description_is_noticed(kept):
    """Of a hundred some changed the seconds, the steps or the names, and none of the readers knew."""
    about = description_path(kept)
    whole, wanted, noticed = about.read_bytes(), read_archive(about), 0
    for bit in range(8 * len(whole)):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        about.write_bytes(data)
        try:
            assert read_archive(about) == wanted
        except ValueError as problem:
            noticed += "\n" not in str(problem)
    assert noticed > 0.99 * 8 * len(whole)


def test_a_table_that_is_not_the_one_described_is_refused(kept, store, tmp_path):
    text = gzip.decompress(kept.read_bytes())
    kept.write_bytes(gzip.compress(text.replace(b",7", b",8", 1)))
    with Store() as empty, pytest.raises(ValueError, match=r"must be the table that runs.json describes"):
        load_archive(description_path(kept), empty)


def test_a_description_without_a_checksum_is_read(kept):
    """As older versions wrote it."""
    about = json.loads(description_path(kept).read_text())
    old = {key: value for key, value in about.items() if key not in ("table", "checksum")}
    description_path(kept).write_text(json.dumps(old, indent=1))
    with Store() as empty:
        assert load_archive(description_path(kept), empty) == 2
