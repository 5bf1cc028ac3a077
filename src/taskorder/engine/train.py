"""Train many networks at once: one loop over steps, compiled, batched over networks.

Every network has its own parameters, Adam state, task and stream of data. Inputs stay on the device as they are
(uint8 for images) and are gathered step by step. The order in which a task's examples come depends on its stream and
the epoch alone, not on the network that learns it or on when: orders of tasks are compared on common random numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from taskorder.engine import ewc, l2init
from taskorder.engine.losses import CrossEntropy
from taskorder.engine.lwf import divergence
from taskorder.engine.nets import Net, Params
from taskorder.engine.replay import draws, kept_places
from taskorder.machine import cores
from taskorder.strategies import EWC, Distill, L2Init, Replay, Strategy

if TYPE_CHECKING:
    from taskorder.engine.past import Past

MAX_GROUP = 8
"""Networks that a CPU trains together: beyond it a step gets no cheaper, and cores and caches are shared worse."""
CACHE_BYTES = 16 << 20


class State(NamedTuple):
    """N networks in training: every array has a leading axis of length N."""

    params: Params
    mean: Params
    """Adam's first moment."""
    square: Params
    """Adam's second moment."""
    steps: Array
    """(N,) int32 steps that Adam has taken."""
    memory: Params = ()
    """What the strategy keeps from task to task beside the parameters: F of EWC, the first weights of L2Init."""

    def take(self, rows: Array) -> State:
        """The networks at `rows`, copied; a row may come several times: that is how an order branches."""
        return State(*jax.tree.map(lambda leaf: leaf[rows], tuple(self)))


@dataclass(frozen=True, repr=False)
class Recipe:
    """How a task is trained; the defaults are the paper's."""

    epochs: int = 5
    batch_size: int = 4
    learning_rate: float = 1e-3
    decay_mean: float = 0.9
    decay_square: float = 0.999
    epsilon: float = 1e-8
    reset: bool = False
    """Whether Adam starts afresh with every task; in the paper it goes on."""
    strategy: Strategy | None = None
    """What is done against forgetting."""

    def __repr__(self) -> str:
        # without a strategy as before there were any: stores know learners by it
        shown = [field for field in fields(self) if field.name != "strategy" or self.strategy is not None]
        return f"Recipe({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in shown)})"


class Pool(NamedTuple):
    """The examples of T tasks, on the device.

    An example is numbered by its row in the arrays of two axes times n plus its place there. Rows that follow those of
    the tasks hold examples that no task has, for what was kept elsewhere.
    """

    inputs: Array
    """(M, ...) uint8, int32 or float32, shared by all tasks."""
    rows: Array
    """(T or more, n) int32 places in `inputs`; beyond a task's own examples they repeat its first."""
    labels: Array
    """(T or more, n) int32 targets; float32 where labels are numbers."""
    counts: Array
    """(T,) int32 examples of each task."""
    allowed: Array | None = None
    """(T, outputs) which outputs compete in each task, or (H, outputs) in each head; None for all of them."""
    own: Array | None = None
    """(T or more, n) the row of `allowed` of each example, where it is not that of its task."""

    def batch(self, examples: Array) -> Batch:
        """That of so many (..., batch) numbered examples."""
        rows, labels = (part.reshape(-1)[examples] for part in (self.rows, self.labels))
        heads = examples // self.rows.shape[1] if self.own is None else self.own.reshape(-1)[examples]
        return Batch(self.inputs[rows], labels, None if self.allowed is None else self.allowed[heads])


class Batch(NamedTuple):
    """The examples of one step of N networks."""

    inputs: Array
    """(N, batch, ...) as they are in the pool."""
    labels: Array
    """(N, batch)."""
    allowed: Array | None = None
    """(N, batch or 1, outputs) which outputs compete; None for all of them."""
    weights: Array | None = None
    """(N, batch) how much each example counts; None for all alike."""


def start(net: Net, keys: Array) -> State:
    """Freshly drawn networks, one for each of (N,) random keys."""
    params = jax.vmap(net.init)(keys)
    zeros = jax.tree.map(jnp.zeros_like, params)
    return State(params, zeros, jax.tree.map(jnp.zeros_like, params), jnp.zeros(len(keys), jnp.int32))


def shuffles(keys: Array, tasks: Array, pool: Pool, epoch: Array, batch_size: int) -> Array:
    """(steps, S, batch) places within each stream's task: a new random order of its examples in every epoch.

    A stream is a random key and a task; (S,) of both. A smaller task has its own examples first.
    """
    n = pool.rows.shape[1] // batch_size * batch_size

    def shuffle(key: Array, count: Array) -> Array:
        noise = jax.random.uniform(jax.random.fold_in(key, epoch), (pool.rows.shape[1],))
        places = jnp.arange(pool.rows.shape[1])
        return jnp.argsort(jnp.where(places < count, noise, 2.0))[:n]

    order = jax.vmap(shuffle)(keys, pool.counts[tasks])
    return order.reshape(len(tasks), -1, batch_size).swapaxes(0, 1)


def train_task(
    net: Net,
    recipe: Recipe,
    state: State,
    pool: Pool,
    streams: Array,
    keys: Array,
    tasks: Array,
    num_steps: Array,
    past: Past | None = None,
    begin: Array | None = None,
) -> State:
    """Train network i on the task of stream `streams[i]`: all epochs, `num_steps` batches each.

    streams: (N,) positions in the streams. keys, tasks: (S,) random key and task of each stream. past: what the
    strategy knows of earlier tasks; None for first tasks. begin: the first batch of every epoch, if not 0.
    A GPU takes all networks at once; a CPU a few that fit its cache, one such group a core. Consumes `state`.
    """

    def train(state: State, rows: Array) -> State:
        own, used = None if past is None else past.take(rows), streams[rows]
        some = used, keys, tasks
        if len(rows) < len(keys):  # the other streams need no shuffles here
            some = jnp.arange(len(rows)), keys[used], tasks[used]
        return _train(net, recipe, state, pool, *some, num_steps, own, begin)

    trained: State = _in_groups(train, state)
    return trained


def _in_groups(work: Callable[[State, Array], Any], state: State) -> Any:
    """What `work` makes of networks and their rows; on a CPU of a few that fit its cache, one such group a core."""
    count = len(state.steps)
    size = _group_size(state) if jax.default_backend() == "cpu" else count
    if size == count:
        return work(state, jnp.arange(count))

    def of_group(begin: int) -> Any:
        rows = jnp.arange(begin, begin + size)
        done = work(state.take(rows), rows)
        jax.tree.leaves(done)[0].block_until_ready()  # and with it the rest: it is one computation
        return done

    groups = list(_cores().map(of_group, range(0, count, size)))
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *groups)


def _group_size(state: State) -> int:
    """The most networks that divide their number and whose states fit the cache together; larger is never faster."""
    count = len(state.steps)
    each = sum(leaf.nbytes for leaf in jax.tree.leaves(state)) // count
    most = max(2, min(MAX_GROUP, CACHE_BYTES // each))
    return max(size for size in range(1, most + 1) if count % size == 0)


@functools.cache
def _cores() -> ThreadPoolExecutor:
    """One thread a core that this process may use: JAX frees the interpreter while it computes."""
    return ThreadPoolExecutor(cores())


@functools.partial(jax.jit, static_argnames=("net", "recipe"), donate_argnames=("state",))
def _train(
    net: Net,
    recipe: Recipe,
    state: State,
    pool: Pool,
    streams: Array,
    keys: Array,
    tasks: Array,
    num_steps: Array,
    past: Past | None,
    begin: Array | None,
) -> State:
    if recipe.reset:
        mean, square, steps = jax.tree.map(jnp.zeros_like, (state.mean, state.square, state.steps))
        state = State(state.params, mean, square, steps, state.memory)
    anchor = state.params if past is not None and isinstance(recipe.strategy, EWC | Distill) else None
    heads = None if past is None else past.heads

    def run_epoch(epoch: Array, state: State) -> State:
        order = shuffles(keys, tasks, pool, epoch, recipe.batch_size)
        rows, labels = (part[tasks[None, :, None], order] for part in (pool.rows, pool.labels))
        allowed = None if pool.allowed is None else pool.allowed[tasks[streams], None]
        own = None if pool.own is None else pool.own[tasks[None, :, None], order]
        if past is not None and past.kept is not None:
            assert isinstance(recipe.strategy, Replay)
            kept, counts = past.kept
            drawn = draws(keys, epoch, len(order), recipe.strategy.extra(recipe.batch_size))

        def step(number: Array, state: State) -> State:
            number = number if begin is None else number + begin
            batch = Batch(pool.inputs[rows[number][streams]], labels[number][streams], allowed)
            if own is not None and pool.allowed is not None:
                batch = batch._replace(allowed=pool.allowed[own[number][streams]])
            if past is not None and past.kept is not None:
                old = jnp.take_along_axis(kept, kept_places(drawn[number][streams], counts), axis=1)
                batch = merged(batch, pool.batch(old))
            return train_step(net, recipe, state, batch, anchor, heads)

        return lax.fori_loop(0, num_steps, step, state)

    return lax.fori_loop(0, recipe.epochs, run_epoch, state)


def remembered(net: Net, recipe: Recipe, state: State, pool: Pool, streams: Array, keys: Array, tasks: Array) -> State:
    """The networks with what their strategy keeps of the task that was just learned; arguments as in `train_task`."""
    if not isinstance(recipe.strategy, EWC):
        return state
    settings = recipe.strategy
    next_epoch = shuffles(keys, tasks, pool, jnp.asarray(recipe.epochs), 1)[: ewc.SQUARED_EXAMPLES, :, 0].T

    def of(state: State, rows: Array) -> Params:
        own = streams[rows]
        return ewc.consolidated(net, settings, state.params, state.memory, pool, tasks[own], next_epoch[own])

    return state._replace(memory=_in_groups(of, state))


def merged(batch: Batch, other: Batch) -> Batch:
    """The examples of two batches, of both with the same weight."""
    if batch.allowed is not None:
        wide = jnp.broadcast_to(batch.allowed, (*batch.labels.shape, batch.allowed.shape[-1]))
        batch = batch._replace(allowed=wide)
    return Batch(*jax.tree.map(lambda a, b: jnp.concatenate([a, b], axis=1), tuple(batch), tuple(other)))


def train_step(
    net: Net, recipe: Recipe, state: State, batch: Batch, anchor: Params = None, heads: Array | None = None
) -> State:
    """One step of all networks, by the step that the net brings where that means the same.

    anchor: the parameters when the task began, for strategies that ask for them; None where nothing came before it.
    heads: see `past.Past`.
    """
    own = net.step if recipe.strategy is None or isinstance(recipe.strategy, Replay) else None
    if own and net.loss == CrossEntropy() and batch.allowed is None and batch.weights is None:
        return own(recipe, state, batch.inputs, batch.labels)
    return gradient_step(net, recipe, state, batch, anchor, heads)


def gradient_step(
    net: Net, recipe: Recipe, state: State, batch: Batch, anchor: Params = None, heads: Array | None = None
) -> State:
    """One step of all networks, each on its own part of the batch, for any network and strategy."""
    strategy = recipe.strategy

    def loss(params: Params, batch: Batch, anchor: Params, heads: Array | None) -> Array:
        x = net.loss.read(batch.inputs)
        outputs = net.apply(params, x)
        losses = net.loss.losses(outputs, batch.inputs, batch.labels, batch.allowed)
        mean = losses.mean() if batch.weights is None else (losses * batch.weights).sum() / batch.weights.sum()
        if isinstance(strategy, Distill) and heads is not None:
            return mean + divergence(strategy, outputs, net.apply(anchor, x), heads)
        return mean

    gradient = jax.vmap(jax.grad(loss))(state.params, batch, anchor, heads)
    if isinstance(strategy, EWC) and anchor is not None:
        gradient = ewc.pulled_back(strategy, gradient, state.params, anchor, state.memory)
    elif isinstance(strategy, L2Init):
        gradient = l2init.pulled_to_first(strategy, gradient, state.params, state.memory)
    return adam(recipe, state, gradient)


def corrections(recipe: Recipe, steps: Array) -> tuple[Array, Array]:
    """What Adam divides its moments by after so many steps: 1 - decay^steps, for either decay."""
    count = steps.astype(jnp.float32)
    return 1 - recipe.decay_mean**count, 1 - recipe.decay_square**count


def adam(recipe: Recipe, state: State, gradient: Params) -> State:
    """One step of Adam for all networks; elementwise, so that XLA computes the gradients inside it where it can.

    The corrections go into the rate and epsilon of each network: one division and one root are left a parameter.
    """
    steps = state.steps + 1
    first, second = corrections(recipe, steps)
    rate, epsilon = recipe.learning_rate * jnp.sqrt(second) / first, recipe.epsilon * jnp.sqrt(second)

    def each(numbers: Array, leaf: Array) -> Array:
        return numbers.reshape(-1, *[1] * (leaf.ndim - 1))

    mean = jax.tree.map(lambda m, g: recipe.decay_mean * m + (1 - recipe.decay_mean) * g, state.mean, gradient)
    square = jax.tree.map(
        lambda v, g: recipe.decay_square * v + (1 - recipe.decay_square) * g * g, state.square, gradient
    )
    params = jax.tree.map(
        lambda p, m, v: p - each(rate, m) * m / (jnp.sqrt(v) + each(epsilon, v)), state.params, mean, square
    )
    return State(params, mean, square, steps, state.memory)
