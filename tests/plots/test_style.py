"""Colors, dashes and marks: who gets which, and that they can be told apart."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from taskorder.ordering.solve import RULES
from taskorder.plots.draw import draw
from taskorder.plots.style import CATEGORIES, CYCLE, ROLES, looks

from .figures import line, make, panel, texts


def test_every_rule_has_a_look_of_its_own():
    assert set(RULES) <= set(ROLES)
    for role, other in itertools.combinations(ROLES.values(), 2):
        assert role.color != other.color
        assert (role.dash, role.mark, role.width) != (other.dash, other.mark, other.width)
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
    ((first, second, marks),) = looks([panel(line("a", "best"), line("b", "best"), line("c", "best", style="points"))])
    assert first.color == second.color == marks.color
    assert first.dash != second.dash
    assert marks == first


def test_an_unknown_role_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"`role` must be empty or one of periphery-to-core, .*, got 'bset'\."):
        draw(make(panel(line("a", "bset"))))


def test_many_series_are_colored_along_a_scale_with_a_sparse_legend():
    picture = draw(make(panel(*[line(f"pair {k}", slope=k) for k in range(21)], line("zero", "reference"))))
    (axes,) = picture.axes
    assert texts(picture.legends[0]) == ["pair 0", "pair 20", "zero"]
    light = [np.dot(to_rgb(drawn.get_color()), (0.2126, 0.7152, 0.0722)) for drawn in axes.lines[:21]]
    assert (np.diff(light) > 0).all()


def test_a_dozen_series_are_told_apart_with_a_full_legend():
    labels = [f"family {k}" for k in range(12)]
    picture = draw(make(panel(*[line(label, slope=k) for k, label in enumerate(labels)])))
    (axes,) = picture.axes
    assert texts(picture.legends[0]) == labels
    assert len({drawn.get_color() for drawn in axes.lines}) == 12
    assert len({drawn.get_marker() for drawn in axes.lines}) == 12
