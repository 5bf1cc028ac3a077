"""Downloads that go on where they stopped: checked by size and md5, in place only when whole.

What has arrived lies in NAME.part, beside NAME.part.tag with the server's word for the version it belongs to (ETag or
Last-Modified). Only http and https are spoken; an md5 sum is what the authors of the data publish, and it guards
against broken files rather than against a determined forger.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from taskorder.arguments import BadArgument
from taskorder.tables.input_files import printable

DownloadProgress = Callable[[int, int | None], None]
"""Called with the bytes that have arrived and the bytes in all (None where the server does not say)."""

_CHUNK = 2**18
_NOT_NOW = (408, 425, 429, 500, 502, 503, 504)
_RANGE_NOT_SATISFIABLE = 416


class _Dropped(Exception):
    """This try has failed; the next may go on from what has arrived."""


class _SameKind(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str) -> Any:
        _check_scheme(newurl)
        if urlsplit(req.full_url).scheme == "https" and urlsplit(newurl).scheme != "https":
            raise ValueError(f"`{req.full_url}` must stay encrypted, got a redirection to {newurl[:200]!r}.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def download(
    address: str,
    path: Path,
    *,
    md5: str,
    max_bytes: int,
    report: DownloadProgress | None = None,
    timeout: float = 30.0,
    tries: int = 4,
    wait: float = 1.0,
) -> None:
    """Bring the file at `address` to `path`, or leave what has arrived in `path`.part for the next call.

    A connection that drops or is silent for `timeout` seconds is taken up again, `tries` times in all, after `wait`
    seconds and then twice as long each time.
    """
    _check_scheme(address)
    part = path.with_name(path.name + ".part")
    try:
        if path.is_file() and file_md5(path) == md5:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(part):
            for attempt in range(tries):
                resumed = part.is_file() and part.stat().st_size > 0
                try:
                    _fetch(address, part, max_bytes, report, timeout)
                except _Dropped as problem:
                    if attempt + 1 == tries:
                        raise _unreachable(address, part, str(problem)) from None
                    time.sleep(wait * 2**attempt)
                    continue
                received = file_md5(part)
                if received == md5:
                    os.replace(part, path)
                    _tag(part).unlink(missing_ok=True)
                    return
                _discard(part)
                if not resumed or attempt + 1 == tries:
                    raise ValueError(
                        f"`{address}` must have the md5 {md5}, got {received}. The file there is broken or was "
                        "changed, and was not kept. Try again later, or put a good copy into the folder yourself."
                    )
    except OSError as problem:
        raise no_room(path.parent, problem) from None


def no_room(folder: Path, problem: OSError) -> ValueError:
    """The refusal for a folder that cannot be written."""
    reason = problem.strerror or type(problem).__name__
    return BadArgument(
        f"`{printable(folder)}` must be a folder with room to write, got: {reason}. Make room, or choose another ",
        "folder",
        "; TASKORDER_DATA names the usual one.",
    )


def file_md5(path: Path) -> str:
    """The md5 sum of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _fetch(address: str, part: Path, max_bytes: int, report: DownloadProgress | None, timeout: float) -> None:
    """Append to `part` what is missing, or start it anew where the server sends the whole file."""
    have = part.stat().st_size if part.is_file() else 0
    headers = {"User-Agent": "taskorder", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if _tag(part).is_file() and (tag := _tag(part).read_text(encoding="latin-1")).isprintable():
            headers["If-Range"] = tag
    try:
        answer = _opener().open(urllib.request.Request(address, headers=headers), timeout=timeout)
    except urllib.error.HTTPError as problem:
        problem.close()
        if problem.code == _RANGE_NOT_SATISFIABLE and have:
            if _range_of(problem.headers)[1] == have:
                return  # it was whole already; the md5 will tell
            _discard(part)
            raise _Dropped("another size than before") from None
        if problem.code in _NOT_NOW:
            raise _Dropped(f"HTTP status {problem.code}") from None
        raise ValueError(
            f"`{address}` must be there, got HTTP status {problem.code}. "
            "Try again later, or put a copy of the file into the folder yourself."
        ) from None
    except (OSError, http.client.HTTPException) as problem:
        raise _Dropped(_reason(problem)) from None
    with answer:
        total = _length(answer, have)
        if answer.status == http.client.PARTIAL_CONTENT:
            start, whole = _range_of(answer.headers)
            if start != have or (whole is not None and total is not None and whole != total):
                _discard(part)
                raise _Dropped("another part of the file than asked for")
        else:
            have = 0
        if total is not None and total > max_bytes:
            raise _too_large(address, part, total, max_bytes)
        _remember(part, answer.headers)
        with part.open("ab" if have else "wb") as stream:
            size = _copy(answer, stream, have, total, max_bytes, report)
        if size > max_bytes:
            raise _too_large(address, part, size, max_bytes)


def _copy(
    answer: Any, stream: IO[bytes], have: int, total: int | None, max_bytes: int, report: DownloadProgress | None
) -> int:
    """Write what arrives, as it arrives; the size in the end, which is past `max_bytes` only for a file that is."""
    while have <= max_bytes:
        try:
            chunk = answer.read1(_CHUNK)
        except http.client.IncompleteRead:
            raise _Dropped(f"{have} of {total or 'more'} bytes") from None
        except (OSError, http.client.HTTPException) as problem:
            raise _Dropped(_reason(problem)) from None
        if not chunk:
            break
        have += len(chunk)
        stream.write(chunk)
        if report is not None:
            report(have, total)
    if total is not None and have < total:
        raise _Dropped(f"{have} of {total} bytes")
    return have


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_SameKind)


def _check_scheme(address: str) -> None:
    if urlsplit(address).scheme not in ("http", "https"):
        raise ValueError(f"`address` must start with http:// or https://, got {address[:200]!r}.")


def _length(answer: Any, have: int) -> int | None:
    """Bytes of the whole file, if the server says."""
    said = answer.headers.get("Content-Length", "")
    if not said.isdecimal():
        return None
    return int(said) + (have if answer.status == http.client.PARTIAL_CONTENT else 0)


def _range_of(headers: Any) -> tuple[int | None, int | None]:
    """Start and whole size from `Content-Range: bytes START-END/SIZE`, None for what it does not say."""
    unit, _, rest = headers.get("Content-Range", "").partition(" ")
    span, _, whole = rest.partition("/")
    start = span.partition("-")[0]
    if unit != "bytes":
        return None, None
    return int(start) if start.isdecimal() else None, int(whole) if whole.isdecimal() else None


def _tag(part: Path) -> Path:
    return part.with_name(part.name + ".tag")


def _remember(part: Path, headers: Any) -> None:
    """Keep the version that the bytes belong to; a weak ETag promises too little to join two parts."""
    tag = headers.get("ETag", "")
    tag = headers.get("Last-Modified", "") if not tag or tag.startswith("W/") else tag
    if tag and tag.isprintable() and len(tag) < 500:
        _tag(part).write_text(tag, encoding="latin-1", errors="replace")
    else:
        _tag(part).unlink(missing_ok=True)


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    _tag(part).unlink(missing_ok=True)


def _too_large(address: str, part: Path, size: int, max_bytes: int) -> ValueError:
    _discard(part)
    return ValueError(
        f"`{address}` must have at most {max_bytes} bytes, got {size} or more. "
        "It is not the file that was expected, and was not kept."
    )


def _unreachable(address: str, part: Path, reason: str) -> ValueError:
    partial = f" What has arrived is kept in {printable(part)}." if part.is_file() else ""
    return ValueError(
        f"`{address}` must be reachable, got: {reason}.{partial} Check the connection and run the same command again, "
        "or point TASKORDER_DATA at a folder that has the data."
    )


def _reason(problem: BaseException) -> str:
    cause = getattr(problem, "reason", None)
    return " ".join(str(cause or problem).split())[:200].rstrip(".") or type(problem).__name__


@contextlib.contextmanager
def _alone(part: Path) -> Iterator[None]:
    """Refuse to write where another process is writing (where the system can tell)."""
    try:
        import fcntl
    except ImportError:  # Windows: the md5 sum would show the mixture
        yield
        return
    lock = part.with_name(part.name + ".lock")
    with lock.open("wb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"`{printable(part)}` must have one writer, got another process. Wait for it.") from None
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
