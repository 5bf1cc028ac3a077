"""The check of a trainer's order, on data loaders without any package; tests/finetune has the real ones."""

import copy
from types import SimpleNamespace

import pytest

from taskorder import PortableOrder
from taskorder.adapters.trainer import STEP, OrderCheck

NAMES = ("ants", "bees", "cats")


def drawn(rows, *, steps=(0, 0, 1, 1, 2), nested=0, **options):
    """The rows that a trainer with this sampler gets to see."""
    trainer = SimpleNamespace(train_dataset={STEP: list(steps)})
    check = OrderCheck(trainer, NAMES, **options)
    batches = SimpleNamespace(sampler=rows)
    outer = batches
    for _ in range(nested):  # of several processes
        outer = SimpleNamespace(batch_sampler=outer)
    check.on_train_begin(None, None, None, train_dataloader=SimpleNamespace(batch_sampler=outer))
    return check, list(batches.sampler)


@pytest.mark.parametrize("nested", [0, 1, 2])
def test_rows_in_order_pass(nested):
    check, rows = drawn([1, 0, 3, 2, 4], nested=nested)
    assert rows == [1, 0, 3, 2, 4]
    check.on_train_end()


@pytest.mark.parametrize("nested", [0, 2])
def test_a_row_out_of_order_stops(nested):
    with pytest.raises(ValueError, match=r"got 'ants' \(step 1 of 3\) after 'bees' \(step 2 of 3\)\. Set") as stopped:
        drawn([0, 2, 1, 3, 4], nested=nested)
    assert "\n" not in str(stopped.value)


def test_a_second_epoch_stops():
    with pytest.raises(ValueError, match=r"got 'ants' .* after 'cats'"):
        drawn([0, 1, 2, 3, 4, 0])


def test_a_data_set_that_was_shuffled_before_stops():
    with pytest.raises(ValueError, match="planned order"):
        drawn(range(5), steps=(0, 2, 1, 0, 1))


def test_it_can_warn_once():
    with pytest.warns(RuntimeWarning, match="planned order") as told:
        _, rows = drawn([4, 3, 2, 1, 0], warn=True)
    assert rows == [4, 3, 2, 1, 0]
    assert len(told) == 1


def test_a_run_that_ends_early_is_said():
    check, _ = drawn([0, 1, 2])
    with pytest.warns(RuntimeWarning, match=r"ended at 'bees' \(step 2 of 3\): later tasks were not learned"):
        check.on_train_end()


def test_a_new_run_starts_anew():
    check, _ = drawn([0, 1, 2, 3, 4])
    batches = SimpleNamespace(sampler=[0, 2, 4])
    check.on_train_begin(train_dataloader=SimpleNamespace(batch_sampler=batches))
    assert list(batches.sampler) == [0, 2, 4]


def test_the_sampler_keeps_what_it_has():
    class Sampler(list):
        epoch = 0

        def set_epoch(self, epoch):
            self.epoch = epoch

    trainer = SimpleNamespace(train_dataset={STEP: [0, 1, 2]})
    batches = SimpleNamespace(sampler=Sampler([0, 1, 2]))
    OrderCheck(trainer, PortableOrder(names=NAMES, order=(0, 1, 2))).on_train_begin(
        train_dataloader=SimpleNamespace(batch_sampler=batches)
    )
    batches.sampler.set_epoch(3)
    assert (batches.sampler.epoch, len(batches.sampler)) == (3, 3)
    assert not hasattr(batches.sampler, "nothing")
    assert list(copy.copy(batches.sampler)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"text": ["a"]}, "whole numbers in the column 'order_step', got none"),
        ({STEP: ["a"]}, "whole numbers in the column 'order_step', got none"),
        (None, "whole numbers in the column 'order_step', got none"),
        ({STEP: [0, 1, 2, 3]}, "a task for every step in the column 'order_step', got 3 tasks and a step 3"),
        ({STEP: [0, 1, -2]}, "got 3 tasks and a step -2"),
        ({STEP: [0, 2]}, r"rows of every task in its train_dataset, got none for 'bees' \(step 2 of 3\)"),
    ],
)  # fmt: skip
def test_what_cannot_be_checked_is_refused(data, message):
    check = OrderCheck(SimpleNamespace(train_dataset=data), NAMES)
    with pytest.raises(ValueError, match=message):
        check.on_train_begin(train_dataloader=SimpleNamespace(batch_sampler=SimpleNamespace(sampler=[0])))


@pytest.mark.parametrize("loader", [None, SimpleNamespace(batch_sampler=None),
                                    SimpleNamespace(batch_sampler=SimpleNamespace(sampler=iter([0])))])  # fmt: skip
def test_streams_are_refused(loader):
    check = OrderCheck(SimpleNamespace(train_dataset={STEP: [0, 1, 2]}), NAMES)
    with pytest.raises(ValueError, match="`trainer` must take its examples by index to be checked"):
        check.on_train_begin(train_dataloader=loader)
