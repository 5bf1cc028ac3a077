"""What a network is trained for: how inputs are read, the loss of an example, and the loss to expect by chance.

    CrossEntropy   outputs are logits, labels are classes          -log softmax(outputs)[label]
    SquaredError   one output for each example, labels are numbers       (output - label)^2
    NextToken      inputs are rows of tokens, outputs are logits for the token that follows each of them

`allowed` says which outputs compete: with a head for each task those of the task's own classes. None means all.
Functions here are about one network; the engine batches them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import jax
import jax.numpy as jnp
from jax import Array, lax

if TYPE_CHECKING:
    from taskorder.engine.train import Pool

OFF = -1e9
"""The logit of an output that does not compete: finite, so that nothing times zero is not a number."""


@dataclass(frozen=True)
class CrossEntropy:
    """Classes: minus the log probability of the label; an answer is right if the label has the largest logit."""

    likelihood: ClassVar[float] = 1.0
    """Minus the log-likelihood is the loss times this."""
    classes: ClassVar[bool] = True
    """Whether labels are classes, each with an output."""

    def read(self, inputs: Array) -> Array:
        """Inputs as the network takes them."""
        return as_floats(inputs)

    def losses(self, outputs: Array, inputs: Array, labels: Array, allowed: Array | None) -> Array:
        """(batch,) the loss of each example."""
        return cross_entropy(among(outputs, allowed), labels)

    def summary(self, pool: Pool, num_outputs: int) -> Array:
        """(T, outputs) share of each label in each task."""
        counted = jnp.arange(pool.rows.shape[1]) < pool.counts[:, None]
        hits = jax.nn.one_hot(pool.labels, num_outputs) * counted[:, :, None]
        return hits.sum(axis=1) / pool.counts[:, None]

    def scores(
        self, outputs: Array, inputs: Array, labels: Array, summary: Array, allowed: Array | None
    ) -> tuple[Array, Array, Array]:
        """Of each example whether it is right, its loss, and the loss to expect with a label of the task at random."""
        logits = among(outputs, allowed)
        losses = -jax.nn.log_softmax(logits)
        own = jnp.take_along_axis(losses, labels[:, None], axis=1)[:, 0]
        return logits.argmax(axis=1) == labels, own, jnp.einsum("bk,k->b", losses, summary)


@dataclass(frozen=True)
class SquaredError:
    """Numbers: the squared distance from the label. Nothing is right or wrong, so the accuracy is 0."""

    likelihood: ClassVar[float] = 0.5
    """Of a normal distribution with variance 1."""
    classes: ClassVar[bool] = False

    def read(self, inputs: Array) -> Array:
        """Inputs as the network takes them."""
        return as_floats(inputs)

    def losses(self, outputs: Array, inputs: Array, labels: Array, allowed: Array | None) -> Array:
        """(batch,) the loss of each example."""
        return (self._value(outputs, allowed) - labels) ** 2

    def summary(self, pool: Pool, num_outputs: int) -> Array:
        """(T, 2) mean and variance of the labels of each task."""
        counted = jnp.arange(pool.rows.shape[1]) < pool.counts[:, None]
        mean = (pool.labels * counted).sum(axis=1) / pool.counts
        apart = (pool.labels - mean[:, None]) * counted
        return jnp.stack([mean, (apart**2).sum(axis=1) / pool.counts], axis=1)

    def scores(
        self, outputs: Array, inputs: Array, labels: Array, summary: Array, allowed: Array | None
    ) -> tuple[Array, Array, Array]:
        """Zeros, the loss of each example, and the loss to expect with a label of the task at random."""
        mean, variance = summary
        value = self._value(outputs, allowed)
        return jnp.zeros_like(value), (value - labels) ** 2, (value - mean) ** 2 + variance

    def _value(self, outputs: Array, allowed: Array | None) -> Array:
        """(batch,) the output that counts: the only one, or that of the task."""
        return (outputs if allowed is None else jnp.where(allowed, outputs, 0.0)).sum(axis=1)


@dataclass(frozen=True)
class NextToken:
    """Rows of tokens: the mean cross-entropy of every token but the first, from logits after the token before it.

    Inputs are (M, length) whole numbers, which the network gets as int32 and turns into (batch, length, tokens)
    logits. Labels are not used. By chance means the tokens of the task at random, each as often as it comes.
    """

    likelihood: ClassVar[float] = 1.0
    """Of one token: what is known of a row is counted by its mean."""
    classes: ClassVar[bool] = False

    def read(self, inputs: Array) -> Array:
        """Inputs as the network takes them."""
        return inputs.astype(jnp.int32)

    def losses(self, outputs: Array, inputs: Array, labels: Array, allowed: Array | None) -> Array:
        """(batch,) the loss of each example."""
        return self._each(self._logs(outputs, allowed), inputs).mean(axis=1)

    def summary(self, pool: Pool, num_outputs: int) -> Array:
        """(T, tokens) share of each token in each task, first tokens left out."""

        def shares(task: tuple[Array, Array]) -> Array:
            rows, count = task
            followers = self.read(pool.inputs[rows])[:, 1:]
            counted = jnp.broadcast_to((jnp.arange(len(rows)) < count)[:, None], followers.shape)
            hits = jnp.zeros(num_outputs).at[followers].add(counted)
            return hits / hits.sum()

        return lax.map(shares, (pool.rows, pool.counts))

    def scores(
        self, outputs: Array, inputs: Array, labels: Array, summary: Array, allowed: Array | None
    ) -> tuple[Array, Array, Array]:
        """Of each example the share of tokens that are right, its loss, and that to expect with tokens at random."""
        logs = self._logs(outputs, allowed)
        right = logs.argmax(axis=2) == self.read(inputs)[:, 1:]
        return right.mean(axis=1), self._each(logs, inputs).mean(axis=1), -(logs @ summary).mean(axis=1)

    def _logs(self, outputs: Array, allowed: Array | None) -> Array:
        """(batch, length - 1, tokens) log probabilities of what may follow."""
        return jax.nn.log_softmax(among(outputs[:, :-1], None if allowed is None else allowed[:, None]))

    def _each(self, logs: Array, inputs: Array) -> Array:
        """(batch, length - 1) the loss of each token."""
        return -jnp.take_along_axis(logs, self.read(inputs)[:, 1:, None], axis=2)[:, :, 0]


Loss = CrossEntropy | SquaredError | NextToken


def as_floats(inputs: Array) -> Array:
    """Images as numbers from 0 to 1; other numbers as they are."""
    return inputs.astype(jnp.float32) / (255 if inputs.dtype == jnp.uint8 else 1)


def among(outputs: Array, allowed: Array | None) -> Array:
    """The logits of the outputs that compete."""
    return outputs if allowed is None else jnp.where(allowed, outputs, OFF)


def cross_entropy(logits: Array, labels: Array) -> Array:
    """(batch,) minus the log probability of each label."""
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)[:, 0]
