"""Rules among all orders, on results with known answers; every claim can turn."""

import numpy as np
import pytest

from reproduction import image_claims as claims
from reproduction.image_results import (
    CURVATURE,
    LAST,
    MEAN,
    PAIRS,
    PATHS,
    TYPICALITY,
    Sets,
    gains_by_last,
    headroom,
    one_way,
    order_scores,
    position_shares,
    rank_correlations,
    rule_orders,
    scores,
    truth_of,
)
from taskorder.ordering.rules import typicality

P = 4


def sets_of(truths, min_sets=2, label="Made up"):
    return Sets(label, len(truths), min_sets, tuple(truths))


@pytest.fixture
def make_sets(make_result, make_similarity):
    """A function (count, accuracy(C, order, rng), ...) -> Sets of random similarity matrices."""

    def make(count, accuracy, min_sets=2, label="Made up", more=(), first=0):
        truths = []
        for number in range(first, first + count):
            C, rng = make_similarity(P, number), np.random.default_rng([number, 1])
            by_estimate = {"test": C} | {name: change(C, rng) for name, change in dict(more).items()}
            truths.append(truth_of(make_result(number, by_estimate, lambda o, C=C, r=rng: accuracy(C, o, r)), 0, 0))
        return sets_of(truths, min_sets, label)

    return make


def by_typicality(slope, noise=0.0):
    """Accuracy that rises (falls) with the typicality of late tasks."""
    return lambda C, order, rng: (
        0.6 + slope * float(typicality(C)[list(order)] @ np.arange(P)) / P + noise * rng.standard_normal()
    )


# reading


def test_sets_with_some_orders_join_those_with_all(make_result, make_similarity):
    whole = truth_of(make_result(0, make_similarity(P, 0), lambda order: 0.5 + 0.1 * order[0]), 0, 0)
    C, some = make_similarity(P, 1), [(0, 1, 2, 3), (3, 2, 1, 0)]
    chosen = rule_orders(truth_of(make_result(1, C, lambda order: 0.5), 0, 0), "test")
    some += [order for rule, orders in chosen.items() if rule != LAST for order in orders if order not in some]
    part = truth_of(make_result(1, C, lambda order: 0.5 + 0.1 * order[0], some), 0, 2)
    assert (whole.whole, part.whole) == (True, False)
    by_rule = scores(sets_of([whole, part]), "test")
    assert LAST in scores(sets_of([whole]), "test")
    assert LAST not in by_rule
    assert by_rule[MEAN].accuracy == pytest.approx([65, 65])
    assert by_rule[TYPICALITY[0]].gain == pytest.approx(
        [truth.at(rule_orders(truth, "test")[TYPICALITY[0]][0]) - 65 for truth in (whole, part)]
    )


def test_a_truth_knows_its_orders_and_their_mean(make_result, make_similarity):
    C = make_similarity(3, 0)
    truth = truth_of(make_result(7, C, lambda order: 0.5 + 0.1 * order[0]), 1, 0)
    assert (truth.number, truth.seed, truth.whole, len(truth.orders)) == (7, 1, True, 6)
    assert truth.mean == pytest.approx(60)
    assert truth.best == pytest.approx(70)
    assert truth.at((1, 0, 2)) == pytest.approx(60)
    assert truth.percentile((2, 0, 1)) == pytest.approx(100 * 5 / 6)
    assert truth.percentile((0, 1, 2)) == pytest.approx(100 / 6)
    assert truth.mean_similarity("test") == pytest.approx(C[np.triu_indices(3, 1)].mean())
    np.testing.assert_allclose(truth.similarity("test"), C)


def test_the_mean_order_of_a_sample_leaves_out_the_orders_of_rules(make_result, make_similarity):
    orders = [(0, 1, 2, 3), (3, 2, 1, 0), (1, 0, 2, 3)]
    truth = truth_of(make_result(0, make_similarity(4, 0), lambda order: order[0] / 10, orders), 0, 2)
    assert not truth.whole
    assert truth.mean == pytest.approx(15)
    assert truth.pairs is None


def test_trained_pairs_are_errors_after_the_first_then_the_second(make_result, make_similarity):
    result = make_result(0, make_similarity(3, 0), lambda order: 0.5, pairs=lambda a, b: 0.9 if a < b else 0.6)
    truth = truth_of(result, 0, 0)
    assert truth.pairs[0, 2] == pytest.approx(0.1)
    assert truth.pairs[2, 0] == pytest.approx(0.4)
    assert rule_orders(truth, PAIRS) == {"pairwise": ((0, 1, 2),)}


# rules and their scores


@pytest.mark.parametrize("seed", range(5))
def test_a_rule_chooses_the_order_that_its_score_ranks_first(make_result, make_similarity, seed):
    table = make_similarity(P, seed) + np.triu(np.random.default_rng(seed).uniform(0, 0.2, (P, P)), 1)
    C = make_similarity(P, seed)
    result = make_result(0, {"test": C, CURVATURE: table}, lambda order: 0.5, pairs=lambda a, b: table[a, b] / 2)
    truth = truth_of(result, 0, 0)
    for estimate in ("test", PAIRS, CURVATURE):
        chosen, ranked = rule_orders(truth, estimate), order_scores(truth, estimate)
        assert ranked
        for rule, values in ranked.items():
            at = {tuple(order): value for order, value in zip(truth.orders.tolist(), values, strict=True)}
            assert at[chosen[rule][0]] == pytest.approx(values.max()), (estimate, rule)
            assert values.min() < values.max() or rule == "pairwise"


def test_a_path_rule_is_the_mean_of_its_directions_or_the_planned_one(make_sets):
    sets = make_sets(3, lambda C, order, rng: rng.uniform())
    by_rule = scores(sets, "test")
    for row, truth in enumerate(sets.truths):
        way, back = rule_orders(truth, "test")["max-path"]
        assert way == back[::-1]
        assert by_rule["max-path"].accuracy[row] == pytest.approx((truth.at(way) + truth.at(back)) / 2)
        assert by_rule[one_way("max-path")].gain[row] == pytest.approx(truth.at(way) - truth.mean)
    np.testing.assert_allclose(by_rule[MEAN].gain, 0)
    np.testing.assert_allclose(headroom(sets), [truth.best - truth.mean for truth in sets.truths])


def test_when_typicality_decides_its_rule_is_the_best_order(make_sets):
    sets = make_sets(5, by_typicality(0.1))
    score = scores(sets, "test")[TYPICALITY[0]]
    np.testing.assert_allclose(score.gain, headroom(sets))
    np.testing.assert_allclose(score.percentile, 100 * 23.5 / 24)
    np.testing.assert_allclose(rank_correlations(sets, "test")[TYPICALITY[0]], 1.0)


def test_what_the_last_task_explains(make_sets):
    only_last = make_sets(4, lambda C, order, rng: 0.5 + 0.05 * float(typicality(C)[order[-1]]))
    shares = position_shares(only_last)
    np.testing.assert_allclose(shares[:, -1], 1.0)
    assert shares[:, :-1].max() < 0.2
    by_rule = scores(only_last, "test")
    np.testing.assert_allclose(by_rule[LAST].accuracy, by_rule[TYPICALITY[0]].accuracy)
    gains = gains_by_last(only_last, "test")
    assert (np.diff(gains, axis=1) > 0).all()
    np.testing.assert_allclose(gains.mean(axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(position_shares(make_sets(1, lambda C, order, rng: 0.5)), 0.0)


# claims


def test_above_turns_with_the_data_and_needs_enough_of_them(make_sets):
    def verdict(accuracy, **how):
        return claims.above("claim", "ours", make_sets(12, accuracy, **how), "test", *TYPICALITY).verdict

    assert verdict(by_typicality(0.1)) == "reproduced"
    assert verdict(by_typicality(-0.1)) == "not reproduced"
    assert verdict(by_typicality(0.0, noise=0.1)) == "undecided"
    check = claims.above("claim", "ours", make_sets(12, by_typicality(0.1), min_sets=13), "test", *TYPICALITY)
    assert check.verdict == "not tested"
    assert check.found == "Made up: 12 sets; a claim needs 13"
    missing = claims.above("claim", "ours", make_sets(12, by_typicality(0.1)), "1%", *TYPICALITY)
    assert (missing.verdict, missing.found) == ("not tested", "these similarities were not measured")


def test_a_difference_is_in_points_with_its_interval(make_sets):
    sets = make_sets(10, lambda C, order, rng: 0.5)
    better, worse = np.full(10, 60.0), np.linspace(50, 59, 10)
    check = claims.difference("claim", "ours", sets, better, worse)
    assert check.value == pytest.approx(5.5)
    assert check.low < 5.5 < check.high
    assert "wins on 100 % [78, 100] of 10 sets" in check.found


def test_comparable_and_identical_are_ratios_of_gains(make_sets):
    more = {
        "same": lambda C, rng: C,
        "reverse": lambda C, rng: 2 * np.eye(P) - C,
        "noise": lambda C, rng: _noisy(C, rng),
    }
    sets = make_sets(15, by_typicality(0.1), more=more)
    rule = TYPICALITY[0]
    assert claims.comparable("c", "ours", sets, rule, "same", "test").verdict == "reproduced"
    assert claims.identical("c", "ours", sets, rule, "same", "test").value == pytest.approx(1)
    assert claims.identical("c", "ours", sets, rule, "same", "test").verdict == "reproduced"
    assert claims.comparable("c", "ours", sets, rule, "reverse", "test").verdict == "not reproduced"
    assert claims.identical("c", "ours", sets, rule, "noise", "test").verdict == "not reproduced"
    assert (
        claims.comparable("c", "ours", sets, rule, "test", "reverse").verdict == "undecided"
    )  # nothing to compare with


def _noisy(C, rng):
    return np.where(np.eye(P) > 0, 1.0, _symmetric(rng.uniform(-0.1, 0.5, C.shape)))


def _symmetric(table):
    return (table + table.T) / 2


def test_not_significant_needs_the_paper_s_number_of_sets(make_sets):
    flat = lambda C, order, rng: 0.5 + 0.1 * rng.standard_normal()  # noqa: E731
    for count, expected in ((20, "undecided"), (claims.PAPER_SETS, "reproduced")):
        check = claims.not_significant("c", "ours", make_sets(count, flat), TYPICALITY[0], "test")
        assert check.low < 0 < check.high
        assert check.verdict == expected
    check = claims.not_significant("c", "ours", make_sets(20, by_typicality(0.1)), TYPICALITY[0], "test")
    assert check.verdict == "not reproduced"


def test_slightly_above_wants_a_lead_that_is_small(make_sets):
    def check(better, worse):
        sets = make_sets(15, by_typicality(0.1))
        return claims.slightly_above("c", "ours", sets, "test", better, worse).verdict

    assert check(TYPICALITY[0], "core-to-periphery") == "not reproduced"  # far above
    assert check("core-to-periphery", TYPICALITY[0]) == "not reproduced"  # below
    assert check(TYPICALITY[0], TYPICALITY[0]) == "not reproduced"  # no lead at all


def test_shares_and_leads_are_compared_between_parts(make_sets):
    none = make_sets(40, lambda C, order, rng: 0.5 + 0.01 * rng.standard_normal(), label="few")
    strong = make_sets(40, by_typicality(0.1), label="many")
    grows = claims.share_grows("c", "ours", none, strong, "test", TYPICALITY, evident=True)
    assert grows.verdict == "reproduced"
    assert "for few and 1.00 for many" in grows.found
    assert claims.share_grows("c", "ours", strong, none, "test", TYPICALITY, evident=True).verdict == "not reproduced"
    assert claims.share_grows("c", "ours", none, strong, "test", TYPICALITY, evident=False).verdict == "not reproduced"
    assert claims.share_grows("c", "ours", strong, strong, "test", TYPICALITY, evident=False).verdict == "reproduced"
    assert claims.share_smaller("c", "ours", none, strong, "test", TYPICALITY).verdict == "reproduced"
    assert claims.share_smaller("c", "ours", strong, none, "test", TYPICALITY).verdict == "not reproduced"
    assert claims.lead_smaller("c", "ours", none, strong, "test", TYPICALITY).verdict == "reproduced"
    assert claims.lead_smaller("c", "ours", strong, none, "test", TYPICALITY).verdict == "not reproduced"
    short = make_sets(3, by_typicality(0.1), min_sets=5, label="short")
    assert claims.share_grows("c", "ours", short, strong, "test", PATHS, evident=True).verdict == "not tested"


def test_numbers_read_well():
    assert claims.Number(0.5, 0.25, 0.75).percent() == "50 % [25, 75]"
    assert claims.Number(1.0, -2.0, 3.0).show(1, sign=True) == "+1.0 [-2.0, +3.0]"
    ratio = claims.ratio_number(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    assert tuple(ratio) == pytest.approx((0.5, 0.5, 0.5))
    share = claims.share_number(np.array([1.0, 2.0, 2.0, 3.0]), np.array([0.0, 2.0, 1.0, 4.0]))
    assert share.value == 2.5 / 4
