"""A learner by name with settings in brackets, like SGDClassifier(alpha=1): plain values are read, nothing is run."""

from __future__ import annotations

import ast
from typing import Any

from taskorder.arguments import BadArgument


def named_call(code: str, text: str, like: str) -> tuple[str, dict[str, Any]]:
    """The name in a call, or nothing where there is no plain one, and its settings.

    code: the call, or the name alone. text, like: what the user wrote, and what it should look like, for messages.

    >>> named_call("f(lora=8, precision='bf16')", "", ""), named_call("f", "", "")
    (('f', {'lora': 8, 'precision': 'bf16'}), ('f', {}))
    """
    try:
        node = ast.parse(code, mode="eval").body
        call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
        return call.func.id if isinstance(call.func, ast.Name) else "", _settings(call)
    except (SyntaxError, ValueError) as problem:
        raise BadArgument(f"`learner` must be like {like}, got {text!r}: {problem}.") from None
    except (RecursionError, MemoryError):
        raise BadArgument(
            f"`learner` must be like {like}, got {len(text)} characters with too many brackets."
        ) from None


def _settings(call: ast.Call) -> dict[str, Any]:
    """The settings of a call by name; a ValueError that says what is no setting."""
    if call.args or any(each.arg is None for each in call.keywords):
        raise ValueError("settings without a name")
    settings = {str(each.arg): _plain(each) for each in call.keywords}
    if len(settings) < len(call.keywords):
        raise ValueError("a setting that is given twice")
    return settings


def _plain(setting: ast.keyword) -> Any:
    """The value of a setting."""
    try:
        return ast.literal_eval(setting.value)
    except (ValueError, TypeError):
        text = f"{setting.arg}={ast.unparse(setting.value)}"
        raise ValueError(f"{text} is no plain value; texts stand in quotes") from None
