"""How a firmware talks to the outside: the C files that do it and the macros they need."""

from __future__ import annotations

from glowmcu.board import RegisterWrite, SerialTarget
from glowmcu.lazy_dataclass import dataclass

# Where Renode maps the inputs of a run: external RAM in every Cortex-M's default memory map, used
# by none of the boards here.
UART_INPUTS_ORIGIN = 0x98000000


@dataclass(frozen=True)
class Port:
    """`sources` are names in `templates/firmware/`; `defines` go to the compiler.

    A port that `serves` takes inferences from a computer again and again; `setup` is done before.
    """

    sources: tuple[str, ...]
    defines: tuple[str, ...] = ()
    serves: bool = False
    setup: tuple[RegisterWrite, ...] = ()


SEMIHOSTING = Port(("port_semihosting.c", "measure_systick.c"))
SEMIHOSTING_RISCV = Port(("port_semihosting.c", "measure_instret.c"))


def uart_port(uart_kind: str, uart_origin: int, inputs_origin: int = UART_INPUTS_ORIGIN) -> Port:
    """Inputs from memory at `inputs_origin`, everything else over the UART at `uart_origin`."""
    return Port(
        ("port_uart.c", f"uart_{uart_kind}.c", "measure_marks.c"),
        (f"UART_BASE=0x{uart_origin:08X}u", f"PORT_INPUTS=0x{inputs_origin:08X}u"),
    )


def serial_port(target: SerialTarget) -> Port:
    """Everything over the UART of a board that a computer is connected to."""
    return Port(
        ("port_serial.c", f"uart_{target.uart_kind}.c", "measure_cycles.c"),
        (f"UART_BASE=0x{target.uart_origin:08X}u", f"UART_DIVISOR=0x{target.divisor:X}u"),
        serves=True,
        setup=target.setup,
    )
