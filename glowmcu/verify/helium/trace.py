"""Every instruction of an inference in QEMU, in order, from its log of what it executes.

QEMU is asked to translate one instruction at a time, so each line of the log is one. The loop of
known length that calibrates the timer is left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest
from glowmcu.verify.cortex_m.elf import Function, Program
from glowmcu.verify.firmware import Console, Firmware
from glowmcu.verify.measurement import Array
from glowmcu.verify.qemu import QEMU, Qemu

Addresses = npt.NDArray[np.uint32]

#: host pointer [segment base / address of the instruction / flags / …], 8 or 16 digits
_EXECUTED = re.compile(rb"\[[0-9a-f]+/[0-9a-f]*?([0-9a-f]{8})/")
_CHUNK_BYTES = 1 << 20
_UNCOUNTED = ("calibrate_empty", "calibrate_loop")
_INTERRUPT = "systick_handler"
_MEASURING = "measure"


@dataclass(frozen=True)
class Traced:
    """`runs` = addresses of the instructions of each inference, as they were executed."""

    console: Console
    outputs: list[tuple[Array, ...]]
    runs: list[Addresses]


def trace(
    qemu: Qemu,
    manifest: Manifest,
    firmware: Firmware,
    program: Program,
    folder: Path,
    inputs: Sequence[Sequence[Array]],
) -> Traced:
    """Boot `firmware`, which is `program`, with every executed instruction written down. Raises as
    `Qemu.run` does.
    """
    reading, writing = os.pipe()
    read: list[Addresses] = []
    reader = threading.Thread(target=_read_log, args=(reading, read), daemon=True)
    reader.start()
    options = (*_one_by_one(), "-d", "exec,nochain", "-dfilter", _filter(program))
    try:
        console, outputs = qemu.boot(
            manifest, firmware, folder, inputs, (*options, "-D", f"/dev/fd/{writing}"), [writing]
        )
    finally:
        os.close(writing)
        reader.join()
    executed = np.concatenate([np.empty(0, np.uint32), *read])
    runs = _inferences(executed, program, manifest.entry_points[-1])
    assert len(runs) == len(inputs), "the log does not show every inference"
    return Traced(console, outputs, runs)


def _read_log(descriptor: int, into: list[Addresses]) -> None:
    """Addresses from the log until its end."""
    rest = b""
    with open(descriptor, "rb", buffering=0) as log:
        while chunk := log.read(_CHUNK_BYTES):
            data = rest + chunk
            cut = data.rfind(b"\n") + 1
            digits = b"".join(_EXECUTED.findall(data, 0, cut))
            into.append(np.frombuffer(bytes.fromhex(digits.decode()), ">u4").astype(np.uint32))
            rest = data[cut:]


@cache
def _one_by_one() -> tuple[str, ...]:
    """QEMU's option for one instruction at a time; 8.1 gave it another name."""
    done = subprocess.run(
        [QEMU, "--version"], capture_output=True, text=True, errors="replace", check=False
    )
    found = re.search(r"version (\d+)\.(\d+)", done.stdout)
    if found is not None and (int(found[1]), int(found[2])) >= (8, 1):
        return ("-accel", "tcg,one-insn-per-tb=on")
    return ("-singlestep",)


def _filter(program: Program) -> str:
    """Ranges of code for the log: all but what calibrates."""
    functions = [item for item in program.functions if item.size_bytes]
    left_out = [item for item in functions if item.name in _UNCOUNTED]
    first, last = functions[0].address, _end(functions[-1])
    without, after = min(item.address for item in left_out), max(_end(item) for item in left_out)
    return f"{first:#x}..{without - 1:#x},{after:#x}..{last - 1:#x}"


def _end(function: Function) -> int:
    return function.address + function.size_bytes


def _inferences(executed: Addresses, program: Program, entry: str) -> list[Addresses]:
    """From each call of `entry` to where the firmware goes on; the timer's interrupt left out."""
    interrupt = _within(executed, program, _INTERRUPT)
    executed = executed[~interrupt]
    # Where its time slice ends before an instruction, QEMU writes that down and then once more.
    executed = executed[np.append(True, executed[1:] != executed[:-1])]
    entered = np.flatnonzero(executed == program.address_of(entry))
    outside = np.flatnonzero(_within(executed, program, _MEASURING, "run"))
    runs: list[Addresses] = []
    done = 0
    for start in entered:
        if start < done:
            continue
        found = np.searchsorted(outside, start)
        done = int(outside[found]) if found < len(outside) else len(executed)
        runs.append(executed[start:done])
    return runs


def _within(executed: Addresses, program: Program, *names: str) -> npt.NDArray[np.bool_]:
    inside = np.zeros(len(executed), np.bool_)
    for function in program.functions:
        if function.name in names:
            inside |= (executed >= function.address) & (executed < _end(function))
    return inside
