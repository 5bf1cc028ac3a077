"""A model of a person goes on from where it is, for every learner, and is left as it is."""

import pickle

import numpy as np
import pytest

from taskorder import Task, plan
from taskorder.learners import CallableLearner, learn_orders, score
from taskorder.learners.protocol import adopted
from taskorder.task import align


def turned(count=3):
    """Points and on which side of a line they are; the lines of different tasks are turned."""
    tasks = []
    for k in range(count):
        x = np.random.default_rng(k).normal(size=(80, 2)).astype(np.float32)
        tasks.append(Task(f"t{k}", x, np.where(x @ [np.cos(k), np.sin(k)] > 0, "yes", "no")))
    return align(tasks)


def planned(learner, model):
    """A plan that goes on from the model after the first task."""
    return plan(turned(), learner, pilot=0.5, seeds=1, draws=0, budget=3, learned=["t0"], model=model)


def sklearn_parts():
    linear = pytest.importorskip("sklearn.linear_model")
    from taskorder.learners import SklearnLearner

    return linear.SGDClassifier, SklearnLearner(linear.SGDClassifier(loss="log_loss"))


def test_a_fitted_estimator():
    make, learner = sklearn_parts()
    first = turned()[0]
    mine = make(loss="log_loss", random_state=0).fit(first.inputs, first.labels)
    before = pickle.dumps(mine)
    model = adopted(learner, mine, first.classes)
    assert score(learner, model, first).accuracy == mine.score(first.inputs, first.labels) > 0.9
    chosen = planned(learner, mine)
    assert chosen.options["from_model"]
    assert sorted(chosen.named_order) == ["t1", "t2"]
    assert pickle.dumps(mine) == before
    learner.fit(model, turned()[1])  # goes on, and not in place
    assert pickle.dumps(mine) == before
    assert pickle.dumps(model.estimator) != before


def test_a_fitted_estimator_knows_its_classes_by_name_and_may_know_others():
    make, learner = sklearn_parts()
    x = np.random.default_rng(0).normal(size=(90, 2))
    labels = np.array(["zebra", "yes", "no"])[(x[:, 0] > 0).astype(int) + (x[:, 0] > 0.8)]
    mine = make(loss="log_loss").fit(x, labels)
    assert mine.classes_.tolist() == ["no", "yes", "zebra"]
    task = Task("t", x, labels)
    wide = Task("t", x, labels, classes=("maybe", "no", "yes", "zebra"))
    assert score(learner, adopted(learner, mine, wide.classes), wide)[0] == pytest.approx(
        score(learner, adopted(learner, mine, task.classes), task)[0]
    )
    part = labels != "zebra"
    fewer = Task("t", x[part], labels[part])
    known = score(learner, adopted(learner, mine, fewer.classes), fewer)
    assert known.accuracy >= mine.score(x[part], labels[part])
    with pytest.raises(
        ValueError, match=r"must know some of the classes of the tasks \('a', 'b'\), got a model of 'no'"
    ):
        adopted(learner, mine, ("a", "b"))
    with pytest.raises(ValueError, match="must know the classes that it goes on to learn, got 'maybe'"):
        learner.fit(adopted(learner, mine, wide.classes), Task("t", x[:2], ["no", "maybe"], classes=wide.classes))


def test_estimators_of_other_kinds():
    _, learner = sklearn_parts()
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import Perceptron, SGDRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from taskorder.learners import SklearnLearner

    first = turned()[0]
    for estimator in (RandomForestClassifier(5), Perceptron(), make_pipeline(StandardScaler(), Perceptron())):
        mine = estimator.fit(first.inputs, first.labels)
        before = pickle.dumps(mine)
        measured = score(learner, adopted(learner, mine, first.classes), first)
        assert measured.accuracy == mine.score(first.inputs, first.labels)
        assert pickle.dumps(mine) == before
    x = np.random.default_rng(0).normal(size=(50, 2))
    line = Task("line", x, x[:, 0], regression=True)
    regressor = SGDRegressor().fit(x, x[:, 0])
    numbers = SklearnLearner(SGDRegressor())
    assert score(numbers, adopted(numbers, regressor, ()), line).loss < 0.1
    for wrong, message in (
        (Perceptron(), "`model` must be fitted, got Perceptron as it was made. Fit it first"),
        (3, "`model` must be a fitted estimator of scikit-learn, got int"),
        (Perceptron, "`model` must be a fitted estimator of scikit-learn, got ABCMeta"),
    ):
        with pytest.raises(ValueError, match=message):
            planned(learner, wrong)


def test_a_model_of_the_learner_is_not_changed():
    _, learner = sklearn_parts()
    model = learner.fit(learner.make(0), turned()[0])
    before = pickle.dumps(model)
    planned(learner, model)
    assert pickle.dumps(model) == before


def test_a_model_of_other_classes_is_refused():
    """Its first output would have been taken for the first of all classes."""
    _, learner = sklearn_parts()
    x = np.random.default_rng(0).normal(size=(40, 2))
    learned = Task("one", x, np.where(x[:, 0] > 0, "billing", "fraud"))
    other = Task("other", x, np.where(x[:, 1] > 0, "access", "billing"))
    model = learner.fit(learner.make(0), learned)
    said = r"with the classes of all tasks \('access', 'billing', 'fraud'\), got 'billing', 'fraud'\. Align them before"
    with pytest.raises(ValueError, match=said):
        plan([learned, other], learner, pilot=1.0, seeds=1, draws=0, learned=["one"], model=model)
    fits = []
    with pytest.raises(ValueError, match=said):  # before anything is learned
        plan([learned, other], learner, learned=["one"], model=model, report=lambda *now: fits.append(now))
    assert fits == []
    model = learner.fit(learner.make(0), align([learned, other])[0])
    assert plan([learned, other], learner, pilot=1.0, seeds=1, draws=0, learned=["one"], model=model).order == (1,)


def test_learning_may_start_from_a_fitted_estimator():
    make, learner = sklearn_parts()
    first, other, _ = turned()
    mine = make(loss="log_loss").fit(first.inputs, first.labels)
    before = pickle.dumps(mine)
    (scores,) = learn_orders(learner, [first, other], [(1,)], start=mine)
    wanted = learner.fit(adopted(learner, mine, first.classes), other)
    assert scores[(1,)][0].loss == learner.loss(wanted, first)
    assert pickle.dumps(mine) == before


@pytest.mark.parametrize("form", ["module", "pair", "model"])
def test_a_module_with_its_optimizer_or_without(form):
    torch = pytest.importorskip("torch")
    from taskorder.learners import TorchLearner

    learner = TorchLearner(lambda: torch.nn.Linear(2, 2), lambda weights: torch.optim.Adam(weights, lr=0.05), epochs=9)
    first = turned()[0]
    own = learner.fit(learner.make(0), first)
    mine = {"module": own.module, "pair": (own.module, own.optimizer), "model": own}[form]

    def state():
        return pickle.dumps(
            [[value.tolist() for value in own.module.state_dict().values()], own.optimizer.state_dict()]
        )

    before = state()
    model = adopted(learner, mine, first.classes)
    assert score(learner, model, first).loss == score(learner, own, first).loss
    assert sorted(planned(learner, mine).named_order) == ["t1", "t2"]
    learner.fit(model, turned()[1])
    assert state() == before
    steps = int(model.optimizer.state_dict()["state"][0]["step"])
    assert (steps > 27) == (form != "module")  # where it came along, the optimizer goes on
    assert not own.module.training or form == "module"


def test_what_is_no_module_is_refused():
    torch = pytest.importorskip("torch")
    from taskorder.learners import TorchLearner

    learner, linear = TorchLearner(lambda: torch.nn.Linear(2, 2)), torch.nn.Linear(2, 1)
    with pytest.raises(
        ValueError, match=r"must be an nn.Module, \(module, optimizer\) or a model of this learner, got str"
    ):
        planned(learner, "mine")
    with pytest.raises(ValueError, match=r"`model` must be \(module, optimizer\), got int for the second"):
        planned(learner, (linear, 3))
    with pytest.raises(ValueError, match="an output for each of the 2 classes of all tasks, got 1"):
        planned(learner, linear)


def test_an_optimizer_of_another_kind_goes_on():
    torch = pytest.importorskip("torch")
    from taskorder.learners import TorchLearner

    module = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    learner = TorchLearner(lambda: torch.nn.Linear(2, 2), epochs=1)
    model = learner.copy(adopted(learner, (module, optimizer), ("no", "yes")))
    assert isinstance(model.optimizer, torch.optim.SGD)
    learner.fit(model, turned()[0])
    assert model.optimizer.state_dict()["state"]
    assert not optimizer.state_dict()["state"]


def test_parameters_of_a_network():
    jax = pytest.importorskip("jax")
    from taskorder.engine.nets import mlp
    from taskorder.learners import JaxLearner

    net = mlp((2,), 2, (4,))
    learner, first = JaxLearner(net), turned()[0]
    own = learner.fit(learner.make(0), first)
    mine = jax.tree.map(lambda leaf: np.asarray(leaf[own.row]).copy(), own.batch.params)
    before = pickle.dumps(mine)
    model = adopted(learner, mine, first.classes)
    assert score(learner, model, first).loss == score(learner, own, first).loss
    assert adopted(learner, own, first.classes) is own  # nothing changes it
    assert sorted(planned(learner, mine).named_order) == ["t1", "t2"]
    assert pickle.dumps(mine) == before
    with pytest.raises(ValueError, match="`model` must be parameters like those of the net"):
        planned(learner, {"weights": 3})


def test_names_of_what_a_black_box_has_learned():
    learner = CallableLearner(lambda learned, test, seed: 0.5 ** learned.count(test), chance=1.0, name="pupil")
    tasks = [Task(name) for name in "abc"]
    for model in (["a"], ("a",), learner.fit(learner.make(0), tasks[0])):
        chosen = plan(tasks, learner, seeds=1, draws=0, learned=["a"], model=model)
        assert sorted(chosen.named_order) == ["b", "c"]
    with pytest.raises(ValueError, match="`model` must be the names of the tasks that were learned, in order, got 3"):
        plan(tasks, learner, seeds=1, draws=0, learned=["a"], model=3)
