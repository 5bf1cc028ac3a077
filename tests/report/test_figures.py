"""Parts of the drawings: scales, heat maps, labels."""

import io
import re

import numpy as np
import pytest

from taskorder.report.figures.axes import Scale, fitted, scale, spread_out, text_width
from taskorder.report.figures.heat import MOST_CELLS, grid, png
from taskorder.report.figures.lines import Line, line_chart
from taskorder.report.figures.places import path_map
from taskorder.report.figures.rows import MOST_COLUMNS, Row, column_chart
from taskorder.report.figures.spread import Mark, histogram


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 0.02), (1e-9, 5e-9), (1234.0, 98765.0)])
def test_ticks_are_few_and_inside(low, high):
    ticks = Scale(low, high, 0, 100).ticks(5)
    assert 2 <= len(ticks) <= 8
    assert low - 1e-12 <= ticks[0]
    assert ticks[-1] <= high * (1 + 1e-9)


def test_whole_ticks_and_log_ticks():
    assert Scale(0, 3, 0, 1, whole=True).ticks(8) == [0, 1, 2, 3]
    logarithmic = scale([0.01, 5.0], 0, 100)
    assert logarithmic.log
    assert logarithmic.ticks(5)[0] == pytest.approx(0.01)
    assert not scale([0.0, 5.0], 0, 100).log
    assert scale([2.0, 2.0 + 1e-15], 0, 100)(2.0) == pytest.approx(50)


def test_a_scale_keeps_all_inside():
    place = scale([1.0, 2.0], 10, 20)
    assert 10 < place(1.0) < place(2.0) < 20
    assert place(-5.0) == 10


def test_labels_keep_their_distance():
    places = spread_out([50.0] * 8, 12.0, 0.0, 100.0)
    assert np.diff(sorted(places)).min() >= 12 - 1e-9
    assert max(places) <= 100


def test_long_names_are_cut_to_fit():
    for name in ("x" * 10_000, "猫" * 50, "short"):
        assert text_width(fitted(name, 80)) <= 84


def test_the_picture_has_a_pixel_a_cell_and_tells_signs_apart():
    image = pytest.importorskip("PIL.Image")
    table = np.array([[1.0, 0.5, -0.5], [0.5, 1.0, 0.0], [-0.5, 0.0, 1.0]])
    pixels = np.asarray(image.open(io.BytesIO(png(grid(table, [2, 0, 1], ["c", "a", "b"])))))
    assert pixels.shape == (3, 3, 4)
    assert pixels[0, 1].tolist() == [213, 94, 0, 255]
    assert pixels[1, 2].tolist() == [0, 114, 178, 255]
    assert pixels[0, 2, 3] == 0
    warm = np.asarray(image.open(io.BytesIO(png(grid(table, [2, 0, 1], ["c", "a", "b"], warm=True)))))
    assert warm[0, 1].tolist() == [0, 114, 178, 255]


def test_large_tables_are_shown_in_blocks_without_the_diagonal():
    n = 2 * MOST_CELLS
    cells = grid(np.eye(n), list(range(n)), [str(i) for i in range(n)])
    assert cells.values.shape == (MOST_CELLS, MOST_CELLS)
    assert not cells.values.any()
    assert cells.names[1] == "steps 3 to 4"
    table = np.arange(n * n, dtype=float).reshape(n, n)
    assert grid(table, list(range(n)), []).values[0, 1] == table[:2, 2:4].mean()


def test_many_columns_become_blocks():
    rows = [Row(str(i), 0.0, float(i), "optimal", "") for i in range(1000)]
    drawn = column_chart(rows, 720, "label", ("x", "y"))
    assert drawn.count('class="bar') <= MOST_COLUMNS
    assert "mean" in drawn


@pytest.mark.parametrize("width", [720.0, 344.0])
def test_drawings_stay_on_the_paper(width):
    rng = np.random.default_rng(0)
    values = np.sort(rng.random(12))[::-1] * 5
    lines = [Line(f"rule {i}", "optimal", values * (1 + i / 9)) for i in range(8)]
    band = np.quantile(values * rng.random((30, 1)), [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)
    marks = [Mark("a name", "worst", float(v), "tip") for v in values]
    for drawn in (
        line_chart(lines, band, width, "label", ("x", "y")),
        histogram(values, marks, width, "label", "x"),
    ):
        height = float(re.search(r'viewBox="0 0 \S+ (\S+)"', drawn)[1])
        for key, most in (("x", width), ("cx", width), ("y", height), ("cy", height)):
            found = [float(value) for value in re.findall(rf' {key}="([-\d.]+)"', drawn)]
            assert found
            assert min(found) >= 0
            assert max(found) <= most


def test_labels_on_the_map_do_not_overlap():
    names = [f"task number {i}" for i in range(25)]
    drawn = path_map(np.random.default_rng(1).standard_normal((25, 2)), range(25), names, 720, "label")
    stop = r'translate\(([\d.]+) ([\d.]+)\)" data-tip.*?<text x="([-\d.]+)" y="([-\d.]+)" class="name (\w+)">([^<]+)'
    labels = [found for found in re.findall(stop, drawn) if found[4] != "crowded"]
    assert len(labels) > 12
    boxes = []
    for at_x, at_y, x, y, anchor, name in labels:
        wide, below = text_width(name), float(at_y) + float(y)
        left = float(at_x) + float(x) - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        boxes.append((left, below - 9, left + wide, below + 2))
        assert left >= 0
        assert left + wide <= 720
    for i, (a, b, c, d) in enumerate(boxes):
        assert all(c <= e or a >= g or d <= f or b >= h for e, f, g, h in boxes[:i])
