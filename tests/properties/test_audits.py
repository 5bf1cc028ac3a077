"""An audit does not depend on the names of orders, seeds and tasks, nor on a constant added to all accuracies."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from taskorder import audit_methods, audit_results
from taskorder.audit.results import Results

from .cases import Rng


def drawn(rng: Rng, *, holes: bool = True) -> Results:
    """Results of some design, with or without an effect of the order, with ties or without."""
    design = rng.choice(["crossed", "one seed", "one order", *(["holes", "few"] if holes else [])])
    num_tasks, num_orders, num_seeds = (int(rng.integers(low, high)) for low, high in ((2, 6), (2, 9), (2, 6)))
    if design in ("one seed", "one order"):
        num_orders, num_seeds = (1, num_seeds) if design == "one order" else (int(rng.integers(2, 20)), 1)
    num_tasks = next(count for count in range(num_tasks, 9) if np.prod(range(1, count + 1)) >= num_orders)
    tasks = tuple(f"t{task}" for task in range(num_tasks))
    ways = [">".join(way) for way in permutations(tasks)][:200]
    orders = tuple(sorted(rng.permutation(ways)[:num_orders].tolist()))
    shape = (num_orders, num_seeds, num_tasks)
    accuracy = 0.5 + rng.choice([0, 0.001, 0.05]) * rng.standard_normal((num_orders, 1, 1))
    accuracy = accuracy + rng.choice([0, 0.02]) * rng.standard_normal((1, num_seeds, 1))
    accuracy = (accuracy + rng.choice([0, 0.01, 0.05]) * rng.standard_normal(shape)).clip(0.1, 0.85)
    if rng.random() < 0.5:
        accuracy = np.round(accuracy, 2)
    if design in ("holes", "few"):
        lost = rng.random(shape[:2]) < (0.15 if design == "holes" else 0.5)
        lost[np.arange(num_orders), rng.integers(0, num_seeds, num_orders)] = False
        accuracy[lost] = np.nan
        accuracy = accuracy[:, ~np.isnan(accuracy).all(axis=(0, 2))]
    seeds = tuple(map(str, range(accuracy.shape[1])))
    return Results(orders, seeds, tasks, tasks, accuracy, common_seeds=bool(rng.random() < 0.8))


def apart(one: Any, other: Any, where: str = "") -> list[str]:
    """Where two records differ by more than rounding."""
    if isinstance(one, dict):
        return [found for key in one for found in apart(one[key], other[key], f"{where}.{key}")]
    if isinstance(one, list | tuple):
        if len(one) != len(other):
            return [where]
        return [
            found
            for place, pair in enumerate(zip(one, other, strict=True))
            for found in apart(*pair, f"{where}[{place}]")
        ]
    if isinstance(one, float) and isinstance(other, float):
        return [] if np.isclose(one, other, rtol=1e-5, atol=1e-6, equal_nan=True) else [f"{where}: {one} and {other}"]
    return [] if one == other else [f"{where}: {one} and {other}"]


def told(audit: Any, *left_out: str) -> dict[str, Any]:
    """What an audit says, but for its words: numbers in them are rounded."""
    return {key: value for key, value in asdict(audit).items() if key not in ("verdict", *left_out)}


def all_accuracies_shifted(rng: Rng) -> None:
    """Only means move."""
    results, shift = drawn(rng), float(rng.choice([0.1, -0.04, 1 / 30]))
    audit, moved = audit_results(results), audit_results(replace(results, accuracy=results.accuracy + shift))
    assert moved.mean == pytest.approx(audit.mean + shift)
    assert apart(told(audit, "mean", "model", "orders"), told(moved, "mean", "model", "orders")) == []
    assert [score.order for score in audit.orders] == [score.order for score in moved.orders]
    assert [score.as_good_as_best for score in audit.orders] == [score.as_good_as_best for score in moved.orders]
    assert audit.verdict[:20] == moved.verdict[:20]
    if audit.model is not None:
        assert (audit.model.p, audit.model.best) == (moved.model.p, moved.model.best)


def seeds_in_another_order(rng: Rng) -> None:
    """Nothing changes but what noise is shuffled."""
    results = drawn(rng, holes=False)
    mixed = replace(results, accuracy=results.accuracy[:, rng.permutation(len(results.seeds))])
    left_out = ("disparity", "aopd", "mopd")
    assert apart(told(audit_results(results), *left_out), told(audit_results(mixed), *left_out)) == []


def tasks_renamed(rng: Rng) -> None:
    """The names of orders change with those of their tasks, and nothing else."""
    results = drawn(rng, holes=False)
    place = rng.permutation(len(results.tasks))
    named = {task: f"u{place[k]}" for k, task in enumerate(results.tasks)}
    orders = [">".join(named[step] for step in order.split(">")) for order in results.orders]
    rows, columns = np.argsort(orders), np.argsort([named[task] for task in results.tasks])
    tasks = tuple(sorted(named.values()))
    accuracy = results.accuracy[rows][:, :, columns]
    other = replace(results, orders=tuple(orders[k] for k in rows), tasks=tasks, task_names=tasks, accuracy=accuracy)
    audit, renamed = audit_results(results), audit_results(other)
    left_out = ("disparity", "aopd", "mopd", "orders", "model")
    assert apart(told(audit, *left_out), told(renamed, *left_out)) == []
    assert {named[part.name]: round(part.value, 9) for part in audit.disparity} == {
        part.name: round(part.value, 9) for part in renamed.disparity
    }
    assert [score.mean for score in audit.orders] == pytest.approx([score.mean for score in renamed.orders])


def both_methods_shifted_or_swapped(rng: Rng) -> None:
    """Two methods differ by as much when both gain the same, and whichever comes first."""
    one = drawn(rng)
    noise = rng.choice([0, 0.01]) * rng.standard_normal(one.accuracy.shape).round(1)
    other = replace(one, accuracy=one.accuracy + float(rng.choice([0.01, 0.03])) + noise)
    if np.isfinite(one.whole).sum() < 2:
        return
    audit = audit_methods({"x": one, "y": other})
    if audit.pairs[0].difference == 0:
        return
    swapped = audit_methods({"y": other, "x": one})
    shifted = audit_methods(
        {name: replace(of, accuracy=of.accuracy + 0.013) for name, of in (("x", one), ("y", other))}
    )
    for again in (swapped, shifted):
        assert apart(told(audit, "methods"), told(again, "methods")) == []


PROPERTIES = (all_accuracies_shifted, seeds_in_another_order, tasks_renamed, both_methods_shifted_or_swapped)


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
def test_a_few_results(holds):
    for seed in range(5):
        holds(np.random.default_rng(seed))


@pytest.mark.slow("sizes")
@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
def test_many_results(holds):
    for seed in range(100, 140):
        holds(np.random.default_rng(seed))


def test_what_is_apart_is_seen():
    assert apart({"a": [1.0]}, {"a": [1.1]}) == [".a[0]: 1.0 and 1.1"]
    assert apart((1, 2), (1,)) == [""]
