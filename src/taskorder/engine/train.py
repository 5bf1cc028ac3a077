"""Train many networks at once: one loop over steps, compiled, batched over networks.

Every network has its own parameters, Adam state, task and stream of data. Inputs stay on the device as they are
(uint8 for images) and are gathered step by step. The order in which a task's examples come depends on its stream and
the epoch alone, not on the network that learns it or on when: orders of tasks are compared on common random numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from taskorder.engine.nets import Net, Params
from taskorder.machine import cores

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

    def take(self, rows: Array) -> State:
        """The networks at `rows`, copied; a row may come several times: that is how an order branches."""
        return State(*jax.tree.map(lambda leaf: leaf[rows], tuple(self)))


@dataclass(frozen=True)
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


class Pool(NamedTuple):
    """The examples of T tasks, on the device."""

    inputs: Array
    """(M, ...) uint8 or float32, shared by all tasks."""
    rows: Array
    """(T, n) int32 places in `inputs`; beyond a task's own examples they repeat its first."""
    labels: Array
    """(T, n) int32 targets."""
    counts: Array
    """(T,) int32 examples of each task."""


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


def as_floats(inputs: Array) -> Array:
    """Images as numbers from 0 to 1; floats as they are."""
    return inputs.astype(jnp.float32) / 255 if inputs.dtype == jnp.uint8 else inputs


def train_task(
    net: Net, recipe: Recipe, state: State, pool: Pool, streams: Array, keys: Array, tasks: Array, num_steps: Array
) -> State:
    """Train network i on the task of stream `streams[i]`: all epochs, `num_steps` batches each.

    streams: (N,) positions in the streams. keys, tasks: (S,) random key and task of each stream.
    A GPU takes all networks at once; a CPU a few that fit its cache, one such group a core. Consumes `state`.
    """
    size = _group_size(state) if jax.default_backend() == "cpu" else len(streams)
    if size == len(streams):
        return _train(net, recipe, state, pool, streams, keys, tasks, num_steps)

    def train(begin: int) -> State:
        rows = jnp.arange(begin, begin + size)
        trained: State = _train(net, recipe, state.take(rows), pool, streams[rows], keys, tasks, num_steps)
        trained.steps.block_until_ready()
        return trained

    groups = list(_cores().map(train, range(0, len(streams), size)))
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
    net: Net, recipe: Recipe, state: State, pool: Pool, streams: Array, keys: Array, tasks: Array, num_steps: Array
) -> State:
    if recipe.reset:
        state = State(state.params, *jax.tree.map(jnp.zeros_like, tuple(state[1:])))
    train_step = net.step or functools.partial(gradient_step, net.apply)

    def run_epoch(epoch: Array, state: State) -> State:
        order = shuffles(keys, tasks, pool, epoch, recipe.batch_size)
        rows, labels = (part[tasks[None, :, None], order] for part in (pool.rows, pool.labels))

        def step(number: Array, state: State) -> State:
            return train_step(recipe, state, pool.inputs[rows[number][streams]], labels[number][streams])

        return lax.fori_loop(0, num_steps, step, state)

    return lax.fori_loop(0, recipe.epochs, run_epoch, state)


def gradient_step(
    apply: Callable[[Params, Array], Array], recipe: Recipe, state: State, inputs: Array, labels: Array
) -> State:
    """One step of all networks, each on its own (N, batch, ...) inputs and (N, batch) labels, for any `apply`."""

    def loss(params: Params, x: Array, y: Array) -> Array:
        return cross_entropy(apply(params, x), y).mean()

    return adam(recipe, state, jax.vmap(jax.grad(loss))(state.params, as_floats(inputs), labels))


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
    return State(params, mean, square, steps)


def cross_entropy(logits: Array, labels: Array) -> Array:
    """(batch,) minus the log probability of each label."""
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)[:, 0]
