"""The cases of data sets, stores and the explorer."""

from __future__ import annotations

import io
import tarfile
import zipfile
from functools import partial
from pathlib import Path

import numpy as np

from . import bomb_files as made
from . import ways
from .bomb_files import MB, lines, npy_header, packed, text, times
from .ways import FAIR, of

SOLVE = '{"similarity": [[1, 0.5], [0.5, 1]], "order": [0, 1], '


def many_members(path: Path) -> None:
    """A tar.gz of many empty files."""
    with tarfile.open(path, "w:gz") as made:
        for number in range(300_000):
            made.members.clear()
            made.addfile(tarfile.TarInfo(f"set/{number}"))


class Zeros(io.RawIOBase):
    """A file of zeros."""

    def read(self, size: int = -1) -> bytes:
        """As many as are asked for."""
        return bytes(size)


def long_name(path: Path) -> None:
    """A tar.gz with a file whose name is 700 MB long."""
    with tarfile.open(path, "w:gz") as made:
        info = tarfile.TarInfo("x")
        info.type, info.size = tarfile.GNUTYPE_LONGNAME, 700 * MB
        made.addfile(info, Zeros())
        made.addfile(tarfile.TarInfo("y"))


DATA = [
    *of(
        "IDX in gzip",
        ("2 GB of zeros", packed(made.idx_header(2000, 1000, 1000), made.again(bytes(MB), 1908))),
        (
            "60,000 images",
            packed(made.idx_header(60_000, 28, 28), lambda: [np.random.default_rng(0).bytes(60_000 * 784)]),
            FAIR,
        ),
    ),
    *of(
        "features in NPZ",
        (
            "2 GB of zeros",
            made.archive(
                lambda: {"inputs.npy": (npy_header((2, 1000, 1000, 1000)), 2 * 10**9), "labels.npy": made.labels(2)}
            ),
        ),
        (
            "a header of 100 MB",
            made.archive(
                lambda: {
                    "inputs.npy": (b"\x93NUMPY\x02\x00" + (10**8).to_bytes(4, "little"), 10**8),
                    "labels.npy": made.labels(4),
                }
            ),
        ),
        (
            "labels of no bytes",
            made.archive(
                lambda: {"inputs.npy": (npy_header((4, 1)), 4), "labels.npy": (npy_header((10**9,), "|S0"), 0)}
            ),
        ),
        (
            "rows of one byte",
            made.archive(
                lambda: {"inputs.npy": (npy_header((8 * MB, 1)), 8 * MB), "labels.npy": made.labels(8 * MB)},
                zipfile.ZIP_STORED,
            ),
            FAIR,
        ),
        ("400 MB of images", made.noise(130_000, np.savez), FAIR),
        ("100 MB of images, deflated", made.noise(30_000, np.savez_compressed), FAIR),
    ),
    *of(
        "features in text",
        ("labels of their own", text("x,label\n", times("0,a\n1,b\n", 1000), lines("0,{0}\n", 300_000))),
        ("400 MB of numbers", text(lambda: made.features(2_000_000)), FAIR),
    ),
    *of(
        "tasks by class",
        (
            "zeros, in gzip",
            packed(
                lambda: (b"a%d," % k for k in range(1000)),
                b"label\n",
                made.again(b"0," * 1000 + b"a\n" + b"0," * 1000 + b"b\n", 250_000),
            ),
        ),
        read=ways.tasks,
        ending=".csv.gz",
    ),
    *of(
        "tasks by class",
        ("labels of their own", text("x,label\n", times("0,a\n1,b\n", 1000), lines("0,{0}\n", 100_000))),
        read=ways.tasks,
        ending=".csv",
    ),
    *of(
        "tasks by class",
        (
            "2 GB of zeros, in NPZ",
            made.archive(
                lambda: {"inputs.npy": (npy_header((2, 1000, 1000, 1000)), 2 * 10**9), "labels.npy": made.labels(2)}
            ),
        ),
        read=ways.tasks,
        ending=".npz",
    ),
    *of(
        "tasks by column",
        ("a task a row", text("x,label,place\n", times("0,a,p\n1,b,p\n", 1000), lines("0,a,{0}\n1,b,{0}\n", 200_000))),
        (
            "40,000 columns",
            text(
                lines("c{0},", 40_000),
                "label,place\n",
                *[piece for end in ("a,p\n", "b,p\n", "a,q\n", "b,q\n") for piece in (times("1,", 40_000), end)],
            ),
        ),
        read=ways.by_place,
        ending=".csv",
    ),
    *of(
        "tasks by column",
        ("lists in JSON lines", text('{"x":[', times("[],", 4_000_000), '[]],"label":"a","place":"b"}\n')),
        read=ways.by_place,
        ending=".jsonl",
    ),
    *of(
        "tasks by column",
        (
            "100 MB of texts",
            text(
                lines(
                    "".join(
                        f'{{{{"text":"{"words to read " * 6}{{0}}","label":"{a}","place":"{b}"}}}}\n'
                        for a in "ab"
                        for b in "pq"
                    ),
                    220_000,
                )
            ),
            FAIR,
        ),
        read=partial(ways.by_place, text=("text",)),
        ending=".jsonl",
    ),
    *of(
        "Parquet",
        (
            "60 million equal rows",
            made.parquet(
                lambda: {
                    "x": np.zeros(60_000_000, np.float32),
                    "label": np.zeros(60_000_000, np.int8),
                    "place": np.zeros(60_000_000, np.int8),
                }
            ),
        ),
        read=partial(ways.by_place, target="classes"),
        ending=".parquet",
    ),
    *of(
        "Parquet",
        (
            "a text of 1 MB in each row",
            made.parquet(
                lambda: {
                    "x": made.same_text("a" * MB, 1_000_000),
                    "label": ["a", "b"] * 500_000,
                    "place": ["p", "p", "q", "q"] * 250_000,
                }
            ),
        ),
        (
            "pages of 100 MB",
            made.parquet(
                lambda: {"x": ["a" * 100 * MB] * 4, "label": ["a", "b"] * 2, "place": ["p", "p", "q", "q"]},
                compression="gzip",
                use_dictionary=False,
            ),
        ),
        read=partial(ways.by_place, text=("x",)),
        ending=".parquet",
    ),
    *of(
        "Parquet",
        (
            "100 MB of numbers",
            made.parquet(
                lambda: {
                    **{f"x{k}": np.random.default_rng(k).normal(size=1_200_000) for k in range(10)},
                    "label": np.arange(1_200_000) % 3,
                    "place": np.arange(1_200_000) % 5,
                }
            ),
            FAIR,
        ),
        read=ways.by_place,
        ending=".parquet",
    ),
    *of(
        "images",
        ("40 black images", made.images(lambda: [made.png(4096)] * 40, ".png")),
        (
            "a picture of 20,000 scans",
            made.images(lambda: [made.jpeg_of_scans(20_000, 4096), *[made.jpeg_of_scans(0, 4096)] * 3], ".jpg"),
        ),
        ("3000 images", made.images(lambda: (made.png(64, seed) for seed in range(3000)), ".png"), FAIR),
        read=ways.folder,
        ending="",
    ),
    *of(
        "tar.gz",
        ("300,000 members", many_members),
        ("a name of 700 MB", long_name),
        read=ways.archive,
        ending=".tar.gz",
    ),
]

VIEW = (
    "create view results as with recursive c(x) as (select 1 union all select x + 1 from c) select x as digest, "
    "'' as kind, '' as params, '' as result, 0.0 as seconds, '' as version, '' as inputs, '' as device, "
    "'' as finished, '' as checksum from c"
)
CHECK = "create table other (x check (length(hex(zeroblob(400000000))) > x))"
STORES = [
    *of(
        "status",
        (
            "a view without an end",
            made.changed_store(
                "alter table results rename to old",
                VIEW,
            ),
        ),
        (
            "a column that is computed",
            made.changed_store(
                "alter table results add column more text generated always as (hex(zeroblob(400000000)))",
                "alter table results rename column device to old",
                "alter table results rename column more to device",
            ),
        ),
        (
            "a check that computes",
            made.changed_store(
                "create table other (x)",
                "insert into other values (1)",
                "pragma writable_schema = on",
                f"update sqlite_master set sql = '{CHECK}' where name = 'other'",
            ),
        ),
        ("40 MB: status", made.large_store, FAIR),
    ),
    *of(
        "export",
        ("40 MB: export", made.large_store, FAIR),
    ),
    *of(
        "kept table",
        ("one row again and again", made.kept(made.again(b"0,0,orders,,0,1,1,1,\n", 10_000_000))),
        (
            "tasks times prefixes",
            made.kept(lambda: (b"0,0,orders,%d,0,1,1,1,\n" % k for k in range(20_000)), names=20_000),
        ),
        read=ways.kept_table,
        ending="",
    ),
    *of(
        "kept description",
        ("lists", lambda path: text('{"settings": [', times("[],", 20_000_000), "[]]}")(path.with_name("kept.json"))),
        read=ways.kept_table,
        ending="",
    ),
    *of(
        "kept results",
        ("2 GB of blanks", packed(b"[", made.again(b" " * MB, 2000), b"]")),
        read=ways.kept_results,
        ending=".runs.json.gz",
    ),
    *of(
        "figure",
        ("lists", text("[", times("[],", 20_000_000), "[]]")),
    ),
]

EXPLORER = [
    *of(
        "explorer: table",
        ("lists", text("[", times("[],", 4_000_000), "[]]")),
        ("one name twice", text("{", lines('"{0:x}":0,', 1_000_000), '"0":0}')),
        ("2000 x 2000 digits", text(made.table(2000, lambda _: [0] * 2000))),
        ("500 x 500 numbers", text(made.table(500, made.random_cells(500))), FAIR),
        ("2 GB of zeros, in NPZ", made.table_of_zeros(16_000)),
        ("2 GB of names, in NPZ", made.table_with_names(250_000_000)),
        ("500 x 500 numbers, in NPZ", made.packed_table(500), FAIR),
    ),
    *of(
        "explorer: plan",
        ("lists", text('{"similarity": [', times("[],", 4_000_000), "[]]}")),
        ("pairs", text(SOLVE, '"before": [', times('["A", "B"],', 1_000_000), '["A", "B"]]}')),
        ("names", text(SOLVE, '"names": [', lines('"{0:x}",', 1_500_000), '"0"]}')),
        ("tasks learned already", text(SOLVE, '"learned": [', times("0,", 7_000_000), "1]}")),
    ),
]
