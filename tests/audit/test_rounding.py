"""Accuracies that are equal are equal, whatever their sums are rounded to: rounding is neither order nor noise."""

import dataclasses
import itertools

import numpy as np
import pytest

from taskorder.audit.audit import audit_results
from taskorder.audit.comparisons import pair_test
from taskorder.audit.methods import audit_methods
from taskorder.report.checked_audit import checked_audit

from .drawn_results import results


def shuffled(accuracies, shape, rng):
    """The same accuracies of the tasks in every run, in another order: only the rounding of their mean differs."""
    return np.array([[rng.permutation(accuracies) for _ in range(shape[1])] for _ in range(shape[0])])


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (5, 3), (4, 6), (7, 3)])
@pytest.mark.parametrize("accuracies", [[0.1] * 10, [0.7] * 5, [1 / 3] * 7, [0.1, 0.2, 0.3, 0.7, 0.9, 0.6]])
@pytest.mark.parametrize("common_seeds", [True, False])
def test_runs_that_are_all_alike_say_nothing_of_the_order(shape, accuracies, common_seeds):
    same = shuffled(accuracies, shape, np.random.default_rng(0))
    audit = audit_results(results(same, common_seeds=common_seeds), used="1", compare=[("0", "1")])
    assert audit.verdict.startswith("All runs have the same final average accuracy")
    assert [part.variance for part in audit.components] == [0] * len(audit.components)
    assert audit.std == 0
    assert all(score.as_good_as_best for score in audit.orders)
    assert [score.order for score in audit.orders] == [str(order) for order in range(shape[0])]
    assert audit.regret.share_below == 0.5
    assert (audit.pairs[0].difference, audit.pairs[0].p) == (0, 1)


def test_a_report_takes_equal_orders_as_they_are_listed():
    same = shuffled([0.1, 0.2, 0.3, 0.7, 0.9, 0.6], (5, 3), np.random.default_rng(0))
    audit = audit_results(results(same))
    means = [score.mean for score in audit.orders]
    assert means != sorted(means, reverse=True)  # else this would test nothing
    assert checked_audit(audit) == (audit, ())
    swapped = dataclasses.replace(audit, orders=(dataclasses.replace(audit.orders[0], mean=0.0), *audit.orders[1:]))
    assert "The audit does not list its best orders first." in checked_audit(swapped)[1]


def test_a_task_whose_mean_is_the_same_in_every_order_has_no_disparity():
    rng = np.random.default_rng(0)
    by_task = [shuffled([0.1, 0.2, 0.3, 0.7, 0.9, 0.6], (1, 5), rng)[0] for _ in range(2)]  # (orders, seeds)
    audit = audit_results(results(np.stack(by_task, axis=2)))
    assert {part.value for part in (*audit.disparity, audit.aopd, audit.mopd)} == {0}


def test_two_methods_that_are_equal_are_ahead_of_each_other_nowhere():
    rng = np.random.default_rng(1)
    one, other = (shuffled([0.1, 0.2, 0.3, 0.7, 0.9, 0.6], (6, 3), rng) for _ in range(2))
    assert (one.mean(axis=2) != other.mean(axis=2)).any()  # else this would test nothing
    (pair,) = audit_methods({"a": results(one), "b": results(other)}).pairs
    assert (pair.wins, pair.losses, pair.difference, pair.effect) == (0, 0, 0, None)
    assert (pair.p, pair.interaction.p) == (1, 1)
    assert {gap.clear for gap in pair.gaps} == {False}


def test_gains_and_losses_that_cancel_are_a_tie():
    """In each order six seeds gain a point and one loses six, at different heights."""
    rng = np.random.default_rng(2)
    other = rng.integers(20, 80, (6, 7)) / 100
    one = np.round(other + np.array([*[0.01] * 6, -0.06]), 2)
    assert (one.mean(axis=1) != other.mean(axis=1)).any()
    audit = audit_methods({"a": results(one[:, :, None]), "b": results(other[:, :, None])})
    assert (audit.pairs[0].wins, audit.pairs[0].losses) == (0, 0)
    assert [method.best_in for method in audit.methods] == [6, 6]


def test_the_same_difference_in_every_seed_has_no_spread():
    base = np.array([0.31, 0.62, 0.43, 0.94])
    table = np.stack([base, base - 0.07])
    assert np.std(table[0] - table[1]) > 0
    pair = pair_test(table, ("a", "b"), 0, 1)
    assert pair.p == 0
    assert pair.low == pair.high == pytest.approx(0.07)


@pytest.mark.parametrize("shift", [0.1, -0.04, 1 / 3])
def test_orders_that_tie_stay_in_their_order_when_all_accuracies_are_shifted(shift):
    ways = np.array(list(itertools.permutations([0.2, 0.35, 0.4, 0.55])))[:, None]
    audit = audit_results(results(ways + shift))
    assert [score.order for score in audit.orders] == [str(order) for order in range(24)]
