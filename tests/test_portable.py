"""order.json: lossless, strict, and a class order only where there is one."""

import dataclasses
import functools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder import __version__, solve
from taskorder.portable import SCHEMA, PortableOrder

TABLE = [[1, 0.2, 0.6], [0.2, 1, 0.1], [0.6, 0.1, 1]]
PLAN = solve(TABLE, names=["cats", "cars", "dogs"], seed=5, retention=1)
GROUPS = {"cats": [0, 1], "cars": [4, 5], "dogs": [2, 3]}


def record(**changes):
    return dataclasses.replace(PortableOrder.from_plan(PLAN, class_groups=GROUPS), **changes)


def test_a_plan_keeps_all_that_others_need():
    words = ["zero", "one", "two", "three", "four", "five", "six"]
    made = PortableOrder.from_plan(PLAN, class_groups=GROUPS, class_names=words, training_seeds=[1993, 7])
    assert made.named_order == PLAN.named_order
    assert made.class_groups == ((0, 1), (4, 5), (2, 3))
    assert made.class_names == (("zero", "one"), ("four", "five"), ("two", "three"))
    assert (made.num_classes, made.classes_left_out) == (7, (6,))
    assert (made.rule, made.predicted_error, made.similarity_digest) == ("optimal", PLAN.error, PLAN.similarity_digest)
    assert (made.order_seed, made.training_seeds) == (5, (1993, 7))
    assert made.versions == {"taskorder": __version__}
    assert made.class_order == tuple(label for name in PLAN.named_order for label in GROUPS[name])
    assert made.group_sizes == (2, 2, 2)


def test_tasks_already_learned_come_first_in_the_class_order():
    plan = solve(TABLE, names=["cats", "cars", "dogs"], learned=["dogs"], retention=1)
    made = PortableOrder.from_plan(plan, class_groups=list(GROUPS.values()))
    assert made.learned == (2,)
    assert made.sequence == (2, *plan.order)
    assert made.class_order[:2] == (2, 3)
    assert sorted(made.class_order) == list(range(6))


def test_numpy_integers_become_plain_ones():
    made = PortableOrder.from_plan(PLAN, class_groups=np.arange(6).reshape(3, 2))
    assert PortableOrder.from_json(made.to_json()) == made


texts = st.text(min_size=1, max_size=8).filter(lambda text: text == text.strip() and text)


@st.composite
def records(draw):
    names = draw(st.lists(texts, min_size=1, max_size=5, unique=True))
    P = len(names)
    visits = [*draw(st.permutations(range(P))), *draw(st.lists(st.integers(0, P - 1), max_size=2))]
    cut = draw(st.integers(0, P - 1))
    labels = st.lists(st.integers(0, 30), min_size=1, max_size=4, unique=True)
    groups = tuple(tuple(draw(labels)) for _ in names) if draw(st.booleans()) else ()
    named = tuple(tuple(draw(st.text(max_size=5)) for _ in group) for group in groups) if draw(st.booleans()) else ()
    highest = max((max(group) for group in groups), default=-1)
    return PortableOrder(
        names=tuple(names),
        order=tuple(visits[cut:]),
        learned=tuple(visits[:cut]),
        class_groups=groups,
        class_names=named,
        num_classes=highest + 1 + draw(st.integers(0, 5)) if groups else 0,
        rule=draw(st.text(max_size=8)),
        predicted_error=draw(st.none() | st.floats(allow_nan=False, allow_infinity=False)),
        similarity_digest=draw(st.text("0123456789abcdef", max_size=64)),
        order_seed=draw(st.none() | st.integers(0, 2**70)),
        training_seeds=tuple(draw(st.lists(st.integers(0, 2**70), max_size=3))),
        versions=draw(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3)),
    )


@given(records())
def test_json_is_lossless(made):
    text = made.to_json()
    assert PortableOrder.from_json(text) == made
    assert PortableOrder.from_json(text).to_json() == text
    assert json.loads(text)["schema"] == SCHEMA
    assert len(text.splitlines()) == 2 + len(dataclasses.fields(made))


@given(records(), st.data())
def test_a_damaged_record_is_refused_or_another_valid_one(made, data):
    """Never another exception, and never a record that its own JSON does not give back."""
    values = json.loads(made.to_json())
    key = data.draw(st.sampled_from(sorted(values)))
    junk = st.none() | st.booleans() | st.integers(-3, 40) | st.floats() | st.text(max_size=3)
    values[key] = data.draw(
        junk | st.lists(junk | st.lists(junk, max_size=2), max_size=3) | st.dictionaries(st.text(), junk)
    )
    order, said = None, ""
    try:
        order = PortableOrder.from_json(json.dumps(values))
    except ValueError as problem:
        said = str(problem)
    if order is None:
        assert "must" in said
        assert "\n" not in said
    else:
        assert PortableOrder.from_json(order.to_json()) == order


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"color": 1}, "missing or unknown ones: ['color']"),
        ({"schema": 2}, "`schema` must be 1, got 2. Another version of taskorder wrote this order."),
        ({"schema": True}, "`schema` must be 1, got True"),
        ({"names": ["a", "a", "b"]}, "`names` must be unique, got 'a' more than once"),
        ({"names": []}, "`names` must name at least one task"),
        ({"order": [0, 1]}, "`order` must visit every task that is not in `learned`, got none of [2]"),
        ({"order": [0, 1, 3]}, "`order` must list task indices from 0 to 2, got 3"),
        ({"order": [0, 1, 2.0]}, "`order` must hold values of type int, got 2.0"),
        ({"order": "012"}, "`order` must be a list, got '012'"),
        ({"class_groups": [[0], [1]]}, "one group for each of the 3 tasks, got 2"),
        ({"class_groups": [[0], [], [1]]}, "must list different ids from 0 on, got [] for 'cars'"),
        ({"class_groups": [[0], [2, 2], [1]]}, "must list different ids from 0 on, got [2, 2]"),
        ({"class_groups": [[0], [-1], [1]]}, "must list different ids from 0 on, got [-1]"),
        ({"class_groups": [[2**61 - 1, 2**62 - 2], [1], [2]]}, "must list ids below 1000000, got 4611686018427387902"),
        (
            {"versions": functools.reduce(lambda inner, _: [inner], range(101), [])},
            "more than 100 lists or objects in one another",
        ),
        ({"class_groups": []}, "`class_groups` must list classes where `class_names` or `num_classes` do"),
        ({"num_classes": 5}, "`num_classes` must be above the highest class id 5, got 5"),
        ({"class_names": [["a"], ["b"], ["c"]]}, "`class_names` must name each class"),
        ({"predicted_error": float("inf")}, "`predicted_error` must be a finite number or null, got inf"),
        ({"training_seeds": [-1]}, "`training_seeds` must be a nonnegative integer, got -1"),
        ({"order_seed": "5"}, "`order_seed` must hold values of type int, got '5'"),
        ({"versions": ["1"]}, "`versions` must map packages to versions"),
    ],
)
def test_bad_records_are_named(change, message):
    text = json.dumps({**json.loads(record().to_json()), **change})
    with pytest.raises(ValueError) as refusal:  # noqa: PT011
        PortableOrder.from_json(text)
    assert message in str(refusal.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", '{"schema": 1}', "[" * 100_000])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match=r"`order.json` must|`schema` must"):
        PortableOrder.from_json(text)


def test_bad_class_groups_of_a_plan():
    for groups, message in (
        ({"cats": [0], "dogs": [1]}, "got a difference: 'cars'"),
        ([[0], [1.5], [2]], "must list class ids for each task"),
        ([0, 1, 2], "must list class ids for each task"),
    ):
        with pytest.raises(ValueError, match=message):
            PortableOrder.from_plan(PLAN, class_groups=groups)
    with pytest.raises(ValueError, match="`class_names` must name every class up to 5, got 2 names"):
        PortableOrder.from_plan(PLAN, class_groups=GROUPS, class_names=["a", "b"])
