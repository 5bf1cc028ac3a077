"""Constraints: the closure, the meaning of each option, and the texts of the refusals."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskorder.constraints import Constraints, closure
from taskorder.ordering.precedence import components, respects

NAMES = ("A", "B", "C", "D")


def precedence(**options):
    return Constraints.of(4, **options).precedence()


def allowed(precedes):
    """Every order that keeps the precedence."""
    return [p for p in itertools.permutations(range(len(precedes))) if respects(np.array(p, dtype=int), precedes)]


def test_open_tasks_leaves_out_what_is_learned():
    assert Constraints.of(4).open_tasks.tolist() == [0, 1, 2, 3]
    constraints = Constraints.of(4, learned=["C", 0])
    assert constraints.open_tasks.tolist() == [1, 3]
    assert constraints.learned == (2, 0)
    assert Constraints.of(4, learned=NAMES).open_tasks.tolist() == []


def counting(values, taken):
    for value in values:
        taken.append(value)
        yield value


@pytest.mark.parametrize(
    ("options", "most"),
    [
        (lambda values: {"learned": values}, 4),
        (lambda values: {"groups": [values]}, 4),
        (lambda values: {"before": (("A", "BC"[value]) for value in values)}, 10),
    ],
    ids=["learned", "groups", "before"],
)
def test_lists_are_read_no_further_than_any_can_be(options, most):
    """A request with "learned" seven million times 0 took seconds."""
    taken = []
    with pytest.raises(ValueError, match=r"at most once|each pair once"):
        Constraints.of(3, **options(counting(itertools.cycle([0, 1]), taken)))
    assert len(taken) <= most


@pytest.mark.parametrize(
    ("learned", "text"),
    [
        (["X"], "`learned` must name a known task, got 'X'. Tasks: A, B, C, D."),
        (["A", 0], "`learned` must list a task at most once, got A twice."),
        ([4], "`learned` must list task indices from 0 to 3, got 4."),
        ("A", "`learned` must be a list of tasks, got the text 'A'. Write ['A']."),
        (0, "`learned` must be a list of tasks, got 0. Write [0]."),
    ],
)
def test_learned_tasks_are_checked(learned, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        Constraints.of(4, learned=learned)


@settings(max_examples=60)
@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.tuples(*2 * [st.integers(0, n - 1)])))))
def test_closure_is_the_closure_or_names_a_real_cycle(case):
    size, pairs = case
    labels = [f"t{i}" for i in range(size)]
    reach = np.zeros((size, size), dtype=bool)
    for a, b in pairs:
        reach[a, b] = True
    for _ in range(size):
        reach |= (reach.astype(int) @ reach.astype(int)) > 0
    if not reach.diagonal().any():
        assert (closure(size, pairs, labels) == reach).all()
        return
    with pytest.raises(ValueError, match="`before` must not contain a cycle") as caught:
        closure(size, pairs, labels)
    cycle = [int(t[1:]) for t in str(caught.value).split("got ")[1].split(". ")[0].split(" before ")]
    assert cycle[0] == cycle[-1]
    assert all(pair in pairs for pair in itertools.pairwise(cycle))


def test_cycle_is_spelled_out_by_name():
    with pytest.raises(ValueError, match=r"^`before` must not contain a cycle, got A before B before C before A\."):
        precedence(before=[("A", "B"), ("B", "C"), ("C", "A"), ("D", "A")])


def test_options_mean_what_they_say():
    orders = allowed(precedence(before=[("D", "B")], first="C", last=0))
    assert orders == [(2, 3, 1, 0)]
    orders = allowed(precedence(before=[("A", "D")]))
    assert len(orders) == 12
    assert all(p.index(0) < p.index(3) for p in orders)
    assert not precedence().any()


def test_learned_tasks_satisfy_what_waits_for_them():
    assert not precedence(before=[("B", "A")], learned=["B"]).any()
    with pytest.raises(ValueError, match=r"`before` must not ask for A before B, which is already in `learned`\."):
        precedence(before=[("A", "B")], learned=["B"])


def test_copies_are_visited_in_order_and_only_first_visits_wait():
    tasks = np.array([0, 1, 2, 1])  # A B C and B once more
    precedes = Constraints.of(3, before=[("B", "A")]).precedence([1])
    assert precedes[1, 3]
    assert precedes[1, 0]
    assert not precedes[3, 0]
    assert not precedes[0, 3]
    ends = allowed(Constraints.of(3, first="B", last="B", visits=4).precedence([1]))
    assert {(tasks[p[0]], tasks[p[-1]]) for p in ends} == {(1, 1)}
    assert allowed(Constraints.of(3, before=[("B", "A")], last="B", visits=4).precedence([1]))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"before": [("A", "A")]}, "`before` must name two different tasks in each pair, got A before itself."),
        ({"before": 3}, "`before` must be a list of pairs (a, b) of tasks, got 3. Write [(a, b)]."),
        ({"before": ["AB"]}, "`before` must be a list of pairs (a, b) of tasks, got 'AB'. Write [(a, b)]."),
        (
            {"before": [("A", "B", "C")]},
            "`before` must be a list of pairs (a, b) of tasks, got ('A', 'B', 'C'). Write [(a, b)].",
        ),
        ({"before": [("A", "Z")]}, "`before` must name a known task, got 'Z'. Tasks: A, B, C, D."),
        (
            {"first": "A", "last": "A"},
            "`first` and `last` must be different tasks unless only one visit is open, got A for both.",
        ),
        (
            {"first": "A", "before": [("B", "A")]},
            "`first` must not contradict `before`, got first A but B before A.",
        ),
        ({"last": "A", "before": [("A", "B")]}, "`last` must not contradict `before`, got last A but A before B."),
        ({"first": "Q"}, "`first` must name a known task, got 'Q'. Tasks: A, B, C, D."),
    ],
)
def test_precedence_refuses(options, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        precedence(**options)


@pytest.mark.parametrize("option", ["first", "last"])
def test_a_learned_task_cannot_be_first_or_last(option):
    with pytest.raises(ValueError, match=f"`{option}` must name a task that is still to be learned, got A from"):
        precedence(learned=["A"], **{option: "A"})


def test_only_one_open_task_may_be_first_and_last():
    assert precedence(first="D", last="D", learned=["A", "B", "C"]).tolist() == [[False]]
    assert precedence(learned=NAMES).shape == (0, 0)


def test_components_partition_and_do_not_touch():
    linked = np.zeros((9, 9), dtype=bool)
    for a, b in [(0, 5), (5, 7), (1, 2), (8, 2)]:
        linked[a, b] = linked[b, a] = True
    assert [part.tolist() for part in components(linked)] == [[0, 5, 7], [1, 2, 8], [3], [4], [6]]
    assert components(np.zeros((0, 0), dtype=bool)) == []


@settings(max_examples=60)
@given(
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(lambda pair: pair[0] < pair[1])),
    st.none() | st.integers(0, 3),
    st.none() | st.integers(0, 3),
    st.sets(st.integers(0, 1)),
)
def test_allowed_orders_are_those_that_keep_the_precedence(before, first, last, learned):
    try:
        constraints = Constraints.of(4, before=before, first=first, last=last, learned=learned)
    except ValueError:
        return
    tasks = constraints.open_tasks
    expected = {tuple(tasks[list(order)].tolist()) for order in allowed(constraints.precedence())}
    orders = list(itertools.permutations(tasks.tolist()))
    assert {order for order in orders if constraints.allows(order)} == expected
    assert {order for order in orders if constraints.allows_ending(order)} == expected
    for size in range(1, len(tasks)):
        endings = {order[size:] for order in orders}
        assert {end for end in endings if constraints.allows_ending(end)} == {order[size:] for order in expected}
    assert constraints.fixes_order == (len(expected) == 1)


def test_an_order_with_repeats_is_allowed_within_the_visits():
    constraints = Constraints.of(3, before=[("A", "B")], last="A", visits=4)
    assert constraints.required_repeats == (0,)
    assert constraints.allows([0, 1, 2, 0])
    assert not constraints.allows([0, 1, 2])
    assert not constraints.allows([1, 0, 2, 0])
    assert not constraints.allows([0, 1, 2, 1, 0])
    assert not Constraints.of(3).allows([0, 1, 2, 0])
    assert Constraints.of(3, learned=["A"], visits=3).allows([1, 0, 2])


def test_constraints_survive_as_options():
    given = {"before": [("C", "A")], "last": "B", "learned": ["D"], "weights": {"A": 2}, "visits": 5}
    constraints = Constraints.of(4, **given)
    assert constraints.options == {
        "weights": [2.0, 1.0, 1.0, 1.0], "before": [["C", "A"]], "first": None, "last": "B", "learned": ["D"],
        "visits": 5,
    }  # fmt: skip
    assert Constraints.from_options(NAMES, constraints.options).options == constraints.options
    assert Constraints.from_options(NAMES, {}).options == Constraints.of(4).options


@pytest.mark.parametrize(
    ("visits", "text"),
    [
        (2, "`visits` must be at least 3, one for each open task, got 2."),
        ("x", "`visits` must be at least 3, one for each open task, got 'x'."),
        (2.5, "`visits` must be at least 3, one for each open task, got 2.5."),
        (3001, "`visits` must be at most 3000, got 3001."),
    ],
)
def test_visits_are_checked(visits, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        Constraints.of(3, visits=visits)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"groups": 3}, "`groups` must be a list of lists of tasks, got 3. Write [[a, b], ...]."),
        ({"groups": ["A", "B"]}, "`groups` must be a list of lists of tasks, got 'A'. Write [['A', ...]]."),
        ({"groups": [[]]}, "`groups` must have at least one task in each group, got an empty one. Leave it out."),
        ({"groups": [["A", "X"]]}, "`groups` must name a known task, got 'X'. Tasks: A, B, C, D."),
        ({"groups": [["A", 0]]}, "`groups` must list a task at most once, got A twice. Name it once."),
        (
            {"groups": [["A", "B"], ["B", "C"]]},
            "`groups` must not share a task, got B in [A, B] and in [B, C]. Merge them into [A, B, C], or name it in "
            "one of them.",
        ),
        (
            {"groups": [["A", "B", "C"], ["C", "A"]]},
            "`groups` must not lie inside each other, got [C, A] in [A, B, C]. Keep one of them.",
        ),
        (
            {"groups": [["A", "B"], ["C", "D"]], "before": [("A", "C"), ("D", "B")]},
            "`before` must not contain a cycle, got [A, B] before [C, D] before [A, B]. Drop one of these pairs, or "
            "change `groups`.",
        ),
        (
            {"groups": [["A", "B"]], "before": [("A", "C"), ("C", "B")]},
            "`before` must not contain a cycle, got [A, B] before C before [A, B]. Drop one of these pairs, or change "
            "`groups`.",
        ),
        (
            {"groups": [["A", "B"]], "before": [("A", "B"), ("B", "A")]},
            "`before` must not contain a cycle, got A before B before A. Drop one of these pairs.",
        ),
        (
            {"groups": [["A", "B"]], "first": "A", "last": "B"},
            "`first` must not be of the group of `last` where tasks are outside of it, got A and B of [A, B]. Drop "
            "one of them, or change `groups`.",
        ),
        (
            {"groups": [["A", "B"]], "last": "B", "before": [("A", "C")]},
            "`last` must not contradict `before` and `groups`, got last B but B before C.",
        ),
        (
            {"groups": [["A", "B"]], "first": "A", "before": [("C", "B")]},
            "`first` must not contradict `before` and `groups`, got first A but C before A.",
        ),
        (
            {"groups": [["A", "B"]], "learned": ["A", "C"]},
            "`groups` must not be broken by `learned` already, got [A, B] with A learned before C. Take A out of the "
            "group.",
        ),
        (
            {"groups": [["A", "B"]], "learned": ["A"], "first": "C"},
            "`first` must be of the group that `learned` has begun, B, got C.",
        ),
        (
            {"groups": [["A", "B"]], "learned": ["A"], "before": [("C", "B")]},
            "`before` must not put a task before a group that `learned` has begun, got C before B. Drop the pair, or "
            "change the group.",
        ),
    ],
)
def test_groups_are_checked(options, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        Constraints.of(4, **options)


@settings(max_examples=60)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_with_groups_what_is_allowed_is_what_keeps_every_constraint(size, seed):
    rng = np.random.default_rng(seed)
    hidden = rng.permutation(size).tolist()
    groups = [hidden[start : start + 2] for start in range(int(rng.integers(0, 2)), size - 1, 2)]
    learned = hidden[: int(rng.integers(0, size))]
    before = [(hidden[i], hidden[j]) for i, j in itertools.combinations(range(size), 2) if rng.random() < 0.1]
    last = hidden[-1] if rng.random() < 0.3 else None
    constraints = Constraints.of(
        size, groups=groups, learned=learned, before=[(a, b) for a, b in before if b not in learned], last=last
    )
    tasks, together = constraints.open_tasks, constraints.together
    labels = np.arange(len(tasks)) if together is None else together
    every = {tuple(tasks[list(order)].tolist()) for order in itertools.permutations(range(len(tasks)))}
    expected = {order for order in every if constraints.allows(order)}
    assert tuple(hidden[len(learned) :]) in expected
    kept = {
        tuple(tasks[list(order)].tolist())
        for order in allowed(constraints.precedence())
        if sum(a != b for a, b in itertools.pairwise(labels[list(order)])) == len(set(labels.tolist())) - 1
    }
    assert kept == expected
    for order in itertools.permutations(tasks.tolist(), min(2, len(tasks))):
        assert constraints.allows_ending(order) == any(other[len(other) - len(order) :] == order for other in expected)
    assert Constraints.from_options(constraints.names, constraints.options).options == constraints.options
