"""Texts that name a model of transformers and how it is trained: equal texts, equal results, in any process."""

from __future__ import annotations

import hashlib
import inspect
import json
import zlib
from typing import Any

LAST_BATCH = ("truncation", "padding")
WHERE_FROM = ("_name_or_path", "transformers_version")
"""Settings of a model that change nothing that it does."""


def settings_text(module: Any) -> str:
    """The settings of a model of transformers, dropout among them; nothing for other modules."""
    settings = getattr(getattr(module, "config", None), "to_diff_dict", None)
    return "" if settings is None else json.dumps(_plain_config(settings()), sort_keys=True)


def _plain_config(value: object) -> Any:
    """Settings as JSON has them."""
    if isinstance(value, dict):
        return {str(key): _plain_config(each) for key, each in value.items() if key not in WHERE_FROM}
    if isinstance(value, list | tuple):
        return list(map(_plain_config, value))
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def model_text(module: Any, settings: str, processor: Any, lora: Any) -> str:
    """The kind of the model, its weights and settings, what its tokenizer does, and the settings of an adapter."""
    import transformers

    weights = [zlib.crc32(_memory(weight)) for weight in module.parameters()]
    words = processor_text(processor)
    given = {} if lora is None else lora.to_dict()
    # the words of a set come in another order in every process
    plain = {key: sorted(value) if isinstance(value, set) else value for key, value in given.items()}
    adapter = sorted((key, str(value)) for key, value in plain.items() if key != "base_model_name_or_path")
    made = hashlib.sha256(repr((weights, settings, words)).encode()).hexdigest()
    return (
        f"transformers {transformers.__version__} {type(module).__name__} {made} {type(processor).__name__} "
        f"lora={adapter}"
    )


def processor_text(processor: Any) -> str:
    """What a tokenizer does with a text or a conversation; of another processor, what it says of itself.

    A tokenizer of the package tokenizers also says how its last batch was cut and filled up, which is no setting.
    """
    backend = getattr(processor, "backend_tokenizer", None)
    if backend is None or not hasattr(backend, "to_str"):
        return source_text(processor)
    settings = {name: value for name, value in json.loads(backend.to_str()).items() if name not in LAST_BATCH}
    return repr((settings, processor.eos_token, getattr(processor, "chat_template", None)))


def source_text(thing: Any) -> str:
    """The source of a function of a person and the plain values that it uses; else what it says of itself.

    >>> source_text(source_text) == source_text(source_text), source_text(3)
    (True, '3')
    >>> def trainer(rate):
    ...     return lambda model, data: rate
    >>> used_values(trainer(0.1)), used_values(trainer(0.2))
    ([('rate', '0.1')], [('rate', '0.2')])
    """
    try:
        code = inspect.getsource(thing)
    except (OSError, TypeError):
        return repr(thing)
    used = used_values(thing)
    more = repr(used) if used else ""
    return f"{type(thing).__name__} {hashlib.sha256((code + more).encode()).hexdigest()}"


def used_values(function: Any) -> list[tuple[str, str]]:
    """Numbers, texts and settings by name that a function takes from where it was made, or has as defaults.

    Lists are left out: functions write to them what they have done.
    """
    if not inspect.isfunction(function):
        return []
    found = inspect.getclosurevars(function)
    defaults = {name: each.default for name, each in inspect.signature(function).parameters.items()}
    values = sorted({**found.globals, **found.nonlocals, **defaults}.items())
    return [(name, repr(value)) for name, value in values if not isinstance(value, list) and _is_plain(value)]


def _is_plain(value: Any) -> bool:
    """Whether the text of a value says all of it."""
    if isinstance(value, dict):
        return all(map(_is_plain, (*value, *value.values())))
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str | bytes)


def _memory(weight: Any) -> Any:
    """The bytes of a tensor."""
    import torch

    return weight.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data
