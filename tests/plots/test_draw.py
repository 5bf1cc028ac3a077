"""The whole picture: titles, legends, and the files that are written."""

import itertools
import re
import struct
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgba

from taskorder.plots.draw import draw, save
from taskorder.plots.records import Heatmap, Panel, Series
from taskorder.plots.style import CATEGORIES

from .figures import everything, line, make, panel, texts


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
    first, second, third = panel(line("a"), line("b")), panel(line("b")), panel(line("c"))
    picture = draw(make(first, second, second, third, columns=2))
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
    with matplotlib.rc_context({"font.size": 20, "axes.grid": True, "svg.fonttype": "path"}):
        assert [path.read_bytes() for path in save(everything(), tmp_path)] == first


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
        "import sys, taskorder.plots.draw as d; from taskorder.plots.records import *;"
        "print('matplotlib' in sys.modules);"
        "d.draw(Drawing('a', 'a', (Panel('', '', ''),))); print('matplotlib.pyplot' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["False", "False"]
