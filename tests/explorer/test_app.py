"""The interface over HTTP: what it refuses, and that its answers are the library's."""

import itertools
import json

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from taskorder import Plan, chain, final_error, solve
from taskorder.explorer import plans
from taskorder.ordering.solve import RULES
from taskorder.theory.law import PLAIN_RETENTION, final_score, knowledge_from_similarity

from .client import events, solve_body


def test_a_table_comes_back_with_its_repair(client):
    body = b"task,<b>x</b>,y,z\n<b>x</b>,1,0.9,-0.9\ny,0.9,1,0.9\nz,-0.9,0.9,1\n"
    table = client.post("/api/table?name=C:\\odd/path/a.csv", content=body).json()
    assert table["names"] == ["<b>x</b>", "y", "z"]
    assert table["source"] == "a.csv"
    assert table["given"][0] == [1, 0.9, -0.9]
    assert np.linalg.eigvalsh(table["repaired"])[0] > -1e-9
    assert "nearest correlation matrix" in table["note"]


def test_a_transfer_table_comes_back_as_it_is(client):
    """What a learner knows of its own task is hardly ever all there is to know."""
    table = client.post("/api/table?name=a.csv", content=b"task,x,y\nx,0.9,0.2\ny,-1.5,0.8\n").json()
    assert (table["kind"], table["given"]) == ("transfer", [[0.9, 0.2], [-1.5, 0.8]])
    assert (table["repaired"], table["note"]) == (None, None)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "`bad.csv` must hold a similarity matrix, got an empty file."),
        (b"1,0.5\n0.5\n", "line 2"),
        (b"1,x\n0.5,1\n", "'x' on line 1, column 2"),
        (b"2,0\n0,1\n", "knowledge of at most 1"),
        (b"0,1\n1,0\n", "less of a learner's own task"),
        (b"1,1.5\n1.5,1\n", "[-1, 1]"),
        (b"A,A\n1,0\n0,1\n", "'A' more than once"),
        (b"\x80\x04pickle", "pickle"),
        (b"\x00\x01\x02", "binary data"),
        (b"[[1, 2", "JSON"),
    ],
)
def test_bad_tables_get_the_line_of_the_command_line(client, body, said):
    answer = client.post("/api/table?name=bad.csv", content=body)
    assert answer.status == 400
    assert said in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_large_tables_are_refused(client):
    answer = client.post("/api/table?name=big.csv", content=b"0," * (plans.MAX_REQUEST_BYTES // 2 + 8))
    assert answer.status == 400
    assert "`big.csv` must be at most 16 MB" in answer.json()["error"]
    many = json.dumps(np.eye(plans.MAX_EXPLORED + 1).tolist()).encode()
    answer = client.post("/api/table?name=many.json", content=many)
    assert answer.status == 400
    assert "at most 500 tasks to explore, got 501" in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "JSON object"),
        (b"[1]", "JSON object"),
        (b"[" * 100_000, "JSON object"),
        (b'{"similarity": 1}', "`similarity` must be a list of rows"),
        (b'{"similarity": [[1]], "order": [0, 0]}', "`order` must list each of the 1 open tasks"),
        (b'{"similarity": [[1]], "order": ["x"]}', "`order` must list task indices"),
        (b'{"similarity": [[1]], "order": 5}', "right types"),
        (b'{"similarity": [[1]], "order": [0], "rule": "<script>"}', "`rule` must be"),
        (b'{"similarity": [[1]], "order": [0], "before": 7}', "must be a list of pairs"),
        (b'{"similarity": [[1, 0], [0, 1]], "order": [0, 1], "weights": [0, 0]}', "`weights` must be"),
        (b'{"similarity": [[1]], "order": [0], "retention": 1.5}', "`retention` must be in [0, 1], got 1.5"),
        (b'{"similarity": [[1]], "order": [0], "retention": -0.1}', "`retention` must be in [0, 1], got -0.1"),
        (b'{"similarity": [[1]], "order": [0], "retention": NaN}', "`retention` must be in [0, 1], got nan"),
        (b'{"similarity": [[1]], "order": [0], "retention": "x"}', "`retention` must be a number in [0, 1], got 'x'"),
        (b'{"similarity": [[1]], "order": [0], "retention": true}', "`retention` must be a number"),
        (b'{"similarity": [[1]], "order": [0], "retention": [0.5]}', "`retention` must be a number"),
        (b'{"similarity": [[1, 0.9], [0.2, 1]], "order": [0, 1], "retention": 1}', "below 1 for a transfer table"),
    ],
)
def test_bad_requests_are_told_why(client, body, said):
    answer = client.post("/api/plan", content=body)
    assert answer.status == 400
    assert said in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize("query", ["tasks=x", "tasks=0", "tasks=501", "a=2", "a=nan", "tasks=1e3"])
def test_bad_examples_are_told_why(client, query):
    assert client.get(f"/api/example/chain?{query}").status == 400
    assert "`example` must be one of" in client.get("/api/example/passwd").json()["error"]


def test_examples_are_the_librarys(client):
    example = client.get("/api/example/chain?tasks=6&a=0.5").json()
    np.testing.assert_array_equal(example["given"], chain(6, 0.5))
    assert len(client.get("/api/example/demo").json()["names"]) == 12


def test_a_search_ends_with_the_librarys_plan(client):
    body = solve_body(chain(5, 0.7), rule="optimal", before=[[4, 0]], weights=[1, 2, 1, 1, 1], retention=1)
    answers = events(client.post("/api/solve", json=body))
    assert set(answers[0]) == {"key"}
    plan = Plan.from_json(json.dumps(answers[-1]["plan"]))
    expected = solve(chain(5, 0.7), before=[("E", "A")], weights=[1, 2, 1, 1, 1], retention=1)
    assert plan.order == expected.order
    assert plan.error == expected.error
    assert plan.proven


def test_a_search_keeps_groups(client):
    body = solve_body(chain(5, 0.7), rule="optimal", groups=[[1, 2]], retention=0.13)
    plan = Plan.from_json(json.dumps(events(client.post("/api/solve", json=body))[-1]["plan"]))
    assert plan.order == solve(chain(5, 0.7), groups=[["B", "C"]], retention=0.13).order
    assert abs(plan.order.index(1) - plan.order.index(2)) == 1
    assert plan.options["groups"] == [["B", "C"]]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"rule": "best"}, "`rule` must be one of"),
        ({"rule": "optimal", "before": [[0, 1], [1, 0]]}, "cycle"),
        ({"rule": "optimal", "seconds": 0}, "`seconds` must be a positive"),
        ({"rule": "optimal", "seconds": 1e9}, "`seconds` must be at most 600"),
        ({"rule": "optimal", "names": ["A"]}, "`names` must name each"),
    ],
)
def test_problems_of_a_search_are_its_last_line(client, more, said):
    answers = events(client.post("/api/solve", json=solve_body(chain(3, 0.5), **more)))
    assert said in answers[-1]["problem"]


def test_the_page_begins_with_the_retention_of_plain_networks(client):
    start = client.get("/api/start").json()
    assert start["retention"] == start["plain"] == PLAIN_RETENTION
    assert [rule["name"] for rule in start["rules"]] == list(RULES)


@pytest.mark.parametrize("retention", [0, 0.13, 0.5])
def test_below_one_a_search_maximizes_the_score(client, retention):
    body = solve_body(chain(5, 0.7), rule="optimal", last=0, retention=retention)
    plan = Plan.from_json(json.dumps(events(client.post("/api/solve", json=body))[-1]["plan"]))
    table = knowledge_from_similarity(chain(5, 0.7))
    orders = [(*order, 0) for order in itertools.permutations(range(1, 5))]
    assert plan.score == pytest.approx(max(final_score(table, order, retention) for order in orders), rel=1e-12)
    assert (plan.objective, plan.retention, plan.proven) == ("score", retention, True)


def test_without_a_retention_the_learner_is_a_plain_network(client):
    plan = Plan.from_json(client.post("/api/plan", json=solve_body(chain(4, 0.6), order=[3, 0, 2, 1])).text)
    table = knowledge_from_similarity(chain(4, 0.6))
    assert plan.score == pytest.approx(final_score(table, [3, 0, 2, 1], PLAIN_RETENTION), rel=1e-12)


def test_rules_are_ranked_by_their_own_orders(client):
    body = solve_body(chain(5, 0.7), retention=0.2, first=2)
    orders = client.post("/api/rules", json=body).json()
    assert set(orders) == set(RULES) - {"optimal", "random", "worst"}
    for rule, order in orders.items():
        assert order == list(solve(chain(5, 0.7), rule, retention=0.2, first=2).order)
    table = [[1, 0.9, 0.1], [0.2, 1, 0.3], [0.1, 0.5, 1]]  # the rule first-order needs a symmetric one
    assert "first-order" not in client.post("/api/rules", json=solve_body(table)).json()
    assert client.post("/api/rules", json={"similarity": 5}).status == 400


def test_rules_that_cannot_read_weights_are_scored_with_them(client):
    weights = [5.0, 1, 1, 1, 1]
    body = solve_body(chain(5, 0.7), rule="periphery-to-core", weights=weights, retention=1)
    answers = events(client.post("/api/solve", json=body))
    plan = answers[-1]["plan"]
    assert plan["order"] == list(solve(chain(5, 0.7), "periphery-to-core", retention=1).order)
    assert plan["error"] == pytest.approx(final_error(chain(5, 0.7), plan["order"], weights=weights), rel=1e-12)


def test_an_order_made_by_hand_is_a_plan(client):
    body = solve_body(chain(4, 0.6), order=[3, 0, 2], learned=[1], weights=[1, 2, 3, 4], before=[[0, 3]], retention=1)
    plan = Plan.from_json(client.post("/api/plan", json=body).text)
    assert plan.rule == plans.BY_HAND
    assert plan.named_order == ("D", "A", "C")
    assert plan.error == pytest.approx(final_error(chain(4, 0.6), [1, 3, 0, 2], weights=[1, 2, 3, 4]), rel=1e-12)
    assert "this order breaks a constraint" in plan.notes


@pytest.mark.parametrize("rule", ["row-sums", "greedy", "optimal", "worst"])
def test_an_order_is_that_of_a_rule_only_where_the_rule_makes_it(client, rule):
    C = chain(5, 0.7)
    made = solve(C, rule, retention=0.2)
    for order, said in ((made.order, rule), (np.roll(made.order, 2).tolist(), plans.BY_HAND)):
        body = solve_body(C, order=list(order), rule=rule, retention=0.2)
        plan = Plan.from_json(client.post("/api/plan", json=body).text)
        assert plan.rule == plan.options["rule"] == said
        assert not plan.proven


def test_a_rule_that_cannot_read_the_table_has_made_no_order_of_it(client):
    table = [[1, 0.9, 0.1], [0.2, 1, 0.3], [0.1, 0.5, 1]]
    body = solve_body(table, order=[0, 1, 2], rule="first-order")
    assert Plan.from_json(client.post("/api/plan", json=body).text).rule == plans.BY_HAND


def test_a_plan_that_the_table_refutes_is_not_repeated_in_a_report(client):
    body = solve_body(chain(4, 0.6), order=[0, 1, 2, 3], retention=1)
    plan = client.post("/api/plan", json=body).json()
    lie = {**plan, "error": 1e-9, "proven": True, "bound": 1e-9, "rule": "optimal"}
    page = client.post("/api/report", json={**body, "plan": lie}).text
    assert "The plan says a final error of 1e-09, its table gives" in page
    assert "It is proven" not in page


def test_a_plan_has_the_digest_of_the_matrix_as_given(client):
    given = [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]
    plan = Plan.from_json(client.post("/api/plan", json=solve_body(given, order=[0, 1, 2], retention=1)).text)
    assert plan.similarity_digest == solve(given, retention=1).similarity_digest
    assert plan.repair is not None


def test_a_plan_that_does_not_fit_is_refused(client):
    plan = client.post("/api/plan", json={"similarity": [[1, 0.5], [0.5, 1]], "order": [0, 1], "retention": 1}).json()
    for change in ({"order": [7, 9]}, {"error_path": [[1]]}, {"task_errors": []}, {"options": []}, {"notes": [1]}):
        answer = client.post("/api/report", json={"similarity": [[1, 0.5], [0.5, 1]], "plan": {**plan, **change}})
        assert answer.status == 400
        assert "`plan` must be a plan as `taskorder solve --json` writes it, got" in answer.json()["error"]
