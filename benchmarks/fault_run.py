"""Runs of one bundle on a modelled core with one flipped bit each, and what became of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.fault_board import BoardBundle
from benchmarks.fault_cases import (
    Calls,
    Case,
    calls_of,
    drawn_inputs,
    functions_of,
)
from benchmarks.fault_machine import (
    EndlessError,
    FaultError,
    FaultMachine,
    Flip,
    WildWriteError,
)
from benchmarks.fault_outcomes import Outcome, program_digest
from glowmcu.cores import Core, core
from glowmcu.manifest import read_manifest
from glowmcu.verify.cortex_m.attribution import Accountant
from glowmcu.verify.cortex_m.build import build_bundle
from glowmcu.verify.cortex_m.costs import cost_table
from glowmcu.verify.cortex_m.counting import EdgeCounter
from glowmcu.verify.cortex_m.elf import Program
from glowmcu.verify.cortex_m.machine import STACK_BYTES, Machine
from glowmcu.verify.measurement import Array

_MOST_TIMES = 4  # as many instructions as without a fault; then a run counts as endless
_SPARE_INSTRUCTIONS = 200_000


class FaultyBundle:
    """A bundle on a core, ready for many runs; `instructions` are those of one without a fault."""

    def __init__(self, core_name: str, folder: Path, inputs: Sequence[Array] | None = None) -> None:
        self.manifest = read_manifest(folder)
        hardware = core(core_name)
        also = functions_of(self.manifest)
        build = build_bundle(folder, self.manifest, hardware, with_markers=False, also=also)
        given = drawn_inputs(self.manifest, 0) if inputs is None else inputs
        self.digest = program_digest(build.shipped.segments)
        self._inputs = [array.tobytes() for array in given]
        sizes = [entry.bytes for entry in self.manifest.external]
        arena = self.manifest.arena_bytes, self.manifest.arena_align
        self.machine = FaultMachine(build.shipped, hardware, *arena, sizes)
        self.entry = build.shipped.address_of(self.manifest.entry_points[-1])
        self._calls = self._calls_on(self.machine)
        self._totals = self._count(build.shipped, hardware, sizes)
        self._check_total = self._totals.pop()
        self.instructions = sum(self._totals)
        self.stack_bytes = STACK_BYTES
        self._right = self._without_fault()

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of the places that have any bit."""
        return self.machine.kinds

    def bytes_of(self, kind: str) -> int:
        """Of weights, parameters or code."""
        return self.machine.bytes_of(kind)

    def runs(self, flips: Sequence[Flip]) -> list[Outcome]:
        """One inference with each flip, and the check after it."""
        return [self.run(flip) for flip in flips]

    def give(self, inputs: Sequence[Array]) -> None:
        """Other inputs for the runs to come."""
        self._inputs = [array.tobytes() for array in inputs]
        self._calls_on(self.machine)
        self._right = self._without_fault()

    def _without_fault(self) -> bytes:
        self.machine.begin(None, 2 * self.instructions)
        outputs, statuses = self._infer()
        # A pipeline says how many results are new.
        assert statuses[-1] == 0 or self.manifest.pipeline, "without a fault the run ends well"
        assert statuses[-1] >= 0, "and is begun"
        self.stack_bytes = self.machine.stack_used_bytes()
        return outputs

    def run(self, flip: Flip, checks: bool = True) -> Outcome:
        """One inference with `flip`, and the check after it if asked for."""
        allowed = _MOST_TIMES * self.instructions + _SPARE_INSTRUCTIONS
        self.machine.begin(flip, allowed, self.stack_bytes)
        detail = ""
        try:
            outputs, statuses = self._infer()
        except WildWriteError as cause:
            result, detail = "near" if cause.is_near else "far", str(cause)
        except FaultError as cause:
            result, detail = "fault", str(cause)
        except EndlessError:
            result = "endless"
        else:
            result = "same" if outputs == self._right else "other"
            if statuses[-1] < 0:
                result = "stopped"
        return Outcome(flip, result, checks and self._notices(), detail)

    def _notices(self) -> bool:
        self.machine.restart(2 * self._check_total)
        name = f"{self.manifest.name}_check"
        try:
            return self.machine.call_counted(name, (), self._check_total) != 0
        except (WildWriteError, FaultError, EndlessError):
            return False

    def _calls_on(self, machine: Machine) -> Calls:
        streamed = self.manifest.streamed_input
        pushed = 0 if self.manifest.pipeline is not None else streamed
        shown = 0 if pushed is None else machine.show(self._inputs[pushed])
        return calls_of(self.manifest, machine.arena_address, machine.external_addresses, shown)

    def _hand_over(self, machine: Machine) -> None:
        if self.manifest.pipeline is not None:
            return
        outside = iter(machine.external_addresses)
        for entry, data in zip(self.manifest.inputs, self._inputs, strict=True):
            if entry.external:
                machine.write_external(next(outside), data)
            elif entry.rows is None:
                machine.write_arena(entry.start, data)

    def _infer(self) -> tuple[bytes, list[int]]:
        """Outputs, and what the calls returned, as signed numbers."""
        self._hand_over(self.machine)
        statuses = [0]
        for number, (function, arguments) in enumerate(self._sequence(self._calls, statuses)):
            total = self._totals[min(number, len(self._totals) - 1)]
            status = self.machine.call_counted(function, arguments, total)
            statuses.append(status - (status >> 31 << 32))
            if number > 2 * len(self._totals):
                raise EndlessError
        self.machine.look_around()
        return self._outputs(), statuses

    @staticmethod
    def _sequence(calls: Calls, statuses: list[int]) -> Iterator[tuple[str, list[int]]]:
        """The calls, as long as what was returned last asks for more."""
        for function, arguments in calls.first:
            yield function, list(arguments)
        for turn in range(calls.most):
            yield calls.again, calls.turn(turn)
            if statuses[-1] <= 0:
                return

    def _outputs(self) -> bytes:
        return b"".join(
            self.machine.read_arena(entry.start, entry.bytes) for entry in self.manifest.outputs
        )

    def _count(self, program: Program, hardware: Core, outside: list[int]) -> list[int]:
        """Instructions of each call of a run without a fault, and last of the check."""
        arena = self.manifest.arena_bytes, self.manifest.arena_align
        machine = Machine(program, hardware, *arena, outside)
        accountant = Accountant(program, cost_table(hardware.name), machine.read_code)
        counter = EdgeCounter(machine)
        calls = self._calls_on(machine)
        machine.reset()
        self._hand_over(machine)
        totals, statuses = [], [0]

        def counted(function: str, arguments: list[int]) -> None:
            counts = counter.begin()
            statuses.append(machine.call(function, arguments, 600.0))
            counter.end()
            totals.append(accountant.settle(counts).total.instructions)

        for function, arguments in self._sequence(calls, statuses):
            counted(function, arguments)
        counted(f"{self.manifest.name}_check", [])
        assert statuses[-1] == 0, "the constants are whole"
        return totals


def draw_flip(bundle: FaultyBundle | BoardBundle, seed: int) -> Flip:
    """A bit of the next kind, at any instruction of the run."""
    random = np.random.default_rng(seed)
    kinds = bundle.kinds
    kind = kinds[seed % len(kinds)]
    when = int(random.integers(bundle.instructions))
    return Flip(kind, when, int(random.integers(1 << 40)))


@dataclass(frozen=True)
class Ran:
    """What became of `seeds`, of the program with `digest`."""

    digest: str
    instructions: int
    constants_bytes: int
    seeds: range
    outcomes: tuple[Outcome, ...]


def run_seeds(case: Case, seeds: range) -> Ran:
    """Compile the case anew and run all seeds."""
    with tempfile.TemporaryDirectory(prefix="glowmcu-faults-") as work:
        bundle = built(case.core, case.compile(Path(work)).path)
        outcomes = tuple(bundle.runs([draw_flip(bundle, seed) for seed in seeds]))
    size = sum(bundle.bytes_of(kind) for kind in ("weights", "parameters"))
    return Ran(bundle.digest, bundle.instructions, size, seeds, outcomes)


def built(core_name: str, folder: Path) -> FaultyBundle | BoardBundle:
    """A bundle where its core is modelled: Unicorn, and QEMU's board for a core with Helium."""
    if core(core_name).unicorn_model is None:
        return BoardBundle(core_name, folder)
    return FaultyBundle(core_name, folder)
