import numpy as np
import pytest
from scipy import stats as reference

from taskorder.stats import bootstrap_interval, mean_and_sem, share_interval


def test_mean_and_sem_along_an_axis():
    values = np.random.default_rng(0).standard_normal((7, 3))
    mean, sem = mean_and_sem(values)
    np.testing.assert_allclose(mean, values.mean(axis=0))
    np.testing.assert_allclose(sem, reference.sem(values))
    assert np.isnan(mean_and_sem([1.0])[1])


@pytest.mark.parametrize(("wins", "trials"), [(3, 10), (0.5, 4), (99, 100)])
def test_share_interval_is_the_jeffreys_interval(wins, trials):
    low, high = share_interval(wins, trials)
    beta = reference.beta(wins + 0.5, trials - wins + 0.5)
    assert (low, high) == pytest.approx((beta.ppf(0.025), beta.ppf(0.975)))


def test_share_interval_at_the_ends_and_bad_input():
    assert share_interval(0, 5)[0] == 0
    assert share_interval(5, 5)[1] == 1
    for wins, trials in ((6, 5), (-1, 5), (0, 0)):
        with pytest.raises(ValueError, match="`wins` must be between 0 and `trials`"):
            share_interval(wins, trials)


def test_bootstrap_interval_covers_a_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    hits = 0
    for seed in range(300):
        low, high = bootstrap_interval(rng.exponential(1.0, 60), lambda x: x.mean(axis=1), seed=seed, num_resamples=400)
        hits += low < 1 < high
    assert 0.88 < hits / 300 < 0.98


def test_bootstrap_interval_is_seeded_and_needs_two_values():
    values = np.arange(10.0)
    first, second = (bootstrap_interval(values, lambda x: x.mean(axis=1), seed=4) for _ in range(2))
    assert first == second
    with pytest.raises(ValueError, match="at least 2 observations"):
        bootstrap_interval([1.0], lambda x: x.mean(axis=1))
