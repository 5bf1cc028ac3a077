"""Frameworks that are no packages: what their own code does with an order, in our words.

Mammoth replaces `targets` by `class_order[targets]` and gives task k the labels from k * N_CLASSES_PER_TASK on (or
from the sum of a list's first k entries). PyCIL replaces a label by its place in the list `class_order` and cuts the
places into `init_cls`, then `increment` as often as it fits, then the rest. FACIL does so too, but cuts the places into
equal parts, the first of which get what is left over, after `nc-first-task` classes where that is given. LibContinual
gives task k > 0 the places from `init_cls_num` + (k - 1) * `inc_cls_num` on, `inc_cls_num` of them.

Compared with the sources in November 2026: aimagelab/mammoth datasets/utils/continual_dataset.py (00e5d48), G-U-N/PyCIL
utils/data_manager.py (44cda2e), mmasana/FACIL src/datasets/memory_dataset.py (66e3e8e) and base_dataset.py (e0563c7),
RL-MIND/LibContinual core/data/dataloader.py (d6471d4) and dataset.py (780ab18).
"""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder.adapters import FRAMEWORKS, settings, usage
from taskorder.portable import PortableOrder


def make(groups, order, **more):
    names = tuple(f"task {task}" for task in range(len(groups)))
    num_classes = more.pop("num_classes", 1 + max(max(group) for group in groups))
    groups = tuple(map(tuple, groups))
    return PortableOrder(names=names, order=tuple(order), class_groups=groups, num_classes=num_classes, **more)


def mammoth_tasks(values, targets):
    """The original classes that Mammoth shows at each task, and the labels it gives them."""
    labels = values["class_order"][targets]
    size, count = values["N_CLASSES_PER_TASK"], values["N_TASKS"]
    ends = np.cumsum(size if isinstance(size, list) else [size] * count)
    return [set(targets[(labels >= start) & (labels < end)]) for start, end in zip([0, *ends], ends, strict=False)]


def pycil_tasks(values, targets):
    """The original classes that PyCIL shows at each task."""
    places = np.array([values["class_order"].index(label) for label in targets.tolist()])
    total = len(values["class_order"])
    sizes = [values["init_cls"]]
    while sum(sizes) + values["increment"] < total:
        sizes.append(values["increment"])
    if sum(sizes) < total:
        sizes.append(total - sum(sizes))
    ends = np.cumsum(sizes)
    return [set(targets[(places >= start) & (places < end)]) for start, end in zip([0, *ends], ends, strict=False)]


def facil_tasks(values, targets):
    """The original classes that FACIL shows at each task."""
    count, num_classes = values["num-tasks"], len(values["class_order"])
    first = values.get("nc-first-task")
    if first is None:
        sizes = np.full(count, num_classes // count)
        sizes[: num_classes % count] += 1
    else:
        assert first < num_classes
        left = num_classes - first
        sizes = np.array([first] + [left // (count - 1)] * (count - 1))
        sizes[1 : 1 + left % (count - 1)] += 1
    kept = targets[np.isin(targets, values["class_order"])]
    places = np.array([values["class_order"].index(label) for label in kept.tolist()])
    tasks = (places[:, None] >= np.cumsum(sizes)).sum(axis=1)
    return [set(kept[tasks == task]) for task in range(count)]


def libcontinual_tasks(values, targets):
    """The original classes that LibContinual shows at each task."""
    original = dict(enumerate(values["class_order"]))
    new_label = {old: new for new, old in original.items()}
    groups = []
    for task in range(values["task_num"]):
        start = 0 if task == 0 else values["init_cls_num"] + (task - 1) * values["inc_cls_num"]
        end = start + values["init_cls_num" if task == 0 else "inc_cls_num"]
        groups.append({label for label in targets.tolist() if label in new_label and start <= new_label[label] < end})
    return groups


@st.composite
def partitions(draw, max_classes=9):
    """Groups of all classes and an order of the groups."""
    classes = draw(st.permutations(range(draw(st.integers(2, max_classes)))))
    cuts = sorted(draw(st.sets(st.integers(1, len(classes) - 1), max_size=4)))
    groups = [classes[start:end] for start, end in zip([0, *cuts], [*cuts, len(classes)], strict=True)]
    return groups, draw(st.permutations(range(len(groups))))


@given(partitions())
def test_mammoth_learns_the_groups_in_order(made):
    order = make(*made)
    targets = np.tile(np.arange(order.num_classes), 3)
    values = settings(order, "mammoth")
    assert isinstance(values["class_order"], np.ndarray)
    assert mammoth_tasks(values, targets) == [set(group) for group in order.groups_in_order]


def test_mammoth_with_the_class_order_itself_learns_other_tasks():
    """The trap: the permutation and its inverse differ."""
    order = make([[0, 1], [2, 3], [4, 5]], [1, 2, 0])
    values = settings(order, "mammoth")
    assert values["class_order"].tolist() == [4, 5, 0, 1, 2, 3]
    assert list(order.class_order) == [2, 3, 4, 5, 0, 1]
    wrong = {**values, "class_order": np.array(order.class_order)}
    targets = np.arange(6)
    assert mammoth_tasks(values, targets) == [{2, 3}, {4, 5}, {0, 1}]
    assert mammoth_tasks(wrong, targets) == [{4, 5}, {0, 1}, {2, 3}]


@given(partitions())
def test_pycil_learns_the_groups_in_order_or_refuses(made):
    order = make(*made)
    sizes = order.group_sizes
    regular = len(sizes) == 1 or (set(sizes[1:-1]) <= {sizes[1]} and sizes[-1] <= sizes[1])
    if not regular:
        with pytest.raises(ValueError, match="one size after the first task for PyCIL"):
            settings(order, "pycil")
        return
    values = settings(order, "pycil")
    assert values["shuffle"] is False
    assert json.loads(json.dumps(values)) == values
    targets = np.tile(np.arange(order.num_classes), 3)
    assert pycil_tasks(values, targets) == [set(group) for group in order.groups_in_order]


@given(partitions())
def test_facil_learns_the_groups_in_order_or_refuses(made):
    order = make(*made)
    rest = list(order.group_sizes[1:])
    if rest != sorted(rest, reverse=True) or (rest and max(rest) - min(rest) > 1):
        with pytest.raises(ValueError, match="sizes that FACIL cuts"):
            settings(order, "facil")
        return
    values = settings(order, "facil")
    assert type(values["class_order"]) is list  # FACIL calls .copy() and .index()
    targets = np.tile(np.arange(order.num_classes), 3)
    assert facil_tasks(values, targets) == [set(group) for group in order.groups_in_order]


@given(partitions())
def test_libcontinual_learns_the_groups_in_order_or_refuses(made):
    order = make(*made)
    if len(set(order.group_sizes[1:])) > 1:
        with pytest.raises(ValueError, match="one size after the first task for LibContinual"):
            settings(order, "libcontinual")
        return
    values = settings(order, "libcontinual")
    targets = np.tile(np.arange(order.num_classes), 3)
    assert libcontinual_tasks(values, targets) == [set(group) for group in order.groups_in_order]


@pytest.mark.parametrize(("framework", "tasks"), [("facil", facil_tasks), ("libcontinual", libcontinual_tasks)])
def test_classes_may_be_left_out_where_the_framework_filters_them(framework, tasks):
    order = make([[0, 5], [3, 1]], [1, 0], num_classes=9)
    assert tasks(settings(order, framework), np.arange(9)) == [{3, 1}, {0, 5}]


def test_facil_gets_a_size_for_the_first_task_only_where_it_needs_one():
    assert "nc-first-task" not in settings(make([[0, 1, 2], [3, 4], [5, 6]], [0, 1, 2]), "facil")
    assert settings(make([[0], [1, 2], [3, 4]], [0, 1, 2]), "facil")["nc-first-task"] == 1


def test_training_seeds_go_to_pycil():
    assert settings(make([[0], [1]], [1, 0], training_seeds=(1993, 7)), "pycil")["seed"] == [1993, 7]


def test_task_ids_of_clarena_start_at_one():
    assert settings(PortableOrder(names=("A", "B", "C"), order=(2, 0), learned=(1,)), "clarena") == {
        "train_tasks": [2, 3, 1]
    }


def test_renate_takes_groups_and_may_leave_classes_out():
    assert settings(make([[0, 5], [3]], [1, 0]), "renate") == {"class_groupings": [[3], [0, 5]]}


@pytest.mark.parametrize("framework", ["avalanche", "continuum", "mammoth", "pycil"])
def test_classes_left_out_are_refused_with_the_reason(framework):
    order = make([[0, 5], [3]], [1, 0], num_classes=20)
    with pytest.raises(ValueError, match=r"every class .* got none with 1, 2, 4, 6, 7, 8, 9, 10, \.\.\.\. Drop"):
        settings(order, framework)


@pytest.mark.parametrize("framework", sorted(set(FRAMEWORKS) - {"clarena"}))
def test_what_is_no_class_order_is_refused(framework):
    for order, message in (
        (PortableOrder(names=("A", "B"), order=(1, 0)), "`class_groups` must list the classes of each task"),
        (make([[0, 1], [1, 2]], [1, 0]), "got class 1 in 'task 0' and 'task 1'"),
        (make([[0], [1]], [0, 1, 0]), r"must visit each of the 2 tasks once .* got \[0, 1, 0\]"),
    ):
        with pytest.raises(ValueError, match=message):
            settings(order, framework)


@pytest.mark.parametrize("framework", sorted(FRAMEWORKS))
def test_usage_shows_every_setting(framework):
    order = make([[4], [0, 1], [2, 3]], [0, 1, 2], training_seeds=(5,))
    text = usage(order, framework)
    for key, value in settings(order, framework).items():
        assert key in text
        assert str(value.tolist() if isinstance(value, np.ndarray) else value).lower() in text.lower()


def test_unknown_frameworks_are_named():
    with pytest.raises(ValueError, match=r"`framework` must be one of avalanche, .* got 'caffe'"):
        settings(make([[0]], [0]), "caffe")
