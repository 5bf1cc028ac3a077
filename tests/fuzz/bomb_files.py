"""Ways to write the files of cases.py: archives that unpack to much, tables of many rows, stores that compute.

Each function gives one that writes a file to a path, a piece at a time where it is large.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import json
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from . import seeds

MB = 2**20
Make = Callable[[Path], None]
Texts = Callable[[], Iterable[str]]


# Text


def text(*pieces: str | Texts) -> Make:
    """Pieces of text one after another."""

    def make(path: Path) -> None:
        with open(path, "w", encoding="utf-8", newline="") as file:
            for piece in pieces:
                file.writelines([piece] if isinstance(piece, str) else piece())

    return make


def packed(*pieces: bytes | Callable[[], Iterable[bytes]]) -> Make:
    """Pieces in gzip."""

    def make(path: Path) -> None:
        with gzip.open(path, "wb") as file:
            for piece in pieces:
                file.writelines([piece] if isinstance(piece, bytes) else piece())

    return make


def lines(form: str, count: int) -> Texts:
    """A text with the numbers from 0 on in it."""
    return lambda: (form.format(number) for number in range(count))


def times(piece: str, count: int) -> Texts:
    """The same text again and again, many at a time."""
    many = max(1, min(count, 10_000))
    return lambda: itertools.chain(itertools.repeat(piece * many, count // many), [piece * (count % many)])


def again(piece: bytes, count: int) -> Callable[[], Iterable[bytes]]:
    """The same bytes again and again."""
    return lambda: itertools.repeat(piece, count)


def table(size: int, cells: Callable[[int], Iterable[object]]) -> Texts:
    """Rows of so many cells, with ones on the diagonal."""

    def rows() -> Iterator[str]:
        for number in range(size):
            row = [*map(str, cells(number))]
            row[number] = "1"
            yield ",".join(row) + "\n"

    return rows


def random_cells(size: int) -> Callable[[int], Iterable[object]]:
    """Numbers of 17 digits."""
    return lambda number: np.random.default_rng(number).uniform(0, 1, size).tolist()


def features(num_rows: int, num_columns: int = 10) -> Iterator[str]:
    """Rows of numbers with a label."""
    yield ",".join([*(f"x{k}" for k in range(num_columns)), "label"]) + "\n"
    for start in range(0, num_rows, 10_000):
        for row in np.random.default_rng(start).uniform(-1, 1, (10_000, num_columns)).tolist():
            yield f"{','.join(map(repr, row))},{'ab'[row[0] > 0]}\n"


def results(num_rows: int) -> Iterator[str]:
    """Accuracies of 20 orders of five tasks with many seeds."""
    yield "order,seed,task,accuracy\n"
    ways, rng = [">".join(way) for way in itertools.islice(itertools.permutations("01234"), 20)], Random(0)
    for seed, way, task in itertools.product(range(num_rows // 100), ways, range(5)):
        yield f"{way},{seed},{task},{rng.random():.4f}\n"


def wandb(num_runs: int) -> Iterator[str]:
    """Runs as W&B gives them."""
    rng = Random(0)
    for seed in range(num_runs):
        summary = {f"acc/{k}": rng.random() for k in range(3)} | {f"loss/{k}": rng.random() for k in range(12)}
        config = {"order": "0>1>2", "seed": seed, "lr": 0.1, "note": "x" * 20}
        run = {"name": f"run-{seed}", "state": "finished", "config": config, "summary": summary}
        yield ("," if seed else "[") + json.dumps(run)
    yield "]"


# Arrays, images, workbooks


def npy_header(shape: tuple[int, ...], dtype: str = "|u1") -> bytes:
    """The header of an array."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def idx_header(*sizes: int) -> bytes:
    """The header of an IDX file of bytes."""
    return bytes((0, 0, 8, len(sizes))) + b"".join(size.to_bytes(4, "big") for size in sizes)


def archive(members: Callable[[], dict[str, tuple[bytes, int]]], method: int = zipfile.ZIP_DEFLATED) -> Make:
    """A zip of members, each of which is some bytes and so many zeros."""

    def make(path: Path) -> None:
        with zipfile.ZipFile(path, "w", method) as made:
            for name, (head, zeros) in members().items():
                with made.open(name, "w", force_zip64=True) as file:
                    file.write(head)
                    for start in range(0, zeros, MB):
                        file.write(bytes(min(MB, zeros - start)))

    return make


def table_of_zeros(size: int) -> Make:
    """A table of so many tasks, deflated to a thousandth."""
    return archive(lambda: {"similarity.npy": (npy_header((size, size), "<f8"), 8 * size * size)})


def table_with_names(count: int) -> Make:
    """A table of two tasks with so many empty names of eight bytes, deflated to a thousandth."""
    table = npy_header((2, 2), "<f8") + np.eye(2).tobytes()
    return archive(lambda: {"similarity.npy": (table, 0), "names.npy": (npy_header((count,), "|S8"), 8 * count)})


def packed_table(size: int) -> Make:
    """A table of numbers as numpy packs it."""

    def make(path: Path) -> None:
        table = np.random.default_rng(0).uniform(0, 1, (size, size))
        np.fill_diagonal(table, 1)
        with path.open("wb") as file:  # numpy would put its own ending to a name
            np.savez_compressed(file, similarity=table)

    return make


def labels(count: int) -> tuple[bytes, int]:
    """A member with as many labels of two classes."""
    return npy_header((count,)) + bytes(k % 2 for k in range(count)), 0


def noise(count: int, save: Callable[..., None]) -> Make:
    """Images that cannot be packed."""

    def make(path: Path) -> None:
        rng = np.random.default_rng(0)
        inputs = rng.integers(0, 255, (count, 32, 32, 3), dtype=np.uint8)
        save(path, inputs=inputs, labels=rng.integers(0, 10, count))

    return make


def images(made: Callable[[], Iterable[bytes]], ending: str) -> Make:
    """A folder of images of two classes."""

    def make(path: Path) -> None:
        for number, data in enumerate(made()):
            place = path / "ab"[number % 2] / f"{number}{ending}"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)

    return make


def png(side: int, seed: int | None = None) -> bytes:
    """A square image, black or of random colors."""
    from PIL import Image

    shape, paper = (side, side, 3), io.BytesIO()
    black = np.zeros(shape, np.uint8) if seed is None else None
    pixels = np.random.default_rng(seed).integers(0, 255, shape, np.uint8) if black is None else black
    Image.fromarray(pixels).save(paper, "PNG")
    return paper.getvalue()


def jpeg_of_scans(count: int, side: int) -> bytes:
    """A progressive JPEG with many scans; each says of all blocks, in few bytes, that nothing is added to them."""
    blocks = (side // 8) ** 2

    def huffman(kind: int, symbols: bytes) -> bytes:
        counts = bytes([0] * 7 + [len(symbols)] + [0] * 8)  # codes of 8 bits
        return b"\xff\xc4" + struct.pack(">HB", 19 + len(symbols), kind) + counts + symbols

    def scan(first: int, data: bytes) -> bytes:
        return b"\xff\xda" + struct.pack(">HBBBBBB", 8, 1, 1, 0, first, first, 0) + data

    bits, left = "", blocks
    while left >= 2**14:  # a run of 2^14 blocks and as many more as 14 bits say
        run = min(left, 2**15 - 1)
        bits, left = f"{bits}00000000{run - 2**14:014b}", left - run
    bits += "00000001" * left
    bits += "1" * (-len(bits) % 8)
    nothing = bytes(int(bits[k : k + 8], 2) for k in range(0, len(bits), 8)).replace(b"\xff", b"\xff\x00")
    head = b"\xff\xd8\xff\xdb\x00\x43\x00" + b"\x01" * 64
    head += b"\xff\xc2" + struct.pack(">HBHHBBBB", 11, 8, side, side, 1, 1, 0x11, 0)
    head += huffman(0x00, b"\0") + huffman(0x10, b"\xe0\0")
    return head + scan(0, bytes(blocks)) + b"".join(scan(1 + k % 63, nothing) for k in range(count)) + b"\xff\xd9"


OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
KINDS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
TWO_TASKS = "<row><c><v>1</v></c><c><v>0.5</v></c></row><row><c><v>0.5</v></c><c><v>1</v></c></row>"
CHART_VIEW = '<customSheetView guid="{00000000-0000-0000-0000-000000000000}" scale="100"/>'


def workbook(
    *rows: str | Texts,
    strings: tuple[str | Texts, ...] = (),
    sheets: int = 1,
    before: str = "",
    inside: str = "",
    relations: str = "",
    more: dict[str, str] | None = None,
) -> Make:
    """A workbook whose sheets are all the same part, with more in its main part, more relations and more parts."""
    named = "".join(f'<sheet name="s{k}" sheetId="{k + 1}" r:id="a"/>' for k in range(sheets))
    parts: dict[str, tuple[str | Texts, ...]] = {
        "[Content_Types].xml": (
            f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{KINDS}.sheet.main+xml"/>'
            f'<Override PartName="/xl/sheet.xml" ContentType="{KINDS}.worksheet+xml"/>'
            f'<Override PartName="/xl/strings.xml" ContentType="{KINDS}.sharedStrings+xml"/></Types>',
        ),
        "_rels/.rels": (
            f'<Relationships xmlns="{PACKAGE}/relationships">'
            f'<Relationship Id="a" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        ),
        "xl/workbook.xml": (f'<workbook {MAIN} xmlns:r="{OFFICE}"><sheets>{named}</sheets>{inside}</workbook>',),
        "xl/_rels/workbook.xml.rels": (
            f'<Relationships xmlns="{PACKAGE}/relationships">'
            f'<Relationship Id="a" Type="{OFFICE}/worksheet" Target="sheet.xml"/>'
            f'<Relationship Id="b" Type="{OFFICE}/sharedStrings" Target="strings.xml"/>{relations}</Relationships>',
        ),
        "xl/sheet.xml": (f"{before}<worksheet {MAIN}><sheetData>", *rows, "</sheetData></worksheet>"),
        "xl/strings.xml": (f"<sst {MAIN}>", *strings, "</sst>"),
        **{name: (part,) for name, part in (more or {}).items()},
    }

    def make(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
            for name, pieces in parts.items():
                with made.open(name, "w") as file:
                    for piece in pieces:
                        file.writelines(part.encode() for part in ([piece] if isinstance(piece, str) else piece()))

    return make


def linked_workbook() -> Make:
    """A workbook that names one long list of sheets elsewhere again and again."""
    return workbook(
        TWO_TASKS,
        inside="".join(["<externalReferences>", '<externalReference r:id="c"/>' * 20_000, "</externalReferences>"]),
        relations=f'<Relationship Id="c" Type="{OFFICE}/externalLink" Target="elsewhere.xml"/>',
        more={
            "xl/elsewhere.xml": f'<externalLink {MAIN}><externalBook xmlns:r="{OFFICE}" r:id="a"><sheetNames>'
            + '<sheetName val="a"/>' * 20_000
            + "</sheetNames></externalBook></externalLink>",
            "xl/_rels/elsewhere.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
            f'<Relationship Id="a" Type="{OFFICE}/externalLinkPath" Target="b.xlsx" TargetMode="External"/>'
            "</Relationships>",
        },
    )


def charted_workbook() -> Make:
    """A workbook with the same long sheet of charts again and again."""
    chart = f"<chartsheet {MAIN}><customSheetViews>{CHART_VIEW * 20_000}</customSheetViews></chartsheet>"
    return workbook(
        TWO_TASKS,
        sheets=250,
        relations=f'<Relationship Id="a" Type="{OFFICE}/chartsheet" Target="charts.xml"/>',
        more={
            "xl/charts.xml": chart,
            "xl/_rels/charts.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships"/>',
        },
    )


def number_format(number: int, code: str) -> str:
    """A format of numbers."""
    return f'<numFmt numFmtId="{number}" formatCode="{code}"/>'


def styled_workbook(*, formats: str = "", cells: str = "", names: str = "", style: int = 0) -> Make:
    """A workbook with styles: formats of numbers, those of cells, and their names; and the one that its cells have."""
    styles = (
        f"<styleSheet {MAIN}><numFmts>{formats}</numFmts><fonts><font/></fonts>"
        "<fills><fill><patternFill/></fill></fills><borders><border/></borders><cellStyleXfs><xf/></cellStyleXfs>"
        f"<cellXfs><xf/>{cells}</cellXfs><cellStyles>{names}</cellStyles></styleSheet>"
    )
    return workbook(TWO_TASKS.replace("<c>", f'<c s="{style}">'), more={"xl/styles.xml": styles})


def named_workbook(text: str) -> Make:
    """A workbook in which rows to print on every page are given by this text."""
    name = f'<definedName name="_xlnm.Print_Titles" localSheetId="0">{text}</definedName>'
    return workbook(TWO_TASKS, inside=f"<definedNames>{name}</definedNames>")


def shared_formula(length: int, count: int) -> Make:
    """A workbook with one long formula for many cells, and a cell without a value."""
    formula = "A1+" * (length // 3) + "1"
    first = f'<row><c r="A1"><f t="shared" si="0" ref="A1:A9">{formula}</f><v>1</v></c><c/></row>'
    return workbook(first, times("".join(["<row>", '<c><f t="shared" si="0"/><v>1</v></c>' * 9, "</row>"]), count // 9))


def cells(num_rows: int, num_columns: int) -> Iterator[str]:
    """Rows of a sheet, with ones on the diagonal."""
    for row in range(num_rows):
        made = (f"<c><v>{1 if row == column else row * column % 97 / 97}</v></c>" for column in range(num_columns))
        yield f"<row>{''.join(made)}</row>"


def parquet(columns: Callable[[], dict[str, Any]], **options: Any) -> Make:
    """A table in Parquet."""

    def make(path: Path) -> None:
        import pyarrow
        from pyarrow.parquet import write_table

        write_table(pyarrow.table(columns()), path, **options)

    return make


def same_text(value: str, count: int) -> Any:
    """A column in which a text is stored once."""
    import pyarrow

    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(count, np.int32)), pyarrow.array([value]))


# Stores and what is kept of them


def changed_store(*statements: str) -> Make:
    """A store of which some statements have made another one."""

    def make(path: Path) -> None:
        path.write_bytes(seeds.stores()[0])
        with contextlib.closing(sqlite3.connect(path)) as db:
            for statement in statements:
                db.execute(statement)
            db.commit()

    return make


def large_store(path: Path) -> None:
    """A store of 400 runs of five tasks."""
    from taskorder.runs.settings import Config
    from taskorder.runs.specs import RunSpecs
    from taskorder.runs.store import Store

    ways = [".".join(way) for length in range(6) for way in itertools.permutations("01234", length)]
    about = {"names": list("abcde"), "classes": [[2 * k, 2 * k + 1] for k in range(5)]}
    rng = np.random.default_rng(0)
    with Store(path) as store:
        for spec in RunSpecs(Config(num_sets=100, num_seeds=4)):
            scores = {name: rng.uniform(0, 1, (len(ways), 5)).tolist() for name in ("accuracy", "loss", "chance")}
            store.put([spec], [{"task_set": about, "beginnings": ways, **scores}], 1.0, inputs="x", device="cpu")


def kept(*rows: bytes | Callable[[], Iterable[bytes]], names: int = 3) -> Make:
    """A table of an archive with these rows of one run, and its description beside it."""

    def make(path: Path) -> None:
        description, whole = seeds.kept()
        about = {key: value for key, value in json.loads(description).items() if key not in ("table", "checksum")}
        about["runs"] = about["runs"][:1]
        about["runs"][0]["task_set"]["names"] = [f"{number:x}" for number in range(names)]
        path.with_name("kept.json").write_text(json.dumps(about))
        packed(gzip.decompress(whole).split(b"\n", 1)[0] + b"\n", *rows)(path.with_name("kept.csv.gz"))

    return make


def plan(num_tasks: int) -> Make:
    """A plan of many tasks."""
    from taskorder import solve

    def make(path: Path) -> None:
        vectors = np.random.default_rng(0).normal(size=(num_tasks, 20))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        path.write_text(solve(vectors @ vectors.T, "max-path", retention=0.13).to_json(indent=None))

    return make


def order_json(**changes: Any) -> Make:
    """An order.json with some values changed."""
    return text(lambda: [json.dumps({**json.loads(seeds.orders()[0]), **changes})])
