"""Names of tasks as they stand in files."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from taskorder.checks import task_names

JOINER = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])")
"""What makes one sign of two in emoji and in Persian or Indic scripts; between Latin letters it would only hide."""


def checked_names(names: Sequence[str], num_tasks: int, label: str) -> tuple[str, ...]:
    """Unique, nonempty names without control or invisible characters (they would break tables and deceive).

    Joiners are welcome where a script or an emoji needs them, but no two names may differ in nothing else.
    """
    checked = task_names(names, num_tasks, f"The task names in `{label}`")
    seen: dict[str, str] = {}
    for name in checked:
        shown = JOINER.sub("", name)
        if any(unicodedata.category(mark) in ("Cc", "Cf", "Cs", "Zl", "Zp") for mark in shown):
            raise ValueError(f"`{label}` must have task names of one printable line, got {name!r}. Rename it.")
        if seen.setdefault(shown, name) != name:
            raise ValueError(f"`{label}` must have task names that look different, got {name!a} twice. Rename one.")
    return checked
