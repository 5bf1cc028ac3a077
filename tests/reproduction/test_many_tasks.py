"""Many tasks: the search from the end, the chosen orders, and verdicts that turn with the results."""

import itertools

import numpy as np
import pytest

from reproduction.figures.many_tasks import (
    CHOICES,
    LAST,
    LAW,
    RULE,
    SUMS,
    Config,
    beam_from_end,
    chosen_orders,
    figure,
    predictions,
    run_batch,
    specs,
)
from taskorder.runs.specs import RunSpec
from taskorder.theory.law import final_score

SMALL = Config(ten=5, twenty=5, min_sets=5)


def measured(size, seed):
    """What a run measures of single tasks."""
    rng = np.random.default_rng(seed)
    accuracy = rng.uniform(0.3, 0.9, (size, size))
    np.fill_diagonal(accuracy, 1.0)
    return {"accuracy": accuracy, "loss": 2 * (1 - accuracy), "chance": np.ones_like(accuracy)}


@pytest.mark.parametrize("d", [0.0, 0.13, 0.5])
def test_the_beam_finds_the_best_order_of_few_tasks(d):
    rng = np.random.default_rng(3)
    S = rng.uniform(-0.3, 0.9, (5, 5))
    best_order = beam_from_end(S, d)
    best = max(final_score(S, order, d) for order in itertools.permutations(range(5)))
    assert sorted(best_order) == list(range(5))
    assert final_score(S, best_order, d) == pytest.approx(best, abs=1e-12)


def test_every_choice_is_an_order_and_ends_as_it_should():
    table = measured(6, 1)
    chosen = chosen_orders(table, np.random.default_rng(0))
    assert tuple(chosen) == CHOICES
    assert all(sorted(order) == list(range(6)) for order in chosen.values())
    assert chosen[SUMS][-1] == chosen[LAST][-1]
    every = list(itertools.permutations(range(6)))
    predicted = predictions(table, every)
    assert every[int(np.argmax(predicted[LAW]))] == chosen[LAW]
    assert predicted[RULE][every.index(chosen[RULE])] == pytest.approx(max(predicted[RULE]))


def made_up(gain):
    """Results in which the law's order is so many points above the others."""
    rng = np.random.default_rng(0)
    return [
        {
            "random": (60 + rng.standard_normal(8)).tolist(),
            "chosen": {name: 60 + gain * (name == LAW) + 0.1 * rng.standard_normal() for name in CHOICES},
            "ranks": dict.fromkeys(CHOICES, 0.5),
        }
        for _ in specs(SMALL)
    ]


def test_verdicts_turn_with_the_gain():
    good, bad = (figure(SMALL, made_up(gain)) for gain in (5.0, -5.0))
    law = [
        (claim.verdict, other.verdict)
        for claim, other in zip(good.claims, bad.claims, strict=True)
        if claim.claim.startswith("The order of the law")
    ]
    assert len(law) == 10
    assert set(law) == {("reproduced", "not reproduced")}
    assert len(good.panels) == 2
    assert "rank correlation +0.50" in good.claims[0].found


def test_few_sets_are_not_tested():
    results = made_up(5.0)
    results[0] = None
    few = figure(SMALL, results)
    assert {claim.verdict for claim in few.claims if claim.claim.endswith("10 tasks")} == {"not tested"}
    assert {claim.verdict for claim in few.claims if claim.claim.startswith("The order of the law is above the")} == {
        "not tested",
        "reproduced",
    }


@pytest.mark.slow("training")
def test_a_small_run_of_digits():
    params = {"dataset": "digits", "num_tasks": 3, "set": 0, "num_orders": 4, "images": 60, "epochs": 1}
    (result,) = run_batch([RunSpec("test", {**params, "batch_size": 4})])
    assert len(result["random"]) == 4
    assert set(result["chosen"]) == set(result["ranks"]) == set(CHOICES)
    assert all(30 < accuracy <= 100 for accuracy in (*result["random"], *result["chosen"].values()))
