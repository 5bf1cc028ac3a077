"""Plain reference loops: one network, one step after the other, Adam as in its paper with moments in float64 NumPy.

Nothing is taken from the engine but how networks are drawn and applied, and how the examples of a task are shuffled.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from taskorder.engine.train import shuffles


@dataclass
class Tasks:
    """The examples of a set of tasks in a pool, and how they come."""

    pool: object
    tasks: tuple
    seed: int = 0

    def examples(self, position):
        """Inputs, labels and, for each output, whether it competes."""
        task = self.tasks[position]
        count = int(self.pool.counts[task])
        inputs = np.asarray(self.pool.inputs)[np.asarray(self.pool.rows)[task, :count]]
        inputs = inputs.astype(np.float32) / np.float32(255 if inputs.dtype == np.uint8 else 1)
        own = True if self.pool.allowed is None else np.asarray(self.pool.allowed)[task]
        return inputs, np.asarray(self.pool.labels)[task, :count], np.broadcast_to(own, (count, np.size(own)))

    def stream(self, position, visit=1):
        return jax.random.fold_in(jax.random.key(1000 * self.seed + visit - 1), 1 + position)

    def batches(self, position, epoch, batch_size, visit=1):
        """(steps, batch) places of the examples of a task in an epoch."""
        tasks = jnp.asarray(self.tasks[position : position + 1])
        places = shuffles(self.stream(position, visit)[None], tasks, self.pool, jnp.asarray(epoch), batch_size)
        return np.asarray(places)[: int(self.pool.counts[self.tasks[position]]) // batch_size, 0]


class Adam:
    """One network in training."""

    def __init__(self, params, rate=1e-3):
        self.rate = rate
        leaves, self.tree = jax.tree.flatten(params)
        self.leaves = [np.asarray(leaf, np.float64) for leaf in leaves]
        self.mean, self.square = ([np.zeros_like(leaf) for leaf in self.leaves] for _ in range(2))
        self.t = 0

    @property
    def params(self):
        return jax.tree.unflatten(self.tree, [jnp.asarray(leaf, jnp.float32) for leaf in self.leaves])

    def step(self, gradient):
        self.t += 1
        for i, g in enumerate(np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(gradient)):
            self.mean[i] = 0.9 * self.mean[i] + 0.1 * g
            self.square[i] = 0.999 * self.square[i] + 0.001 * g * g
            root = np.sqrt(self.square[i] / (1 - 0.999**self.t)) + 1e-8
            self.leaves[i] = self.leaves[i] - self.rate * (self.mean[i] / (1 - 0.9**self.t)) / root


def mean_loss(net, params, x, y, own):
    """Mean cross-entropy where only the outputs `own` of each example compete."""
    logits = net.apply(params, jnp.asarray(x))
    total = jax.scipy.special.logsumexp(logits, axis=1, where=jnp.broadcast_to(own, logits.shape))
    return (total - logits[jnp.arange(len(y)), y]).mean()


def plain(net, tasks, order, recipe):
    """The parameters before training and after each task of an order, without a strategy."""
    adam = Adam(net.init(jax.random.key(tasks.seed)))
    gradient = jax.jit(jax.grad(lambda *each: mean_loss(net, *each)))
    path = [adam.params]
    for step, position in enumerate(order):
        x, y, own = tasks.examples(position)
        visit = 1 + order[:step].count(position)
        for epoch in range(recipe.epochs):
            for places in tasks.batches(position, epoch, recipe.batch_size, visit):
                adam.step(gradient(adam.params, x[places], y[places], own[places]))
        path.append(adam.params)
    return path


def scores_of(net, params, tasks, among=None):
    """(P,) accuracy and loss of each task; `among` is a set of outputs that compete in place of the task's own."""
    accuracies, losses = [], []
    for position in range(len(tasks.tasks)):
        x, y, own = tasks.examples(position)
        logits = np.asarray(net.apply(params, jnp.asarray(x)), np.float64)
        own = np.broadcast_to(own, logits.shape)
        if among is not None:
            own = np.broadcast_to(np.isin(np.arange(logits.shape[1]), list(among)), logits.shape)
        logits = np.where(own, logits, -np.inf)
        accuracies.append((logits.argmax(axis=1) == y).mean())
        losses.append((np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(y)), y]).mean())
    return np.array(accuracies), np.array(losses)
