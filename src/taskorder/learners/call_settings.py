"""Settings in brackets behind the name of a learner, like (lora=8,precision="bf16"): plain values, nothing is run."""

from __future__ import annotations

import ast
from typing import Any


def plain_settings(call: ast.expr) -> dict[str, Any]:
    """The settings of a call by name; a ValueError that says what is no setting.

    >>> plain_settings(ast.parse("f(lora=8, precision='bf16')", mode="eval").body)
    {'lora': 8, 'precision': 'bf16'}
    """
    if not isinstance(call, ast.Call) or call.args or any(each.arg is None for each in call.keywords):
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
