"""What to run next: orders and seeds cross, budgets are kept, what was run counts, the power is that of simulations."""

import itertools
import json

import numpy as np
import pytest

from taskorder import next_runs, solve
from taskorder.audit.method_pairs import interaction_test
from taskorder.audit.next_runs import NextRuns
from taskorder.audit.power import power_of_orders
from taskorder.audit.results import Results
from taskorder.cli import main
from taskorder.ordering import solve as solving
from taskorder.typed import typed

from .drawn_results import draw

NAMES = ["cats", "cars", "dogs", "owls"]
TABLE = np.array([[1, 0.2, 0.6, 0.1], [0.2, 1, 0.1, 0.3], [0.6, 0.1, 1, 0.2], [0.1, 0.3, 0.2, 1]])


def results(num_orders, num_seeds, missing=(), common_seeds=True, names=NAMES):
    orders = [">".join(way) for way in itertools.permutations(sorted(names))][:num_orders]
    accuracy = 0.7 + 0.05 * np.random.default_rng(0).standard_normal((num_orders, num_seeds, 1))
    for cell in missing:
        accuracy[cell] = np.nan
    return Results(tuple(orders), tuple(map(str, range(num_seeds))), ("x",), ("x",), accuracy, (), True, common_seeds)


def block(upcoming, methods=None, before=()):
    """All cells after the runs, and whether they are complete."""
    ran = {(method, order, seed) for method, order, seed in before}
    ran |= {(run.method, run.order, run.seed) for run in upcoming.runs}
    orders = {run.order for run in upcoming.runs}
    seeds = {run.seed for run in upcoming.runs} | {seed for _, order, seed in ran if order in orders}
    return all((method, order, seed) in ran for method in methods or [""] for order in orders for seed in seeds)


@pytest.mark.parametrize("budget", [4, 8, 13, 24, 60])
def test_orders_and_seeds_cross(budget):
    upcoming = next_runs(budget, names=NAMES)
    assert len(upcoming.runs) <= budget
    assert len(upcoming.runs) == upcoming.num_orders * upcoming.num_seeds
    assert block(upcoming)
    assert len({planned.order for planned in upcoming.orders}) == upcoming.num_orders
    assert all(sorted(planned.order) == sorted(NAMES) for planned in upcoming.orders)
    assert upcoming.num_orders >= min(4, budget // 2)
    assert upcoming == next_runs(budget, names=NAMES)
    assert upcoming.orders != next_runs(budget, names=NAMES, seed=1).orders


def test_extremes_by_the_law_come_first():
    upcoming = next_runs(16, table=TABLE, names=NAMES, retention=0.1)
    assert [planned.why for planned in upcoming.orders[:3]] == ["best by the law", "worst by the law", "random"]
    for planned, rule in zip(upcoming.orders, ("optimal", "worst"), strict=False):
        assert planned.order == solve(TABLE, rule, names=NAMES, retention=0.1).named_order


def test_a_table_may_bring_its_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(TABLE, index=NAMES, columns=NAMES)
    assert next_runs(16, table=frame) == next_runs(16, table=TABLE, names=NAMES)
    before = results(4, 1)
    assert next_runs(16, before, table=frame) == next_runs(16, before, table=TABLE, names=NAMES)
    with pytest.raises(ValueError, match="`names` must be those of the table or be left out, got 'a'"):
        next_runs(16, table=frame, names=list("abcd"))


def test_extremes_are_searched_once(monkeypatch):
    rules = []
    monkeypatch.setattr(solving, "solve", lambda *args, **options: rules.append(args[1]) or solve(*args, **options))
    next_runs(16, table=TABLE, names=NAMES)
    assert rules == ["optimal", "worst"]


def test_what_was_run_counts():
    before = results(6, 1)
    upcoming = next_runs(6, before)
    assert {planned.why for planned in upcoming.orders} == {"run before"}
    assert (upcoming.num_orders, upcoming.num_seeds, len(upcoming.runs)) == (6, 2, 6)
    assert {run.seed for run in upcoming.runs} == {"1"}
    hole = next_runs(1, results(4, 3, missing=[(2, 1)]))
    assert [(run.order, run.seed) for run in hole.runs] == [(results(4, 1).orders[2], "1")]
    assert hole.measured
    loose = next_runs(8, results(6, 1, common_seeds=False))
    assert {planned.why for planned in loose.orders} == {"random"}
    assert "cannot be completed" in loose.summary()


def test_every_method_gets_the_same_runs():
    methods = {"a": results(4, 2), "b": results(4, 1)}
    upcoming = next_runs(10, methods)
    before = [(method, order, seed) for method, done in methods.items() for order in done.orders for seed in done.seeds]
    assert block(upcoming, methods, before)
    assert len(upcoming.runs) <= 10
    assert {run.method for run in upcoming.runs[:2]} == {"b"}


def test_tables_and_results_have_the_same_tasks():
    numbered = results(4, 1, names=["0", "1", "2", "3"])
    assert next_runs(8, numbered, table=TABLE).orders[0].order == tuple(
        map(str, solve(TABLE, names=list("0123")).named_order)
    )
    named = Results(numbered.orders, ("0",), tuple("0123"), tuple(NAMES), np.full((4, 1, 4), 0.5))
    order = solve(TABLE, names=NAMES).named_order
    assert next_runs(8, named, table=TABLE, names=NAMES).orders[0].order == tuple(
        str(NAMES.index(task)) for task in order
    )


def test_all_orders_of_few_tasks_are_enough():
    upcoming = next_runs(500, names=["a", "b", "c"])
    assert upcoming.num_orders == 6
    assert upcoming.num_seeds == 8


def test_power_is_that_of_simulations():
    """The F-test of a two-way table with random effects."""
    from scipy.stats import f

    rng = np.random.default_rng(0)
    for shape, ratio in (((6, 3), 1.0), ((12, 2), 0.5), ((4, 4), 2.0)):
        tests = [interaction_test(draw(rng, *shape, ratio, 0.3, 1.0))[0] for _ in range(1000)]
        limit = f.ppf(0.95, tests[0].order_df, tests[0].error_df)
        measured = np.mean([test.f > limit for test in tests])
        assert power_of_orders(*shape, ratio) == pytest.approx(measured, abs=0.06)
    assert power_of_orders(6, 3, 0.0) == pytest.approx(0.05)


def test_orders_are_ready_for_order_json():
    upcoming = next_runs(16, table=TABLE, names=NAMES)
    portable = upcoming.portable()
    assert [order.named_order for order in portable] == list(upcoming.named_orders)
    assert json.loads(portable[0].to_json())["rule"] == "best by the law"
    assert typed(NextRuns, json.loads(upcoming.to_json())) == upcoming


@pytest.mark.parametrize(
    ("budget", "options", "said"),
    [
        (3, {"names": NAMES}, "`budget` must pay for two orders with two seeds, 4 runs, got 3"),
        (
            4,
            {"results": results(2, 10, names=["a", "b"])},
            "`budget` must pay for a further order or seed, got 4, and 2 orders have 8 seeds already",
        ),
        (1, {"results": results(4, 2)}, "got 1, and 4 orders have 2 seeds already. Take a larger one"),
        (8, {"table": [[1.0]]}, "`table` must have two tasks or more, got 1"),
        (8, {"names": ["a"]}, "`names` must have two tasks or more, got 1"),
        (0, {"names": NAMES}, "`budget` must be a positive integer, got 0"),
        (10**6, {"names": NAMES}, "`budget` must be at most 10000 runs, got 1000000"),
        (8, {}, "`names` must list the tasks where there are no results and no table, got none"),
        (8, {"results": results(4, 1), "table": np.eye(3)}, "`table` must have the 4 tasks of the results, got 3"),
        (
            8,
            {"results": results(4, 1), "table": TABLE, "names": list("abcd")},
            "`names` must be the tasks of the results",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused(budget, options, said):
    with pytest.raises(ValueError, match=said):
        next_runs(budget, **options)


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("\n".join([",".join(NAMES), *(",".join(map(str, row)) for row in TABLE)]))
    orders = [">".join(way) for way in itertools.permutations(NAMES)][:4]
    lines = [f"{order},0,{0.5 + 0.01 * k}" for k, order in enumerate(orders)]
    (tmp_path / "runs.csv").write_text("\n".join(["order,seed,accuracy", *lines]))
    assert main(["audit", "--next", "8", "--similarity", "table.csv", "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert alone["orders"][0] == {"order": list(solve(TABLE, names=NAMES).named_order), "why": "best by the law"}
    assert main(["audit", "--next", "8", "--similarity", "table.csv"]) == 0
    assert "8 runs to do next" in capsys.readouterr().out
    assert main(["audit", "runs.csv", "--next", "4"]) == 0
    assert "4 runs to do next (seeds 1):" in capsys.readouterr().out
    assert main(["audit", "runs.csv", "--next", "4", "--json"]) == 0
    (tmp_path / "audit.json").write_text(capsys.readouterr().out)
    for source in (["audit.json"], ["runs.csv", "--next", "4"]):
        assert main(["report", *source, "-o", "page.html"]) == 0
        assert "What to run next" in (tmp_path / "page.html").read_text()
    capsys.readouterr()
    for words, said in (
        ([], "Give RESULTS to read, or --next with --similarity"),
        (["runs.csv", "--next", "0"], "`--next` must be a positive integer, got 0"),
    ):
        assert main(["audit", *words]) == 2
        assert said in capsys.readouterr().err
