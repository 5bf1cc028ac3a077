"""Archives from the network, unpacked with suspicion: only plain files with the expected names are ever written."""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from taskorder.datasets.download import no_room
from taskorder.tables.input_files import refusal

_HEADER = 2**20
_MOST_MEMBERS = 10_000


class _Limited:
    """A stream that refuses to give more than it was allowed to, however well it was packed."""

    def __init__(self, stream: gzip.GzipFile, max_bytes: int, path: Path) -> None:
        self._stream = stream
        self._left = self._before_header = max_bytes
        self._rule = f"unpack to at most {max_bytes} bytes"
        self._path = path

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        self._before_header -= len(data)
        if self._left < 0:
            raise refusal(self._path, self._rule, "more", "Remove it.")
        if self._before_header < 0:
            raise refusal(self._path, f"describe each file in at most {_HEADER} bytes", "more", "Remove it.")
        return data

    def expect_header(self, after: int) -> None:
        """The next header must come after so many bytes: a name of gigabytes would be read into memory."""
        self._before_header = after + _HEADER


def unpack(archive: Path, target: Path, names: Sequence[str], max_bytes: int) -> None:
    """Bring the files `names` of a .tar.gz, which lie there in a folder called like `target`, into `target`.

    Links, devices, absolute paths and `..` are refused, whatever their names; plain files with other names are left
    out. Files are unpacked beside `target` and moved there once all of them are whole.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=target.parent) as scratch:
            fresh = Path(scratch) / target.name
            fresh.mkdir()
            _unpack(archive, fresh, names, max_bytes)
            missing = [name for name in names if not (fresh / name).is_file()]
            if missing:
                raise refusal(archive, f"hold {target.name}/{missing[0]}", "no such file", "Remove it.")
            if target.exists():  # perhaps with files of others: only ours are replaced
                for name in names:
                    os.replace(fresh / name, target / name)
            else:
                os.replace(fresh, target)
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as problem:
        raise refusal(archive, "be a whole tar.gz archive", f"a damaged one: {problem}", "Remove it.") from None
    except OSError as problem:
        raise no_room(target.parent, problem) from None


def _unpack(archive: Path, fresh: Path, names: Sequence[str], max_bytes: int) -> None:
    targets = {f"{fresh.name}/{name}": fresh / name for name in names}
    with gzip.open(archive, "rb") as packed:
        limited = _Limited(packed, max_bytes, archive)
        limited.expect_header(0)
        with tarfile.open(fileobj=limited, mode="r|") as members:  # type: ignore[call-overload]  # needs only read
            for number, member in enumerate(members):
                if number >= _MOST_MEMBERS:
                    raise refusal(archive, f"hold at most {_MOST_MEMBERS} files", "more", "Remove it.")
                limited.expect_header(member.size)
                path = _harmless(member, archive)
                if not member.isreg() or path not in targets:
                    continue
                if targets[path].exists():
                    raise refusal(archive, "hold each file once", f"{path} twice", "Remove it.")
                source = members.extractfile(member)
                assert source is not None
                with source, targets[path].open("xb") as copy:
                    shutil.copyfileobj(source, copy)


def _harmless(member: tarfile.TarInfo, archive: Path) -> str:
    """The path of a plain file or folder that stays where it is put; all else is refused."""
    path = PurePosixPath(member.name)
    windows = "\\" in member.name or ":" in member.name
    if path.is_absolute() or ".." in path.parts or windows or "\0" in member.name:
        raise refusal(archive, "hold paths inside the archive only", repr(member.name[:60]), "Remove it.")
    plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE) and not member.issparse()
    if not plain:
        raise refusal(archive, "hold plain files only", f"a link or a device at {member.name[:60]!r}", "Remove it.")
    return str(path)
