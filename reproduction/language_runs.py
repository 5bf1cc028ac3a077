"""A byte-level language model learns five corpora, one after another, in every order.

One result is one set of corpora with one seed: the loss on every corpus, in bits a byte, after every prefix of an
order; the same of models of single corpora that learn from a tenth of each; and of a model that learns all corpora
mixed, in as many steps as a whole order takes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reproduction.corpora import CORPORA
from taskorder.arguments import BadArgument
from taskorder.checks import Floats, Ints
from taskorder.datasets.sources import data_folder
from taskorder.prefixes import Prefix, PrefixTree
from taskorder.runs.specs import RunSpec
from taskorder.strategies import Replay

if TYPE_CHECKING:
    from taskorder.engine.train import Pool

KIND = "neural.languages.1"
FILE = "corpora.npz"
NUM_TASKS = 5
PILOT_SHARE = 0.1
"""Of the windows of a corpus; a fifth of these is not learned from, but tests."""
PILOTS = {"10%": 1, "10%, as many steps as half a corpus": 5}
"""How many times as many epochs the models of a pilot take."""
KEPT = 512
"""Windows of each corpus that replay keeps, an eighth of all."""


@dataclass(frozen=True)
class Texts:
    """Windows of bytes."""

    train: NDArray[np.uint8]
    """(corpora, windows, context)."""
    test: NDArray[np.uint8]


def chosen_corpora(number: int) -> tuple[str, ...]:
    """The corpora of a set, drawn at random.

    >>> len(set(chosen_corpora(0))), chosen_corpora(0) == chosen_corpora(1)
    (5, False)
    """
    rng = np.random.default_rng([number, NUM_TASKS])
    return tuple(np.array(list(CORPORA))[rng.permutation(len(CORPORA))[:NUM_TASKS]].tolist())


def windows(texts: NDArray[np.uint8], context: int) -> NDArray[np.uint8]:
    """(corpora, windows, context) from (corpora, bytes); what is left at the end is dropped.

    >>> windows(np.arange(7, dtype=np.uint8)[None], 3).tolist()
    [[[0, 1, 2], [3, 4, 5]]]
    """
    count = texts.shape[1] // context
    return texts[:, : count * context].reshape(len(texts), count, context)


@lru_cache(maxsize=1)
def texts_of(path: Path, corpora: tuple[str, ...], context: int) -> Texts:
    """The windows of some corpora."""
    try:
        with np.load(path) as file:
            names = file["names"].tolist()
            rows = [names.index(name) for name in corpora]
            return Texts(*(windows(file[part][rows], context) for part in ("train", "test")))
    except FileNotFoundError:
        raise BadArgument(
            f"`{path}` must hold the corpora, got no such file. "
            "Make it as `python -m reproduction.corpora --help` says."
        ) from None


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """Results of specs; those that agree in all but the set and the seed are trained together."""
    by_setting: dict[str, list[int]] = {}
    for place, spec in enumerate(specs):
        alike = {key: value for key, value in spec.params.items() if key not in ("set", "seed")}
        by_setting.setdefault(RunSpec(spec.kind, alike).digest, []).append(place)
    results: dict[int, dict[str, Any]] = {}
    for places in by_setting.values():
        trained = _train([specs[place].params for place in places])
        results.update(zip(places, trained, strict=True))
    return [results[place] for place in range(len(specs))]


def _train(params: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    from taskorder.engine.gpt import gpt
    from taskorder.engine.train import Recipe
    from taskorder.engine.tree import Curriculum, train_orders

    first = params[0]
    sets = sorted({each["set"] for each in params})
    texts = texts_of(
        data_folder() / FILE, tuple(name for number in sets for name in chosen_corpora(number)), first["context"]
    )
    net = gpt(first["context"], width=first["width"], depth=first["depth"])
    strategy = Replay(KEPT, share=first["replay"]) if first["replay"] else None
    recipe = Recipe(first["epochs"], first["batch_size"], first["learning_rate"], strategy=strategy)
    places = {number: tuple(range(NUM_TASKS * place, NUM_TASKS * (place + 1))) for place, number in enumerate(sets)}
    how: dict[str, Any] = {"max_networks": first["max_networks"]}

    def curricula(tasks: Sequence[Sequence[int]], orders: Sequence[Prefix]) -> list[Curriculum]:
        return [
            Curriculum(tuple(of_set), tuple(orders), 1000 * each["set"] + each["seed"])
            for each, of_set in zip(params, tasks, strict=True)
        ]

    own = [places[each["set"]] for each in params]
    orders = list(itertools.permutations(range(NUM_TASKS)))
    train, test = pool_of(texts.train), pool_of(texts.test)
    ends, _ = train_orders(net, train, test, curricula(own, orders), recipe=recipe, **how)
    results: list[dict[str, Any]] = [
        {
            "corpora": list(chosen_corpora(each["set"])),
            "beginnings": [".".join(map(str, prefix)) for prefix in PrefixTree(orders).rows],
            "loss": _bits([end.loss[row, len(prefix)] for prefix, row in PrefixTree(orders).rows.items()]),
        }
        for each, end in zip(params, ends, strict=True)
    ]
    if strategy is not None:
        return results

    # Pilots: single corpora, from a tenth of each, tested on what they left out.
    learned, left = _split(texts.train.shape[1])
    singles = [(k,) for k in range(NUM_TASKS)]
    for name, times in PILOTS.items():
        longer = replace(recipe, epochs=times * recipe.epochs, batch_size=min(recipe.batch_size, len(learned)))
        small, rest = (pool_of(texts.train, rows) for rows in (learned, left))
        tables, _ = train_orders(net, small, rest, curricula(own, singles), recipe=longer, **how)
        for result, table in zip(results, tables, strict=True):
            known = {"start": _bits([table.loss[0, 0]])[0], "loss": _bits(table.loss[:, 1])}
            result.setdefault("pilots", {})[name] = known

    at_once, _ = train_orders(net, train, test, curricula(own, orders[:1]), recipe=recipe, joint=True, **how)
    for result, end in zip(results, at_once, strict=True):
        result["mixed"] = _bits(end.loss[:, -1])[0]
    return results


def pool_of(texts: NDArray[np.uint8], rows: Ints | None = None) -> Pool:
    """Every corpus as a task; some of its windows only where `rows` are given."""
    from taskorder.engine.pools import make_pool

    corpora, count = texts.shape[:2]
    rows = np.arange(count) if rows is None else rows
    tasks = [rows + count * place for place in range(corpora)]
    return make_pool(texts.reshape(corpora * count, -1), tasks, [np.zeros(len(task), np.int64) for task in tasks])


def _split(count: int) -> tuple[Ints, Ints]:
    """The windows of a pilot: those to learn from, and those to test on."""
    chosen = np.random.default_rng(0).permutation(count)[: round(PILOT_SHARE * count)]
    fifth = len(chosen) // 5
    return np.sort(chosen[fifth:]), np.sort(chosen[:fifth])


def _bits(losses: Sequence[Floats] | Floats) -> list[list[float]]:
    """Nats as bits, with six digits."""
    return [[float(f"{value / math.log(2):.6g}") for value in row] for row in np.asarray(losses)]
