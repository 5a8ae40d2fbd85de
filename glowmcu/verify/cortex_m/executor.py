"""The `cortex-m` executor: the cross-compiled bundle on an emulated core, with modelled cycles."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from glowmcu import cores, installation
from glowmcu.board import Board
from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest, read_manifest
from glowmcu.verify import toolchain
from glowmcu.verify.cortex_m.alignment import AlignmentCheck
from glowmcu.verify.cortex_m.attribution import Account, Accountant
from glowmcu.verify.cortex_m.board_memory import BoardMemory, board_layout
from glowmcu.verify.cortex_m.build import build_bundle
from glowmcu.verify.cortex_m.costs import Flash, cost_table
from glowmcu.verify.cortex_m.counting import EdgeCounter
from glowmcu.verify.cortex_m.elf import Program
from glowmcu.verify.cortex_m.machine import Machine
from glowmcu.verify.cortex_m.places import PlaceLearner
from glowmcu.verify.host import check_inputs, size_given
from glowmcu.verify.kept_inputs import expect_kept
from glowmcu.verify.measurement import Array, CycleRange, LayerCost, Measurement
from glowmcu.verify.memory_system import MemoryLayout, Waits
from glowmcu.verify.run_status import expect_done
from glowmcu.verify.time_limits import run_seconds

_PACKAGES = {"unicorn": "unicorn", "capstone": "capstone", "elftools": "pyelftools"}


@dataclass(frozen=True)
class DetailedMeasurement:
    """A measurement with the account it came from.

    `account` splits by step and block; it is None when nothing was counted. Where
    `markers_changed_code`, it describes the marked build and its total differs a little from the
    measurement's, which is always that of the code as it ships. `program` is the one it
    describes, with C lines where the executor was made with `debug_lines`. `waits` are those of
    the board's memories, one for each of its timings.
    """

    measurement: Measurement
    account: Account | None
    markers_changed_code: bool
    program: Program | None = None
    waits: tuple[Waits, ...] = ()


class CortexM:
    """Runs bundles on the core `core_name`.

    With `count=False` only outputs and stack are found, several times faster. `timeout_seconds` is
    for one inference; where it is not given it follows from the bundle. `check_alignment` finds
    unaligned accesses of several words, at several times the running time. `slow_multiplier` is for
    an M0 or M0+ synthesized with the 32-cycle multiplier; `wait_states` are those of the flash (see
    `costs.Flash`), `region_waits` those of regions that code and weights were placed in. Where
    `memory_of` is a board whose file says how its memories are timed, they are replayed:
    `board_cycles` of what is measured. With `debug_lines` the bundle is built so that
    `CortexM.measure` knows the C line of every address.
    """

    name = "cortex-m"

    def __init__(
        self,
        core_name: str,
        count: bool = True,
        timeout_seconds: float | None = None,
        check_alignment: bool = False,
        slow_multiplier: bool = False,
        wait_states: int = 0,
        debug_lines: bool = False,
        region_waits: Mapping[str, int] | None = None,
        memory_of: Board | None = None,
    ) -> None:
        self._core = cores.core(core_name)
        self._slow_multiplier = slow_multiplier
        self._wait_states, self._region_waits = wait_states, region_waits or {}
        self._memory_of = memory_of
        self._debug_lines = debug_lines
        self._check_alignment = check_alignment
        self._count = count
        self._timeout_seconds = timeout_seconds

    def missing(self) -> str | None:
        """What has to be installed before this executor works here, or None."""
        absent = [
            package
            for module, package in _PACKAGES.items()
            if importlib.util.find_spec(module) is None
        ]
        if absent:
            return f"{', '.join(absent)} not installed: {installation.extra('emulation')}"
        return None if self._core.is_foreign else toolchain.missing(self._core.flags)

    def run(self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]) -> list[Measurement]:
        """One inference for each entry of `inputs`; errors as in `measure`."""
        return [found.measurement for found in self.measure(bundle_dir, inputs)]

    def measure(
        self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]
    ) -> list[DetailedMeasurement]:
        """As `run`, with the costs of every step and block.

        Raises GM650 for a core that cannot be emulated, GM651 when a tool is missing, GM61x when
        the bundle does not compile, GM604 for wrong inputs; GM619, GM652 to GM656 when it
        misbehaves.
        """
        manifest = read_manifest(bundle_dir)
        self._check_here()
        for arrays in inputs:
            check_inputs(manifest, arrays)
        if self._count:
            return self._measure(bundle_dir, manifest, inputs, with_markers=True)
        try:
            return self._measure(bundle_dir, manifest, inputs, with_markers=False)
        except GlowmcuError:
            # Once more, to name the step.
            return self._measure(bundle_dir, manifest, inputs, with_markers=True)

    def _measure(
        self,
        bundle_dir: Path,
        manifest: Manifest,
        inputs: Sequence[Sequence[Array]],
        with_markers: bool,
    ) -> list[DetailedMeasurement]:
        build = build_bundle(bundle_dir, manifest, self._core, self._debug_lines, with_markers)
        flash = Flash(
            self._wait_states,
            elsewhere=tuple(
                (first, end, self._region_waits.get(region, self._wait_states))
                for region, (first, end) in build.regions.items()
            ),
        )
        board = self._memory_of
        layout = None if board is None else board_layout(board, manifest, build.regions)
        marked = self._bench(build.marked, manifest, flash, layout)
        shipped = marked if build.is_same else self._bench(build.shipped, manifest, flash, layout)
        found = [self._infer(manifest, shipped, marked, arrays) for arrays in inputs]
        return [replace(one, program=build.marked) for one in found]

    def _check_here(self) -> None:
        if self._core.modelled_by != self.name or self._core.unicorn_model is None:
            other = self._core.modelled_by
            raise error(
                "GM650",
                f"the {self.name} executor cannot emulate {self._core.name}",
                hint=f"use --on {'qemu' if self._core.has_mve else other}",
                exit_code=ExitCode.USAGE,
            )
        absent = self.missing()
        if absent is not None:
            raise error("GM651", f"the {self.name} executor does not work here", hint=absent)

    def _bench(
        self, program: Program, manifest: Manifest, flash: Flash, layout: MemoryLayout | None
    ) -> _Bench:
        machine = self._machine(program, manifest)
        limit = self._timeout_seconds
        if limit is None:
            limit = run_seconds(manifest, self._core.name)
        if not self._count:
            return _Bench(machine, limit)
        accountant = self._accountant(program, machine, flash)
        learner = PlaceLearner(machine, accountant.decode)
        memory = None
        if self._memory_of is not None and layout is not None and self._memory_of.timing:
            memory = BoardMemory(machine, accountant, self._memory_of.timing, layout)
        counter = EdgeCounter(machine, flash, learner, memory.begin if memory else None)
        return _Bench(machine, limit, counter, accountant)

    def _machine(self, program: Program, manifest: Manifest) -> Machine:
        external = [(entry.bytes, entry.outside_align) for entry in manifest.external]
        machine = Machine(program, self._core, manifest.arena_bytes, manifest.arena_align, external)
        if self._check_alignment:
            AlignmentCheck(machine, self._core)
        return machine

    def _accountant(self, program: Program, machine: Machine, flash: Flash) -> Accountant:
        table = cost_table(self._core.name, self._slow_multiplier)
        return Accountant(program, table, machine.read_code, flash)

    def _infer(
        self, manifest: Manifest, shipped: _Bench, marked: _Bench, arrays: Sequence[Array]
    ) -> DetailedMeasurement:
        try:
            found, account, waits = shipped.infer(manifest, arrays)
        except GlowmcuError:
            if shipped is not marked:
                marked.infer(manifest, arrays)  # fails alike and knows in which step
            raise
        if account is None:
            return DetailedMeasurement(found, None, shipped is not marked)
        if shipped is not marked:
            _, account, waits = marked.infer(manifest, arrays)
            assert account is not None
        layers = []
        for layer in manifest.layers:
            cost = account.cost_of_step(layer.index)
            on_board = _on_board(account, waits, layer.index)
            layers.append(
                LayerCost(layer.index, layer.name, cost.instructions, cost.cycles, on_board)
            )
        is_other = shipped is not marked
        measurement = replace(found, layers=tuple(layers), is_laid_out_otherwise=is_other)
        return DetailedMeasurement(measurement, account, is_other, waits=waits)


class _Bench:
    """One program on its machine, ready for many inferences."""

    def __init__(
        self,
        machine: Machine,
        timeout_seconds: float,
        counter: EdgeCounter | None = None,
        accountant: Accountant | None = None,
    ) -> None:
        self._machine = machine
        self._timeout_seconds = timeout_seconds
        self._counter = counter
        self._accountant = accountant
        #: What the run before left for the next one, once a stream was begun.
        self._states: list[bytes] = []

    def infer(
        self, manifest: Manifest, arrays: Sequence[Array]
    ) -> tuple[Measurement, Account | None, tuple[Waits, ...]]:
        """One inference on a fresh machine, of a bundle with states the next of its stream; the
        measurement has no layers yet. Waits are those of the board's memories, a few where it may
        have one or the other.
        """
        machine, size = self._machine, size_given(manifest, arrays)
        machine.reset()
        self._restore_states(manifest)
        manifest = _of_size(manifest, arrays)
        outside = iter(machine.external_addresses)
        for entry, array in zip(manifest.inputs, arrays, strict=True):
            data = np.ascontiguousarray(array).tobytes()
            if entry.external:
                machine.write_external(next(outside), data)
            elif entry.rows is None:
                machine.write_arena(entry.start, data)
        *before, (function, arguments) = self._calls(manifest, arrays, size)
        for name, words in before:
            machine.call(name, words, self._timeout_seconds)
        counts = self._counter.begin() if self._counter else None
        try:
            status = machine.call(function, arguments, self._timeout_seconds)
        except GlowmcuError as found:
            raise _with_step(found, manifest, machine.step) from found
        expect_done(manifest, status)
        if self._counter:
            self._counter.end()
        expect_kept(manifest, arrays, machine.read_arena)
        outputs = tuple(
            np.frombuffer(machine.read_arena(entry.start, entry.bytes), dtype=entry.dtype)
            .reshape(entry.shape)
            .copy()
            for entry in manifest.outputs
        )
        self._states = [machine.read_arena(e.offset, e.bytes) for e in manifest.states]
        account = self._accountant.settle(counts) if self._accountant and counts else None
        waits = counts.trace.finish() if counts is not None and counts.trace is not None else ()
        measurement = Measurement(
            outputs,
            instructions=account.total.instructions if account else None,
            cycles=account.total.cycles if account else None,
            stack_bytes=machine.stack_used_bytes(),
            board_cycles=_on_board(account, waits),
        )
        return measurement, account, waits

    def _restore_states(self, manifest: Manifest) -> None:
        if manifest.states and not self._states:
            arena = self._machine.arena_address
            self._machine.call(manifest.reset_function, [arena], self._timeout_seconds)
        for entry, data in zip(manifest.states, self._states, strict=False):
            self._machine.write_arena(entry.offset, data)

    def _calls(
        self, manifest: Manifest, arrays: Sequence[Array], size: Sequence[int]
    ) -> list[tuple[str, list[int]]]:
        """What an inference calls, of which the last is measured: a streamed input is one piece."""
        arena = self._machine.arena_address
        if manifest.streamed_input is None:
            return [(manifest.entry_points[0], [arena, *self._machine.external_addresses, *size])]
        rows = manifest.inputs[manifest.streamed_input].rows
        assert rows is not None
        data = np.ascontiguousarray(arrays[manifest.streamed_input]).tobytes()
        start, push = manifest.entry_points
        return [(start, [arena]), (push, [arena, self._machine.show(data), rows.count])]


def _on_board(
    account: Account | None, waits: Sequence[Waits], step: int | None = None
) -> CycleRange | None:
    """Of one step, or of all."""
    if account is None or not waits:
        return None
    cycles = (account.total if step is None else account.cost_of_step(step)).cycles
    found = [cycles + (one.total if step is None else one.of_step(step)) for one in waits]
    return CycleRange(min(found), max(found))


def _of_size(manifest: Manifest, arrays: Sequence[Array]) -> Manifest:
    size = size_given(manifest, arrays)
    return manifest.at(*size) if size else manifest


def _with_step(found: GlowmcuError, manifest: Manifest, step: int | None) -> GlowmcuError:
    """The same error, saying in which step of which bundle it happened."""
    where = manifest.name
    if step is not None:
        names = {layer.index: layer.name for layer in manifest.layers}
        where += f', step {step} "{names.get(step, "")}"'
    problem = found.problems[0]
    if problem.where:
        where += f", in {problem.where}"
    return GlowmcuError([replace(problem, where=where)], found.exit_code)
