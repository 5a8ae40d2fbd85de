"""Two modelled cores that share a run, each a machine with the bundle as compiled for it.

Each core runs by itself until it comes to a meeting, with the arena as it is by then; there the
clock of both is that of the later one. So a run takes, from meeting to meeting, what the slower
core takes. Words of the meetings are set as if the other core had come right before. Contention for
the bus is left out, and caches show at once what is written: of cleaning and invalidating them the
loop over lines and its stores are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from glowmcu import cores
from glowmcu.board import SecondCore
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
from glowmcu.verify.cortex_m.places import PlaceLearner
from glowmcu.verify.host import check_inputs
from glowmcu.verify.measurement import Array
from glowmcu.verify.run_status import expect_done
from glowmcu.verify.time_limits import run_seconds

_MEET = "glowmcu_cores_meet"
_MEETINGS = "meetings of two cores"
#: Armv7-M's registers, by address, to which a line's address is written to clean or invalidate it.
_INVALIDATE, _CLEAN = 0xE000EF5C, 0xE000EF68


def _hook(name: str, register: int) -> str:
    """Of caches with lines of GLOWMCU_CORES_LINE_BYTES, if the bundle is for such."""
    return (
        f"-DGLOWMCU_CORES_{name}(bytes,count)=do{{uint32_t at_;"
        '__asm__ volatile("dsb":::"memory");'
        "for(at_=0u;at_<(uint32_t)(count);at_+=GLOWMCU_CORES_LINE_BYTES){"
        f"*(volatile uint32_t *){register:#x}u=(uint32_t)(uintptr_t)(bytes)+at_;}}"
        '__asm__ volatile("dsb":::"memory");}while(0)'
    )


_FLAGS = ("-DGLOWMCU_CORES=2", _hook("CLEAN", _CLEAN), _hook("INVALIDATE", _INVALIDATE))
_SECOND_FLAGS = ("-DGLOWMCU_CORES=2", "-DGLOWMCU_CORES_UNCACHED")


@dataclass(frozen=True)
class SharedStep:
    """What a step takes of either core, in cycles of its own, and from its beginning to its end, in
    cycles of the first one.
    """

    index: int
    first: int
    second: int
    elapsed: int


@dataclass(frozen=True)
class SharedRun:
    """One inference on two cores; `cycles` of the first one with all waiting, `stack_bytes` of
    either core. `second` is what the other core is, None if it is like the first.
    """

    outputs: tuple[Array, ...]
    cycles: int
    stack_bytes: tuple[int, int]
    meetings: int
    steps: tuple[SharedStep, ...]
    second: SecondCore | None = None

    def json(self) -> dict[str, object]:
        """As facts, and for scripts."""
        return {
            "cycles": self.cycles,
            "meetings": self.meetings,
            "stack_bytes": list(self.stack_bytes),
            "layers": [asdict(step) for step in self.steps],
            **({} if self.second is None else {"second_core": self.second.core}),
        }


class TwoCores:
    """Runs bundles that were compiled for two cores on a core `core_name` and another one.

    `second_first`: between meetings the second core is the first to run. `clock_hz` and `second`
    are the first core's clock and what the second one is; without them both are alike.
    """

    def __init__(
        self,
        core_name: str,
        second_first: bool = False,
        timeout_seconds: float | None = None,
        clock_hz: int | None = None,
        second: SecondCore | None = None,
    ) -> None:
        self._second = second
        if second is None or clock_hz is None:
            second, clock_hz = SecondCore(core_name, 1), 1
        self._cores = cores.core(core_name), cores.core(second.core)
        self._clocks = clock_hz, second.clock_hz
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
        limit = self._timeout_seconds
        if limit is None:
            limit = max(run_seconds(manifest, core.name) for core in self._cores)
        both = [
            _OnCore(bundle_dir, manifest, replace(core, flags=(*core.flags, *flags)))
            for core, flags in zip(self._cores, (_FLAGS, _SECOND_FLAGS), strict=True)
        ]
        found = [
            _Run((both[0], both[1]), manifest, self._order, self._clocks, limit).run(arrays)
            for arrays in inputs
        ]
        return [replace(one, second=self._second) for one in found]


class _OnCore:
    """The bundle compiled for a core, with a machine and what counts on it."""

    def __init__(self, bundle_dir: Path, manifest: Manifest, core: Core) -> None:
        also = manifest.help_function, f"{manifest.name}_cores_begin"
        build = build_bundle(bundle_dir, manifest, core, also=also)
        self.machine = machine = _Machine(build.marked, core, manifest)
        self.accountant = Accountant(
            build.marked, cost_table(core.name, False), machine.read_code, Flash(0)
        )
        learner = PlaceLearner(machine, self.accountant.decode)
        self.counter = EdgeCounter(machine, None, learner)


class _Machine(Machine):
    """A machine that stops where its core comes to a meeting."""

    def __init__(self, program: Program, core: Core, manifest: Manifest) -> None:
        super().__init__(program, core, manifest.arena_bytes, manifest.arena_align)
        self._meets = {
            function.address
            for function in program.functions
            if function.name.split(".")[0] == _MEET
        }
        self._resumed = False
        self._start = 0
        for address in self._meets:
            self._uc.hook_add(
                self._unicorn.UC_HOOK_CODE, self._at_meeting, begin=address, end=address
            )

    def _at_meeting(self, uc: Any, _address: int, _size: int, _data: Any) -> None:
        if self._resumed:
            self._resumed = False
        else:
            uc.emu_stop()

    def enter(self, function: str) -> None:
        """Where the core begins: with an empty stack."""
        self._uc.mem_write(STACK_TOP - STACK_BYTES, POISON * STACK_BYTES)
        processor = self._processor
        self._uc.reg_write(processor.stack_pointer, STACK_TOP)
        self._uc.reg_write(processor.link, RETURN_ADDRESS | processor.code_bit)
        self._uc.reg_write(processor.first_argument, self.arena_address)
        self._start = self._program.address_of(function)

    def go_on(self, timeout_seconds: float) -> bool:
        """Let the core run to its next meeting; whether there is one. Raises GM652 to GM655."""
        start = self._start
        self._resumed = start in self._meets
        try:
            self._uc.emu_start(start | 1, RETURN_ADDRESS, timeout=int(timeout_seconds * 1e6))
        except self._unicorn.UcError as cause:
            raise self._fault(cause) from cause
        self._check_canaries()
        if self._failure is not None:
            raise self._failure
        self._start = place = self.program_counter()
        if place != RETURN_ADDRESS and place not in self._meets:
            message = f"a core did not come to a meeting within {timeout_seconds:g} s"
            raise error("GM654", message, self.place(), exit_code=ExitCode.MISMATCH)
        return place != RETURN_ADDRESS


@dataclass
class _Run:
    """One inference. `arena` is what both cores see, `step` the first core's."""

    cores: tuple[_OnCore, _OnCore]
    manifest: Manifest
    order: tuple[int, int]
    clocks: tuple[int, int]
    timeout_seconds: float
    arena: bytes = b""
    step: int | None = None

    def run(self, arrays: Sequence[Array]) -> SharedRun:
        first, second = (core.machine for core in self.cores)
        manifest = self.manifest
        for machine in (first, second):
            machine.reset()
        for entry, array in zip(manifest.inputs, arrays, strict=True):
            first.write_arena(entry.start, np.ascontiguousarray(array).tobytes())
        begin = f"{manifest.name}_cores_begin"
        for function in filter(None, (begin, manifest.reset_function)):
            first.call(function, [first.arena_address], self.timeout_seconds)
        self.arena = first.read_arena(0, manifest.arena_bytes)
        first.enter(manifest.entry_points[0])
        second.enter(manifest.help_function)
        found = self._run()
        expect_done(manifest, first.result())
        return found

    def _run(self) -> SharedRun:
        spent: tuple[dict[int, int], dict[int, int]] = ({}, {})
        elapsed: dict[int, int] = {}
        total = meeting = 0
        while True:
            parts, more = self._to_next_meeting(meeting)
            own = [sum(part.values()) for part in parts]
            # Of the second core, in cycles of the first one's clock.
            other = -(-own[1] * self.clocks[0] // self.clocks[1])
            total += max(own[0], other)
            shared = self.step if self.step is not None else 0
            for index, cycles in parts[0].items():
                spent[0][index] = spent[0].get(index, 0) + cycles
                elapsed[index] = elapsed.get(index, 0) + cycles
            spent[1][shared] = spent[1].get(shared, 0) + own[1]
            elapsed[shared] = elapsed.get(shared, 0) + max(other - own[0], 0)
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
        stacks = [core.machine.stack_used_bytes() for core in self.cores]
        return SharedRun(self._outputs(), total, (stacks[0], stacks[1]), meeting, steps)

    def _apart(self, meeting: int) -> Exception:
        return error(
            "GM658",
            f"after {meeting} meetings one core is done, and the other waits for it",
            self.manifest.name,
            "report this bug",
            ExitCode.MISMATCH,
        )

    def _to_next_meeting(self, meeting: int) -> tuple[list[dict[int, int]], list[bool]]:
        """Cycles by step of either core, and whether each comes to another meeting."""
        step = after = self.step
        parts: list[dict[int, int]] = [{}, {}]
        more = [False, False]
        for core in self.order:
            here = self.cores[core]
            machine = here.machine
            machine.write_arena(0, self.arena)
            self._set_words(core, meeting)
            machine.step = step
            counts = here.counter.begin()
            if step is not None and machine.on_step is not None:
                machine.on_step(step)
            more[core] = machine.go_on(self.timeout_seconds)
            here.counter.end()
            self.arena = machine.read_arena(0, self.manifest.arena_bytes)
            account = here.accountant.settle(counts)
            parts[core] = {index: cost.cycles for index, cost in account.steps.items()}
            first = min(parts[core], default=0) if step is None else step
            rest = account.outside.cycles
            parts[core][first] = parts[core].get(first, 0) + rest
            if core == 0:
                after = machine.step
        self.step = after
        return parts, more

    def _set_words(self, core: int, meeting: int) -> None:
        """As if the other core had come to the meeting right before."""
        if meeting == 0:
            return
        entry = next(item for item in self.manifest.buffers if item.name == _MEETINGS)
        pitch = entry.bytes // 2
        for number in (0, 1):
            word = meeting - (number == core)
            offset = entry.offset + number * pitch
            self.cores[core].machine.write_arena(offset, word.to_bytes(4, "little"))

    def _outputs(self) -> tuple[Array, ...]:
        return tuple(
            np.frombuffer(self.arena[entry.start : entry.start + entry.bytes], dtype=entry.dtype)
            .reshape(entry.shape)
            .copy()
            for entry in self.manifest.outputs
        )
