"""How kernels are compiled: without the interpreter lock, and cached on disk where there is a place to write."""

# mypy: disable-error-code="no-untyped-def"

import numba


def njit(**options):
    """numba.njit with nogil and a cache beside the source; without a cache where numba finds no writable folder.

    Kernels become part of those that call them. Otherwise the process that compiles calls other copies of them than
    later ones, which read the cache: optimized once, not twice, and so with other rounding, which annealing and ties
    turn into other orders. Compiling takes nearly half as long again.
    """
    options |= {"nogil": True, "forceinline": True}

    def compile_later(function):
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # no locator: every process compiles anew; NUMBA_CACHE_DIR can name a folder
            return numba.njit(**options)(function)

    return compile_later
