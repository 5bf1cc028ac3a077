"""`solve` on every structure that the documentation names, from 30 to 300 tasks, exact and with noise."""

import numpy as np
import pytest

from taskorder import chain, final_error, final_knowledge, leaves, ring, solve, tree


def clusters(num_tasks, count=4, within=0.8, between=0.2):
    """Tasks in equal clusters, without noise: many orders tie, and gains are of the size of rounding."""
    label = np.arange(num_tasks) % count
    return np.where(label[:, None] == label, within, between) + (1 - within) * np.eye(num_tasks)


def factor(num_tasks, mean=0.3):
    z = np.random.default_rng(num_tasks).standard_normal((num_tasks, num_tasks // 2 + 1))
    covariance = mean + (1 - mean) / z.shape[1] * z @ z.T + 0.05 * np.eye(num_tasks)
    scale = np.sqrt(np.diagonal(covariance))
    return covariance / scale / scale[:, None]


def equal(num_tasks):
    return np.full((num_tasks, num_tasks), 0.3) + 0.7 * np.eye(num_tasks)


STRUCTURES = {
    "chain": lambda n: chain(n, 0.8),
    "ring": lambda n: ring(n, 0.6),
    "tree": lambda n: tree(n, 0.6),
    "leaves": lambda n: leaves(n, 0.8),
    "clusters": clusters,
    "three clusters": lambda n: clusters(n, 3, 0.9, 0.0),
    "factor": factor,
    "equal": equal,
    "unrelated": np.eye,
}


def noisy(matrix, seed):
    upper = np.triu(np.random.default_rng(seed).uniform(-0.02, 0.02, matrix.shape), 1)
    return np.clip(matrix + upper + upper.T, -1, 1)


def check(similarity, **options):
    plan = solve(similarity, time_limit=1.0, **options, retention=1)
    assert sorted(plan.order) == list(range(len(similarity)))
    if not plan.repair:
        assert plan.error == pytest.approx(final_error(similarity, plan.order), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("num_tasks", [48, 60, 64])
def test_rounding_in_clusters_is_not_a_negative_gain(num_tasks):
    check(clusters(num_tasks))


@pytest.mark.parametrize("num_tasks", [31, 63, 127, 300])
@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.slow("sizes")
def test_structures_are_solved(name, num_tasks):
    matrix = STRUCTURES[name](num_tasks)
    check(matrix)
    check(matrix, rule="worst")
    check(noisy(matrix, num_tasks))


@pytest.mark.parametrize("num_tasks", [31, 64, 300])
@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.slow("sizes")
def test_structures_are_solved_by_the_law(name, num_tasks):
    """As tables of knowledge, at retentions with a quick proof, a long one and nearly nothing forgotten."""
    known = 1 - (1 - STRUCTURES[name](num_tasks)) ** 2
    for retention, rule in ((0.0, "optimal"), (0.13, "optimal"), (0.5, "optimal"), (0.5, "worst"), (0.99, "optimal")):
        for table in (known, noisy(known, num_tasks)):
            plan = solve(table, rule, retention=retention, kind="transfer", time_limit=0.3)
            assert sorted(plan.order) == list(range(num_tasks))
            assert plan.score == pytest.approx(final_knowledge(table, plan.order, retention).mean(), rel=1e-9)
            if plan.bound is not None:
                assert (plan.score - plan.bound) * (-1 if rule == "worst" else 1) <= 1e-9
