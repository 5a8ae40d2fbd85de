"""The `qemu` executor: a bundle on a whole emulated board: MPS2, MPS3, micro:bit; RISC-V's virt.

One boot runs all inferences. With `-icount shift=0` each instruction takes one nanosecond of the
board's time, so the core's own timer counts executed instructions; two calls of known length turn
ticks into instructions, whatever the clock of the machine. RISC-V counts instructions itself.
QEMU models no cycles.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from glowmcu import installation
from glowmcu.board import Board, find_board
from glowmcu.cores import Core, core
from glowmcu.errors import error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest, read_manifest
from glowmcu.verify import toolchain
from glowmcu.verify.firmware import (
    SEMIHOSTING,
    SEMIHOSTING_RISCV,
    Console,
    Firmware,
    Record,
    build_firmware,
    pack_inputs,
    read_console,
    unpack_outputs,
)
from glowmcu.verify.firmware.console import firmware_failure
from glowmcu.verify.measurement import Array, Measurement
from glowmcu.verify.time_limits import run_seconds

QEMU = "qemu-system-arm"
QEMU_RISCV = "qemu-system-riscv32"
_POLL_INSTRUCTIONS = 4  # of the loop in templates/firmware/measure_systick.c
_WRAP_TICKS = 1 << 24


@dataclass(frozen=True)
class Qemu:
    """Runs bundles on an emulated machine, fulfilling `Executor`.

    `board` replaces the one in the manifest. `machine` is a board of QEMU's (`mps3-an547`): the
    bundle is then compiled for its core. `keep` is a folder where firmware, inputs, outputs and
    console stay for inspection. `timeout_seconds` of this computer's time follow from the bundle
    where they are not given.
    """

    board: Board | None = None
    machine: str | None = None
    timeout_seconds: float | None = None
    keep: Path | None = None
    name: str = "qemu"

    def missing(self) -> str | None:
        """What has to be installed before this executor works here, or None."""
        board = find_board(self.machine) if self.machine else self.board
        return _missing_for(core(board.core if board else "generic"))

    def run(self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]) -> list[Measurement]:
        """One boot, one inference for each entry of `inputs`; instructions and stack are measured.

        Raises GM604 (inputs), GM641 (no QEMU machine), GM642 (fault or broken guard on the target),
        GM643 (time is up), GM644 (QEMU itself failed), GM401 (does not fit), GM61x (build).
        """
        manifest = read_manifest(bundle_dir)
        pack_inputs(manifest, inputs)  # wrong ones are found before anything is built
        if not inputs:
            return []
        with tempfile.TemporaryDirectory(prefix="glowmcu_qemu_") as scratch:
            folder = self.keep or Path(scratch)
            firmware = self.build(bundle_dir, manifest, folder)
            console, outputs = self.boot(manifest, firmware, folder, inputs)
        costs = executed_instructions(console)
        return [
            Measurement(arrays, instructions, None, call.values["stack"])
            for arrays, instructions, call in zip(
                outputs,
                costs,
                console.inference_calls(),
                strict=True,
            )
        ]

    def build(
        self,
        bundle_dir: Path,
        manifest: Manifest,
        folder: Path,
        force_include: Sequence[Path] = (),
        flags: Sequence[str] = (),
    ) -> Firmware:
        """The firmware of a bundle for the machine, in `folder`, with headers that every source
        begins with and `flags` more for the compiler; errors as of `run`.
        """
        hardware, target = self.target(manifest)
        lacking = _missing_for(target)
        if lacking:
            raise error("GM645", "the qemu executor does not work here", hint=lacking)
        port = SEMIHOSTING_RISCV if target.is_riscv else SEMIHOSTING
        return build_firmware(
            bundle_dir, manifest, hardware, target, port, folder, force_include, flags
        )

    def boot(
        self,
        manifest: Manifest,
        firmware: Firmware,
        folder: Path,
        inputs: Sequence[Sequence[Array]],
        options: Sequence[str] = (),
        pass_fds: Sequence[int] = (),
    ) -> tuple[Console, list[tuple[Array, ...]]]:
        """Run the firmware once, with `options` of QEMU's and open files that these name: what it
        printed, and the outputs of each inference; errors as of `run`.
        """
        (folder / "inputs.bin").write_bytes(pack_inputs(manifest, inputs))
        hardware, target = self.target(manifest)
        limit = self.timeout_seconds
        if limit is None:
            limit = run_seconds(manifest, target.name, len(inputs))
        console = self._boot(hardware, firmware.elf, folder, limit, options, pass_fds)
        assert console.inferences == len(inputs), "the firmware ended early without saying so"
        outputs = (folder / "outputs.bin").read_bytes()
        return console, unpack_outputs(manifest, outputs, inputs)

    def target(self, manifest: Manifest) -> tuple[Board, Core]:
        """The machine as a board with its memory map, and the core to compile for."""
        if self.machine is not None:
            hardware = find_board(self.machine)
            if hardware.qemu is None or hardware.qemu.machine != hardware.name:
                raise _no_machine(hardware)
            return hardware, core(hardware.core)
        board = self.board or find_board(manifest.board)
        if board.qemu is None:
            raise _no_machine(board)
        return find_board(board.qemu.machine), core(board.core)

    def _boot(
        self,
        hardware: Board,
        elf: Path,
        folder: Path,
        limit: float,
        options: Sequence[str],
        pass_fds: Sequence[int],
    ) -> Console:
        qemu, machine = _qemu(core(hardware.core)), hardware.name
        command = [
            *(qemu, "-machine", machine, "-kernel", str(elf.resolve())),
            *(("-bios", "none") if qemu == QEMU_RISCV else ()),
            *("-icount", "shift=0", "-semihosting-config", "enable=on,target=native"),
            *("-display", "none", "-monitor", "none", "-serial", "none", "-no-reboot"),
            *options,
        ]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=limit,
                pass_fds=pass_fds,
                check=False,
            )
        except subprocess.TimeoutExpired as cause:
            raw: bytes | str = cause.stdout or b""  # bytes even in text mode
            printed = raw.decode(errors="replace") if isinstance(raw, bytes) else raw
            raise _time_is_up(qemu, limit, read_console(printed), machine) from cause
        (folder / "console.txt").write_text(done.stdout, encoding="utf-8")
        console = read_console(done.stdout)
        if console.failure:
            raise firmware_failure(console, f"QEMU machine {machine}")
        if done.returncode != 0 or console.inferences is None:
            last = "\n    ".join(done.stdout.strip().splitlines()[-6:])
            message = f"{qemu} stopped with exit code {done.returncode}:\n    {last}"
            raise error("GM644", message, f"QEMU machine {machine}")
        return console


def _qemu(target: Core) -> str:
    return QEMU_RISCV if target.is_riscv else QEMU


def _missing_for(target: Core) -> str | None:
    qemu = _qemu(target)
    if shutil.which(qemu) is None:
        tool = installation.QEMU_RISCV if qemu == QEMU_RISCV else installation.QEMU_ARM
        return f"{qemu} is not on PATH: {tool.advice}"
    return toolchain.missing(target.flags)


def executed_instructions(console: Console) -> list[int]:
    """Instructions of each inference, from entry to return; right to within a few.

    A tick is worth `ratio` instructions: the loop of known length says how many.
    """
    empty, loop = console.call("empty"), console.call("loop")
    polled = _POLL_INSTRUCTIONS * (loop.values["polls"] - empty.values["polls"])
    known = loop.number - empty.number + polled
    ratio = _nearest_clock(known / (_ticks(loop) - _ticks(empty)))
    results = []
    for call in console.inference_calls():
        polls = call.values["polls"] - empty.values["polls"]
        ticks = _ticks(call) - _ticks(empty)
        results.append(round(ticks * ratio - _POLL_INSTRUCTIONS * polls) + empty.number)
    return results


def _nearest_clock(ratio: float) -> float:
    """Instructions a tick, given that QEMU's machines run at a multiple of 250 kHz."""
    clock = 1e9 / ratio
    nearest = round(clock / 250e3) * 250e3
    return 1e9 / nearest if abs(clock / nearest - 1) < 1e-4 else ratio


def _ticks(call: Record) -> int:
    return call.values["wraps"] * _WRAP_TICKS + call.values["ticks"]


def _no_machine(board: Board) -> Exception:
    hint = 'add [qemu] machine = "mps2-an386" to the board\'s file, or use --on cortex-m'
    return error("GM641", f"{board.name} is no machine of QEMU's and names none", hint=hint)


def _time_is_up(qemu: str, seconds: float, console: Console, machine: str) -> Exception:
    done = len(console.inference_calls())
    message = f"{qemu} ran longer than {seconds:g} s; {done} inferences were finished"
    hint = "give fewer inputs at once or a longer time; an endless loop looks like this, too"
    return error("GM643", message, f"QEMU machine {machine}", hint)
