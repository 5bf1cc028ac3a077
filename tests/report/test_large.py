"""Two thousand tasks with long names still give a page below five megabytes."""

import numpy as np
import pytest

from taskorder.ordering.compare import compare
from taskorder.records import Plan
from taskorder.report.document import page_html
from taskorder.report.plan_numbers import PlanNumbers, Surroundings, TaskTable
from taskorder.report.plan_page import plan_page

from .conftest import embedded

P = 2000


@pytest.mark.slow("sizes")
def test_two_thousand_tasks_with_long_names():
    rng = np.random.default_rng(0)
    order = tuple(rng.permutation(P).tolist())
    names = tuple(f'{i} <script>"&\N{GRINNING FACE}' + "long name " * 30 for i in range(P))
    ends, totals = rng.random(P), np.linspace(P, 1.0, P + 1)
    plan = Plan(order, names, 1.0, tuple(ends.tolist()), (), "optimal", similarity_digest="0" * 64)
    # searching at this size takes long; what counts here is the amount of numbers
    small = compare(np.eye(2), retention=1, retentions=[])
    table = np.clip(rng.standard_normal((P, P)), -1, 1)
    around = Surroundings(
        comparison=small,
        rivals={score.rule: totals * rng.random(P + 1) for score in small.scores},
        random_values=np.sort(rng.random(100)),
        band=np.sort(rng.random((5, P + 1)), axis=0),
        slopes=rng.standard_normal((P, P)),
    )
    numbers = PlanNumbers(plan, totals, ends, ends, TaskTable(table, True, rng.standard_normal((P, 2)), 0.5), around)
    text = page_html(plan_page(numbers, "large", "file"), "taskorder report")
    assert 1_000_000 < len(text.encode()) < 5_000_000
    assert "<script>&quot;" not in text
    assert "names together are too long" in text
    lines = embedded(text, "charts")["path-0"]["lines"]
    assert max(len(line["steps"]) for line in lines) <= 301
