import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder.tables.knowledge import knowledge, shrunken_table, transfer_table

LOSSES = np.array([[0.1, 0.6, 0.5], [0.9, 0.2, 0.8], [0.3, 0.7, 0.0]])
CHANCE = np.array([[1.0, 0.8, 2.0], [1.5, 1.0, 0.8], [0.6, 0.7, 0.9]])
ACCURACY = np.array([[0.9, 0.3, 0.7], [0.9, 0.8, 0.5], [0.2, 0.55, 1.0]])


def measured(seed: int, size: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 2, (size, size)), rng.uniform(0.5, 2, (size, size)), rng.uniform(0, 1, (size, size))


def test_knowledge_cell_by_cell():
    known = knowledge(LOSSES, CHANCE, ACCURACY, 5)
    for k in range(3):
        for j in range(3):
            expected = 1 - ((1 - ACCURACY[k, j]) / (1 - 1 / 5) + LOSSES[k, j] / CHANCE[k, j]) / 2
            assert known[k, j] == pytest.approx(expected)


def test_perfect_is_one_and_chance_is_zero():
    ones = np.ones((2, 2))
    np.testing.assert_allclose(knowledge(0 * ones, ones, ones), 1)
    np.testing.assert_allclose(knowledge(ones, ones, ones / 4, 4), 0, atol=1e-15)
    np.testing.assert_allclose(knowledge(ones, ones, np.full((2, 2), 0.2)), -0.3)


def test_without_accuracies_losses_speak_alone():
    np.testing.assert_allclose(knowledge(LOSSES, CHANCE), 1 - LOSSES / CHANCE)


def test_tasks_may_differ_in_their_classes():
    known = knowledge(LOSSES, CHANCE, ACCURACY, [2, 5, 10])
    for j, K in enumerate((2, 5, 10)):
        np.testing.assert_allclose(known[:, j], knowledge(LOSSES, CHANCE, ACCURACY, K)[:, j])


@given(st.integers(0, 1000), st.floats(0, 0.5))
def test_transfer_table_mixes_the_two_directions(seed, share):
    m = knowledge(*measured(seed))
    S = transfer_table(m, share)
    np.testing.assert_allclose(S + S.T, m + m.T)
    np.testing.assert_allclose(S - S.T, (1 - 2 * share) * (m - m.T), atol=1e-12)
    np.testing.assert_array_equal(np.diagonal(S), np.diagonal(m))


def test_transfer_table_of_the_law():
    m = np.array([[0.9, 0.4, -0.2], [0.8, 1.0, 0.3], [0.6, 0.1, 0.7]])
    assert transfer_table(m)[0, 1] == pytest.approx(0.75 * 0.4 + 0.25 * 0.8)
    assert transfer_table(m)[2, 0] == pytest.approx(0.75 * 0.6 + 0.25 * -0.2)


def test_shrinkage_by_hand():
    S, rho = shrunken_table(LOSSES, CHANCE, ACCURACY, 40)
    m, off = knowledge(LOSSES, CHANCE, ACCURACY), ~np.eye(3, dtype=bool)
    p = (40 * ACCURACY + 0.5) / 41
    q = p * (1 - p) / 40 / 0.25
    ratio = np.sqrt(((1 - LOSSES / CHANCE)[off] ** 2).mean() / (((ACCURACY - 0.5) / 0.5)[off] ** 2).mean())
    f = ((1 + min(1, ratio)) / 2) ** 2
    a = (m - m.T) / 2
    expected = 1 - f * ((q + q.T) / 4)[off].mean() / (a[off] ** 2).mean()
    assert 0 < expected < 1
    assert rho == pytest.approx(expected)
    np.testing.assert_allclose(S[off], ((m + m.T) / 2 + rho / 2 * a)[off])
    g = np.diagonal(m)
    np.testing.assert_allclose(np.diagonal(S), g.mean() + rho * (g - g.mean()))


@given(st.integers(0, 1000))
def test_more_examples_keep_more(seed):
    tables = measured(seed)
    kept = [shrunken_table(*tables, n)[1] for n in (1, 10, 100, 1000, 10**9)]
    assert kept == sorted(kept)
    assert kept[-1] == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(shrunken_table(*tables, 10**12)[0], transfer_table(knowledge(*tables)), atol=1e-6)


def test_nothing_is_kept_of_pure_noise():
    S, rho = shrunken_table(*measured(3), 1)
    assert rho == 0
    np.testing.assert_allclose(S, S.T)
    assert np.ptp(np.diagonal(S)) < 1e-12


def test_symmetric_and_single_tables_have_no_asymmetry_to_keep():
    symmetric = [table + table.T for table in measured(1)]
    symmetric[2] = symmetric[2] / 2
    assert shrunken_table(*symmetric, 1000)[1] == 0
    S, rho = shrunken_table([[0.1]], [[1.0]], [[0.9]], 10)
    assert rho == 0
    assert S[0, 0] == pytest.approx(1 - (0.2 + 0.1) / 2)


def test_constant_tables_at_chance():
    S, rho = shrunken_table(np.ones((3, 3)), np.ones((3, 3)), np.full((3, 3), 0.5), 10)
    assert rho == 0
    np.testing.assert_allclose(S, 0, atol=1e-15)


def test_relabeling_tasks_relabels_the_table():
    tables, shuffle = measured(7), np.array([3, 1, 4, 0, 2])
    S, rho = shrunken_table(*tables, 30, [2, 3, 4, 5, 6])
    moved = [table[np.ix_(shuffle, shuffle)] for table in tables]
    again, kept = shrunken_table(*moved, 30, np.array([2, 3, 4, 5, 6])[shuffle])
    np.testing.assert_allclose(again, S[np.ix_(shuffle, shuffle)])
    assert kept == pytest.approx(rho)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: knowledge(LOSSES, CHANCE[:2, :2]), "`chance` must be 3 x 3"),
        (lambda: knowledge(LOSSES, CHANCE, ACCURACY[:2, :2]), "`accuracy` must be 3 x 3"),
        (lambda: knowledge(LOSSES, CHANCE, 100 * ACCURACY), "Divide percentages by 100"),
        (lambda: knowledge(LOSSES, CHANCE, ACCURACY, 1), "`num_classes` must be a number of at least 2 or 3 of them"),
        (lambda: knowledge(LOSSES, CHANCE, ACCURACY, [2, 2]), "`num_classes` must be"),
        (lambda: transfer_table(LOSSES, 0.7), "`share` must be from 0 to 0.5, got 0.7"),
        (lambda: shrunken_table(LOSSES, CHANCE, ACCURACY, 0), "`num_examples` must be one number of at least 1"),
        (lambda: shrunken_table(LOSSES, CHANCE, ACCURACY, [5, 5]), "`num_examples` must be one number of at least 1"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
