"""Plans of every kind, and a comparison."""

import pytest

from taskorder import Task, chain, compare, run_pilot, solve
from taskorder.learners import CallableLearner

NAMES = ["ants", "bees", "cats", "dogs"]


@pytest.fixture(scope="session")
def solved():
    return solve(chain(4, 0.6), names=NAMES)


@pytest.fixture(scope="session")
def long():
    return solve(chain(60, 0.6), "row-sums")


@pytest.fixture(scope="session")
def pilot():
    """A pilot of a learner that forgets."""
    keep = chain(4, 0.6)

    def answer(learned, test, seed):
        known = 0.0
        for name in learned:
            known = 0.2 * known + keep[NAMES.index(name)][NAMES.index(test)] * (1 - 0.2 * known) - 0.01 * seed
        return {"loss": 1 - known, "chance": 1.0}

    return run_pilot([Task(name) for name in NAMES], CallableLearner(answer), seeds=2, draws=20)


@pytest.fixture(scope="session")
def compared():
    return compare(chain(4, 0.6), names=NAMES)


HOSTILE = ["<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "&lt;b&gt; {0} %s", "very long " * 60]


@pytest.fixture(scope="session")
def hostile():
    return solve(chain(4, 0.6), names=HOSTILE)
