"""The part of a network that is never trained: what it makes of an example is computed once.

A pilot fits and tests many models on the same examples, and a pretrained network under all of them would say the same
each time. Examples are told by their content, so that one that is kept, mixed or drawn again is known.
"""

from __future__ import annotations

import functools
import hashlib
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.arguments import BadArgument
from taskorder.checks import Ints
from taskorder.learners.frozen_description import is_module, is_weight, uses_of
from taskorder.task import Rows, rows_of

FROZEN_AT_ONCE = 64
"""Examples that go through the frozen part together: without gradients that takes less memory than training it."""


class FrozenPart(ABC):
    """A frozen part with the features that it has given: those of each example once in a process, in order of arrival.

    Those of one call are a block, which is given out as it is where the same examples are asked for again.
    """

    def __init__(self, given: Any) -> None:
        self.given = given
        self._of: list[tuple[Any, int]] = []
        self._forget()

    def features(self, inputs: Any, reader: Any) -> Any:
        """(n, ...) what the frozen part makes of n rows. Not to be written to.

        reader: the learner, which reads rows.
        """
        now = self._state()
        same = (one is other and n == m for (one, n), (other, m) in zip(now, self._of, strict=False))
        if len(now) != len(self._of) or not all(same):  # somebody has trained it, or named another one
            self._forget()
        known = self._asked.get(id(inputs))
        if known is not None and known[0]() is inputs:
            return self._gathered(known[1])
        places = self._computed(rows_of(inputs), reader)
        self._of = self._state()  # afterwards, for a module may have counted its calls, in a buffer that was lent to it
        try:
            gone = weakref.ref(inputs, functools.partial(_drop, self._asked, id(inputs)))
        except TypeError:  # a list
            return self._gathered(places)
        self._asked[id(inputs)] = gone, places
        return self._gathered(places)

    @abstractmethod
    def _values(self, rows: Any) -> Any:
        """Rows in memory as an array of numbers or a list of texts."""

    @abstractmethod
    def _passed(self, values: Any, reader: Any) -> Any:
        """Checked features of some examples."""

    @abstractmethod
    def _room(self, count: int, like: Any) -> Any:
        """Memory for the features of so many examples, on the device of some."""

    @contextmanager
    def _at_rest(self, reader: Any) -> Iterator[None]:
        """While examples go through it."""
        yield

    def _state(self) -> list[tuple[Any, int]]:
        """The weights, each with how often it was written to, where that is known."""
        return [(use, 0) for use in uses_of(self.given) if is_weight(use)]

    def _forget(self) -> None:
        self._places: dict[bytes, int] = {}
        self._blocks: list[Any] = []
        self._begins: list[int] = []
        self._asked: dict[int, tuple[Any, Ints]] = {}
        """Of inputs that somebody holds, where their features are: most are asked for many times."""

    def __getstate__(self) -> dict[str, Any]:
        """Features stay in their process."""
        return {"given": self.given}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["given"])  # type: ignore[misc]

    def _computed(self, rows: Rows, reader: Any) -> Ints:
        """(n,) where the features of rows are, after those that are new went through the frozen part."""
        places, new, block = np.empty(len(rows), np.int64), dict[bytes, int](), None
        with ExitStack() as stack:
            for begin in range(0, len(rows), FROZEN_AT_ONCE):
                some = np.arange(begin, min(begin + FROZEN_AT_ONCE, len(rows)))
                values = self._values(rows[some])
                keys = _digests(values)
                fresh = {key: row for row, key in reversed([*enumerate(keys)])
                         if key not in self._places and key not in new}  # fmt: skip
                if fresh:
                    if block is None:
                        stack.enter_context(self._at_rest(reader))
                    chosen = sorted(fresh.values())
                    part = self._passed(_chosen(values, chosen), reader)
                    block = self._room(len(rows) - begin, part) if block is None else block
                    self._check_shape(part, block)
                    block[len(new) : len(new) + len(part)] = part
                    first = len(self._places) + len(new)
                    new |= {keys[row]: first + number for number, row in enumerate(chosen)}
                places[some] = [new[key] if key in new else self._places[key] for key in keys]
        if block is not None:
            if len(new) < len(block):
                whole, block = block, self._room(len(new), block)
                block[:] = whole[: len(new)]
            self._begins.append(len(self._places))
            self._blocks.append(block)
            self._places |= new
        return places

    def _check_shape(self, part: Any, block: Any) -> None:
        """Refuse features that differ in shape: texts that are filled up to the longest of a batch, say."""
        first = self._blocks[0] if self._blocks else block
        if part.shape[1:] != first.shape[1:]:
            raise BadArgument(
                f"`frozen` must give features of one shape, got {tuple(first.shape[1:])} and {tuple(part.shape[1:])}. "
                "Fill all examples up to one length, or take a mean over their parts."
            )

    def _gathered(self, places: Ints) -> Any:
        """Features from where they are: a block as it is, or parts of several."""
        owner = np.searchsorted(self._begins, places, side="right") - 1
        begin, block = self._begins[owner[0]], self._blocks[owner[0]]
        if np.array_equal(places, np.arange(begin, begin + len(block))):
            return block
        found = self._room(len(places), block)
        for number in np.unique(owner):
            here = np.flatnonzero(owner == number)
            found[here] = self._blocks[number][places[here] - self._begins[number]]
        return found


def single_precision(values: NDArray[Any]) -> NDArray[Any]:
    """Floats as networks read them: in a mixture with others they may have come as doubles."""
    return np.asarray(values, np.float32) if values.dtype.kind == "f" else values


def checked_frozen(frozen: Any, kind: str, *, modules: bool) -> Any:
    """A function, or an error that says what else it is; nothing stays nothing."""
    strange = isinstance(frozen, type) or not callable(frozen) or (is_module(frozen) and not modules)
    if frozen is not None and strange:
        got = f"the class {frozen.__name__}" if isinstance(frozen, type) else type(frozen).__name__
        raise BadArgument(f"`frozen` must be {kind}, got {got}.")
    return frozen


def check_rows(shape: Sequence[int] | None, features: Any, count: int, fix: str) -> None:
    """Refuse what is no array with one row an example."""
    if not shape or shape[0] != count:
        got = type(features).__name__ if shape is None else f"shape {tuple(shape)}"
        raise BadArgument(f"`frozen` must give one row of numbers for each example, got {got} for {count}. {fix}")


def refuse_not_finite(num_bad: int, count: int) -> None:
    """Where training would end in numbers that are none."""
    if num_bad:
        raise BadArgument(
            f"`frozen` must give finite numbers, got others for {num_bad} of {count} examples. "
            "Look at its weights, and whether inputs are scaled as it was trained."
        )


def _drop(asked: dict[int, Any], key: int, _: Any) -> None:
    asked.pop(key, None)


def _digests(values: NDArray[Any] | list[str]) -> list[bytes]:
    """A short name of each example, by its content."""
    if isinstance(values, list):
        return [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in values]
    start = hashlib.blake2b(f"{values.dtype.str} {values.shape[1:]}".encode(), digest_size=16)
    found = []
    for row in np.ascontiguousarray(values):
        total = start.copy()
        total.update(row.data)
        found.append(total.digest())
    return found


def _chosen(values: Any, rows: list[int]) -> Any:
    return [values[row] for row in rows] if isinstance(values, list) else values[rows]
