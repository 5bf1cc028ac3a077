"""Verdicts by interval, and the places where curves cross a level."""

import numpy as np
import pytest

from reproduction.claims import inside, together, verdict
from reproduction.fitting import crossings


@pytest.mark.parametrize(
    ("ends", "bounds", "expected"),
    [
        ((0.8, 0.9), {"below": 1}, "reproduced"),
        ((0.9, 1.1), {"below": 1}, "undecided"),
        ((1.0, 1.0), {"below": 1}, "not reproduced"),
        ((0.5, 0.9, 1.1), {"above": 0.8, "below": 1.2}, "reproduced"),
        ((0.5, 0.7, 1.1), {"above": 0.8, "below": 1.2}, "undecided"),
        ((0.5, 0.7, 1.3), {"above": 0.8, "below": 1.2}, "undecided"),
        ((0.5, 1.3, 1.4), {"above": 0.8, "below": 1.2}, "not reproduced"),
        ((-0.2, 0.0), {"above": 0}, "not reproduced"),
        ((np.nan, np.nan), {"above": 0}, "undecided"),
    ],
)
def test_the_whole_interval_decides(ends, bounds, expected):
    assert inside(ends, **bounds) == expected


def test_parts_decide_together():
    assert together(["reproduced", "reproduced"]) == "reproduced"
    assert together(["reproduced", "not tested"]) == "undecided"
    assert together(["undecided", "not reproduced", "reproduced"]) == "not reproduced"
    assert together([]) == "undecided"
    assert verdict(holds=False, fails=False) == "undecided"


def test_crossings():
    x = np.array([0.0, 1.0, 3.0])
    assert crossings(x, np.array([0.0, 2.0, -2.0]), level=1.0) == [0.5, 1.5]
    assert crossings(x, np.array([2.0, 3.0, 4.0]), level=1.0) == []
