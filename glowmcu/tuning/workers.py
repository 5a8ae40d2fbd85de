"""Who computes what takes long: processes of this computer, or a Dask cluster.

What all tasks have in common goes to a worker once, and is made ready there by `make`. A worker
that is lost costs time only: Dask gives its tasks to another. Source: Dask's `distributed`.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import multiprocessing
import pickle
import re
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.lazy_dataclass import dataclass

_Given = TypeVar("_Given")
_Ready = TypeVar("_Ready")
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_ADDRESS = re.compile(r"dask(?P<tls>\+tls)?://(?P<place>[^\s/:]+:\d+)")
_CONNECT_SECONDS = 10


@dataclass(frozen=True)
class Workers:
    """Processes of this computer, or the cluster of a Dask scheduler at `address`."""

    processes: int = 1
    address: str = ""


#: The process that asks, alone.
HERE = Workers()


def read_workers(text: str | int) -> Workers:
    """`4`, `dask://host:8786` or `dask+tls://host:8786`. Raises GM344 for anything else."""
    found = _ADDRESS.fullmatch(str(text))
    if found:
        return Workers(address=f"{'tls' if found['tls'] else 'tcp'}://{found['place']}")
    if not str(text).isascii() or not str(text).isdigit() or int(text) < 1:
        raise error(
            "GM344",
            f"jobs must be a number of processes or the address of a Dask scheduler, got {text!r}",
            hint="such as 4, or dask://192.168.1.5:8786",
        )
    return Workers(int(text))


@dataclass(frozen=True)
class Task(Generic[_Given, _Ready, _Item, _Result]):
    """`compute(make(given), item)` for many items; all of it is importable, and can be pickled."""

    given: _Given
    make: Callable[[_Given], _Ready]
    compute: Callable[[_Ready, _Item], _Result]


#: Takes items, gives results as they are done.
Compute = Callable[[Sequence[_Item]], Iterator[_Result]]


@contextmanager
def working(
    task: Task[_Given, _Ready, _Item, _Result], workers: Workers, ready: _Ready | None = None
) -> Iterator[Compute[_Item, _Result]]:
    """A way to compute items; `ready` is what was made here already. Raises GM353 for a cluster
    that cannot be used; GM354 where a process ends early.
    """
    if workers.address:
        with _cluster(task, workers.address) as compute:
            yield compute
    elif workers.processes > 1:
        with _processes(task, workers.processes) as compute:
            yield compute
    else:
        made = task.make(task.given) if ready is None else ready
        yield lambda items: (task.compute(made, item) for item in items)


@contextmanager
def _processes(
    task: Task[_Given, _Ready, _Item, _Result], count: int
) -> Iterator[Compute[_Item, _Result]]:
    # Python's own check of this leaves processes behind that wait for each other.
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise _ended_early("a process that computes for another one was about to start more")
    # A fork would copy the locks of numerical libraries' threads in whatever state they are.
    context = multiprocessing.get_context("spawn")
    folder = tempfile.TemporaryDirectory(prefix="glowmcu-")
    # Python waits forever for a process that ended before it read more than a pipe holds (64 KiB).
    file = Path(folder.name) / "task"
    file.write_bytes(pickle.dumps(task))
    pool = ProcessPoolExecutor(count, context, _start, (str(file),))

    def compute(items: Sequence[_Item]) -> Iterator[_Result]:
        try:
            futures = [pool.submit(_compute_here, task.compute, item) for item in items]
            yield from (future.result() for future in as_completed(futures))
        except BrokenProcessPool as cause:
            raise _ended_early("a process that computes for this one ended early") from cause

    with folder:
        try:
            yield compute
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _ended_early(what: str) -> GlowmcuError:
    hint = (
        'in a script call this below `if __name__ == "__main__":`, as every process reads the '
        "script anew; where memory runs out, fewer jobs take less"
    )
    return error("GM354", what, "jobs", hint)


#: In a process of a pool: what the task made.
_started: list[Any] = []


def _start(file: str) -> None:
    """In a new process: ready for items; the parent alone answers Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    task: Task[Any, Any, Any, Any] = pickle.loads(Path(file).read_bytes())
    _started[:] = [task.make(task.given)]


def _compute_here(compute: Callable[[_Ready, _Item], _Result], item: _Item) -> _Result:
    return compute(_started[0], item)


@contextmanager
def _cluster(
    task: Task[_Given, _Ready, _Item, _Result], address: str
) -> Iterator[Compute[_Item, _Result]]:
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError as cause:
        hint = 'pip install "glowmcu[cluster]"'
        raise error("GM353", "a Dask cluster needs the package distributed", hint=hint) from cause
    try:
        client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as cause:
        raise _unusable(address, "no Dask scheduler answers there") from cause
    futures: list[Any] = []
    try:
        _expect_workers(client, address)
        data = pickle.dumps(task)
        name = hashlib.sha256(data).hexdigest()
        # A result, which the scheduler has made again if it goes with a worker; what is scattered
        # is lost then, and all tasks that need it with it.
        shipped = client.submit(_handed_on, data, pure=False)

        def compute(items: Sequence[_Item]) -> Iterator[_Result]:
            futures[:] = [
                client.submit(_compute_there, task.compute, name, shipped, item, pure=False)
                for item in items
            ]
            for future in distributed.as_completed(list(futures), loop=client.loop):
                try:
                    yield future.result()
                except (distributed.KilledWorker, distributed.CancelledError) as cause:
                    raise _unusable(address, f"a task was lost: {cause}") from cause

        yield compute
    finally:
        client.cancel(futures)
        client.close()


class _Client(Protocol):
    """What is used of Dask's."""

    def run(self, function: Callable[[], str], on_error: str) -> dict[str, object]: ...


def _expect_workers(client: _Client, address: str) -> None:
    """All have this version. Raises GM353."""
    here = _version()
    found = client.run(_version, on_error="return")
    if not found:
        raise _unusable(address, "the scheduler has no workers")
    others = {place: _said(version) for place, version in found.items() if version != here}
    if others:
        places = "; ".join(f"{place} has {version}" for place, version in sorted(others.items()))
        raise _unusable(address, f"workers are to have glowmcu {here}: {places}")


def _version() -> str:
    return importlib.metadata.version("glowmcu")


def _said(version: object) -> str:
    return "none" if isinstance(version, BaseException) else f"glowmcu {version}"


def _unusable(address: str, why: str) -> GlowmcuError:
    start = f"dask scheduler, and on each computer dask worker {address} --nthreads 1"
    return error("GM353", why, address, f"start a cluster: {start}", ExitCode.USAGE)


#: On a worker: what the last task made, by the task's digest. One item is computed at a time.
_ready: dict[str, Any] = {}
_one_at_a_time = Lock()


def _handed_on(data: bytes) -> bytes:
    return data


def _compute_there(
    compute: Callable[[_Ready, _Item], _Result], name: str, data: bytes, item: _Item
) -> _Result:
    """On a worker of a cluster."""
    with _one_at_a_time:
        if name not in _ready:
            task: Task[Any, _Ready, _Item, _Result] = pickle.loads(data)
            _ready.clear()
            _ready[name] = task.make(task.given)
        return compute(_ready[name], item)


__all__ = ["HERE", "Compute", "Task", "Workers", "read_workers", "working"]
