"""Train many orders of the same tasks without ever training a shared prefix twice.

Level by level, every distinct prefix of an order is one network; a longer prefix starts from a copy of the state
(parameters and Adam moments) of the one before it. All 120 orders of five tasks take 325 task trainings instead of 600.
Where a level has more networks than fit, it is cut into parts and each part is followed to the end before the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, Ints
from taskorder.engine.evaluate import evaluate, evaluate_seen
from taskorder.engine.heads import used_outputs
from taskorder.engine.joint import check_joint, mixed_pool
from taskorder.engine.nets import Net
from taskorder.engine.past import Lookback, Past, check_strategy, first_memory
from taskorder.engine.train import Pool, Recipe, State, remembered, start, train_task
from taskorder.prefixes import Prefix, PrefixTree
from taskorder.strategies import BY_CLASS, SHARED


@dataclass(frozen=True)
class Curriculum:
    """One set of tasks, one seed, and the orders to learn the tasks in."""

    tasks: tuple[int, ...]
    """Rows of the P tasks in the pools."""
    orders: tuple[Prefix, ...]
    """Each is a sequence of positions in `tasks`; any length, repeats allowed."""
    seed: int = 0
    """Draws the initial network and the order of examples, the same for all orders."""


class Outcome(NamedTuple):
    """How P tasks are done: after every visit of K orders, (K, V + 1, P), or by one network, (P,).

    Row s is after s visits, row 0 before training.
    """

    accuracy: Floats
    loss: Floats
    chance: Floats
    """The loss to expect with shuffled labels."""
    accuracy_seen: Floats
    """The accuracy where only classes of the tasks learned so far compete: of use where a head has all classes, else
    the same as `accuracy`."""


@dataclass
class Work:
    """What has been done."""

    trainings: int = 0
    """Tasks trained, each by one network."""
    network_steps: int = 0


class Branch(NamedTuple):
    """A prefix of an order of one of the curricula: one network."""

    curriculum: int
    prefix: Prefix


Visit = Callable[[Sequence[Branch], State], None]
"""Called with the networks of some branches as soon as they are trained. There may be more networks than branches: the
last is repeated. It must copy what it needs later: the walk overwrites the networks."""


@dataclass
class _Walk:
    net: Net
    train: Pool
    curricula: Sequence[Curriculum]
    visit: Visit
    recipe: Recipe
    max_networks: int
    work: Work
    report: Callable[[Work], object] | None
    counts: Ints
    trees: list[PrefixTree]
    lookback: Lookback | None
    """None without a strategy."""
    mixed: Pool | None
    """In joint training, the tasks of each curriculum as one."""


def train_orders(
    net: Net,
    train: Pool,
    test: Pool,
    curricula: Sequence[Curriculum],
    *,
    recipe: Recipe = Recipe(),  # noqa: B008 (frozen)
    head: str = SHARED,
    joint: bool = False,
    max_networks: int = 512,
    work: Work | None = None,
    report: Callable[[Work], object] | None = None,
) -> tuple[list[Outcome], Work]:
    """Test accuracy and loss of every task after every visit of every order, for each curriculum, and the work it took.

    head: that of the pools (engine/heads.py); with `class`, accuracies among the classes seen so far are measured, too.
    joint: whether all tasks are mixed (engine/joint.py); orders then only say after how many steps networks are tested.
    max_networks: networks in training at the same time; memory holds about three times their states.
    """
    scores: dict[Branch, Outcome] = {}
    used = label_outputs(net, train) if head == BY_CLASS else None

    def score(branches: Sequence[Branch], state: State) -> None:
        # in joint training all classes have been seen after the first step
        seen = [branch._replace(prefix=tuple(range(len(curricula[branch.curriculum].tasks)))) if joint and branch.prefix
                else branch for branch in branches]  # fmt: skip
        tables = tested(net, state, test, curricula, seen, used)
        for row, branch in enumerate(branches):
            scores[branch] = Outcome(*(table[row] for table in tables))

    work = work or Work()
    options: dict[str, Any] = {"max_networks": max_networks, "work": work, "report": report}
    walk(net, train, curricula, score, recipe=recipe, joint=joint, **options)
    return [_outcome(scores, number, curriculum.orders) for number, curriculum in enumerate(curricula)], work


def walk(
    net: Net,
    train: Pool,
    curricula: Sequence[Curriculum],
    visit: Visit,
    *,
    recipe: Recipe = Recipe(),  # noqa: B008 (frozen)
    joint: bool = False,
    max_networks: int = 512,
    work: Work | None = None,
    report: Callable[[Work], object] | None = None,
) -> None:
    """Train every distinct prefix of the orders once, and show it to `visit`; the empty ones come first."""
    counts, trees = np.asarray(train.counts), [PrefixTree(curriculum.orders) for curriculum in curricula]
    lookback, mixed = lookback_of(net, recipe, train, curricula), None
    if joint:
        check_joint(recipe, (order for curriculum in curricula for order in curriculum.orders))
        mixed = mixed_pool(train, [curriculum.tasks for curriculum in curricula])
    run = _Walk(
        net, train, curricula, visit, recipe, max_networks, work or Work(), report, counts, trees, lookback, mixed
    )
    roots = [Branch(number, ()) for number in range(len(curricula))]
    for begin in range(0, len(roots), max_networks):
        branches = roots[begin : begin + max_networks]
        keys = jnp.stack([jax.random.key(curricula[branch.curriculum].seed) for branch in branches])
        state = start(net, keys)
        state = state._replace(memory=first_memory(recipe.strategy, state.params))
        visit(branches, state)
        _grow(run, branches, state)


def lookback_of(net: Net, recipe: Recipe, pool: Pool, curricula: Sequence[Curriculum]) -> Lookback | None:
    """What makes the past of networks; None without a strategy, an error where it means nothing for the network."""
    if recipe.strategy is None:
        return None
    check_strategy(net, recipe.strategy)
    return Lookback(recipe, pool, [curriculum.tasks for curriculum in curricula], label_outputs(net, pool))


def tasks_of(curricula: Sequence[Curriculum], branches: Sequence[Branch], state: State) -> Array:
    """(N, P) rows in the pools of the tasks that each network of `state` is about."""
    tasks = [curricula[branch.curriculum].tasks for branch in branches]
    return jnp.asarray(tasks + tasks[-1:] * (len(state.steps) - len(tasks)))


def label_outputs(net: Net, pool: Pool) -> NDArray[np.bool_]:
    """(T, outputs) the outputs that the labels of each task have."""
    params = jax.eval_shape(net.init, jax.random.key(0))
    inputs = net.loss.read(jnp.zeros((1, *pool.inputs.shape[1:]), pool.inputs.dtype))
    width = jax.eval_shape(net.apply, params, inputs).shape[-1]
    if not net.loss.classes:
        return np.ones((len(pool.counts), width), bool)
    return used_outputs(np.asarray(pool.labels), np.asarray(pool.counts), width)


def tested(
    net: Net,
    state: State,
    test: Pool,
    curricula: Sequence[Curriculum],
    branches: Sequence[Branch],
    used: NDArray[np.bool_] | None,
) -> Outcome:
    """How the networks of some branches do their P tasks, (N, P) of each.

    used: (T, outputs) the outputs of each task, where accuracies among those seen so far differ from others.
    """
    tasks = tasks_of(curricula, branches, state)
    if used is None:
        accuracy, loss, chance = map(np.asarray, evaluate(net, state.params, test, tasks))
        return Outcome(accuracy, loss, chance, accuracy)
    seen = [
        used[[curricula[branch.curriculum].tasks[position] for position in branch.prefix]].any(axis=0)
        for branch in branches
    ]
    seen += seen[-1:] * (len(tasks) - len(seen))
    compete = np.stack(seen)
    scores, among_seen = evaluate_seen(net, state.params, test, tasks, jnp.asarray(compete))
    # nothing is right before training: no output competes
    right = np.asarray(among_seen) * np.any(compete, axis=1, keepdims=True)
    return Outcome(np.asarray(scores.accuracy), np.asarray(scores.loss), np.asarray(scores.chance), right)


def _grow(run: _Walk, branches: list[Branch], state: State) -> None:
    """Train every prefix that is one visit longer than one of `branches`, whose networks are in `state`."""
    parents: dict[Branch, int] = {}
    by_steps: dict[tuple[int, int], list[Branch]] = {}
    for row, branch in enumerate(branches):
        for prefix in run.trees[branch.curriculum].children[branch.prefix]:
            child = Branch(branch.curriculum, prefix)
            parents[child] = row
            by_steps.setdefault(_steps_of(run, child), []).append(child)
    for steps, group in by_steps.items():
        begin = 0
        while begin < len(group):
            part = group[begin : begin + run.max_networks]
            try:
                rows = _padded([parents[child] for child in part], run.max_networks)
                grown = _trained(run, part, state.take(jnp.asarray(rows)), *steps)
                run.visit(part, grown)
            except jax.errors.JaxRuntimeError as problem:
                if "RESOURCE_EXHAUSTED" not in str(problem) or run.max_networks == 1:
                    raise
                # The device is full: the same part again, with half as many networks.
                run.max_networks = max(1, run.max_networks // 2)
                continue
            begin += len(part)
            run.work.trainings += len(part)
            run.work.network_steps += len(part) * steps[0] * run.recipe.epochs
            if run.report is not None:
                run.report(run.work)
            _grow(run, part, grown)


def _steps_of(run: _Walk, branch: Branch) -> tuple[int, int]:
    """The steps of an epoch of the last task and, in joint training, of the tasks before."""
    counts = [int(run.counts[run.curricula[branch.curriculum].tasks[position]]) for position in branch.prefix]
    if counts[-1] < run.recipe.batch_size:
        raise BadArgument(f"`batch_size` must be at most the {counts[-1]} examples of the smallest task.")
    *before, last = (count // run.recipe.batch_size for count in counts)
    return last, 0 if run.mixed is None else sum(before)


def _trained(run: _Walk, branches: list[Branch], state: State, num_steps: int, begin: int = 0) -> State:
    """The networks after their last task."""
    if run.mixed is not None:
        return _jointly(run, run.mixed, branches, state, num_steps, begin)
    streams: dict[tuple[int, int, int], int] = {}
    chosen = []
    for branch in branches:
        curriculum, position = run.curricula[branch.curriculum], branch.prefix[-1]
        visit = branch.prefix.count(position)  # a repeated visit sees the examples in a new order
        key = (curriculum.seed * 1000 + visit - 1, position, curriculum.tasks[position])
        chosen.append(streams.setdefault(key, len(streams)))
    table = list(streams)
    table += table[-1:] * (bucket(len(table)) - len(table))
    keys = jnp.stack([stream_key(seed, position) for seed, position, _ in table])
    tasks = jnp.asarray([task for _, _, task in table])
    rows, number = jnp.asarray(_padded(chosen, run.max_networks)), jnp.asarray(num_steps)
    past = _past(run, branches, len(rows))
    trained: State = train_task(run.net, run.recipe, state, run.train, rows, keys, tasks, number, past)
    if any(run.trees[branch.curriculum].children[branch.prefix] for branch in branches):
        return remembered(run.net, run.recipe, trained, run.train, rows, keys, tasks)
    return trained


def _jointly(run: _Walk, mixed: Pool, branches: list[Branch], state: State, num_steps: int, begin: int) -> State:
    """The networks after so many more steps on all tasks of their curriculum."""
    numbers = _padded([branch.curriculum for branch in branches], run.max_networks)
    keys = jnp.stack([stream_key(run.curricula[number].seed * 1000, -1) for number in numbers])
    rows, steps, first = jnp.arange(len(numbers)), jnp.asarray(num_steps), jnp.asarray(begin)
    tasks = jnp.asarray(numbers)
    trained: State = train_task(run.net, run.recipe, state, mixed, rows, keys, tasks, steps, begin=first)
    return trained


def stream_key(seed: int, position: int) -> Array:
    """The random key of the examples of a task; `seed` is a thousand times that of the curriculum, plus the visit."""
    return jax.random.fold_in(jax.random.key(seed), 1 + position)


def _past(run: _Walk, branches: Sequence[Branch], count: int) -> Past | None:
    """What the strategy knows of the tasks before the last one of each branch; None before the first task."""
    if run.lookback is None or len(branches[0].prefix) == 1:
        return None
    learned = [
        (run.curricula[branch.curriculum].tasks, run.curricula[branch.curriculum].seed, branch.prefix[:-1])
        for branch in branches
    ]
    return run.lookback.of(learned + learned[-1:] * (count - len(learned)))


def _outcome(scores: Mapping[Branch, Outcome], number: int, orders: Sequence[Prefix]) -> Outcome:
    path = [[scores[Branch(number, order[:s])] for s in range(len(order) + 1)] for order in orders]
    return Outcome(*(np.array([[getattr(s, name) for s in row] for row in path]) for name in Outcome._fields))


def bucket(count: int) -> int:
    """The next power of two up to 32, then the next eighth of an octave: few shapes, so that little is compiled.

    >>> [bucket(count) for count in (5, 20, 100, 161)]
    [8, 32, 104, 176]
    """
    grain = 1 << (count - 1).bit_length() if count <= 32 else 1 << (count.bit_length() - 4)
    return -(-count // grain) * grain


def _padded(values: list[int], most: int) -> list[int]:
    """The values, with the last repeated up to a bucket, but never more than `most`."""
    return values + values[-1:] * (min(bucket(len(values)), max(most, len(values))) - len(values))
