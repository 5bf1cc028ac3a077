"""NPY and NPZ files: headers are checked before memory is taken, and pickles are never opened."""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from taskorder.costs import megabytes, most_unpacked
from taskorder.tables.input_files import Refusal, refusal

NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
MAX_DEFLATION = 1040
"""No deflated data hold more than this many bytes for each of their own."""
MAX_HEADER = 10_000
"""Bytes that describe an array; numpy takes no more."""

ArrayProblem = Callable[[str, tuple[int, ...], np.dtype[Any]], str]
"""From the name, shape and dtype of an array to what is wrong with them ("hold ..., got ...."), or nothing."""
_FIX = "Save it again with numpy.savez."


def read_npy(data: bytes, label: str, problem: ArrayProblem) -> NDArray[Any]:
    """The array of an NPY file."""
    with _refused_if_damaged(label):
        return _read_array(io.BytesIO(data), len(data), label, "the array", problem)


def read_npz(
    source: IO[bytes] | str | os.PathLike[str],
    label: str,
    choose: Callable[[Sequence[str]], Sequence[str]],
    problem: ArrayProblem,
    *,
    max_bytes: int,
) -> dict[str, NDArray[Any]]:
    """Those arrays of an NPZ archive that `choose` picks from their names."""
    with _refused_if_damaged(label), zipfile.ZipFile(source) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        chosen = {name: members[name] for name in choose(list(members))}
        for name, info in chosen.items():
            expansion = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: MAX_DEFLATION}.get(info.compress_type, 0)
            if info.file_size > expansion * info.compress_size:
                got = f"{one_line(name)} packed in another way"
                raise refusal(label, "be stored or deflated by numpy.savez", got, _FIX)
        size = sum(info.file_size for info in chosen.values())
        if size > max_bytes:
            raise refusal(label, f"take at most {megabytes(max_bytes)}", "more", _FIX)
        assert archive.fp is not None
        most = most_unpacked(archive.fp.seek(0, io.SEEK_END))
        if size > most:
            fix = "Save it with numpy.savez, which does not pack it."
            raise refusal(label, f"unpack to at most {megabytes(most)} for its size", megabytes(size), fix)
        arrays = {}
        for name, info in chosen.items():
            with archive.open(info) as stream:
                arrays[name] = _read_array(stream, info.file_size, label, one_line(name), problem)
        return arrays


def one_line(text: str) -> str:
    """A text that may hold anything, short and on one line."""
    return repr(text[:120])[1:-1]


def _read_array(stream: IO[bytes], num_bytes: int, label: str, name: str, problem: ArrayProblem) -> NDArray[Any]:
    """One array, once its header is found to describe what is there."""
    head = stream.read(12)
    version = np.lib.format.read_magic(io.BytesIO(head))
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(
        version
    )
    if read_header is None:
        raise refusal(label, "hold plain arrays", f"NPY version {version} for {name}", _FIX)
    if version == (2, 0) and int.from_bytes(head[8:], "little") > MAX_HEADER:  # numpy would read all of it first
        raise refusal(label, "have short headers", f"one of more than {MAX_HEADER} bytes for {name}", _FIX)
    stream.seek(len(np.lib.format.magic(*version)))
    shape, _, dtype = read_header(stream)
    if dtype.hasobject:
        got = f"Python objects in {name}, which can run code when opened"
        raise refusal(label, "be free of pickles", got, "Save plain numbers and text instead.")
    if not dtype.itemsize:  # any number of elements takes no bytes
        raise refusal(label, "hold numbers or text", f"elements without a size in {name}", _FIX)
    if wrong := problem(name, shape, dtype):
        raise Refusal(f"`{label}` must {wrong}")
    size = math.prod(shape) * dtype.itemsize
    if size != num_bytes - stream.tell():
        got = f"a damaged file: {size} bytes for {name} in a file of {num_bytes}"
        raise refusal(label, "have headers that fit its arrays", got, _FIX)
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


@contextmanager
def _refused_if_damaged(label: str) -> Iterator[None]:
    try:
        yield
    except Refusal:
        raise
    except MemoryError:
        raise refusal(label, "fit into memory", "more than there is") from None
    except Exception as problem:  # zipfile and numpy raise nearly everything on damaged files
        reason = one_line(" ".join(str(problem).split()) or type(problem).__name__).rstrip(".")
        raise refusal(label, "be a whole NPY or NPZ file", f"a damaged one: {reason}", "Save it again.") from None
