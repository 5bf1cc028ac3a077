"""What CI downloads is known by its hash, actions by their commit, and a release says what it brings with it."""

import doctest
import importlib.util
import json
import re
import tomllib
from pathlib import Path

import pytest

packaging = pytest.importorskip("packaging")
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
MAKEFILE = (ROOT / "Makefile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
UNHASHED = {
    "test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)",
    '$(BIN)/python -c "import torch" 2>/dev/null || $(BIN)/python -m pip install --quiet torch==2.13.0',
}
"""What the Makefile may install without a hash: PyTorch has other files for each kind of machine."""
ON_REQUEST = ".venv-$*/"
"""Where the packages of tools go that CI does not try."""
PINNED = re.compile(r"(- )?uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
PACKAGE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*==[0-9][0-9a-z.+]*(?: ; [\w .()'<>=!*]+)?")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


@pytest.fixture(scope="module")
def sbom():
    spec = importlib.util.spec_from_file_location("sbom", ROOT / "requirements" / "sbom.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lines_of(text):
    """Lines with those that go on in the next one joined."""
    return [" ".join(line.split()) for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def locked(name):
    return (ROOT / "requirements" / f"{name}.txt").read_text()


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_every_line_is_a_version_with_hashes_and_no_host(path):
    text = path.read_text()
    assert "://" not in text
    assert not re.search(r"^\s*-", text.replace("    --hash", "    hash"), re.MULTILINE)  # no option, an index least
    for line in lines_of(text):
        package, *hashes = re.split(r" (?=--hash=)", line)
        assert PACKAGE.fullmatch(package), line[:80]
        assert hashes
        assert all(HASH.fullmatch(one) for one in hashes), line[:80]


@pytest.mark.parametrize(
    "line", ["six", "six==1.17.0", "--index-url x", "six @ git+x", "six>=1 --hash=sha256:" + 64 * "0"]
)
def test_the_form_refuses_what_is_not_locked(line):
    package, *hashes = re.split(r" (?=--hash=)", line)
    assert not (PACKAGE.fullmatch(package) and hashes and all(map(HASH.fullmatch, hashes)))


def test_what_we_ask_for_is_locked(sbom):
    versions = {}
    for entry in sbom.read_lock(locked("dev")):
        versions.setdefault(entry.name, []).append(entry.version)
    extras = re.search(r"^EXTRAS := (.*)$", MAKEFILE, re.MULTILINE)[1].split()
    asked = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    asked += [line for extra in extras for line in PROJECT["project"]["optional-dependencies"][extra]]
    for requirement in map(Requirement, asked):
        found = versions[canonicalize_name(requirement.name)]
        assert all(requirement.specifier.contains(number) for number in found), requirement
    assert "torch" not in versions
    assert "editables" in versions  # what hatchling needs for `pip install -e`


def test_other_environments_agree_with_the_first(sbom):
    first = {(entry.name, entry.version) for entry in sbom.read_lock(locked("dev"))}
    names = {name for name, _ in first}
    for other in ("adapters", "hf", "trackers"):
        more = {(entry.name, entry.version) for entry in sbom.read_lock(locked(other))}
        assert {pair for pair in more if pair[0] in names} <= first


def test_nothing_is_installed_without_a_hash():
    recipes = [
        line.removeprefix("|").strip() for line in lines_of(MAKEFILE) if re.search(r"pip install|uv build", line)
    ]
    steps = [
        step
        for recipe in recipes
        for step in re.split(r" && | \|\| (?=\{)|; ?\}", recipe)
        if "install" in step or "uv build" in step
    ]
    assert len(steps) > 6
    for step in steps:
        of_this_folder = re.search(r"--no-deps --no-build-isolation -e \.$", step)
        assert "--require-hashes" in step or of_this_folder or step in UNHASHED or ON_REQUEST in step, step
    assert not re.search(r"pip install|uv build", (ROOT / ".ci" / "run").read_text())


def test_actions_are_pinned_by_commit():
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
    used = [line.strip() for path in workflows for line in path.read_text().splitlines() if "uses:" in line]
    assert len(used) >= 6
    assert [line for line in used if not PINNED.fullmatch(line)] == []
    commits = {}
    for line in used:
        action, commit, version = re.search(r"uses: (\S+)@(\S+) # (\S+)", line).groups()
        assert commits.setdefault(action, (commit, version)) == (commit, version)


@pytest.mark.parametrize(
    "line",
    [
        "- uses: actions/checkout@v4",
        "- uses: actions/checkout@main",
        "- uses: actions/checkout@de0fac2 # v6.0.2",
        "- uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd",
        "- uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # latest",
    ],
)
def test_unpinned_actions_are_refused(line):
    assert not PINNED.fullmatch(line)


SCHEMA = {
    "type": "object",
    "required": ["bomFormat", "specVersion", "serialNumber", "version", "metadata", "components", "dependencies"],
    "additionalProperties": False,
    "properties": {
        "bomFormat": {"const": "CycloneDX"},
        "specVersion": {"const": "1.6"},
        "serialNumber": {"pattern": "^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"},
        "version": {"type": "integer", "minimum": 1},
        "metadata": {
            "type": "object",
            "required": ["component"],
            "properties": {"component": {"$ref": "#/$defs/part"}},
        },
        "components": {"type": "array", "uniqueItems": True, "minItems": 1, "items": {"$ref": "#/$defs/part"}},
        "dependencies": {
            "type": "array",
            "uniqueItems": True,
            "items": {
                "type": "object",
                "required": ["ref"],
                "additionalProperties": False,
                "properties": {
                    "ref": {"type": "string", "minLength": 1},
                    "dependsOn": {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
                },
            },
        },
    },
    "$defs": {
        "part": {
            "type": "object",
            "required": ["type", "name", "bom-ref", "purl"],
            "additionalProperties": False,
            "properties": {
                "type": {"const": "library"},
                "bom-ref": {"type": "string", "minLength": 1},
                "name": {"type": "string", "minLength": 1},
                "version": {"type": "string", "minLength": 1, "maxLength": 1024},
                "scope": {"enum": ["required", "optional", "excluded"]},
                "purl": {"pattern": "^pkg:pypi/[a-z0-9-]+(@[^@]+)?$"},
                "licenses": {"type": "array"},
                "hashes": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["alg", "content"],
                        "properties": {"alg": {"const": "SHA-256"}, "content": {"pattern": "^[0-9a-f]{64}$"}},
                    },
                },
                "properties": {"type": "array", "items": {"required": ["name", "value"]}},
            },
        }
    },
}
"""What the schema of CycloneDX 1.6 requires of the parts that we write."""


@pytest.fixture(scope="module")
def made(sbom, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sbom, "version", lambda name: "1.2.3")
        sbom.main(folder)
    return (folder / "taskorder-1.2.3.cdx.json").read_text()


def test_the_list_of_a_release_has_the_form_of_cyclonedx(made, sbom):
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads(made)
    jsonschema.validate(document, SCHEMA)
    refs = [part["bom-ref"] for part in (document["metadata"]["component"], *document["components"])]
    assert len(refs) == len(set(refs))
    assert {entry["ref"] for entry in document["dependencies"]} == set(refs)
    assert {ref for entry in document["dependencies"] for ref in entry["dependsOn"]} <= set(refs)
    assert "://" not in made
    for broken in ({**document, "components": [{"type": "library"}]}, {**document, "bomFormat": "SPDX"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, SCHEMA)
    assert doctest.testmod(sbom).failed == 0


def test_the_list_of_a_release_says_what_users_get(made, sbom):
    parts = json.loads(made)["components"]
    scopes = {part["name"]: part["scope"] for part in parts}
    for requirement in map(Requirement, PROJECT["project"]["dependencies"]):
        assert scopes[requirement.name] == "required"
    assert scopes["llvmlite"] == "required"  # numba needs it
    for name in ("jax", "scikit-learn", "ray", "matplotlib", "torch", "pyarrow", "starlette"):
        assert scopes[name] == "optional", name
    assert not scopes.keys() & {"pytest", "ruff", "mypy", "sphinx", "playwright", "hatchling"}
    numpy = [part for part in parts if part["name"] == "numpy"]
    known = {entry.version: entry for entry in sbom.read_lock(locked("dev")) if entry.name == "numpy"}
    assert {part["version"] for part in numpy} == set(known)
    for part in numpy:
        assert [one["content"] for one in part["hashes"]] == list(known[part["version"]].hashes)
    (torch,) = (part for part in parts if part["name"] == "torch")
    assert "version" not in torch


def test_the_list_of_a_release_is_the_same_every_time(made, sbom, tmp_path, monkeypatch):
    monkeypatch.setattr(sbom, "version", lambda name: "1.2.3")
    sbom.main(tmp_path)
    assert (tmp_path / "taskorder-1.2.3.cdx.json").read_text() == made


def test_the_release_line_names_it():
    (line,) = re.findall(r"^- \*\*Releases\*\*.*(?:\n  .*)*", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    for target in re.search(r"`make ([\w ]+)`", line)[1].split():
        assert f"\n{target}: setup" in MAKEFILE
    assert "sbom" in line
