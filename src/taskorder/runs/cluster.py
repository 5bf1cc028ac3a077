"""Connect to a Ray cluster: an existing one, or a temporary one on this machine.

Values for workers are packed here, so that a worker first limits itself to its share of the machine and only then
unpacks them, which may import JAX or PyTorch.
"""

from __future__ import annotations

import logging
import math
import os
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taskorder.arguments import BadArgument
from taskorder.runs.alone import alone
from taskorder.runs.head import REACHED_SECONDS, Head, first_line, need_ray, reach

LOCAL = "local"
"""The address of a temporary cluster on this machine."""
AUTO_ADDRESS = "auto"
DEVICE_SHARE = 0.9
"""Fraction of the memory of a GPU for all workers that share it."""

TRIES = 3
"""Maximum number of attempts for work whose worker is lost."""
SERVERS = 6
"""Maximum number of requests for a client's server: on a busy head several in a row may fail to start."""
NO_SERVER = "Initialization failure from server"
"""Part of Ray's error message if that server does not start."""
NO_ANSWER = "ray client connection timeout"
"""Part of Ray's error message, after half a minute, for a client without a token."""
Packed = list[NDArray[np.uint8]]
"""A pickle and its arrays as bytes; Ray keeps them in its object store, which workers read without copying."""


class WorkerLost(Exception):
    """The worker process or its machine was lost."""

    @classmethod
    def from_ray(cls, problem: Exception) -> WorkerLost:
        """Create the exception from Ray's error, with the first line of its message."""
        return cls(f"{type(problem).__name__} in {TRIES} tries. {first_line(problem)}")


@dataclass(frozen=True)
class Share:
    """The CPUs and GPUs of one worker."""

    cpus: float = 1.0
    gpus: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.cpus < math.inf:
            raise BadArgument(f"`cpus` must be above 0, got {self.cpus}.")
        if not 0 <= self.gpus < math.inf or (self.gpus > 1 and self.gpus % 1):
            raise BadArgument(f"`gpus` must be a share of one like 0.5 or a whole number, got {self.gpus}.")

    def workers(self) -> int:
        """The number of workers for which the cluster has room now."""
        count = 0
        for node in need_ray().nodes():
            if node["Alive"]:
                has, wants = node["Resources"], {"CPU": self.cpus, "GPU": self.gpus}
                count += min(int(has.get(name, 0) / much + 1e-6) for name, much in wants.items() if much)
        return count

    def take(self) -> None:
        """Limit this process to its share; call it before JAX or PyTorch look for devices."""
        threads = str(max(1, int(self.cpus)))
        os.environ["NPROC"] = threads  # XLA's thread pool
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
            os.environ[name] = threads
        if not self.gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        elif self.gpus < 1:
            os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", f"{DEVICE_SHARE * self.gpus:.3f}")


@contextmanager
def connected(
    address: str = LOCAL, share: Share | None = None, tell: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Connect to Ray at `address`: local, auto (the cluster of this machine), HOST:PORT or ray://HOST:PORT.

    An existing connection of the process is used as it is.

    share: resources of one worker; an error if a local cluster has less. Other clusters may grow.
    tell: called with a one-line message when connecting takes longer.
    """
    ray = need_ray()
    if ray.is_initialized():
        yield
        return
    if address.startswith("ray://") and find_spec("grpc") is None:
        raise BadArgument(
            f"`address` must be local, auto or HOST:PORT without the client of Ray, got {address}. "
            'Install it with: pip install "ray[client]".'
        )
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    with ExitStack() as own:
        if address == LOCAL:
            options |= {"include_dashboard": False, "_temp_dir": own.enter_context(alone())}
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves this machine
        _connect(address, options, tell)
        own.callback(ray.shutdown)
        if address == LOCAL and share is not None and share.workers() == 0:
            raise BadArgument(
                "`cpus` and ",
                "gpus",
                " must fit this machine, "
                f"got {share.cpus:g} CPUs and {share.gpus:g} GPUs for each worker. Ask for less.",
            )
        yield


def _connect(address: str, options: dict[str, Any], tell: Callable[[str], None] | None) -> None:
    """Connect, or raise a BadArgument."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Share.take does this; otherwise Ray warns
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # we report errors ourselves, and repeated ones only once
    os.environ.setdefault("RAY_task_oom_retries", str(TRIES - 1))  # by default Ray retries forever
    try:
        where = os.environ.get("RAY_ADDRESS", "") if address == AUTO_ADDRESS else address
        if ":" in where.rpartition("://")[2]:  # Ray itself would retry for minutes
            reach(where, REACHED_SECONDS)
        _init(address, options, tell)
    except Exception as problem:  # of several kinds, and of none where a process of Ray does not start in time
        reason = first_line(problem).rstrip(".")
        fix = (
            f"Its server for clients did not come up, {SERVERS} times: start the head with GRPC_ENABLE_FORK_SUPPORT=0."
            if NO_SERVER in reason
            else "It may want a token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to what ray get-auth-token says."
            if NO_ANSWER in reason
            else "Start one with: ray start --head; or leave the address out for one on this machine."
        )
        raise BadArgument(f"`address` must lead to a Ray cluster that runs, got {address} ({reason}). {fix}") from None


def _init(address: str, options: dict[str, Any], tell: Callable[[str], None] | None) -> None:
    """Connect, with retries.

    For each client the head forks to start a server, and gRPC sometimes crashes in the child unless the head was
    started with GRPC_ENABLE_FORK_SUPPORT=0 (grpc/grpc#43055, ray-project/ray#63202). Such a crash loses no work.
    """
    ray = need_ray()
    for servers in range(1, SERVERS + 1):
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", r"os\.fork")  # JAX warns of forks; Ray's run another program at once
                ray.init(address=address, **options)
            return
        except ConnectionError as problem:
            if servers == SERVERS or NO_SERVER not in str(problem):
                raise
            if tell is not None:
                tell(f"the server that {address} starts for this run did not come up; asking for another one")
            ray.shutdown()


def cancel(refs: Iterable[Any], head: Head) -> None:
    """Cancel the unfinished tasks of these references; Ray 2.60 may abort if a finished one is canceled."""
    ray, waiting = need_ray(), list(refs)
    if waiting and ray.is_initialized():  # otherwise Ray would look for a cluster
        with suppress(Exception), head.guarded():  # the cluster may be gone
            for ref in ray.wait(waiting, num_returns=len(waiting), timeout=0)[1]:
                ray.cancel(ref, force=True)


def pack(value: Any) -> Packed:
    """The value as bytes; large arrays are not copied."""
    buffers: list[pickle.PickleBuffer] = []
    head = need_ray().cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return [np.frombuffer(part, np.uint8) for part in (head, *(buffer.raw() for buffer in buffers))]


def unpack_value(parts: Packed, *, private: bool = False) -> Any:
    """The packed value; its arrays are read-only views, or copies if `private`."""
    buffers = parts[1:]
    return pickle.loads(parts[0].data, buffers=[bytearray(part) for part in buffers] if private else buffers)


_loaded: dict[str, Any] = {}


def load_once(key: str, parts: Packed, share: Share) -> Any:
    """In a worker, the value that all its tasks share; it is loaded once, so that compiled code is reused."""
    if key not in _loaded:
        share.take()
        _loaded.clear()
        _loaded[key] = unpack_value(parts)
        from threadpoolctl import threadpool_limits

        threadpool_limits(max(1, int(share.cpus)))  # libraries that were loaded before
    return _loaded[key]
