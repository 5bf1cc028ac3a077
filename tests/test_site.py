"""The site as `make docs` builds it: every page is there, and nothing is loaded from another host."""

import os
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOADING = dict.fromkeys(("script", "img", "iframe", "source", "audio", "video", "embed", "input"), "src") | {
    "object": "data", "link": "href", "image": "href", "use": "href"}  # fmt: skip
NOT_LOADED = {"canonical", "next", "prev", "index", "search", "author", "license", "help"}
AFAR = re.compile(r"^\s*(?:https?:)?//", re.IGNORECASE)
STYLE = re.compile(r"(?:url\(\s*['\"]?|@import\s+(?:url\(\s*)?['\"]?)\s*(?:https?:)?//", re.IGNORECASE)
SCRIPT = re.compile(
    r"(?:\b(?:fetch|importScripts|import|Worker|open)\(|\bfrom|\bimport|\.(?:src|href)\s*=)\s*['\"`](?:https?:)?//"
)


class Loaded(HTMLParser):
    """What a page loads from other hosts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = {name: value or "" for name, value in attributes}
        wanted = [values.get(LOADING.get(tag, ""), ""), values.get("poster", ""), *values.get("srcset", "").split(",")]
        if not (tag == "link" and set(values.get("rel", "").split()) & NOT_LOADED):
            self.found += [f"{tag} {value}" for value in wanted if AFAR.match(value)]
        self.found += [f"{tag} style" for _ in STYLE.findall(values.get("style", ""))]


def loads_from_afar(text: str, kind: str) -> list[str]:
    if kind == ".html":
        return Loaded(text).found + STYLE.findall(text) + SCRIPT.findall(text)
    return (STYLE if kind == ".css" else SCRIPT).findall(text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [(".html", '<script src="https://x.org/a.js"></script>'), (".html", '<link rel="stylesheet" href="//x.org/a.css">'),
     (".html", '<img src="http://x.org/a.png">'), (".html", '<img srcset="a.png 1x, https://x.org/a.png 2x">'),
     (".html", "<style>@import 'https://x.org/a.css'</style>"), (".css", "@font-face{src:url(https://x.org/a.woff)}"),
     (".css", '@import url("//x.org/a.css")'), (".js", 'fetch("https://x.org/a")'), (".js", 's.src = "//x.org/a.js"')],
)  # fmt: skip
def test_what_is_loaded_from_afar_is_seen(kind, text):
    assert loads_from_afar(text, kind)
    assert not loads_from_afar('<a href="https://x.org">a link is not loaded</a>', ".html")


@pytest.fixture(scope="module")
def site():
    """The site as `make docs` builds it, where it is built already only what changed since."""
    pytest.importorskip("sphinx")
    command = re.search(
        r"^docs:.*\n(?:\t.*\n)*?\t\$\(BIN\)/python (-m sphinx .*)$", (ROOT / "Makefile").read_text(), re.M
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, *shlex.split(command[1])], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return ROOT / "build/site"


@pytest.mark.slow("install")
def test_the_site_loads_nothing_from_another_host(site):
    files = [path for path in site.rglob("*") if path.suffix in (".html", ".css", ".js")]
    assert len(files) > 30
    loaded = {path.name: loads_from_afar(path.read_text(), path.suffix) for path in files}
    assert {name: seen for name, seen in loaded.items() if seen} == {}


@pytest.mark.slow("install")
def test_the_site_has_every_page(site):
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "docs/api.rst"]:
        assert (site / page.relative_to(ROOT).with_suffix(".html")).exists(), page
    assert "docs/index.html" in (site / "index.html").read_text()
