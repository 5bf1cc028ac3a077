"""Tables in workbooks, as people keep them."""

import io
import sys
import zipfile

import numpy as np
import pytest

openpyxl = pytest.importorskip("openpyxl")

from taskorder import read_similarity, solve
from taskorder.cli import main
from taskorder.tables import _workbook

NAMES = ("cats", "dogs", "owls")
TABLE = np.array([[0.9, 0.5, 0.25], [0.4, 0.8, 0.1], [0.2, 0.1, 1.0]])
NAMED = [["", *NAMES], *([name, *row] for name, row in zip(NAMES, TABLE.tolist(), strict=True))]


@pytest.fixture
def save(tmp_path):
    def save(name="table.xlsx", **sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        path = tmp_path / name
        book.save(path)
        return path

    return save


DRESSES = {
    "named": (NAMED, NAMES),
    "plain": (TABLE.tolist(), None),
    "header": ([list(NAMES), *TABLE.tolist()], NAMES),
    "title and remark": ([["Transfer, March"], [], *NAMED, [], ["measured by Ann"]], NAMES),
    "away from the corner": ([[], [], *([None, None, *row] for row in NAMED)], NAMES),
    "percent as text": ([[f"{100 * cell:g} %" for cell in row] for row in TABLE.tolist()], None),
    "decimal commas as text": ([[str(cell).replace(".", ",") for cell in row] for row in TABLE.tolist()], None),
    "years": ([[None, 2001, 2002, 2003], *([2001 + i, *row] for i, row in enumerate(TABLE.tolist()))],
              ("2001", "2002", "2003")),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "names"), DRESSES.values(), ids=DRESSES)
def test_sheets(rows, names, save):
    path = save(Sheet1=rows)
    for source in (path, str(path), io.BytesIO(path.read_bytes()), f"{path}:Sheet1"):
        matrix, read_names = read_similarity(source)
        np.testing.assert_array_equal(matrix, TABLE)
        assert read_names == names


def test_the_only_sheet_with_a_table_is_read(save, caplog):
    path = save(Notes=[["measured by", "Ann"], ["on", "Monday"], ["seeds", 3]], Transfer=NAMED, Empty=[])
    matrix, names = read_similarity(path)
    np.testing.assert_array_equal(matrix, TABLE)
    assert names == NAMES
    assert caplog.messages == [f"{path}: read from the sheet Transfer, the only one of 2 with a square table"]


def test_one_of_several_tables_must_be_named(save, capsys):
    path = save(January=NAMED, March=[NAMED[0], *([row[0], 1, 0, 0] for row in NAMED[1:])])
    with pytest.raises(ValueError, match=r"one in each of the sheets January, March. Name the sheet: .*xlsx:January"):
        read_similarity(path)
    np.testing.assert_array_equal(read_similarity(f"{path}:January")[0], TABLE)
    np.testing.assert_array_equal(read_similarity(io.BytesIO(path.read_bytes()), sheet="January")[0], TABLE)
    with pytest.raises(ValueError, match=r"no 'May'\. Sheets: January, March"):
        read_similarity(path, sheet="May")
    assert main(["solve", f"{path}:January"]) == 0
    assert "cats" in capsys.readouterr().out


def test_a_file_may_be_called_like_a_sheet(save):
    path = save("a.xlsx:b", Sheet1=NAMED)
    assert read_similarity(path)[1] == NAMES


def test_a_triangle_in_a_sheet(save, capsys):
    rows = [["", *NAMES], ["cats", 1, None, None], ["dogs", 0.5, 1, "#N/A"], ["owls", 0.25, 0.1, 1]]
    path = save(Sheet1=rows)
    assert main(["solve", str(path)]) == 0
    said = capsys.readouterr().out
    assert "note    the missing upper triangle is the mirror image of the lower one" in said
    wanted = [[1, 0.5, 0.25], [0.5, 1, 0.1], [0.25, 0.1, 1]]
    np.testing.assert_array_equal(read_similarity(path)[0], wanted)
    assert solve(read_similarity(path)[0]).similarity_digest == solve(wanted).similarity_digest


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("=B2/2", "a formula without its value in cell C2. Open the workbook in a spreadsheet program"),
        ("#DIV/0!", "got '#DIV/0!' in cell C2"),
        ("1.234,5", "got '1.234,5' in cell C2. Write numbers without separators of thousands"),
        (True, "got 'True' in cell C2"),
        (None, "got none in row cats, column dogs"),
    ],
)
def test_cells_that_are_no_numbers(cell, message, save):
    rows = [list(row) for row in NAMED]
    rows[1][2] = cell
    with pytest.raises(ValueError, match=r".") as refused:
        read_similarity(save(Sheet1=rows))
    assert message in str(refused.value)


def test_what_is_no_table(save, tmp_path):
    for sheets, message in (
        ({"A": []}, "got empty sheets"),
        ({"A": [[1, 2, 3], [4, 5, 6]]}, "got 2 rows and 3 columns"),
        ({"A": [[0.1, 2], [3, 4], [5, 6]], "B": [["x"]]}, ":A` must hold a square table"),
        ({"A": [[0.5] * 2100]}, "at most 2000 tasks"),
    ):
        with pytest.raises(ValueError, match=message):
            read_similarity(save(**sheets))
    damaged = tmp_path / "damaged.xlsx"
    damaged.write_bytes(save(Sheet1=NAMED).read_bytes()[:-300])
    with pytest.raises(ValueError, match=r"must be a whole \.xlsx file, got a damaged one"):
        read_similarity(damaged)
    with pytest.raises(ValueError, match="have sheets, got another format"):
        read_similarity(io.StringIO("1"), sheet="A")


@pytest.mark.parametrize("make", [lambda stream: stream.write(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)), None])
def test_other_formats_are_named(make, tmp_path):
    path = tmp_path / "old.any"
    with path.open("wb") as stream:
        if make is None:
            with zipfile.ZipFile(stream, "w") as archive:
                archive.writestr("content.xml", "<office/>")
        else:
            make(stream)
    with pytest.raises(ValueError, match=r"in the format \.xlsx, got one in another format\. Save it"):
        read_similarity(path)


def test_where_workbooks_are_not_read_the_fix_is_named(save, tmp_path, capsys):
    renamed = save(Sheet1=NAMED).rename(tmp_path / "results.csv")
    assert main(["audit", str(renamed)]) == 2
    assert "got a workbook or an archive. Save its sheet as CSV." in capsys.readouterr().err


def test_a_workbook_that_unpacks_to_too_much_is_not_opened(save, monkeypatch):
    path = save(Sheet1=NAMED)
    monkeypatch.setattr(_workbook, "_rows", lambda *ignored: pytest.fail("the workbook was opened"))
    with pytest.raises(ValueError, match="must unpack to at most"):
        _workbook.read_workbook(path.read_bytes(), "a.xlsx", None, 2000, max_bytes=100)


def test_without_openpyxl_one_line_names_the_extra(save, monkeypatch, capsys):
    path = save(Sheet1=NAMED)
    monkeypatch.setattr(_workbook, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert main(["solve", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert 'pip install "taskorder[excel]"' in said
