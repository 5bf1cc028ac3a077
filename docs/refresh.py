"""Put what commands print now into the console blocks of pages: python docs/refresh.py docs/gallery.md ...

For when numbers have changed for a good reason: read the difference, and the sentences around it, before you commit it.
"""

import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def load_tests() -> Any:
    """tests/test_docs.py, which knows how to read and run a page."""
    spec = importlib.util.spec_from_file_location("test_docs", ROOT / "tests/test_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def refreshed(text: str, tests: Any) -> str:
    """The page with every output that is no longer true replaced."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in tests.FOLDERS:
            (folder / name).symlink_to(ROOT / name)
        for block in tests.blocks(text):
            new = block.text
            for command, want in tests.commands(block.text) if block.language == "console" else ():
                got = tests.run(command, folder)
                if not tests.shown(want, got):
                    assert want, f"{command!r} shows nothing yet: put a line there."
                    new = new.replace(want, got.rstrip("\n"), 1)
            text = text.replace(block.text, new)
    return text


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        before = page.read_text()
        after = refreshed(before, load_tests())
        page.write_text(after)
        print(f"{page}: {'changed' if after != before else 'as it was'}")
