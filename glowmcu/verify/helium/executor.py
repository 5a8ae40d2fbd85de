"""The modelled core of what Unicorn cannot execute: QEMU's machine, and a table of costs."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from glowmcu.board import Board
from glowmcu.cores import Core
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest, read_manifest
from glowmcu.verify.cortex_m.attribution import Account
from glowmcu.verify.cortex_m.build import MARKERS
from glowmcu.verify.cortex_m.elf import Program, read_program
from glowmcu.verify.cortex_m.executor import DetailedMeasurement
from glowmcu.verify.firmware import Firmware
from glowmcu.verify.helium.accounting import Accounting
from glowmcu.verify.helium.costs import HELIUM_COSTS, HeliumCosts
from glowmcu.verify.helium.instructions import disassemble
from glowmcu.verify.helium.timing import Timing
from glowmcu.verify.helium.trace import Traced, trace
from glowmcu.verify.measurement import Array, LayerCost, Measurement
from glowmcu.verify.qemu import Qemu


@dataclass(frozen=True)
class HeliumCore:
    """Runs bundles on QEMU's Cortex-M55, with instructions and modelled cycles of every layer.

    `core` is the one whose costs count, if no others are given; memories answer at once. With
    `count=False` only outputs, instructions and stack are found. With `debug_lines` the program
    knows the C line of every address. Errors are those of `Qemu`.
    """

    core: Core
    board: Board | None = None
    machine: str | None = None
    count: bool = True
    debug_lines: bool = False
    name: str = "cortex-m"
    costs: HeliumCosts | None = None

    def missing(self) -> str | None:
        """What has to be installed before this executor works here, or None."""
        return self._qemu().missing()

    def run(self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]) -> list[Measurement]:
        """One boot, one inference for each entry of `inputs`. Raises as `Qemu.run` does."""
        if not self.count:
            return self._qemu().run(bundle_dir, inputs)
        return [found.measurement for found in self.measure(bundle_dir, inputs)]

    def measure(
        self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]
    ) -> list[DetailedMeasurement]:
        """As `run`, with the costs of every step and block."""
        manifest = read_manifest(bundle_dir)
        if not inputs:
            return []
        with tempfile.TemporaryDirectory(prefix="glowmcu_helium_") as scratch:
            shipped, marked = (
                self._build(bundle_dir, manifest, Path(scratch) / kind, text)
                for kind, text in (("shipped", ""), ("marked", MARKERS))
            )
            same = shipped.program.same_code(marked.program)
            with_layers = self._ran(manifest, marked, inputs)
            as_shipped = with_layers if same else self._ran(manifest, shipped, inputs)
        return [
            self._detailed(manifest, as_shipped, with_layers, index) for index in range(len(inputs))
        ]

    def _qemu(self) -> Qemu:
        return Qemu(board=self.board, machine=self.machine)

    def _build(self, bundle_dir: Path, manifest: Manifest, folder: Path, markers: str) -> _Built:
        folder.mkdir()
        header = folder / "markers.h"
        header.write_text(markers, encoding="utf-8")
        firmware = self._qemu().build(
            bundle_dir, manifest, folder, [header], ("-g1",) if self.debug_lines else ()
        )
        return _Built(folder, firmware, read_program(firmware.elf))

    def _ran(self, manifest: Manifest, built: _Built, inputs: Sequence[Sequence[Array]]) -> _Ran:
        code = disassemble(built.firmware.elf, self.core)
        accounting = Accounting(
            built.program, code, Timing(self.costs or HELIUM_COSTS[self.core.name])
        )
        traced = trace(self._qemu(), manifest, built.firmware, built.program, built.folder, inputs)
        accounts = [accounting.settle(run) for run in traced.runs]
        return _Ran(built.program, traced, accounts)

    def _detailed(
        self, manifest: Manifest, shipped: _Ran, marked: _Ran, index: int
    ) -> DetailedMeasurement:
        account, total = marked.accounts[index], shipped.accounts[index].total
        layers = []
        for layer in manifest.layers:
            cost = account.cost_of_step(layer.index)
            layers.append(LayerCost(layer.index, layer.name, cost.instructions, cost.cycles))
        call = shipped.traced.console.inference_calls()[index]
        measurement = Measurement(
            shipped.traced.outputs[index],
            total.instructions,
            total.cycles,
            call.values["stack"],
            tuple(layers),
            is_laid_out_otherwise=shipped is not marked,
        )
        return DetailedMeasurement(measurement, account, shipped is not marked, marked.program)


@dataclass(frozen=True)
class _Built:
    """A firmware in its folder."""

    folder: Path
    firmware: Firmware
    program: Program


@dataclass(frozen=True)
class _Ran:
    """A firmware that has run, and what each inference cost."""

    program: Program
    traced: Traced
    accounts: list[Account]
