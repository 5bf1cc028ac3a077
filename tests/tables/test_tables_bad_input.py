"""Similarity files that must be refused, with one line that names the file and the place."""

import io
import os
import pickle
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskorder.tables.reading import MAX_TABLE_BYTES, read_similarity

BAD_TEXT = {
    "empty": ("", "empty file"),
    "blank": ("  \n\n", "empty file"),
    "only comments": ("# nothing\n", "no rows"),
    "ragged": ("1,0.5\n0.5\n", "1 cell on line 2"),
    "ragged after a comment": ("# c\n1,0,0\n0,1\n0,0,1\n", "2 cells on line 3"),
    "text cell": ("1,0.5\nhello,1\n", "got 'hello' on line 2, column 1"),
    "text cell with names": ("task,A,B\nA,1,x\nB,0.5,1\n", "got 'x' on line 2, column 3"),
    "empty cell": ("0.9,\n0.5,1\n", "got none in row A, column B"),
    "underscore": ("1,1_0\n0.5,1\n", "got '1_0' on line 1, column 2"),
    "hole in the corner": (",0.5\n0.4,1\n", "got none in row A, column A"),
    "text in the corner": ("x,0.5\n0.5,1\n", "got 'x' on line 1, column 1"),
    "only empty cells": ('""\n""\n', "2 rows and 1 column"),
    "nan": ("1,nan\nnan,1\n", "got none for A and B in either direction"),
    "infinity": ("1,0\n-inf,1\n", "finite, got -inf at row 2, column 1"),
    "2 x 3": ("1,0,0\n0,1,0\n", "2 rows and 3 columns"),
    "3 x 2": ("1,0\n0,1\n0,0\n", "3 rows and 2 columns"),
    "a row of means": ("task,A,B\nA,1,0\nB,0,1\nmean,.5,.5\n", "3 rows and 2 columns beside the names. Give one row"),
    "a column of sums": ("task,A,B,sum\nA,1,0,1\nB,0,1,1\n", "2 rows and 3 columns beside the names"),
    "decimal commas between commas": ("1,0,0,5\n0,5,1,0\n", "semicolons"),
    "decimal commas between spaces": ("1,0 0,5\n0,5 1,0\n", "semicolons"),
    "thousands": (
        "1.000,5;0\n0;1\n",
        "got '1.000,5' on line 1, column 1. Write numbers without separators",
    ),
    "thousands in quotes": ('1,"1,000"\n0,1\n', "got '1,000' on line 1, column 2. Write numbers without separators"),
    "decimal comma in quotes": ('1,"0,5"\n0,1\n', "got '0,5' on line 1, column 2. Decimal commas need semicolons"),
    "commas and points": (
        "1;0,5\n0.5;1\n",
        "got '0,5' on line 1, column 2, and '0.5' on line 2, column 1",
    ),
    "upper triangle out of line": ("1,0.5,0.2\n1,0.3\n1\n", "keep the empty cells left of the numbers"),
    "a pair that is missing": ("1,,0.1\n,1,0.2\n0.1,0.2,1\n", "got none for A and B in either direction"),
    "a triangle of a transfer table": ("0.9,0.5\n,0.8\n", "set `kind` to similarity"),
    "triangles that differ": ("1,0.5,0.1\n0.7,1,0.1\n,0.1,1\n", "got none in row C, column A"),
    "half a similarity in zeros": ("1,0,0\n.5,1,0\n.2,.3,1\n", "got only zeros above a diagonal of ones"),
    "duplicate names": ("A,A\n1,0\n0,1\n", "unique, got 'A' more than once"),
    "duplicate names twice": ("task,A,A\nA,1,0\nA,0,1\n", "unique, got 'A'"),
    "blank name": ("A,\n1,0\n0,1\n", "blank name at position 2"),
    "names disagree": ("task,A,B\nA,1,0\nC,0,1\n", "column 'B' and row 'C' for task 2"),
    "broken quote": ('task,"A,B\nA,1,0\nB,0,1\n', "broken cell on line"),
    "invisible character": ("A\u200b,B\n1,0\n0,1\n", "printable"),
    "turned text": ("A\u202e,B\n1,0\n0,1\n", "printable"),
    "mistyped corner": ("l.0,0.5\n0.5,1\n", "got 'l.0' on line 1, column 1"),
    "missing corner": ("NA,0.5\n0.4,1\n", "got none in row A, column A"),
    "zero bytes": ("\0" * 100, "not a text table, NPY or NPZ"),
    "junk": ("\x01\x02a\x03\n", "not a text table, NPY or NPZ"),
    "control character": ("A\x1b[2J,B\n1,0\n0,1\n", "printable"),
    "json syntax": ("[[1, 0.5], [0.5, 1]", "line 1, column"),
    "json ragged": ("[[1, 0], [1]]", "1 cell in row 2"),
    "json text": ('[[1, "x"], [0, 1]]', "got 'x' at row 1, column 2"),
    "json true": ("[[true, 0], [0, 1]]", "got 'True' at row 1, column 1"),
    "json null": ("[[0.9, null], [0, 1]]", "got none in row A, column B"),
    "json nan": ("[[0.9, NaN], [0, 1]]", "got none in row A, column B"),
    "json infinity": ("[[1, Infinity], [0, 1]]", "got 'inf' at row 1, column 2"),
    "json huge": (f"[[1, 1{'0' * 400}], [0, 1]]", "row 1, column 2"),
    "json thousands of digits": (f"[[1, {'9' * 5000}], [0, 1]]", "row 1, column 2"),
    "json 2 x 3": ("[[1, 0, 0], [0, 1, 0]]", "square P x P matrix, got 2 x 3"),
    "json flat": ("[1, 0]", "must hold a table"),
    "json no rows": ("[]", "must hold a table"),
    "json no tasks": ("{}", "must hold a table"),
    "json deep": ("[" * 100_000, "JSON"),
    "json twice": ('{"A": {"A": 1}, "A": {"A": 1}}', "'A' more than once"),
    "json missing": ('{"A": {"A": 0.9, "B": 0}, "B": {"B": 1}}', "got none in row B, column A"),
    "json unknown": ('{"A": {"A": 1, "B": 0}}', "got 'B' in that of 'A'"),
    "json not a row": ('{"A": 1}', "'A'"),
    "json names": ('{"names": "AB", "similarity": [[1, 0], [0, 1]]}', "list of strings"),
    "json count": ('{"names": ["A"], "similarity": [[1, 0], [0, 1]]}', "2 tasks, got 1"),
    "json other keys": ('{"names": ["A"], "similarity": [[1]], "color": 3}', "'color'"),
}


def refusal(source, **options):
    with pytest.raises(ValueError, match=r".") as caught:
        read_similarity(source, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(("text", "expected"), BAD_TEXT.values(), ids=BAD_TEXT)
def test_bad_text(text, expected, tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(text.encode())
    message = refusal(path)
    assert expected in message
    assert str(path) in message


def test_not_a_file(tmp_path):
    assert "got a directory" in refusal(tmp_path)
    assert "no such file" in refusal(tmp_path / "missing.csv")
    assert "must be readable" in refusal(tmp_path / ("x" * 5000))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_permission_denied(tmp_path):
    path = tmp_path / "secret.csv"
    path.write_text("1")
    path.chmod(0)
    assert "Permission denied" in refusal(path)


def test_permission_denied_as_any_user(tmp_path, monkeypatch):
    path = tmp_path / "secret.csv"
    path.write_text("1")

    def deny(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", deny)
    assert "Permission denied" in refusal(path)


def test_a_huge_file_is_refused_before_reading(tmp_path, monkeypatch):
    path = tmp_path / "huge.csv"
    with path.open("wb") as stream:
        stream.truncate(2 * 2**30)
    monkeypatch.setattr("builtins.open", lambda *args, **kwargs: pytest.fail("the file was opened"))
    assert "at most 256 MB, got at least 2048 MB" in refusal(path)


def test_streams_are_read_up_to_the_limit():
    class Endless(io.RawIOBase):
        taken = 0

        def read(self, size=-1):
            assert 0 <= size <= MAX_TABLE_BYTES + 1
            self.taken += size
            return b"1," * (size // 2 + 1)

    source = Endless()
    assert "must be at most 0.0009766 MB" in refusal(source, name="endless", max_bytes=1024)
    assert source.taken == 1025


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
def test_endless_device():
    assert "must be at most" in refusal("/dev/zero", max_bytes=10_000)


def test_too_many_tasks(tmp_path):
    np.save(tmp_path / "p5000.npy", np.broadcast_to(np.float32(0), (5000, 5000)))
    assert "at most 2000 x 2000 in the array, got 5000 x 5000" in refusal(tmp_path / "p5000.npy")
    row = "0," * 4999 + "0\n"
    assert "at most 2000 tasks" in refusal(io.StringIO(row * 3))
    assert "at most 2000 tasks" in refusal(io.StringIO("0\n" * 5000))
    assert "at most 2000 tasks" in refusal(io.StringIO(str([[0] * 2001] * 2001)))


def test_a_line_of_millions_of_cells_is_not_split():
    assert "got 2000001 cells on line 1" in refusal(io.StringIO("0," * 2_000_000))


def test_pickles_are_never_opened(tmp_path):
    class Bomb:
        def __reduce__(self):
            return sys.exit, ("the pickle ran",)

    objects = np.array([[Bomb()]], dtype=object)
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "b.npz", similarity=objects)
    np.savez(tmp_path / "c.npz", similarity=np.eye(1), names=np.array([Bomb()], dtype=object))
    (tmp_path / "d.npy").write_bytes(pickle.dumps(Bomb()))
    (tmp_path / "e.pkl").write_bytes(pickle.dumps(Bomb()))
    with zipfile.ZipFile(tmp_path / "f.npz", "w") as archive:
        archive.writestr("similarity.npy", pickle.dumps(Bomb()))
    for file in ("a.npy", "b.npz", "c.npz", "d.npy", "e.pkl"):
        assert "pickle" in refusal(tmp_path / file)
    assert "damaged" in refusal(tmp_path / "f.npz")


def test_broken_archives(tmp_path):
    np.savez(tmp_path / "good.npz", similarity=np.eye(3))
    data = (tmp_path / "good.npz").read_bytes()
    (tmp_path / "short.npz").write_bytes(data[:-40])
    assert "damaged" in refusal(tmp_path / "short.npz")
    place = data.index(np.eye(3).tobytes())
    (tmp_path / "flipped.npz").write_bytes(data[:place] + b"\x07" + data[place + 1 :])
    assert "damaged" in refusal(tmp_path / "flipped.npz")
    (tmp_path / "text.npz").write_text("1,0\n0,1\n")
    assert "something else" in refusal(tmp_path / "text.npz")
    with zipfile.ZipFile(tmp_path / "empty.npz", "w"):
        pass
    assert "no arrays" in refusal(tmp_path / "empty.npz")
    np.savez(tmp_path / "many.npz", a=np.eye(2), b=np.eye(2))
    assert "called similarity, got a, b" in refusal(tmp_path / "many.npz")


def test_arrays_of_the_wrong_kind(tmp_path):
    for file, array, expected in (
        ("complex.npy", np.eye(2) * 1j, "real numbers"),
        ("text.npy", np.array([["1"]]), "real numbers"),
        ("flat.npy", np.ones(4), "square P x P matrix, got 4"),
        ("scalar.npy", np.array(1.0), "a single number"),
        ("cube.npy", np.ones((2, 2, 2)), "must be a square P x P matrix, got 2 x 2 x 2"),
        ("wide.npy", np.ones((2, 3)), "square P x P matrix, got 2 x 3"),
        ("none.npy", np.ones((0, 0)), "square P x P matrix, got 0 x 0"),
        ("nan.npy", np.array([[np.nan]]), "got none in row A, column A"),
    ):
        np.save(tmp_path / file, array)
        assert expected in refusal(tmp_path / file)
    np.save(tmp_path / "whole.npy", np.eye(4))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "whole.npy").read_bytes()[:-8])
    assert "damaged" in refusal(tmp_path / "cut.npy")


@pytest.mark.filterwarnings("default")
def test_numpy_warns_nobody(tmp_path, recwarn):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1L, 1L), }"
    header += b" " * (118 - len(header) - 1) + b"\n"
    (tmp_path / "old.npy").write_bytes(b"\x93NUMPY\x01\x00" + bytes([len(header), 0]) + header + np.ones(1).tobytes())
    assert read_similarity(tmp_path / "old.npy")[0].tolist() == [[1.0]]
    assert not recwarn.list


def test_a_header_that_promises_too_much_takes_no_memory(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)})
    (tmp_path / "liar.npy").write_bytes(header.getvalue())
    assert "got 1000000 x 1000000" in refusal(tmp_path / "liar.npy")


def test_odd_encodings(tmp_path):
    (tmp_path / "latin.csv").write_bytes("café,b\n1,0\n0,1\n".encode("latin-1"))
    assert "odd byte on line 1" in refusal(tmp_path / "latin.csv")
    (tmp_path / "wide.csv").write_bytes("1,0\n0,1\n".encode("utf-16"))
    assert "UTF-16" in refusal(tmp_path / "wide.csv")


def outcome(data):
    """The matrix and names, or the message of the refusal."""
    try:
        return read_similarity(io.BytesIO(data), name="any"), ""
    except ValueError as problem:
        return None, str(problem)


MESS = st.text(alphabet='01.5,;\t \n\r"#[]{}:ABtaskn-e_\ufeff\u2028', max_size=60).map(str.encode)


@settings(max_examples=200)
@given(MESS | st.binary(max_size=60))
def test_any_bytes_give_a_matrix_or_one_line(data):
    table, message = outcome(data)
    if table is None:
        assert "`any`" in message
        assert len(message.splitlines()) == 1
    else:
        matrix, names = table
        assert matrix.shape == (len(matrix), len(matrix))
        assert np.isfinite(matrix).all()
        assert names is None or len(set(names)) == len(matrix)


@settings(max_examples=200)
@given(st.integers(0, 10**6), st.binary(min_size=1, max_size=4))
def test_damaged_archives_give_a_matrix_or_one_line(place, damage):
    stored = io.BytesIO()
    np.savez(stored, similarity=np.eye(2), names=np.array(["A", "B"]))
    data = bytearray(stored.getvalue())
    place %= len(data)
    data[place : place + len(damage)] = damage
    table, message = outcome(bytes(data))
    if table is None:
        assert "`any`" in message
        assert len(message.splitlines()) == 1
    else:
        assert table[0].shape == (2, 2)
