"""Data that ask for more than their files hold: refused before it is paid for; see tests/fuzz/test_bombs.py, too."""

import gzip
import itertools
import json

import numpy as np
import pytest

from taskorder import costs
from taskorder.datasets import features, load, table_files, task_files, unpacking
from taskorder.datasets.idx import read_idx
from taskorder.datasets.task_files import TaskSpec, read_task_spec, read_tasks
from tests.fuzz.bomb_files import idx_header, jpeg_of_scans, same_text


@pytest.fixture
def tight(monkeypatch):
    """A budget of 16 bytes for each byte of a file, and no more."""
    monkeypatch.setattr(costs, "FREE_MEMORY", 0)


def test_idx_that_unpacks_to_more_than_its_size_allows(tmp_path, tight):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(idx_header(10, 100, 100) + bytes(100_000)))
    with pytest.raises(
        ValueError, match=r"must unpack to at most .* for its size, got more. Unpack it first: gunzip -k"
    ):
        read_idx(path, num_axes=3)
    path.write_bytes(gzip.decompress(path.read_bytes()))
    assert read_idx(path, num_axes=3).shape == (10, 100, 100)
    path.write_bytes(gzip.compress(idx_header(10, 100, 100) + np.random.default_rng(0).bytes(100_000)))
    assert read_idx(path, num_axes=3).shape == (10, 100, 100)


@pytest.fixture
def folder(tmp_path):
    """A function from images to a folder of them."""
    image = pytest.importorskip("PIL.Image")

    def make(side, noise=False):
        rng = np.random.default_rng(0)
        for name, number in itertools.product("ab", range(3)):
            path = tmp_path / "images" / name / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = rng.integers(0, 255, (side, side), dtype=np.uint8) if noise else np.zeros((side, side), np.uint8)
            image.fromarray(pixels).save(path)
        return tmp_path / "images"

    return make


def test_images_that_unpack_to_more_than_their_size_allows(folder, tight):
    with pytest.raises(
        ValueError, match=r"must unpack to at most .*, got 6 images of 2000 x 2000 pixels. Make them smaller"
    ):
        load(folder(2000))
    assert load(folder(200, noise=True)).train_inputs.shape[1:] == (200, 200, 1)


def test_small_files_count_as_what_they_take_on_a_disk(folder, tight):
    """An icon of 100 bytes has hundreds of pixels."""
    assert load(folder(64)).train_inputs.shape[1:] == (64, 64, 1)


@pytest.mark.parametrize("scans", [20, 200])
def test_pictures_of_many_scans_are_refused(tmp_path, scans):
    pytest.importorskip("PIL")
    for name, number in itertools.product("ab", range(2)):
        path = tmp_path / name / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(jpeg_of_scans(scans, 16))
    if scans < 100:
        assert load(tmp_path).train_inputs.shape[1:] == (16, 16, 1)
    else:
        with pytest.raises(ValueError, match=r"1.jpg` must have at most 100 scans, got more"):
            load(tmp_path)


def test_many_members_of_an_archive(tmp_path, make_tar, monkeypatch):
    monkeypatch.setattr(unpacking, "_MOST_MEMBERS", 5)
    (tmp_path / "x.tar.gz").write_bytes(make_tar(*((f"set/{k}", b"") for k in range(9))))
    with pytest.raises(ValueError, match="must hold at most 5 files, got more"):
        unpacking.unpack(tmp_path / "x.tar.gz", tmp_path / "data" / "set", ("1",), 10**6)


def test_a_description_of_a_file_that_is_longer_than_most_files(tmp_path, make_tar, monkeypatch):
    """A name of gigabytes was read into memory."""
    monkeypatch.setattr(unpacking, "_HEADER", 50_000)
    (tmp_path / "x.tar.gz").write_bytes(make_tar(("set/" + "a/" * 40_000, b""), ("set/1", b"1")))
    with pytest.raises(ValueError, match="must describe each file in at most 50000 bytes, got more"):
        unpacking.unpack(tmp_path / "x.tar.gz", tmp_path / "data" / "set", ("1",), 10**6)
    (tmp_path / "x.tar.gz").write_bytes(make_tar(("set/2", bytes(200_000)), ("set/1", b"1")))
    unpacking.unpack(tmp_path / "x.tar.gz", tmp_path / "data" / "set", ("1", "2"), 10**6)
    assert (tmp_path / "data" / "set" / "1").read_bytes() == b"1"


@pytest.fixture
def parquet(tmp_path):
    """A function from columns to a Parquet file."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    def make(**columns):
        rows = len(next(iter(columns.values())))
        more = {"label": (["a", "b"] * rows)[:rows], "place": (["p", "p", "q", "q"] * rows)[:rows]}
        write_table(pyarrow.table({**columns, **more}), tmp_path / "a.parquet", compression="gzip")
        return tmp_path / "a.parquet"

    return make


PLACES = TaskSpec(column="place")


def test_parquet_of_equal_rows(parquet, monkeypatch):
    path = parquet(x=np.zeros(100_000))
    assert len(read_tasks([path], PLACES).tasks) == 2
    monkeypatch.setattr(costs, "FREE_MEMORY", 10_000)
    monkeypatch.setattr(table_files, "_values", lambda column: pytest.fail("rows were read"))
    with pytest.raises(ValueError, match="as many values as its size allows, got 100000 rows of 3 columns"):
        read_tasks([path], PLACES)


def test_parquet_that_unpacks_to_more_than_its_size_allows(parquet, monkeypatch):
    path = parquet(x=["a" * 500_000, "b" * 500_000, "c", "d"])
    spec = TaskSpec(column="place", text=("x",))
    assert len(read_tasks([path], spec).tasks) == 2
    monkeypatch.setattr(costs, "FREE_MEMORY", 10_000)
    with pytest.raises(ValueError, match=r"must unpack to at most .* for its size, got .* Save it without compression"):
        read_tasks([path], spec)


def test_a_text_that_comes_often_in_parquet_is_one_object(parquet):
    """A thousand rows with the same text of 1 MB took a gigabyte at once."""
    path = parquet(x=same_text("a long text", 8))
    with table_files.open_table(path) as table:
        texts = [cells[0] for _, cells in table.rows]
    assert texts == ["a long text"] * 8
    assert len(set(map(id, texts))) == 1


def test_texts_of_parquet_with_gaps_and_many_values(parquet):
    texts = [None if k % 3 == 0 else f"text {k % 7}" for k in range(10_000)]
    with table_files.open_table(parquet(x=texts)) as table:
        assert [cells[0] for _, cells in table.rows] == ["" if text is None else text for text in texts]


def test_lists_in_parquet_are_refused_as_in_json_lines(parquet):
    with pytest.raises(ValueError, match="must have texts and numbers only, got lists or objects in 'x'"):
        read_tasks([parquet(x=[[1, 2]] * 4)], PLACES)


def test_numbers_of_parquet_are_not_written_and_read_again(parquet, monkeypatch):
    """Tables of millions of numbers took minutes."""
    path = parquet(x=np.arange(1, 9) / 3, y=np.arange(8))
    whole = [task.inputs.tolist() for task in read_tasks([path], PLACES).tasks]
    monkeypatch.setattr("taskorder.datasets.task_tables.to_numbers", lambda *_: pytest.fail("numbers became texts"))
    assert [task.inputs.tolist() for task in read_tasks([path], PLACES).tasks] == whole
    assert len(whole) == 2


def test_a_task_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr("taskorder.datasets.task_tables.MAX_TASKS", 5)
    (tmp_path / "a.csv").write_text("x,label,place\n" + "".join(f"0,a,{k}\n1,b,{k}\n" for k in range(9)))
    with pytest.raises(ValueError, match="at most 5 tasks, got more in column 'place' on line 12"):
        read_tasks([tmp_path / "a.csv"], PLACES)


def test_a_class_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr(task_files, "MAX_TASKS", 5)
    (tmp_path / "a.csv").write_text("x,label\n" + "0,a\n1,b\n" * 500 + "".join(f"0,c{k}\n" for k in range(20)))
    with pytest.raises(ValueError, match="must give at most 5 tasks, got 11 of 22 classes"):
        read_tasks([tmp_path / "a.csv"])


def test_classes_that_are_listed_in_many_tasks(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("x,label\n" + "0,a\n1,b\n" * 50)
    spec = TaskSpec(tasks={str(k): ("a", "b") for k in range(9)})
    assert len(read_tasks([tmp_path / "a.csv"], spec).tasks) == 9
    monkeypatch.setattr(task_files, "MAX_DATASET_BYTES", 1000)
    with pytest.raises(
        ValueError, match=r"`tasks` must be at most 2000 of 0.0009537 MB in all, got more with task '2'"
    ):
        read_tasks([tmp_path / "a.csv"], spec)


def test_rows_of_tasks_that_take_more_than_their_file_allows(tmp_path, tight):
    rows = "x,y,label,place\n" + "0,0,a,p\n0,0,b,p\n0,0,a,q\n0,0,b,q\n" * 1000
    (tmp_path / "a.csv").write_text(rows)
    assert len(read_tasks([tmp_path / "a.csv"], PLACES).tasks) == 2
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(rows.encode()))
    with pytest.raises(ValueError, match=r"[Uu]npack it first"):
        read_tasks([tmp_path / "b.csv.gz"], PLACES)


class Counted(str):
    """A name that counts how often it is compared."""

    times = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Counted.times += 1
        return str.__eq__(self, other)


def test_columns_are_found_by_name_in_one_step(tmp_path, monkeypatch):
    """Each of 40,000 columns was compared with all before it: half a minute for 0.6 MB."""
    count = 500
    header, row = [f"c{k}" for k in range(count)], ["1"] * count
    lines = [[*header, "label", "place"], *([*row, label, place] for label, place in itertools.product("ab", "pq"))]
    (tmp_path / "a.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    read_rows = table_files.read_rows

    def counted(*args, **more):
        separator, rows = read_rows(*args, **more)
        return separator, ((line, list(map(Counted, cells)) if line == 1 else cells) for line, cells in rows)

    monkeypatch.setattr(table_files, "read_rows", counted)
    assert len(read_tasks([tmp_path / "a.csv"], PLACES).tasks) == 2
    assert 0 < Counted.times < 30 * count


def test_labels_of_arrays_are_texts_once(tmp_path, monkeypatch):
    """A list of texts took sixty times the memory of the labels."""
    seen = []
    checked = features._checked_labels
    monkeypatch.setattr(
        features, "_checked_labels", lambda texts, path: seen.append(len(texts)) or checked(texts, path)
    )
    labels = np.arange(10_000) % 3
    np.savez(tmp_path / "a.npz", inputs=np.ones((10_000, 1)), labels=labels)
    data = load(tmp_path / "a.npz")
    assert seen == [3]
    assert data.class_names == ("0", "1", "2")
    assert np.bincount(data.train_labels).sum() == 8000
    (tmp_path / "a.csv").write_text("x,label\n" + "1,b\n2,a\n" * 100)
    assert load(tmp_path / "a.csv").class_names == ("a", "b")
    assert seen == [3, 2]


@pytest.mark.parametrize(
    "labels", [["1.0", "1", " 1", "0"], [True, False, True, False], np.array([b"b", b"a", b"b", b"a"]), [3, 20, 3, 20]]
)
def test_labels_that_mean_the_same_are_one_class(tmp_path, labels):
    labels = np.array(labels)
    inputs = np.arange(float(len(labels)))[:, None]
    np.savez(tmp_path / "a.npz", inputs=inputs, labels=labels, test_inputs=inputs, test_labels=labels)
    data = load(tmp_path / "a.npz")
    assert len(data.class_names) == 2
    texts = [str(label) for label in (labels.astype(int) if labels.dtype == bool else labels).tolist()]
    named = [data.class_names[number] for number in data.train_labels]
    expected = {"1.0": "1", " 1": "1", "b'a'": "a", "b'b'": "b"}
    assert named == [expected.get(text, text) for text in texts]
    assert (data.test_labels == data.train_labels).all()


def test_specs_have_a_size(tmp_path, monkeypatch):
    monkeypatch.setattr(task_files, "MAX_SPEC_BYTES", 100)
    (tmp_path / "a.toml").write_text("[tasks]\n" + 'a = ["b", "c"]\n' * 20)
    with pytest.raises(ValueError, match="must be a TOML file, got: it has more than 100 bytes"):
        read_task_spec(tmp_path / "a.toml")


def test_lists_on_a_line_of_json(tmp_path, tight, monkeypatch):
    (tmp_path / "a.jsonl").write_text('{"x": [' + "[]," * 1000 + '[]], "label": "a"}\n')
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("it was parsed"))
    with pytest.raises(ValueError, match=r"have a JSON object on each line, got so many small values .* on line 1"):
        read_tasks([tmp_path / "a.jsonl"])
