"""Bring a known data set to this machine: download, unpack, read it once to be sure."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from taskorder.datasets.dataset import Dataset
from taskorder.datasets.download import DownloadProgress, download
from taskorder.datasets.sources import Source, data_folder
from taskorder.datasets.unpacking import unpack
from taskorder.datasets.verification import compare_with_published

_MEGABYTE = 10**6


def fetch(
    source: Source,
    folder: str | os.PathLike[str] | None = None,
    *,
    address: str | None = None,
    report: DownloadProgress | None = None,
    timeout: float = 30.0,
    tries: int = 4,
    wait: float = 1.0,
) -> Dataset:
    """The data set, got from `address` (default: its authors') unless it is there already and whole.

    An archive that lies in the folder, with the right md5, is unpacked without a download; it is removed afterwards.
    """
    target_folder = data_folder() if folder is None else Path(folder)
    if not source.downloads:
        return source.read(target_folder)
    with contextlib.suppress(ValueError):  # a damaged copy is replaced
        return _whole(source, target_folder)
    target = target_folder / source.folder
    base = (address or source.address).rstrip("/") + "/"
    limit = int(1.1 * source.megabytes * _MEGABYTE)
    for name, md5 in source.downloads:
        path = (target_folder if source.is_archive else target) / name
        download(base + name, path, md5=md5, max_bytes=limit, report=report, timeout=timeout, tries=tries, wait=wait)
        if source.is_archive:
            unpack(path, target, source.files, max_bytes=4 * limit)
    dataset = _whole(source, target_folder)
    if source.is_archive:
        path.unlink()
    return dataset


def _whole(source: Source, target_folder: Path) -> Dataset:
    """The data set, if it is there with all that was published."""
    dataset = source.read(target_folder)
    _, problem = compare_with_published(dataset, source)
    if problem:
        raise ValueError(problem)
    return dataset
