"""Orders share their beginnings, failures are named, and nothing finished is done twice."""

import itertools
import math
import re
from dataclasses import dataclass, field

import numpy as np
import pytest

from taskorder.arguments import BadArgument
from taskorder.learners import LearnerError, Score, learn_orders
from taskorder.runs.store import Store
from taskorder.task import Task

TASKS = [Task(name, [[0.0], [1.0]], [0, 1]) for name in "abc"]
ORDERS = list(itertools.permutations(range(3)))


@dataclass
class Diary:
    """A learner that writes down what it learns: a model is the list of names, its loss counts what is forgotten."""

    fail_at: int = 0
    nan_at: int = 0
    fits: list[str] = field(default_factory=list, repr=False)

    def make(self, seed):
        return [f"seed {seed}"]

    def fit(self, model, task):
        self.fits.append(" ".join([*model, task.name]))
        if len(self.fits) == self.fail_at:
            raise RuntimeError("out of\nmemory")
        model.append(task.name)
        return model

    def loss(self, model, task):
        if self.nan_at and len(self.fits) >= self.nan_at:
            return math.nan
        return len(model) - 1 - model.index(task.name) if task.name in model else 10.0

    def chance(self, model, task):
        return 5.0

    def describe(self):
        return "diary"


class Forgetful(Diary):
    """Its fit trains and returns nothing, as in many other libraries."""

    def fit(self, model, task):
        super().fit(model, task)


class ForgetfulMany(Forgetful):
    def fit_many(self, models, tasks):
        return [Diary.fit(self, list(models[0]), tasks[0]), *(None for _ in models[1:])]

    at_once = 3


@pytest.mark.parametrize(
    ("learner", "fit"), [(Forgetful(), "'a', seed 0, fit 1"), (ForgetfulMany(), "'b', seed 0, fit 2")]
)
def test_a_fit_that_returns_nothing_is_named(learner, fit):
    said = (
        f"`learner` must end its method fit with `return model`, got None from {type(learner).__name__}.fit "
        f"(learning {fit} of 3). Give a store to keep finished fits."
    )
    with pytest.raises(LearnerError, match=f"^{re.escape(said)}$"):
        learn_orders(learner, TASKS, [(0,), (1,), (2,)])


class Stateless:
    """Nothing to remember: None is its model."""

    def make(self, seed):
        return None

    def fit(self, model, task):
        return None

    def loss(self, model, task):
        return 0.5


def test_none_may_be_a_model():
    (scores,) = learn_orders(Stateless(), TASKS, [(0, 1)])
    assert scores[0, 1][2].loss == 0.5


def test_shared_beginnings_are_learned_once():
    learner = Diary()
    first, second = learn_orders(learner, TASKS, ORDERS, (4, 5))
    assert len(learner.fits) == len(set(learner.fits)) == 2 * (3 + 6 + 6)
    assert first[0, 2, 1] == (Score(2.0, 5.0, None), Score(0.0, 5.0, None), Score(1.0, 5.0, None))
    assert first.keys() == second.keys()
    assert {beginning for beginning in first if len(beginning) == 3} == set(ORDERS)


def test_repeated_visits_and_a_model_to_start_from():
    learner, mine = Diary(), ["mine"]
    (scores,) = learn_orders(learner, TASKS, [(0, 1, 0)], start=mine)
    assert learner.fits == ["mine a", "mine a b", "mine a b a"]
    assert mine == ["mine"]
    assert list(scores) == [(0,), (0, 1), (0, 1, 0)]
    with Store() as store, pytest.raises(ValueError, match="`store` must be left out"):
        learn_orders(learner, TASKS, [(0,)], start=mine, store=store)


def test_an_error_that_names_an_argument_says_by_itself_what_is_wrong():
    class Refusing(Stateless):
        def fit(self, model, task):
            raise BadArgument("`column` must name a column, got 'b'. Name another.")

    said = r"^`column` must name a column, got 'b'\. Name another \(learning 'a', seed 0, fit 1 of 1\)\. Give a store"
    with pytest.raises(LearnerError, match=said):
        learn_orders(Refusing(), TASKS, [(0,)])


def test_an_order_may_be_longer_than_python_calls_are_deep():
    way = tuple(np.arange(1200) % len(TASKS))
    (scores,) = learn_orders(Stateless(), TASKS, [way])
    assert len(scores) == 1200
    assert scores[way][0].loss == 0.5


def test_a_learner_that_raises_is_named_and_the_rest_is_kept(tmp_path):
    wanted = learn_orders(Diary(), TASKS, ORDERS)
    failing = Diary(fail_at=3)
    with Store(tmp_path / "kept.sqlite") as store:
        with pytest.raises(LearnerError) as caught:
            learn_orders(failing, TASKS, ORDERS, store=store)
        assert str(caught.value) == (
            "`learner` must fit, got RuntimeError: out of memory (learning 'c' after 'a', 'b', seed 0, fit 3 of 15). "
            "The fits before it are kept: call again to go on."
        )
        assert isinstance(caught.value.__cause__, RuntimeError)
        again, counts = Diary(), []
        assert learn_orders(again, TASKS, ORDERS, store=store, report=lambda *now: counts.append(now)) == wanted
        assert len(again.fits) == 15  # a and a-b are learned again, for more grows from them
        assert counts[-1] == (15, 15)
    with Store(tmp_path / "kept.sqlite") as store:
        idle = Diary()
        assert learn_orders(idle, TASKS, ORDERS, store=store) == wanted
        assert idle.fits == []


def test_a_loss_that_is_no_number_is_named_and_not_kept():
    learner = Diary(nan_at=3)
    with Store() as store:
        with pytest.raises(LearnerError, match=r"finite loss .* got nan for 'a' \(learning 'c', seed 0, fit 3 of 3\)"):
            learn_orders(learner, TASKS, [(0,), (1,), (2,)], store=store)
        assert len(store.entries()) == 2
        again = Diary()
        learn_orders(again, TASKS, [(0,), (1,), (2,)], store=store)
        assert again.fits == ["seed 0 c"]


def test_other_data_or_another_learner_is_not_mistaken_for_what_is_kept():
    class Other(Diary):
        def describe(self):
            return "another diary"

    with Store() as store:
        learn_orders(Diary(), TASKS, [(0,)], store=store)
        changed = [Task("a", [[0.0], [2.0]], [0, 1]), *TASKS[1:]]
        for learner, tasks in ((Other(), TASKS), (Diary(), changed)):
            learn_orders(learner, tasks, [(0,)], store=store)
            assert len(learner.fits) == 1


def test_a_learner_without_a_description_cannot_use_a_store():
    class Nameless:
        def make(self, seed):
            return np.random.default_rng(seed)

    with Store() as store, pytest.raises(ValueError, match="`learner` must say what it is, to be used with a store"):
        learn_orders(Nameless(), TASKS, [(0,)], store=store)


def test_failures_in_other_places():
    class Broken(Diary):
        def make(self, seed):
            raise OSError("no license")

    class Proud(Diary):
        def accuracy(self, model, task):
            return 1.5

    with pytest.raises(LearnerError, match=r"must make a model, got OSError: no license \(seed 0\)"):
        learn_orders(Broken(), TASKS, [(0,)])
    with pytest.raises(LearnerError, match=r"finite accuracy of at least 0.* got 1\.5"):
        learn_orders(Proud(), TASKS, [(0,)])
    with pytest.raises(ValueError, match="`orders` must list task indices from 0 to 2, got 3"):
        learn_orders(Diary(), TASKS, [(3,)])


def test_chance_by_shuffles_where_only_losses_are_known():
    class Constant:
        """Sure that everything is class 1: the loss is the share of class 0."""

        def make(self, seed):
            return None

        def fit(self, model, task):
            return model

        def loss(self, model, task):
            return float((task.measured[1] == 0).mean())

    (scores,) = learn_orders(Constant(), TASKS, [(0,)])
    assert scores[0,][1] == Score(0.5, 0.5, None)
