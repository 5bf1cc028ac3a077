"""The input of a report, opened once; its kind is known by its content, never by its name."""

from __future__ import annotations

import io
import re
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taskorder.audit.audit import Audit
from taskorder.audit.methods import MethodAudit
from taskorder.audit.order_features import FEATURES
from taskorder.audit.results_file import is_header
from taskorder.parsing import json_values
from taskorder.records import Plan, plan_of_values
from taskorder.report.checked_audit import checked_audit
from taskorder.tables.reading import MAX_TABLE_BYTES
from taskorder.typed import Misfit, typed

SQLITE = b"SQLite format 3\0"
_JSON_KEY = re.compile(r'"([^"\\]+)"\s*:')


@dataclass(frozen=True)
class ReportInput:
    """A file or folder, or what came through standard input."""

    name: str
    path: Path | None
    """None for standard input."""
    head: bytes
    """The first bytes; empty for a folder."""
    piped: bytes = b""
    """All of it, for standard input."""

    @property
    def is_store(self) -> bool:
        """Whether this is an SQLite file."""
        return self.head.startswith(SQLITE)

    def read(self) -> bytes:
        """All of it, up to the size that tables may have."""
        if self.path is None:
            return self.piped
        try:
            with open(self.path, "rb") as stream:
                return stream.read(MAX_TABLE_BYTES + 1)
        except OSError as problem:
            raise ValueError(f"`{self.name}` must be readable, got: {problem.strerror}.") from None

    def stream(self) -> io.BytesIO:
        """What `read` gives, as a file with a name for messages."""
        return _Named(self.read(), self.name)

    @property
    def is_results(self) -> bool:
        """Whether this is a table of accuracies by order, seed and task, or nearly so."""
        head = self.head
        if head.startswith(b"\x1f\x8b"):
            try:
                head = zlib.decompressobj(wbits=31).decompress(head, 4096)
            except zlib.error:
                return False
        text = head.decode("utf-8-sig", errors="replace").lstrip()
        if text.startswith(("[", "{")):
            return '"schema"' not in text and is_header(_JSON_KEY.findall(text))
        first = text.split("\n", 1)[0]
        mark = max((",", ";", "\t"), key=first.count)
        return is_header(cell.strip(' "\r') for cell in first.split(mark))

    @property
    def is_order(self) -> bool:
        """Whether this is an order.json."""
        return {"schema", "names", "order", "class_groups"} <= set(self._object())

    def plan(self) -> Plan | None:
        """The plan in it; None for anything else."""
        data = self._object()
        if not {"order", "error_path", "similarity_digest"} <= set(data):
            return None
        return plan_of(data, self.name)

    def audit(self) -> tuple[Audit | MethodAudit, tuple[str, ...]] | None:
        """The audit in it, and what it says that its numbers refute; None for anything else."""
        data = self._object()
        is_single = {"design", "components", "verdict"} <= set(data)
        if not is_single and not {"methods", "pairs", "verdict"} <= set(data):
            return None
        try:
            audit = typed(Audit if is_single else MethodAudit, data)
            assert isinstance(audit, (Audit, MethodAudit))
            singles = [audit] if isinstance(audit, Audit) else [score.audit for score in audit.methods]
            parts = {part.source for single in singles for part in single.components}
            if not all(single.orders for single in singles) or parts - {"order", "seed", "rest"}:
                raise Misfit("no orders or other components")
            if not all(_model_fits(single) for single in singles):
                raise Misfit("a model of other orders")
            if isinstance(audit, MethodAudit) and not (audit.methods and audit.pairs):
                raise Misfit("no methods")
            return checked_audit(audit)
        except Misfit as problem:
            raise ValueError(f"`{self.name}` must be what `taskorder audit --json` writes, got {problem}.") from None

    def _object(self) -> dict[str, Any]:
        """The JSON object in it; an empty one for anything else."""
        if not self.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return {}
        try:
            data = json_values(self.read())
        except ValueError:
            return {}  # whoever reads tables says what is wrong
        return data if isinstance(data, dict) else {}


class _Named(io.BytesIO):
    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data)
        self.name = name


def open_input(path: str) -> ReportInput:
    """The source that `path` names; "-" is standard input."""
    if path == "-":
        if sys.stdin is None:
            raise ValueError("`standard input` must be open to read from it, got a closed one. Name a file.")
        data = sys.stdin.buffer.read(MAX_TABLE_BYTES + 1)
        return ReportInput("standard input", None, data[:4096], data)
    file = Path(path)
    try:
        if file.is_dir():
            return ReportInput(path, file, b"")
        with open(file, "rb") as stream:
            return ReportInput(path, file, stream.read(4096))
    except FileNotFoundError:
        raise ValueError(f"`{path}` must be an existing file, got no such file. Check the path.") from None
    except OSError as problem:
        raise ValueError(f"`{path}` must be readable, got: {problem.strerror}. Check its permissions.") from None


def plan_of(data: dict[str, Any], name: str) -> Plan:
    """The plan in `data`, if its parts fit together; one that was edited by hand may not."""
    try:
        return plan_of_values(data)
    except Misfit as problem:
        raise ValueError(f"`{name}` must be a plan as `taskorder solve --json` writes it, got {problem}.") from None


def _model_fits(audit: Audit) -> bool:
    """Whether the model of an audit, if it has one, is about its orders."""
    model, orders = audit.model, [score.order for score in audit.orders]
    return model is None or (
        len(model.predicted) == len(orders)
        and model.features in FEATURES
        and (model.best_observed is None or model.best in orders)
    )
