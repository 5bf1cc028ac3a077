"""Everything that reads what others wrote: a few valid inputs of each kind, how to damage them, and the way in.

A reader either takes its input or refuses it with one line in the house's form; `refusal` says whether it did.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import json
import re
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from taskorder import solve
from taskorder.cli import main
from taskorder.portable import PortableOrder
from taskorder.records import RunSpec
from taskorder.store import Store

from .mutate import Mutation, damaged, in_gzip, in_zip, odd_json, odd_npy, odd_store, odd_tar

TABLE = ((1.0, 0.5, 0.2), (0.5, 1.0, 0.1), (0.2, 0.1, 1.0))
NAMES = ("cats", "dogs", "red cars")
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


@cache
def text_tables() -> list[bytes]:
    rows = [["task", *NAMES], *([name, *row] for name, row in zip(NAMES, TABLE, strict=True))]
    plain = [list(map(str, row)) for row in TABLE]
    made = [",".join(map(str, row)) for row in rows]
    return [
        "\n".join(made).encode(),
        "\r\n".join(line.replace(",", ";").replace(".", ",") for line in made).encode("utf-8-sig"),
        "\n".join("\t".join(row) for row in plain).encode(),
        "\n".join("  ".join(row) for row in plain).encode(),
        b'# a comment\n"a, b",c\n1,0.5\n0.5,1\n',
    ]


@cache
def json_tables() -> list[bytes]:
    named = {one: dict(zip(NAMES, row, strict=True)) for one, row in zip(NAMES, TABLE, strict=True)}
    return [json.dumps(one).encode() for one in (TABLE, {"names": NAMES, "similarity": TABLE}, named)]


@cache
def array_tables() -> list[bytes]:
    npy, npz, bare = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(npy, np.array(TABLE))
    np.savez(npz, similarity=np.array(TABLE), names=np.array(NAMES))
    np.savez_compressed(bare, np.array(TABLE, dtype=np.float32))
    return [npy.getvalue(), npz.getvalue(), bare.getvalue()]


@cache
def tables() -> list[bytes]:
    return [*text_tables(), *json_tables()]


@cache
def npys() -> list[bytes]:
    return array_tables()[:1]


@cache
def zips() -> list[bytes]:
    return array_tables()[1:]


def table(path: Path) -> object:
    from taskorder.similarity.tables import read_similarity

    return read_similarity(path)


def weights(path: Path) -> object:
    from taskorder.similarity.tables import read_weights

    return read_weights(str(path), NAMES)


# Settings


@cache
def configs() -> list[bytes]:
    whole = (Path(__file__).parents[2] / "configs" / "quick.toml").read_bytes()
    return [
        whole,
        b'dataset = "digits"\nnum_sets = 1\nnum_tasks = 2\norders = "3+rules"\ntasks = ["0-1", "2-3"]\nepochs = 1\n',
    ]


def run_config(path: Path) -> object:
    from taskorder.neural.config import read_config
    from taskorder.neural.settings import specs

    found = specs(read_config(path))
    return len(found), [spec.digest for spec in itertools.islice(found, 5)]


@cache
def specs() -> list[bytes]:
    return [
        b'[tasks]\npets = ["cat", "dog"]\ncars = ["red", "blue"]\n',
        b'column = "country"\n',
        b"classes_per_task = 3\n",
    ]


def pilot_spec(path: Path) -> object:
    from taskorder.planning.sources import read_spec

    return read_spec(path)


# Orders, plans and audits


@cache
def plans() -> list[bytes]:
    plan = solve(TABLE, names=NAMES, before=[("cats", "dogs")], weights=[1, 2, 1])
    return [plan.to_json().encode(), solve(TABLE, "worst", learned=["A"]).to_json(indent=None).encode()]


@cache
def orders() -> list[bytes]:
    plan = solve(TABLE, names=NAMES)
    groups = {"cats": [0, 1], "dogs": [4, 5], "red cars": [2, 3]}
    names = ("tabby", "lion", "vw", "bmw", "poodle", "husky", "none")
    portable = PortableOrder.from_plan(plan, class_groups=groups, class_names=names, training_seeds=[1, 2])
    return [portable.to_json().encode(), PortableOrder.from_plan(plan).to_json().encode()]


@cache
def class_groups() -> list[bytes]:
    return [b'{"cats": [0, 1], "dogs": [2, 3], "red cars": [4, 5]}', b"[[0, 1], [2, 3], [4, 5]]"]


def classes(path: Path) -> None:
    plan = path.with_name("plan.json")
    plan.write_bytes(plans()[0])
    command("order", str(plan), "--classes", "FILE", "--to", "pycil")(path)


def class_names(path: Path) -> None:
    plan = path.with_name("plan.json")
    plan.write_bytes(plans()[0])
    groups = "[[0, 1], [2, 3], [4, 5]]"
    command("order", str(plan), "--classes", groups, "--class-names", "FILE", "--json", "--to", "renate")(path)


@cache
def results() -> list[bytes]:
    rng = np.random.default_rng(0)
    lines = ["order,seed,task,accuracy"]
    lines += [
        f"{order},{seed},{task},{rng.uniform(0.5, 0.9):.3f}"
        for order in ("0>1>2", "2>1>0", "1>0>2")
        for seed in range(3)
        for task in range(3)
    ]
    semicolons = "\r\n".join(line.replace(",", ";") for line in lines)
    export = io.StringIO()
    writer = csv.writer(export)
    writer.writerow(["kind", "set", "seed", "order", "step", "task", "task_name", "position", "accuracy"])
    for order, seed, step, task in itertools.product(("0>1", "1>0"), range(2), range(3), range(2)):
        writer.writerow(["k", 0, seed, order, step, task, NAMES[task], 1, rng.uniform(0.5, 0.9)])
    return ["\n".join(lines).encode(), semicolons.encode("utf-8-sig"), export.getvalue().encode()]


@cache
def packed_results() -> list[bytes]:
    return [gzip.compress(one) for one in results()]


@cache
def audits() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.csv"
        path.write_bytes(results()[0])
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            assert main(["audit", str(path), "--json", "--compare", "0>1>2", "2>1>0"]) == 0
    return [out.getvalue().encode()]


# Data sets


@cache
def idx_images() -> list[bytes]:
    image = bytes((0, 0, 8, 3)) + b"".join(size.to_bytes(4, "big") for size in (3, 4, 4)) + bytes(range(48))
    return [image]


@cache
def packed_idx() -> list[bytes]:
    return [gzip.compress(one) for one in idx_images()]


def idx(path: Path) -> object:
    from taskorder.datasets.idx import read_idx

    return read_idx(path, num_axes=3)


@cache
def cifar_records() -> list[bytes]:
    rng = np.random.default_rng(0)
    return [b"".join(bytes((0, label)) + rng.bytes(3072) for label in (0, 1, 2))]


def cifar(path: Path) -> object:
    from taskorder.datasets.cifar import read_cifar100

    folder = path.parent
    (folder / "train.bin").write_bytes(path.read_bytes())
    (folder / "test.bin").write_bytes(cifar_records()[0])
    (folder / "fine_label_names.txt").write_text("\n".join(NAMES))
    return read_cifar100(folder)


@cache
def name_lists() -> list[bytes]:
    return [b"tabby\nlion\r\nvw\nbmw\npoodle\nred husky\n"]


def names(path: Path) -> object:
    from taskorder.datasets._files import read_names

    return read_names(path)


@cache
def archives() -> list[bytes]:
    paper = io.BytesIO()
    with tarfile.open(fileobj=paper, mode="w:gz") as archive:
        for name in ("set/a.bin", "set/b.txt", "set/other"):
            member = tarfile.TarInfo(name)
            member.size = 600
            archive.addfile(member, io.BytesIO(name.encode() * 100))
    return [paper.getvalue()]


def archive(path: Path) -> object:
    from taskorder.datasets.archive import unpack

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


@cache
def images() -> list[bytes]:
    from PIL import Image

    rng = np.random.default_rng(0)
    made = []
    for kind, shape in itertools.product(("PNG", "JPEG", "BMP", "WEBP"), ((6, 5), (6, 5, 3))):
        paper = io.BytesIO()
        Image.fromarray(rng.integers(0, 255, shape, dtype=np.uint8)).save(paper, kind)
        made.append(paper.getvalue())
    paper = io.BytesIO()
    Image.fromarray(rng.integers(0, 255, (6, 5), dtype=np.uint8)).save(paper, "GIF")
    return [*made, paper.getvalue()]


def image(path: Path) -> object:
    from taskorder.datasets.images import read_images

    folder = path.parent / "data"
    for split, label in itertools.product(("train", "test"), ("a", "b")):
        (folder / split / label).mkdir(parents=True, exist_ok=True)
        (folder / split / label / "1.png").write_bytes(images()[0])
    (folder / "train" / "a" / "2.png").write_bytes(path.read_bytes())
    return read_images(folder)


@cache
def feature_tables() -> list[bytes]:
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.3f},{rng.normal():.3f},{'ab'[k % 2]},{('north', 'south')[k % 3 > 1]}" for k in range(12)]
    plain = [row.rsplit(",", 1)[0] for row in rows]
    return [
        "\n".join(["x,y,label", *plain]).encode(),
        "\r\n".join(row.replace(",", ";") for row in plain).encode("utf-8-sig"),
        "\n".join(["x,y,label,place", *rows]).encode(),
    ]


def labeled(path: Path) -> object:
    from taskorder.datasets import load

    return load(path)


def by_column(path: Path) -> object:
    from taskorder.planning.sources import TaskSpec, read_tasks

    return read_tasks([path], TaskSpec(column="place"))


@cache
def feature_arrays() -> list[bytes]:
    rng = np.random.default_rng(0)
    made = []
    labels = np.array(list("aabbaabb"))
    for inputs, save in (
        (rng.normal(size=(8, 3)), np.savez),
        (rng.integers(0, 255, (8, 4, 4, 1), dtype=np.uint8), np.savez_compressed),
    ):
        paper = io.BytesIO()
        save(paper, inputs=inputs, labels=labels, test_inputs=inputs[:4], test_labels=labels[:4])
        made.append(paper.getvalue())
    return made


# Stores, kept tables, figures, pilots


@cache
def stores() -> list[bytes]:
    from taskorder.neural.settings import Config
    from taskorder.neural.settings import specs as specs_of

    config = Config(num_sets=2, num_tasks=3, num_seeds=2, epochs=1, fraction=0.2)
    ways = [way for length in range(4) for way in itertools.permutations(range(3), length)]
    rng = np.random.default_rng(0)
    losses = (rng.uniform(0.1, 0.6, (3, 3)) * (1 - np.eye(3))).tolist()

    def result(spec: RunSpec) -> dict[str, object]:
        scores = {
            name: rng.uniform(0.2, 0.9, (len(ways), 3)).round(4).tolist() for name in ("accuracy", "loss", "chance")
        }
        return {
            "task_set": {"names": list(NAMES), "classes": [[0, 1], [2, 3], [4, 5]]},
            "beginnings": [".".join(map(str, way)) for way in ways],
            "network_steps": 1000,
            **scores,
            "similarities": {
                "test": {"loss": losses, "chance": np.full((3, 3), 0.7).tolist()},
                "curvature": {"value": losses},
            },
        }

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        with Store(path) as store:
            made = specs_of(config)
            for spec in made:
                store.put([spec], [result(spec)], 1.0, inputs="abc", device="cpu: test")
            store.fail(RunSpec("neural.orders.2", {"set": 9, "seed": 0}), "RuntimeError: nine")
            store.request("tiny", {"num_sets": 2}, made)
        return [path.read_bytes()]


@cache
def kept() -> tuple[bytes, bytes]:
    """A description and its table."""
    from taskorder.neural.kept import write_kept

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "s").write_bytes(stores()[0])
        with Store(Path(folder) / "s") as store:
            write_kept(Path(folder) / "k.csv.gz", store)
        return (Path(folder) / "k.json").read_bytes(), (Path(folder) / "k.csv.gz").read_bytes()


def kept_table(path: Path) -> object:
    return _load_kept(path.parent, kept()[0], path.read_bytes())


def kept_description(path: Path) -> object:
    return _load_kept(path.parent, path.read_bytes(), kept()[1])


def _load_kept(folder: Path, description: bytes, numbers: bytes) -> object:
    from taskorder.neural.kept import load_kept

    (folder / "k.json").write_bytes(description)
    (folder / "k.csv.gz").write_bytes(numbers)
    with Store() as store:
        return load_kept(folder / "k.json", store)


@cache
def figures() -> list[bytes]:
    folder = Path(__file__).parents[2] / "results"
    return [(folder / f"{name}.json").read_bytes() for name in ("fig3e", "fig2b")]


def figure(path: Path) -> object:
    from taskorder.reproduce import read, report_text

    return report_text([read(path)], "results")


@cache
def rehearsals() -> list[bytes]:
    lines = ["seed,learned,test,value,accuracy"]
    for seed, way, test in itertools.product((0, 1), itertools.permutations(NAMES), NAMES):
        lines.append(f"{seed},{'>'.join(way)},{test},0.{len(way[0])}{seed},0.{len(test)}{len(way[1])}")
    return ["\n".join(lines).encode()]


def rehearsal(path: Path) -> object:
    from taskorder.records import Plan
    from taskorder.report.pilot import read_rehearsed

    return read_rehearsed(path, Plan.from_json(solve(TABLE, names=NAMES).to_json()))


# Requests to the explorer


@cache
def questions() -> list[bytes]:
    asked = {"similarity": TABLE, "names": NAMES, "order": [0, 1, 2], "rule": "optimal", "seconds": 1, "seed": 0}
    more = {"before": [["cats", "dogs"]], "first": "cats", "weights": [1, 2, 1], "learned": []}
    by_hand = {"similarity": TABLE, "rule": "max-path", "order": [2, 0, 1], "source": "x", "learned": None}
    return [json.dumps(one).encode() for one in (asked, {**asked, **more}, by_hand)]


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
        found = made.find(body) if what == "solve" else made.plan_of(body)
        return found.to_json()
    except (TypeError, OverflowError) as problem:  # answered with 400, too
        raise ValueError(f"`request` must have the right types, got: {problem}.") from None


TEXT, JSON, NPY = (damaged,), (damaged, odd_json, odd_json), (damaged, odd_npy)
ZIP = (damaged, in_zip(damaged), in_zip(odd_npy), in_zip(odd_npy))
PACKED = (damaged, in_gzip(damaged))
STORE = (damaged, odd_store, odd_store, odd_store)
FAST = ("--time-limit", "0.5")

READERS = {
    reader.name: reader
    for reader in (
        Reader("text table", ".csv", text_tables, TEXT, table),
        Reader("JSON table", ".json", json_tables, JSON, table),
        Reader("NPY table", ".npy", npys, NPY, table),
        Reader("NPZ table", ".npz", zips, ZIP, table),
        Reader("weights", ".txt", lambda: [b"cats=2\ndogs=1\n", b"task,weight\ncats,1\n", b"1\n2\n3\n"], TEXT, weights),
        Reader("plan", ".csv", tables, TEXT, command("plan", "FILE", *FAST), 5),
        Reader(
            "plan --losses", ".csv", text_tables, TEXT,
            command("plan", "FILE", "--losses", "--chance", "0.7", *FAST), 5,
        ),
        Reader(
            "plan --accuracy", ".csv", text_tables, TEXT,
            command("plan", "FILE", "--accuracy", "--chance", "0.05,0.1,0.05", *FAST), 5, foreign=1,
        ),
        Reader("plan --transfer", ".json", json_tables, JSON, command("plan", "FILE", "--transfer", *FAST), 5),
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
            command("export", "FILE", "-o", "FOLDER/out.csv", "--similarity", "0"), 10,
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
        Reader("rehearsal.csv", ".csv", rehearsals, TEXT, rehearsal),
        Reader("explorer: table", "", tables, TEXT, partial(asked, what="table")),
        Reader("explorer: solve", ".json", questions, JSON, partial(asked, what="solve"), 5),
        Reader("explorer: plan", ".json", questions, JSON, partial(asked, what="plan"), 5),
        Reader("explorer: report", ".json", questions, JSON, partial(asked, what="report"), 20),
    )
}  # fmt: skip


def one_line(text: str) -> str:
    """A message on one line, for tallies."""
    return re.sub(r"\s+", " ", text)[:300]
