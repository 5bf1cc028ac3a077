"""Similarity matrices to files: CSV, TSV, JSON and NPZ."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from taskorder.checks import square_matrix
from taskorder.files import whole_file
from taskorder.tables._names import checked_names
from taskorder.tables.separated import write_rows


def write_similarity(path: str | os.PathLike[str], matrix: ArrayLike, names: Sequence[str] | None = None) -> None:
    """Write a P x P matrix so that `read_similarity` gives back the same numbers and names.

    Parameters
    ----------
    path : path
        Its ending decides the format: .csv, .tsv, .json or .npz. An existing file is replaced only by a whole one.
    matrix : (P, P) array
        Finite numbers.
    names : sequence of str, optional
        The names of the P tasks. In .csv and .tsv an apostrophe stands before one that a spreadsheet would run as a
        formula, like =1+2; `read_similarity` takes it off.

    Raises
    ------
    ValueError
        For another ending, a matrix that is not square, or names that are not unique and printable.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from taskorder import read_similarity, write_similarity
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_similarity(Path(folder) / "similarity.csv", [[1, 0.5], [0.5, 1]], ["cats", "dogs"])
    ...     matrix, names = read_similarity(Path(folder) / "similarity.csv")
    >>> matrix.tolist(), names
    ([[1.0, 0.5], [0.5, 1.0]], ('cats', 'dogs'))
    """
    ending = Path(path).suffix.lower()
    if ending not in (".csv", ".tsv", ".json", ".npz"):
        raise ValueError(f"`path` must end in .csv, .tsv, .json or .npz, got {os.fspath(path)!r}.")
    table = square_matrix(matrix, "matrix")
    labels = None if names is None else checked_names(names, len(table), "names")
    with whole_file(path) as part:
        if ending == ".npz":
            arrays = {"similarity": table} if labels is None else {"similarity": table, "names": np.array(labels)}
            with part.open("wb") as stream:  # to a path, numpy adds an ending of its own
                np.savez(stream, **arrays)
        elif ending == ".json":
            data: Any = table.tolist() if labels is None else {"names": labels, "similarity": table.tolist()}
            part.write_text(json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
        else:
            with part.open("w", encoding="utf-8", newline="") as text:
                rows = table.tolist()
                if labels is not None:
                    rows = [["task", *labels], *([label, *row] for label, row in zip(labels, rows, strict=True))]
                write_rows(text, rows, "," if ending == ".csv" else "\t", quoted=True)
