"""Pairs of tasks learned one after the other, and the retention in them, by how the second task is learned.

Question: what sets the retention d of a plain network? d enters the law of retention (`taskorder.theory.law`) as

    M_ik = m_k + d (m_i - m_k m_ik)

with m_i the knowledge of all tasks after task i alone and M_ik after i and then k. Fixed before the first run:

grid        Every cell differs from the base (Fashion-MNIST, five binary tasks, perceptron 128-64, 12,000 images a task,
            1,000 steps of the first task, batch 4, rate 1e-3) in one setting: steps of the first task, rate, width,
            batch, images. The second task is tested after 30, 100, 300, 1,000 (and, for the base and the rates, 3,000)
            steps; m_k is that of a network that learned k alone for as many steps. Adam's state is carried over.
            The same grid of the base for other data sets: CIFAR-100 and the digits of scikit-learn.
statistic   With two seeds of every task set, d = sum(x' y) / sum(x' x) over pairs and tasks j other than k, where
            y = M_ikj - m_kj, x = m_ij - m_kj m_ik and x' is x of the other seed, which noise of training does not
            bias. Intervals are 95 %, over task sets.
form        logit d = a - b log(steps), and in its place log d; then terms in log rate, log width, log batch, log images
            and log first steps, each with its interval. Cells of other data sets, and the committed runs of full
            orders, are predicted from the fit and not part of it.

Changed afterwards: 16 task sets a cell in place of 8, because the intervals of 8 decided little.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from taskorder.checks import Floats
from taskorder.datasets import load
from taskorder.datasets.class_tasks import draw_task_set, lookup_table, task_indices
from taskorder.datasets.dataset import Dataset
from taskorder.runs.specs import RunSpec, shared_settings
from taskorder.stratified import stratified_share

if TYPE_CHECKING:
    from taskorder.engine.nets import Net
    from taskorder.engine.train import Pool

KIND = "neural.pairs.1"
NUM_TASKS, NUM_SEEDS = 5, 2
TEST_IMAGES = 1000
"""Of each task, at most."""
PAIRS = tuple(itertools.permutations(range(NUM_TASKS), 2))
HIDDEN = (128, 64)
"""Of the perceptron at width 1."""


@dataclass(frozen=True)
class Cell:
    """How pairs are learned."""

    dataset: str = "fashion-mnist"
    steps: tuple[int, ...] = (30, 100, 300, 1000)
    """Of the second task: when it is tested."""
    first_steps: int = 1000
    learning_rate: float = 1e-3
    batch_size: int = 4
    width: float = 1.0
    images: int = 12_000
    """Of each task, at most."""

    def specs(self, num_sets: int) -> list[RunSpec]:
        """One run for each task set and seed, the seeds of a set side by side."""
        settings = {**asdict(self), "steps": list(self.steps)}
        numbers = itertools.product(range(num_sets), range(NUM_SEEDS))
        return [RunSpec(KIND, {**settings, "set": number, "seed": seed}) for number, seed in numbers]


def run_batch(specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
    """The knowledge of every task after single tasks and after pairs; the runs must agree in all but set and seed.

    `single`: (checkpoints, P, P) after each of `steps` alone; `first`: (P, P) after `first_steps`; `pair`:
    (checkpoints, pairs, P) after the second task, in the order of `PAIRS`.
    """
    import jax
    import jax.numpy as jnp

    from taskorder.engine.evaluate import evaluate
    from taskorder.engine.train import Recipe, State, start, train_task

    params = shared_settings(specs[0].params)
    data = _dataset(params["dataset"])
    train, test = (_pool(data, specs, split) for split in ("train", "test"))
    net = _network(tuple(train.inputs.shape[1:]), params["width"])
    recipe = Recipe(epochs=1, batch_size=params["batch_size"], learning_rate=params["learning_rate"])
    epoch = int(np.min(train.counts)) // recipe.batch_size
    streams = [(place, task) for place in range(len(specs)) for task in range(NUM_TASKS)]
    tasks = jnp.asarray([place * NUM_TASKS + task for place, task in streams])
    tested = {place: [place * NUM_TASKS + task for task in range(NUM_TASKS)] for place in range(len(specs))}

    def trajectory(state: State, learned: Sequence[int], stops: Sequence[int], keep: int = 0) -> tuple[Any, Any]:
        """(stops, networks, P) knowledge on the way, and the networks after `keep` steps."""
        rows = jnp.asarray(learned)
        about = jnp.asarray([tested[streams[stream][0]] for stream in learned])
        found, kept, done = {}, None, 0
        for chunk, (begin, end) in enumerate(_chunks(sorted({*stops, keep} - {0}), epoch)):
            # Examples come in the same sequence whenever a task is learned, whatever was learned before.
            keys = jnp.stack([_key(jax, specs[place], task, chunk) for place, task in streams])
            state = train_task(net, recipe, state, train, rows, keys, tasks, jnp.asarray(end - begin))
            done = end
            if done in stops:
                scores = evaluate(net, state.params, test, about)
                found[done] = _knowledge(*(np.asarray(score, dtype=float) for score in scores))
            if done == keep:
                kept = state.take(jnp.arange(len(learned)))
        return np.array([found[stop] for stop in stops]), kept

    keys = jnp.stack([jax.random.key(_seed(spec)) for spec in specs for _ in range(NUM_TASKS)])
    first_steps, steps = params["first_steps"], params["steps"]
    wanted = sorted({*steps, first_steps})
    alone, after_first = trajectory(start(net, keys), range(len(streams)), wanted, first_steps)
    parents = [place * NUM_TASKS + i for place in range(len(specs)) for i, _ in PAIRS]
    learned = [place * NUM_TASKS + k for place in range(len(specs)) for _, k in PAIRS]
    both, _ = trajectory(after_first.take(jnp.asarray(parents)), learned, steps)
    return [
        {
            "first": _rounded(alone[wanted.index(first_steps), own]),
            "single": _rounded(alone[[wanted.index(stop) for stop in steps], own]),
            "pair": _rounded(both[:, slice(place * len(PAIRS), (place + 1) * len(PAIRS))]),
        }
        for place in range(len(specs))
        for own in [slice(place * NUM_TASKS, (place + 1) * NUM_TASKS)]
    ]


def _chunks(stops: Sequence[int], epoch: int) -> list[tuple[int, int]]:
    """From 0 to the last stop in parts that end at every stop and are no longer than an epoch.

    >>> _chunks([30, 100], 50)
    [(0, 30), (30, 80), (80, 100)]
    """
    parts, begin = [], 0
    for stop in stops:
        while begin < stop:
            end = min(stop, begin + epoch)
            parts.append((begin, end))
            begin = end
    return parts


def _seed(spec: RunSpec) -> int:
    return int(spec.params["set"]) * 1000 + int(spec.params["seed"])


def _key(jax: Any, spec: RunSpec, task: int, chunk: int) -> Any:
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(_seed(spec)), 1 + task), chunk)


def _rounded(values: Floats) -> Any:
    return np.round(values, 4).tolist()


def _knowledge(accuracy: Floats, loss: Floats, chance: Floats) -> Floats:
    """Of binary tasks, as `taskorder.tables.knowledge` has it."""
    return np.asarray(1 - (2 * (1 - accuracy) + loss / chance) / 2)


@lru_cache(maxsize=1)
def _dataset(name: str) -> Dataset:
    return load(name)


@lru_cache(maxsize=8)
def _network(shape: tuple[int, ...], width: float) -> Net:
    """One object for equal networks, because JAX compiles anew for every object."""
    from taskorder.engine.nets import mlp

    return mlp(shape, 2, tuple(round(width * size) for size in HIDDEN))


def _pool(data: Dataset, specs: Sequence[RunSpec], split: str) -> Pool:
    """The tasks of all runs, one run after another."""
    from taskorder.engine.pools import make_pool

    labels = getattr(data, f"{split}_labels")
    most = TEST_IMAGES if split == "test" else specs[0].params["images"]
    rows, targets = [], []
    for spec in specs:
        number = spec.params["set"]
        for index, task in enumerate(draw_task_set(data.class_names, NUM_TASKS, 2, seed=number).tasks):
            chosen = task_indices(labels, task)
            if len(chosen) > most:
                chosen = chosen[stratified_share(labels[chosen], most / len(chosen), seed=100 * number + index)]
            rows.append(chosen)
            targets.append(lookup_table(task, data.num_classes)[labels[chosen]])
    return make_pool(getattr(data, f"{split}_inputs"), rows, targets)


def moments(results: Sequence[Mapping[str, Any]]) -> Floats:
    """(checkpoints, 2) sums of x' y and x' x over the pairs of a task set, from the runs of its two seeds."""
    x, y = zip(*(_regression(result) for result in results), strict=True)
    yx = sum((x[1 - seed] * y[seed]).sum(axis=(1, 2)) for seed in range(NUM_SEEDS))
    xx = sum((x[1 - seed] * x[seed]).sum(axis=(1, 2)) for seed in range(NUM_SEEDS))
    return np.stack([np.asarray(yx), np.asarray(xx)], axis=1)


def _regression(result: Mapping[str, Any]) -> tuple[Floats, Floats]:
    """(checkpoints, pairs, P) x and y; 0 for the second task of a pair."""
    first, single, both = (np.asarray(result[name]) for name in ("first", "single", "pair"))
    i, k = np.array(PAIRS).T
    m_i, m_k = first[i], single[:, k]
    x = m_i - m_k * m_i[np.arange(len(k)), k][:, None]
    y = both - m_k
    for part in (x, y):
        part[:, np.arange(len(k)), k] = 0.0
    return x, y
