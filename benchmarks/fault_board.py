"""Runs of one bundle with flipped bits on QEMU's board with a Cortex-M55, as Unicorn has no Helium.

One boot does many runs. `fault_firmware` flips the bits and says what became of each run; an MPU
keeps all but arena and stack from being written. Here the firmware is built, told and understood.
"""

from __future__ import annotations

import math
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fault_board_files import (
    ARENA_BASE,
    STACK_BYTES,
    STACK_TOP,
    build_board_program,
    bundle_places,
    bundle_segments,
)
from benchmarks.fault_cases import drawn_inputs
from benchmarks.fault_machine import KINDS, NEARBY_BYTES, Flip, bit_in, register_bit
from benchmarks.fault_outcomes import Outcome, program_digest
from glowmcu.manifest import read_manifest
from glowmcu.verify.measurement import Array

#: Beside what other cores have: q0 to q7, and the predicates of vpr.
BOARD_KINDS = (*KINDS, "vectors")
#: How much deeper than without a fault the stack may become, beside what an interrupt stores.
_STACK_MARGIN, _FRAME_BYTES = 128, 256
_TICK_NS, _INSTRUCTION_NS = 31.25, 32  # of the board's timer; -icount shift=5
_MOST_TICKS = (1 << 24) - 1
#: Instructions from the timer's start to the first of a call, and to where it is read at the end.
_LEAD, _OVERHEAD = 9, 40
_MOST_TIMES, _SPARE_INSTRUCTIONS = 4, 200_000
_VECTOR_WORDS, _PREDICATE_BITS = 32, 16
_BOOT_SECONDS = 600.0
_WISH, _RESULT = struct.Struct("<6I"), struct.Struct("<11I")
_NOTHING, _MEMORY, _REGISTER, _FLAG, _STACK, _VECTOR = range(6)
_ENDED, _FAULT, _ENDLESS = range(3)
_MMARVALID, _BFARVALID = 1 << 7, 1 << 15
_SYSTEM_BASE = 0xE0000000


@dataclass(frozen=True)
class BoardRun:
    """What the firmware says of a run: the fields of its `struct result`."""

    end: int
    status: int
    same: int
    noticed: int
    cfsr: int
    mmfar: int
    bfar: int
    pc: int
    ticks: int
    stack: int
    stopped_at: int

    @property
    def wild_address(self) -> int | None:
        """Where it was kept from writing. What is not the system's own may be read everywhere."""
        if self.cfsr & _MMARVALID:
            return self.mmfar
        if self.cfsr & _BFARVALID and self.bfar >= _SYSTEM_BASE:
            return self.bfar
        return None


class BoardBundle:
    """A bundle on the board, ready for many runs; `instructions` are those of one without a fault,
    right to within a few, and `outputs` what that run gave.
    """

    def __init__(self, core_name: str, folder: Path, inputs: Sequence[Array] | None = None) -> None:
        self.manifest = read_manifest(folder)
        self._folder = folder.parent / "board"
        self._elf, program = build_board_program(folder, self.manifest, core_name, self._folder)
        self._places = bundle_places(program)
        self.digest = program_digest(bundle_segments(program))
        given = drawn_inputs(self.manifest, 0) if inputs is None else inputs
        (self._folder / "inputs.bin").write_bytes(b"".join(array.tobytes() for array in given))
        self._stack, self._limit = STACK_BYTES, (_MOST_TICKS, 16)
        (first,) = self._boot([self._wish(Flip("nothing", -1, 0))])
        ends = first.end == _ENDED and (first.status == 0 or self.manifest.pipeline is not None)
        assert ends, f"without a fault it ends well: {first}"
        assert not first.status >> 31, "and is begun"
        assert not first.noticed, "the constants are whole"
        self.outputs = (self._folder / "outputs.bin").read_bytes()
        self.instructions = int(first.ticks * _TICK_NS / _INSTRUCTION_NS) - _OVERHEAD
        self.stack_bytes = first.stack
        self._stack = -(-(first.stack + _STACK_MARGIN + _FRAME_BYTES) // 32) * 32
        self._limit = _turns(_MOST_TIMES * self.instructions + _SPARE_INSTRUCTIONS)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those of `BOARD_KINDS` that have any bit."""
        return tuple(kind for kind in BOARD_KINDS if self._places.get(kind, "any"))

    def bytes_of(self, kind: str) -> int:
        """Of weights, parameters or code."""
        return sum(item.size_bytes for item in self._places[kind])

    def runs(self, flips: Sequence[Flip]) -> list[Outcome]:
        """One inference with each flip, and the check after it. What locks the core up ends a boot,
        and the next one goes on behind it.
        """
        outcomes: list[Outcome] = []
        while len(outcomes) < len(flips):
            left = flips[len(outcomes) :]
            control, *found = self._boot([self._wish(f) for f in (Flip("nothing", -1, 0), *left)])
            again = (self._folder / "outputs.bin").read_bytes()
            assert (control.end, again) == (_ENDED, self.outputs), "a boot is like the others"
            outcomes += [_outcome(flip, run) for flip, run in zip(left, found, strict=False)]
            if len(found) < len(left):
                outcomes.append(Outcome(left[len(found)], "fault", False, "the core locks up"))
        return outcomes

    def _boot(self, wishes: Sequence[bytes]) -> list[BoardRun]:
        """Results of all wishes, or of those before the one that the emulator did not survive."""
        header = struct.pack("<I", self._stack)
        (self._folder / "flips.bin").write_bytes(header + b"".join(wishes))
        (self._folder / "results.bin").unlink(missing_ok=True)
        command = [
            *("qemu-system-arm", "-machine", "mps3-an547", "-kernel", str(self._elf)),
            *("-icount", "shift=5,sleep=off", "-semihosting-config", "enable=on,target=native"),
            *("-display", "none", "-monitor", "none", "-serial", "none", "-no-reboot"),
        ]
        done = subprocess.run(
            command,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_BOOT_SECONDS,
            check=False,
        )
        data = (self._folder / "results.bin").read_bytes()
        data = data[: len(data) // _RESULT.size * _RESULT.size]
        found = [BoardRun(*words) for words in _RESULT.iter_unpack(data)]
        is_locked = b"Lockup" in done.stderr
        assert is_locked or (done.returncode == 0 and len(found) == len(wishes)), done.stderr
        return found

    def _wish(self, flip: Flip) -> bytes:
        place, at, mask = self._bit(flip)
        ticks = _ticks_until(flip.when + _LEAD) if flip.when >= 0 else 0
        assert ticks <= _MOST_TICKS, "the run is longer than the timer counts"
        return _WISH.pack(place, ticks, *self._limit, at, mask)

    def _bit(self, flip: Flip) -> tuple[int, int, int]:
        """Kind of place, where in it, and the bits there."""
        if flip.kind == "nothing":
            return _NOTHING, 0, 0
        if flip.kind == "registers":
            number, mask = register_bit(flip.draw)
            return (_FLAG, 0, mask) if number is None else (_REGISTER, number, mask)
        if flip.kind == "vectors":
            word, bit = divmod(flip.draw % (32 * _VECTOR_WORDS + _PREDICATE_BITS), 32)
            return _VECTOR, word, 1 << bit
        if flip.kind == "stack":
            return _STACK, flip.draw & 0xFFFFFFFF, 0
        if flip.kind == "arena":
            offset, bit = divmod(flip.draw % (8 * self.manifest.arena_bytes), 8)
            return _MEMORY, ARENA_BASE + offset, 1 << bit
        address, bit = bit_in(self._places[flip.kind], flip.draw)
        return _MEMORY, address, 1 << bit


def _outcome(flip: Flip, run: BoardRun) -> Outcome:
    assert run.stopped_at, f"{flip}: the run ended before"
    noticed = bool(run.noticed)
    if run.end == _ENDED:
        result = "stopped" if run.status >> 31 else "same" if run.same else "other"
        return Outcome(flip, result, noticed)
    if run.end == _ENDLESS:
        return Outcome(flip, "endless", noticed)
    address = run.wild_address
    if address is not None:
        detail = f"wrote to {address:#010x} at {run.pc:#010x}"
        return Outcome(flip, "near" if _is_near(address) else "far", noticed, detail)
    return Outcome(flip, "fault", noticed, f"CFSR is {run.cfsr:#x}")


def _is_near(address: int) -> bool:
    ends = ((ARENA_BASE, ARENA_BASE), (STACK_TOP - STACK_BYTES, STACK_TOP))
    return any(low - NEARBY_BYTES <= address < high + NEARBY_BYTES for low, high in ends)


def _ticks_until(instructions: int) -> int:
    """The timer that has so many ticks stops the run before instruction number `instructions`."""
    return math.floor((instructions - 1) * _INSTRUCTION_NS / _TICK_NS)


def _turns(instructions: int) -> tuple[int, int]:
    """Ticks of a turn, and how many turns, for at least so many instructions."""
    ticks = math.ceil(instructions * _INSTRUCTION_NS / _TICK_NS)
    count = -(-ticks // _MOST_TICKS)
    return -(-ticks // count), count
