import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskorder import chain
from taskorder.ordering import exact
from taskorder.ordering.clock import Clock
from taskorder.ordering.exact import ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE, BoundTable, prove, sharing
from taskorder.ordering.listing import all_orders
from taskorder.ordering.optimum import allowed
from taskorder.ordering.precedence import masks
from taskorder.ordering.problem import open_problem
from taskorder.ordering.symmetry import symmetries

from .questions import correlation, questions
from .test_end_prices import surveyed
from .test_exact import problem_of


def memory(numbers, size, junk=np.nan):
    return BoundTable(np.full(numbers, junk), np.zeros((size, 3), np.uint64), np.full(size, -1), np.zeros(3, np.int64))


def clustered(size, seed):
    """Three groups of tasks that are much alike."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((3, 2 * size))[np.arange(size) % 3] + 0.5 * rng.standard_normal((size, 2 * size))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors @ vectors.T


def searched(problem, start, limit, known, root=None):
    """(error, order) by `branch_with_table` alone: what a slice leaves open is taken up again, lowest bound first."""
    from taskorder.ordering.kernels.branch_with_table import branch_with_table

    precedes, images = symmetries(problem)
    limits, directions = masks(precedes), np.sign(images - np.arange(problem.size)).astype(np.int8)
    best, order = problem.error(start), start.copy()
    pool = [(-np.inf, (np.zeros(problem.size + 2, np.int8) if root is None else root).tobytes())]
    while pool:
        batch = [heapq.heappop(pool) for _ in range(min(3, len(pool)))]
        floors, nodes = np.array([low for low, _ in batch]), np.frombuffer(b"".join(node for _, node in batch), np.int8)
        found, before = np.empty(problem.size, np.int64), best
        best, _, left, bounds = branch_with_table(
            problem.e, problem.r, problem.h, problem.C, problem.G, *limits, directions, nodes.reshape(len(batch), -1),
            floors, best, found, RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE * abs(problem.e), problem.multiplier, limit, 2,
            2 * limit, *known,
        )  # fmt: skip
        order = found if best < before else order
        for low, row in zip(bounds.tolist(), left, strict=True):
            heapq.heappush(pool, (low, row.tobytes()))
    return best, order


@given(
    questions(min_size=4, max_size=7),
    st.sampled_from([1, 7, 10**6]),
    st.sampled_from([12_500, 1 << 17]),
    st.sampled_from([np.nan, 0.0]),
)
def test_branch_with_table_search_equals_enumeration(question, limit, numbers, junk):
    similarity, options = question
    options.pop("output", None)
    problem = problem_of(similarity, **options)
    orders = allowed(all_orders(problem.size), problem.precedes)
    for posed in (problem, problem.negated()):
        errors = posed.errors(orders)
        best, order = searched(posed, orders[int(np.argmax(errors))], limit, memory(numbers, 64, junk))
        assert best == pytest.approx(float(errors.min()), rel=2e-9, abs=2e-12 * abs(posed.e))
        assert posed.error(order) == pytest.approx(best, rel=1e-9, abs=1e-12 * abs(posed.e))
        assert (orders == order).all(axis=1).any()


@pytest.mark.parametrize("junk", [np.nan, 0.0])
def test_the_worst_order_where_there_is_no_bound(junk):
    upper = np.triu(np.random.default_rng(0).uniform(-1, -0.8, (6, 6)), 1)
    nothing, every, orders = np.zeros((6, 6), bool), np.arange(6), all_orders(6)
    problem = open_problem(upper + upper.T + np.eye(6), None, np.ones(6), every[:0], every, nothing).negated()
    errors = problem.errors(orders)
    assert np.linalg.eigvalsh(problem.C + np.eye(6)).min() < 0
    best, _ = searched(problem, orders[int(np.argmax(errors))], 7, memory(1 << 17, 64, junk))
    assert best == pytest.approx(float(errors.min()), rel=1e-9)


@given(st.integers(5, 7), st.integers(0, 10**6), st.integers(1, 20))
@pytest.mark.slow("sizes")
def test_bounds_of_what_is_left_open_are_true(size, seed, limit):
    """Also where the nodes of a batch come with floors of their own."""
    from taskorder.ordering.kernels.branch_with_table import branch_with_table

    problem, orders = problem_of(correlation(size, seed)), all_orders(size)
    errors = problem.errors(orders)
    ways = [np.append([1, 0], orders[orders[:, 0] == a][0]).astype(np.int8) for a in range(size)]
    floors = np.array([errors[orders[:, 0] == a].min() for a in range(size)])
    starts = np.argsort(-floors)
    precedes, images = symmetries(problem)
    _, _, left, bounds = branch_with_table(
        problem.e, problem.r, problem.h, problem.C, problem.G, *masks(precedes),
        np.sign(images - np.arange(size)).astype(np.int8), np.array(ways)[starts],
        np.where(np.arange(size) < 2, floors[starts], -np.inf), 2 * errors.max(), np.empty(size, np.int64),
        RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE * abs(problem.e), problem.multiplier, limit, size, 10**6,
        *memory(1 << 17, 64),
    )  # fmt: skip
    for low, (begun, ended, *order) in zip(bounds.tolist(), left.tolist(), strict=True):
        same = (orders[:, :begun] == order[:begun]).all(axis=1)
        same &= (orders[:, size - ended :] == order[size - ended :]).all(axis=1)
        assert low <= errors[same].min() * (1 + 1e-9)


@given(st.integers(4, 18), st.integers(0, 10**6), st.floats(0.02, 2.0))
def test_entries_price_both_ends(size, seed, lam):
    from taskorder.ordering.kernels.bound_table import entry_size, fertile, price_first, price_last, promise, tabulate
    from taskorder.ordering.kernels.simd import padded

    problem, wide = problem_of(correlation(size, seed)), padded(size)
    r, h, front, back, pull, miss, x, s = (np.zeros(wide) for _ in range(8))
    r[:size], h[:size] = problem.r[0], problem.h[0]
    C, G = (np.pad(table, ((0, 0), (0, wide - size))) for table in (problem.C, problem.G))
    table, scratch = np.full(7 + entry_size(size), np.nan), [np.zeros((size, wide)) for _ in range(4)]
    tabulate(size, np.arange(size), r, h, lam, 0, np.inf, C, G.ravel(), 0, table, 7, *scratch, x, s)
    low = problem.e - price_first(size, r, h, table, 7, pull, x, front)
    slope = price_last(size, r, table, 7, pull, x, back, miss)
    value, gaps, gram = surveyed(problem, lam)
    rises = gaps**2 / np.diagonal(gram)
    assert low <= value + 1e-14 * problem.e
    assert low == pytest.approx(value, abs=1e-9 * problem.e)
    np.testing.assert_allclose(np.concatenate([front[:size], back[:size]]), rises, rtol=1e-6, atol=1e-9 * problem.e)
    nudge = 1e-5 * lam
    steep = (surveyed(problem, lam + nudge)[0] - surveyed(problem, lam - nudge)[0]) / (2 * nudge)
    assert abs(slope) == pytest.approx(abs(steep), rel=1e-3, abs=1e-6 * problem.e)
    assert promise(size, slope, table, 7, miss, s) >= 0.0
    for j in range(size):
        r_after, first = problem.r[0] - problem.r[0, j] * problem.C[j], gram[:size, :size]
        gap = r_after - (problem.r[0] - gaps[:size] + first[j] * gaps[j] / first[j, j])
        others = np.arange(size) != j
        cheapest = (gap[others] ** 2 / (np.diagonal(first) - first[j] ** 2 / first[j, j])[others]).min()
        assert fertile(j, size, 1.001 * cheapest, r, x, table, 7, miss, s)
        assert not fertile(j, size, 0.999 * cheapest, r, x, table, 7, miss, s)


@pytest.mark.parametrize("ended", [20, 21, 22])
def test_long_endings_are_told_apart(ended):
    problem, known, size = problem_of(correlation(27, 3)), memory(1 << 17, 256), 27 - ended
    for tail in (np.arange(size, 27), np.roll(np.arange(size, 27), 1), np.arange(size, 27)[::-1]):
        orders = np.array([np.append(rest, tail) for rest in all_orders(size)])
        errors = problem.errors(orders)
        start = orders[int(np.argmax(errors))]
        best, order = searched(problem, start, 5, known, np.append([0, ended], start).astype(np.int8))
        assert best == pytest.approx(float(errors.min()), rel=1e-9)
        assert (order[size:] == tail).all()


def test_nodes_sharing_visit_the_same_tasks_and_end_alike():
    rows = [[2, 0, 1, 0, 2, 3], [2, 0, 0, 1, 3, 2], [2, 1, 0, 1, 2, 3], [2, 1, 1, 0, 2, 3], [1, 1, 0, 1, 2, 3]]
    nodes = [(0.0, np.array(row, np.int8).tobytes()) for row in rows]
    assert sharing(nodes) == pytest.approx(5 / 3)
    assert sharing(nodes[:2]) == 2.0


@pytest.mark.parametrize("matrix", [clustered(13, 1), chain(13, 0.6)], ids=["clusters", "chain"])
def test_a_proof_that_shares_is_the_same_proof_in_any_number_of_threads(monkeypatch, matrix):
    problem, start = problem_of(matrix), np.arange(len(matrix))
    plain = prove(problem, start, Clock(60))
    made = []

    class Counted(BoundTable):
        @classmethod
        def empty(cls):
            made.append(BoundTable.empty())
            return made[-1]

    monkeypatch.setattr(exact, "BoundTable", Counted)
    for name, value in (
        ("COUNT_FROM", 500),
        ("MIN_SHARING", 0.0),
        ("MIN_USES", 0),
        ("MAX_TIGHTENED", 0),
        ("MIN_SLICE", 50),
    ):
        monkeypatch.setattr(exact, name, value)
    proofs = []
    for threads in (1, 2, 5):
        monkeypatch.setenv("NPROC", str(threads))
        proofs.append(prove(problem, start, Clock(60)))
    assert sum(int(memory.filled[2]) for memory in made) > 300
    assert all(proof.complete for proof in proofs)
    assert plain.error == pytest.approx(proofs[0].error, rel=1e-8)
    assert len({(proof.error, proof.nodes, *proof.order.tolist()) for proof in proofs}) == 1
