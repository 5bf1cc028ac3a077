"""Valid inputs of every kind that we read; the fuzz tests damage them."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import json
import tarfile
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from taskorder import solve
from taskorder.cli import main
from taskorder.planning.estimate import TransferLosses
from taskorder.portable import PortableOrder
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store

TABLE = ((1.0, 0.5, 0.2), (0.5, 1.0, 0.1), (0.2, 0.1, 1.0))
NAMES = ("cats", "dogs", "red cars")


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
    named = {name: dict(zip(NAMES, row, strict=True)) for name, row in zip(NAMES, TABLE, strict=True)}
    return [json.dumps(document).encode() for document in (TABLE, {"names": NAMES, "similarity": TABLE}, named)]


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


@cache
def configs() -> list[bytes]:
    whole = (Path(__file__).parents[2] / "examples" / "quick.toml").read_bytes()
    return [
        whole,
        b'dataset = "digits"\nnum_sets = 1\nnum_tasks = 2\norders = "3+rules"\ntasks = ["0-1", "2-3"]\nepochs = 1\n',
    ]


@cache
def specs() -> list[bytes]:
    return [
        b'[tasks]\npets = ["cat", "dog"]\ncars = ["red", "blue"]\n',
        b'column = "country"\n',
        b"classes_per_task = 3\n",
    ]


@cache
def plans() -> list[bytes]:
    plan = solve(TABLE, names=NAMES, before=[("cats", "dogs")], weights=[1, 2, 1], retention=1)
    return [plan.to_json().encode(), solve(TABLE, "worst", learned=["A"], retention=1).to_json(indent=None).encode()]


@cache
def transfer_tables() -> list[bytes]:
    losses = np.array([TABLE])
    whole = TransferLosses(NAMES, losses, 1 + losses, losses, (0,), ("a note",), (np.ones((1, 3, 3, 2)),) * 3)
    return [table.to_json().encode() for table in (whole, replace(whole, accuracy=None, examples=None))]


@cache
def orders() -> list[bytes]:
    plan = solve(TABLE, names=NAMES, retention=1)
    groups = {"cats": [0, 1], "dogs": [4, 5], "red cars": [2, 3]}
    names = ("tabby", "lion", "vw", "bmw", "poodle", "husky", "none")
    portable = PortableOrder.from_plan(plan, class_groups=groups, class_names=names, training_seeds=[1, 2])
    return [portable.to_json().encode(), PortableOrder.from_plan(plan).to_json().encode()]


@cache
def class_groups() -> list[bytes]:
    return [b'{"cats": [0, 1], "dogs": [2, 3], "red cars": [4, 5]}', b"[[0, 1], [2, 3], [4, 5]]"]


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
    exports = Path(__file__).parents[1] / "audit" / "exports"
    trackers = [(exports / name).read_bytes() for name in ("wandb_api.csv", "mlflow_search_runs.json")]
    return [
        "\n".join(lines).encode(),
        semicolons.encode("utf-8-sig"),
        export.getvalue().encode(),
        *wide_results(),
        *trackers,
    ]


def wide_results() -> list[bytes]:
    """One run for each of many orders, and two methods with percent signs."""
    rng = np.random.default_rng(0)
    ways = [">".join(way) for way in itertools.permutations(("cats", "dogs", "cars", "owls"))]
    single = ["order,average accuracy", *(f"{way},{rng.uniform(50, 90):.4g}" for way in ways)]
    several = ["method,order,seed,acc/cats,acc/dogs,acc/cars,acc/owls"]
    for method, way, seed in itertools.product(("plain", "replay"), ways[:3], range(2)):
        several.append(",".join([method, way, str(seed), *(f"{rng.uniform(50, 90):.4g} %" for _ in range(4))]))
    return ["\n".join(single).encode(), "\n".join(several).encode()]


@cache
def packed_results() -> list[bytes]:
    return [gzip.compress(text) for text in results()]


@cache
def audits() -> list[bytes]:
    single, several = wide_results()
    options = [(results()[0], ("--compare", "0>1>2", "2>1>0")), (single, ("--next", "4")), (several, ("--next", "8"))]
    texts = []
    for data, words in options:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
            path = Path(folder) / "r.csv"
            path.write_bytes(data)
            assert main(["audit", str(path), "--json", *words]) == 0
        texts.append(out.getvalue().encode())
    return texts


@cache
def idx_images() -> list[bytes]:
    image = bytes((0, 0, 8, 3)) + b"".join(size.to_bytes(4, "big") for size in (3, 4, 4)) + bytes(range(48))
    return [image]


@cache
def packed_idx() -> list[bytes]:
    return [gzip.compress(packed) for packed in idx_images()]


@cache
def cifar_records() -> list[bytes]:
    rng = np.random.default_rng(0)
    return [b"".join(bytes((0, label)) + rng.bytes(3072) for label in (0, 1, 2))]


@cache
def name_lists() -> list[bytes]:
    return [b"tabby\nlion\r\nvw\nbmw\npoodle\nred husky\n"]


@cache
def archives() -> list[bytes]:
    paper = io.BytesIO()
    with tarfile.open(fileobj=paper, mode="w:gz") as archive:
        for name in ("set/a.bin", "set/b.txt", "set/other"):
            member = tarfile.TarInfo(name)
            member.size = 600
            archive.addfile(member, io.BytesIO(name.encode() * 100))
    return [paper.getvalue()]


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


@cache
def stores() -> list[bytes]:
    from taskorder.runs.settings import Config
    from taskorder.runs.specs import RunSpecs as specs_of

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
    from taskorder.runs.archive import write_archive

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "s").write_bytes(stores()[0])
        with Store(Path(folder) / "s") as store:
            write_archive(Path(folder) / "k.csv.gz", store)
        return (Path(folder) / "k.json").read_bytes(), (Path(folder) / "k.csv.gz").read_bytes()


@cache
def figures() -> list[bytes]:
    folder = Path(__file__).parents[2] / "reproduction" / "results"
    return [(folder / f"{name}.json").read_bytes() for name in ("fig3e", "fig2b")]


@cache
def solve_bodies() -> list[bytes]:
    asked = {"similarity": TABLE, "names": NAMES, "order": [0, 1, 2], "rule": "optimal", "seconds": 1, "seed": 0}
    more = {"before": [["cats", "dogs"]], "first": "cats", "weights": [1, 2, 1], "learned": []}
    by_hand = {"similarity": TABLE, "rule": "max-path", "order": [2, 0, 1], "source": "x", "learned": None}
    return [json.dumps(request).encode() for request in (asked, {**asked, **more}, by_hand)]
