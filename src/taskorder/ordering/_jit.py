"""How kernels are compiled: without the interpreter lock, and cached on disk where there is a place to write."""

# mypy: disable-error-code="no-untyped-def"

import numba


def njit(**options):
    """numba.njit with nogil and a cache beside the source; without a cache where numba finds no writable folder."""

    def compile_later(function):
        try:
            return numba.njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:  # no locator: every process compiles anew; NUMBA_CACHE_DIR can name a folder
            return numba.njit(nogil=True, **options)(function)

    return compile_later
