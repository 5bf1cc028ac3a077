"""Records as plain values and as JSON."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from typing import Any


class Record:
    """What every record can do: write itself."""

    def to_json(self, *, indent: int | None = 2) -> str:
        """JSON text of all fields."""
        # piece by piece: a list of all pieces would be four times as large
        text = io.StringIO()
        json.dump(vars(self), text, indent=indent, allow_nan=False, default=asdict)
        return text.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain values: what `to_json` writes."""
        values: dict[str, Any] = json.loads(self.to_json(indent=None))
        return values
