"""The page's arithmetic, run in the browser, equals the library's to rounding."""

import itertools

import numpy as np
import pytest

from reproduction.figures import fig2c
from taskorder import error_path, final_error, random_correlation, solve, task_errors
from taskorder.ordering.solver_input import checked_table

pytest.importorskip("playwright")

CALL = """async ([module, name, inputs, args]) => {
  const found = await import(`/static/${module}.js`);
  const matrix = Float64Array.from(inputs.matrix.flat());
  const value = await found[name]({ ...inputs, matrix }, ...args);
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
            "matrix": np.asarray(similarity).tolist(), "size": len(similarity), "learned": [], "weights": None,
            "before": [], "first": None, "last": None, **asked,
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
    found = call("recursion", "evaluate", C, order, learned=learned, weights=weights)
    path = error_path(C, tasks)[len(learned) :]
    close = {"rtol": 1e-9, "atol": 1e-13}
    np.testing.assert_allclose(np.reshape(found["path"], path.shape), path, **close)
    np.testing.assert_allclose(found["final"], task_errors(C, tasks), **close)
    np.testing.assert_allclose(found["total"], path @ weights, **close)
    np.testing.assert_allclose(found["error"], final_error(C, tasks, weights=weights), **close)
    seen = [sum(weights[t] * row[t] for t in tasks[: len(learned) + step]) for step, row in enumerate(path)]
    np.testing.assert_allclose(found["forgotten"], seen, **close)


def test_unweighted_errors_too(call):
    C = random_correlation(12, seed=3)
    assert call("recursion", "finalError", C, list(range(12))) == pytest.approx(final_error(C, range(12)), rel=1e-9)


@pytest.mark.parametrize("size", [2, 3, 5, 7])
@pytest.mark.parametrize(
    ("asked", "said"),
    [({}, {}), ({"first": 1}, {"first": 1}), ({"before": [[1, 0]], "last": 0}, {"before": [(1, 0)], "last": 0})],
)
def test_the_best_of_few_tasks_is_the_solvers(call, size, asked, said):
    C = random_correlation(size, seed=size)
    weights = np.random.default_rng(size).uniform(0.5, 2, size).tolist()
    found = call("listing", "bestOrder", C, weights=weights, **asked)
    plan = solve(C, weights=weights, **said, retention=1)
    assert found["order"] == list(plan.order)
    assert found["error"] == pytest.approx(plan.error, rel=1e-9, abs=1e-13)


def test_contradictions_have_no_best_order(call):
    assert call("listing", "bestOrder", np.eye(3), before=[[0, 1]], first=1) is None


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
    found = call("phases", "listedPhases", C, 0, 2, low + 1e-6, high - 1e-6)
    assert found[0]["low"] == low + 1e-6
    assert found[-1]["high"] == high - 1e-6
    assert len(found) > 1

    def best(value):
        moved = C.copy()
        moved[0, 2] = moved[2, 0] = value
        return solve(moved, retention=1), moved

    for phase, after in itertools.pairwise(found):
        assert phase["high"] == after["low"]
        plan, moved = best(phase["high"])
        for order in (phase["order"], after["order"]):  # both are best where they meet
            assert final_error(moved, order) == pytest.approx(plan.error, rel=1e-6, abs=1e-10)
    for phase in found:
        plan, moved = best((phase["low"] + phase["high"]) / 2)
        assert final_error(moved, phase["order"]) == pytest.approx(plan.error, rel=1e-9, abs=1e-12)


def test_the_three_task_map_is_figure_2c(call):
    resolution, rho = 40, 0.4
    C = np.array([[1, 0.3, rho], [0.3, 1, 0.2], [rho, 0.2, 1]])
    found = call("threemap", "threeMap", C, resolution)
    assert [tuple(order) for order in found["orders"]] == list(fig2c.ORDERS)
    cells = np.reshape(found["cells"], (resolution, resolution))[::-1]  # the page draws from the top
    best = np.array(fig2c.run_batch(fig2c.specs(fig2c.Config(rho_ca=(rho,), resolution=resolution)))[0]["best"])
    inside = best > 0
    assert np.array_equal(cells == 255, ~inside)
    assert inside.sum() > 500
    assert ((best[inside] >> cells[inside]) & 1).all()


def test_random_orders_of_few_tasks_are_all_of_them(call):
    C = random_correlation(4, seed=2)
    found = call("randomorders", "randomOrders", C)
    assert len(found["errors"]) == 24
    assert found["errors"][0] == pytest.approx(solve(C, retention=1).error, rel=1e-9)
    assert found["errors"][-1] == pytest.approx(solve(C, "worst", retention=1).error, rel=1e-9)
    many = call("randomorders", "randomOrders", random_correlation(20, seed=2))
    assert len(many["errors"]) == 300
    assert many["errors"] == sorted(many["errors"])


def test_the_comparison_can_fail(call):
    C = random_correlation(6, seed=0)
    table = checked_table(C)
    found = call("recursion", "finalError", table.similarity, [5, 4, 3, 2, 1, 0])
    assert found != pytest.approx(final_error(C, range(6)), rel=1e-3)
