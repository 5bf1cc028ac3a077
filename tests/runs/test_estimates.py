"""What a run measures of its tasks, and the orders that follow from it."""

import itertools

import numpy as np
import pytest

pytest.importorskip("jax")
from taskorder.engine.estimates import task_pool
from taskorder.ordering.candidates import similarity_orders, table_orders
from taskorder.runs import training as runs
from taskorder.runs.results import tables_of
from taskorder.runs.settings import config_of, sample_of
from taskorder.runs.specs import RunSpecs
from taskorder.tables.knowledge import knowledge, shrunken_table, transfer_table
from taskorder.tables.loss_ratios import measured_similarity

NAMES = ["test", "train", "20%", "2%", "10 examples", "curvature"]


@pytest.fixture(scope="module")
def result():
    config = config_of({"num_tasks": 4, "orders": "2+rules+law", "epochs": 1, "similarities": NAMES})
    return runs.run_batch(RunSpecs(config)[:1])[0]


def test_every_estimate_is_a_whole_table(result):
    assert list(result["similarities"]) == NAMES
    for name in NAMES[:-1]:
        tables = {kind: np.array(table) for kind, table in result["similarities"][name].items()}
        assert set(tables) == {"accuracy", "loss", "chance"}
        assert all(table.shape == (4, 4) for table in tables.values())
        assert not np.allclose(tables["loss"], tables["loss"].T)
    assert np.array(result["similarities"]["curvature"]["value"]).shape == (4, 4)


def test_test_losses_are_those_of_the_single_task_networks(result):
    rows, tables = tables_of(result)
    assert {(task,) for task in range(4)} & set(rows)
    for task in range(4):
        if (task,) in rows:
            wanted = tables["loss"][rows[task,]]
            np.testing.assert_allclose(result["similarities"]["test"]["loss"][task], wanted, rtol=1e-4)


def test_the_rules_orders_are_trained(result):
    rows, _ = tables_of(result)
    for name in NAMES[:-1]:
        for orders in similarity_orders(measured_similarity(result["similarities"][name])).values():
            assert set(orders) <= set(rows)
    whole = {order for order in rows if len(order) == 4}
    assert 4 <= len(whole) < len(list(itertools.permutations(range(4)))) + 1


def test_the_orders_of_the_law_are_trained(result):
    rows, _ = tables_of(result)
    for name in NAMES[:-1]:
        losses, chance, accuracy = (result["similarities"][name][kind] for kind in ("loss", "chance", "accuracy"))
        chosen = table_orders(transfer_table(knowledge(losses, chance, accuracy)))
        assert set(chosen.values()) <= set(rows)
    shrunken, _ = shrunken_table(losses, chance, accuracy, 10)  # the last of them is a sample of ten
    assert table_orders(shrunken)["law"] in rows


def test_a_sample_has_as_many_examples_as_it_says():
    data = runs.dataset_of("digits")
    sets = [runs.task_set(data, {"num_tasks": 2, "classes_per_task": 2}, 0)]
    share, most = sample_of("10 examples")
    assert np.asarray(task_pool(data, sets, share=share, most=most).counts).tolist() == [10, 10]
    assert np.asarray(task_pool(data, sets, share=share, most=most, uneven=100).counts).min() < 10


@pytest.mark.slow("training")
def test_orders_are_chosen_only_when_asked():
    base = {"num_tasks": 4, "epochs": 1, "fraction": 0.1, "similarities": ["test", "10 examples"]}
    for orders, least, most in (("1", 1, 1), ("1+law", 2, 6)):
        result = runs.run_batch(RunSpecs(config_of({**base, "orders": orders}))[:1])[0]
        assert least <= sum(len(order) == 4 for order in tables_of(result)[0]) <= most


def test_a_pilot_smaller_than_a_batch_will_do(result):
    """2 % of a task of digits is two images of each class, fewer than a batch of 4 in the smallest class."""
    assert sample_of("2%") == (0.02, None)
    assert np.isfinite(result["similarities"]["2%"]["loss"]).all()


def test_pools_of_a_share_have_the_shape_of_the_whole():
    data = runs.dataset_of("digits")
    sets = [runs.task_set(data, {"num_tasks": 2, "classes_per_task": 2}, number) for number in (0, 1)]
    whole = task_pool(data, sets)
    part = task_pool(data, sets, share=0.1, inputs=whole.inputs, length=whole.rows.shape[1])
    assert part.rows.shape == whole.rows.shape
    assert (np.asarray(part.counts) < np.asarray(whole.counts) / 8).all()
    few = task_pool(data, sets, most=10)
    assert np.asarray(few.counts).max() <= 11


@pytest.mark.slow("training")
def test_adam_starts_afresh_only_when_asked():
    base = {"num_tasks": 2, "orders": 1, "epochs": 1, "fraction": 0.2}
    kept, reset = (
        runs.run_batch(RunSpecs(config_of({**base, "reset_adam": setting}))[:1])[0] for setting in (False, True)
    )
    assert kept["loss"][1] == reset["loss"][1]  # after the first task
    assert kept["loss"][2] != reset["loss"][2]


def test_named_tasks_take_the_place_of_drawn_ones():
    config = config_of({"tasks": ["3-5", "8-1"], "num_sets": 1, "num_tasks": 2, "epochs": 1, "fraction": 0.2})
    (spec,) = RunSpecs(config)
    assert "tasks" not in RunSpecs(config_of({}))[0].params  # specs from before there were named tasks stay theirs
    task_set = runs.run_batch([spec])[0]["task_set"]
    assert task_set["names"] == ("3-5", "8-1")
    assert task_set["tasks"] == (((3, 5), (0, 1)), ((8, 1), (0, 1)))
    with pytest.raises(ValueError, match="`tasks` must name classes with hyphens between them, got 'cat' in '3-cat'"):
        runs.task_set(runs.dataset_of("digits"), {"tasks": ["3-cat"]}, 0)
    with pytest.raises(ValueError, match="`tasks` must have equally many classes"):
        runs.task_set(runs.dataset_of("digits"), {"tasks": ["3-5", "1-2-4"]}, 0)
