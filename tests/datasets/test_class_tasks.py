"""Task sets: fair draws, look-up tables, and the collapsed labels that a loop makes."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder.datasets.class_tasks import TaskSet, draw_task_set, lookup_table, task_indices

TEN = tuple("abcdefghij")


def relabeled_in_a_loop(labels, classes, targets):
    """What the authors' code does: a class that has become a target is rewritten when its turn comes."""
    labels = labels.copy()
    for label, target in zip(classes, targets, strict=True):
        labels[labels == label] = target
    return labels


def test_the_table_keeps_apart_what_the_loop_collapses():
    labels = np.array([3, 0, 0, 3])
    assert relabeled_in_a_loop(labels, [3, 0], [0, 1]).tolist() == [1, 1, 1, 1]
    assert lookup_table(((3, 0), (0, 1)), 10)[labels].tolist() == [0, 1, 1, 0]


def test_the_loop_collapses_a_task_in_44_percent_of_sets():
    collapsed = 0
    for seed in range(2000):
        tasks = draw_task_set(TEN, 5, seed=seed).tasks
        collapsed += any(len(set(relabeled_in_a_loop(np.array(c), c, t))) < 2 for c, t in tasks)
        assert all(sorted(lookup_table(task, 10)[list(task[0])]) == [0, 1] for task in tasks)
    assert abs(collapsed / 2000 - 7 / 16) < 4 * (0.25 / 2000) ** 0.5


@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 100))
def test_draws_are_groups_of_different_classes(num_tasks, classes_per_task, seed):
    names = tuple(f"c{k}" for k in range(20))
    drawn = draw_task_set(names, num_tasks, classes_per_task, seed, dataset="x")
    classes = [label for group, _ in drawn.tasks for label in group]
    assert len(set(classes)) == len(classes) == num_tasks * classes_per_task
    assert all(sorted(targets) == list(range(classes_per_task)) for _, targets in drawn.tasks)
    assert drawn == draw_task_set(names, num_tasks, classes_per_task, seed, dataset="x")
    assert drawn.names[0] == "-".join(names[label] for label in drawn.tasks[0][0])
    assert json.loads(json.dumps(drawn.to_dict()))["names"] == list(drawn.names)


def test_draws_are_uniform():
    from scipy.stats import chisquare

    draws = [draw_task_set("abcd", 1, seed=seed).tasks[0] for seed in range(4800)]
    counts = Counter(draws)
    assert len(counts) == 12 * 2  # ordered pairs times two labelings
    assert chisquare(list(counts.values())).pvalue > 0.001
    partners = Counter()
    for seed in range(3000):
        for classes, _ in draw_task_set("abcdef", 3, seed=seed).tasks:
            partners[frozenset(classes)] += 1
    assert len(partners) == 15
    # three pairs a set are drawn without return, which only makes the counts more even
    assert chisquare(list(partners.values())).pvalue > 0.001


@given(st.integers(0, 1000))
def test_indices_and_table_agree(seed):
    task = draw_task_set(TEN, 2, 3, seed).tasks[1]
    labels = np.random.default_rng(seed).integers(0, 10, 50)
    table = lookup_table(task, 10)
    assert task_indices(labels, task).tolist() == np.flatnonzero(table[labels] >= 0).tolist()
    assert (table >= 0).sum() == 3
    assert all(table[label] == target for label, target in zip(*task, strict=True))


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="at most the 10 classes there are, got 6 tasks of 2"):
        draw_task_set(TEN, 6)
    with pytest.raises(ValueError, match="`classes_per_task` must be a positive integer, got 0"):
        draw_task_set(TEN, 1, 0)
    with pytest.raises(ValueError, match="`seed` must be a nonnegative integer"):
        draw_task_set(TEN, 1, seed=-1)
    with pytest.raises(ValueError, match="classes from 0 to 4, got 7"):
        lookup_table(((7, 1), (0, 1)), 5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tasks": [[[1, 1], [0, 1]]]}, "different classes"),
        ({"tasks": [[[1, 2], [0, 0]]]}, "the targets 0 to 1"),
        ({"tasks": [[[1, 2], [0]]]}, "the targets 0 to 1"),
        ({"tasks": []}, "must name each of the 0 tasks"),
        ({"names": ["a", "b"]}, "must name each of the 1 tasks"),
    ],
)
def test_broken_records_are_refused(change, said):
    with pytest.raises(ValueError, match=said):
        TaskSet(**{**draw_task_set(TEN, 1).to_dict(), **change})
