"""Tasks of different sizes: orders predicted with one retention, and with one for each task from its steps.

The table comes from one seed and the truth from the other, both ways. The one retention is measured on the pairs of the
other task sets; that of each task follows from it by `retention_for_steps`, with the geometric mean of the steps as the
reference. Fixed before the first run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.fitting import rank_correlation
from reproduction.retention_fit import knowledge_rows
from taskorder.checks import Floats
from taskorder.runs.results import tables_of
from taskorder.tables.knowledge import transfer_table
from taskorder.theory.law import final_knowledge
from taskorder.theory.steps import retention_for_steps

ONE, EACH, LAST = "one retention", "one for each task", "the last task's row sum"
MEASURES = ("rank", "error", "points")
"""Rank correlation of predicted and true accuracy over all orders; root mean square error of the predicted knowledge;
accuracy of the order that is predicted best, in points over the mean order."""


def predictions(
    results: Sequence[Mapping[str, Any]], steps: Floats, reference: float, exponent: float
) -> dict[str, Floats]:
    """By way to predict, (3,) the `MEASURES` of one task set, the mean of both directions between its two seeds."""
    d = {ONE: np.full(len(steps), reference), EACH: retention_for_steps(steps, reference, exponent=exponent)}
    both = [_predictions(results[seed], results[1 - seed], d) for seed in (0, 1)]
    return {way: np.asarray((both[0][way] + both[1][way]) / 2) for way in (ONE, EACH, LAST)}


def _predictions(known: Mapping[str, Any], truth: Mapping[str, Any], d: Mapping[str, Floats]) -> dict[str, Floats]:
    rows, before = knowledge_rows(known)
    P = before.shape[1]
    S = transfer_table(before[[rows[(k,)] for k in range(P)]])
    where, after = knowledge_rows(truth)
    orders = [prefix for prefix in where if len(prefix) == P]
    accuracy = 100 * tables_of(truth)[1]["accuracy"][[where[order] for order in orders]].mean(axis=1)
    final = after[[where[order] for order in orders]]
    found = {}
    for way in (ONE, EACH, LAST):
        predicted = np.array([S[order[-1]] if way == LAST else final_knowledge(S, order, d[way]) for order in orders])
        score = predicted.mean(axis=1)
        best = np.isclose(score, score.max(), rtol=0, atol=1e-12)  # ties share their accuracy
        found[way] = np.array(
            [
                rank_correlation(score, accuracy),
                np.sqrt(((predicted - final) ** 2).mean()),
                accuracy[best].mean() - accuracy.mean(),
            ]
        )
    return found
