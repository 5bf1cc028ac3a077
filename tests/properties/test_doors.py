"""One question has one answer through every door: Python, files, DataFrames, the command line, the explorer."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("openpyxl")
pytest.importorskip("uvicorn")
import openpyxl
import pandas

from taskorder import Plan, read_similarity, solve, write_similarity
from taskorder.cli import main
from taskorder.explorer.server import Server, listen

from ..explorer.client import Client, events
from .cases import Case, Rng, close, draw

TOKEN = "of-these-tests"
NAMES = ("cats", "a b", "Ünï", "x,y", "#hash", "it's", 'say "hi"', "1", "2.5", "n/a", "T:1", "=A1", "中文", "a=b", "-x")
Answer = Plan | str
"""A plan, or the refusal."""


@contextlib.contextmanager
def explorer() -> Iterator[Client]:
    """A running explorer."""
    server = Server(TOKEN)
    with listen(0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Client(listening.getsockname()[1], TOKEN)
        finally:
            server.should_exit = True
            thread.join()


def answer(ask: Any) -> Answer:
    """A plan, or why there is none."""
    try:
        return ask()
    except ValueError as refusal:
        return str(refusal)


def files_of(case: Case, names: list[str] | None, folder: Path) -> list[Path]:
    """The table in every form."""
    paths = [folder / f"table.{ending}" for ending in ("csv", "tsv", "json", "npz", "xlsx")]
    for path in paths[:-1]:
        write_similarity(path, case.table, names)
    book = openpyxl.Workbook()
    if names:
        book.active.append(["task", *names])
    for place, row in enumerate(case.table.tolist()):
        book.active.append([names[place], *row] if names else row)
    for cell in (cell for row in book.active.iter_rows() for cell in row if isinstance(cell.value, str)):
        cell.data_type = "s"  # =A1 is a name here
    book.save(paths[-1])
    if not names:
        np.save(folder / "table.npy", case.table)
        paths.append(folder / "table.npy")
    return paths


def words_of(case: Case, names: list[str]) -> list[str]:
    """The options of the command line."""

    def listed(parts: list[str]) -> str:
        return ",".join('"' + part.replace('"', '""') + '"' if set(part) & set(',"') else part for part in parts)

    asked, retention = case.options, case.options["retention"]
    words = ["--json", "--retention", listed(list(map(repr, np.atleast_1d(retention).tolist())))]
    words += [f"--{key}={asked[key]}" for key in ("objective", "kind") if key in asked]
    words += [f"--{key}={names[asked[key]]}" for key in ("first", "last") if key in asked]
    words += [f"--before={names[a]}:{names[b]}" for a, b in asked.get("before", ())]
    words += [f"--group={listed([names[task] for task in group])}" for group in asked.get("groups", ())]
    if "weights" in asked:
        words.append(f"--weights={listed([f'{n}={w!r}' for n, w in zip(names, asked['weights'], strict=True)])}")
    if "learned" in asked:
        words.append(f"--learned={listed([names[task] for task in asked['learned']])}")
    return words


def by_command(path: Path, words: list[str]) -> Answer:
    """What `taskorder solve` prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["solve", str(path), *words])
    return err.getvalue() if code else Plan.from_json(out.getvalue())


def by_page(client: Client, case: Case, names: list[str], path: Path | None) -> Answer:
    """What the explorer finds, for numbers in a request or for an uploaded table."""
    table = case.table.tolist()
    if path is not None:
        uploaded = client.post(f"/api/table?name={path.name}", content=path.read_bytes())
        if uploaded.status != 200:
            return uploaded.json()["error"]
        table = uploaded.json()["given"]
        assert uploaded.json()["names"] == names
    asked = {key: case.options[key] for key in ("first", "last", "before", "groups", "learned", "weights", "retention")
             if key in case.options}  # fmt: skip
    body = {**asked, "similarity": table, "names": names, "rule": "optimal", "seconds": 10}
    last = events(client.post("/api/solve", json=body))[-1]
    return last["problem"] if "problem" in last else Plan.from_json(json.dumps(last["plan"]))


def same(one: Answer, other: Answer, case: Case, *, exact: bool) -> None:
    """Two plans that say the same, or two refusals."""
    assert isinstance(one, str) == isinstance(other, str), (one, other)
    if isinstance(one, str) or isinstance(other, str):
        return
    if not exact:  # openpyxl writes 16 digits
        assert close(one.value, other.value, case)
        return
    left_out = ("seconds", "options", "notes")
    told = [{key: value for key, value in plan.to_dict().items() if key not in left_out} for plan in (one, other)]
    assert told[0] == told[1]


def one_question(rng: Rng, client: Client) -> None:
    """Ask it through every door."""
    case = draw(rng, (1, 2, 3, 5, 8, 9))
    if rng.random() < 0.7:
        case = case.asking(kind=None)
    names = rng.permutation(NAMES)[: case.size].tolist() if rng.random() < 0.6 else None
    called = names or list("ABCDEFGHI"[: case.size])
    plan = answer(lambda: solve(case.table, names=names, **case.options))
    frame = pandas.DataFrame(case.table, index=names, columns=names)
    same(plan, answer(lambda: solve(frame, **case.options)), case, exact=True)
    one_number = not isinstance(case.options["retention"], list)
    by_http = one_number and not {"objective", "kind"} & case.options.keys()
    if by_http:
        same(plan, by_page(client, case, called, None), case, exact=True)
    with tempfile.TemporaryDirectory() as folder:
        for path in files_of(case, names, Path(folder)):
            exact = path.suffix != ".xlsx"
            same(plan, answer(lambda path=path: _solved(path, case)), case, exact=exact)
            if one_number or case.size > 1:
                same(plan, by_command(path, words_of(case, called)), case, exact=exact)
            if by_http:
                same(plan, by_page(client, case, called, path), case, exact=exact)


def _solved(path: Path, case: Case) -> Plan:
    table, names = read_similarity(path, kind=case.options.get("kind"))
    return solve(table, names=names, **case.options)


def test_a_few_questions():
    with explorer() as client:
        for seed in range(6):
            one_question(np.random.default_rng(seed), client)


@pytest.mark.slow("sizes")
def test_many_questions():
    with explorer() as client:
        for seed in range(100, 140):
            one_question(np.random.default_rng(seed), client)


def test_plans_that_differ_are_seen():
    case = draw(np.random.default_rng(1), (5,), retentions=(0.5,), families=("transfer",), constrained=False)
    one, other = case.solve(), case.solve("worst")
    for exact in (True, False):
        same(one, one, case, exact=exact)
        with pytest.raises(AssertionError):
            same(one, other, case, exact=exact)
    with pytest.raises(AssertionError):
        same(one, "refused", case, exact=True)
