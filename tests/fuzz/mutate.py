"""Damage: from the bytes of a valid file to those of one that nobody would write on purpose.

Every function takes a `random.Random`. The tests hand over hypothesis' own, so that a failing input is made small and
kept; the long runs hand over a seeded one, which is quicker.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sqlite3
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

Mutation = Callable[[bytes, Random], bytes]

WORDS = (
    b"nan", b"inf", b"-1", b"1e999", b"1e-400", b"1" + b"0" * 12, b"7" * 400, b"9" * 5000, b"0x10", b"1_000", b"1,5",
    b"", b" ", b"\t", b"\n", b"\r\n", b"\r", b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b'"', b"'", b",", b";", b"=", b"#",
    b">", b"->", b"[", b"]", b"{", b"}", b"[" * 20_000, b'{"a":' * 20_000, b"null", b"true", b"label", b"accuracy",
    b"A", "\u00e9\u4e2d\u202e".encode(), b"\x1f\x8b", b"PK\x03\x04", b"\x93NUMPY", b"\x80\x04", b"../",
    b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff",
)  # fmt: skip
"""What breaks readers of text, and the first bytes of every format that is told apart by them."""

VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2**31, 2**63, 2**64, 10**12, 10**400, -(10**400), 0.5, -0.0, 1e308, float("nan"),
    float("inf"), "", "A", "nan", "1", "x" * 5000, "a\nb", "\ud800", "\u202e", [], [[]], {}, {"a": 1}, [1, "a"], [None],
    [[[[[[]]]]]],
)  # fmt: skip
"""What may stand where a JSON file has something else."""

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")


def damaged(data: bytes, rng: Random) -> bytes:
    """One to four cuts, flips, repeats or words at random places."""
    for _ in range(rng.randrange(1, 5)):
        data = rng.choice(_STEPS)(data, rng)
    return data


def _flip(data: bytes, rng: Random) -> bytes:
    place = _place(data, rng)
    return data[:place] + bytes((rng.randrange(256),)) + data[place + 1 :]


def _cut(data: bytes, rng: Random) -> bytes:
    start, stop = sorted((_place(data, rng), _place(data, rng)))
    return data[:start] + data[stop:]


def _truncate(data: bytes, rng: Random) -> bytes:
    return data[: _place(data, rng)]


def _repeat(data: bytes, rng: Random) -> bytes:
    start, stop = sorted((_place(data, rng), _place(data, rng)))
    return data[:stop] + data[start:stop] * rng.choice((1, 2, 20)) + data[stop:]


def _word(data: bytes, rng: Random) -> bytes:
    place = _place(data, rng)
    return data[:place] + rng.choice(WORDS) + data[place:]


def _number(data: bytes, rng: Random) -> bytes:
    """Another number, or no number, where one stood."""
    numbers = list(NUMBER.finditer(data[:100_000]))
    if not numbers:
        return _word(data, rng)
    place = rng.choice(numbers)
    return data[: place.start()] + rng.choice(WORDS) + data[place.end() :]


def _line(data: bytes, rng: Random) -> bytes:
    """Two lines trade places, or one is lost or doubled."""
    lines = data.split(b"\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    way = rng.randrange(3)
    if way == 0:
        lines[first], lines[second] = lines[second], lines[first]
    elif way == 1:
        del lines[first]
    else:
        lines.insert(first, lines[second])
    return b"\n".join(lines)


_STEPS: tuple[Mutation, ...] = (_flip, _cut, _truncate, _repeat, _word, _number, _line)


def _place(data: bytes, rng: Random) -> int:
    return rng.randrange(len(data) + 1)


def odd_json(data: bytes, rng: Random) -> bytes:
    """The same JSON with a value, a key or an entry replaced, lost or doubled; still JSON."""
    tree = json.loads(data)
    for _ in range(rng.choice((1, 1, 2))):
        tree = _odd(tree, rng)
    return json.dumps(tree).encode()


def _odd(tree: Any, rng: Random) -> Any:
    holder: Any = {"top": tree}
    key: Any = "top"
    while isinstance(holder[key], dict | list) and holder[key] and rng.randrange(4):
        holder = holder[key]
        key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
    way = rng.randrange(6)
    if way == 0 and isinstance(holder, dict) and "top" not in holder:
        holder["extra"] = holder.pop(key)
    elif way == 1 and "top" not in holder:
        del holder[key]
    elif way == 2 and isinstance(holder, list):
        holder.insert(key, deepcopy(holder[rng.randrange(len(holder))]))
    else:
        holder[key] = deepcopy(rng.choice(VALUES))
    return holder["top"] if isinstance(holder, dict) and "top" in holder else tree


def in_gzip(inside: Mutation) -> Mutation:
    """Damage to what a gzip file holds, packed again so that its sums are right."""
    return lambda data, rng: gzip.compress(inside(gzip.decompress(data), rng), 1, mtime=0)


def in_zip(inside: Mutation) -> Mutation:
    """Damage to one member of a zip file, packed again so that its sums are right."""

    def mutate(data: bytes, rng: Random) -> bytes:
        with zipfile.ZipFile(io.BytesIO(data)) as old:
            members = [(info.filename, old.read(info)) for info in old.infolist()]
        place = rng.randrange(len(members))
        name, content = members[place]
        members[place] = (
            (name, inside(content, rng)) if rng.randrange(8) else (rng.choice(("x", "../x", "names.npy")), content)
        )
        paper = io.BytesIO()
        with (
            warnings.catch_warnings(action="ignore"),  # of a name that is there twice
            zipfile.ZipFile(paper, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as new,
        ):
            for name, content in members:
                new.writestr(name, content)
        return paper.getvalue()

    return mutate


def odd_npy(data: bytes, rng: Random) -> bytes:
    """Another shape or type in the header of an NPY file, of the same length or not."""
    head, mark, body = data.partition(b"}")
    shape = rng.choice(
        (
            b"(1000000000000,)",
            b"(-1, 4)",
            b"()",
            b"(4,)",
            b"(2, 2, 4)",
            b"(999999, 999999)",
            b"(1e3,)",
            b"x",
            b"(" * 300,
        )
    )
    kind = rng.choice(
        (b"'|O'", b"'<f2'", b"'<f8'", b"'>i4'", b"'<U9999999'", b"'|V8'", b"'<M8[s]'", b"[('a','<f8')]", b"5")
    )
    if rng.randrange(2):
        head = re.sub(rb"\([^)]*\)", shape, head, count=1)
    else:
        head = re.sub(rb"'descr': '[^']*'", b"'descr': " + kind, head, count=1)
    return head + mark + body


def odd_tar(data: bytes, rng: Random) -> bytes:
    """A .tar.gz with a member that has another name, type or size."""
    paper = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(data)) as old, tarfile.open(fileobj=paper, mode="w:gz") as new:
        members = old.getmembers()
        chosen = rng.randrange(len(members))
        for place, member in enumerate(members):
            content = old.extractfile(member)
            text = content.read() if content is not None else b""
            if place == chosen:
                way = rng.randrange(4)
                if way == 0:
                    member.name = rng.choice(("../x", "/x", "a/../../x", "x" * 300, "c:\\x", "\u00e9", members[0].name))
                elif way == 1:
                    member.type = rng.choice((b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"S", b"x", b"Z"))
                    member.linkname = "/etc/passwd"
                elif way == 2:
                    text = damaged(text, rng)
                else:
                    text = text * rng.choice((0, 3))
            member.size = len(text)
            new.addfile(member, io.BytesIO(text))
    return paper.getvalue()


def odd_store(data: bytes, rng: Random) -> bytes:
    """An SQLite file with another value in one cell, or another version or table."""
    from taskorder.runs.checksums import add_functions, checksum_in_sql  # which older code has not

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        path.write_bytes(data)
        db = sqlite3.connect(path)
        with db:
            way = rng.randrange(8)
            if way == 0:
                db.execute(f"pragma user_version = {rng.choice((0, 1, 2, 4, -1, 2**31 - 1))}")
            elif way == 1:
                db.execute(f"drop table {rng.choice(('results', 'failures', 'requests'))}")
            else:
                table, column = rng.choice(
                    [
                        ("results", field)
                        for field in ("kind", "params", "result", "result", "seconds", "device", "finished")
                    ]
                    + [("failures", field) for field in ("params", "error")]
                    + [("requests", field) for field in ("config", "digests", "name")]
                )
                digest, old = rng.choice(db.execute(f"select rowid_, {column} from {_numbered(table)}").fetchall())
                new: Any = rng.choice((b"\xff\xfe", "", 7, -1.5, "x", 10**18))
                if column in ("params", "result", "config", "digests") and rng.randrange(4):
                    new = odd_json(old if isinstance(old, bytes) else old.encode(), rng).decode()
                key = "digest" if table != "requests" else "config"
                db.execute(f"update or ignore {table} set {column} = ? where {key} = ?", (new, digest))
                if rng.randrange(4):  # as a program writes it that knows checksums
                    add_functions(db)
                    db.execute(f"update {table} set checksum = {checksum_in_sql(table)}")
        db.close()
        return path.read_bytes()


def _numbered(table: str) -> str:
    return f"(select {'config' if table == 'requests' else 'digest'} as rowid_, * from {table})"
