"""Compiled code, kept on disk: the second process does not compile again."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import jax

from taskorder.datasets.sources import data_folder
from taskorder.machine import describe

MIN_SECONDS = 0.0
"""Everything is kept: the many small functions cost as much as the few large ones, and need little room."""


def keep_compiled() -> Path | None:
    """Have JAX keep what it compiles, and use what is there; the folder, or None if it cannot be written.

    A folder that the user has given to JAX (JAX_COMPILATION_CACHE_DIR) stays. Ours is in the data folder, one for each
    processor and version of JAX, for a home folder may be shared by machines that cannot run each other's code.
    """
    config: Any = jax.config  # its settings have no types
    given = config.jax_compilation_cache_dir
    if given is not None:
        return Path(given)
    machine = hashlib.sha256(f"{describe()['cpu']} {jax.__version__}".encode()).hexdigest()[:12]
    folder = data_folder() / "compiled" / machine
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    config.update("jax_compilation_cache_dir", str(folder))
    config.update("jax_persistent_cache_min_compile_time_secs", MIN_SECONDS)
    return folder
