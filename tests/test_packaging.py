"""The wheel and the sdist: what is in them, and that each works in an empty environment without the repository."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import taskorder

ROOT = Path(__file__).parents[1]
UV = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
RUBBISH = re.compile(r"__pycache__|\.(py[co]|nb[ic]|lock|sqlite|part)$|\.(hypothesis|ruff|mypy|pytest)(_cache)?/")
NO_NETWORK = """
import os, sys
def refuse(event, args):
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "urllib.Request") or (
        event == "socket.connect" and isinstance(args[1], tuple) and args[1][0] not in ("127.0.0.1", "::1")
    ):
        with open(os.environ["NETWORK_LOG"], "a") as log:
            log.write(f"{event} {args[1:] if event == 'socket.connect' else args}\\n")
        raise OSError("no network here")
sys.addaudithook(refuse)
"""
"""As sitecustomize.py: what a program asks of the network is written down and refused."""

pytestmark = [
    pytest.mark.slow("install"),
    pytest.mark.skipif(UV is None, reason="needs uv, which `make setup` installs"),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with both; uv makes the wheel from the sdist, so the sdist is whole."""
    folder = tmp_path_factory.mktemp("dist")
    hashed = "--require-hashes", "--build-constraints", ROOT / "requirements" / "dev.txt"
    subprocess.run([UV, "build", "--quiet", *hashed, "--out-dir", folder, ROOT], check=True)
    return folder


def test_the_wheel_holds_the_package_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"taskorder-{taskorder.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    package = ROOT / "src" / "taskorder"
    wanted = {
        f"taskorder/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and not RUBBISH.search(path.as_posix())
    }
    info = {name for name in names if name.startswith(f"taskorder-{taskorder.__version__}.dist-info/")}
    assert set(names) - info == wanted
    assert [name for name in names if "reproduction" in name] == []
    assert {"taskorder/py.typed", "taskorder/data/demo.csv", "taskorder/report/static/page.css"} <= wanted
    assert "taskorder/explorer/static/index.html" in wanted
    assert any(name.endswith("licenses/LICENSE") for name in info)


def test_the_sdist_holds_sources_and_no_rubbish(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert [name for name in names if RUBBISH.search(name)] == []
    for name in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "src/taskorder/py.typed",
        "tests/conftest.py",
    ):
        assert name in names


@pytest.mark.parametrize(("kind", "extras"), [("*.whl", "neural"), ("*.tar.gz", "")])
def test_it_works_in_an_empty_environment(built, kind, extras, tmp_path):
    """The wheel tells the whole story with JAX; the sdist has only scikit-learn beside it. Neither asks the network.

    A story takes half a minute, so the sdist's, the same files with another learner, is told only with SLOW_TESTS=1.
    """
    (file,) = built.glob(kind)
    environment, site = tmp_path / "environment", tmp_path / "site"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    named = f"taskorder[{extras}] @ {file.as_uri()}" if extras else f"taskorder @ {file.as_uri()}"
    install = [UV, "pip", "install", "--quiet", "--python", python, "-c", ROOT / "requirements" / "dev.txt"]
    subprocess.run([*install, named, *([] if extras else ["scikit-learn"])], check=True)
    site.mkdir()
    (site / "sitecustomize.py").write_text(NO_NETWORK)
    alone = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "TASKORDER", "VIRTUAL"))}
    alone |= {"PYTHONPATH": str(site), "NETWORK_LOG": str(tmp_path / "log"), "HOME": str(tmp_path)}

    def run(*words):
        command = [python, "-m", "taskorder", *words]
        return subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=600)

    where = subprocess.run(
        [python, "-c", "import taskorder; print(taskorder.__file__)"], env=alone, capture_output=True, text=True
    ).stdout
    assert str(environment) in where
    assert run("--version").stdout == f"taskorder {taskorder.__version__}\n"
    (tmp_path / "table.csv").write_text("task,A,B,C\nA,1,0.5,0.2\nB,0.5,1,0.1\nC,0.2,0.1,1\n")
    planned, shipped = run("solve", "table.csv"), run("solve", "--demo", "--rule", "periphery-to-core")
    assert (planned.returncode, planned.stderr) == (shipped.returncode, shipped.stderr) == (0, "")
    assert "proven" in planned.stdout
    assert "bear-bus" in shipped.stdout
    if extras or os.environ.get("SLOW_TESTS"):
        story = run("demo", "-o", "-")
        assert story.returncode == 0, story.stderr
        assert "Same network, same data" in story.stdout
    assert not (tmp_path / "log").exists()
    refused = run("data", "get", "fashion-mnist")
    assert refused.returncode == 2
    assert "fashion-mnist" in (tmp_path / "log").read_text()  # the hook sees what there is to see
