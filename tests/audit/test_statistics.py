"""Known variances come back, intervals cover, tests keep their level, and numbers of runs suffice."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder.audit.comparisons import order_test, pair_test, regret_of, scores
from taskorder.audit.components import crossed_split, design_of, nested_split
from taskorder.audit.disparity import disparities
from taskorder.audit.power import POWER, needs, power_of, runs_needed

from .drawn_results import draw

NUM = 300
"""Simulations; a coverage of 95 % has a standard error of 1.3 points."""


def test_components_are_those_of_the_analysis_of_variance():
    table = draw(np.random.default_rng(3), 7, 4, 1e-3, 5e-4, 2e-4)
    split = crossed_split(table)
    pairs = {
        "seed": np.mean([(row[i] - row[j]) ** 2 / 2 for row in table for i, j in itertools.permutations(range(4), 2)]),
        "order": np.mean(
            [(col[i] - col[j]) ** 2 / 2 for col in table.T for i, j in itertools.permutations(range(7), 2)]
        ),
        "both": np.mean(
            [
                (table[a, s] - table[b, t]) ** 2 / 2
                for a, b in itertools.permutations(range(7), 2)
                for s, t in itertools.permutations(range(4), 2)
            ]
        ),
    }
    # half the mean squared difference of runs that share the order, the seed, or neither
    assert split.variance("order") == pytest.approx(pairs["both"] - pairs["seed"])
    assert split.variance("seed") == pytest.approx(pairs["both"] - pairs["order"])
    assert split.variance("rest") == pytest.approx(pairs["seed"] + pairs["order"] - pairs["both"])
    assert sum(part.share for part in split.components) == pytest.approx(1)


@pytest.mark.parametrize(("orders", "seeds", "variances"), [(10, 3, (1.0, 0.2, 0.5)), (6, 6, (0.3, 0.0, 1.0))])
def test_intervals_cover_the_truth(orders, seeds, variances):
    rng = np.random.default_rng(0)
    hits, estimates = np.zeros((2, 3)), []
    for number in range(NUM):
        split = crossed_split(draw(rng, orders, seeds, *variances), seed=number)
        estimates.append([part.variance for part in split.components])
        for place, (part, truth) in enumerate(zip(split.components, variances, strict=True)):
            hits[0, place] += part.low <= truth <= part.high
            hits[1, place] += part.share_low <= truth / sum(variances) <= part.share_high
    assert (hits / NUM > 0.915).all(), hits / NUM
    assert hits.min() < NUM  # an interval that always covers says nothing
    np.testing.assert_allclose(np.mean(estimates, axis=0), variances, atol=0.08)


def test_intervals_of_runs_within_orders_cover_too():
    rng = np.random.default_rng(1)
    hits = np.zeros(2)
    for number in range(NUM):
        table = np.sqrt(0.5) * rng.standard_normal((8, 1)) + rng.standard_normal((8, 4))
        missing = rng.random((8, 4)) < 0.3
        missing[:, 0] = missing[0, 1] = False  # a run for every order, and two for one of them
        table[missing] = np.nan
        split = nested_split(table, seed=number)
        hits += [part.low <= truth <= part.high for part, truth in zip(split.components, (0.5, 1.0), strict=True)]
    assert (hits / NUM > 0.9).all(), hits / NUM


def test_the_tests_keep_their_level():
    """With orders that are all alike, the F-test and Tukey's find a difference in 5 % of the tables."""
    rng = np.random.default_rng(2)
    rejected = np.zeros(2)
    for _ in range(NUM):
        table = draw(rng, 6, 4, 0.0, 0.5, 1.0)
        split = crossed_split(table)
        rejected += [
            order_test(split).p < 0.05,
            not all(s.as_good_as_best for s in scores(table, tuple("abcdef"), split)),
        ]
    assert (rejected / NUM < 0.09).all(), rejected / NUM
    assert (rejected > 0).all()


def test_a_range_of_alike_orders_is_noise_and_one_of_different_orders_is_not():
    rng = np.random.default_rng(4)
    ranges = []
    for number in range(40):
        accuracy = rng.standard_normal((1, 4, 3)) + rng.standard_normal((8, 4, 3))
        parts, average, largest = disparities(accuracy, tuple("xyz"), replicated=True, crossed=True, seed=number)
        assert average.value == pytest.approx(np.mean([part.value for part in parts]))
        assert largest.value == max(part.value for part in parts)
        ranges.append([average.value, average.noise, largest.value, largest.noise])
    means = np.mean(ranges, axis=0)
    assert means[1] == pytest.approx(means[0], rel=0.07)
    assert means[3] == pytest.approx(means[2], rel=0.07)
    shifted = accuracy + 5 * np.arange(8)[:, None, None]
    _, average, _ = disparities(shifted, tuple("xyz"), replicated=True, crossed=True)
    assert average.value > 30
    assert average.noise == pytest.approx(means[1], rel=0.5)


def test_the_true_regret_lies_between_the_two_estimates():
    rng = np.random.default_rng(5)
    truth = np.linspace(0, 1, 8)
    observed, validated = [], []
    for _ in range(NUM):
        estimate = regret_of(truth[:, None] + rng.standard_normal((8, 4)), tuple("abcdefgh"), 2, crossed=True)
        observed.append(estimate.observed)
        validated.append(estimate.cross_validated)
    regret = truth.max() - truth[2]
    assert np.mean(validated) + 0.05 < regret < np.mean(observed) - 0.05


def test_the_number_of_runs_is_enough_and_no_more():
    """Simulated t-tests find the difference as often as promised."""
    from scipy.special import stdtrit

    rng = np.random.default_rng(6)
    order, seed, rest, gap = 2.0, 0.5, 1.0, 1.5
    asked = needs(order, seed, rest, gap, paired=True)
    trials = 2000
    for seeds, orders in asked.orders[:2]:
        scale = np.sqrt(order + (seed + rest) / seeds)
        a, b = (scale * rng.standard_normal((trials, orders)) for _ in range(2))
        pooled = np.sqrt((a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / orders)
        significant = np.abs(a.mean(axis=1) - b.mean(axis=1) + gap) / pooled > stdtrit(2 * orders - 2, 0.975)
        assert np.mean(significant) == pytest.approx(POWER, abs=0.04)
    pairs = gap + np.sqrt(2 * rest) * rng.standard_normal((trials, asked.seeds))
    tested = [pair_test(np.stack([row, 0 * row]), ("a", "b"), 0, 1).p < 0.05 for row in pairs]
    assert np.mean(tested) > POWER - 0.03
    assert (
        power_of(asked.seeds - 1, 2 * rest, gap, paired=True)
        < POWER
        <= power_of(asked.seeds, 2 * rest, gap, paired=True)
    )


@given(st.floats(1e-6, 10), st.floats(0.01, 3), st.booleans())
def test_the_number_of_runs_is_the_smallest(variance, gap, paired):
    num = runs_needed(variance, gap, paired=paired)
    assert power_of(num, variance, gap, paired=paired) >= POWER
    assert num <= 2 or power_of(num - 1, variance, gap, paired=paired) < POWER


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # of SciPy before 1.14
def test_the_power_is_that_of_the_noncentral_t():
    from scipy import stats

    for num, gap, paired in ((2, 0.5, True), (5, 1.0, False), (17, 1.0, False), (40, 0.3, True)):
        freedom, shift = (num - 1) * (1 if paired else 2), gap * np.sqrt(num / 2)
        limit = stats.t.ppf(0.975, freedom)
        truth = stats.nct.sf(limit, freedom, shift) + stats.nct.cdf(-limit, freedom, shift)
        assert power_of(num, 2.0, gap, paired=paired) == pytest.approx(truth, abs=1e-4)


def test_differences_too_small_for_a_million_runs():
    assert runs_needed(1.0, 1e-6, paired=False) is None
    assert runs_needed(0.0, 0.1, paired=True) == 2


def test_the_paired_test_is_that_of_scipy():
    from scipy import stats

    rng = np.random.default_rng(7)
    table = rng.standard_normal((2, 9))
    ours, theirs = pair_test(table, ("a", "b"), 0, 1), stats.ttest_rel(table[0], table[1])
    assert ours.p == pytest.approx(theirs.pvalue)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval()))
    apart = np.full((2, 9), np.nan)
    apart[0, :4], apart[1, 4:] = table[0, :4], table[1, 4:]
    ours, theirs = pair_test(apart, ("a", "b"), 0, 1), stats.ttest_ind(table[0, :4], table[1, 4:], equal_var=False)
    assert (ours.p, ours.num_pairs) == (pytest.approx(theirs.pvalue), 0)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval()))


def test_missing_runs():
    table = np.ones((4, 3))
    assert design_of(table)[0] == "crossed"
    table[2, 1] = np.nan
    design, rows, columns = design_of(table)
    assert (design, rows.tolist(), columns.tolist()) == ("crossed", [0, 1, 3], [0, 1, 2])
    own = np.full((3, 6), np.nan)  # every order has two seeds of its own
    own[[0, 0, 1, 1, 2, 2], range(6)] = 1
    assert design_of(own)[0] == "nested"
    assert design_of(own[:, ::2])[0] == "one seed"
    assert design_of(table[:1])[0] == "one order"
    assert design_of(table[:1, :1])[0] == "one run"


def test_adding_to_an_order_or_a_seed_changes_only_their_component():
    table = draw(np.random.default_rng(8), 5, 4, 1.0, 1.0, 1.0)
    base, shifted = crossed_split(table), crossed_split(table + np.linspace(0, 9, 4))
    assert shifted.order_f == pytest.approx(base.order_f)
    assert shifted.variance("order") == pytest.approx(base.variance("order"))
    assert shifted.variance("seed") > base.variance("seed") + 1


# reading
