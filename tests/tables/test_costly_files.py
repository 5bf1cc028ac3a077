"""Files that claim or hide more than they hold are refused before it is paid for; see tests/fuzz/test_bombs.py, too."""

import gzip
import io
import struct
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from taskorder import costs, read_similarity
from taskorder.tables import _workbook, _workbook_parts
from taskorder.tables.arrays import read_npz
from taskorder.tables.input_files import OpenFile, open_file, open_lines


def npz(**members):
    """An archive of members that are given as bytes."""
    paper = io.BytesIO()
    with zipfile.ZipFile(paper, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return paper


def npy(array):
    paper = io.BytesIO()
    np.save(paper, array)
    return paper.getvalue()


def read(paper, **more):
    return read_npz(paper, "a.npz", list, lambda *_: "", **{"max_bytes": 2**40, **more})


def test_arrays_that_unpack_to_more_than_their_size_allows(monkeypatch):
    paper = npz(a=npy(np.zeros(100_000)))
    assert read(paper)["a"].shape == (100_000,)
    monkeypatch.setattr(costs, "FREE_MEMORY", 0)
    with pytest.raises(
        ValueError, match=r"`a.npz` must unpack to at most .* for its size, got 0.7631 MB. Save it with"
    ):
        read(paper)
    stored = io.BytesIO()
    np.savez(stored, a=np.zeros(100_000))
    assert read(stored)["a"].shape == (100_000,)


def test_the_size_that_counts_is_that_of_the_file_and_no_claim(monkeypatch):
    """The directory of an archive may say that a member takes any number of bytes in it."""
    monkeypatch.setattr(costs, "FREE_MEMORY", 0)
    paper = npz(a=npy(np.zeros(100_000)))
    data = bytearray(paper.getvalue())
    at = data.rindex(b"PK\x01\x02")
    data[at + 20 : at + 24] = struct.pack("<I", 10**6)
    with pytest.raises(ValueError, match="must unpack to at most"):
        read(io.BytesIO(bytes(data)))


def test_a_long_header_is_not_read(monkeypatch):
    taken = []
    monkeypatch.setattr(np.lib.format, "read_array_header_2_0", taken.append)
    head = b"\x93NUMPY\x02\x00" + struct.pack("<I", 10**6)
    with pytest.raises(ValueError, match="must have short headers, got one of more than 10000 bytes for a"):
        read(npz(a=head + bytes(10**6)))
    assert not taken


@pytest.mark.parametrize("dtype", ["|S0", "<U0"])
def test_elements_of_no_bytes_are_refused(dtype):
    """A file of 300 bytes had a billion labels."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": dtype, "fortran_order": False, "shape": (10**9,)})
    with pytest.raises(ValueError, match="must hold numbers or text, got elements without a size in a"):
        read(npz(a=header.getvalue()))


def test_text_that_unpacks_to_more_than_its_size_allows(tmp_path, monkeypatch):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"0,1\n" * 10_000))
    with open_lines(path, max_bytes=10**6) as lines:
        assert sum(1 for _ in lines) == 10_000
    monkeypatch.setattr(costs, "FREE_MEMORY", 2000)
    seen: list[str] = []
    refused = r"must unpack to at most .* MB for its size, got more. Unpack it first: gunzip"
    with pytest.raises(ValueError, match=refused), open_lines(path, max_bytes=10**6) as lines:
        all(seen.append(line) is None for line in lines)
    assert 0 < len(seen) < 100
    with pytest.raises(ValueError, match="Unpack it first"), open_file(path) as file:
        file.read(10**6)


def test_plain_text_may_be_as_long_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(costs, "FREE_MEMORY", 0)
    (tmp_path / "a.csv").write_text("\n" * 10_000)
    with open_lines(tmp_path / "a.csv", max_bytes=10**6) as lines:
        assert sum(1 for _ in lines) == 10_000
    with open_file(tmp_path / "a.csv") as file:
        assert len(file.read(10**6)) == 10_000
        assert not file.is_packed
    with pytest.raises(ValueError, match=r"be at most 0.0009537 MB, got more. Keep only what is needed"):
        OpenFile("a", io.BytesIO(b"1" * 2000), 2000, False).read(1000)


def test_a_quote_among_many_commas_is_one_match():
    """A regular expression kept its way through the quote: a gigabyte for 15 MB."""
    row = '"' + "a" * 100_000 + '"' + "," * 3000
    with pytest.raises(ValueError, match="at most 2000 tasks, got 3001 cells on line 2"):
        read_similarity(io.StringIO(f"1,0\n{row}\n"))


def sheets(rows, count=1, before="", strings=""):
    from tests.fuzz.bomb_files import workbook

    return workbook(rows, sheets=count, before=before, strings=(strings,))


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """A function that reads a workbook, and whether openpyxl was asked to."""
    pytest.importorskip("openpyxl")
    from taskorder.tables import _workbook_cells

    asked = []
    load = _workbook_cells.open_cells
    monkeypatch.setattr(_workbook_cells, "open_cells", lambda *a: asked.append(a) or load(*a))

    def read_book(*args, **more):
        sheets(*args, **more)(tmp_path / "a.xlsx")
        return read_similarity(tmp_path / "a.xlsx")[0].tolist()

    return read_book, asked


GOOD = "<row><c><v>1</v></c><c><v>0.5</v></c></row><row><c><v>0.5</v></c><c><v>1</v></c></row>"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"rows": GOOD + "<row/>" * 9000}, "no more than a table and its looks, got too many elements"),
        ({"rows": "<row>" + "<c/>" * 200 + "</row>"}, "no more than a table and its looks"),
        ({"rows": GOOD, "strings": "<si><t>a</t></si>" * 9000}, "no more than a table and its looks"),
        ({"rows": GOOD, "count": 300}, "have at most 256 sheets, got more"),
        ({"rows": GOOD, "before": '<!DOCTYPE a [<!ENTITY b "c">]>'}, "be without declarations of its own"),
    ],
    ids=["rows", "a row", "texts", "sheets", "entities"],
)
def test_workbooks_are_counted_before_they_are_opened(opened, monkeypatch, more, message):
    monkeypatch.setattr(_workbook_parts, "FREE_ELEMENTS", 1000)
    monkeypatch.setattr(_workbook_parts, "CELL_ELEMENTS", 0.05)
    read_book, asked = opened
    with pytest.raises(ValueError, match=message):
        read_book(**more)
    assert not asked
    monkeypatch.undo()


def test_workbooks_that_say_what_they_are(opened):
    read_book, asked = opened
    assert read_book(GOOD) == [[1, 0.5], [0.5, 1]]
    assert asked


def test_of_a_workbook_only_what_leads_to_cells_is_opened(monkeypatch, tmp_path):
    """Names, links, charts, properties and looks of a few kilobytes took minutes."""
    pytest.importorskip("openpyxl")
    from openpyxl.packaging.relationship import RelationshipList
    from openpyxl.styles.stylesheet import Stylesheet
    from openpyxl.worksheet import print_settings

    from tests.fuzz import bomb_files as made

    asked = []
    for kind in (print_settings.PrintTitles, print_settings.PrintArea):
        monkeypatch.setattr(kind, "from_string", lambda text: pytest.fail("a name was read"))
    monkeypatch.setattr("openpyxl.reader.workbook.read_external_link", lambda *_: pytest.fail("a link was read"))
    monkeypatch.setattr(Stylesheet, "from_tree", lambda *_: pytest.fail("styles were read"))
    known = RelationshipList.from_tree
    monkeypatch.setattr(RelationshipList, "from_tree", lambda node: asked.append(node) or known(node))
    for make in (
        made.linked_workbook(),
        made.named_workbook("'s'!$1:$1"),
        made.styled_workbook(names='<cellStyle name="a" xfId="0"/>'),
        made.charted_workbook(),
    ):
        make(tmp_path / "a.xlsx")
        with suppress(ValueError):  # a workbook of charts alone
            assert read_similarity(tmp_path / "a.xlsx")[0].tolist() == [[1, 0.5], [0.5, 1]]
    assert len(asked) == 4  # of the workbook, not of its charts


def test_dates_are_told_from_numbers(tmp_path):
    pytest.importorskip("openpyxl")
    from tests.fuzz.bomb_files import number_format, styled_workbook

    for number, code in ((14, ""), (200, number_format(200, "yyyy-mm"))):
        styled_workbook(formats=code, cells=f'<xf numFmtId="{number}"/>', style=1)(tmp_path / "a.xlsx")
        with pytest.raises(ValueError, match="1900-01-01 00:00:00"):
            read_similarity(tmp_path / "a.xlsx")
    styled_workbook(formats=number_format(200, "0.00"), cells='<xf numFmtId="200"/>', style=1)(tmp_path / "a.xlsx")
    assert read_similarity(tmp_path / "a.xlsx")[0].tolist() == [[1, 0.5], [0.5, 1]]


def test_a_formula_that_cells_share_is_not_written_out(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    from openpyxl.formula.translate import Translator

    from tests.fuzz.bomb_files import shared_formula

    monkeypatch.setattr(Translator, "translate_formula", lambda *_: pytest.fail("a formula was written out"))
    shared_formula(30, 90)(tmp_path / "a.xlsx")
    with pytest.raises(ValueError, match="must"):
        read_similarity(tmp_path / "a.xlsx")


def test_one_part_for_several_sheets_is_read_once(opened, monkeypatch):
    read_book, _ = opened
    monkeypatch.setattr(_workbook, "_rows", lambda *_: pytest.fail("a sheet was read"))
    with pytest.raises(ValueError, match="have a part of its own for each sheet, got one for several"):
        read_book(GOOD, count=3)


def test_empty_cells_of_all_sheets_are_counted(opened, monkeypatch):
    monkeypatch.setattr(_workbook, "_MOST_CELLS", 1000)
    with pytest.raises(ValueError, match="have at most 1000 cells in all sheets, got more with sheet s0"):
        opened[0](GOOD)


def test_what_is_packed_in_a_pipe_gets_what_is_free(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"0,1\n" * 10_000))))
    monkeypatch.setattr(costs, "FREE_MEMORY", 2000)
    with pytest.raises(ValueError, match="`standard input` must unpack to at most"), open_file("-") as file:
        file.read(10**6)
