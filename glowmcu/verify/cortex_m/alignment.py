"""Find unaligned accesses of several words (LDM, LDRD, VLDR, …), on which every real core faults.

Unicorn performs them. (Single ones are legal from Armv7-M on, and on an M0 Unicorn faults itself.)
Looking at every access makes a run several times slower, so this is asked for, not always on.
"""

from __future__ import annotations

from typing import Any

from glowmcu.cores import Core
from glowmcu.errors import ExitCode, error
from glowmcu.verify.cortex_m.decode import Decoder
from glowmcu.verify.cortex_m.kinds import MEMORY, Kind
from glowmcu.verify.cortex_m.machine import Machine

_MULTI_WORD = MEMORY - {Kind.LOAD, Kind.STORE}


class AlignmentCheck:
    """Attaches to a machine, whose `call` then raises GM656 for such an access."""

    def __init__(self, machine: Machine, core: Core) -> None:
        self._machine = machine
        self._core = core
        self._decoder = Decoder()

        def look(_uc: Any, _access: int, address: int, size: int, _value: int, _data: Any) -> None:
            if address & (size - 1):
                self._judge(address, size)

        machine.add_access_hook(look)

    def _judge(self, address: int, size_bytes: int) -> None:
        pc = self._machine.program_counter()
        instruction = self._decoder.block(self._machine.read_code(pc, 4), pc)[0]
        if instruction.kind not in _MULTI_WORD:
            return
        self._machine.stop(
            error(
                "GM656",
                f"{instruction.text} accesses {size_bytes} bytes at {address:#010x}, "
                f"which {self._core.name} cannot do unaligned",
                self._machine.place(),
                exit_code=ExitCode.MISMATCH,
            )
        )
