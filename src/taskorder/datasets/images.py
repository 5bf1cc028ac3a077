"""A folder of images: cat/1.png, or train/cat/1.png and test/cat/7.png, and so on."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taskorder.checks import Ints
from taskorder.costs import DISK_BLOCK, megabytes, most_unpacked
from taskorder.datasets.dataset import MAX_DATASET_BYTES, Dataset, held_out
from taskorder.tables.input_files import printable, refusal, unreadable

if TYPE_CHECKING:
    from PIL.Image import Image

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".webp")
TEST_FOLDERS = ("test", "val", "valid")
_FORMATS = ("PNG", "JPEG", "BMP", "WEBP")
_GRAY = ("1", "L")
_COLOR = ("RGB", "P")
_MAX_PIXELS = 4096 * 4096
_MAX_SCANS = 100
"""Passes over a JPEG; each takes time for every pixel, however little it says. Programs write about ten."""
_LAYOUT = "Lay images out as cat/1.png, or as train/cat/1.png and test/cat/2.png."


def read_images(folder: Path) -> Dataset:
    """The data set in a folder; classes are folders by name, images become gray only if all of them are.

    The split to train on is called train, and the one to test on test, val or valid. Where there is none to test on, or
    the class folders lie in `folder` itself, rows to test on are drawn.
    """
    try:
        import PIL  # noqa: F401
    except ImportError:
        fix = 'Install it with: pip install "taskorder[images]".'
        raise refusal(folder, "be read with pillow", "no such package", fix) from None
    test = next((folder / name for name in TEST_FOLDERS if (folder / name).is_dir()), None)
    train = folder / "train" if test or (folder / "train").is_dir() else folder
    names = tuple(entry.name for entry in _entries(train) if entry.is_dir())
    if not names:
        raise ValueError(f"`{printable(train)}` must hold one folder for each class, got none. {_LAYOUT}")
    paths, labels = _files(train, names, every=True)
    if test:
        strange = [entry.name for entry in _entries(test) if entry.is_dir() and entry.name not in names]
        if strange:
            raise ValueError(f"`{printable(test)}` must have the class folders that train has, got {strange[0]!r} too.")
        test_paths, test_labels = _files(test, names, every=False)
    else:
        train_rows, test_rows = held_out(labels)
        if not len(test_rows):
            got = f"{len(labels)} of {len(names)} classes"
            raise refusal(train, "have two images of a class, to test on one", got, "Give more images.")
        test_paths, test_labels = [paths[row] for row in test_rows], labels[test_rows]
        paths, labels = [paths[row] for row in train_rows], labels[train_rows]
    shape = _common_shape(paths + test_paths, folder)
    pixels, test_pixels = _pixels(paths, *shape), _pixels(test_paths, *shape)
    return Dataset(printable(folder.resolve().name), pixels, labels, test_pixels, test_labels, names)


def _entries(folder: Path) -> list[Path]:
    """What is in a folder, by name, without hidden files."""
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        raise refusal(folder, "be a folder with one folder of images a class", "no such folder", _LAYOUT) from None
    except OSError as problem:
        raise unreadable(folder, problem) from None


def _files(split: Path, names: tuple[str, ...], every: bool) -> tuple[list[Path], Ints]:
    """The images of a split, those of `every` class if so, and their labels."""
    paths: list[Path] = []
    labels: list[int] = []
    for label, name in enumerate(names):
        entries = _entries(split / name) if (split / name).is_dir() else []
        images = [path for path in entries if path.suffix.lower() in ENDINGS]
        if not images and every:
            deeper = any(entry.is_dir() for entry in entries)
            fix = f"Is every folder in it a task? Then name them: {printable(split)}/*." if deeper else _LAYOUT
            raise ValueError(f"`{printable(split / name)}` must hold images ({' '.join(ENDINGS)}), got none. {fix}")
        paths += images
        labels += [label] * len(images)
    if not paths:
        raise ValueError(f"`{printable(split)}` must hold images ({' '.join(ENDINGS)}) in class folders, got none.")
    return paths, np.array(labels, dtype=np.int64)


def _common_shape(paths: list[Path], folder: Path) -> tuple[tuple[int, int], int]:
    """Width and height of all images, and 1 channel if all are gray, else 3; only their headers are read."""
    size: tuple[int, int] | None = None
    gray = True
    for path in paths:
        with _open(path) as image:
            if image.mode not in _GRAY + _COLOR:
                raise refusal(path, "be a gray or RGB image", f"mode {image.mode}", "Convert it, without transparency.")
            size = size or image.size
            if image.size != size:
                here, first = (" x ".join(map(str, pair)) for pair in (image.size, size))
                fix = "Bring all images to one size."
                raise refusal(path, f"be {first} pixels like {printable(paths[0])}", here, fix)
            gray = gray and image.mode in _GRAY
    assert size is not None
    channels = 1 if gray else 3
    total = len(paths) * size[0] * size[1] * channels
    got = f"{len(paths)} images of {size[0]} x {size[1]} pixels"
    if size[0] * size[1] > _MAX_PIXELS or total > MAX_DATASET_BYTES:
        raise refusal(folder, f"take at most {megabytes(MAX_DATASET_BYTES)}", got, "Make them smaller.")
    most = most_unpacked(sum(max(path.stat().st_size, DISK_BLOCK) for path in paths))
    if total > most:
        fix = "Make them smaller, or save them as BMP, which is not packed."
        raise refusal(folder, f"unpack to at most {megabytes(most)} for its size", got, fix)
    return size, channels


def _pixels(paths: list[Path], size: tuple[int, int], channels: int) -> NDArray[np.uint8]:
    images = np.empty((len(paths), size[1], size[0], channels), dtype=np.uint8)
    for row, path in enumerate(paths):
        with _open(path) as image:
            if image.format != "PNG" and path.read_bytes().count(b"\xff\xda") > _MAX_SCANS:
                raise refusal(path, f"have at most {_MAX_SCANS} scans", "more", "Save it again.")
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    pixels = np.asarray(image.convert("L" if channels == 1 else "RGB"))
            except Exception as problem:  # decoders raise nearly everything on damaged files
                raise _broken(path, problem) from None
            images[row] = pixels.reshape(size[1], size[0], channels)
    return images


def _open(path: Path) -> Image:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # sizes are checked here
            return Image.open(path, formats=_FORMATS)
    except PermissionError as problem:
        raise unreadable(path, problem) from None
    except Exception as problem:  # decoders raise nearly everything on damaged files
        raise _broken(path, problem) from None


def _broken(path: Path, problem: Exception) -> ValueError:
    # pillow's own sentence may hold the path again
    reason = " ".join(str(problem).replace(os.fspath(path), "it").split())[:100].rstrip(".")
    return refusal(path, "be a whole image", f"a damaged one ({reason or type(problem).__name__})", "Replace it.")
