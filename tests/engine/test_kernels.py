"""The GPU kernels, interpreted on a CPU in float32: the same numbers as the plain layers and Adam, and they lower."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
from taskorder.engine.fused import missing_backend

if missing_backend():
    pytest.skip(f"{missing_backend()}; the engine does without", allow_module_level=True)
import jax.numpy as jnp

from taskorder.engine.kernels import conv as conv_kernels
from taskorder.engine.kernels.dense import dense_update
from taskorder.engine.losses import as_floats
from taskorder.engine.ops import average_pool, conv_native
from taskorder.engine.train import Recipe, State, adam, corrections

QUICK = {"xla_backend_optimization_level": 0}
"""To compile: the kernels are long."""


def layer(x, w, b):
    """Network by network: XLA is slow with many at once."""
    return jnp.stack(
        [average_pool(jax.nn.relu(conv_native(*arrays) + bias)) for *arrays, bias in zip(x, w, b, strict=True)]
    )


def drawn(*shapes):
    rng = np.random.default_rng(len(shapes))
    return [jnp.asarray(rng.standard_normal(shape), jnp.float32) for shape in shapes]


def images(*shape):
    return jnp.asarray(np.random.default_rng(0).integers(0, 256, shape), jnp.uint8)


def assert_same(ours, plain):
    """Equal to 1e-5 of the largest number."""
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(plain), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 * np.abs(b).max())


def with_gradients(function, wanted, *arguments):
    """What the function gives, and the gradients of its product with `wanted`."""

    def both(*arguments):
        value, back = jax.vjp(function, *arguments)
        return value, back(wanted)

    return jax.jit(both, compiler_options=QUICK)(*arguments)


@pytest.mark.parametrize(("batch", "side", "depth"), [(2, 16, 3), (4, 4, 1)])
def test_the_first_layer(batch, side, depth):
    x = images(2, batch, side, side, depth)
    w, b, wanted = drawn((2, 3, 3, depth, 8), (2, 8), (2, batch, side // 2, side // 2, 8))
    assert_same(
        with_gradients(lambda w, b: conv_kernels.conv_first(x, w, b), wanted, w, b),
        with_gradients(lambda w, b: layer(as_floats(x), w, b), wanted, w, b),
    )


@pytest.mark.parametrize(("batch", "side", "out"), [(4, 16, 8), (2, 4, 16)])
def test_a_further_layer(batch, side, out):
    x, w, b, wanted = drawn(
        (2, batch, side, side, 8), (2, 3, 3, 8, out), (2, out), (2, batch, side // 2, side // 2, out)
    )
    assert_same(with_gradients(conv_kernels.conv_pool, wanted, x, w, b), with_gradients(layer, wanted, x, w, b))


@pytest.mark.parametrize("columns", [8, 512])
def test_the_dense_update_is_adam(columns):
    x, dy, w, mean, square = drawn((2, 4, 16), (2, 4, columns), *[(2, 16, columns)] * 3)
    state = State(w, mean, square**2, jnp.asarray([0, 100]))
    recipe = Recipe(learning_rate=0.01, decay_mean=0.8, decay_square=0.99, epsilon=1e-3)
    wanted = adam(recipe, state, jnp.einsum("nbi,nbj->nij", x, dy))
    first, second = corrections(recipe, wanted.steps)
    *updated, dx = dense_update(
        x, dy, *state[:3], jnp.stack([recipe.learning_rate / first, 1 / jnp.sqrt(second)], axis=1),
        decay_mean=0.8, decay_square=0.99, epsilon=1e-3,
    )  # fmt: skip
    assert_same(updated, wanted[:3])
    assert_same(dx, jnp.einsum("nbj,nij->nbi", dy, w))


def test_sides_must_be_powers_of_two():
    x, w, b = drawn((1, 2, 12, 12, 16), (1, 3, 3, 16, 16), (1, 16))
    with pytest.raises(ValueError, match="powers of two"):
        conv_kernels.conv_pool(x, w, b)
