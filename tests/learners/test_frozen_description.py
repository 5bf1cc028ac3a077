"""The text that names a frozen part changes with whatever changes what it returns, and with nothing else."""

import functools
import subprocess
import sys

import numpy as np
import pytest

from taskorder.learners.frozen_description import frozen_text, is_module, is_weight, uses_of

SCALE = 2.0


def doubled(batch):
    """A helper of the same module, which uses a number beside it."""
    return batch * SCALE


class Projection:
    """An object with weights and a method."""

    def __init__(self, weights):
        self.weights = weights

    def embed(self, batch):
        return batch @ self.weights


class Called(Projection):
    """One that is called."""

    def __call__(self, batch):
        return self.embed(batch)


def weighted(*weights):
    """A function that takes arrays from where it was made, in a list."""
    held = list(weights)
    return lambda batch: batch @ held[0]


def helped(inner):
    """A function that uses another one, and a helper."""
    return lambda batch: doubled(inner(batch))


ONES, ZEROS = np.ones((3, 2)), np.zeros((3, 2))
MADE = {
    "closure": lambda w: lambda batch: batch @ w,
    "inner function": lambda w: lambda batch: [row @ w for row in batch],
    "list": weighted,
    "default": lambda w: lambda batch, weights=w: batch @ weights,
    "partial": lambda w: functools.partial(np.dot, b=w),
    "method": lambda w: Projection(w).embed,
    "object": Called,
    "dictionary": lambda w: lambda batch, held={"w": {"in": w}}: batch @ held["w"]["in"],
    "wrapped": lambda w: functools.lru_cache(lambda batch: batch @ w),
    "helper of another function": lambda w: helped(Projection(w).embed),
}


@pytest.mark.parametrize("way", MADE)
def test_weights_count_wherever_they_are(way):
    make = MADE[way]
    assert frozen_text(make(ONES.copy())) == frozen_text(make(ONES.copy()))
    assert frozen_text(make(ONES)) != frozen_text(make(ZEROS))
    assert frozen_text(make(ONES)) != frozen_text(make(ONES.astype(np.float32)))


def test_what_a_function_does_counts_and_what_its_helpers_do(monkeypatch):
    def plain(batch):
        return doubled(batch)

    before = frozen_text(plain)
    assert before != frozen_text(lambda batch: doubled(batch) + 1)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert frozen_text(plain) != before


def test_what_a_function_notes_does_not_count():
    notes = []

    def noting(batch):
        notes.append(len(batch))
        return batch

    before = frozen_text(noting)
    noting([1, 2])
    assert notes
    assert frozen_text(noting) == before


def test_a_function_that_calls_itself_and_one_that_is_not_there_yet():
    def again(batch, times=2):
        return again(batch + 1, times - 1) if times else batch

    def early():
        later = frozen_text(lambda batch: filled + batch)
        filled = 1
        return later, filled

    assert frozen_text(again).startswith("again ")
    assert early()[0].startswith("<lambda> ")


def test_what_says_nothing_of_itself_shows_where_it_is():
    secret = object()
    assert " at 0x" in frozen_text(lambda batch: (batch, secret))


def test_modules_of_torch_are_found_with_their_weights():
    torch = pytest.importorskip("torch")
    one, two = torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)
    both = [one, two]
    uses = list(uses_of(lambda batch: both[1](both[0](batch))))
    assert [use for use in uses if is_module(use)] == both
    assert sum(map(is_weight, uses)) == 2 + 2 + 3
    before = frozen_text(lambda batch: one(batch))
    assert frozen_text(one) != frozen_text(torch.nn.Linear(2, 2))
    with torch.no_grad():
        one.bias[1] += 1e-3
    assert frozen_text(lambda batch: one(batch)) != before


PROGRAM = """
import numpy
from taskorder.learners.frozen_description import frozen_text
words = {"late", "early", "never", "now"}
def frozen(batch, weights=numpy.ones(3)):
    return [row for row in batch if row in {"one", "two", "three"} or row in words] @ weights
print(frozen_text(frozen))
"""


def test_it_is_the_same_in_every_process():
    said = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env={"PYTHONHASHSEED": seed, "PATH": ""}, capture_output=True, text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(said) == 1
    assert said.pop().startswith("frozen ")
