"""JaxLearner with a frozen part beside loops on features by hand: each example goes through it once."""

import pickle

import numpy as np
import pytest
import scipy.sparse

jax = pytest.importorskip("jax")
import jax.numpy as jnp

from taskorder import Task, plan
from taskorder.engine.cnn import cnn
from taskorder.engine.nets import mlp
from taskorder.engine.train import Recipe
from taskorder.learners import EWC, Distill, JaxLearner, L2Init, Replay, learn_orders
from taskorder.learners.protocol import described
from taskorder.task.mixed import MixedTask

from .plain_loops import as_tasks, numbers
from .test_jax_loops import RECIPE, trained

HEAD = mlp((6,), 3, (5,))
WEIGHTS = np.random.default_rng(1).normal(size=(3, 6)).astype(np.float32)


class Backbone:
    """A function with weights that notes what it was given."""

    def __init__(self, weights=WEIGHTS):
        self.weights = jnp.asarray(weights)
        self.passed, self.sizes = [], set()

    def __call__(self, batch):
        self.passed += [row.tobytes() for row in np.asarray(batch)]
        self.sizes.add(len(batch))
        return jnp.tanh(batch @ self.weights)


def by_hand(x):
    return np.tanh(np.asarray(x, np.float32) @ WEIGHTS)


def wide(seed=0):
    """More examples than go through the frozen part at once."""
    return numbers(seed, count=100)


def test_equal_to_a_plain_loop_on_features_by_hand():
    parts = numbers(1)
    x, y = [by_hand(inputs) for inputs, _ in parts], [labels for _, labels in parts]
    learner = JaxLearner(HEAD, RECIPE, frozen=Backbone())
    tasks = as_tasks(parts)
    model = learner.make(4)
    for task in (1, 0, 1):
        model = learner.fit(model, tasks[task])
    params = trained(HEAD.init, HEAD.apply, RECIPE, x, y, (1, 0, 1), 4)
    for ours, theirs in zip(jax.tree.leaves(model.batch.params), jax.tree.leaves(params), strict=True):
        np.testing.assert_allclose(ours[model.row], theirs, rtol=2e-3, atol=2e-4)
    logs = -np.asarray(jax.nn.log_softmax(HEAD.apply(params, x[2])), np.float64)
    assert learner.loss(model, tasks[2]) == pytest.approx(logs[np.arange(len(y[2])), y[2]].mean(), rel=2e-3)


@pytest.mark.slow("training")
@pytest.mark.parametrize(
    ("strategy", "heads"),
    [(None, "shared"), (Replay(3), "task"), (EWC(5.0), "shared"), (Distill(), "task"), (L2Init(0.1), "class")],
)
def test_equal_to_the_learner_on_features_as_inputs(strategy, heads):
    parts, backbone = wide(), Backbone()
    recipe = Recipe(epochs=1, batch_size=20)
    learner = JaxLearner(HEAD, recipe, strategy=strategy, heads=heads, frozen=backbone)
    bare = JaxLearner(HEAD, recipe, strategy=strategy, heads=heads)
    assert learner.at_once == bare.at_once  # only what is trained takes memory for every network
    orders = [(0, 1), (2, 0, 2)]
    ours = learn_orders(learner, as_tasks(parts), orders)[0]
    theirs = learn_orders(bare, as_tasks([(by_hand(x), y) for x, y in parts]), orders)[0]
    assert ours.keys() == theirs.keys()
    for prefix in ours:
        np.testing.assert_allclose(
            [score[:3] for score in ours[prefix]], [score[:3] for score in theirs[prefix]], rtol=1e-3, atol=1e-5
        )
    assert len(set(backbone.passed)) == sum(len(y) for _, y in parts)
    # the tasks have 100, 94 and 100 examples: two batches each, all of one size
    assert backbone.sizes == {64}
    assert len(backbone.passed) == 6 * 64


@pytest.mark.slow("training")
def test_a_plan_passes_each_example_once():
    backbone = Backbone()
    learner = JaxLearner(HEAD, Recipe(epochs=1, batch_size=10), frozen=backbone, strategy=Replay(2))
    found = plan(as_tasks(wide()), learner, pilot=1.0, seeds=1, draws=10)
    assert sorted(found.named_order) == ["t0", "t1", "t2"]
    assert len(set(backbone.passed)) <= 294
    features = learner._frozen
    assert sum(map(len, features._blocks)) == len(features._places) == len(set(backbone.passed))
    before = len(backbone.passed)
    plan(as_tasks(wide()), learner, pilot=1.0, seeds=1, draws=10)
    assert len(backbone.passed) == before
    assert np.array_equal(backbone.weights, WEIGHTS)


def test_examples_are_known_by_their_content():
    backbone = Backbone()
    learner = JaxLearner(HEAD, frozen=backbone)
    tasks = as_tasks(wide())
    first = learner.given(tasks[0].inputs)
    np.testing.assert_allclose(first, by_hand(tasks[0].inputs), rtol=1e-4, atol=1e-6)
    assert learner.given(tasks[0].inputs) is first
    twin = learner.with_strategy(Replay(2))
    assert np.array_equal(twin.given(tasks[0].inputs[[7, 3, 3]].copy()), first[[7, 3, 3]])
    assert len(backbone.passed) == 128
    assert np.array_equal(learner.given(MixedTask.of(tasks).inputs)[:100], first)
    assert len(learner._frozen._places) == 294


def test_images_come_as_numbers_from_0_to_1_and_features_may_be_images():
    images = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)
    seen = []

    def frozen(batch):
        seen.append((batch.shape, batch.dtype, float(batch.max()) <= 1))
        return batch[..., :1]

    task = Task("pictures", images, [0, 1, 2] * 4)
    learner = JaxLearner(cnn((8, 8, 1), 3, (4,), 8), Recipe(epochs=1, batch_size=4), frozen=frozen)
    assert np.isfinite(learner.loss(learner.fit(learner.make(0), task), task))
    assert seen == [((64, 8, 8, 3), np.float32, True)]


@pytest.mark.slow("training")
def test_a_plan_goes_on_from_parameters_of_the_net():
    mine = HEAD.init(jax.random.key(5))
    learner = JaxLearner(HEAD, Recipe(epochs=1, batch_size=10), frozen=Backbone())
    found = plan(as_tasks(wide()), learner, learned=["t0"], model=mine, pilot=0.5, seeds=1, draws=10)
    assert sorted(found.named_order) == ["t1", "t2"]


def test_a_function_may_name_other_weights_later():
    def frozen(batch):
        return batch @ weights

    learner, inputs = JaxLearner(HEAD, frozen=frozen), np.ones((2, 3), np.float32)
    for scale in (1.0, 2.0):
        weights = scale * jnp.ones((3, 6))
        assert np.array_equal(learner.given(inputs), np.full((2, 6), 3 * scale))


def linear(batch):
    """A frozen part that can be pickled by its name."""
    return batch @ WEIGHTS


def test_pickled_learners_leave_features_behind():
    learner = JaxLearner(HEAD, Recipe(epochs=1, batch_size=5), frozen=linear)
    size = len(pickle.dumps(learner._frozen))
    task = as_tasks(wide())[0]
    before = learner.given(task.inputs)
    twin = pickle.loads(pickle.dumps(learner._frozen))
    assert len(pickle.dumps(learner._frozen)) == size
    assert twin._places == {}
    assert np.array_equal(twin.features(task.inputs, learner), before)


def test_the_description_has_the_weights_of_the_frozen_part():
    def text(weights, wrap=lambda function: function):
        return described(JaxLearner(HEAD, RECIPE, frozen=wrap(lambda batch: batch @ weights)))

    same = text(jnp.asarray(WEIGHTS))
    assert same == text(jnp.asarray(WEIGHTS))
    assert same != text(jnp.asarray(WEIGHTS + 1))
    assert text({"w": WEIGHTS}, jax.jit) != text({"w": WEIGHTS + 1}, jax.jit)
    assert same.startswith(described(JaxLearner(HEAD, RECIPE)) + " frozen=")
    assert described(JaxLearner(HEAD, frozen=Backbone())) != described(JaxLearner(HEAD, frozen=Backbone(WEIGHTS + 1)))


def test_what_is_no_function_is_refused():
    for given, got in ((3, "int"), (Backbone, "the class Backbone"), ((HEAD.init, HEAD.apply), "tuple")):
        with pytest.raises(ValueError, match=rf"^`frozen` must be a function of a batch of inputs, .* got {got}\.$"):
            JaxLearner(HEAD, frozen=given)
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"^`frozen` must be a function of a batch of inputs, .* got Linear\.$"):
        JaxLearner(HEAD, frozen=torch.nn.Linear(3, 6))


BAD = {
    "no array": (lambda batch: (batch, batch), r"one row of numbers for each example, got tuple for 64\. Take what"),
    "a mean": (lambda batch: batch.mean(), r"one row of numbers for each example, got shape \(\) for 64\. Take"),
    "rows gone": (lambda batch: batch[:5], r"one row of numbers for each example, got shape \(5, 3\) for 64\. Take"),
    "not finite": (jnp.log, r"finite numbers, got others for \d+ of 23 examples\. Look at its weights"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_features_are_refused(case):
    frozen, message = BAD[case]
    learner, task = JaxLearner(HEAD, frozen=frozen), as_tasks(numbers())[0]
    with pytest.raises(ValueError, match=rf"^`frozen` must give {message}[^\n]*$"):
        learner.fit(learner.make(0), task)


def test_inputs_that_the_learner_does_not_take_are_refused_as_without_it():
    for inputs in (["late", "early"] * 5, scipy.sparse.eye_array(10, format="csr")):
        task = Task("other", inputs, [0, 1] * 5)
        messages = []
        for more in ({}, {"frozen": lambda batch: batch}):
            learner = JaxLearner(HEAD, **more)
            with pytest.raises(ValueError, match=r"^`inputs` must be ") as caught:
                learner.fit(learner.make(0), task)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
