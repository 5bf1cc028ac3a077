import time
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder import chain, expected_random_error, final_error
from taskorder.theory.closed_form import output_factor
from taskorder.theory.random_orders import listed_errors, sampled_errors


@given(st.integers(1, 5), st.integers(0, 10**6), st.booleans())
def test_listing_equals_one_by_one(make_correlation, num_tasks, seed, shared):
    rng = np.random.default_rng(seed)
    C = make_correlation(num_tasks, seed)
    Co = None if shared else make_correlation(num_tasks, seed + 1)
    weights = rng.uniform(0.1, 2, num_tasks)
    expected = [final_error(C, order, Co, weights) for order in permutations(range(num_tasks))]
    found = listed_errors(C, output_factor(Co, num_tasks), weights)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    record = expected_random_error(C, Co, weights)
    assert record.exact
    assert (record.count, record.sem) == (len(expected), 0)
    assert record.mean == pytest.approx(np.mean(expected), abs=1e-12)
    assert record.std == pytest.approx(np.std(expected), abs=1e-7)


def test_sampling_agrees_with_listing(make_correlation):
    C, Co, weights = make_correlation(6, 1), make_correlation(6, 2, 3), np.arange(1.0, 7.0)
    R = output_factor(Co, 6)
    everything = listed_errors(C, R, weights)
    sample = sampled_errors(C, R, weights, 4000, np.random.default_rng(3))
    assert abs(sample.mean() - everything.mean()) < 4 * everything.std() / np.sqrt(4000)
    # each sampled value is the error of some order
    nearest = np.abs(everything[:, None] - sample[None, :200]).min(axis=0)
    assert nearest.max() < 1e-12


def test_large_sizes_are_sampled_with_a_standard_error():
    C = chain(30, 0.6)
    record = expected_random_error(C, num_samples=500, seed=7)
    assert not record.exact
    assert record.count == 500
    assert record.sem == pytest.approx(record.std / np.sqrt(500))
    assert record == expected_random_error(C, num_samples=500, seed=7)
    assert record != expected_random_error(C, num_samples=500, seed=8)
    one = expected_random_error(C, num_samples=1)
    assert (one.std, one.sem) == (0, np.inf)


@pytest.mark.slow("time")
def test_the_largest_listing_is_quick():
    start = time.perf_counter()
    record = expected_random_error(chain(9, 0.6))
    # about 0.1 s on one idle core; the limit only guards against a change of method
    assert time.perf_counter() - start < 3
    assert (record.exact, record.count) == (True, 362_880)


def test_no_rounding_below_zero():
    assert expected_random_error(np.ones((5, 5))).mean == 0
    assert listed_errors(np.ones((5, 5)), np.ones((1, 5)), np.full(5, 0.1)).min() >= 0


@pytest.mark.parametrize(("option", "value"), [("num_samples", 0), ("seed", -1), ("num_samples", 1.5)])
def test_bad_options_are_refused(option, value):
    with pytest.raises(ValueError, match=f"`{option}`"):
        expected_random_error(np.eye(2), **{option: value})
