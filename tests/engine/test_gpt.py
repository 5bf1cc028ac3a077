"""The language model against the same arithmetic written plainly, one example at a time."""

import math
import pickle

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp

from taskorder.engine import gpt as gpt_module
from taskorder.engine.gpt import gpt

CONTEXT, TOKENS, WIDTH, DEPTH, HEADS = 12, 11, 8, 2, 2
TEXT = np.random.default_rng(0).integers(0, TOKENS, (3, CONTEXT))


@pytest.fixture(scope="module")
def net():
    return gpt(CONTEXT, TOKENS, WIDTH, DEPTH, HEADS)


@pytest.fixture(scope="module")
def params(net):
    """Larger than fresh ones, so that what a part does shows in the logits."""
    fresh = net.init(jax.random.key(0))
    leaves, tree = jax.tree.flatten(fresh)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    noise = [0.3 * jax.random.normal(key, leaf.shape) for key, leaf in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(tree, [leaf + more for leaf, more in zip(leaves, noise, strict=True)])


def logits(net, params, text):
    return np.asarray(jax.jit(net.apply)(params, text))


def norm(h, part):
    return (h - h.mean()) / math.sqrt(h.var() + 1e-5) * part["scale"] + part["shift"]


def gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def plain_logits(params, text):
    """The logits of one example: loops over blocks, places and heads."""
    p = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)
    hs = [p["tokens"][token] + p["positions"][place] for place, token in enumerate(text)]
    size = WIDTH // HEADS
    for number in range(DEPTH):
        block = jax.tree.map(lambda leaf, number=number: leaf[number], p["blocks"])
        parts = [(norm(h, block["norm1"]) @ block["mix"]).reshape(3, HEADS, size) for h in hs]
        for place in range(len(hs)):
            mixed = []
            for head in range(HEADS):
                seen = parts[: place + 1]
                weights = np.exp([parts[place][0, head] @ other[1, head] / math.sqrt(size) for other in seen])
                values = [other[2, head] for other in seen]
                mixed.append(sum(w * v for w, v in zip(weights / weights.sum(), values, strict=True)))
            hs[place] = hs[place] + np.concatenate(mixed) @ block["out"]
        inner = [gelu(norm(h, block["norm2"]) @ block["up"] + block["up_bias"]) for h in hs]
        hs = [h + i @ block["down"] + block["down_bias"] for h, i in zip(hs, inner, strict=True)]
    return np.array([norm(h, p["norm"]) @ p["tokens"].T for h in hs])


def test_it_is_the_plain_arithmetic(net, params):
    expected = np.array([plain_logits(params, text) for text in TEXT])
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(logits(net, params, TEXT), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("place", [0, 5, CONTEXT - 1])
def test_no_logit_sees_a_later_token(net, params, place):
    changed = TEXT.copy()
    changed[:, place] = (changed[:, place] + 1) % TOKENS
    differ = np.abs(logits(net, params, changed) - logits(net, params, TEXT)).max(axis=(0, 2))
    assert (differ[:place] == 0).all()
    assert (differ[place:] > 0).all()


def test_shorter_examples_are_prefixes(net, params):
    np.testing.assert_allclose(logits(net, params, TEXT[:, :7]), logits(net, params, TEXT)[:, :7], rtol=1e-4, atol=1e-5)


def test_many_networks_are_those_of_one(net):
    keys = jax.random.split(jax.random.key(3), 4)
    many = jax.vmap(net.init)(keys)
    together = jax.jit(jax.vmap(net.apply, in_axes=(0, None)))(many, TEXT)
    for number, key in enumerate(keys):
        np.testing.assert_allclose(logits(net, net.init(key), TEXT), together[number], rtol=1e-4, atol=1e-6)


def test_its_size_and_its_first_guess(net):
    sizes = [leaf.size for leaf in jax.tree.leaves(jax.eval_shape(gpt(256).init, jax.random.key(0)))]
    assert sum(sizes) == 3_286_528
    guess = jax.nn.log_softmax(logits(net, net.init(jax.random.key(0)), TEXT))
    np.testing.assert_allclose(guess, -math.log(TOKENS), atol=0.4)


def test_it_travels(net, params):
    again = pickle.loads(pickle.dumps(net))
    np.testing.assert_array_equal(logits(again, params, TEXT), logits(net, params, TEXT))


def test_a_width_that_heads_cannot_share():
    with pytest.raises(ValueError, match="`width` must be a multiple of `heads`, got 10 and 4"):
        gpt(8, width=10)


def loss_of(net):
    tokens = jnp.asarray(TEXT)
    return lambda weights: net.loss.losses(net.apply(weights, tokens), tokens, tokens[:, 0], None).mean()


def gradient_of(net):
    return jax.jit(jax.grad(loss_of(net)))


def test_all_products_of_a_step_are_in_bfloat16_on_an_accelerator(params, monkeypatch):
    monkeypatch.setattr(gpt_module, "_compute_dtype", lambda: jnp.bfloat16)
    net = gpt(CONTEXT, TOKENS, WIDTH, DEPTH, HEADS)
    lines = gradient_of(net).lower(params).as_text().splitlines()
    products = [line.rsplit(": (", 1)[1] for line in lines if "dot_general" in line]
    assert len(products) > 20
    assert [kinds for kinds in products if "f32" in kinds.partition(") ->")[0]] == []
    assert {leaf.dtype for leaf in jax.tree.leaves(jax.eval_shape(gradient_of(net), params))} == {jnp.dtype("float32")}


def stepped(params, direction, size):
    return jax.tree.map(lambda leaf, d: leaf + size * d, params, direction)


def norm_of(tree):
    return math.sqrt(sum(float((leaf**2).sum()) for leaf in jax.tree.leaves(tree)))


def test_gradients_are_slopes_of_the_loss(net, params):
    loss, gradient = jax.jit(loss_of(net)), gradient_of(net)(params)
    for part in gradient:  # of all weights, and of each kind alone: else the large ones hide the small
        direction = {name: jax.tree.map(jnp.zeros_like, tree) for name, tree in gradient.items()} | {
            part: gradient[part]
        }
        step = 1e-2 / norm_of(direction)
        slope = (loss(stepped(params, direction, step)) - loss(stepped(params, direction, -step))) / (2 * step)
        assert float(slope) == pytest.approx(norm_of(direction) ** 2, rel=1e-2)


@pytest.mark.slow("training")
def test_slopes_of_gradients_are_found_forward(net, params):
    """As similarity by curvature asks for."""
    gradient = gradient_of(net)
    direction = gradient(params)
    step = 1e-2 / norm_of(direction)
    bent = jax.jit(lambda tangent: jax.jvp(gradient, (params,), (tangent,))[1])(direction)
    ahead, behind = (gradient(stepped(params, direction, size)) for size in (step, -step))
    slope = jax.tree.map(lambda right, left: (right - left) / (2 * step), ahead, behind)
    assert norm_of(jax.tree.map(jnp.subtract, bent, slope)) < 0.05 * norm_of(slope)
