"""Files for readers: small ones that ask for much, and large ones that hold what they say.

`bombs.py` gives each to its reader in a process of its own and compares what it cost with the budget.
"""

from __future__ import annotations

from functools import partial

from . import bomb_files as made
from . import ways
from .bomb_files import MB, lines, npy_header, packed, text, times
from .data_cases import DATA, EXPLORER, STORES
from .readers import READERS
from .ways import FAIR, of

HUGE = 2**61 - 1
"""All multiples of it have the same hash."""
LISTS = times("[],", 20_000_000)
BRACKETS = "[" * 250
LONG_FORMAT = made.number_format(200, "[" * 300_000)
TABLES = [
    *of(
        "text table",
        ("line ends", text(times("\n", 16 * MB), "1")),
        ("comments", text(times("#\n", 8 * MB))),
        ("empty cells", text(times("," * 2000 + "\n", 8000))),
        ("a quote without an end", text('"', times("a\n", 8 * MB))),
        ("a long quote among commas", text('1,0\n"', times("a", 15_000_000), '"', times(",", 3000))),
        ("2000 x 2000 digits", text(made.table(2000, lambda _: [0] * 2000)), FAIR),
        ("2000 x 2000 numbers", text(made.table(2000, made.random_cells(2000))), FAIR),
    ),
    *of(
        "JSON table",
        ("lists", text("[", LISTS, "[]]")),
        ("lists in lists", text(times("[", MB))),
        ("tasks without rows", text("{", lines('"{0:x}":{{}},', 2_500_000), '"x":{}}')),
        ("one name twice", text("{", lines('"{0:x}":0,', 200_000), '"0":0}')),
        ("a long number", text("[[", times("9", 4 * MB), "]]")),
        ("an emoji in a text", text('["\U0001f600', times("a", 16 * MB), '"]')),
        (
            "2000 x 2000 digits",
            text("[", lambda: (f"{',' * (k > 0)}[{'0,' * k}1{',0' * (1999 - k)}]" for k in range(2000)), "]"),
            FAIR,
        ),
    ),
    *of(
        "NPY table",
        ("a header of gigabytes", lambda path: path.write_bytes(npy_header((2000, 10**6), "<f8"))),
    ),
    *of(
        "NPZ table",
        ("100,000 members", made.archive(lambda: {f"{k:x}": (b"", 0) for k in range(100_000)})),
        ("2 GB of zeros", made.table_of_zeros(16_000)),
        ("2 GB of names", made.table_with_names(250_000_000)),
        ("a header of gigabytes", made.archive(lambda: {"similarity.npy": (npy_header((2000, 10**6), "<f8"), 2 * MB)})),
        ("2000 x 2000 numbers", made.packed_table(2000), FAIR),
    ),
    *of(
        "workbook",
        ("a row of cells", made.workbook("<row>", times("<c/>", 25_000_000), "</row>")),
        ("rows", made.workbook(times("<row/>", 20_000_000))),
        ("texts", made.workbook(strings=(times("<si><t>ab</t></si>", 6_000_000),))),
        ("empty cells", made.workbook(times(f"<row>{'<c/>' * 2000}</row>", 2000))),
        ("many sheets, one part", made.workbook("<row><c><v>1</v></c></row>" * 1000, sheets=5000)),
        ("links to one part", made.linked_workbook()),
        ("sheets of charts, one part", made.charted_workbook()),
        ("quotes as titles to print", made.named_workbook("'" * 200_000)),
        (
            "brackets as a format",
            made.styled_workbook(formats=made.number_format(200, "[" * 300_000), cells='<xf numFmtId="200"/>'),
        ),
        (
            "formats of cells",
            made.styled_workbook(
                formats="".join(made.number_format(k + 200, f"{BRACKETS}{k}") for k in range(24_000)),
                cells="".join(f'<xf numFmtId="{k + 200}"/>' for k in range(24_000)),
            ),
        ),
        (
            "names of styles",
            made.styled_workbook(names="".join(f'<cellStyle name="a{k}" xfId="0"/>' for k in range(49_000))),
        ),
        ("one formula for all cells", made.shared_formula(30_000, 9000)),
        ("300 x 300 numbers", made.workbook(lambda: made.cells(300, 300)), FAIR),
        read=READERS["text table"].read,
        ending=".xlsx",
    ),
    *of(
        "weights",
        ("line ends", text(times("\n", 16 * MB), "1")),
    ),
]

RESULTS = [
    *of(
        "audit",
        ("seeds, in gzip", packed(b"order,seed,accuracy\n", lambda: (b"0>1,%d,0.5\n" % k for k in range(1_500_000)))),
        ("one row, in gzip", packed(b"order,seed,accuracy\n", made.again(b"0>1,2,0.5\n" * 100_000, 1500))),
        ("line ends, in gzip", packed(b"order,seed,accuracy\n", made.again(b"\n" * MB, 1000))),
        ("an order and a seed a row", text("order,seed,accuracy\n", lines("o{0},{0},0.5\n", 50_000))),
        ("a method a row", text("method,order,seed,accuracy\n", lines("m{0},0>1,1,0.5\nm{0},1>0,1,0.5\n", 100_000))),
        ("500,000 columns", text("order,accuracy", lines(",{0}", 500_000), "\n0>1,0.5", times(",0", 500_000), "\n")),
        (
            "tasks times columns",
            text("order", lines(",{0} acc", 20_000), "\n", lines("{0}>", 20_000), "x", times(",0.5", 20_000), "\n"),
        ),
        (
            "a key of its own a record",
            text("[", lines('{{"order":"0>1","accuracy":0.5,"{0}":0}},', 20_000), '{"order":"1>0"}]'),
        ),
        (
            "a record of its own a column",
            text('{"order":{"0":"0>1"},', lines('"{0}":{{"{0}":0}},', 100_000), '"accuracy":{"0":0.5}}'),
        ),
        ("lists, a line each", text(*["[[]", times(",[]", 2_000_000), "]\n"] * 4)),
        ("a list as an order", text("order,accuracy\n", '"[', times("1,", 49_000), '1]",0.5\n')),
        ("60 MB of rows", text(lambda: made.results(3_000_000)), FAIR),
        ("20 MB of rows, in gzip", packed(lambda: (row.encode() for row in made.results(1_000_000))), FAIR),
        ("20 MB of runs from W&B", text(lambda: made.wandb(40_000)), FAIR),
        read=ways.results,
    ),
    *of(
        "audit --where",
        ("one row, in gzip", packed(b"order,seed,accuracy\n", made.again(b"0>1,2,0.5\n" * 100_000, 1000))),
        read=partial(ways.results, where={"seed": "1"}),
    ),
]

ORDERS = [
    *of(
        "plan",
        ("lists", text('{"order": [', LISTS, '[]], "error_path": 0, "similarity_digest": 0}')),
        ("of 1000 tasks", made.plan(1000), FAIR),
        read=ways.plan,
        ending=".json",
    ),
    *of(
        "order.json",
        ("lists", text("[", LISTS, "[]]")),
        ("100,000 names, one twice", made.order_json(names=["x", *(f"{k:x}" for k in range(100_000)), "x"])),
        ("classes with one hash", made.order_json(class_groups=[[k * HUGE for k in range(60_000)], [1], [2]])),
    ),
    *of(
        "order --classes",
        ("lists", text("[", LISTS, "[]]")),
        read=partial(ways.option, name="--classes"),
        ending=".json",
    ),
    *of(
        "order --class-names",
        ("short lines", text(times("ab\n", 22_000_000))),
        read=partial(ways.option, name="--class-names"),
        ending=".txt",
    ),
    *of(
        "run config",
        ("a key of many parts", text(times("a.", 48_000), "a=1\n")),
        ("keys below a long header", text("[", times("a.", 2000), "a]\n", lines("b{0}.b.b.b.b.b.b.b=1\n", 4000))),
        ("lists in lists", text("a=", times("[", 90_000))),
    ),
    *of(
        "pilot spec",
        ("a key of many parts", text(times("a.", 48_000), "a=1\n")),
        ("a million tasks", text("[tasks]\n", lines('t{0}=["a"]\n', 1_000_000))),
        (
            "1000 tasks of 10 classes",
            text("[tasks]\n", lines('t{0}=["St. a","b","c","d","e","f","g","h","i","j"]\n', 1000)),
            FAIR,
        ),
    ),
]

CASES = [*TABLES, *RESULTS, *ORDERS, *DATA, *STORES, *EXPLORER]
