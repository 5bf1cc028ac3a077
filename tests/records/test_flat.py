"""Plain values of records: all of them, or one flat mapping for trackers."""

import json

import pytest

from taskorder import Plan, chain, solve
from taskorder.records.flat import MOST_TEXT, safe_keys


@pytest.mark.parametrize("name", ["solved", "hostile", "compared"])
def test_plain_values_are_what_json_says(name, request):
    record = request.getfixturevalue(name)
    assert record.to_dict() == json.loads(record.to_json())


def test_a_plan_comes_back_from_its_values(pilot):
    assert Plan.from_json(json.dumps(pilot.plan.to_dict())) == pilot.plan


def test_numbers_are_floats_and_descriptions_are_not(pilot):
    flat = pilot.plan.to_dict(flat=True)
    prediction, sure = pilot.plan.prediction, pilot.plan.confidence
    assert flat["order"] == " > ".join(pilot.plan.named_order)
    assert flat["prediction/mean"] == prediction.mean
    assert flat["prediction/tasks/cats"] == prediction.tasks[2]
    assert flat["prediction/tasks_low/cats"] == prediction.tasks_low[2]
    assert flat["confidence/beats_random"] == sure.beats_random
    assert flat["confidence/verdict"] == sure.verdict
    assert flat["knowledge/dogs"] == pilot.plan.knowledge[3]
    assert flat["num_tasks"] == 4
    assert flat["alternatives/max-path/expected"] == next(
        other.expected for other in pilot.plan.alternatives if other.rule == "max-path"
    )
    numbers = {key for key, value in flat.items() if isinstance(value, float)}
    assert {"score", "retention", "seconds", "prediction/mean", "confidence/gain"} <= numbers
    assert not [key for key in numbers if key.startswith("options/") or key in ("proven", "num_tasks")]
    assert {type(value) for value in flat.values()} <= {float, int, bool, str}


def test_an_error_has_the_errors_of_tasks():
    plan = solve(chain(3, 0.5), retention=1, output=[[1, 0.5, 0.5], [0.5, 1, 0.5], [0.5, 0.5, 1]])
    flat = plan.to_dict(flat=True)
    assert flat["task_errors/B"] == plan.task_errors[1]
    assert "score" not in flat
    assert flat["options/output"].startswith("[[1")


def test_a_comparison_has_a_value_for_each_rule(compared):
    flat = compared.to_dict(flat=True)
    assert [key for key in flat if key.startswith("value/")] == [f"value/{rule}" for rule in compared]
    assert flat["value/row-sums"] == compared["row-sums"].value
    assert flat["share_at_retention/0.5/row-sums"] == compared.at_retention[1].shares["row-sums"]
    assert flat["best_order"] == " > ".join(compared.names[task] for task in compared.scores[0].order)
    assert flat["verdict"] == compared.verdict


def test_long_texts_are_cut(long, hostile):
    assert len(long.to_dict(flat=True)["order"]) <= MOST_TEXT
    assert hostile.to_dict(flat=True)["order"].endswith("…")


def test_keys_of_hostile_names_are_plain_and_different(hostile):
    keys = [key for key in hostile.to_dict(flat=True) if key.startswith("knowledge/")]
    assert len(keys) == 4
    assert all(set(key) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. /") for key in keys)
    assert max(map(len, keys)) < 120
    assert safe_keys(["a:b", "a/b", "a_b", "a_b_2", "..", ". ."]) == ("a_b", "a_b_2", "a_b_3", "a_b_2_2", "_", "__2")
