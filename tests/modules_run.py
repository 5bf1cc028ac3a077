"""A pytest plugin that prints the modules of which no function has run; `make test` must leave none.

python -m pytest -p tests.modules_run -n 2 --dist loadfile -m "not slow"

    (not counted: kernels that numba has compiled, and what only other processes run)
"""

import os
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = (str(ROOT / "src/taskorder"), str(ROOT / "reproduction"))
FOLDER = Path(os.environ.setdefault("TASKORDER_MODULES", tempfile.mkdtemp()))
seen: set[str] = set()


def profile(frame, event, argument):
    if event == "call" and frame.f_code.co_name[0] != "<":
        seen.add(frame.f_code.co_filename)


def has_functions(path):
    return any(line.lstrip().startswith("def ") for line in path.read_text().splitlines())


def pytest_sessionstart():
    threading.setprofile(profile)
    sys.setprofile(profile)


def pytest_sessionfinish():
    sys.setprofile(None)
    threading.setprofile(None)
    (FOLDER / str(os.getpid())).write_text("\n".join(name for name in seen if name.startswith(FOLDERS)))


def pytest_terminal_summary(terminalreporter):
    run = {name for file in FOLDER.iterdir() for name in file.read_text().split("\n")}
    paths = [path for folder in FOLDERS for path in sorted(Path(folder).rglob("*.py"))]
    idle = [path.relative_to(ROOT).as_posix() for path in paths if str(path) not in run and has_functions(path)]
    terminalreporter.write_line(f"{len(paths)} modules; no function has run of: {', '.join(idle) or 'none of them'}")
