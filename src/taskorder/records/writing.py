"""Records as JSON."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from typing import Any


def json_text(record: Any, indent: int | None) -> str:
    """JSON text of all fields, piece by piece: a list of all pieces would be four times as large."""
    text = io.StringIO()
    json.dump(vars(record), text, indent=indent, allow_nan=False, default=asdict)
    return text.getvalue()
