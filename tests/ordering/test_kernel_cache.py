"""A damaged cache of kernels is no error: its files are dropped, kernels are compiled again, and one line says so."""

import logging
import math
from pathlib import Path

import pytest

from taskorder.ordering.kernels import jit


def doubled(x):
    return 2.0 * x


def kernel(folder, monkeypatch):
    """The function as a new process would load it."""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(folder))
    return jit.njit()(doubled)


def files(folder, kind):
    return sorted(Path(folder).rglob(f"*{kind}"))


def truncated(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def garbage(file):
    file.write_bytes(b"no pickle")


def empty(file):
    file.write_bytes(b"")


def one_byte(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


def folder(file):
    file.unlink()
    file.mkdir()


@pytest.fixture
def said(caplog):
    """The lines that were logged about the cache."""
    jit._say.cache_clear()
    caplog.set_level(logging.WARNING, logger="taskorder.ordering.kernels.jit")
    yield lambda: [record.getMessage() for record in caplog.records]
    jit._say.cache_clear()


def test_a_second_process_reads_what_the_first_compiled(tmp_path, monkeypatch, said):
    assert kernel(tmp_path, monkeypatch)(1.5) == 3.0
    again = kernel(tmp_path, monkeypatch)
    assert again(1.5) == 3.0
    assert sum(again.stats.cache_hits.values()) == 1
    assert said() == []


@pytest.mark.parametrize("kind", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [truncated, garbage, empty, one_byte])
def test_damaged_files_are_dropped_and_compiled_again(kind, damage, tmp_path, monkeypatch, said):
    kernel(tmp_path, monkeypatch)(1.5)
    (file,) = files(tmp_path, kind)
    damage(file)
    assert kernel(tmp_path, monkeypatch)(1.5) == 3.0
    assert [line.count(str(tmp_path)) for line in said()] == [1]
    healed = kernel(tmp_path, monkeypatch)
    assert healed(1.5) == 3.0
    assert sum(healed.stats.cache_hits.values()) == 1


def test_an_index_that_names_the_code_for_other_arguments_is_dropped(tmp_path, monkeypatch, said):
    """One bit in the name of a file, and whole numbers went to the code for floats."""
    first = kernel(tmp_path, monkeypatch)
    assert [first(1.5), first(3)] == [3.0, 6.0]
    (index,) = files(tmp_path, ".nbi")
    assert index.read_bytes().count(b".1.nbc") == 1
    index.write_bytes(index.read_bytes().replace(b".1.nbc", b".2.nbc"))
    again = kernel(tmp_path, monkeypatch)
    assert [again(1.5), again(3)] == [3.0, 6.0]
    assert len(said()) == 1


@pytest.mark.parametrize("kind", [".nbi", ".nbc"])
def test_what_cannot_be_read_nor_dropped_is_left_alone(kind, tmp_path, monkeypatch, said):
    kernel(tmp_path, monkeypatch)(1.5)
    (file,) = files(tmp_path, kind)
    folder(file)
    assert kernel(tmp_path, monkeypatch)(1.5) == 3.0
    assert kernel(tmp_path, monkeypatch)(math.pi) == 2 * math.pi
    assert len(said()) == 1


def test_a_full_disk_leaves_the_kernel_uncached(tmp_path, monkeypatch, said):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._save_data", full)
    assert kernel(tmp_path, monkeypatch)(1.5) == 3.0
    assert files(tmp_path, ".nbc") == []
    assert len(said()) == 1


def test_without_any_folder_a_kernel_is_compiled_in_each_process(tmp_path, monkeypatch, said):
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    assert kernel(tmp_path, monkeypatch)(1.5) == 3.0
    assert list(tmp_path.iterdir()) == []
    assert said() == []
