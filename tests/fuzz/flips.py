"""Single flipped bits in files that are kept: how often a reader answers as if nothing had happened, but otherwise.

    PYTHONPATH=src python -m tests.fuzz.flips --flips 1000 --seed 0

The store is that of `tests/runs/store_of_version_2.db`, four trained runs, brought up to date by the code that runs.
The archive and the kept results hold the same runs; the pilot's store is that of a pilot of four tasks, which goes on
from it: what is learned again counts as another answer. A flip is `silent` when a reader ends well and says something
else than of the whole file; `noticed` when one ends with its error of one line; `harmless` when all say the same.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from reproduction.running import keep_results, load_results
from taskorder import Plan, Task, plan
from taskorder.cli import main as command
from taskorder.learners import CallableLearner
from taskorder.runs.archive import load_archive
from taskorder.runs.specs import RunSpec
from taskorder.runs.store import Store

SEED_STORE = Path(__file__).parents[1] / "runs" / "store_of_version_2.db"
REFUSED = "refused"
Answers = list[str]
"""What each reader says of a file, or REFUSED."""


def said(*words: str) -> str:
    """What a command prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command(list(words))
    if code == 0:
        return out.getvalue()
    assert len(err.getvalue().splitlines()) == 1, err.getvalue()
    return REFUSED


def of_store(folder: Path) -> Answers:
    """What export, status, audit and a run that goes on make of the store in a folder."""
    path, out = folder / "runs.sqlite", folder / "out"
    answers = [said("status", str(path), "--json")]
    for words, written in (
        (("export", str(path), "-o", f"{out}.csv"), [f"{out}.csv"]),
        (("export", str(path), "-o", f"{out}.csv.gz", "--whole"), [f"{out}.csv.gz", f"{out}.json"]),
        (("audit", str(path), "--where", "set=0", "--json"), []),
    ):
        answer = said(*words)
        answers.append(answer if answer == REFUSED else answer + "".join(repr(Path(f).read_bytes()) for f in written))
    with contextlib.suppress(ValueError), Store(path, create=False) as store:
        return [*answers, json.dumps([store.get(SPECS), sorted(store.inputs(SPECS)), store.seconds(SPECS)])]
    return [*answers, REFUSED]


def of_pilot(folder: Path) -> Answers:
    """What `status` and a pilot that goes on make of its store, and what the pilot learns again."""
    answers, asked = [said("status", str(folder / "pilot.sqlite"), "--json")], list[str]()
    try:
        found = pilot(folder, asked)
    except ValueError as problem:
        return [*answers, REFUSED if "\n" not in str(problem) else "an error of several lines"]
    return [*answers, json.dumps([{**found.to_dict(), "seconds": 0}, asked])]


def pilot(folder: Path, asked: list[str]) -> Plan:
    """The plan of a pilot with a store; what it has to learn goes into `asked`."""

    def answer(learned: tuple[str, ...], test: str, seed: int) -> dict[str, float]:
        asked.append(f"{learned} {test} {seed}")
        last = 0.9 if learned[-1:] == (test,) else 0.1 * len({*learned, test}) * (test != "d")
        known = last if learned else 0.0
        return {"loss": 1 - known, "chance": 1.0, "accuracy": (1 + known) / 2}

    tasks, learner = [Task(name) for name in "abcd"], CallableLearner(answer, name="box")
    return plan(tasks, learner, seeds=2, draws=0, budget=None, store=folder / "pilot.sqlite", progress=False)


def of_archive(folder: Path) -> Answers:
    """What is in a store after an archive was loaded."""
    return loaded(lambda store: load_archive(folder / "runs.json", store))


def of_results(folder: Path) -> Answers:
    """The same for the kept results of a figure."""
    return loaded(lambda store: load_results(folder / "figure.runs.json.gz", store))


def loaded(load: Callable[[Store], int]) -> Answers:
    """What is in a store that was empty before."""
    with Store() as store:
        try:
            load(store)
        except ValueError as problem:
            return [REFUSED if "\n" not in str(problem) else "an error of several lines"]
        rows = [(entry._replace(finished=""), store.result(entry.digest)) for entry in store.entries()]
        return [json.dumps(rows)]


SUBJECTS: dict[str, tuple[str, Callable[[Path], Answers]]] = {
    "store": ("runs.sqlite", of_store),
    "pilot's store": ("pilot.sqlite", of_pilot),
    "archive: runs.csv.gz": ("runs.csv.gz", of_archive),
    "archive: runs.json": ("runs.json", of_archive),
    "kept results: figure.runs.json.gz": ("figure.runs.json.gz", of_results),
}


def flipped(data: bytes, bit: int) -> bytes:
    """The bytes with one bit changed."""
    damaged = bytearray(data)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def tell(whole: Answers, now: Answers) -> str:
    """What became of a flip."""
    others = [answer for answer, old in zip(now, whole, strict=True) if answer not in (old, REFUSED)]
    if others:
        return "silent"
    return "noticed" if REFUSED in now else "harmless"


def experiment(subject: str, flips: int, seed: int) -> Counter[str]:
    """How many of so many flips in a file were what."""
    name, answers = SUBJECTS[subject]
    rng, counts = Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        prepare(folder)
        whole_bytes, whole = (folder / name).read_bytes(), answers(folder)
        assert REFUSED not in whole, [answer == REFUSED for answer in whole]
        for _ in range(flips):
            bit = rng.randrange(8 * len(whole_bytes))
            (folder / name).write_bytes(flipped(whole_bytes, bit))
            try:
                counts[tell(whole, answers(folder))] += 1
            except Exception as problem:
                counts[f"crash {type(problem).__name__}"] += 1
    return counts


def prepare(folder: Path) -> None:
    """A store, its archive and its results as a figure keeps them, all of the same runs; and a pilot's store."""
    (folder / "runs.sqlite").write_bytes(SEED_STORE.read_bytes())
    with Store(folder / "runs.sqlite") as store:
        SPECS[:] = [RunSpec(entry.kind, entry.params) for entry in store.entries()]
        keep_results(folder / "figure.runs.json.gz", store, SPECS)
    pilot(folder, [])
    assert said("export", str(folder / "runs.sqlite"), "-o", str(folder / "runs.csv.gz"), "--whole") != REFUSED


SPECS: list[RunSpec] = []


def main() -> None:
    """Print a table of counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for subject in SUBJECTS:
        print(f"{subject}: {dict(experiment(subject, args.flips, args.seed))}", flush=True)


if __name__ == "__main__":
    main()
