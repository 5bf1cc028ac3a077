"""Training by the kernels means the same as training by gradients, and is taken where it works and is faster."""

import contextlib
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp

from taskorder.engine import fused, nets
from taskorder.engine.cnn import cnn
from taskorder.engine.train import Batch, Recipe, gradient_step, start, train_task

SHAPE = (16, 16, 1)
with_kernels = pytest.mark.skipif(
    bool(fused.missing_backend()), reason="this JAX has no kernels; the engine does without"
)


def small(**options):
    return cnn(SHAPE, 2, channels=(16, 32), hidden=16, **options)


def batch(networks, shape=SHAPE, size=4):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (networks, size, *shape))
    return jnp.asarray(x, jnp.uint8), jnp.asarray(rng.integers(0, 2, (networks, size)))


def close(ours, plain, tolerance):
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max())


@pytest.mark.slow("training")
@with_kernels
def test_a_step_is_the_general_step():
    net = small(form="columns")
    recipe = Recipe()
    state = start(net, jax.random.split(jax.random.key(0)))
    state = state._replace(steps=jnp.asarray([0, 50]), square=jax.tree.map(lambda v: v + 1e-4, state.square))
    quick = {"xla_backend_optimization_level": 0}  # to compile: the kernels are long
    wanted = jax.jit(lambda state: gradient_step(net, recipe, state, Batch(*batch(2))), compiler_options=quick)(state)
    stepped = jax.jit(lambda state: fused.kernel_step(recipe, state, *batch(2)), compiler_options=quick)(state)
    assert stepped.steps.tolist() == [1, 51]
    assert jax.tree.structure(stepped) == jax.tree.structure(state)
    close(stepped[:3], wanted[:3], 2e-5)


def test_training_takes_the_step_of_a_net(digits):
    """It gets all networks and the inputs as they are in the pool."""
    train, _ = digits

    def step(recipe, state, inputs, labels):
        assert (inputs.dtype, inputs.shape, labels.shape) == (jnp.uint8, (3, 4, 8, 8, 1), (3, 4))
        return state._replace(steps=state.steps + 1, params=jax.tree.map(lambda leaf: leaf + 1, state.params))

    net = replace(nets.mlp((8, 8, 1), 2, hidden=(4,)), step=step)
    state = start(net, jax.random.split(jax.random.key(3), 3))
    first = np.asarray(state.params[1]["b"])
    keys = jax.random.split(jax.random.key(0), 1)
    done = train_task(
        net, Recipe(epochs=2), state, train, jnp.zeros(3, int), keys, jnp.zeros(1, int), jnp.asarray(5)
    )  # fmt: skip
    assert done.steps.tolist() == [10, 10, 10]
    np.testing.assert_allclose(done.params[1]["b"], first + 10)


@with_kernels
@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((28, 28, 1), {}, "side must be a power of two.*got 28"),
        ((16, 32, 1), {}, "square, got 16 x 32"),
        ((16, 16, 1), {"channels": (16, 24)}, "channel count 2 must be .*got 24"),
        ((16, 16, 1), {"channels": (8, 16)}, "channel count 1 must be .*got 8"),
        ((16, 16, 1), {"hidden": 100}, "hidden must be .*got 100"),
    ],
)
def test_networks_that_do_not_fit(shape, options, message, monkeypatch):
    with pytest.raises(ValueError, match=message):
        cnn(shape, 2, form="kernels", **options)
    on_a_gpu(monkeypatch, kernels=1.0, general=2.0)
    assert cnn(shape, 2, **options).step is None


@with_kernels
@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (jnp.zeros((1, 4, *SHAPE)), "uint8, got float32"),
        (jnp.zeros((1, 3, *SHAPE), jnp.uint8), "batch size must be .*got 3"),
        (jnp.zeros((1, 16, *SHAPE), jnp.uint8), "batch size must be .*got 16"),
        (jnp.zeros((1, 2, 8, 8, 1), jnp.uint8), "fill a tile, got 2"),
    ],
)
def test_batches_that_do_not_fit(inputs, message, monkeypatch):
    """The forced form raises, the chosen one trains by gradients."""
    on_a_gpu(monkeypatch, kernels=1.0, general=2.0)
    chosen = cnn(inputs.shape[2:], 2, channels=(16, 16), hidden=16)
    state = jax.eval_shape(lambda key: start(chosen, key), jax.random.split(jax.random.key(0), 1))
    labels = jnp.zeros(inputs.shape[:2], int)
    forced = cnn(inputs.shape[2:], 2, channels=(16, 16), hidden=16, form="kernels")
    with pytest.raises(ValueError, match=message):
        jax.eval_shape(lambda state: forced.step(Recipe(), state, inputs, labels), state)
    monkeypatch.setattr(fused, "kernel_step", None)
    after = jax.eval_shape(lambda state: chosen.step(Recipe(), state, inputs, labels), state)
    assert jax.tree.structure(after) == jax.tree.structure(state)


def on_a_gpu(monkeypatch, kernels, general):
    """As on a GPU where steps take so many seconds; an exception is raised."""

    def seconds(step, net, input_shape):
        time = kernels if step is fused.kernel_step else general
        if isinstance(time, Exception):
            raise time
        return time

    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(nets, "conv_form", lambda backend: "columns")
    monkeypatch.setattr(fused, "seconds_of", seconds)
    fused.kernels_are_faster.cache_clear()


@with_kernels
def test_the_faster_step_is_taken(monkeypatch):
    on_a_gpu(monkeypatch, kernels=1.0, general=2.0)
    assert small().step is not None
    assert small(form="columns").step is None
    on_a_gpu(monkeypatch, kernels=2.0, general=1.0)
    assert small().step is None
    fused.kernels_are_faster.cache_clear()


@with_kernels
def test_a_failing_measurement_takes_the_general_form_and_says_so_once(monkeypatch, caplog):
    on_a_gpu(monkeypatch, kernels=RuntimeError("no\nTriton"), general=1.0)
    assert small().step is None
    assert small().step is None
    (line,) = caplog.messages
    assert line.endswith("general form: the first measurement failed (RuntimeError: no Triton).")
    fused.kernels_are_faster.cache_clear()


def newer_jax(monkeypatch):
    monkeypatch.setattr(jax, "__version_info__", (0, 13, 0))
    monkeypatch.setattr(jax, "__version__", "0.13.0")
    return "the kernels need JAX before 0.13, got 0.13.0"


def older_jax(monkeypatch):
    monkeypatch.setattr(jax, "__version_info__", (0, 5, 0))
    monkeypatch.setattr(jax, "__version__", "0.5.0")
    from jax.experimental.pallas import triton

    monkeypatch.delattr(triton, "CompilerParams")
    return "JAX 0.5.0 has no CompilerParams in Pallas's Triton backend"


def no_pallas(monkeypatch):
    monkeypatch.setattr(jax, "__version_info__", (0, 11, 9))
    monkeypatch.setitem(sys.modules, "jax.experimental.pallas", None)
    return "Pallas's Triton backend cannot be imported (ModuleNotFoundError"


@with_kernels
@pytest.mark.parametrize("broken", [newer_jax, older_jax, no_pallas])
def test_without_the_backend_training_takes_the_general_form_and_says_so_once(broken, monkeypatch, caplog):
    on_a_gpu(monkeypatch, kernels=1.0, general=2.0)
    reason = broken(monkeypatch)
    assert fused.missing_backend().startswith(reason)
    assert small().step is None
    assert small().step is None
    (line,) = caplog.messages
    assert line.startswith(f"GPU kernels are not used, training takes the general form: {reason}")
    with pytest.raises(ValueError, match=r"`form` must not be kernels here: .*(JAX|Pallas)"):
        small(form="kernels")
    fused.kernels_are_faster.cache_clear()


def test_a_cpu_trains_by_gradients(monkeypatch):
    monkeypatch.setattr(nets, "conv_form", lambda backend: "columns")
    assert small().step is None


def test_steps_are_timed_on_the_shapes_at_hand():
    seen = []

    def step(recipe, state, inputs, labels):
        seen.append((inputs.shape, inputs.dtype, labels.shape))
        return state._replace(steps=state.steps + 1)

    assert fused.seconds_of(step, small(form="columns"), SHAPE, networks=2) > 0
    assert set(seen) == {((2, 4, 16, 16, 1), jnp.dtype("uint8"), (2, 4))}


def some_gpu():
    """What JAX 0.12 and later want to know before they make code for a GPU that is not there."""
    if jax.__version_info__ < (0, 12):
        return contextlib.nullcontext()
    device = jax.sharding.AbstractDevice("NVIDIA H100 80GB HBM3", None, "gpu")
    return jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), (), abstract_device=device))


@with_kernels
@pytest.mark.filterwarnings("ignore:The Pallas Triton backend is deprecated:DeprecationWarning")
def test_the_papers_step_lowers_for_cuda(monkeypatch):
    """Without a GPU: Pallas makes Triton code of every kernel."""
    net = cnn((32, 32, 3), 2, form="columns")
    state = jax.eval_shape(lambda key: start(net, key), jax.random.split(jax.random.key(0)))
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    inputs = batch(2, (32, 32, 3))
    try:
        with some_gpu():
            traced = jax.jit(lambda *a: fused.kernel_step(Recipe(), *a)).trace(state, *inputs)
            text = traced.lower(lowering_platforms=("cuda",)).as_text()
    except (NotImplementedError, ImportError) as missing:
        pytest.skip(f"this JAX cannot lower for CUDA here: {missing}")
    assert len(re.findall(r"custom_call @[^(]*triton", text)) == 6  # 2 convolutions, 3 gradients, the dense update
