"""The `riscv` executor: the cross-compiled bundle on an emulated core, with modelled cycles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from glowmcu.manifest import Manifest
from glowmcu.verify.cortex_m.attribution import Account, Accountant
from glowmcu.verify.cortex_m.costs import Flash
from glowmcu.verify.cortex_m.counting import Counts
from glowmcu.verify.cortex_m.decode import Instruction
from glowmcu.verify.cortex_m.elf import Program
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.cortex_m.machine import Machine
from glowmcu.verify.riscv.branches import waits_between_blocks
from glowmcu.verify.riscv.costs import Pipeline, pipeline
from glowmcu.verify.riscv.decode import Decoder
from glowmcu.verify.riscv.machine import RiscvMachine


class RiscvAccountant(Accountant):
    """Costs the runs of one program by `table`."""

    def __init__(
        self,
        program: Program,
        table: Pipeline,
        read_code: Callable[[int, int], bytes],
        flash: Flash | None = None,
    ) -> None:
        super().__init__(program, table, read_code, flash, Decoder())
        self._pipeline = table
        self._known: dict[int, tuple[Instruction, ...]] = {}

    def settle(self, counts: Counts) -> Account:
        """The costs of one run."""

        def block(address: int) -> tuple[Instruction, ...]:
            if address not in self._known:
                code = self._read_code(address, counts.sizes[address])
                known = self._decoder.block(code, address) if self._is_code(address) else ()
                self._known[address] = known
            return self._known[address]

        waits = {step: dict(reads) for step, reads in counts.read_waits.items()}
        for step, edges in counts.edges.items():
            found = waits_between_blocks(self._pipeline, edges, counts.sizes, block)
            own = waits.setdefault(step, {})
            for address, cycles in found.items():
                own[address] = own.get(address, 0) + cycles
        return super().settle(replace(counts, read_waits=waits))


class RiscV(CortexM):
    """Runs bundles on the RISC-V core `core_name`; parameters are those of `CortexM`."""

    name = "riscv"

    def _machine(self, program: Program, manifest: Manifest) -> Machine:
        external = [(entry.bytes, entry.outside_align) for entry in manifest.external]
        arena = manifest.arena_bytes, manifest.arena_align
        return RiscvMachine(program, self._core, *arena, external, self._check_alignment)

    def _accountant(self, program: Program, machine: Machine, flash: Flash) -> Accountant:
        return RiscvAccountant(program, pipeline(self._core.name), machine.read_code, flash)
