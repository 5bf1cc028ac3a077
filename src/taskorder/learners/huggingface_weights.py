"""Weights of checkpoints: in memory up to a number of bytes, the others in files of a temporary folder.

A checkpoint holds what training changes: all weights, or those of an adapter. What is held never changes, so copies of
a model share it. Files go with the weights that they hold, the folder with the last of them. A process that is killed,
as workers of Ray are in the end, leaves its folder: the next one that makes a folder removes it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FOLDER_NAME = "taskorder-checkpoints-"
Tensors = Mapping[str, Any]
"""Tensors of PyTorch on the processor, by name."""


class SpillFolder:
    """A temporary folder that is removed when nobody needs it; it is locked as long as its process lives."""

    def __init__(self) -> None:
        _remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=f".{FOLDER_NAME}"))
        lock = _locked(self.path)
        if lock is not None:  # else it never has the name of those that are removed
            self.path = self.path.rename(self.path.with_name(self.path.name.removeprefix(".")))
        weakref.finalize(self, _remove, self.path, lock)


def _remove_abandoned() -> None:
    """Remove the folders whose processes have ended without doing so."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_NAME}*"):
        if (lock := _locked(folder)) is not None:
            _remove(folder, lock)


def _remove(folder: Path, lock: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def _locked(folder: Path) -> int | None:
    """A file number that locks a folder until this process ends; None where that cannot be, or another one has it."""
    if fcntl is None or not folder.is_dir():
        return None
    try:
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        return None
    return number


class ShelvedWeights:
    """Tensors in memory, or in a file."""

    def __init__(self, tensors: Tensors) -> None:
        self._tensors: Tensors | None = dict(tensors)
        self._file: Path | None = None
        self._folder: SpillFolder | None = None
        self.num_bytes = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())

    @property
    def in_memory(self) -> bool:
        """Whether they are in memory."""
        return self._tensors is not None

    def read(self) -> Tensors:
        """The tensors; nobody may change them."""
        if self._tensors is not None:
            return self._tensors
        from safetensors.torch import load_file

        assert self._file is not None
        return dict(load_file(self._file))

    def spill(self, folder: SpillFolder) -> None:
        """Move them to a file."""
        from safetensors.torch import save_file

        if self._tensors is None:
            return
        file = folder.path / f"{uuid.uuid4().hex}.safetensors"
        save_file(dict(self._tensors), file)
        weakref.finalize(self, file.unlink, missing_ok=True)
        self._tensors, self._file, self._folder = None, file, folder

    def __reduce__(self) -> tuple[Any, ...]:
        return ShelvedWeights, (self.read(),)


class WeightShelf:
    """Holds weights, the newest in memory."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._held: list[weakref.ref[ShelvedWeights]] = []
        self._folder: SpillFolder | None = None

    def hold(self, tensors: Tensors) -> ShelvedWeights:
        """The tensors; older ones make room for them."""
        held = ShelvedWeights(tensors)
        self._held.append(weakref.ref(held))
        alive = [weights for reference in self._held if (weights := reference()) is not None and weights.in_memory]
        left = self.most_bytes
        for weights in reversed(alive):
            left -= weights.num_bytes
            if left < 0:
                self._folder = self._folder or SpillFolder()
                weights.spill(self._folder)
        self._held = [weakref.ref(weights) for weights in alive if weights.in_memory]
        return held

    def __reduce__(self) -> tuple[Any, ...]:
        return WeightShelf, (self.most_bytes,)
