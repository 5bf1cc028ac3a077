"""From the server to a data set that was read, and what `check` says about it later."""

import dataclasses
import hashlib

import numpy as np
import pytest

from taskorder.datasets import load
from taskorder.datasets.fetch import fetch
from taskorder.datasets.sources import SOURCES, data_folder, source_named
from taskorder.datasets.verification import contents_digest, verify_folder, verify_source

QUICK = {"timeout": 5.0, "tries": 2, "wait": 0.01}


@pytest.fixture
def source(cifar10_tar):
    """CIFAR-10 as the loopback server has it."""
    downloads = (("cifar-10-binary.tar.gz", hashlib.md5(cifar10_tar).hexdigest()),)
    return dataclasses.replace(SOURCES["cifar10"], downloads=downloads, num_rows=(5, 1), digest="")


def test_an_archive_is_got_unpacked_read_and_removed(server, new_page, source, cifar10_tar, tmp_path):
    page = new_page(cifar10_tar, cut=[1000])
    server.put("cifar-10-binary.tar.gz", page)
    data = fetch(source, tmp_path, address=server.base, **QUICK)
    assert data.train_inputs.shape == (50, 32, 32, 3)
    assert [path.name for path in tmp_path.iterdir()] == ["cifar-10-batches-bin"]
    names = {path.name for path in (tmp_path / "cifar-10-batches-bin").iterdir()}
    assert names == set(source.files)
    fetch(source, tmp_path, address=server.base, **QUICK)
    assert len(page.seen) == 2  # a good copy is not got again
    (tmp_path / "cifar-10-batches-bin" / "test_batch.bin").write_bytes(b"broken")
    assert fetch(source, tmp_path, address=server.base, **QUICK).num_classes == 10
    assert len(page.seen) == 3
    batch = tmp_path / "cifar-10-batches-bin" / "data_batch_1.bin"
    batch.write_bytes(batch.read_bytes()[: 5 * 3073])  # can be read, and is not whole
    assert len(fetch(source, tmp_path, address=server.base, **QUICK).train_labels) == 50
    assert len(page.seen) == 4


def test_an_archive_brought_by_hand_needs_no_network(source, cifar10_tar, tmp_path):
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(cifar10_tar)
    assert len(fetch(source, tmp_path, address="http://127.0.0.1:9/").test_labels) == 10


def test_a_forged_archive_is_never_unpacked(server, new_page, source, make_tar, tmp_path):
    server.put("cifar-10-binary.tar.gz", new_page(make_tar(("../evil", b"x"))))
    with pytest.raises(ValueError, match="must have the md5"):
        fetch(source, tmp_path, address=server.base, **QUICK)
    assert list(tmp_path.iterdir()) == []


def test_single_files_are_got_one_by_one(server, new_page, fashion, tmp_path_factory):
    contents = {path.name: path.read_bytes() for path in (fashion / "fashion-mnist").iterdir()}
    for name, data in contents.items():
        server.put(name, new_page(data))
    downloads = tuple((name, hashlib.md5(contents[name]).hexdigest()) for name in SOURCES["fashion-mnist"].files)
    source = dataclasses.replace(SOURCES["fashion-mnist"], downloads=downloads, num_rows=(2, 1), digest="")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    loaded = fetch(source, elsewhere, address=server.base, **QUICK)
    assert np.array_equal(loaded.train_inputs, load("fashion-mnist", fashion).train_inputs)


def test_digits_need_no_download(tmp_path):
    pytest.importorskip("sklearn")
    assert fetch(SOURCES["digits"], tmp_path / "nowhere").num_classes == 10
    assert not (tmp_path / "nowhere").exists()


def test_the_digest_knows_contents_and_not_their_order(cifar10):
    data = load("cifar10", cifar10)
    order = np.random.default_rng(0).permutation(50)
    shuffled = dataclasses.replace(data, train_inputs=data.train_inputs[order], train_labels=data.train_labels[order])
    assert contents_digest(shuffled) == contents_digest(data)
    pixel = data.train_inputs.copy()
    pixel[3, 4, 5, 0] ^= 1
    assert contents_digest(dataclasses.replace(data, train_inputs=pixel)) != contents_digest(data)
    swapped = data.train_labels.copy()
    swapped[:2] = swapped[1::-1]
    assert contents_digest(dataclasses.replace(data, train_labels=swapped)) != contents_digest(data)


def test_check_sees_counts_and_changes(source, cifar10):
    whole = verify_source(source, cifar10)
    assert (whole.num_train, whole.num_test, whole.balance) == (50, 10, "5 + 1")
    assert (whole.contents, whole.problem) == ("complete by counts", "")
    known = dataclasses.replace(source, digest=contents_digest(load("cifar10", cifar10)))
    assert verify_source(known, cifar10).contents == "as published"
    path = cifar10 / "cifar-10-batches-bin" / "data_batch_1.bin"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    changed = verify_source(known, cifar10)
    assert changed.contents == "changed"
    assert "must have the published images and labels" in changed.problem
    data[0] = (data[0] + 1) % 10
    path.write_bytes(data)
    uneven = verify_source(known, cifar10)
    assert (uneven.contents, uneven.balance) == ("incomplete", "4-6 + 1")
    assert "must have 5 train images of each class, got" in uneven.problem
    path.write_bytes(b"x")
    assert "must hold whole records" in verify_source(known, cifar10).problem
    path.unlink()
    assert "got all but data_batch_1.bin" in verify_source(known, cifar10).problem


def test_check_finds_what_is_in_a_folder(fashion, tmp_path):
    findings = verify_folder(fashion)
    assert verify_folder(fashion / "fashion-mnist") == findings
    assert [finding.name for finding in findings] == ["fashion-mnist"]
    assert "must have 6000 train images of each class, got 2 of 'T-shirt/top'" in findings[0].problem
    (tmp_path / "x.csv").write_text("1,a\n2,a\n3,a\n")
    assert verify_folder(tmp_path / "x.csv")[0].contents == "readable"
    (tmp_path / "y.npz").write_text("junk")
    assert "must be a whole NPY or NPZ file" in verify_folder(tmp_path / "y.npz")[0].problem
    with pytest.raises(ValueError, match="must hold a data set"):
        verify_folder(tmp_path / "empty")


def test_where_data_lie(monkeypatch, tmp_path):
    for variable in ("TASKORDER_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert data_folder() == tmp_path / ".cache" / "taskorder"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert data_folder() == tmp_path / ".cache" / "taskorder"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    assert data_folder() == tmp_path / "c" / "taskorder"
    monkeypatch.setattr("sys.platform", "darwin")
    assert data_folder() == tmp_path / "Library" / "Caches" / "taskorder"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert data_folder() == tmp_path / "local" / "taskorder"
    monkeypatch.setenv("TASKORDER_DATA", "~/mine")
    assert data_folder() == tmp_path / "mine"


def test_unknown_names_list_the_known():
    with pytest.raises(ValueError, match="must be one of digits, fashion-mnist, cifar10, cifar100, got 'mnist'"):
        source_named("mnist")
