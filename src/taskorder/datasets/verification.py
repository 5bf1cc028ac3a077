"""Is a data set whole? Counts by class, and a digest of the contents that no repacking or reordering changes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taskorder.datasets.dataset import Dataset
from taskorder.datasets.sources import SOURCES, Source


@dataclass(frozen=True)
class Verification:
    """What reading a data set has shown."""

    name: str
    num_train: int = 0
    num_test: int = 0
    num_classes: int = 0
    balance: str = ""
    """Rows of a class to train on and to test on: one number where all classes have as many, else smallest-largest."""
    contents: str = ""
    problem: str = ""
    """One line; empty for a data set that is whole."""


def verify_folder(folder: Path) -> list[Verification]:
    """Read every data set in a folder: those with names, or the one that `folder` itself is."""
    from taskorder.datasets import load

    known = [s for s in SOURCES.values() if s.folder and (folder / s.folder).is_dir()]
    if folder.is_file() or (folder / "train").is_dir():
        try:
            return [_verification(load(folder))]
        except ValueError as refusal:
            return [Verification(folder.name, contents="unreadable", problem=str(refusal))]
    itself = folder.resolve()
    own = next((s for s in SOURCES.values() if s.folder and s.folder == itself.name), None)
    if not known and own is not None and itself.is_dir():
        return [verify_source(own, itself.parent)]
    if not known:
        known_folders = ", ".join(source.folder for source in SOURCES.values() if source.folder)
        raise ValueError(
            f"`{folder}` must hold a data set ({known_folders}, or train/ and test/ with images), got none. "
            "Get one with: taskorder data get NAME"
        )
    return [verify_source(source, folder) for source in known]


def verify_source(source: Source, folder: Path) -> Verification:
    """Read a data set and compare it with what its authors published."""
    try:
        dataset = source.read(folder)
    except ValueError as refusal:
        return Verification(source.name, contents="unreadable", problem=str(refusal))
    contents, problem = compare_with_published(dataset, source)
    return _verification(dataset, contents, problem)


def compare_with_published(dataset: Dataset, source: Source) -> tuple[str, str]:
    """How the contents compare with what was published, in a word, and the problem if there is one."""
    fix = f"Run: taskorder data get {source.name}"
    for split, counts, expected in zip(("train", "test"), dataset.class_counts(), source.num_rows, strict=True):
        if expected and (counts != expected).any():
            label = int(np.argmax(counts != expected))
            return "incomplete", (
                f"`{source.name}` must have {expected} {split} images of each class, "
                f"got {counts[label]} of {dataset.class_names[label]!r}. {fix}"
            )
    if not source.digest:
        return "complete by counts", ""
    if contents_digest(dataset) != source.digest:
        return "changed", f"`{source.name}` must have the published images and labels, got others. {fix}"
    return "as published", ""


def contents_digest(dataset: Dataset) -> str:
    """SHA-256 that depends on all images with their labels and splits, and not on their order or packing."""
    total = hashlib.sha256()
    for split in ("train", "test"):
        inputs, labels = getattr(dataset, f"{split}_inputs"), getattr(dataset, f"{split}_labels")
        rows = (bytes((label,)) + image.tobytes() for label, image in zip(labels.tolist(), inputs, strict=True))
        total.update(split.encode())
        for digest in sorted(hashlib.sha256(row).digest() for row in rows):
            total.update(digest)
    return total.hexdigest()


def _verification(dataset: Dataset, contents: str = "readable", problem: str = "") -> Verification:
    shares = [
        str(low) if low == high else f"{low}-{high}"
        for low, high in ((int(counts.min()), int(counts.max())) for counts in dataset.class_counts())
    ]
    sizes = len(dataset.train_labels), len(dataset.test_labels), dataset.num_classes
    return Verification(dataset.name, *sizes, " + ".join(shares), contents, problem)
