"""What an installation of taskorder may hold, as a CycloneDX file: `make sbom` writes it beside a release.

Versions and hashes are those of dev.txt, which CI installs and checks; who needs whom is what the installed packages
say. Tools of development are left out. Packages that dev.txt does not have (PyTorch) stand there without a version.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
import uuid
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FOLDER = Path(__file__).parent
NAME = "taskorder"
TOOLS = ("dev", "docs")
"""Extras that no user installs."""


class Locked(NamedTuple):
    """A line of a file with hashes."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    """SHA-256 of each of its files."""

    @property
    def ref(self) -> str:
        """What other parts of the document call it."""
        return f"pkg:pypi/{self.name}" + f"@{self.version}" * bool(self.version)


def read_lock(text: str) -> list[Locked]:
    """The packages of a file as `uv pip compile --generate-hashes` writes it.

    >>> read_lock("six==1.17.0 ; python_full_version < '4' \\\\\\n    --hash=sha256:ab\\n")
    [Locked(name='six', version='1.17.0', marker="python_full_version < '4'", hashes=('ab',))]
    """
    locked = []
    for line in text.replace("\\\n", " ").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        package, *hashes = line.split("--hash=")
        pinned, _, marker = package.partition(";")
        name, _, number = pinned.strip().partition("==")
        digests = tuple(digest.strip().removeprefix("sha256:") for digest in hashes)
        locked.append(Locked(canonicalize_name(name), number.strip(), marker.strip(), digests))
    return locked


def needed(requirements: Iterable[str], extras: Iterable[str] = ("",)) -> Iterator[Requirement]:
    """The requirements on any platform; of those that belong to extras, the ones of `extras`."""
    chosen = tuple(extras)
    for text in requirements:
        found = Requirement(text)
        if "extra" not in str(found.marker) or any(found.marker.evaluate({"extra": extra}) for extra in chosen):
            yield found


def direct(name: str, extras: Iterable[str] = ()) -> list[Requirement]:
    """What an installed package needs by itself and for the extras; nothing where it is not installed."""
    try:
        return [*needed(requires(name) or (), ("", *extras))]
    except PackageNotFoundError:
        return []


def closure(roots: Iterable[Requirement]) -> dict[str, set[str]]:
    """All that the roots need, each with what it needs by itself."""
    found: dict[str, set[str]] = {}
    waiting = [(canonicalize_name(root.name), frozenset(root.extras)) for root in roots]
    seen = set()
    while waiting:
        name, extras = one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        below = direct(name, extras)
        found.setdefault(name, set()).update(canonicalize_name(each.name) for each in below)
        waiting += [(canonicalize_name(each.name), frozenset(each.extras)) for each in below]
    return found


def document(locked: Iterable[Locked], own_version: str, requirements: list[str], extras: Iterable[str]) -> Any:
    """The document: the package, its parts and who needs whom."""
    by_name: dict[str, list[Locked]] = {}
    for entry in locked:
        by_name.setdefault(entry.name, []).append(entry)
    required = closure(needed(requirements))
    everything = closure(needed(requirements, ("", *(extra for extra in extras if extra not in TOOLS))))
    own = f"pkg:pypi/{NAME}@{own_version}"

    for root in needed(requirements, extras):  # of these the file may lack some
        name = canonicalize_name(root.name)
        by_name.setdefault(name, [Locked(name, "", "", ())])

    def refs(names: Iterable[str]) -> list[str]:
        return sorted(entry.ref for name in names if name in everything for entry in by_name.get(name, ()))

    components = [
        component(entry, "required" if name in required else "optional")
        for name in sorted(everything)
        for entry in by_name.get(name, ())
    ]
    needs = {own: refs(canonicalize_name(root.name) for root in needed(requirements))}
    for name, below in everything.items():
        needs |= {ref: refs(below) for ref in refs([name])}
    body = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library", "bom-ref": own, "name": NAME, "version": own_version, "purl": own,
                "licenses": [{"license": {"id": "MIT"}}],
            }
        },
        "components": components,
        "dependencies": [
            {"ref": ref, "dependsOn": below} for ref, below in sorted(needs.items())
        ],
    }  # fmt: skip
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest()
    return {**body, "serialNumber": f"urn:uuid:{uuid.UUID(bytes=digest[:16], version=4)}"}


def component(entry: Locked, scope: str) -> dict[str, Any]:
    """A part of the document; a hash for each file that there is of it."""
    known = {
        "version": entry.version,
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in entry.hashes],
        "properties": [{"name": "taskorder:marker", "value": entry.marker}] if entry.marker else [],
    }
    head = {"type": "library", "bom-ref": entry.ref, "name": entry.name, "scope": scope, "purl": entry.ref}
    return {**head, **{key: value for key, value in known.items() if value}}


def main(folder: str) -> None:
    """Write the document of the version that is installed."""
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"]]
    for extra, names in extras.items():
        requirements += [f"{name} ; extra == '{extra}'" for name in names]
    made = document(read_lock((FOLDER / "dev.txt").read_text(encoding="utf-8")), version(NAME), requirements, extras)
    target = Path(folder) / f"{NAME}-{version(NAME)}.cdx.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {target}: {len(made['components'])} packages")


if __name__ == "__main__":
    main(*sys.argv[1:])
