"""A bare-metal image around a bundle: startup, linker script, a main that runs and measures it.

`build_firmware` for an ELF to run in an emulator; `write_firmware` for its sources alone. What the
image prints is read by `read_console`.
"""

from glowmcu.verify.firmware.build import (
    Firmware,
    build_firmware,
    firmware_files,
    write_firmware,
)
from glowmcu.verify.firmware.console import Console, Record, read_console
from glowmcu.verify.firmware.port import (
    SEMIHOSTING,
    SEMIHOSTING_RISCV,
    Port,
    serial_port,
    uart_port,
)
from glowmcu.verify.firmware.tensors import pack_inputs, unpack_outputs
from glowmcu.verify.firmware.view import FirmwareView, firmware_view

__all__ = [
    "SEMIHOSTING",
    "SEMIHOSTING_RISCV",
    "Console",
    "Firmware",
    "FirmwareView",
    "Port",
    "Record",
    "build_firmware",
    "firmware_files",
    "firmware_view",
    "pack_inputs",
    "read_console",
    "serial_port",
    "uart_port",
    "unpack_outputs",
    "write_firmware",
]
