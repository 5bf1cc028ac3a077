"""Rows of several tasks, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np


def joined(parts: Sequence[Any]) -> Any:
    """Rows in memory that come one after another, of the kind that the parts have.

    >>> joined([np.array([[1.0], [2.0]]), np.array([[3.0]])]).ravel().tolist(), joined([["late"], ["thank you"]])
    ([1.0, 2.0, 3.0], ['late', 'thank you'])
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    home = type(first).__module__.partition(".")[0]
    if isinstance(first, list) or len({type(part) for part in parts}) > 1:  # texts in lists and in series, say
        return list(chain.from_iterable(parts))
    if home == "scipy":
        import scipy.sparse

        return scipy.sparse.vstack(parts, format="csr")
    if home == "pandas":
        return import_module("pandas").concat(parts, ignore_index=True)
    if home == "polars":
        return import_module("polars").concat(parts)
    return np.concatenate(parts)
