"""Selection: for every node the cheapest variant that accepts it, by the user's goal."""

from __future__ import annotations

from dataclasses import dataclass

from glowmcu.errors import ExitCode, GlowmcuError, Problem
from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.operation import Constant
from glowmcu.kernels.kernel import Cost, Kernel, KernelCode, Target, load_kernels, site_of


@dataclass(frozen=True)
class Selection:
    """The variant chosen for a node, its cost, and the ones that were possible too."""

    node: Node
    kernel: Kernel
    cost: Cost
    code: KernelCode
    alternatives: tuple[tuple[str, Cost], ...]

    @property
    def kernel_name(self) -> str:
        return self.kernel.name

    @property
    def operands(self) -> tuple[int, ...]:
        """Node inputs that the kernel reads through pointers."""
        return self.code.operands

    @property
    def scratch_bytes(self) -> int:
        return self.code.scratch_bytes

    @property
    def operand_align(self) -> int:
        return self.code.operand_align


def select_kernels(graph: Graph, target: Target) -> dict[Node, Selection]:
    """A variant for every node that computes. Raises GM501 naming all nodes that have none."""
    table = load_kernels()
    chosen: dict[Node, Selection] = {}
    problems: list[Problem] = []
    for node in graph.nodes:
        if isinstance(node.op, Constant) or node.op.aliases(node.signature):
            continue
        site = site_of(graph, node)
        candidates = [
            (variant, variant.cost(site, target))
            for variant in table.get(type(node.op), ())
            if variant.accepts(site, target)
        ]
        if not candidates:
            problems.append(_no_kernel(node))
            continue
        variant, cost = min(candidates, key=lambda item: (_weight(item[1], target), item[0].name))
        try:
            code = variant.generate(site, target)
        except GlowmcuError as cause:
            problems.extend(cause.problems)
            continue
        others = tuple((other.name, price) for other, price in candidates if other is not variant)
        chosen[node] = Selection(node, variant, cost, code, others)
    if problems:
        raise GlowmcuError(problems, ExitCode.UNSUPPORTED)
    return chosen


#: Bytes are worth this many cycles when both count.
_CYCLES_PER_BYTE = {Goal.BALANCED: 10.0, Goal.SPEED: 0.01, Goal.SIZE: 1e6, Goal.RAM: 10.0}


def _weight(cost: Cost, target: Target) -> float:
    flash_bytes = cost.code_bytes + cost.flash_bytes
    ram_weight = 1e6 if target.goal is Goal.RAM else _CYCLES_PER_BYTE[target.goal]
    return (
        cost.cycles + _CYCLES_PER_BYTE[target.goal] * flash_bytes + ram_weight * cost.scratch_bytes
    )


def _no_kernel(node: Node) -> Problem:
    types = ", ".join(str(type_) for type_ in node.signature.inputs)
    return Problem(
        "GM501",
        f"no kernel computes {node.op.name} on {types} -> {node.signature.output}",
        f'{node.source} "{node.name}"',
        "int8 is supported throughout; other element types only where `glowmcu ops` says so",
    )
