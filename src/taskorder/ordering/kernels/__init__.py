"""Compiled kernels of the solvers: arrays in, arrays out, no checks. `jit.py` says how they compile."""
