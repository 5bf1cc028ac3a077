"""A task is checked when it is made; tasks are checked where they meet."""

import hashlib
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder import pilot_sample, plan
from taskorder.learners import CallableLearner
from taskorder.task import Task, align, share_labels

X = np.arange(8.0).reshape(4, 2)
Y = [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X, [1, 1, 1, 1]), "`labels` of task 'cats' must have at least two classes, got only 1. Give it examples"),
        ((X[:0], []), "`inputs` of task 'cats' must have at least one example, got none. Leave an empty task out."),
        (([], []), "`inputs` of task 'cats' must have at least one example, got none"),
        ((X, [0, 1]), "must have one row for each label, got 4 rows, 2 labels"),
        ((np.where(X == 1, np.nan, X), Y), "must be finite, got nan in row 1. Fill or drop missing values first."),
        ((np.where(X == 5, np.inf, X), Y), "must be finite, got inf in row 3"),
        ((X[:, 0], Y), "got shape (4,). One feature goes in a column: inputs.reshape(-1, 1)"),
        ((X[:, :0], Y), "got shape (4, 0)"),
        (([[1.0], [2.0, 3.0]], [0, 1]), "got ragged rows, text or list"),
        ((np.array([["a"], ["b"]]), [0, 1]), "got values of type <U1. Encode texts as numbers first."),
        ((X, [0, 1, None, 1]), "must not be missing, got None. Drop examples without a label."),
        ((X, [0, 1, float("nan"), 1]), "must not be missing, got nan"),
        ((X, [0.5, 1.25, 0.5, 1.25]), "must be classes, got the number 0.5. Cut numbers into classes first."),
        ((X, [[0], [1], [0], [1]]), "must list one label for each example"),
        ((X, "abab"), "must list one label for each example, got the text 'abab'"),
        ((None, Y), "`inputs` and `labels` of task 'cats' must be given together"),
        ((X, Y, X, None), "`eval_inputs` and `eval_labels` of task 'cats' must be given together"),
        ((X, Y, X[:, :1], Y), "must be like its inputs (2 float), got 1 float"),
        ((X, Y, X.astype(np.uint8), Y), "must be like its inputs (2 float), got 2 uint8"),
        ((X, Y, X, [0, 1, 2, 1]), "`eval_labels` of task 'cats' must be classes that it has examples of"),
        ((X, Y, X[:2], [1, 1]), "`eval_labels` of task 'cats' must have at least two classes, got only 1"),
        ((X, Y, np.full_like(X, np.inf), Y), "`eval_inputs` of task 'cats' must be finite"),
        ((X, Y, None, None, (0, 1, 1)), "`classes` of task 'cats' must list different classes, got (0, 1, 1)"),
        ((X, Y, None, None, "01"), "`classes` of task 'cats' must list different classes, got '01'"),
        ((X, Y, None, None, (0, 7)), "`labels` of task 'cats' must be among its classes, got 1"),
    ],
)
def test_bad_data_are_named_with_the_task(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Task("cats", *arguments)


@pytest.mark.parametrize("name", ["", "  ", 3])
def test_a_task_has_a_name(name):
    with pytest.raises(ValueError, match="`name` must be a text"):
        Task(name, X, Y)


@given(st.lists(st.one_of(st.integers(), st.text(), st.booleans(), st.tuples(st.text())), min_size=2, max_size=9))
def test_any_hashable_labels_come_back(labels):
    distinct = set(labels)
    if len(distinct) < 2:
        with pytest.raises(ValueError, match="two classes"):
            Task("t", np.ones((len(labels), 1)), labels)
        return
    task = Task("t", np.ones((len(labels), 1)), labels)
    assert set(task.classes) == distinct
    assert [task.classes[place] for place in task.targets] == labels


def test_data_cannot_be_written_to_and_the_caller_still_can():
    mine = X.copy()
    task = Task("t", mine, Y)
    with pytest.raises(ValueError, match="read-only"):
        task.inputs[0] = 3
    mine[0] = 3
    assert mine[0, 0] == 3


def test_losses_are_measured_on_evaluation_data_if_there_are_any():
    assert Task("t", X, Y).measured[0].tolist() == X.tolist()
    inputs, targets = Task("t", X, Y, X[:2] + 1, [1, 0]).measured
    assert inputs.tolist() == (X[:2] + 1).tolist()
    assert targets.tolist() == [1, 0]


def test_shuffled_labels_are_the_same_labels():
    task = Task("t", np.arange(40.0).reshape(20, 2), ["b", "a", "a", "a"] * 5)
    drawn = [task.shuffled(seed) for seed in (1, 1, 2)]
    assert drawn[0].measured[1].tolist() == drawn[1].measured[1].tolist() != drawn[2].measured[1].tolist()
    assert np.bincount(drawn[0].measured[1]).tolist() == [15, 5]
    assert drawn[0].measured[0].tolist() == task.inputs.tolist()
    assert drawn[0].targets.tolist() == task.targets.tolist()


def test_a_digest_changes_with_everything():
    tasks = [
        Task("t", X, Y), Task("u", X, Y), Task("t", X + 1, Y), Task("t", X, Y[::-1]), Task("t", X, Y, X, Y),
        Task("t", X.astype(np.float32), Y), Task("t", X, ["a", "b", "a", "b"]), Task("t", X, Y, classes=(0, 1, 2)),
    ]  # fmt: skip
    assert len({task.digest for task in tasks}) == len(tasks)
    assert Task("t", X.copy(), list(Y)).digest == tasks[0].digest


def test_digests_of_arrays_are_those_that_stores_have():
    total = hashlib.sha256(repr(("t", (0, 1))).encode())
    for array in (X, np.array(Y), X + 1, np.array(Y)):
        total.update(f"{array.dtype.str} {array.shape}".encode() + array.tobytes())
    assert Task("t", X, Y, X + 1, Y).digest == total.hexdigest()


def test_tasks_meet():
    a, b = align([Task("a", X, ["x", "y", "x", "y"]), Task("b", X, ["y", "z", "z", "z"])])
    assert a.classes == b.classes == ("x", "y", "z")
    assert b.targets.tolist() == [1, 2, 2, 2]
    assert b.own_classes == ("y", "z")
    assert align([Task("driving"), Task("cooking")])[1].name == "cooking"


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ([], "at least one task, got none"),
        ([Task("a", X, Y), Task("a", X, Y)], "unique, got 'a' more than once"),
        ([Task("a", X, Y), Task("b", X[:, :1], Y)], "got 2 float for 'a' and 1 float for 'b'. Bring them to the same"),
        ([Task("a", X, Y), Task("b", X.astype(np.uint8), Y)], "got 2 float for 'a' and 2 uint8 for 'b'"),
        ([Task("a", X, Y), Task("b")], "all have data or all be names, got 'a' and only 'b'"),
        ([("a", X, Y)], "must hold Task records, got tuple. Make them with Task(...)"),
    ],
)
def test_tasks_that_do_not_fit_together(tasks, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        align(tasks)


@pytest.mark.parametrize("tasks", [3, None, Task("a", X, Y)])
@pytest.mark.parametrize("take", [align, share_labels, pilot_sample, lambda tasks: plan(tasks, CallableLearner(len))])
def test_what_is_no_list_of_tasks(take, tasks):
    said = f"`tasks` must list Task records, got {type(tasks).__name__}. Put them in a list: [Task(...), Task(...)]."
    with pytest.raises(ValueError, match=re.escape(said)):
        take(tasks)


def test_classes_of_their_own_become_shared_labels():
    pets, cars = share_labels(
        [Task("pets", X, ["dog", "cat", "dog", "cat"], X, ["cat", "dog", "dog", "dog"]), Task("cars", X, [7, 9, 9, 9])]
    )
    assert pets.classes == cars.classes == (0, 1)
    assert pets.targets.tolist() == [1, 0, 1, 0]
    assert pets.eval_targets.tolist() == [0, 1, 1, 1]
    assert cars.labels.tolist() == [0, 1, 1, 1]
