"""What the tests of the report share: a plan's page and a store with known numbers."""

import itertools
import json

import numpy as np
import pytest

from taskorder.ordering.solve import solve
from taskorder.report.document import page_html
from taskorder.report.plan_numbers import plan_numbers
from taskorder.report.plan_page import plan_page
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "&lt;b&gt; {0} %s ${x}",
    "very long " * 60,
    "שלום עולם",
    "🐈‍⬛ 猫と犬",
    "--> <!-- ]]>",
)


@pytest.fixture(scope="session")
def make_page(make_correlation):
    """A function (num_tasks, names=None, **options) -> (text of the page, its numbers); of the law by default."""

    def make(num_tasks, names=None, *, matrix=True, time_limit=2.0, **options):
        similarity = make_correlation(num_tasks, 3)
        plan = solve(similarity, names=names, time_limit=time_limit, **options)
        numbers = plan_numbers(plan, similarity if matrix else None, time_limit=time_limit)
        return page_html(plan_page(numbers, "A title", "a file"), "taskorder report a"), numbers

    return make


def embedded(text, key="numbers"):
    """The JSON that a page carries."""
    start = text.index(f'id="{key}">') + len(f'id="{key}">')
    return json.loads(text[start : text.index("</script>", start)])


@pytest.fixture
def run_store(tmp_path):
    """A function (names, num_seeds, old=False) -> path of a store whose accuracies follow a known formula.

    The accuracy of task t after a beginning is 1 - 0.1 (steps since t) - 0.01 t - 0.001 seed, 0.5 where t was not
    learned; order 0 1 2 is lifted by 0.05.
    """

    def make(names=("cats", "dogs", "owls"), num_seeds=1, *, old=False, num_sets=1):
        path = tmp_path / "runs.sqlite"
        P = len(names)
        ways = [way for length in range(P + 1) for way in itertools.permutations(range(P), length)]
        loss = 0.5 + 0.1 * np.abs(np.subtract.outer(np.arange(P), np.arange(P)))
        with Store(path) as store:
            for number, seed in itertools.product(range(num_sets), range(num_seeds)):
                params = {"dataset": "animals", "num_tasks": P, "orders": "all", "set": number, "seed": seed}
                table = [[accuracy(way, t, seed) for t in range(P)] for way in ways]
                result = {
                    "task_set": {"names": list(names)},
                    "beginnings": [".".join(map(str, way)) for way in ways],
                    "network_steps": 10,
                    "accuracy": table,
                    "loss": [[float(loss[way[-1], t]) if way else 1.0 for t in range(P)] for way in ways],
                    "chance": [[1.0] * P for _ in ways],
                }
                if not old:
                    result["similarities"] = {"test": {"loss": loss.tolist(), "chance": np.ones((P, P)).tolist()}}
                store.put([RunSpec("neural.orders.1" if old else "neural.orders.2", params)], [result], 2.0)
        return path

    return make


def accuracy(way, task, seed=0):
    if task not in way:
        return 0.5
    lift = 0.05 if way == (0, 1, 2) else 0.0
    return 1 - 0.1 * (len(way) - 1 - way.index(task)) - 0.01 * task - 0.001 * seed + lift
