"""One panel: what its axes hold after drawing."""

import dataclasses
import itertools

import numpy as np
import pytest

from taskorder.plots.draw import draw
from taskorder.plots.panel import wrap
from taskorder.plots.records import Heatmap, Panel, Series

from .figures import heat, line, make, panel, texts


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


def test_wrapped_text_keeps_its_words_and_balances_its_lines():
    text = "error relative to the mean of random periphery-to-core orders"
    lines = wrap(text, 3).splitlines()
    assert " ".join(lines) == text
    assert [len(line) > 25 for line in lines] == [True, True]
    assert wrap("$a$ " + text, 1) == "$a$ " + text
    assert wrap("short", 1) == "short"
