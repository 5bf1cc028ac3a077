"""The page's arithmetic, run in the browser, equals the library's to rounding."""

import itertools

import numpy as np
import pytest

from reproduction.figures import fig2c
from taskorder import error_path, final_error, random_correlation, solve, task_errors
from taskorder.ordering.solver_input import checked_table
from taskorder.theory.law import final_score, knowledge_from_similarity, knowledge_path

pytest.importorskip("playwright")

CALL = """async ([module, name, inputs, args]) => {
  const found = await import(`/static/${module}.js`);
  const matrix = Float64Array.from(inputs.matrix.flat());
  const value = await found[name]({ ...inputs, matrix, given: matrix }, ...args);
  const plain = (one) => ArrayBuffer.isView(one) ? [...one] : one && typeof one === "object" && !Array.isArray(one)
    ? Object.fromEntries(Object.entries(one).map(([key, part]) => [key, plain(part)])) : one;
  return plain(value);
}"""


@pytest.fixture(scope="module")
def call(browser, address):
    """Run a function of one of the page's modules on an input."""
    page = browser.new_page()
    page.goto(address)

    def run(module, name, similarity, *args, **asked):
        inputs = {
            "matrix": np.asarray(similarity).tolist(), "size": len(similarity), "retention": 1, "learned": [],
            "weights": None, "before": [], "first": None, "last": None, **asked,
        }  # fmt: skip
        return page.evaluate(CALL, [module, name, inputs, list(args)])

    yield run
    page.close()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 20, 60])
@pytest.mark.parametrize("seed", [0, 1])
def test_errors_equal_the_librarys(call, size, seed):
    rng = np.random.default_rng([seed, size])
    C = random_correlation(size, seed=seed)
    tasks = rng.permutation(size).tolist()
    learned, order = tasks[: size // 4], tasks[size // 4 :]
    weights = rng.uniform(0, 3, size).tolist()
    evaluation = call("recursion", "evaluate", C, order, learned=learned, weights=weights)
    path = error_path(C, tasks)[len(learned) :]
    close = {"rtol": 1e-9, "atol": 1e-13}
    np.testing.assert_allclose(np.reshape(evaluation["path"], path.shape), path, **close)
    np.testing.assert_allclose(evaluation["final"], task_errors(C, tasks), **close)
    np.testing.assert_allclose(evaluation["total"], path @ weights, **close)
    np.testing.assert_allclose(evaluation["value"], final_error(C, tasks, weights=weights), **close)
    seen = [sum(weights[t] * row[t] for t in tasks[: len(learned) + step]) for step, row in enumerate(path)]
    np.testing.assert_allclose(evaluation["seen"], seen, **close)


@pytest.mark.parametrize("size", [1, 2, 7, 40])
@pytest.mark.parametrize("retention", [0, 0.13, 0.5, 0.99])
@pytest.mark.parametrize("kind", ["similarity", "transfer"])
def test_knowledge_equals_the_librarys(call, size, retention, kind):
    rng = np.random.default_rng(size)
    C = random_correlation(size, seed=size)
    S = knowledge_from_similarity(C)
    tasks = rng.permutation(size).tolist()
    learned, order = tasks[: size // 4], tasks[size // 4 :]
    weights = rng.uniform(0.1, 3, size)
    asked = {"retention": retention, "learned": learned, "weights": weights.tolist(), "kind": kind}
    given = C
    if kind == "transfer":
        given = S = rng.uniform(-1.5, 0.95, (size, size))
    evaluation = call("recursion", "evaluate", given, order, **asked)
    path = knowledge_path(S, tasks, retention)[len(learned) :]
    close = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(np.reshape(evaluation["path"], path.shape), path, **close)
    np.testing.assert_allclose(evaluation["final"], path[-1], **close)
    np.testing.assert_allclose(evaluation["total"], path @ weights / weights.sum(), **close)
    np.testing.assert_allclose(evaluation["value"], final_score(S, tasks, retention, weights), **close)
    by_then = [tasks[: len(learned) + step] for step in range(len(path))]
    seen = [np.average(row[t], weights=weights[t]) if t else 0 for row, t in zip(path, by_then, strict=True)]
    np.testing.assert_allclose(evaluation["seen"], seen, **close)
    assert call("recursion", "finalCost", given, order, **asked) == pytest.approx(1 - evaluation["value"], abs=1e-12)


def test_unweighted_errors_too(call):
    C = random_correlation(12, seed=3)
    assert call("recursion", "finalCost", C, list(range(12))) == pytest.approx(final_error(C, range(12)), rel=1e-9)


@pytest.mark.parametrize("size", [2, 3, 5, 7])
@pytest.mark.parametrize(
    ("asked", "said"),
    [({}, {}), ({"first": 1}, {"first": 1}), ({"before": [[1, 0]], "last": 0}, {"before": [(1, 0)], "last": 0})],
)
def test_the_best_of_few_tasks_is_the_solvers(call, size, asked, said):
    C = random_correlation(size, seed=size)
    weights = np.random.default_rng(size).uniform(0.5, 2, size).tolist()
    best = call("best", "bestOrder", C, weights=weights, **asked)
    plan = solve(C, weights=weights, retention=1, **said)
    assert best["order"] == list(plan.order)
    assert best["value"] == pytest.approx(plan.error, rel=1e-9, abs=1e-13)
    assert best["proven"]


def allowed(size, before=(), first=None, last=None):
    """Every order that keeps the constraints."""
    orders = (order for order in itertools.permutations(range(size)) if first in (None, order[0]))
    orders = (order for order in orders if last in (None, order[-1]))
    return [order for order in orders if all(order.index(a) < order.index(b) for a, b in before)]


@pytest.mark.parametrize("retention", [0, 0.13, 0.5, 0.9])
@pytest.mark.parametrize("asked", [{}, {"first": 1}, {"before": [[1, 0]], "last": 0}])
@pytest.mark.parametrize("module", ["best", "beam"])
def test_the_best_order_below_one_is_that_of_all_orders(call, retention, asked, module):
    size = 5
    C = random_correlation(size, seed=4)
    weights = np.random.default_rng(4).uniform(0.5, 2, size)
    answer = call(module, f"{module}Order", C, weights=weights.tolist(), retention=retention, **asked)
    S = knowledge_from_similarity(C)
    best = max(final_score(S, order, retention, weights) for order in allowed(size, **asked))
    assert tuple(answer["order"]) in allowed(size, **asked)
    value = answer["value"] if module == "best" else 1 - answer["cost"]
    assert value == pytest.approx(final_score(S, answer["order"], retention, weights), rel=1e-12)
    assert value == pytest.approx(best, rel=1e-9)  # a beam of 120 keeps every beginning of five tasks


def test_the_beam_obeys_the_constraints_and_knows_the_learned_tasks(call):
    C = random_correlation(30, seed=1)
    asked = {"learned": [3, 7], "first": 5, "last": 6, "before": [[10, 9], [9, 8]], "retention": 0.3}
    best = call("best", "bestOrder", C, **asked)
    order = best["order"]
    assert sorted([*order, 3, 7]) == list(range(30))
    assert (order[0], order[-1]) == (5, 6)
    assert order.index(10) < order.index(9) < order.index(8)
    S = knowledge_from_similarity(C)
    assert best["value"] == pytest.approx(final_score(S, [3, 7, *order], 0.3), rel=1e-12)
    assert not best["proven"]
    free = call("best", "bestOrder", C, retention=0.3)
    rng = np.random.default_rng(0)
    assert free["value"] > max(final_score(S, rng.permutation(30), 0.3) for _ in range(200))


def test_many_tasks_at_retention_one_need_the_server(call):
    assert call("best", "bestOrder", random_correlation(9, seed=1)) is None


def test_the_best_order_at_zero_is_the_one_just_above(call):
    C = random_correlation(5, seed=8)
    zero, above = (call("best", "bestOrder", C, retention=d) for d in (0, 0.01))
    assert zero["order"] == above["order"]


def test_contradictions_have_no_best_order(call):
    assert call("best", "bestOrder", np.eye(3), before=[[0, 1]], first=1) is None


def test_the_range_of_a_pair_is_that_of_correlation_matrices(call):
    for seed in range(5):
        C = random_correlation(6, seed=seed)
        low, high = call("phases", "pairRange", C, 1, 4)
        for edge, inside in ((low, 1e-6), (high, -1e-6)):
            moved = C.copy()
            moved[1, 4] = moved[4, 1] = edge + inside
            assert np.linalg.eigvalsh(moved)[0] > 0
            if abs(edge) < 1:
                moved[1, 4] = moved[4, 1] = edge - inside
                assert np.linalg.eigvalsh(moved)[0] < 0


def test_flips_are_where_the_solver_changes_its_mind(call):
    C = random_correlation(5, seed=11)
    low, high = call("phases", "pairRange", C, 0, 2)
    phases = call("phases", "listedPhases", C, 0, 2, low + 1e-6, high - 1e-6)
    assert phases[0]["low"] == low + 1e-6
    assert phases[-1]["high"] == high - 1e-6
    assert len(phases) > 1

    def best(value):
        moved = C.copy()
        moved[0, 2] = moved[2, 0] = value
        return solve(moved, retention=1), moved

    for phase, after in itertools.pairwise(phases):
        assert phase["high"] == after["low"]
        plan, moved = best(phase["high"])
        for order in (phase["order"], after["order"]):  # both are best where they meet
            assert final_error(moved, order) == pytest.approx(plan.error, rel=1e-6, abs=1e-10)
    for phase in phases:
        plan, moved = best((phase["low"] + phase["high"]) / 2)
        assert final_error(moved, phase["order"]) == pytest.approx(plan.error, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", [3, 5])
def test_along_retention_the_best_order_is_the_best_of_all(call, seed):
    size = 5
    C = random_correlation(size, seed=seed)
    S = knowledge_from_similarity(C)
    *phases, last = call("phases", "retentionPhases", C)

    def score(order, d):
        return final_score(S, order, d)

    def best(d):
        return max(score(order, d) for order in itertools.permutations(range(size)))

    assert len(phases) > 1
    assert phases[0]["low"] == 0
    for phase, after in itertools.pairwise(phases):
        assert phase["high"] == after["low"]
        for order in (phase["order"], after["order"]):  # both are best where they meet
            assert score(order, phase["high"]) == pytest.approx(best(phase["high"]), abs=1e-6)
    for phase in phases:
        middle = (phase["low"] + phase["high"]) / 2
        assert score(phase["order"], middle) == pytest.approx(best(middle), abs=1e-9)
    assert (last["low"], last["high"]) == (1, 1)
    assert last["order"] == list(solve(C, retention=1).order)


@pytest.mark.parametrize("retention", [0.13, 0.6])
def test_the_three_task_map_moves_with_retention(call, retention):
    resolution, rho = 21, 0.4
    C = np.array([[1, 0.3, rho], [0.3, 1, 0.2], [rho, 0.2, 1]])
    answer = call("threemap", "threeMap", C, resolution, retention=retention)
    cells = np.reshape(answer["cells"], (resolution, resolution))[::-1]
    values = np.linspace(-1, 1, resolution)
    inside = 0
    for (row, b), (column, a) in itertools.product(enumerate(values), repeat=2):
        if cells[row, column] == 255:
            continue
        S = knowledge_from_similarity([[1, a, rho], [a, 1, b], [rho, b, 1]])
        scores = [final_score(S, order, retention) for order in answer["orders"]]
        assert scores[cells[row, column]] == pytest.approx(max(scores), abs=1e-9)
        inside += 1
    assert inside > 100
    assert not np.array_equal(answer["cells"], call("threemap", "threeMap", C, resolution)["cells"])


def test_the_three_task_map_is_figure_2c(call):
    resolution, rho = 40, 0.4
    C = np.array([[1, 0.3, rho], [0.3, 1, 0.2], [rho, 0.2, 1]])
    answer = call("threemap", "threeMap", C, resolution)
    assert [tuple(order) for order in answer["orders"]] == list(fig2c.ORDERS)
    cells = np.reshape(answer["cells"], (resolution, resolution))[::-1]  # the page draws from the top
    best = np.array(fig2c.run_batch(fig2c.specs(fig2c.Config(rho_ca=(rho,), resolution=resolution)))[0]["best"])
    inside = best > 0
    assert np.array_equal(cells == 255, ~inside)
    assert inside.sum() > 500
    assert ((best[inside] >> cells[inside]) & 1).all()


def test_random_orders_of_few_tasks_are_all_of_them(call):
    C = random_correlation(4, seed=2)
    drawn = call("randomorders", "randomOrders", C)
    assert len(drawn["values"]) == 24
    assert drawn["values"][0] == pytest.approx(solve(C, retention=1).error, rel=1e-9)
    assert drawn["values"][-1] == pytest.approx(solve(C, "worst", retention=1).error, rel=1e-9)
    S = knowledge_from_similarity(C)
    scores = sorted(final_score(S, order, 0.2) for order in itertools.permutations(range(4)))
    np.testing.assert_allclose(call("randomorders", "randomOrders", C, retention=0.2)["values"], scores, rtol=1e-12)
    many = call("randomorders", "randomOrders", random_correlation(20, seed=2))
    assert len(many["values"]) == 300
    assert many["values"] == sorted(many["values"])


def test_the_comparison_can_fail(call):
    C = random_correlation(6, seed=0)
    table = checked_table(C)
    cost = call("recursion", "finalCost", table.similarity, [5, 4, 3, 2, 1, 0])
    assert cost != pytest.approx(final_error(C, range(6)), rel=1e-3)
