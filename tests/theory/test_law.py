"""The law of retention: its limits, its peeling from the end, its closed form and its expansion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder import chain, final_error
from taskorder.theory.law import (
    checked_retention,
    final_knowledge,
    final_score,
    knowledge_from_similarity,
    knowledge_path,
    peeled_gains,
)

SIZES = st.tuples(st.integers(1, 7), st.integers(0, 2**31))
RETENTION = st.floats(0, 1)


def table(size, seed):
    """An asymmetric transfer table with a diagonal near 1."""
    rng = np.random.default_rng(seed)
    S = rng.uniform(-0.3, 0.9, (size, size))
    np.fill_diagonal(S, rng.uniform(0.7, 1, size))
    return S, rng


def test_two_tasks_by_hand():
    S = [[0.9, 0.2], [0.4, 1.0]]
    d = 0.5
    after_first = np.array([0.9, 0.2])
    after_second = [d * 0.9 + 0.4 * (1 - d * 0.2), d * 0.2 + 1.0 * (1 - d * 0.2)]
    assert knowledge_path(S, [0, 1], d) == pytest.approx(np.array([[0, 0], after_first, after_second]))


@given(SIZES)
def test_without_retention_only_the_last_task_counts(size_seed):
    S, rng = table(*size_seed)
    order = rng.permutation(len(S))
    assert final_knowledge(S, order, 0) == pytest.approx(S[order[-1]])


@given(SIZES)
def test_full_retention_of_a_similarity_is_the_paper(size_seed):
    size, seed = size_seed
    rng = np.random.default_rng(seed)
    C = chain(size, 0.9) * rng.uniform(0.2, 1)
    np.fill_diagonal(C, 1.0)
    order = rng.permutation(size)
    residual = 1 - final_knowledge(C, order, 1)
    assert float(residual @ residual) == pytest.approx(final_error(C, order), rel=1e-12, abs=1e-12)


@given(SIZES, RETENTION)
def test_peeling_from_the_end_gives_the_score(size_seed, d):
    S, rng = table(*size_seed)
    order = rng.integers(len(S), size=len(S) + 2)  # tasks may repeat
    weights = rng.uniform(0.1, 3, len(S))
    gains = peeled_gains(S, order, weights)
    score = final_score(S, order, d, weights)
    assert gains @ d ** np.arange(len(order)) == pytest.approx(score, rel=1e-9, abs=1e-9)


@given(SIZES, RETENTION)
def test_closed_form(size_seed, d):
    """knowledge = d^(P - position) applied to (I + U)^-1 S with U_mu,nu = d^(nu - mu) S_mu,nu above the diagonal."""
    S, rng = table(*size_seed)
    order = rng.permutation(len(S))
    P = len(S)
    ordered = S[np.ix_(order, order)]
    position = np.arange(P)
    discount = np.where(
        position[None] > position[:, None], d ** np.clip(position[None] - position[:, None], 0, None), 0
    )
    U = ordered * discount
    # v_nu = 1 - d s_nu just before step nu is learned: v = 1 - U^T v
    v = np.linalg.solve(np.eye(P) + U.T, np.ones(P))
    knowledge = np.empty(P)
    knowledge[order] = (v * d ** (P - 1 - position)) @ ordered
    assert final_knowledge(S, order, d) == pytest.approx(knowledge, rel=1e-9, abs=1e-9)


@given(SIZES)
def test_first_terms_are_the_last_row_and_the_last_pair(size_seed):
    S, rng = table(*size_seed)
    if len(S) < 2:
        return
    order = rng.permutation(len(S))
    rows = S.mean(axis=1)
    last, previous = order[-1], order[-2]
    gains = peeled_gains(S, order)
    assert gains[:2] == pytest.approx([rows[last], rows[previous] - S[previous, last] * rows[last]])
    small = 1e-6
    linear = gains[0] + small * gains[1]
    assert final_score(S, order, small) == pytest.approx(linear, abs=1e-10)


def test_retention_may_differ_by_task():
    S, rng = table(5, 3)
    order = rng.permutation(5)
    d = rng.uniform(0, 1, 5)
    s = np.zeros(5)
    for k in order:
        s = d[k] * s + S[k] * (1 - d[k] * s[k])
    assert final_knowledge(S, order, d) == pytest.approx(s)
    assert final_knowledge(S, order, [0.3] * 5) == pytest.approx(final_knowledge(S, order, 0.3))


def test_a_measured_start_continues_a_path():
    S, rng = table(6, 4)
    order = rng.permutation(6)
    middle = final_knowledge(S, order[:3], 0.4)
    assert final_knowledge(S, order[3:], 0.4, start=middle) == pytest.approx(final_knowledge(S, order, 0.4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retention": 1.2}, "`retention` must be in \\[0, 1\\], got 1.2"),
        ({"retention": float("nan")}, "`retention` must be in"),
        ({"retention": [0.1, 0.2]}, "one number or 3, one for each task"),
        ({"retention": "x"}, "`retention` must be a number"),
        ({"retention": 0.1, "start": [0, 0]}, "`start` must be 3 finite numbers"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        final_knowledge(np.eye(3), [0, 1, 2], **options)


def test_similarity_becomes_the_share_of_the_loss_that_is_gone():
    ratio = np.array([[0.0, 0.36], [1.44, 0.0]])
    rho = 1 - np.sqrt(ratio)
    assert knowledge_from_similarity(rho) == pytest.approx(1 - ratio)
    assert knowledge_from_similarity(0.5) == 0.75
    with pytest.raises(ValueError, match="`similarity` must be finite numbers"):
        knowledge_from_similarity([[1, None]])


def test_retention_by_name():
    names = ["cats", "ships"]
    assert checked_retention({"ships": 0.2, "cats": 0.1}, 2, names).tolist() == [0.1, 0.2]
    with pytest.raises(ValueError, match="got a mapping where 'ships' is missing"):
        checked_retention({"cats": 0.1}, 2, names)
    with pytest.raises(ValueError, match="got a mapping where 'dogs' is no task"):
        checked_retention({"cats": 0.1, "ships": 0.2, "dogs": 0.3}, 2, names)
