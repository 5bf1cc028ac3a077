"""Labels of different tasks are one class where they are equal, and nowhere else."""

import re

import numpy as np
import pytest

from taskorder import Task, align, share_labels

X = np.arange(8.0).reshape(4, 2)


def test_overlapping_labels_have_one_output_each():
    a, b, c = align(
        [
            Task("a", X, ["billing", "fraud"] * 2),
            Task("b", X, ["access", "billing"] * 2),
            Task("c", X, ["fraud", "praise", "access", "praise"]),
        ]
    )
    assert a.classes == b.classes == c.classes == ("access", "billing", "fraud", "praise")
    assert a.targets.tolist() == [1, 2, 1, 2]
    assert b.targets.tolist() == [0, 1, 0, 1]
    assert c.own_classes == ("access", "fraud", "praise")


def test_nothing_is_renamed_unless_it_is_asked_for():
    pets, cars = Task("pets", X, ["cat", "dog"] * 2), Task("cars", X, ["bus", "car"] * 2)
    assert [task.labels.tolist() for task in align([pets, cars])] == [["cat", "dog"] * 2, ["bus", "car"] * 2]
    assert align([pets, cars])[0].classes == ("bus", "car", "cat", "dog")
    assert [task.targets.tolist() for task in share_labels([pets, cars])] == [[0, 1, 0, 1]] * 2


def test_numbers_and_texts_that_look_alike_are_refused():
    """One table was read with whole numbers, another with texts: they would be two classes."""
    tasks = [Task("a", X, [1, 2, 1, 2]), Task("b", X, ["1", "2"] * 2)]
    said = (
        "`tasks` must have labels of one type, got 1 in 'a' and '1' in 'b'. Bring them to one type: labels.astype(str)."
    )
    with pytest.raises(ValueError, match=re.escape(said)):
        align(tasks)
    assert align([tasks[0], Task("b", X, [1.0, 2.0, 2.0, 1.0])])[1].classes == (1, 2)
