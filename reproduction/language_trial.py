"""How well models of single corpora are trained by settings of `reproduction.language_runs`: a look before the orders.

    python -m reproduction.language_trial --width 256 --depth 4 --batch 8 --rate 1e-3 --epochs 2

It prints bits a byte on the test windows of all corpora after every quarter of an epoch, and the seconds so far. No
order is trained, so that settings may be chosen by it.
"""

from __future__ import annotations

import argparse
import math
import time

from reproduction.corpora import CORPORA
from reproduction.language_runs import FILE, pool_of, texts_of
from taskorder.datasets.sources import data_folder

PARTS = 4
"""Looks in an epoch."""


def main() -> None:
    """Train a model of every corpus, all at once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, kind, default in (
        ("context", int, 256), ("width", int, 256), ("depth", int, 4), ("batch", int, 16), ("rate", float, 1e-3),
        ("epochs", int, 4),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=kind, default=default)
    args = parser.parse_args()

    import jax
    import jax.numpy as jnp

    from taskorder.engine.evaluate import evaluate
    from taskorder.engine.gpt import gpt
    from taskorder.engine.train import Recipe, start, train_task

    texts = texts_of(data_folder() / FILE, tuple(CORPORA), args.context)
    net, recipe = gpt(args.context, width=args.width, depth=args.depth), Recipe(1, args.batch, args.rate)
    train, test = pool_of(texts.train), pool_of(texts.test)
    rows = jnp.arange(len(CORPORA))
    state = start(net, jax.random.split(jax.random.key(0), len(rows)))
    steps, began = texts.train.shape[1] // args.batch // PARTS, time.perf_counter()
    for look in range(args.epochs * PARTS):
        epoch, part = divmod(look, PARTS)
        keys = jax.random.split(jax.random.key(1 + epoch), len(rows))
        begin = jnp.asarray(part * steps)
        state = train_task(net, recipe, state, train, rows, keys, rows, jnp.asarray(steps), begin=begin)
        bits = evaluate(net, state.params, test, rows[:, None]).loss[:, 0] / math.log(2)
        each = ", ".join(f"{name} {value:.2f}" for name, value in zip(CORPORA, bits.tolist(), strict=True))
        seconds = time.perf_counter() - began
        print(f"{(look + 1) * steps} steps, {seconds:.0f} s, mean {bits.mean():.2f}, {each}", flush=True)


if __name__ == "__main__":
    main()
