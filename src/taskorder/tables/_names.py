"""Names of tasks as they stand in files."""

from __future__ import annotations

from collections.abc import Sequence

from taskorder.checks import task_names
from taskorder.visible import JOINER, visible


def checked_names(names: Sequence[str], num_tasks: int, label: str) -> tuple[str, ...]:
    """Unique, nonempty names without control or invisible characters (they would break tables and deceive).

    Joiners are welcome where a script or an emoji needs them, but no two names may differ in nothing else.
    """
    checked = task_names(names, num_tasks, f"The task names in `{label}`")
    seen: dict[str, str] = {}
    for name in checked:
        if visible(name) != name:
            raise ValueError(f"`{label}` must have task names of one printable line, got '{visible(name)}'. Rename it.")
        if seen.setdefault(JOINER.sub("", name), name) != name:
            raise ValueError(f"`{label}` must have task names that look different, got {name!a} twice. Rename one.")
    return checked
