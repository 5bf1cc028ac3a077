"""A training step of many convolutional networks (cnn.py) by hand-written GPU kernels, in place of the general one.

The convolutions with all that follows them are one kernel each; the backward pass of the hidden layer, by far the
largest, and Adam for its weights are one pass over memory. All other parameters go through gradients and `train.adam`.
Products are TF32 on the tensor cores, as in the general step, but for the hidden layer's backward pass: float32.

The kernels are written for Pallas's Triton backend, which JAX has deprecated: `missing_backend` says whether this JAX
has it. Where it does not, or where a first measurement fails, training takes the general step and one line is logged.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

from taskorder.engine.losses import cross_entropy
from taskorder.engine.nets import Net, Params, Step, general_cnn
from taskorder.engine.train import Batch, Recipe, State, adam, corrections, gradient_step, start

logger = logging.getLogger(__name__)
FIRST_UNKNOWN_JAX = (0, 13)
"""The kernels are for JAX before this version: 0.12 has the deprecated Triton backend, later ones may not."""
TRITON_NAMES = ("CompilerParams", "dot", "load", "store")
"""What the kernels use of it."""
NETWORKS = 256
"""To measure with."""
LARGEST_BATCH = 8
"""A larger batch makes a matrix product of what the dense kernel sums example by example."""
SMALLEST_SIDE = 16
"""No side of a matrix product may be smaller: a rule of Triton."""


def forced_step(input_shape: tuple[int, ...], channels: tuple[int, ...], hidden: int) -> Step:
    """Training by the kernels; a ValueError if they do not fit such a network or this JAX."""
    problem = why_not_fused(input_shape, channels, hidden) or missing_backend()
    if problem:
        raise ValueError(f"`form` must not be kernels here: {problem}.")
    return kernel_step


def faster_step(
    net: Net, input_shape: tuple[int, ...], num_outputs: int, channels: tuple[int, ...], hidden: int
) -> Step | None:
    """Training by the kernels if that is faster on this device, by gradients of `net` for a batch that does not fit."""
    if why_not_fused(input_shape, channels, hidden) or not kernels_are_faster(
        input_shape, num_outputs, channels, hidden
    ):
        return None

    def step(recipe: Recipe, state: State, inputs: Array, labels: Array) -> State:
        if batch_misfit(inputs, len(channels)):
            return gradient_step(net, recipe, state, Batch(inputs, labels))
        return kernel_step(recipe, state, inputs, labels)

    return step


def general_step(net: Net) -> Step:
    """Training by gradients, with the arguments of a net's own step."""
    return lambda recipe, state, inputs, labels: gradient_step(net, recipe, state, Batch(inputs, labels))


def why_not_fused(input_shape: tuple[int, ...], channels: tuple[int, ...], hidden: int) -> str:
    """What keeps the kernels from training such a network, or nothing."""
    height, width, _ = input_shape
    if height != width:
        return f"images must be square, got {height} x {width}"
    sizes = {"side": height, **{f"channel count {i + 1}": size for i, size in enumerate(channels)}, "hidden": hidden}
    for name, size in sizes.items():
        if size & (size - 1) or (name != "side" and size < SMALLEST_SIDE):
            return f"{name} must be a power of two, at least {SMALLEST_SIDE} but for images, got {size}"
    return ""


def missing_backend() -> str:
    """What keeps the kernels from working with this JAX, or nothing."""
    if jax.__version_info__ >= FIRST_UNKNOWN_JAX:
        return f"the kernels need JAX before {'.'.join(map(str, FIRST_UNKNOWN_JAX))}, got {jax.__version__}"
    try:
        from jax.experimental.pallas import triton
    except Exception as problem:  # a broken installation may raise anything
        return f"Pallas's Triton backend cannot be imported ({type(problem).__name__}: {problem})"
    missing = [name for name in TRITON_NAMES if not hasattr(triton, name)]
    return f"JAX {jax.__version__} has no {missing[0]} in Pallas's Triton backend" if missing else ""


def batch_misfit(inputs: Array, num_convs: int) -> str:
    """What keeps the kernels from training on such a batch for every network, or nothing."""
    _, batch, side = inputs.shape[:3]
    if inputs.dtype != jnp.uint8:
        return f"inputs must be uint8, got {inputs.dtype}"
    if batch & (batch - 1) or batch > LARGEST_BATCH or batch * (side >> num_convs) ** 2 < SMALLEST_SIDE:
        return f"the batch size must be a power of two up to {LARGEST_BATCH} and fill a tile, got {batch}"
    return ""


def kernel_step(recipe: Recipe, state: State, inputs: Array, labels: Array) -> State:
    """One step of all networks by the kernels; a ValueError if the batch does not fit them."""
    from taskorder.engine.kernels.conv import conv_first, conv_pool
    from taskorder.engine.kernels.dense import dense_update

    problem = batch_misfit(inputs, len(state.params["convs"]))
    if problem:
        raise ValueError(f"`form` must not be kernels here: {problem}.")

    def features(convs: Params) -> Array:
        h = conv_first(inputs, convs[0]["w"], convs[0]["b"])
        for layer in convs[1:]:
            h = conv_pool(h, layer["w"], layer["b"])
        return h.reshape(*h.shape[:2], -1)

    def loss(rest: Params, z: Array) -> Array:
        h = jax.nn.relu(z + rest["hidden"]["b"][:, None])
        logits = jnp.einsum("nbi,nij->nbj", h, rest["output"]["w"]) + rest["output"]["b"][:, None]
        return jax.vmap(cross_entropy)(logits, labels).mean(axis=1).sum()

    (params, w), (mean, m), (square, v) = (_split(tree) for tree in (state.params, state.mean, state.square))
    h, back = jax.vjp(features, params["convs"])
    gradient, dz = jax.grad(loss, argnums=(0, 1))(params, jnp.einsum("nbi,nij->nbj", h, w))
    first, second = corrections(recipe, state.steps + 1)
    w, m, v, dh = dense_update(
        h, dz, w, m, v, jnp.stack([recipe.learning_rate / first, lax.rsqrt(second)], axis=1),
        decay_mean=recipe.decay_mean, decay_square=recipe.decay_square, epsilon=recipe.epsilon,
    )  # fmt: skip
    (gradient["convs"],) = back(dh)
    rest = adam(recipe, State(params, mean, square, state.steps, state.memory), gradient)
    return State(_join(rest.params, w), _join(rest.mean, m), _join(rest.square, v), rest.steps, rest.memory)


def _split(tree: Params) -> tuple[Params, Array]:
    """The parameters without the weights of the hidden layer, and these."""
    return {**tree, "hidden": {"b": tree["hidden"]["b"]}}, tree["hidden"]["w"]


def _join(rest: Params, w: Array) -> Params:
    return {**rest, "hidden": {**rest["hidden"], "w": w}}


@functools.cache
def kernels_are_faster(input_shape: tuple[int, ...], num_outputs: int, channels: tuple[int, ...], hidden: int) -> bool:
    """Whether the kernels train such networks faster than gradients do, by measurement; seconds, once a process.

    A JAX without the backend, and whatever fails while measuring (an unknown device, too little memory), count as not
    faster, and are logged; `cnn(..., form="kernels")` raises them.
    """
    problem = missing_backend()
    if not problem:
        net = general_cnn(input_shape, num_outputs, channels, hidden)
        try:
            kernels = seconds_of(kernel_step, net, input_shape)
            return kernels < seconds_of(general_step(net), net, input_shape)
        except Exception as failure:
            problem = f"the first measurement failed ({type(failure).__name__}: {' '.join(str(failure).split())[:200]})"
    logger.warning("GPU kernels are not used, training takes the general form: %s.", problem)
    return False


def seconds_of(
    step: Callable[..., State], net: Net, input_shape: tuple[int, ...], networks: int = NETWORKS, steps: int = 10
) -> float:
    """Seconds for a few steps of many networks at batch 4."""
    recipe = Recipe()
    inputs = jax.random.bits(jax.random.key(1), (networks, recipe.batch_size, *input_shape), jnp.uint8)
    labels = jnp.zeros((networks, recipe.batch_size), jnp.int32)

    @partial(jax.jit, donate_argnums=0)
    def run(state: State, inputs: Array, labels: Array) -> State:
        return lax.fori_loop(0, steps, lambda _, state: step(recipe, state, inputs, labels), state)

    state = run(start(net, jax.random.split(jax.random.key(0), networks)), inputs, labels)
    state.steps.block_until_ready()
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        state = run(state, inputs, labels)
        state.steps.block_until_ready()  # and with it the rest: it is one computation
        best = min(best, time.perf_counter() - begin)
    return best
