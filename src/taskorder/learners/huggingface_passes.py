"""How many examples go through a model at once: fewer, where memory runs out; an error where that is no help."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from taskorder.arguments import BadArgument

try:
    import torch
except ImportError:  # HuggingFaceLearner says so
    torch = None

T = TypeVar("T")


class Passes:
    """Work on a batch in one pass, or in several; where memory runs out, in passes of half the size from then on."""

    def __init__(self, most: int) -> None:
        self.most = most

    def each(self, count: int, work: Callable[[slice], T], begin: Callable[[], object] = lambda: None) -> list[T]:
        """What `work` returns for each part of `count` examples. `begin` comes first, and again before a new try."""
        while True:
            begin()
            size = min(self.most, count)
            try:
                return [work(slice(start, min(start + size, count))) for start in range(0, count, size)]
            except torch.OutOfMemoryError as problem:
                self.halve(size, problem)
            # outside of the handler, which holds what the pass had in memory
            torch.cuda.empty_cache()

    def halve(self, size: int, problem: Exception) -> None:
        """Half of what was too much; an error where that was one example."""
        if size <= 1:
            fix = "Cut texts with max_length=..., take lora=LoraConfig(...) or precision='bf16', or a smaller model."
            raise _too_large("with one example at a time", fix) from problem
        self.most = -(-size // 2)


@contextmanager
def room_for(what: str) -> Iterator[None]:
    """An error with the fix where memory runs out for what has no parts."""
    try:
        yield
    except torch.OutOfMemoryError as problem:
        raise _too_large(f"for {what}", "Take lora=LoraConfig(...) or a smaller model.") from problem


def _too_large(where: str, fix: str) -> BadArgument:
    return BadArgument(f"`learner` must fit into memory, got out of memory {where}. {fix}")
