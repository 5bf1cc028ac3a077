"""Plain JSON values become records, or the place that does not fit is named."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from taskorder.typed import Misfit, typed


@dataclass(frozen=True)
class Point:
    x: float
    name: str = ""


@dataclass(frozen=True)
class Path:
    points: tuple[Point, ...]
    kind: Literal["open", "closed"]
    size: tuple[int, float]
    center: Point | None = None
    more: Mapping[str, Any] | None = None


GOOD = {"points": [{"x": 1}, {"x": 0.5, "name": "b"}], "kind": "open", "size": [3, 2.5], "more": {"any": [None]}}


def test_values_become_records():
    assert typed(Path, GOOD) == Path((Point(1), Point(0.5, "b")), "open", (3, 2.5), None, {"any": [None]})
    assert typed(Path, {**GOOD, "center": {"x": -1.0}}).center == Point(-1.0)


def test_whole_numbers_stay_unless_they_are_huge():
    assert [type(typed(float, value)) for value in (1, 1.0, 10**300)] == [int, float, float]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"points": [{"x": 1}, {"x": "far"}]}, r"'far' at points\[1\]\.x"),
        ({"points": {}}, "{} at points"),
        ({"points": [{"y": 1}]}, r"an unknown key 'y' at points\[0\]"),
        ({"points": [{}]}, r"no key 'x' at points\[0\]"),
        ({"points": [{"x": float("nan")}]}, r"nan at points\[0\]\.x"),
        ({"points": [{"x": 10**400}]}, r"1000.*… at points\[0\]\.x"),
        ({"kind": "ajar"}, "'ajar' at kind"),
        ({"size": [3]}, r"\[3\] at size"),
        ({"size": [True, 1.0]}, r"True at size\[0\]"),
        ({"center": []}, r"\[\] at center"),
        ({"more": 3}, "3 at more"),
    ],
)
def test_the_place_is_named(change, said):
    with pytest.raises(Misfit, match=said):
        typed(Path, {**GOOD, **change})


def test_the_top_has_a_name_too():
    with pytest.raises(Misfit, match="None at the top"):
        typed(Path, None)
