"""Many tasks: the chosen orders, the race, verdicts that turn with the results, and results that are kept."""

import gzip
import json

import numpy as np
import pytest

from reproduction import load
from reproduction.figures.many_tasks import BEST, BOUNDED, LEAST_EARNED, PARTS, Config, figure, specs
from reproduction.many_runs import (
    FULL,
    KIND,
    LAST,
    LAW,
    RACE,
    SUMS,
    TYPICAL,
    choose,
    law_table,
    predictions,
    race_cost,
    raced_table,
    random_orders,
    retention_moments,
    run_batch,
    sample_name,
)
from reproduction.running import KEPT, load_results, reproduce
from taskorder.arguments import BadArgument
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store
from taskorder.theory.law import knowledge_path

PARAMS = {"num_tasks": 6, "uneven": 1.0, "set": 0, "num_orders": 4, "images": 1000}
SOURCES = (FULL, *map(sample_name, (30, 100, 300)))
SMALL = Config(**{**dict.fromkeys(PARTS, 0), "ten": 5, "twenty": 5}, min_sets=5)


def measured(size, seed):
    """What a run measures of single tasks."""
    rng = np.random.default_rng(seed)
    accuracy = rng.uniform(0.3, 0.9, (size, size))
    np.fill_diagonal(accuracy, 1.0)
    return {"accuracy": accuracy, "loss": 2 * (1 - accuracy), "chance": np.ones_like(accuracy)}


@pytest.fixture
def tables():
    return {source: measured(6, seed) for seed, source in enumerate(SOURCES)}


@pytest.mark.parametrize("uneven", [1.0, 30.0])
def test_every_choice_is_an_order_and_ends_as_it_should(tables, uneven):
    chosen = choose({**PARAMS, "uneven": uneven}, tables)
    assert {f"{source}: {way}" for source in SOURCES for way in (LAW, SUMS, TYPICAL)} < set(chosen)
    assert all(sorted(order) == list(range(6)) for order in chosen.values())
    assert chosen[f"{FULL}: {SUMS}"][-1] == chosen[f"{FULL}: {LAST}"][-1]
    assert (f"{FULL}: {LAW}, retention by steps" in chosen) == (uneven > 1)


def test_the_law_predicts_most_for_its_own_order(tables, monkeypatch):
    own = choose(PARAMS, tables)[f"{FULL}: {LAW}"]
    others = random_orders(PARAMS)
    monkeypatch.setattr("reproduction.many_runs.random_orders", lambda params: [own, *others])
    predicted = predictions(PARAMS, tables, FULL)
    assert predicted[LAW].argmax() == 0
    assert predicted[LAST][0] == law_table(PARAMS, tables, FULL).sum(axis=1)[own[-1]]


def test_a_race_learns_ever_fewer_tasks_from_ever_more_examples(tables):
    raced = raced_table(PARAMS, tables)
    by_source = {source: law_table(PARAMS, tables, source) for source in SOURCES}
    rows = [next(source for source in SOURCES if (by_source[source][k] == raced[k]).all()) for k in range(6)]
    assert rows.count(FULL) == 2
    assert rows.count("30 examples") == 3
    assert race_cost({**PARAMS, "num_tasks": 20}) == pytest.approx((30 + 100 / 2 + 300 / 4 + 1000 / 10) / 1000)


def test_moments_tell_the_retention_of_the_law():
    """Of states that follow the law exactly: measured in accuracy and loss alike."""
    S, d, P = np.random.default_rng(2).uniform(-0.2, 0.8, (5, 5)), 0.3, 5
    orders = [(k,) for k in range(P)] + [(i, k) for i in range(P) for k in range(P) if i != k]
    known = np.array([knowledge_path(S, order, d)[-1] for order in orders])
    ends = {"accuracy": (1 + known) / 2, "loss": 1 - known, "chance": np.ones_like(known)}
    table = {"accuracy": (1 + S) / 2, "loss": 1 - S, "chance": np.ones_like(S)}
    xy, xx, own = retention_moments(table, orders, ends)
    assert xy / xx == pytest.approx(d)
    assert xx == pytest.approx(own)


def made_up(gain):
    """Results in which the law's orders are so many points above the others."""
    rng = np.random.default_rng(0)
    names = [f"{source}: {way}" for source in SOURCES for way in (LAW, SUMS, LAST, TYPICAL, "optimal")] + [RACE]
    ranks = {source: dict.fromkeys((LAW, SUMS, LAST, TYPICAL, "optimal"), 0.5) for source in SOURCES}

    def ended(name):
        return {"accuracy": [60 + gain * (name.endswith(LAW) or name == RACE) + 0.1 * rng.standard_normal()]}

    return [
        {
            "random": (60 + rng.standard_normal((8, 1))).tolist(),
            "chosen": {name: ended(name) for name in names},
            "ranks": ranks,
            "retention": [gain, 10.0, 11.0],
        }
        for _ in specs(SMALL)
    ]


def test_verdicts_turn_with_the_gain():
    good, bad = (figure(SMALL, made_up(gain)) for gain in (6.0, -6.0))
    pairs = [
        (better.verdict, other.verdict)
        for better, other in zip(good.claims, bad.claims, strict=True)
        if better.claim.startswith("The law's order")
    ]
    assert len(pairs) == 14
    assert set(pairs) == {("reproduced", "not reproduced")}
    bounds = [bound for bound in good.claims if bound.claim.endswith(f" points; {BOUNDED}")]
    assert len(bounds) == len(LEAST_EARNED)
    assert {claim.verdict for claim in bounds} == {"reproduced"}
    (kept,) = [claim for claim in good.claims if "keeps less" in claim.claim and claim.claim.endswith(BOUNDED)]
    assert (kept.value, kept.verdict) == (0.6, "not reproduced")
    assert len(good.panels) == 3
    assert BEST in {series.label for series in good.panels[0].series}


def test_few_sets_are_not_tested():
    results = made_up(5.0)
    results[0] = None
    made = figure(SMALL, results)
    assert {claim.verdict for claim in made.claims if claim.claim.endswith("10 tasks")} == {"not tested"}
    assert "Not complete yet: 10 tasks (4 of 5 sets)." in made.notes


def test_results_are_kept_and_taken_up(tmp_path, monkeypatch):
    monkeypatch.setattr("reproduction.running.can_draw", lambda: False)
    source = load("many-tasks")
    some = specs(source.full)[10:20]
    with Store(tmp_path / "runs.sqlite") as store:
        store.put(some, made_up(5.0), 3.0, device="a device")
    made, _ = reproduce("many-tasks", tmp_path, partial=True)
    assert any(claim.verdict == "reproduced" for claim in made.claims)
    kept = tmp_path / "tables" / f"many-tasks{KEPT}"
    rows = json.loads(gzip.decompress(kept.read_bytes()))
    assert [row["params"]["set"] for row in rows] == list(range(10))
    with Store(tmp_path / "new.sqlite") as store:
        assert [load_results(kept, store) for _ in range(2)] == [10, 0]
        assert store.get(some) == [row["result"] for row in rows]
        assert {entry.device for entry in store.entries()} == {"a device"}
    whole = kept.read_bytes()
    for damaged in (whole[:-9], b"\0" + whole[1:], whole[:200] + b"\xff" + whole[201:]):
        kept.write_bytes(damaged)
        with (
            Store() as store,
            pytest.raises(BadArgument, match=r"`.*many-tasks.runs.json.gz` must be as it was written"),
        ):
            load_results(kept, store)


@pytest.mark.slow("training")
@pytest.mark.parametrize("uneven", [1.0, 4.0])
def test_small_runs_of_digits(uneven):
    params = {
        "dataset": "digits", "net": "mlp", "num_tasks": 3, "uneven": uneven, "num_orders": 4, "images": 60, "epochs": 1,
        "batch_size": 4, "samples": [30, 100, 300],
    }  # fmt: skip
    specs_of_sets = [RunSpec(KIND, {**params, "set": number}) for number in range(2)]
    results = run_batch(specs_of_sets)
    for result in results:
        assert np.shape(result["random"]) == (4, 3)
        assert set(result["ranks"]) == set(SOURCES)
        assert all(0 <= value <= 100 for end in result["chosen"].values() for value in end["accuracy"])
        assert ("retention" in result) == (uneven == 1)
    assert run_batch(specs_of_sets[1:])[0]["chosen"][RACE]["order"] == results[1]["chosen"][RACE]["order"]
