"""IDX and CIFAR files, right and broken; digits; the real data where TASKORDER_DATA has them."""

import gzip
import os
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder.datasets import load
from taskorder.datasets.cifar import read_cifar100, read_records
from taskorder.datasets.dataset import Dataset, held_out
from taskorder.datasets.idx import read_idx
from taskorder.datasets.verification import verify_folder


def test_digits_are_split_by_class():
    pytest.importorskip("sklearn")
    digits = load("digits")
    assert digits.train_inputs.shape == (1500, 8, 8, 1)
    assert digits.test_inputs.shape == (297, 8, 8, 1)
    assert digits.train_inputs.dtype == np.uint8
    assert (digits.train_inputs.min(), digits.train_inputs.max()) == (0, 255)
    train, test = digits.class_counts()
    assert (train + test).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert np.abs(test / 297 - (train + test) / 1797).max() < 1 / 297
    assert np.array_equal(load("digits").test_inputs, digits.test_inputs)


def test_digits_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ValueError, match=r'pip install "taskorder\[neural\]"'):
        load("digits")


def test_fashion_mnist_is_read_packed_and_plain(fashion):
    packed = load("fashion-mnist", fashion)
    assert packed.train_inputs.shape == (20, 28, 28, 1)
    assert packed.train_labels.tolist() == [*range(10), *range(10)]
    assert packed.class_names[9] == "Ankle boot"
    expected = np.random.default_rng(0).integers(0, 256, (20, 28, 28))
    assert np.array_equal(packed.train_inputs[..., 0], expected)
    for path in (fashion / "fashion-mnist").iterdir():
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()
    plain = load("fashion-mnist", fashion)
    assert np.array_equal(plain.test_inputs, packed.test_inputs)
    assert plain.train_labels.dtype == np.int64


def test_cifar10_is_read_batch_by_batch(cifar10):
    data = load("cifar10", cifar10)
    assert data.train_inputs.shape == (50, 32, 32, 3)
    assert data.test_inputs.shape == (10, 32, 32, 3)
    assert data.class_names[3] == "cat"
    rng = np.random.default_rng(1)
    expected = rng.integers(0, 256, (10, 32, 32, 3))
    assert np.array_equal(data.train_inputs[:10], expected)
    assert data.train_labels[:10].tolist() == rng.permutation(10).tolist()
    assert data.train_inputs.flags.c_contiguous


def test_cifar100_takes_the_fine_label(tmp_path):
    record = bytes([7, 1]) + bytes([10]) * 1024 + bytes([20]) * 1024 + bytes([30]) * 1024
    (tmp_path / "train.bin").write_bytes(record + bytes([7, 0]) + bytes(3072))
    (tmp_path / "test.bin").write_bytes(record)
    (tmp_path / "fine_label_names.txt").write_text("apple\nbaby\n")
    data = read_cifar100(tmp_path)
    assert data.train_labels.tolist() == [1, 0]
    assert (data.train_inputs[0] == [10, 20, 30]).all()
    assert data.class_names == ("apple", "baby")


def test_what_is_not_there_is_said_with_the_command(tmp_path, cifar10):
    with pytest.raises(ValueError, match=r"`fashion-mnist` must be downloaded first, got nothing in .*fashion-mnist"):
        load("fashion-mnist", tmp_path)
    (cifar10 / "cifar-10-batches-bin" / "data_batch_3.bin").unlink()
    with pytest.raises(ValueError, match=r"got all but data_batch_3\.bin in .*Run: taskorder data get cifar10"):
        load("cifar10", cifar10)
    with pytest.raises(ValueError, match=r"must be one of digits, fashion-mnist, cifar10, cifar100, a folder"):
        load("mnist")


def test_the_data_folder_comes_from_the_environment(fashion, monkeypatch):
    monkeypatch.setenv("TASKORDER_DATA", str(fashion))
    assert len(load("fashion-mnist").train_labels) == 20


def refusal_of(read, *arguments):
    """What a reader says about a file, nothing if it reads it; any other exception fails the test."""
    try:
        read(*arguments)
    except ValueError as refusal:
        return str(refusal)
    return ""


def spoiled(good: bytes, at: int, value: int) -> bytes:
    return good[:at] + bytes([value]) + good[at + 1 :]


GOOD_IDX = bytes((0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2)) + bytes(range(8))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "must have 1 byte to"),
        (spoiled(GOOD_IDX, 2, 13), "must start with the bytes 00 00 08 03, got 00 00 0d 03"),
        (spoiled(GOOD_IDX, 3, 1), "must start with the bytes 00 00 08 03, got 00 00 08 01"),
        (GOOD_IDX[:10], "got one that ends in its header"),
        (GOOD_IDX[:-1], "have a header that fits its size|must hold 8 bytes after its header, got only 7"),
        (GOOD_IDX + b"x", "must hold 8 bytes after its header, got more"),
        (spoiled(GOOD_IDX, 4, 255), "have a header that fits its size, got one for 4278190082 x 2 x 2 bytes"),
        (spoiled(GOOD_IDX, 7, 0), "have a header that fits its size"),
        (gzip.compress(GOOD_IDX, mtime=0)[:-4], "must be a whole gzip file, got a damaged one"),
        (spoiled(gzip.compress(GOOD_IDX, mtime=0), -8 + len(gzip.compress(GOOD_IDX)), 1), "must be a whole gzip file"),
        (gzip.compress(GOOD_IDX[:-1], mtime=0), "must hold 8 bytes after its header, got only 7"),
        (gzip.compress(spoiled(GOOD_IDX, 4, 255), mtime=0), "have a header that fits its size"),
        (gzip.compress(GOOD_IDX + bytes(10**6), mtime=0), "got more"),
    ],
)
def test_broken_idx_files_are_refused(tmp_path, data, said):
    path = tmp_path / "x-images"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=said) as refusal:
        read_idx(path, 3)
    assert str(path) in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.slow("memory")
def test_a_gzip_bomb_takes_no_memory(tmp_path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(GOOD_IDX[:4] + bytes((0, 0, 0, 1)) * 3 + bytes(50 * 10**6), 9))
    tracemalloc.start()
    with pytest.raises(ValueError, match="must hold 1 bytes after its header, got more"):
        read_idx(path, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**6


def test_lengths_and_labels_must_fit(fashion, write_idx):
    labels = fashion / "fashion-mnist" / "train-labels-idx1-ubyte.gz"
    write_idx(labels, np.zeros(19))
    with pytest.raises(ValueError, match="one train label for each input, got 19 for 20"):
        load("fashion-mnist", fashion)
    write_idx(labels, np.full(20, 10))
    with pytest.raises(ValueError, match="must have train labels from 0 to 9, got 10"):
        load("fashion-mnist", fashion)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("data_batch_2.bin", bytes(3072), r"data_batch_2\.bin. must hold whole records of 3073 bytes, got 3072"),
        ("data_batch_2.bin", bytes([10]) + bytes(3072), r"data_batch_2\.bin. must have labels from 0 to 9, got 10"),
        ("test_batch.bin", b"", r"test_batch\.bin. must have 1 byte to"),
        ("batches.meta.txt", b"cat\ncat\n", "must list different class names"),
        ("batches.meta.txt", b"\xff\xfe", "must be a text of class names, got odd bytes"),
        ("batches.meta.txt", b"x" * 10**5, "must have 1 byte to"),
    ],
)
def test_broken_cifar_files_are_refused(cifar10, name, data, said):
    (cifar10 / "cifar-10-batches-bin" / name).write_bytes(data)
    with pytest.raises(ValueError, match=said):
        load("cifar10", cifar10)


IDX_LIKE = st.one_of(
    st.binary(max_size=200),
    st.builds(lambda n, tail: GOOD_IDX[:n] + tail, st.integers(0, 24), st.binary(max_size=12)),
    st.builds(spoiled, st.just(GOOD_IDX), st.integers(0, 23), st.integers(0, 255)),
)


@given(IDX_LIKE, st.booleans(), st.integers(0, 40), st.integers(1, 3))
@pytest.mark.slow("memory")
def test_any_bytes_are_an_array_or_a_refusal(tmp_path_factory, data, packed, cut, num_axes):
    path = tmp_path_factory.getbasetemp() / "fuzzed-idx"
    data = gzip.compress(data, mtime=0) if packed else data
    path.write_bytes(data[: len(data) - cut] if cut < 20 else data)
    tracemalloc.start()
    said = refusal_of(read_idx, path, num_axes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert said.startswith(f"`{path}` must ") if said else read_idx(path, num_axes).ndim == num_axes
    assert "\n" not in said
    assert peak < 10**6


@given(st.binary(max_size=3), st.integers(0, 3), st.integers(-2, 2), st.integers(1, 2))
def test_any_records_are_images_or_a_refusal(tmp_path_factory, head, count, extra, num_labels):
    path = tmp_path_factory.getbasetemp() / "fuzzed-cifar"
    size = max(0, count * (3072 + num_labels) + extra)
    path.write_bytes((head + bytes(size))[:size])
    said = refusal_of(read_records, [path], num_labels, ["a", "b"])
    good = size > 0 and extra == 0 and max(path.read_bytes()[num_labels - 1 :: 3072 + num_labels]) < 2
    assert not said if good else said.startswith(f"`{path}` must ")
    if good:
        assert read_records([path], num_labels, ["a", "b"])[0].shape == (count, 32, 32, 3)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(0, 60), st.integers(0, 3))
def test_held_out_rows_are_shared_fairly(labels, num_test, seed):
    labels = np.array(labels)
    train, test = held_out(labels, num_test, seed)
    assert sorted([*train, *test]) == list(range(len(labels)))
    counts, taken = np.bincount(labels), np.bincount(labels[test], minlength=labels.max() + 1)
    assert ((counts == 0) | (taken < counts)).all()
    assert len(test) == min(num_test, (counts[counts > 0] - 1).sum())
    if num_test < len(labels) / 2 and (counts[counts > 0] > 2).all():
        assert np.abs(taken - counts * num_test / len(labels)).max() < 2


def test_a_data_set_checks_itself():
    images, labels = np.zeros((2, 4), np.float32), np.array([0, 1])
    with pytest.raises(ValueError, match="labels from 0 to 1, got -1"):
        Dataset("x", images, labels - 1, images, labels, ("a", "b"))
    with pytest.raises(ValueError, match="must have test inputs shaped like the others"):
        Dataset("x", images, labels, images[:, :3], labels, ("a", "b"))
    with pytest.raises(ValueError, match="must have rows to test on, got none"):
        Dataset("x", images, labels, images[:0], labels[:0], ("a", "b"))


@pytest.mark.skipif(not os.environ.get("TASKORDER_DATA"), reason="TASKORDER_DATA names no folder with the real data")
def test_the_real_data_are_whole():
    findings = {finding.name: finding for finding in verify_folder(Path(os.environ["TASKORDER_DATA"]))}
    assert [finding.problem for finding in findings.values()] == [""] * len(findings)
    sizes = {name: (f.num_train, f.num_test, f.num_classes, f.contents) for name, f in findings.items()}
    published = {
        "fashion-mnist": (60_000, 10_000, 10, "as published"),
        "cifar10": (50_000, 10_000, 10, "as published"),
        "cifar100": (50_000, 10_000, 100, "complete by counts"),
    }
    assert sizes
    assert sizes == {name: published[name] for name in sizes}
