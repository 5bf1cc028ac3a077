"""A web server on the loopback that misbehaves as told, and small data sets in their real formats."""

import gzip
import io
import re
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest


@dataclass
class Page:
    """What the server does with one address."""

    content: bytes = b""
    ranges: bool = True
    tag: str | None = '"one"'
    status: int = 200
    location: str = ""
    fail_first: int = 0
    """So many requests get status 503."""
    cut: list[int] = field(default_factory=list)
    """Close the connection after so many bytes: the first request after cut[0], and so on."""
    length: int | None = None
    """A lie about Content-Length; below 0: not a word about it."""
    stall: float = 0.0
    """Say nothing for so long, half way through the body."""
    wrong_range: bool = False
    seen: list[dict[str, str]] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *ignored: object) -> None:
        pass

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path)
        if page is None:
            self.send_error(404)
            return
        page.seen.append({key.lower(): value for key, value in self.headers.items()})
        if page.fail_first >= len(page.seen):
            self.send_error(503)
            return
        if page.location:
            self.send_response(302)
            self.send_header("Location", page.location)
            self.end_headers()
            return
        start = self._start(page)
        if start is not None and start >= len(page.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(page.content)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = page.content[start or 0 :]
        self.send_response(page.status if start is None else 206)
        if start is not None:
            first = 0 if page.wrong_range else start
            self.send_header("Content-Range", f"bytes {first}-{len(page.content) - 1}/{len(page.content)}")
        if page.length is None or page.length >= 0:
            self.send_header("Content-Length", str(len(body) if page.length is None else page.length))
        if page.tag:
            self.send_header("ETag", page.tag)
        self.end_headers()
        stop = page.cut.pop(0) if page.cut else len(body)
        half = min(stop, len(body) // 2)
        self.wfile.write(body[:half])
        if page.stall:
            self.wfile.flush()
            time.sleep(page.stall)
        self.wfile.write(body[half:stop])
        self.close_connection = True

    def _start(self, page: Page) -> int | None:
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if asked is None or not page.ranges or self.headers.get("If-Range", page.tag) != page.tag:
            return None
        return int(asked[1])


@dataclass
class Server:
    base: str
    pages: dict[str, Page]

    def put(self, name: str, page: Page) -> str:
        self.pages["/" + name] = page
        return self.base + name


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *ignored: object) -> None:
            """Clients hang up here on purpose."""

    httpd = Quiet(("127.0.0.1", 0), _Handler)
    httpd.pages = {}
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield Server(f"http://127.0.0.1:{httpd.server_port}/", httpd.pages)
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def idx_bytes(array: np.ndarray) -> bytes:
    head = bytes((0, 0, 8, array.ndim)) + b"".join(size.to_bytes(4, "big") for size in array.shape)
    return head + array.astype(np.uint8).tobytes()


def cifar_bytes(images: np.ndarray, *labels: np.ndarray) -> bytes:
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), 3072).astype(np.uint8)
    return np.concatenate([*(np.asarray(a, np.uint8)[:, None] for a in labels), planes], axis=1).tobytes()


@pytest.fixture
def write_idx() -> Callable[[Path, np.ndarray], None]:
    """A function (path, array) that writes IDX, packed if the path ends in .gz."""

    def write(path: Path, array: np.ndarray) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        data = idx_bytes(array)
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)

    return write


@pytest.fixture
def fashion(tmp_path: Path, write_idx: Callable[[Path, np.ndarray], None]) -> Path:
    """A data folder with a small Fashion-MNIST: 20 + 10 images."""
    rng = np.random.default_rng(0)
    for split, count in (("train", 20), ("t10k", 10)):
        images, labels = rng.integers(0, 256, (count, 28, 28)), np.arange(count) % 10
        write_idx(tmp_path / "fashion-mnist" / f"{split}-images-idx3-ubyte.gz", images)
        write_idx(tmp_path / "fashion-mnist" / f"{split}-labels-idx1-ubyte.gz", labels)
    return tmp_path


def cifar10_files() -> dict[str, bytes]:
    rng = np.random.default_rng(1)
    names = [f"data_batch_{k}.bin" for k in range(1, 6)] + ["test_batch.bin"]
    files = {name: cifar_bytes(rng.integers(0, 256, (10, 32, 32, 3)), rng.permutation(10)) for name in names}
    classes = "airplane automobile bird cat deer dog frog horse ship truck"
    return {**files, "batches.meta.txt": classes.replace(" ", "\n").encode() + b"\n\n"}


@pytest.fixture
def cifar10(tmp_path: Path) -> Path:
    """A data folder with a small CIFAR-10: five times 10 images, and 10."""
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    for name, data in cifar10_files().items():
        (folder / name).write_bytes(data)
    return tmp_path


@pytest.fixture
def make_tar() -> Callable[..., bytes]:
    """A function (*members) -> bytes of a tar.gz; a member is (name, bytes) or a TarInfo."""

    def make(*members: tuple[str, bytes] | tarfile.TarInfo) -> bytes:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
            for member in members:
                if isinstance(member, tarfile.TarInfo):
                    archive.addfile(member, io.BytesIO(bytes(member.size)) if member.size else None)
                else:
                    info = tarfile.TarInfo(member[0])
                    info.size = len(member[1])
                    archive.addfile(info, io.BytesIO(member[1]))
        return packed.getvalue()

    return make


@pytest.fixture
def cifar10_tar(make_tar: Callable[..., bytes]) -> bytes:
    """An archive of the small CIFAR-10, with the folder and the page that the real one has too."""
    folder = tarfile.TarInfo("cifar-10-batches-bin")
    folder.type = tarfile.DIRTYPE
    files = {**cifar10_files(), "readme.html": b"<html></html>"}
    return make_tar(folder, *((f"cifar-10-batches-bin/{name}", data) for name, data in files.items()))


@pytest.fixture
def new_page() -> type[Page]:
    """The class of the server's pages, for tests."""
    return Page
