"""A function of a module of yours by its name, as `--learner torch:nets:make` gives it.

Whatever goes wrong in the module is said in one line, since who types a name has not asked for a traceback of ours.
Nothing is imported before the name is known to be one.
"""

from __future__ import annotations

import inspect
import keyword
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import Any

from taskorder.arguments import BadArgument, did_you_mean

LONGEST = 200
"""Characters of an error of somebody else that are repeated."""


@dataclass(frozen=True)
class OwnFactory:
    """A function that makes a PyTorch module, and the name that it goes by."""

    module: str
    name: str
    function: Callable[[], Any]

    def __call__(self) -> Any:
        """What the function makes, if that is a module."""
        import torch

        try:
            made = self.function()
        except KeyboardInterrupt:
            raise
        except BaseException as problem:
            raise self._refused(f"raises {raised(problem, self.module)}. Mend it.") from None
        if not isinstance(made, torch.nn.Module):
            what = "nothing" if made is None else _a(type(made).__name__)
            raise self._refused(f"returns {what}. Let it return an nn.Module.")
        return made

    def _refused(self, reason: str) -> BadArgument:
        return BadArgument(
            f"`learner` must name a function that makes a module, got {self.module}:{self.name}, which {reason}"
        )


def factory_named(text: str) -> OwnFactory:
    """The function that MODULE:FACTORY stands for; the module may lie in the current folder."""
    import torch

    module, name = module_and_function(text)
    found = _found(_imported(module), module, name)
    what = f"got {module}:{name}, which is {_a(type(found).__name__)}"
    if isinstance(found, torch.nn.Module):
        raise BadArgument(
            f"`learner` must name a function that makes a module anew, {what} already. "
            f"Write a function that returns one, or name its class."
        )
    if not callable(found):
        raise BadArgument(f"`learner` must name a function that makes a module, {what}. Name a function or a class.")
    try:
        inspect.signature(found).bind()
    except ValueError:
        pass  # nobody knows what it takes
    except TypeError as problem:
        raise BadArgument(
            f"`learner` must name a function that needs no arguments, got {module}:{name}: {problem}. "
            "Give them defaults, or write a function that passes them."
        ) from None
    return OwnFactory(module, name, found)


def module_and_function(text: str) -> tuple[str, str]:
    """The module and the function of MODULE:FACTORY, where both are names in Python.

    >>> module_and_function("my.nets:make")
    ('my.nets', 'make')
    """
    module, _, name = text.partition(":")
    parts = module.split(".")
    if all(map(_is_name, parts)) and _is_name(name) and "." not in name:
        if len(parts) > 1 and parts[-1] == "py":
            raise _no_names(text, f"Leave .py out: {module[:-3]}:{name}.")
        return module, name
    if "/" in module or "\\" in module:
        raise _no_names(text, "Call the command in the folder of the module, and name it without its path.")
    if module.startswith(".") and module.strip("."):
        raise _no_names(text, "Name the module from the current folder, without dots before it.")
    if _is_name(module) and all(map(_is_name, name.split("."))):
        raise _no_names(text, "Write a function of the module that calls it.")
    raise _no_names(text, "MODULE is a file without its .py, FACTORY a function in it.")


def raised(problem: BaseException, module: str) -> str:
    """An error of somebody else in one line, with the line of the module where it was raised.

    >>> raised(ValueError("no luck"), "nets")
    'ValueError: no luck'
    """
    said = " ".join(str(problem).split())[:LONGEST]
    text = f"{type(problem).__name__}: {said}" if said else type(problem).__name__
    file, line, frame = getattr(sys.modules.get(module), "__file__", None), 0, problem.__traceback__
    own = Path(file).name if file else f"{module.rpartition('.')[2]}.py"
    while frame is not None:
        line = frame.tb_lineno if Path(frame.tb_frame.f_code.co_filename).name == own else line
        frame = frame.tb_next
    return f"{text} (line {line} of {own})" if line else text


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _no_names(text: str, fix: str) -> BadArgument:
    return BadArgument(f"`learner` must be torch:MODULE:FACTORY, like torch:nets:make, got {'torch:' + text!r}. {fix}")


def _imported(module: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    invalidate_caches()
    try:
        return import_module(module)
    except KeyboardInterrupt:
        raise
    except ModuleNotFoundError as problem:
        fix = "It is looked for in the current folder, and where Python finds packages."
        raise BadArgument(
            f"`learner` must name a module that can be imported, got {module!r}: {raised(problem, module)}. {fix}"
        ) from None
    except BaseException as problem:
        raise BadArgument(
            f"`learner` must name a module that can be imported, got {module!r}, which raises "
            f"{raised(problem, module)}. Mend it, or try it with: python -c 'import {module}'."
        ) from None


def _found(module: ModuleType, module_name: str, name: str) -> Any:
    try:
        return getattr(module, name)
    except KeyboardInterrupt:
        raise
    except AttributeError:
        meant = did_you_mean(name, (each for each in vars(module) if not each.startswith("_")))
        where = getattr(module, "__file__", None) or "built into Python"
        raise BadArgument(f"`learner` must name a function of {module_name} ({where}), got {name!r}.{meant}") from None
    except BaseException as problem:  # the module may have a __getattr__ of its own
        raise BadArgument(
            f"`learner` must name a function of {module_name}, got {name!r}, which raises "
            f"{raised(problem, module_name)}."
        ) from None


def _a(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
