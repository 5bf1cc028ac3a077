"""Numbers that are none, and numbers too large for a float, at the doors that everything passes."""

import numpy as np
import pytest

from taskorder import Task, chain, final_error, pilot_sample, simulate, solve
from taskorder.audit.audit import audit_results
from taskorder.checks import to_float, whole

HUGE = 10**400
C = chain(3, 0.5)


def test_numbers_and_what_is_none():
    assert [to_float(value) for value in (2, np.float32(0.5), -HUGE)] == [2.0, 0.5, -np.inf]
    assert all(np.isnan(to_float(value)) for value in (True, np.True_, "2", b"2", None, [2], 1j))
    assert [whole(value) for value in (2, np.int8(2), True, 2.0, "2", None)] == [2, 2, None, None, None, None]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: chain(True, 0.5), "`num_tasks` must be a positive integer, got True"),
        (lambda: chain(HUGE, 0.5), r"`num_tasks` must be at most 2\*\*53"),
        (lambda: chain(3, "0.5"), "`a` must be a similarity"),
        (lambda: chain(3, HUGE), "`a` must be a similarity"),
        (lambda: solve([[1, HUGE], [HUGE, 1]], retention=1), "`table` must be a square table of numbers"),
        (lambda: solve(C, weights=[1, HUGE, 1], retention=1), "`weights` must be 3 numbers"),
        (lambda: solve(C, first=True, retention=1), r"`first` must list task indices, got \[True\]"),
        (lambda: solve(C, seed=False, retention=1), "`seed` must be a nonnegative integer, got False"),
        (lambda: solve(C, time_limit="3", retention=1), "`time_limit` must be a positive number"),
        (lambda: final_error(C, [True, False, 2]), "`order` must list task indices"),
        (lambda: simulate(C, [0, 1, 2], steps=HUGE), r"`steps` must be at most 2\*\*53"),
        (lambda: simulate(C, [0, 1, 2], learning_rate=HUGE), "`learning_rate` must be above 0 and below"),
        (lambda: simulate(C, [0, 1, 2], learning_rate="1"), "`learning_rate` must be above 0 and below .*, got '1'"),
        (lambda: Task("a", [[0, HUGE]], [1]), "must be one row of numbers for each example, got ragged rows"),
        (lambda: pilot_sample([], None), "`pilot` must be a share above 0"),
        (lambda: audit_results(None, difference="3"), "`difference` must be above 0 and below 1 .*, got '3'"),
    ],
)
def test_odd_numbers_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_no_limit_on_time_is_larger_than_any():
    assert solve(C, time_limit=HUGE, retention=1).options["time_limit"] is None
