import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.claims import Claim, FigureData
from taskorder.plots.records import Heatmap, Panel, Series

NUMBERS = st.integers(-(10**6), 10**6).map(lambda thousandths: thousandths / 1000)


@st.composite
def figures(draw) -> FigureData:
    x = tuple(draw(st.lists(NUMBERS, min_size=1, max_size=4)))
    y = tuple(draw(st.one_of(st.none(), NUMBERS)) for _ in x)
    series = Series("a", x, y, low=draw(st.sampled_from([None, y])), role="random", style="bars")
    heat = Heatmap(((1.0, None), (0.5, 2.0)), (0.0, 1.0), (0.0, 1.0), categories=("one", "two"))
    panels = (
        Panel("p", "x", "y", (series,), y_scale="log", steps=("1st", "2nd")),
        Panel("q", "x", "y", heatmap=heat),
    )
    check = Claim("c", "ours", "found", draw(st.one_of(st.none(), NUMBERS)), None, 1.0, "not reproduced")
    return FigureData("f", "t", panels, (check,), {"num_tasks": [1, 2]}, notes=("n",), made={"seconds": 0.5})


@given(figures())
def test_json_round_trip(figure):
    assert FigureData.from_json(figure.to_json()) == figure


def test_numbers_keep_seven_digits():
    figure = FigureData("f", "t", (Panel("p", "x", "y", (Series("", (1 / 3,), (2e-9 / 3,)),)),), (), {})
    series = json.loads(figure.to_json())["panels"][0]["series"][0]
    assert series["x"] == [0.3333333]
    assert series["y"] == [6.666667e-10]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"panels": 3}', '{"panels": [], "checks": [], "notes": [], "odd": 1}']
)
def test_other_json_is_refused(text):
    with pytest.raises(ValueError, match=r"`text` must be JSON written by FigureData\.to_json"):
        FigureData.from_json(text)


def test_a_verdict_is_one_of_four():
    with pytest.raises(
        ValueError, match="`verdict` must be one of reproduced, not reproduced, undecided, not tested, got 'sure'"
    ):
        Claim("c", "ours", "f", None, None, None, "sure")  # type: ignore[arg-type]
