"""The map of the tasks."""

import numpy as np

from taskorder.report.embedding import DENSE, task_points


def test_two_dimensions_hold_tasks_that_lie_in_a_plane():
    angles = np.array([0.1, 0.9, 2.0, 3.5, 5.0])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points, share = task_points(vectors @ vectors.T)
    assert share > 1 - 1e-9
    wanted = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    np.testing.assert_allclose(np.linalg.norm(points[:, None] - points[None], axis=2), wanted, atol=1e-7)


def test_few_eigenvalues_give_the_same_map_as_all(make_correlation, monkeypatch):
    C = make_correlation(40, 5)
    whole, share = task_points(C)
    monkeypatch.setattr("taskorder.report.embedding.DENSE", 10)
    quick, quick_share = task_points(C)
    assert DENSE > 40
    np.testing.assert_allclose(quick, whole, atol=1e-8)
    assert abs(share - quick_share) < 1e-9


def test_one_task_and_equal_tasks_lie_in_the_middle():
    for P in (1, 3):
        points, share = task_points(np.ones((P, P)))
        assert points.shape == (P, 2)
        assert not points.any()
        assert share == 1.0
