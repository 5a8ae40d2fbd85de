"""The kernel that selection chose for each layer of a compilation, as data for reports."""

from __future__ import annotations

from glowmcu.bundle import KernelOption, LayerChoice
from glowmcu.compilation import Compilation
from glowmcu.kernels.kernel import Cost


def kernel_choices(compilation: Compilation) -> tuple[LayerChoice, ...]:
    """One entry per step of the program, in its order."""
    choices = []
    for index, run in enumerate(compilation.plan.program.runs):
        item = compilation.selections[run.node]
        others = sorted(item.alternatives, key=lambda other: (other[1].cycles, other[0]))
        choices.append(
            LayerChoice(
                index,
                run.node.name,
                run.node.op.name,
                _option(item.kernel_name, item.cost),
                tuple(_option(name, cost) for name, cost in others),
            )
        )
    return tuple(choices)


def _option(kernel: str, cost: Cost) -> KernelOption:
    return KernelOption(
        kernel,
        round(cost.cycles),
        cost.code_bytes + cost.layer_code_bytes,
        cost.flash_bytes,
        cost.scratch_bytes,
        (cost.code_key or kernel) if cost.code_bytes else "",
    )
