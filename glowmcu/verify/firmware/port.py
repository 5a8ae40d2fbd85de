"""How a firmware talks to the outside: the C files that do it and the macros they need."""

from __future__ import annotations

from dataclasses import dataclass

# Where Renode maps the inputs of a run: external RAM in every Cortex-M's default memory map, used
# by none of the boards here.
UART_INPUTS_ORIGIN = 0x98000000


@dataclass(frozen=True)
class Port:
    """`sources` are names in `templates/firmware/`; `defines` go to the compiler."""

    sources: tuple[str, ...]
    defines: tuple[str, ...] = ()


SEMIHOSTING = Port(("port_semihosting.c", "measure_systick.c"))
SEMIHOSTING_RISCV = Port(("port_semihosting.c", "measure_instret.c"))


def uart_port(uart_kind: str, uart_origin: int, inputs_origin: int = UART_INPUTS_ORIGIN) -> Port:
    """Inputs from memory at `inputs_origin`, everything else over the UART at `uart_origin`."""
    return Port(
        ("port_uart.c", f"uart_{uart_kind}.c", "measure_marks.c"),
        (f"UART_BASE=0x{uart_origin:08X}u", f"PORT_INPUTS=0x{inputs_origin:08X}u"),
    )
