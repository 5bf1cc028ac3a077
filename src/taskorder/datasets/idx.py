"""Fashion-MNIST (Xiao, Rasul and Vollgraf, 2017) and its file format IDX, plain or in gzip.

An IDX file is two zero bytes, a type (8: unsigned byte), the number of axes, the size of each axis as four bytes with
the highest first, and then the numbers.
"""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Ints
from taskorder.costs import most_unpacked
from taskorder.datasets.dataset import MAX_DATASET_BYTES, Dataset
from taskorder.tables.arrays import MAX_DEFLATION
from taskorder.tables.input_files import file_size, refusal, unpacks_to_more, unreadable

CLASS_NAMES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
_CHUNK = 2**20


def read_fashion_mnist(folder: Path) -> Dataset:
    """The data set in a folder with its four files, with or without .gz."""
    return Dataset("fashion-mnist", *_split(folder, "train"), *_split(folder, "t10k"), CLASS_NAMES)


def _split(folder: Path, split: str) -> tuple[NDArray[np.uint8], Ints]:
    images = read_idx(_find(folder / f"{split}-images-idx3-ubyte"), num_axes=3)
    labels = read_idx(_find(folder / f"{split}-labels-idx1-ubyte"), num_axes=1)
    return images[..., np.newaxis], labels.astype(np.int64)


def _find(path: Path) -> Path:
    packed = path.with_name(path.name + ".gz")
    return packed if packed.exists() else path


def read_idx(path: Path, num_axes: int) -> NDArray[np.uint8]:
    """The array of unsigned bytes in an IDX file with this many axes."""
    size = file_size(path, MAX_DATASET_BYTES)
    try:
        with path.open("rb") as plain:
            packed = plain.read(2) == b"\x1f\x8b"
            plain.seek(0)
            if not packed:
                return _read(plain, path, num_axes, size, size)
            with gzip.GzipFile(fileobj=plain) as stream:
                return _read(stream, path, num_axes, size * MAX_DEFLATION, most_unpacked(size))
    except (gzip.BadGzipFile, zlib.error, EOFError) as problem:
        raise refusal(path, "be a whole gzip file", f"a damaged one: {problem}".rstrip(".")) from None
    except OSError as problem:
        raise unreadable(path, problem) from None


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _read(stream: _Stream, path: Path, num_axes: int, possible: int, most: int) -> NDArray[np.uint8]:
    """The array, once its header is found to promise no more than the file can hold, and than `most`."""
    header = stream.read(4 + 4 * num_axes)
    expected = bytes((0, 0, 8, num_axes))
    if header[:4] != expected:
        raise refusal(path, f"start with the bytes {expected.hex(' ')}", header[:4].hex(" ") or "nothing")
    if len(header) < 4 + 4 * num_axes:
        raise refusal(path, "be a whole IDX file", "one that ends in its header")
    shape = tuple(int.from_bytes(header[at : at + 4], "big") for at in range(4, len(header), 4))
    size = math.prod(shape)
    if not 0 < size <= min(possible, MAX_DATASET_BYTES):
        raise refusal(path, "have a header that fits its size", f"one for {' x '.join(map(str, shape))} bytes")
    if size > most:
        raise unpacks_to_more(path, most)
    data = np.empty(size, dtype=np.uint8)  # takes memory only as it is filled
    filled = 0
    while chunk := stream.read(min(_CHUNK, size - filled)):
        data[filled : filled + len(chunk)] = np.frombuffer(chunk, dtype=np.uint8)
        filled += len(chunk)
    if filled < size or stream.read(1):
        raise refusal(path, f"hold {size} bytes after its header", f"only {filled}" if filled < size else "more")
    return data.reshape(shape)
