"""What a file may cost: nothing that it claims, unpacks to or repeats takes memory or time out of proportion."""

import gzip
import io
import json
import time
import tracemalloc
import zipfile

import numpy as np
import pytest

from taskorder import read_results, read_similarity
from taskorder.checks import MAX_TASKS
from taskorder.datasets import load
from taskorder.tables import input_files
from taskorder.tables.input_files import open_lines
from taskorder.tables.separated import read_rows

pytestmark = pytest.mark.slow("memory")


def refused(read, source, match, *, megabytes, seconds=5.0):
    """Whether a source is refused with this message, in little memory and time."""
    start = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=match):
            read(source)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < megabytes * 2**20
    assert time.process_time() - start < seconds


def npy_header(shape, dtype="<f8"):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def test_an_allowed_shape_without_its_numbers_takes_no_memory():
    """2000 x 2000 is a valid table, but 32 MB were taken for a file of 128 bytes."""
    data = npy_header((MAX_TASKS, MAX_TASKS))
    refused(read_similarity, io.BytesIO(data), "headers that fit its arrays, got a damaged file: 32000000", megabytes=1)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("similarity.npy", npy_header((1, 1)) + np.ones(1).tobytes())
        archive.writestr("names.npy", npy_header((MAX_TASKS,), "<U1000"))
    packed.seek(0)
    refused(read_similarity, packed, "8000000 bytes for names", megabytes=1)


def test_a_name_that_comes_twice_among_many_is_found_at_once():
    """Counting each key of 200,000 took hours."""
    text = "{" + ", ".join(f'"{key}": 0' for key in [*range(200_000), 199_999]) + "}"
    refused(read_similarity, io.StringIO(text), "unique names, got '199999' more than once", megabytes=200)


def test_json_of_too_many_cells_is_refused_before_it_is_parsed():
    text = "[" + "[]," * 5_000_000 + "[]]"
    refused(read_similarity, io.StringIO(text), "so many small values that they would take 686.6 MB", megabytes=80)
    whole = json.dumps([[1.0] * MAX_TASKS] * MAX_TASKS)
    assert read_similarity(io.StringIO(whole))[0].shape == (MAX_TASKS, MAX_TASKS)


def test_rows_of_more_cells_than_tasks_are_refused_by_the_first():
    text = ("00," * 30_000 + "00\n") * 100
    refused(read_similarity, io.StringIO(text), "at most 2000 tasks, got 30001 cells on line 1", megabytes=60)


def test_a_column_that_comes_twice_among_many_is_found_at_once(tmp_path):
    (tmp_path / "a.csv").write_text(",".join(map(str, [*range(90_000), 89_999])) + "\n")
    refused(read_results, tmp_path / "a.csv", "name each column once, got '89999' twice on line 1", megabytes=100)


@pytest.mark.parametrize("text", [b"order,seed,task,accuracy\n" + b"0>1,1,0,0.5\n" * 10_000, b"\n" * 10**6])
def test_what_unpacks_to_too_much_is_refused(text, tmp_path, monkeypatch):
    monkeypatch.setattr("taskorder.audit.results_file.MAX_RESULTS_BYTES", 100_000)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text))
    assert (tmp_path / "a.csv.gz").stat().st_size < 2000
    refused(
        lambda path: read_results(path, {"seed": "2"}), tmp_path / "a.csv.gz", "at most .* MB, got more", megabytes=2
    )


def test_lines_without_an_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(input_files, "MAX_LINE", 10_000)
    (tmp_path / "a.csv").write_bytes(gzip.compress(b"0," * 10**7))
    for read in (load, read_results):
        refused(read, tmp_path / "a.csv", "lines of at most 10000 characters", megabytes=1)


def test_a_row_of_too_many_cells_is_refused_before_it_is_split(tmp_path):
    (tmp_path / "a.csv").write_text("00," * 2**21)
    for read, most in ((load, 1048576), (read_results, 100000)):
        refused(read, tmp_path / "a.csv", f"at most {most} cells in a row, got 2097153 cells on line 1", megabytes=60)


def test_decimal_commas_and_quotes_mean_the_same_in_features(tmp_path):
    (tmp_path / "a.csv").write_text('x;"y; z";label\n1,5;2;a\n0,5;1e1;b\n1,5;2;a\n0,5;1e1;b\n')
    data = load(tmp_path / "a.csv")
    inputs = np.concatenate([data.train_inputs, data.test_inputs])
    assert sorted(inputs.tolist()) == [[0.5, 10], [0.5, 10], [1.5, 2], [1.5, 2]]
    (tmp_path / "b.csv").write_text("x;y;label\n1 000,5;2;a\n1;2;b\n")
    with pytest.raises(ValueError, match="numbers beside the label, got '1 000,5' on line 2"):
        load(tmp_path / "b.csv")


def test_lines_in_old_dress(tmp_path):
    (tmp_path / "a.csv").write_bytes("\ufefforder,seed\r\rA,'1'\r\n".encode())
    with open_lines(tmp_path / "a.csv", max_bytes=100) as lines:
        assert list(read_rows(lines, "a")[1]) == [(1, ["order", "seed"]), (3, ["A", "'1'"])]
