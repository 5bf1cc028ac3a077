"""The table of the law from everything that was learned."""

import itertools

import numpy as np
import pytest

from taskorder.planning.fitted_law import learned_rows
from taskorder.theory.law import final_knowledge

from .pupils import random_table

RETENTION = np.array([0.1, 0.3, 0.6, 0.9])
SEQUENCES = [q for length in (1, 2, 3) for q in itertools.permutations(range(4), length)]


@pytest.mark.parametrize("longest", [1, 2, 3])
def test_rows_are_exact_where_the_law_is(longest):
    table = random_table(4)
    known = {q: final_knowledge(table, q, RETENTION) for q in SEQUENCES if len(q) <= longest}
    np.testing.assert_allclose(learned_rows(known, 4, RETENTION), table)


def test_more_sequences_take_noise_away():
    table, rng = random_table(4), np.random.default_rng(0)
    errors = []
    for _ in range(200):
        known = {q: final_knowledge(table, q, RETENTION) + 0.1 * rng.normal(size=4) for q in SEQUENCES}
        shown = [{q: after for q, after in known.items() if len(q) <= longest} for longest in (1, 2, 3)]
        errors.append([((learned_rows(some, 4, RETENTION) - table) ** 2).mean() for some in shown])
    alone, pairs, triples = np.mean(errors, axis=0)
    assert triples < pairs < 0.75 * alone
