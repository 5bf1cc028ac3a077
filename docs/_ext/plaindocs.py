"""Turns docstrings into reST: sections in NumPy style, and before them plain text with indented formulas.

Signatures are shown as they are written in the source: ArrayLike, not the six types that it stands for.
"""

import inspect
import re
import types
from collections.abc import Iterator
from typing import Any

from sphinx.ext.napoleon import Config, NumpyDocstring
from sphinx.util.inspect import stringify_signature

SPECIAL = re.compile(r"(`[^`]*`)|[|*]|(?<=\w)_(?!\w)")
"""What reST would read as markup: bars, stars and final underscores, but not in code."""
PARAMETER = re.compile(r"(\w+(?:, \w+)*): (.+)")
SECTIONS = Config(napoleon_use_param=False, napoleon_use_rtype=False)


def as_rest(lines: list[str], parameters: set[str]) -> Iterator[str]:
    """The lines of a docstring, its parameters as a list and what is indented after a blank line as it stands."""
    in_list = in_block = in_example = False
    before = ""
    for line in lines:
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        if not in_example and not line.startswith("    "):
            line = SPECIAL.sub(lambda match: match[1] or f"\\{match[0]}", line)
        found = PARAMETER.fullmatch(line)
        indented = line.startswith("    ")
        if found and parameters.issuperset(found[1].split(", ")):
            if not in_list:
                yield ""
            in_list = True
            names = ", ".join(f"**{name}**" for name in found[1].split(", "))
            yield f"* {names}: {found[2]}"
        elif in_list and line.strip():
            yield f"  {line}"
        else:
            in_list = False
            if indented and not in_block and not before.strip():
                yield from ("::", "")
            in_block = indented or (in_block and not line.strip())
            yield line
        before = line


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    try:
        parameters = set(inspect.signature(obj).parameters)
    except (TypeError, ValueError):
        parameters = set()
    underlines = (at for at, line in enumerate(lines) if at and line.strip() and not line.strip("-"))
    start = next(underlines, len(lines) + 1) - 1  # the title of the first section, if there is one
    lines[:] = [*as_rest(lines[:start], parameters), *NumpyDocstring(lines[start:], SECTIONS).lines()]


def _signature(app: Any, what: str, name: str, obj: Any, options: Any, given: str, returned: str) -> Any:
    if what not in ("function", "method", "class", "exception") or given == "()":
        return None
    try:
        written = inspect.signature(obj)
    except (TypeError, ValueError):
        return None
    parameters = list(written.parameters.values())
    if what == "method" and not inspect.ismethod(obj):
        parameters = parameters[1:]
    result = written.return_annotation if what != "class" else written.empty
    shown = stringify_signature(written.replace(parameters=parameters, return_annotation=written.empty))
    for alias, value in getattr(obj, "__globals__", {}).items():
        if isinstance(value, types.UnionType) and {str, int, float}.issuperset(value.__args__):
            shown = re.sub(rf"\b{alias}\b", str(value), shown)
    return shown, None if result is written.empty else str(result)


def setup(app: Any) -> dict[str, bool]:
    """Read docstrings through `as_rest`, signatures as written."""
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
