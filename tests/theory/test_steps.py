"""The retention of each task from its number of steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder.theory.law import PLAIN_RETENTION
from taskorder.theory.steps import retention_for_steps

STEPS = st.lists(st.floats(1, 1e6), min_size=1, max_size=8)
INNER = st.floats(0.01, 0.99)


@given(STEPS, INNER, st.floats(1, 1e6), st.floats(0, 2))
def test_odds_fall_as_a_power_of_the_steps(steps, d, reference_steps, b):
    scaled = retention_for_steps(steps, d, reference_steps, exponent=b)
    odds = d / (1 - d) * (np.array(steps) / reference_steps) ** -b
    assert scaled == pytest.approx(odds / (1 + odds), rel=1e-9)


@given(INNER, st.integers(1, 6))
def test_equal_tasks_have_the_reference(d, count):
    assert retention_for_steps([30] * count, d) == pytest.approx([d] * count)


@given(STEPS, INNER, st.floats(0.1, 10))
def test_only_ratios_of_steps_count_where_their_mean_is_the_reference(steps, d, factor):
    assert retention_for_steps(np.array(steps) * factor, d) == pytest.approx(retention_for_steps(steps, d), rel=1e-9)


def test_a_longer_task_takes_more_away():
    d = retention_for_steps([10, 100, 1000])
    assert d[0] > d[1] > d[2]
    assert d[1] == pytest.approx(PLAIN_RETENTION)


@pytest.mark.parametrize("d", [0, 1])
def test_the_ends_stay(d):
    assert retention_for_steps([1, 1e6], d, 5).tolist() == [d, d]


def test_extreme_steps_stay_inside():
    d = retention_for_steps([1e-300, 1e300], 0.5, 1, exponent=5)
    assert d[0] == 1
    assert 0 <= d[1] < 1e-300


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), r"`steps` must be one positive number for each task, got \[\]\."),
        (([1, 0],), r"`steps` must be one positive number for each task, got \[1, 0\]\."),
        ((5,), r"`steps` must be one positive number for each task, got 5\."),
        ((["many"],), r"`steps` must be one positive number"),
        (([1, 2], 1.5), r"`reference` must be a retention in \[0, 1\], got 1\.5\."),
        (([1, 2], 0.1, 0), r"`reference_steps` must be a positive number, got 0\."),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        retention_for_steps(*arguments)


def test_a_bad_exponent_is_refused():
    with pytest.raises(ValueError, match=r"`exponent` must be a finite number of at least 0, got -1\."):
        retention_for_steps([1, 2], exponent=-1)
