"""Orders in Continuum 1.2 itself: pip install continuum."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskorder import adapters
from taskorder.portable import PortableOrder

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def scenario(torchvision):
    """A function (order) -> ClassIncremental over 20 examples of each class; the only feature is the class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        datasets = pytest.importorskip("continuum.datasets")
        from continuum import ClassIncremental
        from continuum.tasks import TaskType

    def make(order):
        labels = np.tile(np.arange(order.num_classes), 20)
        data = datasets.InMemoryDataset(labels[:, None].astype(float), labels, data_type=TaskType.TENSOR)
        return ClassIncremental(data, **adapters.settings(order, "continuum"))

    return make


@st.composite
def orders(draw):
    """Up to five tasks with up to nine classes."""
    classes = draw(st.permutations(range(draw(st.integers(1, 9)))))
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(classes) - 1)), max_size=4)) & set(range(1, len(classes))))
    groups = tuple(tuple(group.tolist()) for group in np.split(np.array(classes), cuts))
    order = tuple(draw(st.permutations(range(len(groups)))))
    return PortableOrder(
        names=tuple(f"task {task}" for task in range(len(groups))),
        order=order,
        class_groups=groups,
        num_classes=len(classes),
    )


def test_tasks_come_in_order_and_labels_in_class_order(scenario):
    @given(orders())
    @settings(max_examples=30)
    def check(order):
        made = scenario(order)
        assert made.nb_tasks == len(order.order)
        next_label = 0
        for taskset, group in zip(made, order.groups_in_order, strict=True):
            inputs, labels, _ = taskset.get_random_samples(len(taskset))
            assert set(inputs.flatten().int().tolist()) == set(group)
            assert sorted(set(labels.tolist())) == list(range(next_label, next_label + len(group)))
            assert [order.class_order[label] for label in labels.tolist()] == inputs.flatten().int().tolist()
            next_label += len(group)

    check()


def test_classes_left_out_are_refused():
    order = PortableOrder(names=("A", "B"), order=(1, 0), class_groups=((0,), (3,)), num_classes=4)
    with pytest.raises(ValueError, match=r"for Continuum .* got none with 1, 2"):
        adapters.settings(order, "continuum")
