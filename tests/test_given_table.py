"""Tables as users have them: DataFrames with names anywhere, missing cells, one triangle."""

import re

import numpy as np
import pytest

from taskorder import compare, read_similarity, solve
from taskorder.given_table import SIMILARITY, GivenTable, completed, given_table, kind_of

NAMES = ("ants", "bees", "cars")
TRANSFER = np.array([[0.96, 0.40, 0.10], [0.55, 0.90, 0.20], [0.05, 0.10, 0.98]])
ROWS = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.3], [0.2, 0.3, 1.0]])


def pandas_frames():
    pd = pytest.importorskip("pandas")
    named = pd.DataFrame(TRANSFER, NAMES, NAMES)
    return {
        "both axes": named,
        "columns": pd.DataFrame(TRANSFER, columns=NAMES),
        "index": pd.DataFrame(TRANSFER, NAMES),
        "first column": named.reset_index(),
        "rows in another order": named.iloc[::-1],
        "nullable": named.convert_dtypes(),
        "objects": named.astype(object),
        "percent signs": named.map(lambda share: f"{100 * share:g} %"),
    }


def polars_frames():
    pl = pytest.importorskip("polars")
    columns = {name: TRANSFER[:, task] for task, name in enumerate(NAMES)}
    return {"columns": pl.DataFrame(columns), "first column": pl.DataFrame({"task": NAMES, **columns})}


@pytest.mark.parametrize("frames", [pandas_frames, polars_frames])
def test_data_frames_keep_their_names(frames):
    for where, frame in frames().items():
        given = given_table(frame)
        assert given.names == NAMES, where
        np.testing.assert_allclose(given.values, TRANSFER, rtol=1e-15, err_msg=where)
        assert solve(frame, last="ants").named_order == solve(TRANSFER, names=NAMES, last="ants").named_order
        matrix, names = read_similarity(frame)
        assert names == NAMES
        np.testing.assert_allclose(matrix, TRANSFER, rtol=1e-15, err_msg=where)
    assert compare(frame).names == NAMES


def test_data_frames_without_names():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for frame in (pd.DataFrame(TRANSFER), pl.DataFrame(TRANSFER)):
        assert given_table(frame).names is None
        assert solve(frame, names=NAMES).names == NAMES


def test_years_name_the_rows_and_columns_of_a_frame():
    pd = pytest.importorskip("pandas")
    assert given_table(pd.DataFrame(TRANSFER, [2001, 2002, 2003], [2001, 2002, 2003])).names == ("2001", "2002", "2003")


def test_rows_of_a_frame_are_found_by_name():
    pd = pytest.importorskip("pandas")
    plan = solve(pd.DataFrame(TRANSFER, NAMES, NAMES).iloc[[2, 0, 1]])
    assert plan.similarity_digest == solve(TRANSFER).similarity_digest
    assert "rows were put into the order of the columns, by name" in plan.notes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.rename(columns={"bees": "birds"}), "got column 'birds' and row 'bees' for task 2"),
        (lambda frame: frame.assign(mean=0.5), "got 3 rows and 5 columns"),
        (lambda frame: frame.astype(object).replace(0.4, "much"), "got 'much' at row 1, column 2"),
        (lambda frame: frame.set_axis(["ants", "ants", "cars"], axis=0).set_axis(["ants", "ants", "cars"], axis=1),
         "must be unique, got 'ants'"),
    ],
)  # fmt: skip
def test_odd_frames_are_refused(change, message):
    pd = pytest.importorskip("pandas")
    frame = change(pd.DataFrame(TRANSFER, NAMES, NAMES))
    frame = frame.assign(more=1.0) if len(frame.columns) == 4 else frame
    with pytest.raises(ValueError, match=re.escape(message)):
        solve(frame)


def test_frames_of_other_things_are_refused():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for frame, message in (
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}), "must hold numbers, got '2020-01-01"),
        (pd.DataFrame(), "got 0 x 0"),
        (pl.LazyFrame({"a": [1.0]}), "got a LazyFrame. Call its collect() first."),
        (pd.Series([1.0]), "must be a square P x P matrix, got 1."),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            solve(frame)


def test_missing_cells_of_frames():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    note = "the missing cell ants-bees is taken from bees-ants: a similarity is symmetric"
    columns = {"ants": [1.0, 0.5], "bees": [None, 1.0]}
    for frame in (pl.DataFrame(columns), pd.DataFrame(columns), pd.DataFrame(columns, dtype="Float64")):
        plan = solve(frame)
        assert note in plan.notes
        assert plan.similarity_digest == solve([[1, 0.5], [0.5, 1]]).similarity_digest


def test_names_beside_a_frame_must_be_its_own():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(TRANSFER, NAMES, NAMES)
    assert solve(frame, names=NAMES).names == NAMES
    with pytest.raises(ValueError, match="got 'bees' where the table has 'ants'"):
        solve(frame, names=["bees", "ants", "cars"])


def test_weights_and_retentions_by_name():
    pd = pytest.importorskip("pandas")
    assert solve(TRANSFER, weights={"C": 2}).options["weights"] == [1, 1, 2]
    assert compare(TRANSFER, weights={"C": 2}).best == compare(TRANSFER, weights=[1, 1, 2]).best
    assert solve(TRANSFER, weights=pd.Series([3, 2], ["C", "A"])).options["weights"] == [2, 1, 3]
    assert solve(TRANSFER, weights=pd.Series([1, 1, 2])).options["weights"] == [1, 1, 2]
    kept = solve(TRANSFER, retention=pd.Series([0.3, 0.1, 0.2], ["B", "A", "C"]))
    assert kept.options["retention"] == [0.1, 0.3, 0.2]
    with pytest.raises(ValueError, match=r"`weights` must name a known task, got 'D'"):
        solve(TRANSFER, weights={"D": 2})


def test_an_output_similarity_is_matched_by_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS, NAMES, NAMES)
    turned = frame.iloc[::-1, ::-1]
    assert solve(frame, retention=1, output=turned).error == solve(ROWS, retention=1, output=ROWS).error
    with pytest.raises(ValueError, match="must name the same tasks as the table, got a difference"):
        solve(frame, retention=1, output=frame.rename(index={"ants": "owls"}, columns={"ants": "owls"}))


def holed(*cells):
    table = ROWS.copy()
    for cell in cells:
        table[cell] = np.nan
    return table


UPPER = [(0, 1), (0, 2), (1, 2)]
DIAGONAL = [(0, 0), (1, 1), (2, 2)]


@pytest.mark.parametrize(
    ("table", "note"),
    [
        (holed(*UPPER), "the missing upper triangle is the mirror image of the lower one"),
        (holed(*UPPER).T, "the missing lower triangle is the mirror image of the upper one"),
        (holed((1, 2)), "the missing cell bees-cars is taken from cars-bees"),
        (holed((1, 2), (0, 1)), "2 missing cells are taken from the other side of the diagonal"),
        (holed(*DIAGONAL), "the missing diagonal is taken as 1"),
        (holed((1, 1)), "what is missing of the diagonal (1) is taken as 1"),
    ],
)
def test_a_similarity_is_filled_and_says_so(table, note):
    for retention in (None, 1):
        plan = solve(table, names=NAMES, retention=retention)
        assert plan.similarity_digest == solve(ROWS).similarity_digest
        assert any(note in said for said in plan.notes)
    assert any(note in said for said in compare(table, names=NAMES).notes)


def test_what_a_table_holds_may_have_to_be_said():
    triangle = holed(*UPPER, *DIAGONAL)
    with pytest.raises(ValueError, match=r"got none in row A, column A.*set `kind` to similarity"):
        solve(triangle)
    plan = solve(triangle, kind="similarity")
    assert plan.similarity_digest == solve(ROWS).similarity_digest
    assert len([note for note in plan.notes if "missing" in note]) == 2
    with pytest.raises(ValueError, match="must have a number in every cell") as refused:
        solve(holed(*UPPER), kind="transfer")
    assert "similarity" not in str(refused.value)


def test_a_transfer_table_is_never_mirrored():
    table = TRANSFER.copy()
    table[0, 2] = np.nan
    with pytest.raises(ValueError, match=r"got none in row A, column C. Measure it"):
        solve(table)


def test_a_triangle_of_zeros_is_no_measurement():
    half = np.tril(ROWS)
    for table, side in ((half, "above"), (half.T, "below")):
        with pytest.raises(ValueError, match=f"got only zeros {side} a diagonal of ones"):
            solve(table)
        assert solve(table, kind="similarity").similarity_digest == solve(ROWS).similarity_digest
        assert solve(table, kind="transfer").table == "transfer table, as given"


def test_two_directions_that_differ_are_a_mean_that_is_told():
    table = ROWS.copy()
    table[0, 1] = 0.7
    plan = solve(table, kind="similarity")
    assert "the two directions of a pair differ by up to 0.2: their mean is taken" in plan.notes
    np.testing.assert_allclose(plan.knowledge, solve((table + table.T) / 2).knowledge)
    assert not any("differ" in note for note in solve(table).notes + solve(ROWS, kind="similarity").notes)


def test_kinds_of_whole_tables_are_as_before():
    assert kind_of(ROWS) == SIMILARITY
    assert kind_of(TRANSFER) != SIMILARITY
    assert kind_of(np.eye(1)) == SIMILARITY
    assert completed(GivenTable(ROWS)).notes == ()


def test_the_input_stays_as_it_is():
    table = holed(*UPPER)
    before = table.copy()
    solve(table)
    np.testing.assert_array_equal(table, before)


def test_the_path_of_a_file_is_told_from_a_table():
    for call in (solve, compare):
        with pytest.raises(ValueError, match=r"^`table` must be .* got the text 'table\.xlsx'\. Read a file with"):
            call("table.xlsx")
