"""What JAX networks do against forgetting, beside the same written out for one network."""

import math
import zlib
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("jax")
import jax
import jax.numpy as jnp

from taskorder.engine.losses import cross_entropy
from taskorder.engine.nets import mlp
from taskorder.engine.train import Recipe, adam
from taskorder.learners import EWC, Distill, JaxLearner, KeptExamples, L2Init, Replay, learn_orders, score
from taskorder.learners.protocol import described
from taskorder.task import Task, align
from taskorder.task.mixed import MixedTask

SIZE, EPOCHS = 24, 3


def points(name="a", seed=0, count=SIZE, labels=(0, 1)):
    """Points in the plane and on which side of a line through zero they are; every task has a line of its own."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 2)).astype(np.float32)
    return Task(name, x, np.where(x @ [np.cos(seed), np.sin(seed)] > 0, labels[1], labels[0]))


def network(outputs=2, epochs=EPOCHS, reset=False, **options):
    """A learner that takes a whole task in one batch, so that the order of its examples does not matter."""
    recipe = Recipe(epochs, SIZE, learning_rate=0.05, reset=reset)
    return JaxLearner(mlp((2,), outputs, hidden=(4,)), recipe, **options)


def after(learner, tasks, seed=0):
    model = learner.make(seed)
    for task in tasks:
        model = learner.fit(model, task)
    return model


def test_fewer_models_are_trained_at_once_where_a_strategy_needs_memory():
    net = mlp((1000,), 2, hidden=(1000,))
    plain, ewc = (JaxLearner(net, strategy=strategy) for strategy in (None, EWC(1.0)))
    assert ewc.at_once < plain.at_once == ewc.with_strategy(None).at_once


def test_a_model_that_another_strategy_has_trained_is_refused():
    model = after(network(strategy=L2Init(0.1)), align([points("a"), points("b", 1)])[:1])
    for strategy in (EWC(1.0), Distill(), Replay(3), Latest()):
        with pytest.raises(
            ValueError, match=r"^`model` must be one that was trained with .*\(.*, or with no strategy, got"
        ):
            network(strategy=strategy).adopt(model, (0, 1))
    assert network(strategy=L2Init(1.0)).adopt(model, (0, 1)) is model


def written_out(learner, tasks, penalty=None, after_task=None, more=None, own=None):
    """The weights after full batches of every task, what is replayed and what is added to the loss."""
    state, net = learner.make(0).batch, learner.net

    def loss(params, x, y, old_x, old_y, parts, number):
        logits = net.apply(params, jnp.concatenate([x, old_x]))
        allowed = jnp.ones((len(logits), logits.shape[1]), bool)
        if own is not None:
            rows = [own[number]] * len(x) + [own[k] for k in parts]
            allowed = (jnp.asarray(rows)[:, :, None] == jnp.arange(logits.shape[1])).any(1)
        total = cross_entropy(jnp.where(allowed, logits, -jnp.inf), jnp.concatenate([y, old_y])).mean()
        return total + (penalty(params, x, logits[: len(x)]) if penalty and number else 0.0)

    for number, task in enumerate(tasks):
        x, y = jnp.asarray(task.inputs), jnp.asarray(task.targets)
        step = jax.jit(jax.grad(loss), static_argnums=(5, 6))
        if learner.recipe.reset:
            state = type(state)(state.params, *jax.tree.map(jnp.zeros_like, tuple(state[1:])))
        for epoch in range(learner.recipe.epochs):
            old = more(number, epoch) if more and number else (x[:0], y[:0], ())
            params = jax.tree.map(lambda leaf: leaf[0], state.params)
            gradient = step(params, x, y, *old, number)
            state = adam(learner.recipe, state, jax.tree.map(lambda leaf: leaf[None], gradient))
        if after_task:
            after_task(jax.tree.map(lambda leaf: leaf[0], state.params), x, y, number)
    return jax.tree.leaves(state.params)


def same_weights(model, wanted):
    for ours, theirs in zip(jax.tree.leaves(model.batch.params), wanted, strict=True):
        np.testing.assert_allclose(ours[model.row], theirs[0], rtol=2e-4, atol=2e-5)


@pytest.mark.slow("training")
def test_ewc_holds_weights_by_the_squares_of_single_gradients():
    tasks = align([points("a"), points("b", 1), points("c", 2)])
    learner, known = network(strategy=EWC(30.0, fading=0.5)), {}

    def squares(params, x, y, number):
        def one(params, x, y):
            return cross_entropy(learner.net.apply(params, x[None]), y[None])[0]

        each = jax.vmap(jax.grad(one), (None, 0, 0))(params, x, y)
        new = jax.tree.map(lambda g: (g**2).mean(0), each)
        known["F"] = jax.tree.map(lambda a, b: a + 0.5 * b, new, known["F"]) if known else new
        known["w"] = params

    def penalty(params, x, logits):
        return 15 * sum(
            jax.tree.leaves(jax.tree.map(lambda f, p, w: (f * (p - w) ** 2).sum(), known["F"], params, known["w"]))
        )

    model = after(learner, tasks)
    same_weights(model, written_out(learner, tasks, penalty, squares))
    with pytest.raises(AssertionError):
        same_weights(after(learner.with_strategy(None), tasks), written_out(learner, tasks, penalty, squares))


@pytest.mark.parametrize("heads", ["shared", "task"])
def test_distillation_answers_as_before(heads):
    by_heads = heads == "task"
    tasks = align([points("a"), points("b", 1, labels=(2, 3) if by_heads else (0, 1))])
    learner, teacher = network(4 if by_heads else 2, heads=heads, strategy=Distill(0.7, 3.0)), {}

    def penalty(params, x, logits):
        old = jax.nn.softmax(learner.net.apply(teacher["params"], x)[:, :2] / 3)
        return 0.7 * 9 * (old * (jnp.log(old) - jax.nn.log_softmax(logits[:, :2] / 3))).sum(1).mean()

    def teach(params, x, y, number):
        teacher.setdefault("params", params)

    own = [(0, 1), (2, 3)] if by_heads else None
    same_weights(after(learner, tasks), written_out(learner, tasks, penalty, teach, own=own))


def test_the_pull_to_the_first_weights():
    tasks = align([points("a"), points("b", 1)])
    learner = network(strategy=L2Init(0.5))
    first = jax.tree.leaves(jax.tree.map(lambda leaf: leaf[0], learner.make(0).batch.params))
    wanted = written_out(learner, tasks[:1])  # the penalty holds from the first task on

    def far(model):
        return sum(float(((leaf[model.row] - w) ** 2).sum())
                   for leaf, w in zip(jax.tree.leaves(model.batch.params), first, strict=True))  # fmt: skip

    assert far(after(learner, tasks)) < far(after(learner.with_strategy(None), tasks))
    with pytest.raises(AssertionError):
        same_weights(after(learner, tasks[:1]), wanted)


@pytest.mark.parametrize(("heads", "reset"), [("shared", False), ("task", False), ("task", True)])
def test_replay_mixes_what_is_kept_into_every_batch(heads, reset):
    own = [(0, 1), (2, 3)] if heads == "task" else None
    tasks = align([points("a"), points("b", 1, labels=(2, 3) if own else (0, 1))])
    learner = network(4 if own else 2, heads=heads, reset=reset, strategy=Replay(4, share=0.2))
    kept = after(learner, tasks[:1]).memory.parts[0]

    def more(number, epoch):
        stream = jax.random.fold_in(jax.random.fold_in(jax.random.key(0), zlib.crc32(b"b")), 0)
        key = jax.random.fold_in(jax.random.fold_in(stream, epoch), 1)
        drawn = jax.random.bits(key, (64 // SIZE, 6), jnp.uint16)[0].tolist()
        places = np.array([math.floor((part + share / 2**16) * 8 / 6) for part, share in enumerate(drawn)])
        return jnp.asarray(kept.inputs[places]), jnp.asarray(kept.targets[places]), (0,) * 6

    model = after(learner, tasks)
    same_weights(model, written_out(learner, tasks, more=more, own=own))
    assert [len(part) for part in model.memory.parts] == [8, 8]


STRATEGIES = (None, Replay(3), Replay(3, memory="reservoir"), EWC(10.0), Distill(1.0), L2Init(0.1))


@pytest.mark.slow("training")
@pytest.mark.parametrize("strategy", STRATEGIES[1:], ids=str)
def test_many_at_once_equal_one_by_one(strategy):
    tasks = align([points("a"), points("b", 1, 40), points("c", 2)])
    learner = network(strategy=strategy)
    orders = [(0, 1, 2), (2, 1, 0), (0, 2)]
    together = learn_orders(learner, tasks, orders, (0, 7))
    for seed, scores in zip((0, 7), together, strict=True):
        for order in orders:
            model = after(learner, [tasks[k] for k in order], seed)
            alone = [score(learner, model, task).loss for task in tasks]
            np.testing.assert_allclose([entry.loss for entry in scores[order]], alone, rtol=1e-4, atol=1e-5)


def test_a_head_a_task_trains_and_tests_the_outputs_of_its_own_classes():
    tasks = align([points("a"), points("b", 1, labels=(2, 3))])
    learner = network(4, heads="task")
    model = after(learner, tasks)
    same_weights(model, written_out(learner, tasks, own=[(0, 1), (2, 3)]))
    logits = learner.net.apply(jax.tree.map(lambda leaf: leaf[0], model.batch.params), jnp.asarray(tasks[0].inputs))
    right = float((np.asarray(logits)[:, :2].argmax(1) == tasks[0].targets).mean())
    assert score(learner, model, tasks[0]).accuracy == right
    (scores,) = learner.score_many([model], tasks)
    assert scores[0].accuracy == right
    before, one = learner.make(0), after(learner, tasks[:1])
    untouched = [np.asarray(each.batch.params[-1]["w"][each.row][:, 2:]) for each in (before, one)]
    np.testing.assert_array_equal(*untouched)


def test_all_tasks_at_once_keep_to_their_heads():
    tasks = align([points("a", count=100), points("b", 1, 80, labels=(2, 3))])
    learner = network(4, epochs=60, heads="task")
    both = after(learner, [MixedTask.of(tasks)])
    assert min(score(learner, both, task).accuracy for task in tasks) > 0.9
    # examples of a task compete among its own classes alone: the loss of the mixture is that of the heads
    plain = network(4, epochs=60)
    shared = after(plain, [MixedTask.of(tasks)])
    assert min(score(plain, shared, task).accuracy for task in tasks) < 0.8


def test_what_mattered_to_all_tasks_at_once_keeps_to_their_heads():
    tasks = align([points("a"), points("b", 1, labels=(2, 3))])
    learner = network(4, heads="task", strategy=EWC(1.0))
    model = after(learner, [MixedTask.of(tasks)])
    params = jax.tree.map(lambda leaf: leaf[model.row], model.batch.params)

    def one(params, x, y, own):
        return cross_entropy(jnp.where(own, learner.net.apply(params, x[None]), -jnp.inf), y[None])[0]

    x, y = (np.concatenate([getattr(task, name) for task in tasks]) for name in ("inputs", "targets"))
    own = np.repeat([[True, True, False, False], [False, False, True, True]], SIZE, axis=0)
    each = jax.vmap(jax.grad(one), (None, 0, 0, 0))(params, x, y, own)
    for ours, theirs in zip(jax.tree.leaves(model.batch.memory), jax.tree.leaves(each), strict=True):
        np.testing.assert_allclose(ours[model.row], (theirs**2).mean(0), rtol=1e-3, atol=1e-7)


@dataclass(frozen=True)
class Latest:
    """Replays examples of the last task only."""

    def replayed(self, memory):
        return memory or []

    def remember(self, memory, task, model, rng):
        return [KeptExamples.of(task, rng.permutation(len(task.targets))[:5])]


class Adds(Latest):
    def penalty(self, memory, module, inputs, outputs):
        return 0.0


def test_a_strategy_of_ones_own_and_what_is_refused():
    tasks = align([points("a"), points("b", 1)])
    model = after(network(strategy=Latest()), tasks)
    assert [part.task for part in model.memory] == ["b"]
    assert score(network(), model, tasks[0]).loss != score(network(), after(network(), tasks), tasks[0]).loss
    with pytest.raises(ValueError, match=r"^`strategy` must only replay examples in JaxLearner, got Adds"):
        network(strategy=Adds())
    with pytest.raises(ValueError, match=r"^`heads` must be one of"):
        network(heads="one")
    texts = {described(network(strategy=strategy)) for strategy in STRATEGIES}
    assert len(texts) == len(STRATEGIES)
    assert "strategy" not in described(network())


def test_a_model_goes_on_from_weights_of_ones_own():
    tasks = align([points("a"), points("b", 1)])
    learner = network(strategy=L2Init(0.1))
    given = jax.tree.map(lambda leaf: leaf[0] + 0.5, learner.make(3).batch.params)
    model = learner.adopt(given, tasks[0].classes)
    for first, weight in zip(jax.tree.leaves(model.batch.memory), jax.tree.leaves(given), strict=True):
        np.testing.assert_array_equal(first[0], weight)
