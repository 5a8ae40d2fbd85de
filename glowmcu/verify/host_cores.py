"""Bundles for two cores on this computer: two threads that meet, or one that takes all turns.

What the second core writes is there for the first by the same barriers as on a chip; which of them
is ahead differs from run to run, or is forced: with `second_first` one thread takes the second
core's turns of each phase before the first core's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Any

from glowmcu.verify.host import Host, HostSession

#: Threads that share a processor let each other go on; they see the same memory.
_THREADS = (
    "-DGLOWMCU_CORES=2",
    "-DGLOWMCU_CORES_UNCACHED",
    "-DGLOWMCU_CORES_WAITING()=(void)sched_yield()",
    "-D_POSIX_C_SOURCE=200809L",
    "-include",
    "sched.h",
)
#: With a port that says how they wait.
_PORTED = ("-DGLOWMCU_CORES=2", "-D_POSIX_C_SOURCE=200809L", "-pthread")
_SECOND_FIRST = ("-DGLOWMCU_CORES_SECOND_FIRST",)


class HostCores(Host):
    """Runs bundles for two cores in two threads, or in one with `second_first`. `port` are options
    of the compiler that bring how threads wait.
    """

    name = "host-cores"

    def __init__(self, second_first: bool = False, port: Sequence[str] = ()) -> None:
        threads = (*_PORTED, *port) if port else _THREADS
        super().__init__(_SECOND_FIRST if second_first else threads)
        self._has_threads = not second_first

    def session(self, bundle_dir: Path) -> HostSession:
        """As a host's. Raises GM602, GM603, GM620."""
        kind = _Threads if self._has_threads else HostSession
        return kind(bundle_dir, self.extra_flags, self.pieces)


class _Threads(HostSession):
    """A thread a core."""

    def __init__(
        self, bundle_dir: Path, extra_flags: Sequence[str] = (), pieces: Sequence[int] = ()
    ) -> None:
        super().__init__(bundle_dir, extra_flags, pieces)
        name = self._manifest.name
        for function in ("cores_begin", "help"):
            self._ffi.cdef(f"int32_t {name}_{function}(void *arena);")
        self._begin = getattr(self._loaded, f"{name}_cores_begin")
        self._help = getattr(self._loaded, f"{name}_help")
        (self._run,) = self._functions
        self._functions = [self._run_both]

    def _run_both(self, arena: Any, *arguments: Any) -> int:
        self._begin(arena)
        helper = Thread(target=self._help, args=(arena,))
        helper.start()
        status = int(self._run(arena, *arguments))
        helper.join()
        return status
