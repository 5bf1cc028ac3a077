"""Damaged files for every reader: it takes them or refuses them with one line, in time and in little memory.

CI gives each reader 200 inputs, fewer where one takes long; FUZZ_INPUTS asks for another number, and for long runs
there is `python -m tests.fuzz.fuzz`. test_found.py keeps what those have found.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("PIL")
pytest.importorskip("starlette")
pytest.importorskip("resource")

from . import fuzz
from .readers import LISTED, READERS, Broken, command, refusal

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is counted from /proc")
INPUTS = int(os.environ.get("FUZZ_INPUTS", "200"))


def test_no_reader_takes_the_place_of_another():
    """Two of the same name were one: the explorer's `solve` was never tried."""
    assert [reader.name for reader in LISTED] == [*READERS]


@pytest.mark.parametrize("name", READERS)
def test_damaged_inputs(name):
    reader = READERS[name]
    seen = set()

    @settings(max_examples=max(INPUTS // reader.cost, 10), suppress_health_check=list(HealthCheck), database=None)
    @given(rng=st.randoms(use_true_random=False))
    def run(rng):
        with tempfile.TemporaryDirectory() as folder:
            seen.add(fuzz.give(reader, fuzz.make(reader, rng, Path(folder))))

    run()
    assert "refused" in seen


@pytest.mark.parametrize("name", READERS)
def test_whole_inputs_are_taken(name, tmp_path):
    """Else nothing above would have come further than the first check."""
    reader = READERS[name]
    seen = []
    for number, data in enumerate(reader.seeds()):
        path = tmp_path / str(number) / f"input{reader.ending}"
        path.parent.mkdir()
        path.write_bytes(data)
        seen.append(fuzz.give(reader, path))
    assert seen.count("refused") == reader.foreign
    assert "taken" in seen


def test_the_clock_and_the_room_are_bounded(monkeypatch):
    monkeypatch.setattr(fuzz, "SECONDS", 0.05)
    with pytest.raises(fuzz.Hang), fuzz.limits():
        all(iter(lambda: True, False))
    with pytest.raises(MemoryError), fuzz.limits():
        bytearray(2 * 2**30)


def test_what_is_no_refusal(tmp_path):
    assert refusal(ValueError("`x` must be small, got 3."))
    assert not refusal(ValueError("could not convert string to float: 'x'"))
    assert not refusal(np.linalg.LinAlgError("`x` must not be singular"))
    assert not refusal(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "must"))
    with pytest.raises(Broken, match="without one line"):
        command()(tmp_path)  # prints its help
