"""Data sets to learn from: four that are known by name, folders of images, NPZ and CSV files.

`load("digits")` needs scikit-learn and no download; `taskorder data get NAME` brings the others.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taskorder.datasets.dataset import Dataset

__all__ = ["load"]


def load(name_or_path: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None) -> Dataset:
    """The data set of that name in `folder` (default: `data_folder()`), or the one at that path.

    A path is a folder of images (`class/*.png`, or `train/class/*.png`), an NPZ archive, or separated text that ends
    in .csv or .tsv.
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
    raise ValueError(
        f"`name_or_path` must be one of {', '.join(SOURCES)}, a folder of images, or a file that ends in "
        f".npz, .csv or .tsv, got {os.fspath(name_or_path)!r}."
    )
