"""Several methods: tests that hold their level for new orders and seeds, and flips that are counted as they are."""

import itertools
import json

import numpy as np
import pytest
from scipy import stats

from taskorder import audit_methods, read_methods
from taskorder.audit.method_pairs import crossed_estimate, hedges_g, holm, interaction_test, method_pair
from taskorder.audit.methods import MethodAudit
from taskorder.audit.results import Results
from taskorder.typed import typed

from .drawn_results import draw

ORDERS = [">".join(way) for way in itertools.permutations("abcd")]


def results(table, *, orders=ORDERS, common_seeds=True):
    """Averages by order and seed."""
    seeds = tuple(map(str, range(table.shape[1])))
    return Results(tuple(orders[: len(table)]), seeds, ("x",), ("x",), table[:, :, None], (), True, common_seeds)


def methods(rng, shape, *, mean=0.0, order=0.0, seed=0.0, rest=0.01**2):
    """Two methods whose difference has this mean and these variances."""
    base = draw(rng, *shape, 0.05**2, 0.01**2, 0.01**2)
    return {"a": results(base + mean + draw(rng, *shape, order, seed, rest) - 0.5), "b": results(base)}


@pytest.mark.parametrize(("order", "seed"), [(0, 0), (1, 0), (0, 0.3), (1, 0.3)])
@pytest.mark.parametrize("shape", [(6, 3), (24, 5)])
def test_equal_methods_are_told_apart_in_one_of_twenty_cases(shape, order, seed):
    """Orders and seeds may both matter for the difference; a t-test over all runs rejects up to half of the time."""
    rng = np.random.default_rng(1)
    rejected = [crossed_estimate(draw(rng, *shape, order, seed, 1.0) - 0.5).p < 0.05 for _ in range(1500)]
    assert 0.005 < np.mean(rejected) < 0.075


def test_intervals_hold_the_true_difference():
    rng = np.random.default_rng(2)
    estimates = [crossed_estimate(draw(rng, 12, 3, 1.0, 0.2, 1.0) - 0.5 + 0.7) for _ in range(1500)]
    assert np.mean([interval.low < 0.7 < interval.high for interval in estimates]) == pytest.approx(0.955, abs=0.02)
    strong = [crossed_estimate(draw(rng, 24, 3, 1.0, 0.0, 1.0) - 0.5 + 1.2) for _ in range(200)]
    assert np.mean([test.p < 0.05 for test in strong]) > 0.9


def test_the_interaction_is_the_f_test_of_the_textbook():
    table = np.random.default_rng(3).standard_normal((5, 4))
    test, noise = interaction_test(table)
    rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    order = 4 * table.mean(axis=1).var(ddof=1)
    assert noise == pytest.approx((rest**2).sum() / 12)
    assert test.f == pytest.approx(order / noise)
    assert test.p == pytest.approx(stats.f.sf(test.f, 4, 12))


def test_single_runs_are_paired_by_order():
    rng = np.random.default_rng(4)
    a, b = rng.uniform(0.5, 0.9, (2, 10, 1))
    pair = method_pair(("a", "b"), results(a), results(b))
    wanted = stats.ttest_rel(a[:, 0], b[:, 0])
    assert (pair.paired, pair.p) == ("orders", pytest.approx(wanted.pvalue))
    assert (pair.low, pair.high) == pytest.approx(tuple(wanted.confidence_interval()))
    assert (pair.interaction, pair.noise_flips, pair.clear_wins) == (None, None, 0)
    assert pair.effect == pytest.approx((a - b).mean() / (a - b).std(ddof=1) * (1 - 3 / 35))


def test_seeds_of_one_order_and_nothing():
    a, b = np.array([[0.5, 0.6, 0.8]]), np.array([[0.4, 0.55, 0.6]])
    pair = method_pair(("a", "b"), results(a), results(b))
    assert (pair.paired, pair.p) == ("seeds", pytest.approx(stats.ttest_rel(a[0], b[0]).pvalue))
    loose = method_pair(("a", "b"), results(a, common_seeds=False), results(b, common_seeds=False))
    assert (loose.paired, loose.p, loose.difference) == ("nothing", None, pytest.approx(0.35 / 3))


def test_holm_is_that_of_the_paper():
    """Holm (1979): the smallest p times the number of tests, the next one times one less, never falling."""
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert holm([0.5, None, 0.9]) == [1.0, None, 1.0]
    assert hedges_g(np.ones(4)) is None


def test_flips_are_counted():
    base = np.full((6, 3), 0.6)
    gaps = np.array([0.05, 0.04, 0.03, 0.02, -0.0001, -0.06])[:, None] + [[0.001, -0.001, 0.0]]
    noise = 0.0005 * np.array([1, -1, 2, -2, 1, -1])[:, None] * [[1, -2, 1]]
    pair = method_pair(("a", "b"), results(base + gaps + noise), results(base))
    assert (pair.wins, pair.losses, pair.clear_wins, pair.clear_losses) == (4, 2, 4, 1)
    assert pair.flips == pytest.approx(2 / 6)
    low, high = stats.beta.ppf([0.025, 0.975], pair.losses + 0.5, 6 - pair.losses + 0.5)
    assert (pair.flips_low, pair.flips_high) == pytest.approx((low, high))
    assert [gap.order for gap in pair.gaps[:3]] == ORDERS[:3]
    audit = audit_methods({"a": results(base + gaps + noise), "b": results(base)})
    assert (
        "The order changes who wins: a is clearly ahead of b in 4 orders and clearly behind in 1, of 6" in audit.verdict
    )


def test_noise_flips_are_what_noise_gives():
    rng = np.random.default_rng(5)
    pairs = [method_pair(("a", "b"), *methods(rng, (24, 2), mean=0.01).values()) for _ in range(400)]
    measured = [pair.flips if pair.difference > 0 else 1 - pair.flips for pair in pairs]
    assert np.mean([pair.noise_flips for pair in pairs]) == pytest.approx(np.mean(measured), abs=0.02)
    assert 0.05 < np.mean(measured) < 0.1


def test_orders_turn_winners_by_chance_in_one_of_twenty_cases():
    rng = np.random.default_rng(6)
    alike = [method_pair(("a", "b"), *methods(rng, (12, 3)).values()) for _ in range(600)]
    assert np.mean([pair.clear_wins + pair.clear_losses > 0 for pair in alike]) < 0.07
    assert np.mean([pair.clear_wins > 0 < pair.clear_losses for pair in alike]) < 0.02
    assert np.mean([pair.interaction.p < 0.05 for pair in alike]) == pytest.approx(0.05, abs=0.02)
    turned = [method_pair(("a", "b"), *methods(rng, (12, 3), order=0.05**2).values()) for _ in range(50)]
    assert np.mean([pair.clear_wins > 0 < pair.clear_losses for pair in turned]) > 0.9


def test_three_methods():
    rng = np.random.default_rng(7)
    several = methods(rng, (24, 3), mean=0.05)
    several["c"] = results(several["b"].whole + 0.001 * rng.standard_normal((24, 3)))
    audit = audit_methods(several)
    assert (audit.methods[0].method, audit.methods[0].best_in, len(audit.pairs)) == ("a", 24, 3)
    assert audit.verdict.startswith("a has the best mean and beats all 2 others beyond chance.")
    assert "p-values have Holm's correction for 3 pairs" in audit.summary()
    assert typed(MethodAudit, json.loads(audit.to_json())) == audit
    for pair in audit.pairs:
        assert pair.p <= pair.p_holm
        assert pair.difference >= 0


def test_what_cannot_be_compared_is_refused(tmp_path):
    single = [{"method": "a", "order": order, "seed": 0, "accuracy": 0.5} for order in ("x>y", "y>x")]
    for runs, said in (
        (single, "`results` must hold two methods or more, got 1. Add a column method"),
        (
            [*single, {**single[0], "method": "b"}],
            "must have two runs or more of each method, got one of 'b'. Run it in other",
        ),
        (
            [*single, *({**single[0], "method": "b", "order": "z", "seed": seed} for seed in (1, 2))],
            "must have the same tasks in every order, got 'z'",
        ),
        (
            [{**row, "order": f"mine {k}", "method": "ab"[k // 2]} for k, row in enumerate([*single, *single])],
            "must have orders that two methods share, got none. Run both in the same orders.",
        ),
    ):
        with pytest.raises(ValueError, match=said.replace("(", r"\(")):
            audit_methods(runs)
    assert list(read_methods(single)) == ["a"]


def test_methods_that_tie_are_both_best():
    table = np.array([[0.5, 0.5], [0.6, 0.6], [0.7, 0.7]])
    ahead = table + np.array([[0.1], [0.0], [0.0]])
    audit = audit_methods({"plain": results(table), "replay": results(ahead)})
    assert [(score.method, score.best_in) for score in audit.methods] == [("replay", 3), ("plain", 2)]
    assert "plain is ahead in 0 of 3 orders, with 2 ties (33.3 %, " in audit.summary()
