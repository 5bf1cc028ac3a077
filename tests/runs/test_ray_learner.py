"""Any learner on Ray learns what it learns here."""

import copy
import itertools
import os
import pickle
import signal
import sys
import threading
import time

import numpy as np
import pytest

from taskorder.learners import LearnerError, Score, SklearnLearner, learn_orders
from taskorder.learners.protocol import adopted
from taskorder.runs.cluster import connected
from taskorder.runs.store import Store
from taskorder.task import Task

ray = pytest.importorskip("ray")
from taskorder.learners.ray import RayLearner

NAMED = [Task(name, [[0.0], [1.0]], [0, 1]) for name in "abc"]
ORDERS = list(itertools.permutations(range(3)))


def tasks(count=3):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(count, 60, 4)).astype(np.float32)
    return [Task(f"t{k}", x, x[:, k] + x[:, k + 1] > 0) for k, x in enumerate(inputs)]


def sklearn_learner():
    neural = pytest.importorskip("sklearn.neural_network")
    return SklearnLearner(neural.MLPClassifier((8,)), epochs=2)


def torch_learner():
    torch = pytest.importorskip("torch")
    from taskorder.learners import TorchLearner

    return TorchLearner(lambda: torch.nn.Linear(4, 2), epochs=2, batch_size=8)


def torch_frozen_learner():
    torch = pytest.importorskip("torch")
    from taskorder.learners import TorchLearner

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU())
    return TorchLearner(lambda: torch.nn.Linear(16, 2), epochs=2, batch_size=8, frozen=lambda batch: net(batch))


class Diary:
    """A learner whose model is what it has learned, and an array that takes room."""

    def __init__(self, folder=None, megabytes=0, terrible=None):
        self.folder, self.megabytes, self.terrible = folder, megabytes, terrible

    def make(self, seed):
        return {"learned": [f"seed {seed}"], "weights": np.zeros(self.megabytes * 2**20, np.uint8)}

    def fit(self, model, task):
        if self.terrible == task.name == "b" and len(model["learned"]) == 2:
            raise RuntimeError("no b after another")
        if self.folder is not None:
            mark = self.folder / " ".join([*model["learned"], task.name])
            first = not mark.exists()
            mark.touch()
            if first and self.terrible == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
        model["weights"] += 1  # a model may be written to
        model["learned"].append(task.name)
        return model

    def loss(self, model, task):
        learned = model["learned"]
        assert (model["weights"] == len(learned) - 1).all()
        return len(learned) - learned.index(task.name) if task.name in learned else 10.0

    def chance(self, model, task):
        return 5.0

    def describe(self):
        return "diary"


@pytest.fixture(autouse=True)
def by_value(machines):
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    yield
    ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


SLOW = [pytest.param(make, marks=pytest.mark.slow("ray")) for make in (torch_learner, torch_frozen_learner)]


@pytest.mark.parametrize("make", [sklearn_learner, *SLOW])
def test_the_same_bits_as_here(make):
    learner = make()
    here = learn_orders(learner, tasks(), ORDERS, (0, 1), examples=True)
    there = learn_orders(RayLearner(learner), tasks(), ORDERS, (0, 1), examples=True)
    for local, remote in zip(here, there, strict=True):
        assert local.keys() == remote.keys()
        for prefix in local:
            for ours, theirs in zip(local[prefix], remote[prefix], strict=True):
                assert ours[:3] == theirs[:3]
                np.testing.assert_array_equal(ours.examples, theirs.examples)


class Several(Diary):
    """The same with several models at a time, which are copied here, not by the caller."""

    at_once = 2

    def fit_many(self, models, tasks):
        assert len(models) <= self.at_once
        return [self.fit(copy.deepcopy(model), task) for model, task in zip(models, tasks, strict=True)]

    def score_many(self, models, tasks):
        return [[Score(self.loss(model, task), 5.0, None) for task in tasks] for model in models]


def test_a_learner_that_fits_many_at_once():
    there = learn_orders(RayLearner(Several(megabytes=1)), NAMED, ORDERS, (0, 1))
    assert there == learn_orders(Diary(megabytes=1), NAMED, ORDERS, (0, 1))


@pytest.mark.slow("ray")
def test_the_jax_learner():
    pytest.importorskip("jax")
    from taskorder.engine.nets import mlp
    from taskorder.learners import JaxLearner

    learner = JaxLearner(mlp((4,), 2, hidden=(8,)))
    learner.at_once = 2  # both seeds together, here and there: one shape to compile
    here, there = (learn_orders(each, tasks(), ORDERS[:1], (0, 1)) for each in (learner, RayLearner(learner)))
    assert here == there


def test_a_learner_that_cannot_be_pickled_is_refused():
    learner = Diary()
    learner.lock = threading.Lock()
    with pytest.raises(
        ValueError, match="`learner` must be one that can be pickled, got Diary: TypeError: cannot pickle"
    ):
        RayLearner(learner)


def test_prefixes_are_learned_once_and_a_store_is_shared_with_runs_that_do_not_use_ray(tmp_path):
    learner = Diary(tmp_path)
    with Store() as store:
        counts = []
        there = learn_orders(RayLearner(learner), NAMED, ORDERS, store=store, report=lambda *now: counts.append(now))
        assert len(list(tmp_path.iterdir())) == 15
        assert counts[-1] == (15, 15)
        for mark in tmp_path.iterdir():
            mark.unlink()
        assert learn_orders(learner, NAMED, ORDERS, store=store) == there
        assert list(tmp_path.iterdir()) == []
    assert learn_orders(learner, NAMED, ORDERS) == there


def test_a_model_of_a_person_goes_on_there():
    linear = pytest.importorskip("sklearn.linear_model")
    inner = SklearnLearner(linear.SGDClassifier(loss="log_loss"))
    first, other = tasks(2)
    mine = linear.SGDClassifier(loss="log_loss").fit(first.inputs, first.labels)
    before = pickle.dumps(mine)
    there = RayLearner(inner)
    model = adopted(there, mine, first.classes)
    assert adopted(there, model, first.classes) is model
    grown = there.fit_many([model], [other])[0]
    wanted = inner.fit(adopted(inner, mine, first.classes), other)
    assert there.loss(grown, first) == inner.loss(wanted, first)
    assert pickle.dumps(mine) == before


@pytest.mark.slow("ray")
def test_workers_that_are_killed_cost_nothing(tmp_path):
    there = learn_orders(RayLearner(Diary(tmp_path, terrible="kill")), NAMED, ORDERS[:2])
    assert there == learn_orders(Diary(), NAMED, ORDERS[:2])


@pytest.mark.slow("ray")
def test_checkpoints_that_are_lost_with_their_machine_are_learned_again(machines, third, tmp_path):
    class Traveler(Diary):
        """Leaves a mark where it fits, and takes long enough to be sent everywhere."""

        def fit(self, model, task):
            with (tmp_path / ray.get_runtime_context().get_node_id()).open("a") as file:
                file.write("fit ")
            time.sleep(1)
            return super().fit(model, task)

    learner = RayLearner(Traveler(megabytes=2))
    models = learner.fit_many([learner.make(seed) for seed in range(6)], [NAMED[0]] * 6)
    lost = (tmp_path / third.node_id).read_text().split()
    before = sum(len(path.read_text().split()) for path in tmp_path.iterdir())
    machines.remove_node(third, allow_graceful=False)
    assert [row[0].loss for row in learner.score_many(models, NAMED[:1])] == [1.0] * 6
    after = sum(len(path.read_text().split()) for path in tmp_path.iterdir())
    assert before == 6
    assert 1 <= after - before <= len(lost)


@pytest.mark.slow("ray")
def test_checkpoints_that_do_not_fit_the_object_store_are_spilled():
    megabytes = 24  # the store of each machine has 80; 15 prefixes have 360
    learner = RayLearner(Diary(megabytes=megabytes))
    models = learner.fit_many([learner.make(0)] * 9, [NAMED[k % 3] for k in range(9)])  # all are held at a time
    assert len(models) * megabytes > 2 * 80
    rows = learner.score_many(models, NAMED)
    assert [[score.loss for score in row] for row in rows] == [
        [1.0 if k % 3 == j else 10.0 for j in range(3)] for k in range(9)
    ]


def test_an_error_is_the_learners_own_and_what_came_before_is_kept():
    with Store() as store:
        with pytest.raises(LearnerError, match="must fit, got RuntimeError: no b after another") as caught:
            learn_orders(RayLearner(Diary(terrible="b")), NAMED, ORDERS, store=store)
        assert isinstance(caught.value.__cause__, RuntimeError)
        assert len(store.entries()) >= 3
        with pytest.raises(LearnerError, match=r"no b after another \(learning 'b' after 'a', seed 0, fit 3 of 3\)"):
            learn_orders(RayLearner(Diary(terrible="b")), NAMED, [(0, 2), (0, 1)])
        assert learn_orders(RayLearner(Diary()), NAMED, ORDERS, store=store) == learn_orders(Diary(), NAMED, ORDERS)


class Forgetful(Diary):
    """Its fit trains and returns nothing, as in many other libraries."""

    def fit(self, model, task):
        super().fit(model, task)


class ForgetfulMany(Several):
    def fit_many(self, models, tasks):
        return [super().fit_many(models, tasks)[0], *(None for _ in models[1:])]


class Stateless(Diary):
    """Nothing to remember: None is its model."""

    def make(self, seed):
        return None

    def fit(self, model, task):
        return None

    def loss(self, model, task):
        return 1.0


@pytest.mark.parametrize("where", [lambda learner: learner, RayLearner], ids=["here", "Ray"])
@pytest.mark.parametrize(
    ("learner", "fit"), [(Forgetful(), "'a', seed 0, fit 1"), (ForgetfulMany(), "'b', seed 0, fit 2")]
)
def test_a_fit_that_returns_nothing_is_named(where, learner, fit):
    said = rf"`learner` must end its method fit with `return model`, got None from \w+.fit \(learning {fit} of 3\)\."
    with pytest.raises(LearnerError, match=f"^{said} Give a store to keep finished fits.$"):
        learn_orders(where(learner), NAMED, [(0,), (1,), (2,)])


def test_none_may_be_the_model():
    assert learn_orders(RayLearner(Stateless()), NAMED, ORDERS) == learn_orders(Stateless(), NAMED, ORDERS)


def test_a_learner_that_returns_too_few_models():
    class Short(Several):
        def fit_many(self, models, tasks):
            return super().fit_many(models, tasks)[:1]

    with pytest.raises(LearnerError, match="`fit_many` must return a model for each of the 2, got 1"):
        learn_orders(RayLearner(Short()), NAMED, ORDERS)


@pytest.mark.slow("ray")
def test_a_plan_on_ray_is_the_plan_from_here():
    from taskorder.planning.plan import plan

    learner = sklearn_learner()
    with connected():  # already: it stays as it is
        there = plan(tasks(), RayLearner(learner), pilot=1.0, seeds=2, draws=0)
    here = plan(tasks(), learner, pilot=1.0, seeds=2, draws=0)
    assert there.order == here.order
    assert ray.is_initialized()
