"""Features and labels from NPZ and CSV, right, broken and random."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder.datasets import load

ROWS = np.arange(20, dtype=float).reshape(10, 2)
TWO = np.array([0, 1] * 5)


@pytest.fixture
def npz(tmp_path):
    """A function (**arrays) -> path of an NPZ."""

    def write(**arrays):
        np.savez(tmp_path / "x.npz", **arrays)
        return tmp_path / "x.npz"

    return write


@pytest.fixture
def table(tmp_path):
    """A function (text) -> path of a CSV."""

    def write(text):
        (tmp_path / "x.csv").write_bytes(text.encode())
        return tmp_path / "x.csv"

    return write


def test_npz_with_its_own_test_rows(npz):
    data = load(npz(inputs=ROWS, labels=TWO, test_inputs=ROWS[:3], test_labels=TWO[:3]))
    assert data.train_inputs.dtype == np.float32
    assert np.array_equal(data.train_inputs, ROWS)
    assert data.test_labels.tolist() == [0, 1, 0]
    assert (data.name, data.class_names) == ("x", ("0", "1"))


def test_npz_without_is_split_the_same_way_each_time(npz):
    first, second = (load(npz(inputs=ROWS, labels=TWO)) for _ in range(2))
    assert (len(first.train_labels), len(first.test_labels)) == (8, 2)
    assert sorted(first.test_labels) == [0, 1]
    together = np.concatenate([first.train_inputs, first.test_inputs])
    assert np.array_equal(together[together[:, 0].argsort()], ROWS)
    assert np.array_equal(first.test_inputs, second.test_inputs)


def test_labels_are_classes_in_sorted_order(npz):
    data = load(npz(inputs=ROWS, labels=np.array([20, 3] * 5)))
    assert data.class_names == ("3", "20")
    rows = np.concatenate([data.train_inputs[data.train_labels == 0], data.test_inputs[data.test_labels == 0]])
    assert sorted(rows[:, 0]) == [2, 6, 10, 14, 18]
    assert load(npz(inputs=ROWS, labels=np.array(["dog", "cat"] * 5))).class_names == ("cat", "dog")
    assert load(npz(inputs=ROWS, labels=np.array([b"dog", b"cat"] * 5))).class_names == ("cat", "dog")
    assert load(npz(inputs=ROWS, labels=np.array([2.0, 1.0] * 5))).class_names == ("1", "2")
    assert load(npz(inputs=ROWS, labels=np.array([True, False] * 5))).class_names == ("0", "1")


def test_images_stay_bytes(npz):
    images = np.random.default_rng(0).integers(0, 256, (10, 4, 5), dtype=np.uint8)
    assert load(npz(inputs=images, labels=TWO)).train_inputs.shape == (8, 4, 5, 1)
    assert load(npz(inputs=np.stack([images] * 3, -1), labels=TWO)).train_inputs.dtype == np.uint8


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"inputs": ROWS}, r"must hold inputs and labels.*got inputs"),
        ({"x": ROWS, "y": TWO}, "got x, y. Save it"),
        ({"inputs": ROWS, "labels": TWO, "test_inputs": ROWS}, "both test_inputs and test_labels or neither"),
        ({"inputs": ROWS, "labels": TWO[:9]}, "one label a row, got 9 labels for 10 rows"),
        ({"inputs": ROWS, "labels": TWO, "test_inputs": ROWS, "test_labels": TWO[:9]}, "got 9 for 10"),
        ({"inputs": ROWS, "labels": TWO, "test_inputs": ROWS, "test_labels": TWO + 1}, "also in labels, got '2'"),
        ({"inputs": ROWS, "labels": np.eye(10)}, "labels with 2 axes"),
        ({"inputs": ROWS, "labels": TWO + 0.5}, r"name classes, got '[01]\.5'"),
        ({"inputs": ROWS, "labels": TWO * np.nan}, "name classes, got 'nan'"),
        ({"inputs": ROWS[:, 0], "labels": TWO}, "inputs n x features"),
        ({"inputs": ROWS * 1j, "labels": TWO}, "numbers or text, got dtype '<c16'"),
        ({"inputs": ROWS + np.inf, "labels": TWO}, "finite numbers"),
        ({"inputs": ROWS + 1e300, "labels": TWO}, r"finite numbers of size float32, got 1e\+300 at row 1, column 1"),
        ({"inputs": np.array([[None]] * 10), "labels": TWO}, "free of pickles, got Python objects in inputs"),
        ({"inputs": np.zeros((10, 2, 2, 2), np.uint8), "labels": TWO}, "images of 1 or 3 channels, got 10 x 2 x 2 x 2"),
        ({"inputs": ROWS, "labels": np.arange(10)}, "two rows of a class"),
    ],
)
def test_unfit_arrays_are_refused(npz, arrays, said):
    with pytest.raises(ValueError, match=said):
        load(npz(**arrays))


def header_for(shape, data=b"", dtype="|u1"):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue() + data


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.slow("memory")
def test_headers_that_lie_take_no_memory(tmp_path, how):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", how) as archive:
        archive.writestr("inputs.npy", header_for((10**6, 10**6)))
        archive.writestr("labels.npy", header_for((2,), b"ab"))
    tracemalloc.start()
    with pytest.raises(
        ValueError, match="headers that fit its arrays, got a damaged file: 1000000000000 bytes for inputs"
    ):
        load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**6


def test_a_strange_packing_is_refused(tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("inputs.npy", header_for((10,), bytes(10)))
    with pytest.raises(ValueError, match="must be stored or deflated"):
        load(path)


@pytest.mark.parametrize(
    "text",
    [
        "1,2,a\n3,4,b\n5,6,a\n7,8,b\n",
        "\n\nx,y,kind\n1,2,a\n3,4,b\n\n5,6,a\n7,8,b",
        "Label,x,y\na,1,2\nb,3,4\na,5,6\nb,7,8\n",
        "x;label;y\r\n1;a;2\r\n3;b;4\r\n5;a;6\r\n7;b;8\r\n",
        '\ufeffx\ty\t"the, class"\n1\t2\t"a"\n3\t4\tb\n5\t6\ta\n7\t8\tb\n',
    ],
)
def test_csv_in_its_forms(table, text):
    data = load(table(text))
    assert data.class_names == ("a", "b")
    rows = np.concatenate([data.train_inputs, data.test_inputs])
    labels = np.concatenate([data.train_labels, data.test_labels])
    order = rows[:, 0].argsort()
    assert rows[order].tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert labels[order].tolist() == [0, 1, 0, 1]
    assert (rows.dtype, labels.dtype) == (np.float32, np.int64)


def test_ten_comes_after_two(table):
    assert load(table("".join(f"{k},{k % 11}\n" for k in range(44)))).class_names == tuple(map(str, range(11)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n\n", "must have rows of features and a label, got none"),
        ("x,label\n", "must have rows of features and a label, got none"),
        ("1\n2\n", "features and a label in each row, got one column"),
        ("1,2,a\n3,4,b,5\n", "have 3 cells in each row, got 4 on line 2"),
        ("1,2,a\n\n3,x,b\n", r"numbers beside the label, got 'x' on line 3"),
        ("1,2,a\n3,4,\n", "have a label in each row, got none on line 2"),
        ("1,nan,a\n3,4,b\n", "finite numbers"),
        ("1,1e99,a\n3,4,b\n", "finite numbers"),
        ("1,2,0.25\n3,4,0.75\n", r"name classes, got '0\.[27]5'"),
        ('1,2,"a\n3,4,b\n', r"must be separated text"),
        ("1,2,a\n3,4,b\n", "two rows of a class"),
        ("1,--1\n2,--1\n3,-1", ""),
        ("1," * 2**23 + "x", "lines of at most 16777216 characters"),
    ],
)
def test_unfit_text_is_refused_with_its_line(table, text, said):
    path = table(text)
    if not said:
        assert load(path).class_names == ("--1", "-1")
        return
    with pytest.raises(ValueError, match=said) as refusal:
        load(path)
    assert str(refusal.value).startswith(f"`{path}` must ")


def test_text_must_be_text(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"1,2,\xff\xfe\n")
    with pytest.raises(ValueError, match="must be UTF-8 text"):
        load(tmp_path / "x.csv")
    with pytest.raises(ValueError, match="must be an existing file"):
        load(tmp_path / "y.csv")


def test_many_classes_are_quick(table):
    data = load(table("".join(f"{k},{k // 2}\n" for k in range(20_000))))
    assert data.num_classes == 10_000
    assert len(data.test_labels) == 4000


def packed(draws):
    stream = io.BytesIO()
    np.savez(stream, inputs=ROWS, labels=TWO)
    data = bytearray(stream.getvalue())
    for place, value in draws:
        data[place % len(data)] = value
    return bytes(data)


BYTES = st.one_of(
    st.binary(max_size=300),
    st.text(alphabet='0123456789,;.e-\t\n"ab ', max_size=100).map(str.encode),
    st.lists(st.tuples(st.integers(0, 10**4), st.integers(0, 255)), max_size=4).map(packed),
    st.integers(0, 900).map(lambda cut: packed([])[:-cut]),
)


@given(BYTES, st.sampled_from([".npz", ".csv"]))
@pytest.mark.slow("memory")
def test_any_bytes_are_a_table_or_a_refusal(tmp_path_factory, data, ending):
    path = tmp_path_factory.getbasetemp() / f"fuzzed{ending}"
    path.write_bytes(data)
    said = ""
    tracemalloc.start()
    try:
        dataset = load(path)
    except ValueError as refusal:
        said = str(refusal)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * 10**6
    assert said.startswith(f"`{path}` must ") if said else len(dataset.train_labels)
    assert said.isprintable()
