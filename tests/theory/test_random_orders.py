import math
import time
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder import chain, expected_random_error, final_error
from taskorder.theory.closed_form import output_factor
from taskorder.theory.law import final_score
from taskorder.theory.random_orders import (
    SUBSET_LIMIT,
    expected_random_score,
    listed_errors,
    orders_in_groups,
    sampled_errors,
    uniform_orders,
)


@given(st.integers(1, 5), st.integers(0, 10**6), st.booleans())
def test_listing_equals_one_by_one(make_correlation, num_tasks, seed, shared):
    rng = np.random.default_rng(seed)
    C = make_correlation(num_tasks, seed)
    Co = None if shared else make_correlation(num_tasks, seed + 1)
    weights = rng.uniform(0.1, 2, num_tasks)
    expected = [final_error(C, order, Co, weights) for order in permutations(range(num_tasks))]
    listed = listed_errors(C, output_factor(Co, num_tasks), weights)
    np.testing.assert_allclose(listed, expected, atol=1e-12)
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
    sampled = expected_random_error(C, num_samples=1)
    assert (sampled.std, sampled.sem) == (0, np.inf)


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


def transfer_table(num_tasks, seed):
    """An asymmetric transfer table, weights and a retention for each task."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.5, 1, (num_tasks, num_tasks)), rng.uniform(0.1, 2, num_tasks), rng.uniform(0, 1, num_tasks)


@given(st.integers(1, 6), st.integers(0, 10**6), st.booleans())
def test_moments_of_the_score_equal_all_orders_one_by_one(num_tasks, seed, single):
    S, weights, d = transfer_table(num_tasks, seed)
    d = d[0] if single else d
    start = np.random.default_rng(seed + 1).uniform(0, 1, num_tasks)
    scores = [final_score(S, order, d, weights, start=start) for order in permutations(range(num_tasks))]
    record = expected_random_score(S, d, weights, start=start)
    assert record.mean == pytest.approx(np.mean(scores), abs=1e-12)
    assert record.std == pytest.approx(np.std(scores), abs=1e-12)
    assert (record.exact, record.count, record.sem) == (True, len(scores), 0)


@given(st.integers(1, 5), st.integers(0, 10**6))
def test_errors_below_full_retention_equal_all_orders_one_by_one(num_tasks, seed):
    S, weights, d = transfer_table(num_tasks, seed)
    errors = [final_error(S, order, weights=weights, retention=d) for order in permutations(range(num_tasks))]
    record = expected_random_error(S, weights=weights, retention=d)
    assert record.mean == pytest.approx(np.mean(errors), rel=1e-12)
    assert record.std == pytest.approx(np.std(errors), abs=1e-12)
    assert (record.exact, record.count) == (True, len(errors))


def test_larger_tables_are_sampled():
    S, weights, d = transfer_table(SUBSET_LIMIT + 1, 5)
    score = expected_random_score(S, d, weights, num_samples=4000, seed=2)
    error = expected_random_error(S, weights=weights, retention=d, num_samples=400, seed=2)
    assert (score.exact, score.count, error.exact, error.count) == (False, 4000, False, 400)
    rng = np.random.default_rng(9)
    orders = [rng.permutation(len(S)) for _ in range(1000)]
    scores = [final_score(S, order, d, weights) for order in orders]
    errors = [final_error(S, order, weights=weights, retention=d) for order in orders]
    assert abs(score.mean - np.mean(scores)) < 4 * np.hypot(score.sem, np.std(scores) / np.sqrt(1000))
    assert abs(error.mean - np.mean(errors)) < 4 * np.hypot(error.sem, np.std(errors) / np.sqrt(1000))


def test_full_retention_gives_the_same_numbers_as_without_it():
    C = chain(6, 0.6)
    assert expected_random_error(C, retention=1) == expected_random_error(C)
    assert expected_random_error(C, retention=[1.0] * 6) == expected_random_error(C)
    with pytest.raises(ValueError, match="`output` must be left out"):
        expected_random_error(C, C, retention=0.5)
    with pytest.raises(ValueError, match="`similarity` must be symmetric"):
        expected_random_error(np.triu(C), retention=1)


@given(st.integers(2, 6), st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 1.0]))
def test_groups_leave_the_orders_that_keep_them(num_tasks, seed, retention):
    S = transfer_table(num_tasks, seed)[0]
    S = (S + S.T) / 2 if retention == 1 else S
    np.fill_diagonal(S, 1.0)
    groups = [[0, num_tasks - 1]] if seed % 2 else [[1, 0], list(range(2, num_tasks))][: 1 + (num_tasks > 2)]
    orders = [
        order
        for order in permutations(range(num_tasks))
        if all(max(map(order.index, group)) - min(map(order.index, group)) < len(group) for group in groups)
    ]
    error = expected_random_error(S, retention=retention, groups=groups)
    score = expected_random_score(S, retention, groups=groups)
    assert error.count == score.count == len(orders)
    assert error.exact
    assert score.exact
    errors = [final_error(S, order, retention=retention) for order in orders]
    scores = [final_score(S, order, retention=retention) for order in orders]
    assert (error.mean, error.std) == pytest.approx((np.mean(errors), np.std(errors)), abs=1e-9)
    assert (score.mean, score.std) == pytest.approx((np.mean(scores), np.std(scores)), abs=1e-9)


def test_random_orders_that_keep_groups_are_drawn_alike():
    together = np.array([0, 1, 0, 3, 1, 0])
    drawn = uniform_orders(6, 7200, np.random.default_rng(0), together)
    counts = Counter(map(tuple, drawn.tolist()))
    assert set(counts) == set(map(tuple, orders_in_groups(together).tolist()))
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 72 + 5 * math.sqrt(144)
    large = expected_random_error(chain(30, 0.5), groups=[range(10)], num_samples=40)
    assert (large.count, large.exact) == (40, False)
    assert expected_random_score(chain(30, 0.5), 0.2, groups=[range(10)], num_samples=40).count == 40
