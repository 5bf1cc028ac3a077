"""Avalanche 0.6 benchmarks whose experiences come in another order."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from taskorder.portable import PortableOrder


def reorder_benchmark(benchmark: Any, order: PortableOrder | Sequence[int]) -> Any:
    """A new Avalanche benchmark with the experiences of every stream in another order.

    `order[k]` is the experience to learn at step k. Slicing a stream (`train_stream[[2, 0, 1]]`) keeps the class
    timelines of the old order; here they are made anew, as sorted lists. A task label stays with its data, so metrics
    like `Top1_Acc_Exp/eval_phase/test_stream/Task002/Exp000` keep the identity of a task apart from its position.
    Streams with a single experience (one test set for all) stay as they are.
    """
    try:
        made = import_module("avalanche.benchmarks")
        has_task_labels = import_module("avalanche.benchmarks.utils.data_attribute").has_task_labels
    except ImportError as problem:
        raise ValueError(
            f'Avalanche cannot be imported ({problem}). Install it with: pip install "taskorder[avalanche]".'
        ) from None

    steps = [int(step) for step in (order.sequence if isinstance(order, PortableOrder) else order)]
    streams = {name: [experience.dataset for experience in stream] for name, stream in benchmark.streams.items()}
    longest = max((len(data) for data in streams.values()), default=0)
    if sorted(steps) != list(range(longest)):
        raise ValueError(f"`order` must list each of the {longest} experiences exactly once, got {steps}.")
    odd = sorted(name for name, data in streams.items() if len(data) not in (1, longest))
    if odd:
        raise ValueError(
            f"`benchmark` must have 1 or {longest} experiences in every stream, "
            f"got {len(streams[odd[0]])} in {odd[0]!r}."
        )
    reordered = made.benchmark_from_datasets(
        **{name: data if len(data) == 1 else [data[step] for step in steps] for name, data in streams.items()}
    )
    if all(hasattr(data, "targets") for datasets in streams.values() for data in datasets):
        reordered = made.with_classes_timeline(reordered)
        for stream in reordered.streams.values():
            for experience in stream:  # sets, which multi-head models cannot index
                for name in ("classes_in_this_experience", "previous_classes", "classes_seen_so_far", "future_classes"):
                    setattr(experience, name, sorted(getattr(experience, name)))
    if all(has_task_labels(data) for datasets in streams.values() for data in datasets):
        reordered = made.with_task_labels(reordered)
    for name in ("n_classes", "n_experiences"):  # classic benchmarks say how large they are
        if hasattr(benchmark, name):
            setattr(reordered, name, getattr(benchmark, name))
    return reordered
