"""Data sets to learn from: four that are known by name, folders of images, NPZ and CSV files.

`load("digits")` needs scikit-learn and no download; `taskorder data get NAME` brings the others.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from taskorder.arguments import BadArgument, did_you_mean

if TYPE_CHECKING:
    from taskorder.datasets.dataset import Dataset

__all__ = ["load"]


def load(name_or_path: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set by its name or from a path.

    Parameters
    ----------
    name_or_path : str or path
        A known name ("digits", "fashion-mnist", "cifar10", "cifar100"), a folder of images (`class/*.png`, or
        `train/class/*.png`), an NPZ archive with inputs and labels, or separated text that ends in .csv or .tsv.
    folder : path, optional
        Where data sets with a name are. Default: `data_folder()`.

    Returns
    -------
    Dataset
        Rows to train on and rows to test on; the latter are drawn where the data come without them.

    Examples
    --------
    >>> import tempfile
    >>> from taskorder.datasets import load
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("width,label\\n" + "1.5,cat\\n2.5,dog\\n" * 5)
    ...     file.flush()
    ...     data = load(file.name)
    >>> data.class_names, len(data.train_labels), len(data.test_labels)
    (('cat', 'dog'), 8, 2)
    """
    from taskorder.datasets.sources import SOURCES, data_folder

    if isinstance(name_or_path, str) and name_or_path in SOURCES:
        return SOURCES[name_or_path].read(data_folder() if folder is None else Path(folder))
    path = Path(name_or_path)
    ending = path.suffix.lower()
    if path.is_dir():
        from taskorder.datasets.images import read_images

        return read_images(path)
    if ending == ".npz":
        from taskorder.datasets.features import read_feature_arrays

        return read_feature_arrays(path)
    if ending in (".csv", ".tsv"):
        from taskorder.datasets.features import read_feature_table

        return read_feature_table(path)
    raise BadArgument(
        f"`name_or_path` must be one of {', '.join(SOURCES)}, a folder of images, or a file that ends in "
        f".npz, .csv or .tsv, got {os.fspath(name_or_path)!r}.{did_you_mean(name_or_path, SOURCES)}"
    )
