"""The renderer: what the axes hold after drawing, and the files that it writes."""

import dataclasses
import itertools
import re
import struct
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb, to_rgba

from taskorder.figuredata import FigureData, Heatmap, Panel, Series
from taskorder.ordering.solve import RULES
from taskorder.plots.draw import draw, save
from taskorder.plots.panel import wrap
from taskorder.plots.style import CATEGORIES, CYCLE, ROLES, looks


def make(*panels: Panel, name: str = "figure", columns: int = 0) -> FigureData:
    return FigureData(name=name, title="A figure", panels=panels, checks=(), config={}, columns=columns)


def panel(*series: Series, **more) -> Panel:
    return Panel("title", "time (steps)", "error", series, **more)


def line(label: str = "", role: str = "", slope: float = 1.0, **more) -> Series:
    return Series(label, (0.0, 1.0, 2.0), (0.5, 0.5 + slope, 0.5 + 2 * slope), role=role, **more)


def heat(**more) -> Panel:
    values = ((0.0, 1.0, 2.0), (1.0, None, -3.0))
    return Panel("map", "x", "y", heatmap=Heatmap(values, (1.0, 2.0, 3.0), (1.0, 2.0), **more))


def texts(legend) -> list[str]:
    return [text.get_text() for text in legend.get_texts()]


def everything() -> FigureData:
    """A figure with every feature."""
    band = {"low": (0.1, None, 0.2), "high": (0.9, None, 3.0)}
    return make(
        panel(line("a", "best", **band), line("b", style="bars", **band), steps=("first", "second")),
        panel(line("c", style="points", **band), line("d", "background"), x_scale="linear", y_scale="log"),
        heat(),
        heat(diverging=True, upward=False),
        Panel("kinds", "x", "y", heatmap=Heatmap(((0, 1), (None, 2)), (1, 10), (0, 1), categories=("p", "q", "r"))),
    )


def test_labels_titles_and_scales_are_those_given():
    picture = draw(make(panel(line("a"), x_scale="linear", y_scale="log")))
    (axes,) = picture.axes
    assert picture.get_suptitle() == "A figure"
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("title", "time (steps)", "error")
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "log")
    assert [artist.get_text() for artist in axes.texts] == []


def test_several_panels_carry_letters_and_wrap_beyond_four():
    picture = draw(make(*[panel(line("a")) for _ in range(5)]))
    assert [axes.texts[0].get_text() for axes in picture.axes] == list("abcde")
    rows = [axes.get_subplotspec().rowspan.start for axes in picture.axes]
    assert rows == [0, 0, 0, 1, 1]
    one_row = draw(make(*[panel(line("a")) for _ in range(5)], columns=5))
    assert {axes.get_subplotspec().rowspan.start for axes in one_row.axes} == {0}


def test_pictures_are_narrow_enough_to_read_at_800_pixels():
    for count in range(1, 8):
        picture = draw(make(*[panel(line("a label")) for _ in range(count)]))
        pixels_of_smallest_text = 8 / 72 * 800 / picture.get_figwidth()
        assert pixels_of_smallest_text > 8


def test_every_rule_has_a_look_of_its_own():
    assert set(RULES) <= set(ROLES)
    for one, other in itertools.combinations(ROLES.values(), 2):
        assert one.color != other.color
        assert (one.dash, one.mark, one.width) != (other.dash, other.mark, other.width)
    assert len({look.color for look in CYCLE}) == len(CYCLE)
    assert len({(look.dash, look.mark) for look in CYCLE}) == len(CYCLE)


# how a color appears without one kind of cone, in linear RGB (Machado, Oliveira and Fernandes 2009)
BLINDNESS = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
}


def lab(color: str, seen: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of a color as seen through `seen`."""
    rgb = np.array(to_rgb(color))
    linear = np.clip(seen @ np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4), 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ linear / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def closest(colors, seen) -> float:
    return min(np.linalg.norm(lab(a, seen) - lab(b, seen)) for a, b in itertools.combinations(colors, 2))


@pytest.mark.parametrize("kind", BLINDNESS)
def test_colors_differ_for_color_blind_eyes(kind):
    seen = np.array(BLINDNESS[kind])
    rules = [ROLES[role].color for role in RULES]
    assert closest(rules, seen) > 15
    assert closest([look.color for look in CYCLE], seen) > 15
    assert closest(CATEGORIES, seen) > 10
    assert closest(["#FF0000", "#00C000", *rules], seen) < 15, "the measure must see a bad pair"


def test_roles_keep_their_colors_and_the_rest_takes_free_ones():
    (axes,) = draw(make(panel(line("b", "best"), line("x"), line("r", "core-to-periphery"), line("y")))).axes
    colors = [drawn.get_color() for drawn in axes.lines]
    assert colors[0] == ROLES["best"].color
    assert colors[2] == ROLES["core-to-periphery"].color
    assert len(set(colors)) == 4
    assert CYCLE[0].color == ROLES["core-to-periphery"].color, "the first of the cycle is taken here"


def test_a_label_keeps_its_look_from_panel_to_panel():
    first, second = looks([panel(line("a"), line("b")), panel(line("b"), line("c"), line("a"))])
    assert second[0] == first[1]
    assert second[2] == first[0]
    assert len({look.color for look in second}) == 3


def test_a_color_means_one_label_while_colors_last():
    pages = looks([panel(line("a"), line("b")), panel(line("c")), panel(*[line(f"{k}") for k in range(8)])])
    assert len({look.color for look in pages[0] + pages[1]}) == 3
    assert len({look.color for look in pages[2]}) == 8


def test_lines_of_one_role_differ_by_dash():
    ((one, other, marks),) = looks([panel(line("a", "best"), line("b", "best"), line("c", "best", style="points"))])
    assert one.color == other.color == marks.color
    assert one.dash != other.dash
    assert marks == one


def test_an_unknown_role_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"`role` must be empty or one of periphery-to-core, .*, got 'bset'\."):
        draw(make(panel(line("a", "bset"))))


def test_none_leaves_a_gap():
    (axes,) = draw(make(panel(Series("a", (0, 1, 2), (1.0, None, 3.0))))).axes
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [1, np.nan, 3])


@pytest.mark.parametrize(("style", "alpha", "num_caps"), [("line", 0.2, 0), ("bars", None, 2), ("points", 0.35, 0)])
def test_intervals_are_bands_bars_or_faint_bars(style, alpha, num_caps):
    (axes,) = draw(make(panel(line("a", style=style, low=(0.0, 0.5, None), high=(1.0, 2.0, None))))).axes
    (interval,) = axes.collections
    corners = np.concatenate([path.vertices for path in interval.get_paths() if len(path.vertices)])
    corners = corners[np.isfinite(corners).all(axis=1)]
    assert {(0.0, 0.0), (0.0, 1.0), (1.0, 0.5), (1.0, 2.0)} <= set(map(tuple, corners.tolist()))
    assert corners[:, 0].max() == 1, "the third point has no interval"
    assert interval.get_alpha() == alpha
    # the ends of an error bar are lines of their own
    assert len(axes.lines) == 1 + num_caps
    assert (axes.lines[-1].get_linestyle() == "None") == (style == "points")


def test_an_interval_need_not_contain_its_value():
    (axes,) = draw(make(panel(Series("a", (0.0,), (5.0,), (1.0,), (2.0,), style="bars")))).axes
    assert axes.collections[0].get_paths()[0].vertices.tolist() == [[0, 1], [0, 2]]


def test_step_names_are_centered_between_thin_lines():
    (axes,) = draw(make(panel(line("a"), steps=("A", "B", "C")))).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["A", "B", "C"]
    assert axes.get_xticks().tolist() == [0.5, 1.5, 2.5]
    assert axes.get_xlim() == (0, 3)
    edges = [drawn.get_xdata()[0] for drawn in axes.lines[1:]]
    assert edges == [0, 1, 2, 3]


def test_long_step_names_are_turned():
    for names, angle in ((("A", "B"), 0), (("a very long name of a task",) * 4, 40)):
        (axes,) = draw(make(panel(line("a"), steps=names))).axes
        assert {label.get_rotation() for label in axes.get_xticklabels()} == {angle}


def test_background_is_one_artist_below_the_rest_and_sets_the_limits():
    wide = line("all orders", "background", slope=10)
    (axes,) = (picture := draw(make(panel(line("best", "best"), wide, line("", "background"))))).axes
    (crowd,) = axes.collections
    assert len(crowd.get_segments()) == 2
    assert crowd.get_rasterized()
    assert crowd.get_zorder() < axes.lines[0].get_zorder()
    assert len(axes.lines) == 1
    assert axes.get_ylim()[1] > 20
    assert sorted(texts(picture.legends[0])) == ["all orders", "best"]


def test_many_series_are_colored_along_a_scale_with_a_sparse_legend():
    picture = draw(make(panel(*[line(f"pair {k}", slope=k) for k in range(21)], line("zero", "reference"))))
    (axes,) = picture.axes
    assert texts(picture.legends[0]) == ["pair 0", "pair 20", "zero"]
    light = [np.dot(to_rgb(drawn.get_color()), (0.2126, 0.7152, 0.0722)) for drawn in axes.lines[:21]]
    assert (np.diff(light) > 0).all()


@pytest.mark.parametrize("role", ["", "background"])
@pytest.mark.parametrize("style", ["line", "bars", "points"])
def test_nothing_to_show_is_no_failure(style, role):
    nothing = (None,) * 40
    blank = Series("blank", tuple(range(40)), nothing, nothing, nothing, role, style)
    empty = Series("empty", (), (), (), (), role, style)
    gap = Panel("", "", "", heatmap=Heatmap(((None, None),), (1.0, 2.0), (1.0,)))
    log = panel(blank, x_scale="log", y_scale="log")
    picture = draw(make(panel(blank), log, panel(empty), gap))
    picture.draw_without_rendering()
    assert len(picture.axes) == 4


def test_log_axes_name_the_whole_numbers_of_the_data():
    few = Series("a", (3, 10, 200), (1.0, 2.0, 3.0))
    (axes,) = draw(make(panel(few, x_scale="log"))).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["3", "10", "200"]
    (axes,) = draw(make(panel(Series("a", (7,), (1.0,), style="points"), x_scale="log"))).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["7"]
    crowded = Series("a", tuple(range(1, 90)), (1.0,) * 89)
    (axes,) = draw(make(panel(crowded, x_scale="log"))).axes
    assert len(axes.get_xticks()) < 10


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
def test_names_of_ticks_do_not_overlap(columns):
    sizes = (3, 5, 7, 10, 15, 20, 30, 50, 100, 200)
    many = Series("a", sizes, (1.0,) * len(sizes))
    picture = draw(make(*[panel(many, x_scale="log")] * columns, columns=columns))
    picture.draw_without_rendering()
    for axes in picture.axes:
        assert axes.get_xticks().tolist() == list(sizes)
        boxes = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
        assert len(boxes) >= 5
        assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_a_dozen_series_are_told_apart_with_a_full_legend():
    labels = [f"family {k}" for k in range(12)]
    picture = draw(make(panel(*[line(label, slope=k) for k, label in enumerate(labels)])))
    (axes,) = picture.axes
    assert texts(picture.legends[0]) == labels
    assert len({drawn.get_color() for drawn in axes.lines}) == 12
    assert len({drawn.get_marker() for drawn in axes.lines}) == 12


def test_a_map_of_numbers_has_a_color_bar_and_white_gaps():
    picture = draw(make(heat()))
    (axes,) = picture.axes
    (cells,) = axes.collections
    assert cells.get_clim() == (-3, 2)
    assert np.ma.getmaskarray(cells.get_array()).tolist() == [[False] * 3, [False, True, False]]
    picture.draw_without_rendering()
    assert cells.get_facecolor()[4, 3] == 0, "a masked cell shows the white behind it"
    (bar,) = axes.child_axes
    assert bar.get_ylim() == (-3, 2)
    assert picture.legends == []


def test_a_diverging_map_is_white_at_zero_and_balanced():
    (axes,) = draw(make(heat(diverging=True))).axes
    (cells,) = axes.collections
    assert cells.get_clim() == (-3, 3)
    assert min(cells.cmap(cells.norm(0.0))[:3]) > 0.95
    red, _, blue, _ = cells.cmap(cells.norm(3.0))
    assert red > blue


def test_cells_lie_at_their_centers_and_rows_go_the_way_asked():
    for upward in (True, False):
        (axes,) = draw(make(heat(upward=upward))).axes
        corners = axes.collections[0].get_coordinates()
        assert corners[0, :, 0].tolist() == [0.5, 1.5, 2.5, 3.5]
        assert corners[:, 0, 1].tolist() == [0.5, 1.5, 2.5]
        low, high = axes.get_ylim()
        assert (low < high) == upward


def test_cells_of_a_log_axis_meet_half_way_in_ratio():
    wide = Panel("map", "x", "y", heatmap=Heatmap(((1.0, 2.0, 3.0),), (1, 10, 100), (0.0,)), x_scale="log")
    (axes,) = draw(make(wide)).axes
    np.testing.assert_allclose(axes.collections[0].get_coordinates()[0, :, 0], 10.0 ** np.array([-0.5, 0.5, 1.5, 2.5]))


def test_a_line_over_a_map_has_a_rim():
    (axes,) = draw(make(dataclasses.replace(heat(), series=(line("border", "reference"),)))).axes
    assert len(axes.lines[0].get_path_effects()) == 1
    (plain,) = draw(make(panel(line("border", "reference")))).axes
    assert plain.lines[0].get_path_effects() == []


def test_categories_share_one_legend_with_their_colors():
    kinds = Heatmap(((0, 1), (None, 1)), (0.0, 1.0), (0.0, 1.0), categories=("A, B", "B, A", "equal"))
    picture = draw(make(Panel("1", "x", "y", heatmap=kinds), Panel("2", "x", "y", heatmap=kinds)))
    (legend,) = picture.legends
    assert texts(legend) == ["A, B", "B, A", "equal"]
    assert [patch.get_facecolor() for patch in legend.get_patches()] == [to_rgba(color) for color in CATEGORIES[:3]]
    picture.draw_without_rendering()
    shown = picture.axes[0].collections[0].get_facecolor()
    assert shown[1].tolist() == list(to_rgba(CATEGORIES[1]))


def test_one_legend_serves_panels_with_the_same_labels_and_looks():
    same = draw(make(panel(line("a", "best"), line("b")), panel(line("b"), line("a", "best"))))
    assert [texts(legend) for legend in same.legends] == [["a", "b"]]
    assert [axes.get_legend() for axes in same.axes] == [None, None]
    differ = draw(make(panel(line("a", "best"), line("b")), panel(line("b"), line("a", "worst")), panel(line())))
    assert differ.legends == []
    assert [axes.get_legend() and texts(axes.get_legend()) for axes in differ.axes] == [["a", "b"], ["b", "a"], None]


def test_a_legend_serves_the_panels_to_its_right_that_it_covers():
    two, one, other = panel(line("a"), line("b")), panel(line("b")), panel(line("c"))
    picture = draw(make(two, one, one, other, columns=2))
    shown = [axes.get_legend() and texts(axes.get_legend()) for axes in picture.axes]
    assert shown == [["a", "b"], None, ["b"], ["c"]]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_long_titles_stay_inside_the_picture(count):
    wordy = Panel("40 random matrices of 7 tasks", "progress of a task in its training", "error", (line(),))
    picture = draw(make(*[wordy] * count))
    picture.draw_without_rendering()
    for text in [text for axes in picture.axes for text in (axes.title, axes.xaxis.label)]:
        box = text.get_window_extent()
        assert picture.bbox.x0 <= box.x0 < box.x1 <= picture.bbox.x1


def test_legends_hide_no_data():
    for panels in ([panel(line("a"))], [panel(line("a"))] * 2, [panel(line("a")), panel(line("b"), steps=("x" * 40,))]):
        picture = draw(make(*panels))
        picture.draw_without_rendering()
        legends = picture.legends + [axes.get_legend() for axes in picture.axes if axes.get_legend()]
        assert legends
        for legend, axes in itertools.product(legends, picture.axes):
            box = legend.get_window_extent()
            assert not box.overlaps(axes.bbox)
            assert not any(box.overlaps(label.get_window_extent()) for label in axes.get_xticklabels())
            assert not box.overlaps(axes.xaxis.label.get_window_extent())
            assert picture.bbox.x0 <= box.x0 < box.x1 <= picture.bbox.x1


def test_wrapped_text_keeps_its_words_and_balances_its_lines():
    text = "error relative to the mean of random periphery-to-core orders"
    lines = wrap(text, 3).splitlines()
    assert " ".join(lines) == text
    assert [len(line) > 25 for line in lines] == [True, True]
    assert wrap("$a$ " + text, 1) == "$a$ " + text
    assert wrap("short", 1) == "short"


def test_drawing_changes_no_global_setting():
    before = dict(matplotlib.rcParams)
    draw(everything())
    assert dict(matplotlib.rcParams) == before


def test_files_have_the_right_names_and_nothing_is_left_behind(tmp_path):
    folder = tmp_path / "new" / "folder"
    png, svg = save(make(panel(line("a")), name="fig9z"), folder, "-quick")
    assert (png, svg) == (folder / "fig9z-quick.png", folder / "fig9z-quick.svg")
    assert sorted(folder.iterdir()) == [png, svg]
    content = png.read_bytes()
    assert content.startswith(b"\x89PNG")
    assert b"Software" not in content
    assert struct.unpack(">I", content[16:20])[0] >= 800
    text = svg.read_text()
    assert "time (steps)" in text, "text stays text"
    assert "dc:date" not in text


def test_drawing_again_gives_the_same_bytes_whatever_the_settings_of_the_user(tmp_path):
    first = [path.read_bytes() for path in save(everything(), tmp_path)]
    read_back = FigureData.from_json(everything().to_json())
    with matplotlib.rc_context({"font.size": 20, "axes.grid": True, "svg.fonttype": "path"}):
        assert [path.read_bytes() for path in save(read_back, tmp_path)] == first


def test_other_numbers_give_other_bytes(tmp_path):
    first, second = ([path.read_bytes() for path in save(make(panel(line("a", slope=k))), tmp_path)] for k in (1, 2))
    assert first[0] != second[0]
    assert first[1] != second[1]


def test_a_failed_drawing_leaves_the_old_file(tmp_path, monkeypatch):
    paths = save(make(panel(line("a"))), tmp_path)
    old = [path.read_bytes() for path in paths]

    def fail(self, target):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        save(make(panel(line("b"))), tmp_path)
    assert [path.read_bytes() for path in paths] == old
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_hundreds_of_curves_keep_the_svg_small(tmp_path):
    x = np.linspace(0, 1, 100)
    curves = [tuple((7 * (1 - x) ** (1 + k / 350) + 0.3 * np.sin(k) * x).tolist()) for k in range(700)]
    crowd = [Series("", tuple(x.tolist()), curve, role="background") for curve in curves]
    _, svg = save(make(panel(*crowd, Series("mean", tuple(x.tolist()), curves[350], role="random"))), tmp_path)
    assert svg.stat().st_size < 150_000
    assert len(re.findall("<image ", svg.read_text())) == 1


def test_without_matplotlib_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ValueError, match=r'^Drawing needs matplotlib\. Install it with: pip install "taskorder\[plot\]"\.$'
    ):
        draw(make(panel(line("a"))))


def test_importing_the_renderer_loads_no_matplotlib_and_drawing_no_pyplot():
    code = (
        "import sys, taskorder.plots.draw as d; from taskorder.figuredata import *;"
        "print('matplotlib' in sys.modules);"
        "d.draw(FigureData('a', 'a', (Panel('', '', ''),), (), {})); print('matplotlib.pyplot' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.split() == ["False", "False"]
