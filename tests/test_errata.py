"""Where the paper or its authors' code is wrong: one test for each item of docs/errata.md."""

from fractions import Fraction
from itertools import pairwise, permutations, product

import numpy as np
import pytest

from taskorder import chain, final_error, perturbation, random_correlation, ring
from taskorder.theory.closed_form import closed_form_error
from taskorder.theory.random_orders import listed_errors


def constant(num_tasks: int, value: float) -> np.ndarray:
    return np.full((num_tasks, num_tasks), value) + (1 - value) * np.eye(num_tasks)


def all_errors(similarity: np.ndarray) -> dict[tuple[int, ...], float]:
    num_tasks = len(similarity)
    errors = listed_errors(similarity, np.ones((1, num_tasks)), np.ones(num_tasks))
    return dict(zip(permutations(range(num_tasks)), errors.tolist(), strict=True))


@pytest.mark.parametrize(
    ("num_tasks", "m", "rho_out"), [(3, 0.2, 1), (5, 0.3, 1), (5, 0.3, 0.5), (7, 0.6, 0.9), (4, -0.1, 0)]
)
def test_1_the_true_coefficient_is_twice_the_printed_one(num_tasks, m, rho_out):
    change = 1e-5 * np.triu(np.random.default_rng(0).standard_normal((num_tasks, num_tasks)), 1)
    up, down = (
        closed_form_error(
            constant(num_tasks, m) + sign * (change + change.T), range(num_tasks), constant(num_tasks, rho_out)
        )
        for sign in (1, -1)
    )
    assert (up - down) / 2 / (perturbation(num_tasks, m, rho_out).paper * change).sum() == pytest.approx(2, rel=1e-5)


def test_2_no_factor_of_num_tasks_before_the_typicality_sum():
    P, m = 6, 0.3
    q = 1 - m
    dM = np.triu(np.random.default_rng(1).standard_normal((P, P)), 1)
    dt = (dM + dM.T).sum(axis=0)
    power = q ** np.arange(1, P + 1)
    mean = power.mean()
    scale = (3 - m) / ((2 - m) * q)
    typicality_sum = (scale * mean - q ** (P - 1)) * (power @ dt)
    rest = scale * (np.outer(power - mean, power - mean) * dM).sum() - scale * mean**2 * dM.sum()
    exact = (perturbation(P, m).typicality * dM).sum()
    assert typicality_sum + rest == pytest.approx(exact, rel=1e-12)
    assert P * typicality_sum + rest != pytest.approx(exact, rel=0.1)


def test_2b_the_last_line_of_the_proof_drops_a_factor_that_the_theorem_has():
    P, m, rho = 5, 0.3, 0.5
    q, private = 1 - m, (1 - rho) * m / (2 - m)
    bracket = 1 - q**P * (m * P / q + (3 - m) / (2 - m))
    theorem = [
        private / (2 - m) * q ** (d - 1) - ((rho - private) * bracket - private / q) * q ** (P - d) for d in range(1, P)
    ]
    proof = [private / (2 - m) * q ** (d - 1) - (bracket - private / q) * q ** (P - d) for d in range(1, P)]
    np.testing.assert_allclose(perturbation(P, m, rho).distance[0, 1:], theorem)
    assert np.abs(np.subtract(theorem, proof)).min() > 0.01


class LinearTask:
    """The paper's linear task at N_x / N_s = 100, its ratio, and N_y = 10."""

    num_inputs, num_latents, num_outputs, rate, steps = 400, 4, 10, 0.001, 100

    def __init__(self) -> None:
        rng = np.random.default_rng(2)
        self.A = rng.standard_normal((self.num_inputs, self.num_latents)) / np.sqrt(self.num_latents)
        self.B = rng.standard_normal((self.num_outputs, self.num_latents)) / np.sqrt(self.num_latents)

    def error_after_training(self, scale: float, steps: int) -> float:
        W = np.zeros((self.num_outputs, self.num_inputs))
        for _ in range(steps):
            W += scale * self.rate * (self.B - W @ self.A) @ self.A.T
        return float(((self.B - W @ self.A) ** 2).sum() / self.num_outputs)


def test_3_the_printed_gradient_step_has_the_wrong_sign():
    task = LinearTask()
    start = task.error_after_training(1, 0)
    assert task.error_after_training(-1, 10) > 2 * start  # as printed: dW/dt = -(B - W A) A^T
    assert task.error_after_training(1, task.steps) < 1e-6 * start
    # with the 2 / N_y of the loss, a hundred steps at this rate do not converge
    assert task.error_after_training(2 / task.num_outputs, task.steps) > 1e-3 * start


def test_4_the_pseudo_inverse_is_gamma_times_the_transpose():
    rng = np.random.default_rng(3)
    num_inputs, num_latents = 40_000, 4
    gamma = num_latents / num_inputs
    A = rng.standard_normal((num_inputs, num_latents)) / np.sqrt(num_latents)
    inverse = np.linalg.pinv(A)
    assert np.linalg.norm(inverse - gamma * A.T) < 0.05 * np.linalg.norm(inverse)
    assert np.linalg.norm(inverse - A.T) > 1000 * np.linalg.norm(inverse)  # as printed
    singular = np.linalg.svd(A, compute_uv=False)
    np.testing.assert_allclose(singular * np.sqrt(gamma), 1, atol=0.05)  # 1 / sqrt(gamma), not 1 / sqrt(lambda)


def looped_labels(labels: list[int], classes: tuple[int, ...], targets: tuple[int, ...]) -> list[int]:
    """The authors' way: each class in turn rewrites what earlier turns have written."""
    relabeled = np.array(labels)
    for old, new in zip(classes, targets, strict=True):
        relabeled[relabeled == old] = new
    return relabeled.tolist()


def table_labels(labels: list[int], classes: tuple[int, ...], targets: tuple[int, ...]) -> list[int]:
    """One look-up table: each label is read once."""
    table = np.full(max(classes) + 1, -1)
    table[list(classes)] = targets
    return table[labels].tolist()


def test_5_relabeling_in_a_loop_collapses_classes():
    assert looped_labels([3, 0, 3], (3, 0), (0, 1)) == [1, 1, 1]
    assert table_labels([3, 0, 3], (3, 0), (0, 1)) == [0, 1, 0]
    targets = ((0, 1), (1, 0))
    collapsed = {
        (classes, target)
        for classes in permutations(range(10), 2)
        for target in targets
        if len(set(looped_labels(list(classes), classes, target))) == 1
    }
    assert all(len(set(table_labels(list(c), c, t))) == 2 for c in permutations(range(10), 2) for t in targets)
    assert collapsed == {((first, t[0]), t) for t in targets for first in range(10) if first != t[0]}
    # Ten classes in random pairs with random targets: only where classes 0 and 1 stand decides.
    hit = total = 0
    for slots in permutations(range(10), 2):
        others = iter(range(2, 10))
        label = {slot: slots.index(slot) if slot in slots else next(others) for slot in range(10)}
        tasks = [(label[2 * task], label[2 * task + 1]) for task in range(5)]
        for chosen in product(targets, repeat=5):
            hit += any(pair in collapsed for pair in zip(tasks, chosen, strict=True))
            total += 1
    assert Fraction(hit, total) == Fraction(4, 9)  # 44 % of the task sets


def test_6_uniform_labels_are_not_shuffled_labels():
    rng = np.random.default_rng(4)
    labels = np.repeat([0, 1], [90, 10])
    logits = rng.standard_normal((100, 2)) + np.array([1.0, -1.0])
    loss = np.log(np.exp(logits).sum(axis=1, keepdims=True)) - logits  # (sample, label) cross-entropy
    samples = np.arange(100)
    shuffled = [loss[samples, rng.permutation(labels)].mean() for _ in range(4000)]
    expectation = (loss @ np.bincount(labels) / 100).mean()
    tolerance = 5 * np.std(shuffled) / np.sqrt(4000)
    assert np.mean(shuffled) == pytest.approx(expectation, abs=tolerance)
    assert abs(loss.mean() - expectation) > 100 * tolerance  # labels drawn uniformly


@pytest.mark.parametrize(("num_tasks", "m"), [(5, 0.3), (7, 0.3), (4, 0.7)])
def test_7_alpha_plus_has_three_minus_m(num_tasks, m):
    around, q = perturbation(num_tasks, m), 1 - m

    def factored(alpha: float) -> np.ndarray:
        shifted = q ** np.arange(1, num_tasks + 1) - alpha
        whole = (3 - m) / ((2 - m) * q) * np.outer(shifted, shifted) - alpha * q ** (num_tasks - 1)
        return np.triu(whole, 1)

    np.testing.assert_allclose(factored(around.alpha_plus), around.typicality, atol=1e-14)
    as_in_the_code = (2 - m) / (1 - m) * q**num_tasks
    assert np.abs(factored(as_in_the_code) - around.typicality).max() > 0.01


def test_7b_indices_count_from_one():
    P, m = 7, 0.3
    q, around = 1 - m, perturbation(7, 0.3)

    def typicality(start: int) -> np.ndarray:
        i, j = np.meshgrid(np.arange(P) + start, np.arange(P) + start, indexing="ij")
        return np.triu(-(q ** (P + i - 1)) - q ** (P + j - 1) + (3 - m) / (2 - m) * q ** (i + j - 1), 1)

    np.testing.assert_allclose(typicality(1), around.typicality, atol=1e-14)
    # counted from zero, everything is too large
    assert (np.abs(typicality(0)) - np.abs(around.typicality)).max() > 0.1


def test_7c_the_best_orders_are_not_one_mirror_pair():
    errors = all_errors(ring(5, 0.7))
    best = [order for order, error in errors.items() if error < min(errors.values()) + 1e-9]
    assert len(best) == 10  # not two
    # a matrix without symmetry has one best order, and its reverse is far from it
    errors = all_errors(random_correlation(5, 0, 1, seed=0))
    order = min(errors, key=errors.__getitem__)
    assert errors[order[::-1]] > 2 * errors[order]
    assert sum(error < errors[order] + 1e-9 for error in errors.values()) == 1


def test_7d_the_two_meanings_of_max_path_are_opposites():
    C = chain(5, 0.7)

    def dissimilarity(order: tuple[int, ...]) -> float:
        return sum(1 - C[a, b] for a, b in pairwise(order))

    lengths = {order: dissimilarity(order) for order in permutations(range(5))}
    longest, shortest = max(lengths.values()), min(lengths.values())

    def mean_error(length: float) -> float:
        return float(
            np.mean(
                [final_error(C, order) for order, path_length in lengths.items() if abs(path_length - length) < 1e-12]
            )
        )

    assert mean_error(longest) < mean_error(shortest) / 3


@pytest.mark.parametrize(("a", "ratio"), [(0.55, 6.57), (0.565, 7.0), (0.7, 13.27), (0.8, 13.48)])
def test_8_the_gain_on_the_chain_depends_on_its_similarity(a, ratio):
    errors = all_errors(chain(5, a))
    assert max(errors.values()) / min(errors.values()) == pytest.approx(ratio, rel=0.01)


def test_every_erratum_in_the_docs_names_a_test_that_exists(pytestconfig):
    text = (pytestconfig.rootpath / "docs" / "errata.md").read_text()
    tests = [name for name in globals() if name.startswith("test_") and name.split("_")[1][0].isdigit()]
    assert len(tests) >= 8
    assert all(f"`{name}`" in text for name in tests)
    assert all(word.strip("`") in tests for word in text.split() if word.startswith("`test_"))
