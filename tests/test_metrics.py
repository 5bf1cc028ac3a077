import numpy as np
import pytest

from taskorder.metrics import metrics

R = np.array(
    [
        [0.5, 0.4, 0.6],  # before training
        [0.7, 0.9, 0.5],  # after task 1
        [0.6, 0.8, 0.95],  # after task 2
        [1.0, 0.7, 0.85],  # after task 0
    ]
)
ORDER = [1, 2, 0]


def test_by_hand():
    measured = metrics(R, ORDER)
    assert float(measured.final_average_accuracy) == pytest.approx((1.0 + 0.7 + 0.85) / 3)
    assert float(measured.average_incremental_accuracy) == pytest.approx(np.mean([0.9, (0.8 + 0.95) / 2, 2.55 / 3]))
    assert float(measured.forgetting) == pytest.approx(((0.9 - 0.7) + (0.95 - 0.85)) / 2)
    assert float(measured.backward_transfer) == pytest.approx(((0.7 - 0.9) + (0.85 - 0.95)) / 2)
    assert float(measured.forward_transfer) == pytest.approx(((0.5 - 0.6) + (0.6 - 0.5)) / 2)


def test_leading_axes_are_kept():
    many = np.stack([[R, R + 0.01], [R * 0.5, R]])
    measured = metrics(many, ORDER)
    assert measured.forgetting.shape == (2, 2)
    assert measured.forgetting[1, 0] == pytest.approx(float(metrics(R, ORDER).forgetting) / 2)


def test_one_task_forgets_nothing():
    measured = metrics([[0.5], [0.9]], [0])
    assert float(measured.final_average_accuracy) == 0.9
    assert float(measured.forgetting) == float(measured.backward_transfer) == float(measured.forward_transfer) == 0


def test_columns_are_tasks_and_not_positions():
    relabeled = metrics(R[:, [2, 0, 1]], [2, 0, 1])  # the same history with other task numbers
    np.testing.assert_allclose(relabeled.forgetting, metrics(R, ORDER).forgetting)
    np.testing.assert_allclose(relabeled.forward_transfer, metrics(R, ORDER).forward_transfer)


@pytest.mark.parametrize(
    ("table", "order", "message"),
    [
        (R, [0, 1], "each of the 3 tasks exactly once"),
        (R[1:], ORDER, "`R` must have 4 rows"),
        (R, [0, 1, 3], "indices"),
    ],
)
def test_bad_input_is_named(table, order, message):
    with pytest.raises(ValueError, match=message):
        metrics(table, order)
