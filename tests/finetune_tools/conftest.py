"""Each tool pins its own packages, so each has an environment of its own: `make test-llamafactory` and the like.

What a tool imports but these tests do not use (audio, GPU kernels) may be missing: stand-ins are put in its place.
Nothing here reaches a network.
"""

import importlib.machinery
import importlib.util
import os
import sys
import types

import pytest

os.environ |= {
    "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1",
    "AXOLOTL_DO_NOT_TRACK": "1", "DO_NOT_TRACK": "1", "DISABLE_VERSION_CHECK": "1",
}  # fmt: skip


class Anything:
    """Stands for what is never called in earnest; as a decorator it changes nothing."""

    def __call__(self, *args, **options):
        return args[0] if len(args) == 1 and callable(args[0]) and not options else Anything()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __mro_entries__(self, bases):
        return (object,)

    def __or__(self, other):
        return other

    __ror__ = __or__


class StandIn(types.ModuleType):
    """A module that has every name."""

    __getattr__ = Anything.__getattr__


class StandIns:
    """An importer of stand-ins for some packages."""

    def __init__(self, packages):
        self.packages = packages

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.packages:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


@pytest.fixture(scope="module", autouse=True)
def stand_ins(request):
    """Of what is missing among the packages that a file of tests lists."""
    missing = {name for name in request.module.STAND_INS if importlib.util.find_spec(name) is None}
    finder = StandIns(missing)
    sys.meta_path.append(finder)
    yield
    sys.meta_path.remove(finder)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in; the tokenizer of the tiny model that lies in `model`."""
    from ..finetune.tiny import save_tiny_model

    monkeypatch.chdir(tmp_path)
    tokenizer = save_tiny_model(tmp_path / "model")
    tokenizer.folder = tmp_path
    return tokenizer
