"""A small language model: a decoder of the GPT kind, from tokens to the logits of the next token at every place.

Every block adds attention and a two-layer network to its input, each behind a layer norm; positions are learned and
the embedding also reads the output. Blocks are one scan over stacked parameters, which compiles one block whatever
their number, and what a block computes is computed again in the backward pass instead of kept: many networks in
training at once are bound by memory. Matrix products run in bfloat16 on accelerators, backward as well; parameters,
sums, norms and logits are float32.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax

from taskorder.engine.losses import NextToken
from taskorder.engine.nets import Net, Params

SPREAD = 0.02
"""Standard deviation of the first weights."""


def gpt(context: int, num_tokens: int = 256, width: int = 256, depth: int = 4, heads: int = 4) -> Net:
    """A language model of `num_tokens` tokens, bytes by default; the default has 3.3 million parameters.

    context: the most tokens of one example. Its `apply` takes (batch, T) integers, T at most `context`, and gives
    (batch, T, num_tokens) logits: those at place t see the tokens up to t.

    Examples
    --------
    >>> net = gpt(context=8, num_tokens=5, width=4, depth=1, heads=2)
    >>> net.apply(net.init(jax.random.key(0)), jnp.zeros((3, 8), jnp.int32)).shape
    (3, 8, 5)
    """
    if width % heads:
        raise ValueError(f"`width` must be a multiple of `heads`, got {width} and {heads}.")

    def init(key: Array) -> Params:
        def normal(place: int, *shape: int) -> Array:
            return SPREAD * jax.random.normal(jax.random.fold_in(key, place), shape)

        # What a block adds is smaller the more blocks there are, so that their sum stays as large as its input.
        added = (2 * depth) ** -0.5
        return {
            "tokens": normal(0, num_tokens, width),
            "positions": normal(1, context, width),
            "blocks": {
                "norm1": _norm(depth, width),
                "mix": normal(2, depth, width, 3 * width),
                "out": added * normal(3, depth, width, width),
                "norm2": _norm(depth, width),
                "up": normal(4, depth, width, 4 * width),
                "up_bias": jnp.zeros((depth, 4 * width)),
                "down": added * normal(5, depth, 4 * width, width),
                "down_bias": jnp.zeros((depth, width)),
            },
            "norm": _norm(width),
        }

    def apply(params: Params, tokens: Array) -> Array:
        tokens = tokens.astype(jnp.int32)
        T = tokens.shape[1]
        h = params["tokens"][tokens] + params["positions"][:T]
        h, _ = lax.scan(jax.checkpoint(partial(_block, heads)), h, params["blocks"])
        return _product(_normed(h, params["norm"]), params["tokens"].T, jnp.float32)

    return Net(init, apply, loss=NextToken(), again=partial(gpt, context, num_tokens, width, depth, heads))


def _block(heads: int, h: Array, block: Params) -> tuple[Array, None]:
    batch, T, width = h.shape
    parts = _product(_normed(h, block["norm1"]), block["mix"], _compute_dtype())
    query, key, value = jnp.moveaxis(parts.reshape(batch, T, 3, heads, width // heads), 2, 0)
    scores = _contracted("bthd", "bshd", "bhts", query, key, jnp.float32) * (width // heads) ** -0.5
    seen = jnp.tril(jnp.ones((T, T), bool))
    weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1).astype(_compute_dtype())
    mixed = _contracted("bhts", "bshd", "bthd", weights, value, _compute_dtype())
    h = h + _product(mixed.reshape(batch, T, width), block["out"], jnp.float32)
    inner = _product(_normed(h, block["norm2"]), block["up"], _compute_dtype())
    inner = jax.nn.gelu(inner + block["up_bias"]).astype(_compute_dtype())
    return h + _product(inner, block["down"], jnp.float32) + block["down_bias"], None


def _product(x: Array, w: Array, dtype: type) -> Array:
    """(batch, T, inputs) by (inputs, outputs)."""
    return _contracted("bti", "io", "bto", x, w, dtype)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2, 5))
def _contracted(left: str, right: str, result: str, x: Array, y: Array, dtype: type) -> Array:
    """einsum of operands that are rounded to `_compute_dtype`, with float32 sums, kept as `dtype`; backward likewise.

    The rule of JAX would multiply float32 gradients by operands in bfloat16 as float32: two thirds of all products.
    """
    return _contracted_forward(left, right, result, x, y, dtype)[0]


def _contracted_forward(
    left: str, right: str, result: str, x: Array, y: Array, dtype: type
) -> tuple[Array, tuple[Array, ...]]:
    operands = x.astype(_compute_dtype()), y.astype(_compute_dtype())
    found = jnp.einsum(f"{left},{right}->{result}", *operands, preferred_element_type=dtype)
    return found, (*operands, jnp.zeros(0, x.dtype), jnp.zeros(0, y.dtype))


def _contracted_backward(
    left: str, right: str, result: str, dtype: type, saved: tuple[Array, ...], gradient: Array
) -> tuple[Array, Array]:
    x, y, like_x, like_y = saved
    gradient = gradient.astype(_compute_dtype())
    of_x = jnp.einsum(f"{result},{right}->{left}", gradient, y, preferred_element_type=like_x.dtype)
    of_y = jnp.einsum(f"{left},{result}->{right}", x, gradient, preferred_element_type=like_y.dtype)
    return of_x, of_y


_contracted.defvjp(_contracted_forward, _contracted_backward)


def _compute_dtype() -> type:
    return jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16


def _norm(*shape: int) -> dict[str, Array]:
    return {"scale": jnp.ones(shape), "shift": jnp.zeros(shape)}


def _normed(h: Array, norm: dict[str, Array]) -> Array:
    centered = h - h.mean(axis=-1, keepdims=True)
    return centered * lax.rsqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-5) * norm["scale"] + norm["shift"]
