"""Which kernels were chosen, what else was possible, and what it would cost."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from glowmcu.bundle import KernelOption, LayerChoice
from glowmcu.report.tables import count, plain_table

_HEADINGS = ("cycles", "code B", "flash B", "scratch B")


def _numbers(option: KernelOption) -> tuple[str, ...]:
    shared = "" if option.function or not option.code_bytes else " own"
    return (
        count(option.cycles),
        f"{count(option.code_bytes)}{shared}",
        count(option.flash_bytes),
        count(option.scratch_bytes),
    )


def _slower(option: KernelOption, chosen: KernelOption) -> str:
    """How many times the chosen kernel's cycles."""
    return f"{option.cycles / max(chosen.cycles, 1):.2f}x"


def choice_table(choices: Sequence[LayerChoice]) -> Table:
    """A row a possible kernel, the chosen one of each layer first and bold."""
    table = plain_table(
        "kernels: estimates for one inference",
        ("step", "r"), ("kernel", "l"), *((heading, "r") for heading in _HEADINGS), ("", "r"),
        ("layer", "l"),
    )  # fmt: skip
    for choice in choices:
        table.add_row(
            str(choice.index), choice.chosen.kernel, *_numbers(choice.chosen), "",
            escape(choice.name), style="bold",
        )  # fmt: skip
        for option in choice.others:
            table.add_row("", option.kernel, *_numbers(option), _slower(option, choice.chosen), "")
    return table
