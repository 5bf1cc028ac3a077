"""What a frozen part is made of: its modules and weights, and with them a text that names it.

Weights stand in a module, or in what a function of a person takes from where it was made; both are found.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from taskorder.learners.huggingface_description import processor_text
from taskorder.task.rows import as_array, feed_array, is_tensor


def frozen_text(thing: Any) -> str:
    """A text that names a module or a function with all its weights and settings: the same in any process.

    >>> def scaled(by):
    ...     return lambda inputs: inputs * by
    >>> frozen_text(scaled(2.0)) == frozen_text(scaled(2.0)), frozen_text(scaled(2.0)) == frozen_text(scaled(3.0))
    (True, False)
    >>> frozen_text(scaled(np.ones(3))) == frozen_text(scaled(np.zeros(3)))
    False
    """
    total = hashlib.sha256()
    for use in uses_of(thing):
        if is_weight(use):
            array = as_array(use)
            total.update(str(use.dtype).encode())
            feed_array(array.astype(np.float32) if array.dtype.kind == "V" else array, total)  # V: bfloat16 of JAX
            continue
        text = use if isinstance(use, str) else _says(use)
        if " at 0x" in text:
            return text  # says nothing of itself: a store refuses it
        total.update(b"%d " % len(text) + text.encode("utf-8", "surrogatepass"))
    return f"{getattr(thing, '__name__', type(thing).__name__)} {total.hexdigest()}"


def uses_of(thing: Any, home: str = "", seen: dict[int, tuple[int, Any]] | None = None) -> Iterator[Any]:
    """All that decides what a module or a function returns: modules of PyTorch, tokenizers, weights, texts of the rest.

    home: the module of Python whose functions are read; those of others count by name, with what they hold.
    """
    seen = {} if seen is None else seen
    if thing is None or isinstance(thing, bool | int | float | complex | str | bytes):
        yield repr(thing)
    elif is_weight(thing):
        yield thing
    elif id(thing) in seen:
        yield f"again {seen[id(thing)][0]}"
    else:
        seen[id(thing)] = len(seen), thing  # which stays, so that no other object gets its id
        yield from _inside(thing, home or getattr(thing, "__module__", "") or "", seen)


def is_module(thing: Any) -> bool:
    """Whether it is a module of PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.nn.Module)


def is_weight(thing: Any) -> bool:
    """Whether it is an array of NumPy or JAX, or a tensor."""
    jax = sys.modules.get("jax")
    return isinstance(thing, np.ndarray) or is_tensor(thing) or (jax is not None and isinstance(thing, jax.Array))


def _inside(thing: Any, home: str, seen: dict[int, tuple[int, Any]]) -> Iterator[Any]:
    more: list[Any] = []
    if is_module(thing):
        yield thing
        for name, weight in [*thing.named_parameters(), *thing.named_buffers()]:
            yield name
            yield weight
    elif isinstance(thing, ModuleType | BuiltinFunctionType | type):
        yield thing.__name__
    elif hasattr(thing, "backend_tokenizer"):
        yield thing
    elif isinstance(thing, FunctionType):
        yield f"{thing.__module__}.{thing.__qualname__}" if thing.__module__ != home else _code_text(thing.__code__)
        more = _taken(thing, globals_too=thing.__module__ == home)
    elif inspect.ismethod(thing):
        more = [thing.__func__, thing.__self__]
    elif isinstance(thing, functools.partial):
        more = [thing.func, thing.args, thing.keywords]
    elif hasattr(thing, "__wrapped__"):  # jax.jit
        more = [thing.__wrapped__]
    elif isinstance(thing, Mapping):
        more = [part for key in sorted(thing, key=repr) for part in (repr(key), thing[key])]
    elif isinstance(thing, set | frozenset):
        yield repr(sorted(thing, key=repr))
    elif isinstance(thing, list | tuple):
        yield type(thing).__name__
        plain = isinstance(thing, list) and all(isinstance(each, int | float | str | None) for each in thing)
        more = [] if plain else list(thing)  # functions write to a list of numbers what they have done
    elif hasattr(thing, "__dict__"):
        yield _type_name(thing)
        call = getattr(type(thing), "__call__", None)  # noqa: B004 (its code is wanted)
        fields = [field.name for field in dataclasses.fields(thing)] if dataclasses.is_dataclass(thing) else vars(thing)
        more = [call if isinstance(call, FunctionType) else None, {name: getattr(thing, name) for name in fields}]
    else:
        yield repr(thing)
    for part in more:
        yield from uses_of(part, home, seen)


def _says(thing: Any) -> str:
    """What a module or a tokenizer says of itself."""
    return f"{_type_name(thing)} {thing}" if is_module(thing) else processor_text(thing)


def _taken(function: FunctionType, *, globals_too: bool) -> list[Any]:
    """What a function takes from where it was made, by name, and its defaults."""
    code, held = function.__code__, {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            held[name] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    if globals_too:
        held |= {name: function.__globals__[name] for name in _names(code) if name in function.__globals__}
    return [held, function.__defaults__, function.__kwdefaults__]


def _names(code: CodeType) -> set[str]:
    """All names that code and the functions in it look up."""
    inner = (_names(const) for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*inner)


def _code_text(code: CodeType) -> str:
    """What code does, wherever it stands."""
    consts = [_code_text(const) if isinstance(const, CodeType)
              else repr(sorted(const, key=repr) if isinstance(const, frozenset) else const)
              for const in code.co_consts]  # fmt: skip
    return f"{code.co_code.hex()} {code.co_names} {consts}"


def _type_name(thing: Any) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"
