"""Everything that reads what others wrote: how to damage its valid inputs (seeds.py), and the way in.

A reader either takes its input or refuses it with one line in the house's form; `refusal` says whether it did.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from taskorder.cli import main
from taskorder.runs.store import Store

from .mutate import Mutation, damaged, in_gzip, in_zip, odd_json, odd_npy, odd_store, odd_tar
from .seeds import (
    NAMES,
    archives,
    audits,
    cifar_records,
    class_groups,
    configs,
    feature_arrays,
    feature_tables,
    figures,
    idx_images,
    images,
    json_tables,
    kept,
    name_lists,
    npys,
    orders,
    packed_idx,
    packed_results,
    plans,
    results,
    solve_bodies,
    specs,
    stores,
    tables,
    text_tables,
    transfer_tables,
    zips,
)

Read = Callable[[Path], object]


@dataclass(frozen=True)
class Reader:
    """One way in."""

    name: str
    ending: str
    """Of the file that it is given; the readers look at it."""
    seeds: Callable[[], list[bytes]]
    """Valid inputs."""
    mutations: tuple[Mutation, ...]
    read: Read
    cost: int = 1
    """About how many milliseconds an input takes: the dear ones get fewer."""
    foreign: int = 0
    """Seeds that are whole, and yet of another kind."""


class Broken(AssertionError):
    """A reader that did what none may do."""


def refusal(problem: Exception) -> bool:
    """Whether this is a refusal of our own in one line: no numpy's or json's words, no traceback."""
    ours = type(problem) is ValueError or type(problem).__module__.startswith("taskorder.")
    return ours and isinstance(problem, ValueError) and ("`" in str(problem) or "must" in str(problem))


def command(*argv: str) -> Read:
    """The command line on a file, which stands where the words say FILE."""

    def read(path: Path) -> None:
        """Refuses what the command refuses."""
        out, err = io.StringIO(), io.StringIO()
        words = [word.replace("FILE", str(path)).replace("FOLDER", str(path.parent)) for word in argv]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
        said = err.getvalue()
        if code not in (0, 1, 2) or "Traceback" in said:
            raise Broken(f"exit code {code}: {said}")
        if code and (said.count("\n") != 1 or not said.startswith("taskorder: error: ")):
            raise Broken(f"exit code {code} without one line: {said!r}")
        if code and out.getvalue():
            raise Broken(f"a refusal that also prints: {out.getvalue()[:200]!r}")
        if code:
            raise ValueError(said)

    return read


# Tables of numbers


def table(path: Path) -> object:
    from taskorder.tables.reading import read_similarity

    return read_similarity(path)


def cells(path: Path) -> object:
    from taskorder.tables.input_files import open_lines
    from taskorder.tables.separated import read_rows

    with open_lines(path, max_bytes=2**20) as lines:
        return list(read_rows(lines, str(path), max_cells=100)[1])


def weights(path: Path) -> object:
    from taskorder.tables.reading import read_weights

    return read_weights(str(path), NAMES)


def transfer_losses(path: Path) -> object:
    from taskorder.planning.estimate import TransferLosses

    return TransferLosses.from_json(path.read_text(encoding="utf-8-sig", errors="replace"))


# Settings


def run_config(path: Path) -> object:
    from taskorder.runs.settings import read_config
    from taskorder.runs.specs import RunSpecs

    all_specs = RunSpecs(read_config(path))
    return len(all_specs), [spec.digest for spec in itertools.islice(all_specs, 5)]


def pilot_spec(path: Path) -> object:
    from taskorder.datasets.task_files import read_task_spec

    return read_task_spec(path)


# Orders, plans and audits


def classes(path: Path) -> None:
    plan = path.with_name("plan.json")
    plan.write_bytes(plans()[0])
    command("order", str(plan), "--classes", "FILE", "--to", "pycil")(path)


def class_names(path: Path) -> None:
    plan = path.with_name("plan.json")
    plan.write_bytes(plans()[0])
    groups = "[[0, 1], [2, 3], [4, 5]]"
    command("order", str(plan), "--classes", groups, "--class-names", "FILE", "--json", "--to", "renate")(path)


# Data sets


def idx(path: Path) -> object:
    from taskorder.datasets.idx import read_idx

    return read_idx(path, num_axes=3)


def cifar(path: Path) -> object:
    from taskorder.datasets.cifar import read_cifar100

    folder = path.parent
    (folder / "train.bin").write_bytes(path.read_bytes())
    (folder / "test.bin").write_bytes(cifar_records()[0])
    (folder / "fine_label_names.txt").write_text("\n".join(NAMES))
    return read_cifar100(folder)


def names(path: Path) -> object:
    from taskorder.datasets.cifar import read_class_names

    return read_class_names(path)


def archive(path: Path) -> object:
    from taskorder.datasets.unpacking import unpack

    target = path.parent / "out" / "set"
    unpack(path, target, ("a.bin", "b.txt"), 100_000)
    for entry in path.parent.rglob("*"):
        inside = (target in entry.parents and entry.name in ("a.bin", "b.txt")) or entry in (
            path,
            target,
            target.parent,
        )
        if entry.is_symlink() or not inside:
            raise Broken(f"unpacked what nobody asked for: {entry}")
    return target


def image(path: Path) -> object:
    from taskorder.datasets.images import read_images

    folder = path.parent / "data"
    for split, label in itertools.product(("train", "test"), ("a", "b")):
        (folder / split / label).mkdir(parents=True, exist_ok=True)
        (folder / split / label / "1.png").write_bytes(images()[0])
    (folder / "train" / "a" / "2.png").write_bytes(path.read_bytes())
    return read_images(folder)


def labeled(path: Path) -> object:
    from taskorder.datasets import load

    return load(path)


def by_column(path: Path) -> object:
    from taskorder.datasets.task_files import TaskSpec, read_tasks

    return read_tasks([path], TaskSpec(column="place"))


# Stores, kept tables, figures, pilots


def kept_table(path: Path) -> object:
    return _load_kept(path.parent, kept()[0], path.read_bytes())


def kept_description(path: Path) -> object:
    return _load_kept(path.parent, path.read_bytes(), kept()[1])


def _load_kept(folder: Path, description: bytes, numbers: bytes) -> object:
    from taskorder.runs.archive import load_archive

    (folder / "k.json").write_bytes(description)
    (folder / "k.csv.gz").write_bytes(numbers)
    with Store() as store:
        return load_archive(folder / "k.json", store)


def figure(path: Path) -> object:
    from reproduction.pages import figure_page, summary_page
    from reproduction.running import read

    figure = read(path)
    return summary_page([figure]) + figure_page(figure, "results")


# Requests to the explorer


def asked(path: Path, *, what: str) -> object:
    """What the page's requests are answered with, without the wires; see test_http.py for those."""
    from taskorder.explorer import plans as made

    data = path.read_bytes()
    try:
        if what == "table":
            return json.dumps(made.table_payload(data, "a table"), allow_nan=False)
        body = made.parse(data)
        if what == "report":
            return made.report_of(body, lambda *_: True)
        plan = made.plan_by_rule(body) if what == "solve" else made.plan_of_order(body)
        return plan.to_json()
    except (TypeError, OverflowError) as problem:  # answered with 400, too
        raise ValueError(f"`request` must have the right types, got: {problem}.") from None


TEXT, JSON, NPY = (damaged,), (damaged, odd_json, odd_json), (damaged, odd_npy)
ZIP = (damaged, in_zip(damaged), in_zip(odd_npy), in_zip(odd_npy))
PACKED = (damaged, in_gzip(damaged))
STORE = (damaged, odd_store, odd_store, odd_store)
FAST = ("--time-limit", "0.5")

LISTED = (
    Reader("text table", ".csv", text_tables, TEXT, table),
    Reader("rows of cells", ".csv", text_tables, TEXT, cells),
    Reader("rows of cells in gzip", ".csv.gz", packed_results, PACKED, cells, foreign=1),
    Reader("JSON table", ".json", json_tables, JSON, table),
    Reader("NPY table", ".npy", npys, NPY, table),
    Reader("NPZ table", ".npz", zips, ZIP, table),
    Reader("weights", ".txt", lambda: [b"cats=2\ndogs=1\n", b"task,weight\ncats,1\n", b"1\n2\n3\n"], TEXT, weights),
    Reader("transfer table", ".json", transfer_tables, JSON, transfer_losses),
    Reader("solve", ".csv", tables, TEXT, command("solve", "FILE", *FAST), 5),
    Reader(
        "solve --losses", ".csv", text_tables, TEXT,
        command("solve", "FILE", "--losses", "--chance", "0.7", *FAST), 5,
    ),
    Reader(
        "solve --accuracy", ".csv", text_tables, TEXT,
        command("solve", "FILE", "--accuracy", "--chance", "0.05,0.1,0.05", *FAST), 5, foreign=1,
    ),
    Reader("solve --ratios", ".json", json_tables, JSON, command("solve", "FILE", "--ratios", *FAST), 5),
    Reader("compare", ".json", json_tables, JSON, command("compare", "FILE", *FAST), 10),
    Reader("run config", ".toml", configs, TEXT, run_config),
    Reader("pilot spec", ".toml", specs, TEXT, pilot_spec),
    Reader("order.json", ".json", orders, JSON, command("order", "FILE"), 5),
    Reader("order --to", ".json", orders, JSON, command("order", "FILE", "--to", "renate", "--json"), 5, foreign=1),
    Reader("order of a plan", ".json", plans, JSON, command("order", "FILE"), 5),
    Reader("order --classes", ".json", class_groups, JSON, classes, 5),
    Reader("order --class-names", ".txt", name_lists, TEXT, class_names, 5),
    Reader("IDX", "", idx_images, TEXT, idx),
    Reader("IDX in gzip", ".gz", packed_idx, PACKED, idx),
    Reader("CIFAR", ".bin", cifar_records, TEXT, cifar),
    Reader("class names", ".txt", name_lists, TEXT, names),
    Reader("tar.gz", ".tar.gz", archives, (damaged, odd_tar, in_gzip(damaged)), archive, 5),
    Reader("image", ".png", images, TEXT, image, 5, foreign=1),
    Reader("features in text", ".csv", lambda: feature_tables()[:2], TEXT, labeled),
    Reader("features in NPZ", ".npz", feature_arrays, ZIP, labeled),
    Reader("tasks by column", ".csv", lambda: feature_tables()[2:], TEXT, by_column, 5),
    Reader("status", ".sqlite", stores, STORE, command("status", "FILE"), 10),
    Reader("export", ".sqlite", stores, STORE, command("export", "FILE", "-o", "FOLDER/out.csv"), 10),
    Reader(
        "export --similarity", ".sqlite", stores, STORE,
        command("export", "FILE", "-o", "FOLDER/out.csv", "--task-set", "0"), 10,
    ),
    Reader(
        "export --whole", ".sqlite", stores, STORE,
        command("export", "FILE", "-o", "FOLDER/out.csv.gz", "--whole"), 10,
    ),
    Reader("audit of a store", ".sqlite", stores, STORE, command("audit", "FILE", "--where", "set=0"), 10),
    Reader(
        "report on a store", ".sqlite", stores, STORE, command("report", "FILE", "-o", "FOLDER/o.html", *FAST), 20
    ),
    Reader("audit", ".csv", results, TEXT, command("audit", "FILE"), 10),
    Reader("audit of gzip", ".csv.gz", packed_results, PACKED, command("audit", "FILE"), 10),
    Reader("report on a plan", ".json", plans, JSON, command("report", "FILE", "-o", "FOLDER/o.html", *FAST), 20),
    Reader("report on an audit", ".json", audits, JSON, command("report", "FILE", "-o", "FOLDER/o.html"), 20),
    Reader("kept table", ".csv.gz", lambda: [kept()[1]], PACKED, kept_table, 5),
    Reader("kept description", ".json", lambda: [kept()[0]], JSON, kept_description, 5),
    Reader("figure", ".json", figures, JSON, figure, 5),
    Reader("explorer: table", "", tables, TEXT, partial(asked, what="table")),
    Reader("explorer: solve", ".json", solve_bodies, JSON, partial(asked, what="solve"), 5),
    Reader("explorer: plan", ".json", solve_bodies, JSON, partial(asked, what="plan"), 5),
    Reader("explorer: report", ".json", solve_bodies, JSON, partial(asked, what="report"), 20),
)  # fmt: skip
READERS = {reader.name: reader for reader in LISTED}


def one_line(text: str) -> str:
    """A message on one line, for tallies."""
    return re.sub(r"\s+", " ", text)[:300]
