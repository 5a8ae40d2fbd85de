"""Two modelled cores that share a run: one memory, two sets of registers, two stacks.

Each core runs by itself until it comes to a meeting; there the clock of both is that of the later
one. So a run takes, from meeting to meeting, what the slower core takes. Words of the meetings are
set as if the other core had come right before. Contention for the bus is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from glowmcu import cores
from glowmcu.cores import Core
from glowmcu.errors import ExitCode, error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest, read_manifest
from glowmcu.verify.cortex_m.attribution import Accountant
from glowmcu.verify.cortex_m.build import build_bundle
from glowmcu.verify.cortex_m.costs import Flash, cost_table
from glowmcu.verify.cortex_m.counting import EdgeCounter
from glowmcu.verify.cortex_m.elf import Program
from glowmcu.verify.cortex_m.machine import (
    POISON,
    RETURN_ADDRESS,
    STACK_BYTES,
    STACK_TOP,
    Machine,
)
from glowmcu.verify.host import check_inputs
from glowmcu.verify.measurement import Array
from glowmcu.verify.time_limits import run_seconds

_SECOND_STACK_TOP = 0x3A000000
_MEET = "glowmcu_cores_meet"
_FLAG = "-DGLOWMCU_CORES=2"
_MEETINGS = "meetings of two cores"


@dataclass(frozen=True)
class SharedStep:
    """What a step takes of either core, and from its beginning to its end, in cycles."""

    index: int
    first: int
    second: int
    elapsed: int


@dataclass(frozen=True)
class SharedRun:
    """One inference on two cores; `cycles` with all waiting, `stack_bytes` of either core."""

    outputs: tuple[Array, ...]
    cycles: int
    stack_bytes: tuple[int, int]
    meetings: int
    steps: tuple[SharedStep, ...]

    def json(self) -> dict[str, object]:
        """As facts, and for scripts."""
        return {
            "cycles": self.cycles,
            "meetings": self.meetings,
            "stack_bytes": list(self.stack_bytes),
            "layers": [asdict(step) for step in self.steps],
        }


class TwoCores:
    """Runs bundles that were compiled for two cores on two cores `core_name`.

    `second_first`: between meetings the second core is the first to run.
    """

    def __init__(
        self, core_name: str, second_first: bool = False, timeout_seconds: float | None = None
    ) -> None:
        self._core = cores.core(core_name)
        self._order = (1, 0) if second_first else (0, 1)
        self._timeout_seconds = timeout_seconds

    def measure(self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]) -> list[SharedRun]:
        """One inference for each entry of `inputs`, each in a new arena.

        Raises GM658 if the bundle is not for two cores or they do not meet, GM604, GM61x, GM65x
        as `CortexM.measure` does.
        """
        manifest = read_manifest(bundle_dir)
        if manifest.cores < 2:
            message = "the bundle was compiled for one core"
            raise error("GM658", message, manifest.name, "compile it with --cores 2")
        for arrays in inputs:
            check_inputs(manifest, arrays)
        core = replace(self._core, flags=(*self._core.flags, _FLAG))
        also = manifest.help_function, f"{manifest.name}_cores_begin"
        build = build_bundle(bundle_dir, manifest, core, also=also)
        machine = _Machine(build.marked, core, manifest)
        accountant = Accountant(
            build.marked, cost_table(core.name, False), machine.read_code, Flash(0)
        )
        counter = EdgeCounter(machine, None)
        limit = self._timeout_seconds
        if limit is None:
            limit = run_seconds(manifest, core.name)
        return [
            _Run(machine, accountant, counter, manifest, self._order, limit).run(arrays)
            for arrays in inputs
        ]


class _Machine(Machine):
    """A machine with two contexts; it stops where a core comes to a meeting."""

    def __init__(self, program: Program, core: Core, manifest: Manifest) -> None:
        super().__init__(program, core, manifest.arena_bytes, manifest.arena_align)
        self._meets = {
            function.address
            for function in program.functions
            if function.name.split(".")[0] == _MEET
        }
        self._uc.mem_map(_SECOND_STACK_TOP - STACK_BYTES, STACK_BYTES, 3)
        self._contexts: list[Any] = [None, None]
        self._resumed = False
        for address in self._meets:
            self._uc.hook_add(
                self._unicorn.UC_HOOK_CODE, self._at_meeting, begin=address, end=address
            )

    def _at_meeting(self, uc: Any, _address: int, _size: int, _data: Any) -> None:
        if self._resumed:
            self._resumed = False
        else:
            uc.emu_stop()

    def enter(self, core: int, function: str) -> None:
        """Where a core begins: with an empty stack of its own."""
        top = (STACK_TOP, _SECOND_STACK_TOP)[core]
        self._uc.mem_write(top - STACK_BYTES, POISON * STACK_BYTES)
        processor = self._processor
        self._uc.reg_write(processor.stack_pointer, top)
        self._uc.reg_write(processor.link, RETURN_ADDRESS | processor.code_bit)
        self._uc.reg_write(processor.first_argument, self.arena_address)
        start = self._program.address_of(function) | processor.code_bit
        self._uc.reg_write(processor.program_counter, start)
        self._contexts[core] = self._uc.context_save()

    def go_on(self, core: int, timeout_seconds: float) -> bool:
        """Let a core run to its next meeting; whether there is one. Raises GM652 to GM655."""
        self._uc.context_restore(self._contexts[core])
        start = self.program_counter()
        self._resumed = start in self._meets
        try:
            self._uc.emu_start(start | 1, RETURN_ADDRESS, timeout=int(timeout_seconds * 1e6))
        except self._unicorn.UcError as cause:
            raise self._fault(cause) from cause
        self._check_canaries()
        if self._failure is not None:
            raise self._failure
        self._contexts[core] = self._uc.context_save()
        place = self.program_counter()
        if place != RETURN_ADDRESS and place not in self._meets:
            message = f"a core did not come to a meeting within {timeout_seconds:g} s"
            raise error("GM654", message, self.place(), exit_code=ExitCode.MISMATCH)
        return place != RETURN_ADDRESS

    def stack_of_second(self) -> int:
        """As `stack_used_bytes`."""
        stack = bytes(self._uc.mem_read(_SECOND_STACK_TOP - STACK_BYTES, STACK_BYTES))
        return len(stack.lstrip(POISON))


@dataclass
class _Run:
    """One inference."""

    machine: _Machine
    accountant: Accountant
    counter: EdgeCounter
    manifest: Manifest
    order: tuple[int, int]
    timeout_seconds: float

    def run(self, arrays: Sequence[Array]) -> SharedRun:
        machine, manifest = self.machine, self.manifest
        machine.reset()
        for entry, array in zip(manifest.inputs, arrays, strict=True):
            machine.write_arena(entry.start, np.ascontiguousarray(array).tobytes())
        begin = f"{manifest.name}_cores_begin"
        for function in filter(None, (begin, manifest.reset_function)):
            machine.call(function, [machine.arena_address], self.timeout_seconds)
        machine.enter(0, manifest.entry_points[0])
        machine.enter(1, manifest.help_function)
        return self._run()

    def _run(self) -> SharedRun:
        spent: tuple[dict[int, int], dict[int, int]] = ({}, {})
        elapsed: dict[int, int] = {}
        total = meeting = 0
        self.machine.step = None
        while True:
            parts, more = self._to_next_meeting(meeting)
            own = [sum(part.values()) for part in parts]
            total += max(own)
            shared = self.machine.step if self.machine.step is not None else 0
            for index, cycles in parts[0].items():
                spent[0][index] = spent[0].get(index, 0) + cycles
                elapsed[index] = elapsed.get(index, 0) + cycles
            spent[1][shared] = spent[1].get(shared, 0) + own[1]
            elapsed[shared] = elapsed.get(shared, 0) + max(own[1] - own[0], 0)
            if more[0] != more[1]:
                raise self._apart(meeting)
            if not more[0]:
                break
            meeting += 1
        steps = tuple(
            SharedStep(
                layer.index, spent[0].get(layer.index, 0), spent[1].get(layer.index, 0),
                elapsed.get(layer.index, 0),
            )
            for layer in self.manifest.layers
        )  # fmt: skip
        stacks = self.machine.stack_used_bytes(), self.machine.stack_of_second()
        return SharedRun(self._outputs(), total, stacks, meeting, steps)

    def _apart(self, meeting: int) -> Exception:
        return error(
            "GM658",
            f"after {meeting} meetings one core is done, and the other waits for it",
            self.manifest.name,
            "report this bug",
            ExitCode.MISMATCH,
        )

    def _to_next_meeting(self, meeting: int) -> tuple[list[dict[int, int]], list[bool]]:
        """Cycles by step of either core, and whether each comes to another meeting; the machine's
        step is the first core's then.
        """
        step = self.machine.step
        parts: list[dict[int, int]] = [{}, {}]
        more = [False, False]
        after = step
        for core in self.order:
            self._set_words(core, meeting)
            self.machine.step = step
            counts = self.counter.begin()
            if step is not None and self.machine.on_step is not None:
                self.machine.on_step(step)
            more[core] = self.machine.go_on(core, self.timeout_seconds)
            self.counter.end()
            account = self.accountant.settle(counts)
            parts[core] = {index: cost.cycles for index, cost in account.steps.items()}
            first = min(parts[core], default=0) if step is None else step
            rest = account.outside.cycles
            parts[core][first] = parts[core].get(first, 0) + rest
            if core == 0:
                after = self.machine.step
        self.machine.step = after
        return parts, more

    def _set_words(self, core: int, meeting: int) -> None:
        """As if the other core had come to the meeting right before."""
        if meeting == 0:
            return
        words = [meeting, meeting]
        words[core] = meeting - 1
        data = b"".join(word.to_bytes(4, "little") for word in words)
        entry = next(item for item in self.manifest.buffers if item.name == _MEETINGS)
        self.machine.write_arena(entry.offset, data)

    def _outputs(self) -> tuple[Array, ...]:
        return tuple(
            np.frombuffer(self.machine.read_arena(entry.start, entry.bytes), dtype=entry.dtype)
            .reshape(entry.shape)
            .copy()
            for entry in self.manifest.outputs
        )
