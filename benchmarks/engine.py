"""The engine against the plain loop, side by side in one run.

    python benchmarks/engine.py [steps] [strategies] [tree] [compile] [forms] [memory] [kernels] [--torch]

steps  network-steps a second at batch 4 with Adam: ours at several numbers of networks, in the form of convolution
       that the engine chooses; the baseline is the authors' way, one jitted step a batch from a Python loop with
       XLA's own convolution, data already in memory; PyTorch's vmap where asked for (--torch)
strategies  network-steps a second with strategies and heads over plain training with as large a batch, in the middle of
       an order; and how many plain steps it takes to remember a task at its end
tree   all orders of five tasks: trainings of the order tree against orders trained alone, with evaluation
compile  seconds that the first call of a shape takes beyond the second, for training and testing
forms  (CPU) seconds of each form of convolution, three rounds
memory  a long run in small: what the process holds after a quarter, a half and all of many task sets
kernels  (GPU) one step of the CNN: gradients of our kernels and of the general form against float32 at its highest
       precision, relative errors; what is left is TF32 that turns ReLUs near zero
"""

from __future__ import annotations

import functools
import itertools
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from common import save, show

from taskorder.engine.cnn import cnn
from taskorder.engine.evaluate import evaluate
from taskorder.engine.fused import general_step, kernel_step, seconds_of
from taskorder.engine.losses import as_floats, cross_entropy
from taskorder.engine.nets import Net, general_cnn, mlp
from taskorder.engine.ops import CONV_FORMS, _seconds, conv_form
from taskorder.engine.past import first_memory
from taskorder.engine.pools import make_pool
from taskorder.engine.train import Batch, Pool, Recipe, gradient_step, remembered, start, train_task
from taskorder.engine.tree import Curriculum, lookback_of, train_orders
from taskorder.runs import settings
from taskorder.runs import training as runs
from taskorder.runs.specs import RunSpecs
from taskorder.runs.store import Store
from taskorder.strategies import EWC, Distill, L2Init, Replay

SHAPES = {"mlp": (28, 28, 1), "cnn": (32, 32, 3)}
ON_CPU = jax.default_backend() == "cpu"
BATCH = 4
ROUNDS = 3
"""Ours and the plain loop take turns: the ratio is the median of the rounds, for speeds drift on shared machines."""
COUNTS = {"mlp": ((64, 512, 4096), (1, 8, 32, 128)), "cnn": ((64, 512, 1024), (1, 4, 16))}
"""Networks trained at once, on an accelerator and on a CPU."""


def random_pool(shape: tuple[int, ...], num_tasks: int, examples: int, seed: int = 0) -> Pool:
    """Random images and labels: speed does not depend on what they show."""
    rng = np.random.default_rng(seed)
    inputs = rng.integers(0, 256, (num_tasks * examples, *shape), dtype=np.uint8)
    rows = [np.arange(t * examples, (t + 1) * examples) for t in range(num_tasks)]
    return make_pool(inputs, rows, [rng.integers(0, 2, examples) for _ in range(num_tasks)])


def num_parameters(net: Net) -> int:
    """Weights and biases of one network."""
    return sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(net.init, jax.random.key(0))))


def ours(net: Net, pool: Pool, networks: int, steps: int) -> float:
    """Network-steps a second, compilation left out, shuffling of the data included."""
    recipe = Recipe(epochs=1, batch_size=BATCH)
    tasks = jnp.arange(len(pool.counts))
    keys = jax.random.split(jax.random.key(1), len(tasks))
    streams = jnp.arange(networks) % len(tasks)
    state = start(net, jax.random.split(jax.random.key(0), networks))
    for _ in range(2):  # the first is for compiling
        begin = time.perf_counter()
        state = train_task(net, recipe, state, pool, streams, keys, tasks, jnp.asarray(steps))
        jax.block_until_ready(state)
    return networks * steps / (time.perf_counter() - begin)


def plain_loop(net: Net, pool: Pool, steps: int) -> float:
    """Steps a second of one network, one jitted step a batch, as the authors' code does it."""

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        return cross_entropy(net.apply(params, as_floats(x)), y).mean()

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
    def step(params: Any, mean: Any, square: Any, t: jax.Array, x: jax.Array, y: jax.Array) -> Any:
        g = jax.grad(loss)(params, x, y)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, g)
        square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, square, g)
        rates = 1 - 0.9**t, 1 - 0.999**t
        params = jax.tree.map(
            lambda p, m, v: p - 1e-3 * (m / rates[0]) / (jnp.sqrt(v / rates[1]) + 1e-8), params, mean, square
        )
        return params, mean, square

    params = net.init(jax.random.key(0))
    state = params, jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params)
    images, labels = np.asarray(pool.inputs), np.asarray(pool.labels[0])
    rng = np.random.default_rng(0)
    for _ in range(2):  # the first is for compiling
        begin = time.perf_counter()
        for t in range(steps):
            rows = rng.integers(0, len(labels), BATCH)
            state = step(*state, jnp.float32(t + 1), images[rows], labels[rows])
        jax.block_until_ready(state)
    return steps / (time.perf_counter() - begin)


def torch_vmap(kind: str, networks: int, steps: int) -> float:
    """Network-steps a second of PyTorch's functional API over stacked models; Adam by hand on stacked tensors."""
    import torch
    from torch import nn
    from torch.func import functional_call, grad, stack_module_state, vmap

    device = "cuda" if torch.cuda.is_available() else "cpu"

    def make() -> nn.Module:
        if kind == "mlp":
            return nn.Sequential(
                nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 2)
            )
        return nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
            nn.AvgPool2d(2), nn.Flatten(), nn.Linear(4096, 256), nn.ReLU(), nn.Linear(256, 2),
        )  # fmt: skip

    models = [make().to(device) for _ in range(networks)]
    params, buffers = stack_module_state(models)
    base = make().to("meta")

    def loss(p: Any, b: Any, x: Any, y: Any) -> Any:
        return nn.functional.cross_entropy(functional_call(base, (p, b), (x,)), y)

    gradients = vmap(grad(loss), randomness="different")
    shape = (networks, BATCH, *((1, 28, 28) if kind == "mlp" else (3, 32, 32)))
    x = torch.rand(shape, device=device)
    y = torch.randint(0, 2, (networks, BATCH), device=device)
    params = {name: value.detach().clone() for name, value in params.items()}
    mean = {name: torch.zeros_like(value) for name, value in params.items()}
    square = {name: torch.zeros_like(value) for name, value in params.items()}

    def run(count: int) -> None:
        for _ in range(count):
            for name, g in gradients(params, buffers, x, y).items():
                mean[name].lerp_(g, 0.1)
                square[name].mul_(0.999).addcmul_(g, g, value=0.001)
                params[name].addcdiv_(mean[name], square[name].sqrt().add_(1e-8), value=-1e-3)
        if device == "cuda":
            torch.cuda.synchronize()

    run(2)
    begin = time.perf_counter()
    run(steps)
    return networks * steps / (time.perf_counter() - begin)


def peak_memory() -> float:
    """The most that was held so far, in MB: on the accelerator, or by this process."""
    device = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)
    return device / 1e6 or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def copy_rate() -> float:
    """Bytes a second that a large elementwise update reads and writes."""
    x = jnp.ones(1 << (24 if ON_CPU else 29), jnp.float32)
    add = jax.jit(lambda x: x + 1.0, donate_argnums=0)
    x = add(x).block_until_ready()
    begin = time.perf_counter()
    for _ in range(10):
        x = add(x)
    x.block_until_ready()
    return 10 * 2 * x.nbytes / (time.perf_counter() - begin)


def steps_table(with_torch: bool) -> list[dict[str, Any]]:
    """One row for each network and number of copies."""
    rows: list[dict[str, Any]] = []
    rate = copy_rate()
    for kind, make in (("mlp", mlp), ("cnn", cnn)):
        net = make(SHAPES[kind], 2)
        chosen = "" if kind == "mlp" else "kernels" if net.step else conv_form(jax.default_backend())
        print(kind, "form of convolution:", chosen or "none", flush=True)
        size = num_parameters(net)
        examples = 400 if ON_CPU else 4000
        pool = random_pool(SHAPES[kind], 5, examples)
        plain = net if kind == "mlp" else cnn(SHAPES[kind], 2, form="native")
        counts = COUNTS[kind][ON_CPU]

        def length(networks: int, kind: str = kind, examples: int = examples) -> int:
            few = max(5, (20_000 if kind == "mlp" else 400) // networks)
            return min(examples // BATCH, few) if ON_CPU else 1000 if kind == "mlp" else 100

        rounds = [
            (plain_loop(plain, pool, 100 if ON_CPU and kind == "cnn" else 1000),
             [ours(net, pool, networks, length(networks)) for networks in counts])
            for _ in range(ROUNDS)
        ]  # fmt: skip
        for place, networks in enumerate(counts):
            speed = float(np.median([speeds[place] for _, speeds in rounds]))
            ratios = [speeds[place] / loop for loop, speeds in rounds]
            row = {"net": kind, "form": chosen, "networks": networks, "ours": speed,
                   "plain loop": float(np.median([loop for loop, _ in rounds])), "ratio": float(np.median(ratios)),
                   "least": min(ratios), "most": max(ratios),
                   "8 passes of bandwidth": speed * size * 32 / rate, "peak MB so far": peak_memory()}  # fmt: skip
            if with_torch:
                row["torch vmap"] = torch_vmap(kind, networks, 20 if kind == "mlp" else 5)
            rows.append(row)
            save("engine", {f"steps on {jax.devices()[0].device_kind}": rows})  # a lent device may go at any time
    return rows


def strategy_times(
    net: Net, pool: Pool, recipe: Recipe, networks: int, steps: int
) -> Callable[[], tuple[float, float]]:
    """Measures the seconds of a step of all networks on their third task, and of what comes after its last step."""
    tasks = jnp.arange(len(pool.counts))
    keys = jax.random.split(jax.random.key(1), len(tasks))
    streams = jnp.arange(networks) % len(tasks)
    lookback = lookback_of(net, recipe, pool, [Curriculum(tuple(range(len(tasks))), ())])
    learned = [(range(len(tasks)), 0, ((own + 1) % len(tasks), (own + 2) % len(tasks))) for own in streams.tolist()]
    past = lookback.of(learned) if lookback else None
    fresh = start(net, jax.random.split(jax.random.key(0), networks))
    state = fresh._replace(memory=first_memory(recipe.strategy, fresh.params))

    def measure() -> tuple[float, float]:
        nonlocal state
        begin = time.perf_counter()
        state = train_task(net, recipe, state, pool, streams, keys, tasks, jnp.asarray(steps), past)
        jax.block_until_ready(state)
        middle = time.perf_counter()
        state = remembered(net, recipe, state, pool, streams, keys, tasks)
        jax.block_until_ready(state)
        return (middle - begin) / steps, time.perf_counter() - middle

    return measure


def strategies_table() -> list[dict[str, Any]]:
    """One row for each network and strategy; rounds in which all take turns."""
    rows: list[dict[str, Any]] = []
    kinds: list[tuple[str, Any]] = [("mlp", mlp)] if ON_CPU else [("mlp", mlp), ("cnn", cnn)]
    for kind, make in kinds:
        networks, steps = (16, 400) if ON_CPU else (1024, 1000) if kind == "mlp" else (512, 100)
        shared = random_pool(SHAPES[kind], 5, 2 * BATCH * steps)
        labels = [np.asarray(shared.labels[task]) + 2 * task for task in range(5)]
        allowed = np.kron(np.eye(5), np.ones(2)).astype(bool)
        by_task = make_pool(np.asarray(shared.inputs), list(np.asarray(shared.rows)), labels, allowed=allowed)
        two, ten = make(SHAPES[kind], 2), make(SHAPES[kind], 10)
        small, large = Recipe(epochs=1, batch_size=BATCH), Recipe(epochs=1, batch_size=2 * BATCH)
        cells: dict[str, tuple[str, Net, Pool, Recipe]] = {
            "plain": ("plain", two, shared, small),
            "plain, twice the batch": ("plain, twice the batch", two, shared, large),
            "replay": ("plain, twice the batch", two, shared, replace(small, strategy=Replay())),
            "a head a task": ("plain", ten, by_task, small),
            "ewc": ("plain", two, shared, replace(small, strategy=EWC())),
            "lwf": ("plain", two, shared, replace(small, strategy=Distill())),
            "l2init": ("plain", two, shared, replace(small, strategy=L2Init())),
            "replay, a head a task": ("plain, twice the batch", ten, by_task, replace(small, strategy=Replay())),
            "lwf, a head a task": ("plain", ten, by_task, replace(small, strategy=Distill())),
        }
        measures = {name: strategy_times(*cell, networks, steps) for name, (_, *cell) in cells.items()}
        for measure in measures.values():  # to compile
            measure()
        rounds = [{name: measure() for name, measure in measures.items()} for _ in range(2 * ROUNDS + 1)]
        for name, (baseline, *_) in cells.items():
            ratios = [times[baseline][0] / times[name][0] for times in rounds]
            ends = [times[name][1] / times["plain"][0] for times in rounds]
            rows.append(
                {"net": kind, "strategy": name, "networks": networks,
                 "steps a second": networks / float(np.median([times[name][0] for times in rounds])),
                 "over": baseline, "ratio": float(np.median(ratios)), "least": min(ratios), "most": max(ratios),
                 "end of a task in steps": float(np.median(ends)) if name == "ewc" else 0.0}
            )  # fmt: skip
    return rows


def tree_table() -> list[dict[str, Any]]:
    """All 120 orders of five tasks, as a tree and (by count of steps) one after another."""
    net = mlp(SHAPES["mlp"], 2)
    train, test = random_pool(SHAPES["mlp"], 5, 200), random_pool(SHAPES["mlp"], 5, 200, seed=1)
    orders = tuple(itertools.permutations(range(5)))
    begin = time.perf_counter()
    _, work = train_orders(net, train, test, [Curriculum((0, 1, 2, 3, 4), orders)], recipe=Recipe(epochs=1))
    spent = time.perf_counter() - begin
    alone = 120 * 5 * (200 // BATCH)
    return [{"orders": 120, "trainings": work.trainings, "alone": 600, "steps": work.network_steps,
             "fewer steps": alone / work.network_steps, "seconds": spent}]  # fmt: skip


def compile_table() -> list[dict[str, Any]]:
    """One row for each network; nothing is taken from a cache on disk."""
    rows = []
    networks = 8 if ON_CPU else 512
    tasks, keys = jnp.arange(5), jax.random.split(jax.random.key(1), 5)
    streams = jnp.arange(networks) % 5
    for kind, make in (("mlp", mlp), ("cnn", cnn)):
        net, pool = make(SHAPES[kind], 2), random_pool(SHAPES[kind], 5, 40)
        row: dict[str, Any] = {"net": kind, "networks": networks}

        def train(net: Net = net, pool: Pool = pool) -> Any:
            state = start(net, jax.random.split(jax.random.key(0), networks))
            return train_task(net, Recipe(epochs=1), state, pool, streams, keys, tasks, jnp.asarray(2))

        def test(net: Net = net, pool: Pool = pool) -> Any:
            state = start(net, jax.random.split(jax.random.key(0), networks))
            return evaluate(net, state.params, pool, jnp.tile(tasks, (networks, 1)))

        for name, job in (("train s", train), ("test s", test)):
            times = []
            for _ in range(2):
                begin = time.perf_counter()
                jax.block_until_ready(job())
                times.append(time.perf_counter() - begin)
            row[name] = times[0] - times[1]
        rows.append(row)
    return rows


def forms_table() -> list[dict[str, Any]]:
    """Milliseconds of a few passes through the second convolution of the CNN, for each form."""
    rounds = [{name: _seconds(form, 4) for name, form in CONV_FORMS.items()} for _ in range(ROUNDS)]
    return [
        {"form": name, "ms": 1e3 * float(np.median([round_times[name] for round_times in rounds]))}
        for name in CONV_FORMS
    ]


def fused_table() -> list[dict[str, Any]]:
    """Network-steps a second of the CNN by hand-written kernels and in its general form, on a GPU."""
    net, rows, steps = general_cnn(SHAPES["cnn"], 2, (32, 64), 256), [], 10
    for networks in (256, 1024):
        kernels, general = (
            seconds_of(step, net, SHAPES["cnn"], networks, steps) for step in (kernel_step, general_step(net))
        )
        speeds = {"kernels": networks * steps / kernels, "general": networks * steps / general}
        rows.append({"networks": networks, **speeds, "ratio": general / kernels})
    return rows


def memory_table(batches: int = 200) -> list[dict[str, Any]]:
    """What the process holds as task sets of digits go by, all shapes compiled at the start."""
    config = settings.Config(num_sets=batches, num_tasks=3, epochs=1, fraction=0.2, similarities=("test", "10%"))
    rows, network_steps = [], 0
    with Store() as store:
        for place, spec in enumerate(RunSpecs(config), 1):
            result = runs.run_batch([spec])[0]
            store.put([spec], [result], 0.0)
            network_steps += result["network_steps"]
            if place in (20, batches // 4, batches // 2, batches):
                pages = int(Path("/proc/self/statm").read_text().split()[1])
                held = pages * resource.getpagesize() / 1e6
                rows.append({"task sets": place, "network-steps": network_steps, "MB": held})
    return rows


def kernels_table(networks: int = 16) -> list[dict[str, Any]]:
    """One row for each parameter of the CNN."""
    shape, recipe = SHAPES["cnn"], Recipe()
    exact, general, ours_ = (cnn(shape, 2, form=form) for form in ("native", "columns", "kernels"))
    state = start(exact, jax.random.split(jax.random.key(0), networks))
    x = jax.random.bits(jax.random.key(1), (networks, BATCH, *shape), jnp.uint8)
    y = jax.random.randint(jax.random.key(2), (networks, BATCH), 0, 2)
    with jax.default_matmul_precision("highest"):
        wanted = jax.jit(lambda s: gradient_step(exact, recipe, s, Batch(x, y)))(state).mean
    assert ours_.step is not None
    tables = {
        "general": jax.jit(lambda s: gradient_step(general, recipe, s, Batch(x, y)))(state).mean,
        "kernels": jax.jit(lambda s: ours_.step(recipe, s, x, y))(state).mean,
    }
    rows = []
    for place, (path, leaf) in enumerate(jax.tree_util.tree_leaves_with_path(wanted)):
        row = {"parameter": jax.tree_util.keystr(path)}
        for name, moments in tables.items():
            other = jax.tree.leaves(moments)[place]
            row[name] = float(jnp.linalg.norm((other - leaf).ravel()) / jnp.linalg.norm(leaf.ravel()))
        rows.append(row)
    return rows


def main() -> None:
    """Run the sections named on the command line, or all."""
    asked = [word for word in sys.argv[1:] if not word.startswith("-")] or ["steps", "tree", "compile", "memory"]
    where = jax.devices()[0].device_kind
    for name in asked:
        tables = {
            "steps": lambda: steps_table("--torch" in sys.argv),
            "strategies": strategies_table,
            "tree": tree_table,
            "compile": compile_table,
            "forms": forms_table,
            "memory": memory_table,
            "fused": fused_table,
            "kernels": kernels_table,
        }
        rows = tables[name]()
        show(f"{name} on {where}", rows)
        save("engine", {f"{name} on {where}": rows})


if __name__ == "__main__":
    main()
