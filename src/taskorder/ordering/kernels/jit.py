"""How kernels are compiled: without the interpreter lock, and cached on disk where there is a place to write."""

# mypy: disable-error-code="no-untyped-def"

import numba


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
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # no locator: every process compiles anew; NUMBA_CACHE_DIR can name a folder
            return numba.njit(**options)(function)

    return compile_later
