"""Rows and labels of several tasks, put together."""

import numpy as np
import pytest
import scipy.sparse

from taskorder import Task, align
from taskorder.task.joined import joined
from taskorder.task.mixed import MixedTask

ROWS = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("labels", [(("no", "yes"), (1, 2)), ((True, False), (3, 4)), (((1, 2), (3, 4)), (5, 6))])
def test_labels_stay_what_they_are(labels):
    tasks = align([Task(name, ROWS, list(own)) for name, own in zip("ab", labels, strict=True)])
    mixed = MixedTask.of(tasks)
    assert mixed.classes == tasks[0].classes
    assert [mixed.classes[place] for place in mixed.targets] == [*labels[0], *labels[1]]


def frame_of(package):
    return lambda rows: pytest.importorskip(package).DataFrame({"x": rows[:, 0], "y": rows[:, 1]})


def whole(make):
    return lambda rows: make(rows.astype(np.int64))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (scipy.sparse.csr_matrix, scipy.sparse.csr_array),
        (scipy.sparse.csr_matrix, scipy.sparse.csc_matrix),
        (frame_of("pandas"), frame_of("polars")),
        (whole(frame_of("pandas")), frame_of("pandas")),
        (whole(frame_of("polars")), frame_of("polars")),
    ],
    ids=["matrix and array", "rows and columns", "pandas and polars", "pandas, whole numbers", "polars, whole numbers"],
)
def test_rows_of_two_kinds_that_tasks_may_have(one, other):
    for parts in ((one(ROWS), other(ROWS + 10.5)), (other(ROWS + 10.5), one(ROWS))):
        rows = Task("both", joined(parts), list("abab")).rows.values
        values = rows.toarray() if scipy.sparse.issparse(rows) else rows.to_numpy()
        assert sorted(values.tolist()) == [[1.0, 2.0], [3.0, 4.0], [11.5, 12.5], [13.5, 14.5]]
