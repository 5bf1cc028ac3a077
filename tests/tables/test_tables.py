"""Similarity files that must be read, in every format and dress."""

import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from taskorder.tables import reading as tables
from taskorder.tables.reading import demo_similarity, read_similarity, read_weights
from taskorder.tables.writing import write_similarity

TABLE = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, -0.125], [0.25, -0.125, 1.0]])
NAMES = ("cats", "dogs", "owls")
PLAIN = "1,0.5,0.25\n0.5,1,-0.125\n0.25,-0.125,1\n"

TEXTS = {
    "plain": (PLAIN, None),
    "header": ("cats,dogs,owls\n" + PLAIN, NAMES),
    "name column": ("cats,1,0.5,0.25\ndogs,0.5,1,-0.125\nowls,0.25,-0.125,1", NAMES),
    "both": (",cats,dogs,owls\ncats,1,0.5,0.25\ndogs,0.5,1,-0.125\nowls,0.25,-0.125,1\n", NAMES),
    "both, word in the corner": ("task,cats,dogs,owls\ncats,1,.5,.25\ndogs,.5,1,-.125\nowls,.25,-.125,1\n", NAMES),
    "both, no corner": ("cats,dogs,owls\ncats,1,.5,.25\ndogs,.5,1,-.125\nowls,.25,-.125,1\n", NAMES),
    "tabs": ("\tcats\tdogs\towls\ncats\t1\t.5\t.25\ndogs\t.5\t1\t-.125\nowls\t.25\t-.125\t1\n", NAMES),
    "semicolons": ("1;0.5;0.25\n0.5;1;-0.125\n0.25;-0.125;1", None),
    "decimal commas": ("cats;dogs;owls\n1;0,5;0,25\n0,5;1,0;-0,125\n2,5e-1;-0,125;1", NAMES),
    "decimal commas, tabs": ("1\t0,5\t0,25\n0,5\t1\t-0,125\n0,25\t-0,125\t1", None),
    "spaces, as numpy.savetxt": ("# saved\n1.0e+00 5e-01  0.25 \n 0.5 1 -0.125\n0.25 -0.125 1\n", None),
    "byte order mark": ("\ufeffcats,dogs,owls\n" + PLAIN, NAMES),
    "windows lines": (PLAIN.replace("\n", "\r\n"), None),
    "old mac lines": (PLAIN.replace("\n", "\r"), None),
    "blank lines and comments": ("# similarity\n\n" + PLAIN.replace("\n", "\n\n  \n# more\n"), None),
    "separator at every end": (PLAIN.replace("\n", ",\n"), None),
    "spaces around cells": (PLAIN.replace(",", " , "), None),
    "pandas without names": (",0,1,2\n0,1,0.5,0.25\n1,0.5,1,-0.125\n2,0.25,-0.125,1\n", ("0", "1", "2")),
    "years as names": ("year,2001,2,0.5\n2001,1,.5,.25\n2,.5,1,-.125\n0.5,.25,-.125,1", ("2001", "2", "0.5")),
    "counted under a letter": ("#no\nt,1,2,3\n1,1,.5,.25\n2,.5,1,-.125\n3,.25,-.125,1", ("1", "2", "3")),
    "pandas without index": ("0,1,2\n" + PLAIN, ("0", "1", "2")),
    "percent signs": ("cats,dogs,owls\n100%,50 %,25%\n50%,100%,-12.5%\n25.0 %,-12.5%,1", NAMES),
    "percent and decimal commas": ("100%;50 %;25%\n50,0%;100%;-12,5%\n25%;-12,5%;1", None),
    "typeset minus": (PLAIN.replace("-", "\u2212"), None),
    "rows in another order": ("t,cats,dogs,owls\nowls,.25,-.125,1\ncats,1,.5,.25\ndogs,.5,1,-.125\n", NAMES),
    "words for missing": ("1,0.5,n/a\nNaN,1,-\n0.25,-0.125,1\n", None),
    "separator as Excel tells it": ("sep=;\ncats;dogs;owls\n1;0,5;0,25\n0,5;1;-0,125\n0,25;-0,125;1\n", NAMES),
    "empty columns and rows": ("cats,dogs,owls,,\n" + PLAIN.replace("\n", ",,\n") + ",,,,\n,,,,\n", NAMES),
    "empty diagonal": (",0.5,0.25\n0.5,,-0.125\n0.25,-0.125,\n", None),
    "lower triangle": (",cats,dogs,owls\ncats,1,,\ndogs,.5,1,\nowls,.25,-.125,1\n", NAMES),
    "upper triangle": ("1,0.5,0.25\n,1,-0.125\n,,1\n", None),
    "ragged lower triangle": ("1\n0.5,1\n0.25,-0.125,1\n", None),
    "ragged lower triangle of blanks": ("1\n0.5 1\n0.25 -0.125 1\n", None),
    "ragged lower triangle with names": ("cats,1\ndogs,.5,1\nowls,.25,-.125,1\n", NAMES),
    "ragged lower triangle with both": ("cats,dogs,owls\ncats,1\ndogs,.5,1\nowls,.25,-.125,1\n", NAMES),
    "json nulls": ("[[1, 0.5, null], [0.5, 1, -0.125], [0.25, null, 1]]", None),
    "json triangle": ("[[1], [0.5, 1], [0.25, -0.125, 1]]", None),
    "json mapping of a triangle": (
        '{"cats": {"cats": 1}, "dogs": {"cats": 0.5, "dogs": 1}, "owls": {"cats": 0.25, "dogs": -0.125, "owls": 1}}',
        NAMES,
    ),
    "json rows": (json.dumps(TABLE.tolist()), None),
    "json record": (json.dumps({"names": NAMES, "similarity": TABLE.tolist()}), NAMES),
    "json record without names": (json.dumps({"similarity": TABLE.tolist()}), None),
    "json mapping": (
        json.dumps({a: dict(zip(NAMES[::-1], TABLE[i, ::-1].tolist(), strict=True)) for i, a in enumerate(NAMES)}),
        NAMES,
    ),
}


@pytest.mark.parametrize(("text", "names"), TEXTS.values(), ids=TEXTS)
def test_text_formats(text, names, tmp_path):
    path = tmp_path / "table.txt"
    path.write_bytes(text.encode())
    for source in (path, str(path), io.StringIO(text), io.BytesIO(text.encode())):
        matrix, read_names = read_similarity(source)
        np.testing.assert_array_equal(matrix, TABLE)
        assert read_names == names
        assert matrix.dtype == np.float64
        assert matrix.flags.c_contiguous


def test_quoted_names_may_hold_separators_and_quotes():
    text = 'task,"red, green","a ""b"" c"\n"red, green",1,0.5\n"a ""b"" c",0.5,1\n'
    assert read_similarity(io.StringIO(text))[1] == ("red, green", 'a "b" c')


@pytest.mark.parametrize("text", ["1", "1.0\n", "[[1]]", "task,A\nA,1", "A\n1", "A,1"])
def test_one_task_is_a_matrix(text):
    matrix, names = read_similarity(io.StringIO(text))
    assert matrix.tolist() == [[1.0]]
    assert names in (None, ("A",))


def test_npy_and_npz(tmp_path):
    np.save(tmp_path / "a.npy", TABLE)
    np.save(tmp_path / "fortran.npy", np.asfortranarray(TABLE.astype(np.float32)))
    np.savez(tmp_path / "only.npz", whatever=TABLE)
    np.savez_compressed(tmp_path / "named.npz", similarity=TABLE, names=np.array(NAMES), other=np.zeros(3))
    np.savez(tmp_path / "bytes.npz", similarity=TABLE, names=np.array(NAMES, dtype="S4"))
    for file, names in (("a.npy", None), ("fortran.npy", None), ("only.npz", None)):
        matrix, read_names = read_similarity(tmp_path / file)
        np.testing.assert_array_equal(matrix, TABLE)
        assert read_names is names
    for file in ("named.npz", "bytes.npz"):
        matrix, read_names = read_similarity(tmp_path / file)
        np.testing.assert_array_equal(matrix, TABLE)
        assert read_names == NAMES


def test_the_contents_decide_not_the_name(tmp_path):
    path = tmp_path / "table.csv"
    with path.open("wb") as stream:
        np.save(stream, TABLE)
    np.testing.assert_array_equal(read_similarity(path)[0], TABLE)


def test_missing_numbers_of_arrays(tmp_path):
    np.save(tmp_path / "lower.npy", np.where(np.triu(np.ones((3, 3)), 1), np.nan, TABLE))
    np.testing.assert_array_equal(read_similarity(tmp_path / "lower.npy")[0], TABLE)


def test_what_was_filled_is_logged(caplog):
    read_similarity(io.StringIO(PLAIN), name="whole.csv")
    assert caplog.messages == []
    read_similarity(io.StringIO("1,\n0.5,1\n"), name="half.csv")
    assert caplog.messages == ["half.csv: the missing cell A-B is taken from B-A: a similarity is symmetric"]


def test_what_a_file_holds_can_be_said():
    strict = ",cats,dogs,owls\ncats,,,\ndogs,.5,,\nowls,.25,-.125,\n"
    with pytest.raises(ValueError, match="set `kind` to similarity"):
        read_similarity(io.StringIO(strict))
    np.testing.assert_array_equal(read_similarity(io.StringIO(strict), kind="similarity")[0], TABLE)
    with pytest.raises(ValueError, match="`kind` must be one of similarity, transfer, got 'both'"):
        read_similarity(io.StringIO(strict), kind="both")


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode())))
    np.testing.assert_array_equal(read_similarity("-")[0], TABLE)
    stored = io.BytesIO()
    np.savez(stored, similarity=TABLE, names=np.array(NAMES))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stored.getvalue())))
    assert read_similarity("-")[1] == NAMES


finite = st.floats(allow_nan=False, allow_infinity=False, width=64).filter(lambda x: abs(x) <= 1e300)
one_line = st.text(st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp")), min_size=1, max_size=12).filter(
    str.strip
)
odd_names = one_line | st.sampled_from(
    ["#1", '"', "a,b", "a;b", "0.5", "nan", "-", "a:b", "task", "1", "0", "[x]", "é"]
)


@st.composite
def named_tables(draw):
    size = draw(st.integers(1, 5))
    table = draw(arrays(np.float64, (size, size), elements=finite))
    names = draw(st.none() | st.lists(odd_names, min_size=size, max_size=size, unique_by=str.strip))
    return table, names


@pytest.mark.parametrize("ending", ["csv", "tsv", "json", "npz"])
@given(case=named_tables())
def test_written_tables_come_back_exactly(ending, case, tmp_path_factory):
    table, names = case
    path = tmp_path_factory.mktemp("tables") / f"table.{ending}"
    write_similarity(path, table, names)
    matrix, read_names = read_similarity(path)
    np.testing.assert_array_equal(matrix.view(np.uint64), table.view(np.uint64))
    assert read_names == (None if names is None else tuple(name.strip() for name in names))


def test_write_refuses_unknown_endings_and_bad_names(tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.csv"):
        write_similarity(tmp_path / "table.xls", TABLE)
    with pytest.raises(ValueError, match="one printable line"):
        write_similarity(tmp_path / "table.csv", TABLE, ["a", "b\nc", "d"])
    with pytest.raises(ValueError, match="unique"):
        write_similarity(tmp_path / "table.csv", TABLE, ["a", "a", "d"])
    assert not list(tmp_path.iterdir())


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f3f3\ufe0f\u200d\U0001f308"
PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"


@pytest.mark.parametrize("ending", ["csv", "tsv", "json", "npz"])
def test_joiners_that_make_one_sign_are_part_of_a_name(ending, tmp_path):
    path = tmp_path / f"table.{ending}"
    write_similarity(path, TABLE, [FAMILY, FLAG, PERSIAN])
    assert read_similarity(path)[1] == (FAMILY, FLAG, PERSIAN)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["ca\u200dt", "b", "c"], "one printable line"),
        (["\u200d" + FAMILY, "b", "c"], "one printable line"),
        ([FAMILY + "\u200d", "b", "c"], "one printable line"),
        ([FAMILY, FAMILY.replace("\u200d", "", 1), "c"], "look different"),
        ([PERSIAN, PERSIAN.replace("\u200c", "\u200d"), "c"], "look different"),
        (["\u202e" + PERSIAN, "b", "c"], "one printable line"),
    ],
)
def test_joiners_that_would_only_hide_are_refused(names, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_similarity(tmp_path / "table.csv", TABLE, names)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2,1,0.5", [2, 1, 0.5]),
        ("dogs=3", [1, 3, 1]),
        (" dogs = 3 , cats=2", [2, 3, 1]),
        ('"owls"=2', [1, 1, 2]),
    ],
)
def test_weights_as_an_option(text, expected):
    assert read_weights(text, NAMES).tolist() == expected


def test_weights_of_names_with_marks():
    assert read_weights('"a,b=2",c=d=3', ["a,b", "c=d"]).tolist() == [2, 3]


FILES = [
    ("dogs=2\nowls=3\n", [1, 2, 3]),
    ("dogs = 2\nowls = 3\n", [1, 2, 3]),
    ("dogs=2,owls=3\n", [1, 2, 3]),
    ("task,weight\nowls,2\n", [1, 1, 2]),
    ("weight\n1\n2\n3\n", [1, 2, 3]),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("owls,2\n# why\ncats,3\n", [3, 1, 2]), ("4\n5\n6\n", [4, 5, 6]), ("dogs\t0.5", [1, 0.5, 1]), *FILES],
)
def test_weights_from_a_file(text, expected, tmp_path):
    path = tmp_path / "weights.txt"
    path.write_text(text)
    assert read_weights(str(path), NAMES).tolist() == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2,1", "one number for each of the 3 tasks, got 2"),
        ("frogs=2", "known task, got 'frogs'"),
        ("cats=2,cats=3", "more than once"),
        ("cats=2,3", "mixture"),
        ("cats=much", "got 'much'"),
        ("", "one number"),
        ("nofile.csv", "no such file: 'nofile.csv'"),
        ("/", "a directory: '/'"),
    ],
)
def test_bad_weights(text, message):
    with pytest.raises(ValueError, match=message):
        read_weights(text, NAMES)


def test_bad_weight_files(tmp_path):
    path = tmp_path / "weights.txt"
    for text, message in (
        ("", "one weight a line, got an empty file"),
        ("cats,much\n", "got 'much'"),
        ("cats,much\ndogs,2\n", "got 'much'"),
        ("task,weight\nfrogs,2\n", "known task, got 'frogs'"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_weights(str(path), NAMES)


def test_the_demo_matrix_is_what_its_readme_says():
    matrix, names = demo_similarity()
    assert matrix.shape == (12, 12)
    assert len(set(names)) == 12
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diag(matrix), 1.0)
    off = matrix[np.triu_indices(12, 1)]
    assert off.mean() > 0.05
    assert np.linalg.eigvalsh(matrix)[0] > 0
    readme = (tables.resources.files("taskorder") / "data" / "README.md").read_text(encoding="utf-8")
    for number in (off.mean(), off.min(), off.max(), np.linalg.eigvalsh(matrix)[0]):
        assert f"{number:.4f}" in readme
