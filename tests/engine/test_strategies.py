"""Strategies against forgetting, thousands at once, equal plain loops of one network."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp

from taskorder.arguments import BadArgument
from taskorder.engine import ewc, joint, tree
from taskorder.engine.heads import outputs_of
from taskorder.engine.losses import SquaredError
from taskorder.engine.nets import mlp
from taskorder.engine.past import first_memory
from taskorder.engine.replay import Keeper, check_kept, draws, kept_places
from taskorder.engine.train import Recipe, shuffles, start, train_task
from taskorder.engine.tree import Curriculum, train_orders
from taskorder.engine.whole_orders import train_whole_orders
from taskorder.strategies import EWC, Distill, L2Init, Replay

from .reference import Adam, Tasks, mean_loss, scores_of
from .test_heads import ORDERS, SETS, pools_of

RECIPE = Recipe(epochs=2, learning_rate=0.01)  # in few steps
SEED = 3
STRATEGIES = [Replay(2), Replay(1, share=0.6, memory="reservoir"), EWC(2000.0, fading=0.7), Distill(20.0), L2Init(5.0)]
NAMES = ["replay", "reservoir", "ewc", "lwf", "l2init"]


def reference(net, tasks, order, recipe):
    """The parameters before training and after each task, as the equations of the strategies say."""
    strategy = recipe.strategy
    params = net.init(jax.random.key(tasks.seed))
    adam, path, first, heads = Adam(params, recipe.learning_rate), [params], params, []
    F = jax.tree.map(jnp.zeros_like, params)

    def penalty(params, old, F, x):
        apart = jax.tree.map(lambda a, b: (a - b) ** 2, params, first if isinstance(strategy, L2Init) else old)
        if isinstance(strategy, L2Init):
            return strategy.strength / 2 * sum(leaf.sum() for leaf in jax.tree.leaves(apart))
        if isinstance(strategy, EWC):
            weighted = jax.tree.map(lambda a, f: (a * f).sum(), apart, F)
            return strategy.strength / 2 * sum(jax.tree.leaves(weighted))
        total = 0.0
        for head in heads if isinstance(strategy, Distill) else []:
            was, now = (net.apply(p, x)[:, jnp.asarray(head)] / strategy.temperature for p in (old, params))
            was, now = (each - jax.scipy.special.logsumexp(each, axis=1, keepdims=True) for each in (was, now))
            total += strategy.temperature**2 * (jnp.exp(was) * (was - now)).sum(axis=1).mean()
        return getattr(strategy, "strength", 0.0) * total

    for step, position in enumerate(order):
        old = adam.params
        x, y, own = tasks.examples(position)
        gradient = jax.jit(jax.grad(lambda p, x, y, own, old, F: mean_loss(net, p, x, y, own) + penalty(p, old, F, x)))
        kept = kept_examples(tasks, order[:step], strategy) if isinstance(strategy, Replay) and step else None
        for epoch in range(recipe.epochs):
            batches = tasks.batches(position, epoch, recipe.batch_size)
            if kept is not None:
                # as many numbers as the largest task has steps
                most = tasks.pool.rows.shape[1] // recipe.batch_size
                extra = strategy.extra(recipe.batch_size)
                drawn = np.asarray(draws(tasks.stream(position)[None], jnp.asarray(epoch), most, extra))[:, 0]
            for number, chosen in enumerate(batches):
                batch = x[chosen], y[chosen], own[chosen]
                if kept is not None:
                    rows = [(2**16 * j + int(u)) * len(kept[0]) // (2**16 * extra) for j, u in enumerate(drawn[number])]
                    batch = [np.concatenate([new, known[rows]]) for new, known in zip(batch, kept, strict=True)]
                adam.step(gradient(adam.params, *batch, old, F))
        path.append(adam.params)
        if isinstance(strategy, EWC):
            F = jax.tree.map(lambda f: strategy.fading * f, F)
            shuffled = tasks.batches(position, recipe.epochs, 1)[: ewc.SQUARED_EXAMPLES, 0]
            one = jax.jit(jax.grad(lambda p, x, y, own: mean_loss(net, p, x, y, own)))
            for i in shuffled:
                g = one(adam.params, x[i : i + 1], y[i : i + 1], own[i : i + 1])
                share = 1 / len(shuffled)
                F = jax.tree.map(lambda f, g, share=share: f + share * g**2, F, g)
        if tasks.pool.allowed is not None:
            heads.append(np.flatnonzero(own[0]))
        else:
            seen = [tasks.examples(task)[1] for task in order[: step + 1]]
            heads = [np.unique(np.concatenate(seen))]
    return path


def kept_examples(tasks, prefix, strategy):
    """Inputs, labels and outputs of what is kept, by random numbers as the engine draws them."""
    parts, room = [], 0
    for position in range(len(tasks.tasks)):
        room += strategy.kept * len(np.unique(tasks.examples(position)[1]))
    for position in prefix:
        x, y, own = tasks.examples(position)
        priority = np.random.default_rng([tasks.seed, position, 1]).random(len(y))
        own = np.broadcast_to(own, (len(y), own.shape[1]))
        for i, each in enumerate(zip(x, y, own, strict=True)):
            rivals = sum(priority[j] > priority[i] for j in range(len(y)) if y[j] == y[i])
            if strategy.memory == "reservoir" or rivals < strategy.kept:
                parts.append((priority[i], each))
    if strategy.memory == "reservoir":
        least = sorted((priority for priority, _ in parts), reverse=True)[:room][-1]
        parts = [part for part in parts if part[0] >= least]
    return [np.stack(each) for each in zip(*(each for _, each in parts), strict=True)]


@pytest.mark.slow("training")
@pytest.mark.parametrize("head", ["shared", "task", "class"])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=NAMES)
def test_a_batch_of_orders_equals_a_plain_loop(strategy, head):
    train, test, net = pools_of(head, (16, 18, 16) if head == "shared" else (16, 16, 16))
    recipe = replace(RECIPE, strategy=strategy)
    curricula = [Curriculum((0, 1, 2), ORDERS, SEED)]
    (outcome,), work = train_orders(net, train, test, curricula, recipe=recipe, head=head)
    assert work.trainings == 15
    order = ORDERS[3]
    path = reference(net, Tasks(train, (0, 1, 2), SEED), order, recipe)
    for step in (1, 2, 3):
        _, loss = scores_of(net, path[step], Tasks(test, (0, 1, 2)), None)
        assert outcome.loss[3, step] == pytest.approx(loss, rel=5e-4)
    plain, _ = train_orders(net, train, test, curricula, recipe=RECIPE, head=head)
    assert np.abs(plain[0].loss[:, -1] - outcome.loss[:, -1]).max() > 0.02  # it does something
    (whole,) = train_whole_orders(net, train, test, curricula, recipe=recipe, head=head)
    np.testing.assert_allclose(whole.loss, outcome.loss[:, -1], rtol=2e-4)
    np.testing.assert_allclose(whole.accuracy_seen, outcome.accuracy_seen[:, -1], atol=1e-6)


@pytest.mark.slow("training")
@pytest.mark.parametrize("strategy", [None, *STRATEGIES], ids=["plain", *NAMES])
def test_whole_orders_visit_tasks_again_as_the_tree_does(strategy):
    """On the examples in a new order, and what is remembered is that of the last visit."""
    train, test, net = pools_of("shared")
    curricula = [Curriculum((0, 1, 2), ((0, 1, 0, 2), (2, 0, 1), (1, 1, 0)), SEED)]
    recipe = replace(RECIPE, strategy=strategy)
    for order in curricula[0].orders:
        one = [replace(curricula[0], orders=(order,))]
        (path,), _ = train_orders(net, train, test, one, recipe=recipe)
        (whole,) = train_whole_orders(net, train, test, one, recipe=recipe)
        np.testing.assert_allclose(whole.loss[0], path.loss[0, -1], rtol=2e-4)


@pytest.mark.slow("training")
@pytest.mark.parametrize("head", ["shared", "task", "class"])
def test_joint_training_equals_a_plain_loop_over_all_tasks(head):
    train, test, net = pools_of(head)  # tasks of different sizes
    curricula = [Curriculum((0, 1, 2), ((1, 2, 0),), SEED), Curriculum((2, 0, 1), ((0, 1, 2),), 5)]
    (outcome, _), work = train_orders(net, train, test, curricula, recipe=RECIPE, head=head, joint=True)
    assert work.trainings == 6
    tasks = Tasks(train, (0, 1, 2), SEED)
    examples = [tasks.examples(position) for position in range(3)]
    width = max(own.shape[1] for *_, own in examples)
    x, y, own = (
        np.concatenate([np.broadcast_to(e[k], (len(e[0]), width)) if k == 2 else e[k] for e in examples])
        for k in range(3)
    )
    mixed = joint.mixed_pool(train, [(0, 1, 2)])
    assert int(mixed.counts[0]) == len(y) == 49
    key = jax.random.fold_in(jax.random.key(1000 * SEED), 0)
    shuffled = [
        np.asarray(shuffles(key[None], jnp.asarray([0]), mixed, jnp.asarray(epoch), 4))[:, 0] for epoch in range(2)
    ]
    adam, done = Adam(net.init(jax.random.key(SEED)), RECIPE.learning_rate), 0
    gradient = jax.jit(jax.grad(lambda *each: mean_loss(net, *each)))
    for step, size in enumerate((21, 12, 16), 1):
        for epoch in range(2):
            for chosen in shuffled[epoch][done : done + size // 4]:
                adam.step(gradient(adam.params, x[chosen], y[chosen], own[chosen]))
        done += size // 4
        accuracy, loss = scores_of(net, adam.params, Tasks(test, (0, 1, 2)), None)
        assert outcome.loss[0, step] == pytest.approx(loss, rel=5e-4)
        assert outcome.accuracy_seen[0, step] == pytest.approx(accuracy)  # all classes come from the beginning


def test_joint_training_refuses_what_means_nothing():
    train, test, net = pools_of("shared")
    curricula = [Curriculum((0, 1, 2), ((0, 1, 2),))]
    with pytest.raises(BadArgument, match=r"`strategy` must be None in joint training, got Replay\(kept=2"):
        train_orders(net, train, test, curricula, recipe=Recipe(strategy=Replay(2)), joint=True)
    with pytest.raises(BadArgument, match="`reset` must be False in joint training"):
        train_orders(net, train, test, curricula, recipe=Recipe(reset=True), joint=True)
    again = [Curriculum((0, 1, 2), ((0, 1, 2), (0, 1, 0)))]
    with pytest.raises(BadArgument, match=r"`orders` must have every task once in joint training, got \(0, 1, 0\)"):
        train_orders(net, train, test, again, recipe=Recipe(), joint=True)


def test_five_tasks_take_325_trainings_with_every_strategy(monkeypatch, digits):
    """And what is done at the end of a task is done once for each prefix that goes on."""
    trained, finished = [], []
    monkeypatch.setattr(tree, "train_task", lambda net, recipe, state, *rest: trained.append(len(rest[1])) or state)
    monkeypatch.setattr(tree, "remembered", lambda net, recipe, state, *rest: finished.append(len(rest[1])) or state)
    monkeypatch.setattr(tree, "tested", lambda net, state, test, curricula, branches, used: nothing(len(branches)))
    orders = tuple(itertools.permutations(range(5)))
    for strategy in (None, *STRATEGIES):
        trained.clear(), finished.clear()
        recipe = Recipe(epochs=1, strategy=strategy)
        curricula = [Curriculum((0, 1, 2, 3, 4), orders)]
        _, work = train_orders(mlp((8, 8, 1), 2, hidden=(4,)), *digits, curricula, recipe=recipe)
        assert work.trainings == 325
        assert 0 < len(finished) < len(trained)  # last tasks have nothing to remember for


def nothing(count):
    return tree.Outcome(*(np.zeros((count, 5)) for _ in range(4)))


def test_what_replay_keeps():
    """So many of each class, all where there are fewer; by seed, task and visit alone."""
    train, _, _ = pools_of("class")
    length = train.rows.shape[1]

    def labels(examples):
        return np.asarray(train.labels).reshape(-1)[examples].tolist()

    keeper = Keeper(Replay(3), train)
    kept = keeper.of_prefix((0, 1, 2), 7, (2, 0))
    assert sorted(labels(kept)) == [0] * 3 + [1] * 3 + [5] * 3 + [6] * 3
    assert len(set(kept.tolist())) == 12
    assert (kept[:6] // length == 2).all()
    assert set(keeper.of_prefix((0, 1, 2), 7, (0, 1, 2))) >= set(kept)
    again = keeper.of_prefix((0, 1, 2), 7, (2, 0, 2))
    assert set(kept[6:]) < set(again)
    assert set(kept[:6]) != set(again[:6])  # another visit
    assert set(keeper.of_prefix((0, 1, 2), 8, (2, 0))) != set(kept)
    whole = Keeper(Replay(1000), train)
    assert len(whole.of_prefix((0, 1, 2), 7, (2, 0))) == 12 + 16
    assert whole.most((0, 1, 2)) == 12 + 16 + 21
    reservoir = Keeper(Replay(2, memory="reservoir"), train)
    assert reservoir.most((0, 1, 2)) == 14
    assert len(reservoir.of_prefix((0, 1, 2), 7, (0,))) == 14
    both = reservoir.of_prefix((0, 1, 2), 7, (0, 1))
    assert len(both) == 14
    assert set(both) == set(reservoir.of_prefix((0, 1, 2), 7, (1, 0)))
    assert 0 < (both // length == 0).sum() < 14


def test_a_reservoir_has_the_room_of_its_own_set():
    """Whatever other sets share the task and the seed."""
    train, _, _ = pools_of("class")
    keeper = Keeper(Replay(1, memory="reservoir"), train)
    assert len(keeper.of_prefix((0, 2), 7, (0,))) == 4
    assert len(keeper.of_prefix((0, 1, 2), 7, (0,))) == 7


@pytest.mark.parametrize("head", ["shared", "task", "class"])
def test_what_distillation_answers_about(head):
    """Each learned task where it has outputs of its own, else all their classes; some networks have learned nothing."""
    train, _, net = pools_of(head)
    lookback = tree.lookback_of(net, Recipe(strategy=Distill()), train, [Curriculum((0, 1, 2), ())])
    heads = np.asarray(lookback.of([((0, 1, 2), 0, prefix) for prefix in ((), (1,), (2, 0, 2))]).heads)
    own = [np.isin(np.arange(heads.shape[-1]), outputs) for outputs in outputs_of(SETS, head)]
    if head == "task":
        wanted = [[False * own[0]] * 3, [own[1], *[False * own[0]] * 2], [own[2], own[0], False * own[0]]]
    else:
        wanted = [[False * own[0]], [own[1]], [own[0] | own[2]]]
    np.testing.assert_array_equal(heads, wanted)


def test_kept_examples_come_equally_often():
    """One from each part of the memory; NumPy and JAX agree."""
    drawn = np.asarray(draws(jax.random.split(jax.random.key(0), 2), jnp.asarray(3), 500, 4))
    assert drawn.shape == (500, 2, 4)
    assert not np.array_equal(drawn[:, 0], drawn[:, 1])
    for count in (1, 3, 4, 10, 50_000):
        chosen = kept_places(drawn, np.full((500, 2), count))
        np.testing.assert_array_equal(chosen, kept_places(jnp.asarray(drawn), jnp.full((500, 2), count)))
        assert 0 <= chosen.min() <= chosen.max() < count
        if count >= 4:
            assert (np.diff(chosen, axis=-1) > -1).all()
    often = np.bincount(kept_places(drawn, np.full((500, 2), 10)).ravel())
    assert often == pytest.approx(np.full(10, 400), rel=0.25)


def test_more_examples_than_16_bits_tell_can_be_kept():
    """Every one can come, and places are those of whole numbers of any size."""
    drawn, count = np.arange(2**16, dtype=np.uint16)[:, None] + np.zeros(3, np.uint16), 3 << 16
    chosen = kept_places(drawn, np.full(2**16, count))
    assert len(np.unique(chosen)) == count
    for row in (0, 1, 777, 65_535):
        wanted = [(2**16 * part + row) * count // (2**16 * 3) for part in range(3)]
        assert chosen[row].tolist() == kept_places(jnp.asarray(drawn[row]), jnp.asarray(count)).tolist() == wanted
    check_kept(count, 3)
    with pytest.raises(BadArgument, match=r"`kept` must make at most 196608 kept examples in all, got 196609\."):
        check_kept(count + 1, 3)
    with pytest.raises(BadArgument, match="at most 4194303 kept"):
        check_kept(2**22, 2**10)


def test_what_means_nothing_is_refused():
    train, test, net = pools_of("shared")
    numbers = replace(net, loss=SquaredError())
    curricula = [Curriculum((0, 1, 2), ((0, 1, 2),))]
    with pytest.raises(BadArgument, match=r"`strategy` must be another one where labels are numbers, got Distill"):
        train_orders(numbers, train, test, curricula, recipe=Recipe(strategy=Distill()))


def test_recipes_without_a_strategy_are_written_as_before():
    assert repr(Recipe()) == (
        "Recipe(epochs=5, batch_size=4, learning_rate=0.001, decay_mean=0.9, decay_square=0.999, epsilon=1e-08, "
        "reset=False)"
    )
    assert "strategy=L2Init(strength=0.5)" in repr(Recipe(strategy=L2Init(0.5)))


def test_a_step_of_its_own_is_taken_where_it_means_the_same():
    """Kernels know one head, cross-entropy and no penalty; replay is a larger batch to them."""
    train, _, net = pools_of("shared")
    sizes = []

    def step(recipe, state, inputs, labels):
        sizes.append(inputs.shape[:2])
        return state._replace(steps=state.steps + 1)

    def sizes_of(net, pool, strategy):
        sizes.clear()
        recipe = Recipe(epochs=1, strategy=strategy)
        state = start(net, jax.random.split(jax.random.key(0), 2))
        lookback = tree.lookback_of(net, recipe, pool, [Curriculum((0, 1, 2), ())])
        past = lookback.of([((0, 1, 2), 0, (1,))] * 2) if lookback else None
        keys, streams = jax.random.split(jax.random.key(1), 1), jnp.zeros(2, int)
        state = state._replace(memory=first_memory(strategy, state.params))
        train_task(net, recipe, state, pool, streams, keys, streams[:1], jnp.asarray(1), past)
        return list(sizes)

    own = replace(net, step=step)
    assert sizes_of(own, train, None) == [(2, 4)]
    assert sizes_of(own, train, Replay(2)) == [(2, 8)]
    for strategy in (EWC(), Distill(), L2Init()):
        assert sizes_of(own, train, strategy) == []
    assert sizes_of(replace(own, loss=SquaredError()), train, None) == []
    of_tasks, _, net = pools_of("task")
    assert sizes_of(replace(net, step=step), of_tasks, None) == []
