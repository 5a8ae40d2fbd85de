"""The vector unit in Python, and the executor that runs bundles with it.

The core's own instructions run on this computer, each of the unit's is a call of `VectorUnit`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from glowmcu.board import Board
from glowmcu.verify.host import Host
from glowmcu.verify.measurement import Array, Measurement


class VectorUnit:
    """Four registers; every instruction takes a cycle, and one more if it reads memory."""

    def __init__(self) -> None:
        self.registers = np.zeros((4, 16), np.int32)
        self.instructions = self.cycles = 0

    def execute(self, word: int, memory: bytes) -> int:
        """The instruction `word`, whose address holds `memory`; what it answers."""
        what, d, a, b = (word >> shift & 15 for shift in (0, 4, 8, 12))
        self.instructions += 1
        self.cycles += 2 if what == 1 else 1
        if what < 2:
            self.registers[d] = 0
            self.registers[d, : len(memory)] = np.frombuffer(memory, np.int8)
        elif what == 2:
            self.registers[d] += self.registers[a] * self.registers[b]
        elif what == 3:
            return int(self.registers[a].sum(dtype=np.int32))
        return 0


class VectorCore:
    """The executor `vx16`. Of the core it knows the unit's instructions and cycles alone."""

    name = "vx16"

    def __init__(self, board: Board, core_name: str) -> None:
        self._unit = VectorUnit()
        self._host = Host(("-DVX_UNIT",), connect=self._connect)

    def missing(self) -> str | None:
        """What the host lacks: its C compiler."""
        return self._host.missing()

    def run(self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]) -> list[Measurement]:
        """As `Executor.run`, each inference with what the unit did in it."""
        measured = []
        with self._host.session(bundle_dir) as session:
            for arrays in inputs:
                self._unit = VectorUnit()
                outputs = session.measure(arrays).outputs
                counts = self._unit.instructions, self._unit.cycles
                measured.append(Measurement(outputs, *counts))
        return measured

    def _connect(self, ffi: Any, library: Any) -> object:
        """Give the bundle's C its unit; a bundle without kernels of VX16 has no use for one."""
        ffi.cdef("extern int32_t (*vx_unit)(uint32_t, const void *);")

        def send(word: int, address: Any) -> int:
            read = ffi.buffer(address, word >> 16) if word & 15 == 1 else b""
            return self._unit.execute(word, bytes(read))

        function = ffi.callback("int32_t(uint32_t, const void *)", send)
        try:
            library.vx_unit = function
        except AttributeError:
            return None
        return function
