"""An executor of bundles for two cores with caches that do not show what the other core writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from glowmcu.verify.host import Host, HostSession

_HEADER = Path(__file__).with_suffix(".h")
_FLAGS = ("-DGLOWMCU_CORES=2", "-D_POSIX_C_SOURCE=200809L", "-pthread", "-include", str(_HEADER))
_DECLARED = """
extern uint32_t cache_lost;
void cache_begin(void *arena, void *others, uint32_t bytes, int32_t order, uint32_t seed);
int32_t cache_call(void *function, uint32_t core);
"""


class IncoherentCaches(Host):
    """Each core has a view of the arena of its own. `order` is the core that takes its turns of a
    phase first, 2: nobody; `seed` draws what caches do of their own accord.
    """

    name = "incoherent-caches"

    def __init__(self, order: int, seed: int, more: Sequence[str] = ()) -> None:
        super().__init__((*_FLAGS, *more))
        self._order, self._seed = order, seed

    def session(self, bundle_dir: Path) -> HostSession:
        """As a host's."""
        return _Cached(bundle_dir, self.extra_flags, self._order, self._seed)


class _Cached(HostSession):
    def __init__(self, bundle_dir: Path, flags: Sequence[str], order: int, seed: int) -> None:
        super().__init__(bundle_dir, flags)
        name, size = self._manifest.name, self._manifest.arena_bytes
        self._ffi.cdef(_DECLARED)
        for function in ("cores_begin", "help"):
            self._ffi.cdef(f"int32_t {name}_{function}(void *arena);")
        self._order, self._seed = order, seed
        memory = np.zeros(size + 64, np.uint8)
        start = -memory.ctypes.data % 64
        self._others: Any = memory[start : start + size]
        self._functions = [self._run_both]

    def _run_both(self, arena: Any) -> int:
        loaded, name = self._loaded, self._manifest.name
        others = self._ffi.cast("void *", self._others.ctypes.data)
        size = self._manifest.arena_bytes
        loaded.cache_begin(arena, others, size, self._order, self._seed)
        self._seed += 1
        getattr(loaded, f"{name}_cores_begin")(arena)
        entries = (self._manifest.entry_points[0], f"{name}_help")
        run, help_ = (self._ffi.addressof(loaded, entry) for entry in entries)
        helper = Thread(target=loaded.cache_call, args=(help_, 1))
        helper.start()
        status = int(loaded.cache_call(run, 0))
        helper.join()
        assert status == 0, "a core waits for ever"
        assert loaded.cache_lost == 0, "a core forgets what it has written"
        return status
