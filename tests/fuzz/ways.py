"""Ways in for the files of cases.py: those of READERS that they use, and some more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from . import seeds
from .readers import READERS, Read, command


@dataclass(frozen=True)
class Case:
    """A file for a reader."""

    reader: str
    what: str
    make: Callable[[Path], object]
    ending: str
    read: Read
    fair: bool = False
    """Whether it holds what it says: then it must be taken."""

    @property
    def name(self) -> str:
        """What it is called in the table."""
        return f"{self.reader}: {self.what}"


FAIR = True


def of(reader: str, *files: tuple[Any, ...], read: Read | None = None, ending: str = "") -> list[Case]:
    """The files of one reader: what they are, what writes them, and whether they are FAIR."""
    if read is None:
        read, ending = READERS[reader].read, READERS[reader].ending
    return [Case(reader, what, make, ending, read, *fair) for what, make, *fair in files]


# Ways in that READERS does not have


def results(path: Path, where: dict[str, str] | None = None) -> object:
    from taskorder.audit.results_file import read_methods

    return read_methods(path, where)


def tasks(path: Path, **spec: Any) -> object:
    from taskorder.datasets.task_files import TaskSpec, read_tasks

    return read_tasks([path], TaskSpec(**spec))


def plan(path: Path) -> object:
    from taskorder.report.report_input import open_input

    found = open_input(str(path)).plan()
    if found is None:
        raise ValueError("`plan` must be a plan")
    return found


def kept_table(path: Path) -> object:
    from taskorder.runs.archive import load_archive
    from taskorder.runs.store import Store

    with Store() as store:
        return load_archive(path.with_name("kept.json"), store)


def kept_results(path: Path) -> object:
    from reproduction.running import load_results
    from taskorder.runs.store import Store

    with Store() as store:
        return load_results(path, store)


def folder(path: Path) -> object:
    from taskorder.datasets.images import read_images

    return read_images(path)


def archive(path: Path) -> object:
    from taskorder.datasets.unpacking import unpack

    return unpack(path, path.parent / "out" / "set", ("a.bin", "b.txt"), 750_000_000)


def option(path: Path, *, name: str) -> None:
    """A file that an option of `order` names, beside a plan."""
    given = path.with_name("plan.json")
    given.write_bytes(seeds.plans()[0])
    classes = ["--classes", "FILE"] if name == "--classes" else ["--classes", "[[0, 1], [2, 3], [4, 5]]", name, "FILE"]
    command("order", str(given), *classes, "--to", "pycil")(path)


by_place = partial(tasks, column="place")
