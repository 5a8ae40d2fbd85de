"""A board behind a serial port, for tests: QEMU's UART, or a program of the test's, at the far end
of a pseudo-terminal, and somebody in between who may lose, damage or cut what passes.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import threading
import tty
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glowmcu.board import Board, find_board
from glowmcu.cores import core
from glowmcu.errors import GlowmcuError
from glowmcu.manifest import read_manifest
from glowmcu.verify.firmware import build_firmware, serial_port
from glowmcu.verify.qemu import QEMU, QEMU_RISCV, Qemu
from glowmcu.verify.serial import SerialBoard, SerialPlace
from glowmcu.verify.serial.frames import Decoder
from tests.verify.tiny_bundle import expected_output, random_inputs

#: What passes on for some bytes; `to_board` says which way they go.
Meddle = Callable[[bytes, bool], bytes]


def unchanged(data: bytes, to_board: bool) -> bytes:
    return data


class Wire:
    """A pseudo-terminal whose far end is `far`; `port` is the name that programs open."""

    def __init__(self, far: socket.socket, meddle: Meddle = unchanged) -> None:
        self._far = far
        self._meddle = meddle
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.port = os.ttyname(self._slave)
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._is_open = True
        self._pump = threading.Thread(target=self._pass_on, daemon=True)
        self._pump.start()

    def _pass_on(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while not self._stop.is_set():
                ready, _, _ = select.select([self._master, self._far], [], [], 0.02)
                if self._master in ready:
                    self._far.sendall(self._meddle(os.read(self._master, 4096), True))
                if self._far in ready:
                    came = self._far.recv(4096)
                    if not came:
                        return
                    os.write(self._master, self._meddle(came, False))

    def unplug(self) -> None:
        """As if the adapter were pulled out."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                self._stop.set()
                if threading.current_thread() is not self._pump:
                    self._pump.join()
                os.close(self._slave)
                os.close(self._master)


@contextlib.contextmanager
def wire_to(answer: Callable[[bytes], bytes]) -> Iterator[Wire]:
    """A wire to a board that sends what `answer` makes of each piece."""
    near, far = socket.socketpair()

    def serve() -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(4096):
                far.sendall(answer(data))

    threading.Thread(target=serve, daemon=True).start()
    wire = Wire(near)
    try:
        yield wire
    finally:
        wire.unplug()
        near.close()
        far.close()


class Emulated:
    """A running machine; `run_on` gives its executor, `reset` presses its button."""

    def __init__(self, wire: Wire, monitor: socket.socket, board: Board) -> None:
        self.wire = wire
        self.board = board
        self._monitor = monitor

    def run_on(self, run_seconds: float = 30.0) -> SerialBoard:
        return SerialBoard(SerialPlace(self.wire.port, 115_200), self.board, run_seconds)

    def reset(self) -> None:
        self._monitor.sendall(b"system_reset\n")


@contextlib.contextmanager
def emulated(
    bundle: Path,
    work: Path,
    machine: str = "mps2-an386",
    board: Board | None = None,
    meddle: Meddle = unchanged,
) -> Iterator[Emulated]:
    """The test firmware of `bundle` on a machine of QEMU's, with its UART as a serial port."""
    hardware = board or find_board(machine)
    assert hardware.serial is not None
    elf = build_firmware(
        bundle, read_manifest(bundle), hardware, core(hardware.core),
        serial_port(hardware.serial), work / "firmware",
    ).elf  # fmt: skip
    with running(elf, work, machine, hardware, meddle) as found:
        yield found


@contextlib.contextmanager
def running(
    elf: Path, work: Path, machine: str, board: Board, meddle: Meddle = unchanged
) -> Iterator[Emulated]:
    """`elf` on the machine."""
    is_riscv = core(board.core).is_riscv
    # Pairs of sockets, since the name of one in the file system has 107 characters at most.
    pairs = uart, monitor = [socket.socketpair() for _ in range(2)]
    command = [
        QEMU_RISCV if is_riscv else QEMU, "-machine", machine, "-kernel", str(elf),
        *(("-bios", "none") if is_riscv else ()), "-display", "none", "-icount", "shift=0",
        "-chardev", f"socket,id=uart,fd={uart[1].fileno()}", "-serial", "chardev:uart",
        "-chardev", f"socket,id=monitor,fd={monitor[1].fileno()}", "-mon", "chardev=monitor",
    ]  # fmt: skip
    with contextlib.ExitStack() as stack:
        for end in (end for pair in pairs for end in pair):
            stack.enter_context(end)
        far = [pair[1].fileno() for pair in pairs]
        process = stack.enter_context(
            subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=far)
        )
        stack.callback(process.kill)
        wire = Wire(uart[0], meddle)
        stack.callback(wire.unplug)
        yield Emulated(wire, monitor[0], board)


NO_QEMU = Qemu(machine="mps2-an386").missing()
on_qemu = pytest.mark.parametrize(
    "marked",
    [pytest.param(None, id="", marks=[
        pytest.mark.qemu, pytest.mark.skipif(NO_QEMU is not None, reason=str(NO_QEMU)),
    ])],
)  # fmt: skip


def check(found: Emulated, bundle: Path, count: int = 3, seed: int = 0) -> None:
    """That the board computes what the bundle means."""
    inputs = random_inputs(count, seed)
    results = found.run_on().run(bundle, inputs)
    for result, arrays in zip(results, inputs, strict=True):
        np.testing.assert_array_equal(result.outputs[0], expected_output(arrays[0]))


def refused(found: Emulated, bundle: Path, code: str, run_seconds: float = 30.0) -> str:
    """The message of a run that fails with `code`."""
    with pytest.raises(GlowmcuError) as caught:
        found.run_on(run_seconds).run(bundle, random_inputs(3))
    assert caught.value.code == code, str(caught.value)
    return str(caught.value)


class OnFrame:
    """Does something at the `count`th whole frame of a kind; `lost` says whether it passes."""

    def __init__(self, kind: str, count: int, lost: bool, then: Any = None) -> None:
        self.kind, self.count, self.lost, self.then = kind, count, lost, then
        self._decoders = {True: Decoder(), False: Decoder()}

    def __call__(self, data: bytes, to_board: bool) -> bytes:
        for frame in self._decoders[to_board].feed(data):
            if frame.kind == self.kind:
                self.count -= 1
                if self.count == 0:
                    if self.then is not None:
                        self.then()
                    return b"" if self.lost else data
        return data
