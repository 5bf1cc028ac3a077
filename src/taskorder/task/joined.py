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
    homes = {type(part).__module__.partition(".")[0] for part in parts}
    if homes == {"scipy"}:
        import scipy.sparse

        return scipy.sparse.vstack(parts, format="csr")
    if homes == {"polars"}:
        relaxed = {"how": "vertical_relaxed"} if hasattr(first, "columns") else {}  # whole numbers and others, say
        return import_module("polars").concat(parts, **relaxed)
    if homes == {"pandas"} or hasattr(first, "columns"):
        pandas = import_module("pandas")
        return pandas.concat([part if hasattr(part, "iloc") else pandas.DataFrame(part.to_dict(as_series=False))
                              for part in parts], ignore_index=True)  # fmt: skip
    if homes == {"numpy"}:
        return np.concatenate(parts)
    return list(chain.from_iterable(parts))  # texts, in lists and in series
