"""The arrays of an NPZ archive; sizes are checked before memory is taken, and pickles are never opened."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from taskorder.datasets._files import MAX_BYTES, damaged, file_size

_MAX_DEFLATION = 1040
"""No deflated member holds more than this many bytes for each of its own."""


def read_arrays(path: Path, keys: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The arrays with these names, after their headers were found to promise what the archive can hold."""
    file_size(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            known = [key for key in keys if key in members]
            if sum(members[key].file_size for key in known) > MAX_BYTES:
                _refuse(path, f"take at most {MAX_BYTES / 2**20:.4g} MB", "more")
            return {key: _read_array(archive, members[key], path, key) for key in known}
    except _Refusal:
        raise
    except MemoryError:
        raise damaged(path, "fit into memory", "more than there is") from None
    except Exception as problem:  # zipfile and numpy raise nearly everything on damaged files
        reason = " ".join(str(problem).split())[:100].rstrip(".") or type(problem).__name__
        raise damaged(path, "be a whole NPZ file", f"a damaged one: {reason}", "Save it again.") from None


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path, key: str) -> NDArray[Any]:
    most = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: _MAX_DEFLATION}.get(info.compress_type, 0)
    if info.file_size > most * info.compress_size:
        _refuse(path, "be stored or deflated by numpy.savez", f"{key} packed in another way")
    with archive.open(info) as stream:
        version = np.lib.format.read_magic(stream)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if read_header is None:
            _refuse(path, "hold plain arrays", f"NPY version {version} for {key}")
        shape, _, dtype = read_header(stream)
        if dtype.hasobject:
            _refuse(path, "be free of pickles", f"Python objects in {key}, which can run code when opened")
        if dtype.kind not in "fiubSU":
            _refuse(path, "hold numbers or text", f"dtype {dtype.str[:20]!r} for {key}")
        size = math.prod(shape) * dtype.itemsize
        if size != info.file_size - stream.tell():
            _refuse(path, "have headers that fit its arrays", f"one for {size} bytes for {key}")
        stream.seek(0)
        return np.lib.format.read_array(stream, allow_pickle=False)


class _Refusal(ValueError):
    """A message of our own, as opposed to one of the many errors that a damaged file causes in numpy and zipfile."""


def _refuse(path: Path, rule: str, found: str) -> NoReturn:
    raise _Refusal(str(damaged(path, rule, found, "Save it again with numpy.savez.")))
