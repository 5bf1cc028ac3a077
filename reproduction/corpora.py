"""Corpora for language models: manual pages in ten languages, and source code in three, from Debian's packages.

    apt-get download $(python -m reproduction.corpora --packages)     # 41 MB, checked by apt
    python -m reproduction.corpora *.deb -o corpora.npz

Every corpus has the same number of bytes to train on and to test on, and no page or file is in both.
"""

from __future__ import annotations

import argparse
import gzip
import html
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

TRAIN_BYTES, TEST_BYTES = 1 << 20, 1 << 16
TEST_SHARE = 0.1
"""Of the pages or files; those to test on are chosen by the hash of their names."""


class Source(NamedTuple):
    """Where a corpus comes from."""

    packages: tuple[str, ...]
    under: str
    """The folder inside the packages."""
    pattern: str


def _manual(language: str, *packages: str) -> Source:
    return Source(packages, f"usr/share/man/{language}" if language else "usr/share/man", "man*/*.gz")


CORPORA: Mapping[str, Source] = {
    "English": _manual("", "manpages", "manpages-dev"),
    "German": _manual("de", "manpages-de", "manpages-de-dev"),
    "French": _manual("fr", "manpages-fr", "manpages-fr-dev"),
    "Spanish": _manual("es", "manpages-es", "manpages-es-dev"),
    "Polish": _manual("pl", "manpages-pl", "manpages-pl-dev"),
    "Russian": _manual("ru", "manpages-ru", "manpages-ru-dev"),
    "Ukrainian": _manual("uk", "manpages-uk", "manpages-uk-dev"),
    "Turkish": _manual("tr", "manpages-tr"),
    "Japanese": _manual("ja", "manpages-ja", "manpages-ja-dev"),
    "Chinese": _manual("zh_CN", "manpages-zh"),
    "Python": Source(("libpython3.11-stdlib",), "usr/lib/python3.11", "**/*.py"),
    "C": Source(("linux-libc-dev",), "usr/include", "**/*.h"),
    "Perl": Source(("perl-modules-5.36",), "usr/share/perl/5.36.0", "**/*.pm"),
}

_ESCAPES = (
    (re.compile(r"\\f(?:\[[^]]*\]|\(..|.)"), ""),  # fonts
    (re.compile(r"\\s[+-]?\d"), ""),  # sizes
    (re.compile(r"\\\*?\((?:aq|cq|oq)"), "'"),
    (re.compile(r"\\\*?\((?:lq|rq|dq)"), '"'),
    (re.compile(r"\\\((?:em|en|hy)|\\-"), "-"),
    (re.compile(r"\\\[u([0-9A-F]{4,5})\]"), lambda found: chr(int(found[1], 16))),
    (re.compile(r"\\\((?:bu|co|rg|tm)|\\\[[^]]*\]|\\[&/,|^%:]"), ""),
    (re.compile(r"\\[e\\]"), r"\\"),
    (re.compile(r"\\[ ~0]"), " "),
)
_TITLES = (".SH", ".SS", ".B", ".I", ".BR", ".IR", ".RB", ".RI", ".BI", ".IB", ".SM", ".Sh", ".Ss", ".Nm", ".Nd", ".It")


def plain_text(page: str) -> str:
    r"""The words of a manual page, without requests of troff.

    >>> plain_text('.\\" a comment\n.SH NAME\n\\fBls\\fP \\- list \\(dqfiles\\(dq\n.PP\n.BR ls (1)\n')
    'NAME\nls - list "files"\nls(1)\n'
    """
    lines = []
    for line in page.splitlines():
        text = line
        if line.startswith((".", "'")):
            request, _, rest = line.partition(" ")
            if request not in _TITLES:
                continue
            glued = len(request) == 3 and request[1:] not in ("SH", "SS", "SM", "Sh", "Ss", "Nm", "Nd", "It")
            words = re.findall(r'"[^"]*"|\S+', rest)
            text = ("" if glued else " ").join(word.strip('"') for word in words)
        for pattern, becomes in _ESCAPES:
            text = pattern.sub(becomes, text)
        if text.strip():
            lines.append(html.unescape(text))
    return "\n".join(lines) + "\n"


def read_corpus(folder: Path, source: Source) -> tuple[Bytes, Bytes]:
    """The bytes to train on and to test on of one corpus whose packages are unpacked in `folder`."""
    parts: dict[bool, list[tuple[str, bytes]]] = {False: [], True: []}
    for path in (folder / source.under).glob(source.pattern):
        if not path.is_file() or path.is_symlink():
            continue
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = plain_text(gzip.decompress(data).decode("utf-8", "replace")).encode()
        key = sha256(path.name.encode()).hexdigest()
        parts[int(key[:8], 16) < TEST_SHARE * 16**8].append((key, data))
    return _bytes(source, parts[False], TRAIN_BYTES), _bytes(source, parts[True], TEST_BYTES)


def _bytes(source: Source, parts: Iterable[tuple[str, bytes]], size: int) -> Bytes:
    """The first `size` bytes of all parts, in the order of their hashes."""
    data = np.frombuffer(b"".join(data for _, data in sorted(parts)), np.uint8)
    if len(data) < size:
        packages = " and ".join(source.packages)
        raise ValueError(f"`files` must hold {size} bytes of {packages}, got {len(data)}. Download these packages.")
    return data[:size]


def build(packages: Sequence[str | Path]) -> dict[str, tuple[Bytes, Bytes]]:
    """The bytes to train on and to test on of all corpora, from Debian packages."""
    corpora = {}
    with tempfile.TemporaryDirectory() as name:
        for path in packages:
            subprocess.run(["dpkg-deb", "-x", path, f"{name}/{Path(path).name.partition('_')[0]}"], check=True)
        for corpus, source in CORPORA.items():
            whole = Path(name) / corpus
            for package in source.packages:
                subprocess.run(["cp", "-rn", f"{name}/{package}/.", whole], check=True)
            corpora[corpus] = read_corpus(whole, source)
    return corpora


def main() -> None:
    """Print the names of the packages, or write the corpora that are made of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="DEB", help="Debian packages")
    parser.add_argument("--packages", action="store_true", help="print which packages are needed")
    parser.add_argument("-o", "--output", default="corpora.npz", metavar="NPZ")
    args = parser.parse_args()
    if args.packages:
        print(*sorted({package for source in CORPORA.values() for package in source.packages}))
        return
    corpora = build(args.files)
    np.savez_compressed(
        args.output,
        names=np.array(list(corpora)),
        train=np.stack([train for train, _ in corpora.values()]),
        test=np.stack([test for _, test in corpora.values()]),
    )
    for corpus, (train, _) in corpora.items():
        print(f"{corpus:10} {sha256(train.tobytes()).hexdigest()[:12]}")


if __name__ == "__main__":
    main()
