"""Rehearsed orders: ranked from memory, and read back from a table the same."""

import itertools

import numpy as np
import pytest

from taskorder.ordering.solve import solve
from taskorder.planning.rehearsal import Rehearsal
from taskorder.report.pilot import read_rehearsal, rehearsed_orders

NAMES = ("cats", "dogs", "owls")


@pytest.fixture
def plan(make_correlation):
    return solve(make_correlation(3, 0), names=NAMES, weights=[1.0, 2.0, 1.0])


def made(longest, *, accuracy):
    rng = np.random.default_rng(0)
    endings = tuple(way for n in range(1, longest + 1) for way in itertools.permutations(range(3), n))
    values = rng.random((2, len(endings), 3))
    return Rehearsal((0, 1, 2), endings, values, rng.random(values.shape) if accuracy else None, "orders", 0)


@pytest.mark.parametrize("accuracy", [True, False])
def test_the_score_is_the_weighted_mean_over_endings_tasks_and_seeds(plan, accuracy):
    rehearsal = made(3, accuracy=accuracy)
    ranked = rehearsed_orders(plan, rehearsal)
    assert ranked.unit == ("accuracy" if accuracy else "score")
    assert sorted(ranked.orders) == sorted(itertools.permutations(range(3)))
    assert (np.diff(ranked.scores) <= 0).all()
    shown = rehearsal.accuracy if accuracy else rehearsal.values
    rows = [rehearsal.endings.index(ranked.orders[0][-n:]) for n in (1, 2, 3)]
    assert ranked.scores[0] == pytest.approx(np.average(shown[:, rows], axis=2, weights=[1, 2, 1]).mean())
    assert ranked.rank(ranked.orders[4]) == 4
    assert ranked.rank((0, 1)) is None


def test_endings_alone_rank_no_order(plan):
    assert rehearsed_orders(plan, made(2, accuracy=True)) is None
    assert rehearsed_orders(plan, None) is None


@pytest.mark.parametrize("accuracy", [True, False])
def test_a_table_gives_the_same_rehearsal(plan, tmp_path, accuracy):
    rehearsal = made(3, accuracy=accuracy)
    lines = ["seed,learned,test,value,accuracy"]
    for seed, (row, ending), task in itertools.product(range(2), enumerate(rehearsal.endings), range(3)):
        own = rehearsal.accuracy[seed, row, task] if accuracy else ""
        way = ">".join(NAMES[k] for k in ending)
        lines.append(f"{seed},{way},{NAMES[task]},{rehearsal.values[seed, row, task]},{own}")
    path = tmp_path / "rehearsal.csv"
    path.write_text("\n".join(lines))
    read = rehearsed_orders(plan, read_rehearsal(path, plan))
    memory = rehearsed_orders(plan, rehearsal)
    assert read.to_dict() == memory.to_dict()
    assert np.array_equal(read.by_seed, memory.by_seed)
