"""One run for each of many orders: noise is told from order as often as it should, and the best order is found."""

import itertools

import numpy as np
import pytest

from taskorder.audit import order_model as module
from taskorder.audit.audit import audit_results
from taskorder.audit.order_features import FEATURES, Effects, effects_of, feature_table, highest_order
from taskorder.audit.order_model import order_model
from taskorder.audit.results import Results

NAMES = "abcdefghij"
WAYS = np.array([*itertools.permutations(range(4))])


def model_of(orders, values, num_tasks=4, **options):
    rank = np.argsort(-values, kind="stable")
    return order_model(orders[rank].tolist(), values[rank], NAMES[:num_tasks], **options)


def results(values, orders=WAYS):
    names = tuple(">".join(NAMES[task] for task in order) for order in orders)
    return Results(names, ("0",), ("average",), ("average",), values[:, None, None], (), True)


def test_noise_alone_tells_nothing_in_nineteen_of_twenty_cases(monkeypatch):
    """The permutation test is exact, whatever the distribution: here a skewed one."""
    monkeypatch.setattr(module, "MOST_SHUFFLES", 99)
    rng = np.random.default_rng(0)
    told = [model_of(WAYS, 0.7 + 0.01 * rng.exponential(size=24), seed=k).tells for k in range(200)]
    assert 0.01 < np.mean(told) < 0.1


@pytest.mark.parametrize(
    ("kind", "share", "power"), [("last", 0.7, 0.9), ("positions", 0.8, 0.8), ("neighbors", 0.9, 0.5)]
)
def test_an_effect_is_told(monkeypatch, kind, share, power):
    monkeypatch.setattr(module, "MOST_SHUFFLES", 99)
    rng = np.random.default_rng(1)
    told = []
    for seed in range(40):
        effects = rng.standard_normal((4, 4))
        if kind == "last":
            values = effects[0, WAYS[:, -1]]
        elif kind == "positions":
            values = effects[WAYS, np.arange(4)].sum(axis=1)
        else:
            values = effects[WAYS[:, :-1], WAYS[:, 1:]].sum(axis=1)
        noise = rng.standard_normal(24)
        told.append(
            model_of(
                WAYS, 0.7 + 0.01 * (np.sqrt(share) * values / values.std() + np.sqrt(1 - share) * noise), seed=seed
            )
        )
    assert np.mean([model.tells for model in told]) >= power
    if kind != "neighbors":
        assert np.mean([model.r2 for model in told]) == pytest.approx(share, abs=0.25)


@pytest.mark.slow("sizes")
def test_the_best_by_the_model_is_better_than_the_luckiest(monkeypatch):
    """Half of the orders of five tasks are run once; the two are compared by their true accuracy."""
    monkeypatch.setattr(module, "MOST_SHUFFLES", 99)
    ways, rng = np.array([*itertools.permutations(range(5))]), np.random.default_rng(2)
    by_model, by_luck, expected = [], [], []
    for _ in range(40):
        effects = 0.01 * rng.standard_normal((5, 5))
        truth = {tuple(way): effects[way, np.arange(5)].sum() for way in ways.tolist()}
        orders = ways[rng.choice(120, 60, replace=False)]
        values = 0.7 + np.array([truth[tuple(order)] for order in orders.tolist()]) + 0.02 * rng.standard_normal(60)
        model = model_of(orders, values, 5)
        by_model.append(truth[tuple(NAMES.index(task) for task in model.best.split(">"))])
        by_luck.append(truth[tuple(NAMES.index(task) for task in model.luckiest.split(">"))])
        expected.append(model.best_expected - 0.7)
    assert np.mean(by_model) > np.mean(by_luck) + 0.005
    assert np.mean(expected) == pytest.approx(np.mean(by_model), abs=0.01)


def test_leave_one_out_residuals_are_those_of_refits():
    rng = np.random.default_rng(3)
    values = rng.standard_normal(24)
    for features in FEATURES:
        ridge = module._Ridge.of(WAYS, features)
        penalty = 0.3
        residuals = ridge.residuals(values[:, None], penalty)[:, 0]
        table = feature_table(WAYS, features)
        weight = penalty * (ridge.singular**2).mean()
        for left_out in (0, 7):
            kept = np.arange(24) != left_out
            x, y = np.hstack([np.ones((23, 1)), table[kept]]), values[kept]
            shrink = weight * np.eye(x.shape[1])
            shrink[0, 0] = 0
            # the penalty is on effects around the mean of all orders, so that an intercept takes no part
            fit = np.linalg.solve(x.T @ x + shrink, x.T @ y)
            assert values[left_out] - fit[0] - table[left_out] @ fit[1:] == pytest.approx(residuals[left_out])
        effects = ridge.effects(values, penalty, 4)
        x = np.hstack([np.ones((24, 1)), table])
        shrink = weight * np.eye(x.shape[1])
        shrink[0, 0] = 0
        np.testing.assert_allclose(effects.expected(WAYS), x @ np.linalg.solve(x.T @ x + shrink, x.T @ values))


@pytest.mark.parametrize("features", FEATURES)
def test_the_best_order_is_that_of_enumeration(features):
    rng = np.random.default_rng(4)
    for _ in range(5):
        effects = effects_of(rng.standard_normal(32), 0.0, 4, features)
        assert effects.expected(np.array([highest_order(effects, [])]))[0] == pytest.approx(
            effects.expected(WAYS).max()
        )


def test_many_tasks_are_climbed():
    rng = np.random.default_rng(5)
    effects = Effects(0.0, rng.standard_normal((10, 10)), rng.standard_normal((10, 10)))
    order = highest_order(effects, [rng.permutation(10).tolist() for _ in range(5)])
    assert sorted(order) == list(range(10))
    random = effects.expected(np.array([rng.permutation(10) for _ in range(20_000)]))
    assert effects.expected(np.array([order]))[0] > random.max()


def test_the_audit_says_what_can_be_told():
    rng = np.random.default_rng(6)
    effect = 0.03 * (WAYS[:, -1] == 2)
    audit = audit_results(results(0.7 + effect + 0.003 * rng.standard_normal(24)))
    assert audit.verdict.startswith(
        "Order matters, as far as one run for each order can tell: a model of the last task"
    )
    assert audit.model.best.endswith(">c")
    assert audit.model.best_observed is not None
    assert "luckiest" in audit.summary()
    quiet = audit_results(results(0.7 + 0.01 * rng.standard_normal(24)))
    assert "nothing can be told" in quiet.verdict
    assert "no order is better by it" in quiet.summary()
    clear = audit_results(results(0.7 + 0.01 * WAYS[:, -1] + 0.001 * WAYS[:, -2] + 0.0001 * WAYS[:, -3]))
    assert clear.model.best == clear.model.luckiest == "a>b>c>d"
    assert "is also best by the model" in clear.verdict


def test_what_is_too_little_for_a_model():
    values = 0.7 + 0.01 * np.random.default_rng(7).standard_normal(24)
    assert audit_results(results(values[:7], WAYS[:7])).model is None
    assert audit_results(results(np.full(24, 0.7))).model is None
    named = Results(tuple(map(str, range(24))), ("0",), ("x",), ("x",), values[:, None, None], (), True)
    assert "order and noise cannot be separated" in audit_results(named).verdict
    twice = Results(
        results(values).orders, ("0", "1"), ("x",), ("x",), np.stack([values, values], 1)[:, :, None], (), True
    )
    assert audit_results(twice).model is None
