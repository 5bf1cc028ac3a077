"""Texts that name a model of transformers and how it is trained: equal texts, equal results, in any process."""

from __future__ import annotations

import hashlib
import inspect
import json
import zlib
from typing import Any

LAST_BATCH = ("truncation", "padding")


def model_text(module: Any, processor: Any, lora: Any) -> str:
    """The kind of the model, its weights, what its tokenizer does, and the settings of an adapter."""
    import transformers

    weights = [zlib.crc32(_memory(weight)) for weight in module.parameters()]
    words = processor_text(processor)
    settings = {} if lora is None else lora.to_dict()
    # the words of a set come in another order in every process
    plain = {key: sorted(value) if isinstance(value, set) else value for key, value in settings.items()}
    adapter = sorted((key, str(value)) for key, value in plain.items() if key != "base_model_name_or_path")
    return (
        f"transformers {transformers.__version__} {type(module).__name__} "
        f"{hashlib.sha256(repr((weights, words)).encode()).hexdigest()} {type(processor).__name__} lora={adapter}"
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
    """The source of a function of a person; where there is none, what it says of itself.

    >>> source_text(source_text) == source_text(source_text), source_text(3)
    (True, '3')
    """
    try:
        code = inspect.getsource(thing)
    except (OSError, TypeError):
        return repr(thing)
    return f"{type(thing).__name__} {hashlib.sha256(code.encode()).hexdigest()}"


def _memory(weight: Any) -> Any:
    """The bytes of a tensor."""
    import torch

    return weight.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data
