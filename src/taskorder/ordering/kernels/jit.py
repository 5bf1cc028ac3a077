"""How kernels are compiled: without the interpreter lock, and cached on disk where there is a place to write."""

# mypy: disable-error-code="no-untyped-def,misc"

import contextlib
import functools
import hashlib
import logging
import os
import pickle
from pathlib import Path

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

_logger = logging.getLogger(__name__)
_DIGEST = hashlib.sha256().digest_size


def njit(**options):
    """numba.njit with nogil and a cache beside the source; without a cache where numba finds no writable folder.

    The process that compiles calls other copies of the kernels inside kernels than later ones, which read the cache:
    optimized once, not twice. Both must round alike, since annealing and ties turn a last digit into another order. So
    a kernel with fast arithmetic becomes part of its callers. That takes time and memory to compile: large kernels do
    without, and their inner loops have no sums, so that they need no fast arithmetic to be vectorized.
    """
    options |= {"nogil": True, "forceinline": bool(options.get("fastmath"))}
    options["no_cfunc_wrapper"] = True  # nobody calls kernels from C, and an entry for that takes an eighth of the time

    def compile_later(function):
        kernel = numba.njit(**options)(function)
        with contextlib.suppress(RuntimeError, OSError):  # no folder: NUMBA_CACHE_DIR can name one
            kernel._cache = KernelCache(function)
        return kernel

    return compile_later


class KernelCache(FunctionCache):
    """numba's cache of one function, in which a damaged file counts as a missing one.

    Its files end with a digest: a wrong byte in machine code would show as a crash, or not at all.
    """

    def __init__(self, function):
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _CheckedFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig, target_context):
        """The compiled function; None where it has to be compiled, after files that cannot be read were dropped."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as problem:  # whatever a damaged pickle or library raises
            self._drop(problem)
            return None

    def save_overload(self, sig, data):
        """Keep a compiled function, if the folder takes it."""
        for _ in range(2):
            try:
                return super().save_overload(sig, data)
            except Exception as problem:  # a damaged index, which is dropped, or a full disk
                self._drop(problem)
        self.disable()

    def _drop(self, problem):
        _say(os.fspath(self._cache_path))
        _logger.debug("cache of %s: %r", self._name, problem)
        for file in Path(self._cache_path).glob(f"{self._impl.filename_base}.*"):
            try:
                file.unlink()
            except OSError:
                self.disable()


class _CheckedFiles(IndexDataCacheFile):
    """The files of one function, each with a digest behind what numba writes, which no reader of pickles sees."""

    def _dump(self, obj):
        data = super()._dump(obj)
        return data + hashlib.sha256(data).digest()

    def _load_index(self):
        with contextlib.suppress(FileNotFoundError), open(self._index_path, "rb") as file:
            pickle.load(file)  # the version of numba, which stands before the rest
            _check(file.read(), self._index_path)  # another file name in it would be code for other arguments
        return super()._load_index()

    def _load_data(self, name):
        _check(Path(self._data_path(name)).read_bytes(), name)
        return super()._load_data(name)


def _check(data, name):
    """Refuse a file whose digest is not that of what stands before it."""
    if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise pickle.UnpicklingError(f"{name} is damaged")


@functools.cache
def _say(folder):
    """Log once that a folder has files that are of no use."""
    _logger.warning("kernels in %r are damaged, or cannot be read or written: those are compiled again", folder)
