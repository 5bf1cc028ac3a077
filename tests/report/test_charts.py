"""What charts show, in Python; and how they are drawn, in a real browser."""

import numpy as np
import pytest

from taskorder.report import charts
from taskorder.report.charts import MOST_CELLS, MOST_COLUMNS, Bar, Line, Mark
from taskorder.report.document import MODULES, script
from taskorder.report.text import number, percent

EXPORTS = (
    "scaleFrom, scaleOf, spreadOut, fitted, textWidth, number, percent, cellColor, lineChart, histogram, ranking, "
    "rowChart, columnChart, scatter, taskMap, heatMap"
)


@pytest.fixture(scope="module")
def draw(browser):
    """A function (JavaScript, argument) -> its value; `charts` holds the functions that draw."""
    page = browser.new_page()
    source = script(*MODULES[:-1])  # all but the page's own
    page.evaluate(f"(source) => {{ window.charts = new Function(source + 'return {{ {EXPORTS} }}')(); }}", source)
    yield lambda code, given=None: page.evaluate(code, given)
    page.close()


def parts_of(draw, name, chart, width=720.0):
    """Every element of a drawing: its name, its attributes and its text, the whole chart first."""
    code = """([name, chart, width]) => {
      const drawn = charts[name]({label: "label", ...chart}, width);
      return [drawn, ...drawn.querySelectorAll("*")].map((part) => ({
        tag: part.tagName, text: part.textContent, at: part.parentNode?.parentNode?.getAttribute?.("transform"),
        ...Object.fromEntries([...part.attributes].map(({ name, value }) => [name, value])),
      }));
    }"""
    return draw(code, [name, chart, width])


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 0.02), (1e-9, 5e-9), (1234.0, 98765.0)])
def test_ticks_are_few_and_inside(draw, low, high):
    ticks = draw("([low, high]) => charts.scaleFrom(low, high, 0, 100).ticks(5)", [low, high])
    assert 2 <= len(ticks) <= 8
    assert low - 1e-12 <= ticks[0]
    assert ticks[-1] <= high * (1 + 1e-9)


def test_whole_ticks_and_log_ticks(draw):
    assert draw("() => charts.scaleFrom(0, 3, 0, 1, { whole: true }).ticks(8)") == [0, 1, 2, 3]
    log, ticks = draw("() => { const s = charts.scaleOf([0.01, 5], 0, 100); return [s.log, s.ticks(5)]; }")
    assert log
    assert ticks[0] == pytest.approx(0.01)
    assert not draw("() => charts.scaleOf([0, 5], 0, 100).log")
    assert draw("() => charts.scaleOf([2, 2 + 1e-15], 0, 100)(2)") == pytest.approx(50)


def test_a_scale_keeps_all_inside(draw):
    low, high, outside = draw("() => [1, 2, -5].map(charts.scaleOf([1, 2], 10, 20))")
    assert 10 < low < high < 20
    assert outside == 10


def test_labels_keep_their_distance(draw):
    heights = draw("() => charts.spreadOut(Array(8).fill(50), 12, 0, 100)")
    assert np.diff(sorted(heights)).min() >= 12 - 1e-9
    assert max(heights) <= 100
    assert draw("() => charts.spreadOut([10, 11, 50], 10, 0, 60)") == [10, 20, 50]


@pytest.mark.parametrize("width", [288.0, 348.0])
def test_a_long_title_of_an_axis_stays_inside(draw, width):
    title = "knowledge: just learned (hollow) and at the end (full)"
    chart = charts.row_chart([Bar("a task with a name", 0.0, 1.0, "best", "")], title, ends=True)
    (part,) = [part for part in parts_of(draw, "rowChart", chart, width) if part.get("class") == "title middle"]
    size = float(part.get("font-size", 12))
    half = draw("([text, size]) => charts.textWidth(text, size)", [part["text"], size]) / 2
    assert size >= 9
    assert half - 1 <= float(part["x"]) <= width - half + 1
    assert part["text"][:40] == title[:40]


def test_long_names_are_cut_to_fit(draw):
    for name in ("x" * 10_000, "猫" * 50, "short", "\N{GRINNING FACE}" * 60):
        assert draw("(name) => charts.textWidth(charts.fitted(name, 80))", name) <= 84
    assert draw("() => charts.fitted('wardrobe', 200)") == "wardrobe"


def test_numbers_are_written_as_in_the_text(draw):
    values = [0.0, 1e-13, 1.0, -2.0, 0.123456, 12345.6, 99994.9, 1.23456e-5, 1e-4, 3e-8, -0.00123456, 1234.6]
    assert draw("(values) => values.map(charts.number)", values) == [number(value) for value in values]
    shares = [0.0, 1.0, 0.5, 0.0123, 0.00004, 0.999, 0.1, -0.25, -0.031]
    assert draw("(shares) => shares.map(charts.percent)", shares) == [percent(share) for share in shares]


def test_cells_tell_signs_apart_and_leave_out_the_diagonal(draw):
    table = np.array([[1.0, 0.5, -0.5], [0.5, 1.0, 0.0], [-0.5, 0.0, 1.0]])
    code = """async (chart) => {
      const href = charts.heatMap({label: "", ...chart}, 720).querySelector("image").getAttribute("href");
      const image = new Image();
      image.src = href;
      await image.decode();
      const pen = Object.assign(document.createElement("canvas"), {width: image.width, height: image.height})
        .getContext("2d");
      pen.drawImage(image, 0, 0);
      return [...pen.getImageData(0, 0, image.width, image.height).data];
    }"""
    for warm in (False, True):
        chart = charts.heat_map(table, [2, 0, 1], ["c", "a", "b"], "similarity", warm=warm)
        assert chart["top"] == 0.5
        pixels = np.array(draw(code, chart)).reshape(3, 3, 4)
        blue, vermilion = [0, 114, 178, 255], [213, 94, 0, 255]
        assert pixels[0, 1].tolist() == (blue if warm else vermilion)
        assert pixels[1, 2].tolist() == (vermilion if warm else blue)
        assert pixels[0, 2, 3] == 0
        assert pixels[1, 1, 3] == 90


def test_large_tables_are_shown_in_blocks_without_the_diagonal():
    n = 2 * MOST_CELLS
    cells = charts.heat_map(np.eye(n), list(range(n)), [str(i) for i in range(n)], "")
    assert np.shape(cells["values"]) == (MOST_CELLS, MOST_CELLS)
    assert not np.any(cells["values"])
    assert cells["names"][1] == "steps 3 to 4"
    table = np.arange(n * n, dtype=float).reshape(n, n)
    blocks = charts.heat_map(table, list(range(n)), [], "")
    assert blocks["values"][0][1] == pytest.approx(table[:2, 2:4].mean(), rel=1e-3)
    assert table[1, 1] == n + 1  # the table itself keeps its diagonal


def test_many_columns_become_blocks(draw):
    rows = [Bar(str(i), 0.0, float(i), "optimal", "") for i in range(1000)]
    chart = charts.column_chart(rows, ("x", "y"))
    assert len(chart["columns"]) <= MOST_COLUMNS
    assert "mean" in chart["columns"][0]["tip"]
    bars = [part for part in parts_of(draw, "columnChart", chart) if part.get("class") == "bar s-optimal"]
    assert len(bars) == len(chart["columns"])


def test_a_histogram_counts_every_order():
    values = np.random.default_rng(0).random(500) + 0.1
    for scale in (1.0, np.linspace(0.001, 50, 500)):
        counts = charts.histogram(values * scale, [Mark("a", "worst", 2.0, "")], "x")["counts"]
        assert sum(counts) == 500
    assert sum(charts.histogram(np.full(7, 0.3), [], "x")["counts"]) == 7


def test_long_lines_keep_their_ends():
    values = np.linspace(5, 1, 2001)
    (line,) = charts.line_chart([Line("a", "optimal", values)], None, ("x", "y"))["lines"]
    assert len(line["steps"]) <= 301
    assert (line["steps"][0], line["steps"][-1], line["values"][-1]) == (0, 2000, 1.0)


@pytest.mark.parametrize("width", [720.0, 344.0])
def test_drawings_stay_on_the_paper(draw, width):
    rng = np.random.default_rng(0)
    values = np.sort(rng.random(12))[::-1] * 5
    lines = [Line(f"rule {i}", "optimal", values * (1 + i / 9), ["tip"] * 12 if i == 0 else ()) for i in range(8)]
    band = np.quantile(values * rng.random((30, 1)), [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)
    marks = [Mark("a name", "worst", float(v), "tip") for v in values]
    rows = [Bar(f"name {i}", 0.0, float(v), "optimal", "tip", (v - 0.1, v + 0.1)) for i, v in enumerate(values)]
    for name, chart in (
        ("lineChart", charts.line_chart(lines, band, ("x", "y"))),
        ("histogram", charts.histogram(values, marks, "x")),
        ("ranking", charts.ranking(values, marks, ("x", "y"), 0.1 * values)),
        ("rowChart", charts.row_chart(rows, "x")),
        ("scatter", charts.scatter_chart(values, values, [], ("x", "y"))),
    ):
        whole, *parts = parts_of(draw, name, chart, width)
        height = float(whole["viewBox"].split()[3])
        assert not any("NaN" in value for part in parts for value in part.values() if value)
        for key, most in (("x", width), ("cx", width), ("y", height), ("cy", height)):
            places = [float(part[key]) for part in parts if key in part]
            assert all(0 <= place <= most for place in places)
        assert any("x" in part for part in parts)


def test_labels_on_the_map_do_not_overlap(draw):
    names = [f"task {i}" for i in range(12)]
    chart = charts.map_chart(np.random.default_rng(1).standard_normal((12, 2)), range(12), names)
    labels = [part for part in parts_of(draw, "taskMap", chart) if part.get("class", "").startswith("name ")]
    assert sorted(part["text"] for part in labels) == sorted(names)
    boxes = []
    for part in labels:
        at_x, at_y = map(float, part["at"].removeprefix("translate(").removesuffix(")").split())
        wide = draw("(text) => charts.textWidth(text)", part["text"])
        left = at_x + float(part["x"]) - {"start": 0, "middle": wide / 2, "end": wide}[part["class"].split()[1]]
        below = at_y + float(part["y"])
        boxes.append((left, below - 9, left + wide, below + 2))
        assert left >= 0
        assert left + wide <= 720
    for i, (a, b, c, d) in enumerate(boxes):
        assert all(c <= e + 0.1 or a >= g - 0.1 or d <= f or b >= h for e, f, g, h in boxes[:i])


@pytest.mark.parametrize("width", [348.0, 720.0])
def test_a_map_of_thirty_tasks_lists_the_names_below(draw, width):
    names = [f"task number {i}" for i in range(30)]
    order = list(range(28))
    chart = charts.map_chart(np.random.default_rng(1).standard_normal((30, 2)), order, names)
    assert chart["marks"][26:] == ["27", "28", "a", "b"]
    whole, *parts = parts_of(draw, "taskMap", chart, width)
    listed = [part for part in parts if part.get("class") == "name start"]
    assert [part["text"] for part in listed] == [*names[28:], *names[:28]]
    dots = [float(part["at"].split()[1].rstrip(")")) for part in parts if part.get("class", "").startswith("stop")]
    at = np.array([[float(part["x"]), float(part["y"])] for part in listed])
    assert at[:, 1].min() - 12 > max(dots)
    assert at[:, 1].max() < float(whole["viewBox"].split()[3])
    wide = draw("(name) => charts.textWidth(name)", names[-1])
    for i, place in enumerate(at):
        apart = np.abs(at[:i] - place)
        assert ((apart[:, 0] >= wide) | (apart[:, 1] >= 15)).all()
    assert at[:, 0].max() + wide <= width


def test_an_outlier_does_not_squeeze_the_scale_and_is_marked(draw):
    table = np.full((8, 8), 0.1) + 0.02 * np.arange(8)
    assert charts.heat_map(table, range(8), list("abcdefgh"), "")["top"] == 0.3
    table[1, 6] = -9.0
    chart = charts.heat_map(table, range(8), list("abcdefgh"), "")
    assert chart["top"] == 0.3
    assert chart["beyond"] == "1 cell beyond the scale, with a dot: up to \N{MINUS SIGN}9"
    parts = parts_of(draw, "heatMap", chart)
    frame = next(part for part in parts if part.get("class") == "frame")
    side, left, top = (float(frame[key]) for key in ("width", "x", "y"))
    (dot,) = [part for part in parts if part.get("class") == "beyond"]
    assert float(dot["cx"]) == pytest.approx(left + 6.5 / 8 * side, abs=0.1)
    assert float(dot["cy"]) == pytest.approx(top + 1.5 / 8 * side, abs=0.1)
    assert chart["beyond"] in [part["text"] for part in parts]


def test_a_row_that_stands_out_is_no_outlier():
    table = np.full((12, 12), 0.01)
    table[11] = 0.9
    chart = charts.heat_map(table, range(12), [""] * 12, "")
    assert (chart["top"], chart["beyond"]) == (0.9, "")


@pytest.mark.parametrize(("count", "width"), [(3, 348.0), (30, 348.0), (30, 720.0), (150, 720.0)])
def test_heat_maps_have_labels_of_rows_and_columns_that_do_not_overlap(draw, count, width):
    names = [f"{k + 1}. task number {k}" for k in range(count)]
    chart = charts.heat_map(np.eye(count), range(count), names, "")
    parts = parts_of(draw, "heatMap", chart, width)
    columns = [part for part in parts if part.get("class") == "tick middle column"]
    half = 0.5 * draw("(text) => charts.textWidth(text)", columns[-1]["text"])
    at = np.array([float(part["x"]) for part in columns])
    assert np.diff(at).min() > 2 * half
    assert at[-1] + half <= width
    rows = [part for part in parts if part.get("class") in ("name end", "tick end")]
    sizes = [float(part.get("font-size", 12)) for part in rows]
    heights = [float(part["y"]) for part in rows if float(part["y"]) > 44]
    assert min(sizes) >= 9
    assert np.diff(heights).min() >= 0.95 * min(sizes)
    assert len(heights) >= min(count, 3)


def test_no_dot_of_the_map_hides_another(draw):
    crowd = np.random.default_rng(2).standard_normal((12, 2))
    crowd[6:] = crowd[0] + 0.01 * crowd[6:]
    crowd[11] = crowd[10]
    chart = charts.map_chart(crowd, range(12), [f"task {i}" for i in range(12)])
    parts = parts_of(draw, "taskMap", chart, 344.0)
    height = float(parts[0]["viewBox"].split()[3])
    dots = [part["at"] for part in parts if part.get("class", "").startswith("stop")]
    at = np.array([[float(v) for v in dot.removeprefix("translate(").removesuffix(")").split()] for dot in dots])
    distances = np.hypot(*(at[:, None] - at).transpose(2, 0, 1))
    assert at.shape == (12, 2)
    assert distances[~np.eye(12, dtype=bool)].min() >= 18
    assert ((at >= 9) & (at <= [344 - 9, height - 9])).all()
