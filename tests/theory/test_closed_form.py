from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder import chain, error_path, final_error, final_knowledge, task_errors
from taskorder.theory.closed_form import closed_form_error, output_factor

sizes, seeds = st.integers(1, 8), st.integers(0, 2**32 - 1)


def indefinite(num_tasks: int, rng: np.random.Generator) -> np.ndarray:
    upper = np.triu(rng.uniform(-0.9, 0.9, (num_tasks, num_tasks)), 1)
    return upper + upper.T + np.eye(num_tasks)


@given(sizes, seeds, st.booleans(), st.booleans())
def test_recursion_equals_the_matrix_formula(make_correlation, num_tasks, seed, definite, shared):
    rng = np.random.default_rng(seed)
    C = make_correlation(num_tasks, seed) if definite else indefinite(num_tasks, rng)
    Co = None if shared else make_correlation(num_tasks, seed + 1, int(rng.integers(1, num_tasks + 2)))
    order = rng.permutation(num_tasks)
    expected = closed_form_error(C, order, Co)
    assert final_error(C, order, Co) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(sizes, seeds)
def test_weights_weigh_the_task_errors(make_correlation, num_tasks, seed):
    rng = np.random.default_rng(seed)
    C, Co = make_correlation(num_tasks, seed), make_correlation(num_tasks, seed + 1)
    weights, order = rng.uniform(0.1, 3, num_tasks), rng.permutation(num_tasks)
    # the formula again, with the weights on the columns of the residual
    D = C[np.ix_(order, order)]
    residual = np.eye(num_tasks) - np.linalg.inv(np.eye(num_tasks) + np.triu(D, 1)) @ D
    per_task = np.diag(residual.T @ Co[np.ix_(order, order)] @ residual)
    assert final_error(C, order, Co, weights) == pytest.approx(per_task @ weights[order], rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(task_errors(C, order, Co)[order], per_task, atol=1e-12)


@given(st.integers(2, 8), seeds)
def test_relabeling_tasks_changes_nothing(make_correlation, num_tasks, seed):
    rng = np.random.default_rng(seed)
    C, Co, weights = (
        make_correlation(num_tasks, seed),
        make_correlation(num_tasks, seed + 1),
        rng.uniform(0.1, 1, num_tasks),
    )
    order, label = rng.integers(0, num_tasks, 2 * num_tasks), rng.permutation(num_tasks)
    back = np.argsort(label)  # new task label[i] is old task i
    relabeled = final_error(C[np.ix_(back, back)], label[order], Co[np.ix_(back, back)], weights[back])
    assert relabeled == pytest.approx(final_error(C, order, Co, weights), rel=1e-9, abs=1e-12)


@given(sizes, seeds)
def test_path_starts_at_one_visits_zero_and_ends_at_the_final_error(make_correlation, num_tasks, seed):
    rng = np.random.default_rng(seed)
    C, Co = make_correlation(num_tasks, seed), make_correlation(num_tasks, seed + 1)
    order = rng.integers(0, num_tasks, num_tasks + 2)
    path = error_path(C, order, Co)
    assert path.shape == (len(order) + 1, num_tasks)
    np.testing.assert_allclose(path[0], 1)
    np.testing.assert_allclose(path[np.arange(1, len(path)), order], 0, atol=1e-20)
    np.testing.assert_allclose(path[-1], task_errors(C, order, Co))
    for step in range(len(path)):
        np.testing.assert_allclose(path[step], task_errors(C, order[:step], Co), atol=1e-14)


@given(st.floats(-1, 1))
def test_two_tasks(r):
    assert final_error([[1, r], [r, 1]], [0, 1]) == pytest.approx(r**2 * (1 - r) ** 2, abs=1e-15)


@pytest.mark.parametrize("num_tasks", [1, 2, 5])
def test_unrelated_tasks_leave_no_error(num_tasks):
    assert final_error(np.eye(num_tasks), range(num_tasks)) == 0


def test_omitted_and_repeated_tasks():
    C = [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]
    assert final_error(C, []) == 3
    np.testing.assert_allclose(task_errors(C, [0]), [0, 0.25, 1])
    # A then B leaves A at r (1 - r); each further visit multiplies the residual by -r
    np.testing.assert_allclose(task_errors(C, [0, 1, 0, 1]), [0.5**8, 0, 1])
    assert final_error(C, [0, 0]) == final_error(C, [0])


def test_inputs_stay_untouched():
    C, Co, weights = np.array([[1, 0.5], [0.5, 1]]), np.eye(2), np.ones(2)
    final_error(C, [0, 1], Co, weights)
    error_path(C, [0, 1], Co)
    assert C.tolist() == [[1, 0.5], [0.5, 1]]
    assert Co.tolist() == [[1, 0], [0, 1]]
    assert weights.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 0.2], [0.5, 1]], [0, 1]), "symmetric"),
        (([[1, 0.2], [0.2, 0.9]], [0, 1]), "ones on the diagonal, got 0.9 for task 2"),
        (([[1, np.nan], [np.nan, 1]], [0, 1]), "finite"),
        (([[1, 0.2]], [0]), "square"),
        (([[1, 0.2], [0.2, 1]], [0, 2]), "from 0 to 1, got 2"),
        (([[1, 0.2], [0.2, 1]], [0, 1], [[1, 0.2], [0.1, 1]]), "`output` must be symmetric"),
        (([[1, 0.2], [0.2, 1]], [0, 1], None, [1, -1]), "`weights` must be at least 0"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        final_error(*arguments)


def test_the_reference_takes_permutations_only():
    with pytest.raises(ValueError, match="each of the 2 tasks exactly once"):
        closed_form_error(np.eye(2), [0, 0])


@given(sizes, seeds, st.integers(1, 9))
def test_output_factor_has_the_rank_of_the_output(make_correlation, num_tasks, seed, rank):
    Co = make_correlation(num_tasks, seed, rank)
    R = output_factor(Co, num_tasks)
    np.testing.assert_allclose(R.T @ R, Co, atol=1e-10)
    assert len(R) == min(rank, num_tasks)


def test_a_wrong_error_would_be_noticed(make_correlation):
    C = make_correlation(4, 0)
    values = {round(closed_form_error(C, order), 9) for order in permutations(range(4))}
    assert len(values) == 24


@given(sizes, seeds, st.floats(0, 0.99))
def test_a_retention_below_one_takes_any_table(num_tasks, seed, d):
    rng = np.random.default_rng(seed)
    S = rng.uniform(-1, 1, (num_tasks, num_tasks))
    order, weights, start = rng.permutation(num_tasks), rng.uniform(0.1, 2, num_tasks), rng.uniform(0, 1, num_tasks)
    s, path = start, [(1 - start) ** 2]
    for k in order:
        s = d * s + 0.8 * S[k] * (1 - d * s[k])
        path.append((1 - s) ** 2)
    options = {"progress": 0.8, "retention": d, "start": start}
    np.testing.assert_allclose(error_path(S, order, **options), path, atol=1e-12)
    np.testing.assert_allclose(task_errors(S, order, **options), path[-1], atol=1e-12)
    assert final_error(S, order, None, weights, **options) == pytest.approx(weights @ path[-1], rel=1e-12)


@given(sizes, seeds)
def test_full_retention_is_the_theorem_bit_for_bit(make_correlation, num_tasks, seed):
    rng = np.random.default_rng(seed)
    C, Co, order = make_correlation(num_tasks, seed), make_correlation(num_tasks, seed + 1), rng.permutation(num_tasks)
    assert final_error(C, order, Co, retention=1) == final_error(C, order, Co)
    assert final_error(C, order, retention=np.ones(num_tasks)) == final_error(C, order)
    almost = final_error(C, order, retention=1 - 1e-12)
    assert almost == pytest.approx(final_error(C, order), rel=1e-6, abs=1e-9)


def test_a_start_continues_an_order():
    C = chain(5, 0.7)
    for d in (1.0, 0.4):
        middle = final_knowledge(C, [0, 4], d)
        whole = error_path(C, [0, 4, 2, 3, 1], retention=d)
        np.testing.assert_allclose(error_path(C, [2, 3, 1], retention=d, start=middle), whole[2:], atol=1e-14)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retention": 0.5, "output": np.eye(3)}, "`output` must be left out for a retention below 1"),
        ({"start": [0, 0, 0], "output": np.eye(3)}, "`start` must be left out with `output`"),
        ({"start": [0, 0]}, "`start` must be 3 finite numbers"),
        ({"retention": -0.1}, "`retention` must be in"),
        ({"retention": {"A": 0.1}}, "one for each task, got names"),
    ],
)
def test_bad_retention_or_start_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        final_error(np.eye(3), [0, 1, 2], **options)
