"""The data sets that are known by name: what they are, where they come from, and where they lie on this machine.

Whoever uses them cites their authors: A. Krizhevsky, "Learning multiple layers of features from tiny images", 2009, for
CIFAR-10 and CIFAR-100; H. Xiao, K. Rasul and R. Vollgraf, "Fashion-MNIST", arXiv:1708.07747, 2017.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from taskorder.arguments import unknown

if TYPE_CHECKING:
    from taskorder.datasets.dataset import Dataset


@dataclass(frozen=True)
class Source:
    """A data set that can be got by name."""

    name: str
    about: str
    folder: str = ""
    """Below the data folder; empty for a data set that comes with a package."""
    files: tuple[str, ...] = ()
    """All that a reader needs in that folder; a name that ends in .gz may also lie there without it."""
    address: str = ""
    """Where the downloads are; they are checked by the md5 sums that their authors publish."""
    downloads: tuple[tuple[str, str], ...] = ()
    """File name and md5 of each download: the files themselves, or one archive of them."""
    megabytes: int = 0
    """Size of the downloads."""
    num_rows: tuple[int, int] = (0, 0)
    """Rows of each class to train on and to test on."""
    digest: str = ""
    """`contents_digest` of the published data; empty where only counts are known."""

    @property
    def is_archive(self) -> bool:
        """Whether the download is an archive that must be unpacked."""
        return bool(self.downloads) and self.downloads[0][0].endswith(".tar.gz")

    def missing(self, folder: Path) -> list[str]:
        """The files that are not there, by name."""
        if not self.folder:
            return [] if find_spec("sklearn") else ["scikit-learn"]
        here = folder / self.folder
        return [f for f in self.files if not (here / f).is_file() and not (here / f.removesuffix(".gz")).is_file()]

    def read(self, folder: Path) -> Dataset:
        """The data set, if it is there."""
        missing = self.missing(folder)
        if self.folder and missing:
            got = "nothing" if len(missing) == len(self.files) else f"all but {missing[0]}"
            raise ValueError(
                f"`{self.name}` must be downloaded first, got {got} in {folder / self.folder}. "
                f"Run: taskorder data get {self.name}"
            )
        module, reader = _READERS[self.name]
        read = getattr(import_module(f"taskorder.datasets.{module}"), reader)
        found_set: Dataset = read(folder / self.folder) if self.folder else read()
        return found_set


_READERS = {
    "digits": ("digits", "read_digits"),
    "fashion-mnist": ("idx", "read_fashion_mnist"),
    "cifar10": ("cifar", "read_cifar10"),
    "cifar100": ("cifar", "read_cifar100"),
}

SOURCES = {
    source.name: source
    for source in (
        Source("digits", "10 digits, 8 x 8 gray, from scikit-learn"),
        Source(
            "fashion-mnist",
            "10 kinds of clothes, 28 x 28 gray",
            folder="fashion-mnist",
            files=(
                "train-images-idx3-ubyte.gz",
                "train-labels-idx1-ubyte.gz",
                "t10k-images-idx3-ubyte.gz",
                "t10k-labels-idx1-ubyte.gz",
            ),
            address="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
            downloads=(
                ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
                ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
                ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
                ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
            ),
            megabytes=31,
            num_rows=(6000, 1000),
            digest="336ae816dc6d4e0a015a1443f317d46d11eb943531c23f40a1584d49880428c0",
        ),
        Source(
            "cifar10",
            "10 animals and vehicles, 32 x 32 color",
            folder="cifar-10-batches-bin",
            files=(*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin", "batches.meta.txt"),
            address="https://www.cs.toronto.edu/~kriz/",
            downloads=(("cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"),),
            megabytes=170,
            num_rows=(5000, 1000),
            digest="0d007e6ecd7a33508319d313ec42989a365f0085fc207bc46d7ccbc279da7eab",
        ),
        Source(
            "cifar100",
            "100 animals, plants, things, 32 x 32 color",
            folder="cifar-100-binary",
            files=("train.bin", "test.bin", "fine_label_names.txt", "coarse_label_names.txt"),
            address="https://www.cs.toronto.edu/~kriz/",
            downloads=(("cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8"),),
            megabytes=169,
            num_rows=(500, 100),
        ),
    )
}


def source_named(name: str) -> Source:
    """The source, or a refusal that lists the valid names."""
    if name not in SOURCES:
        raise unknown("name", name[:60], SOURCES)
    return SOURCES[name]


def data_folder() -> Path:
    """Where data sets lie: $TASKORDER_DATA, else `taskorder` in the folder where this system keeps caches."""
    if given := os.environ.get("TASKORDER_DATA"):
        return Path(given).expanduser()
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "taskorder"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "taskorder"
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if os.path.isabs(cache) else home / ".cache") / "taskorder"  # a relative one is to be ignored
