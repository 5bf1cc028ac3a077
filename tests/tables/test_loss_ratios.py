import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder.tables.loss_ratios import (
    clip_similarity,
    loss_ratios,
    loss_ratios_from_accuracy,
    similarity_from_loss_ratios,
)


@given(st.floats(0, 1), st.floats(0, 0.9))
def test_accuracy_is_the_loss_of_wrong_answers(accuracy, chance):
    table, base = np.full((2, 2), accuracy), np.full((2, 2), chance)
    np.testing.assert_allclose(loss_ratios_from_accuracy(table, base), loss_ratios(1 - table, 1 - base))
    similarity = similarity_from_loss_ratios(loss_ratios_from_accuracy(table, base))[0, 1]
    assert (similarity > 0) == (accuracy > chance) or np.isclose(similarity, 0, atol=1e-7)
    assert similarity <= 1


def test_more_accurate_means_more_similar():
    similarities = [
        similarity_from_loss_ratios(loss_ratios_from_accuracy([[1, a], [a, 1]], np.full((2, 2), 0.5)))[0, 1]
        for a in (0.0, 0.3, 0.5, 0.8, 1.0)
    ]
    assert similarities == sorted(similarities)
    assert similarities[2] == 0
    assert similarities[4] == 1


def test_direction_is_averaged_and_the_diagonal_is_one():
    similarity = similarity_from_loss_ratios(
        loss_ratios_from_accuracy([[0.6, 0.875], [0.5, 0.7]], np.full((2, 2), 0.5))
    )
    assert similarity.tolist() == [[1, 0.25], [0.25, 1]]


def test_bounded_leaves_its_input_alone():
    matrix = np.array([[1, -1.2, 0.3], [-1.2, 1, -1.0], [0.3, -1.0, 1]])
    clipped, count = clip_similarity(matrix)
    assert count == 1
    assert clipped.min() == -1
    assert matrix.min() == -1.2
    assert clip_similarity(clipped)[1] == 0


@pytest.mark.parametrize(
    ("accuracy", "chance", "message"),
    [
        ([[90.0]], [[0.5]], "`accuracy` must be from 0 to 1, got 90. Divide percentages by 100"),
        ([[-0.1]], [[0.5]], "`accuracy` must be from 0 to 1, got -0.1"),
        ([[0.9]], [[1.0]], "`chance` must be at least 0 and below 1, got 1"),
        ([[0.9]], [[-0.5]], "`chance` must be at least 0 and below 1, got -0.5"),
        ([[0.9]], np.zeros((2, 2)), "`chance` must be 1 x 1"),
    ],
)
def test_bad_tables(accuracy, chance, message):
    with pytest.raises(ValueError, match=message):
        loss_ratios_from_accuracy(accuracy, chance)
