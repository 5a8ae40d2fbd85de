"""Kernels and plans for the bodies of branches, loops and regions of an accelerator: programs in a
scratch of their own.

The graph around sees an instruction with operands, results and scratch. The scratch is the arena of
the body, at one offset; only one branch runs, so that both lie in the same bytes. A body reads its
operands where they are. What a loop carries are states of its body, updated in place. A region is
planned for what stands in for the accelerator: portable kernels, which need no scratch; they make
its results where these belong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from glowmcu.cores import core
from glowmcu.goals import Goal
from glowmcu.ir.body import with_carried
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Rounding
from glowmcu.kernels.common.hooks import HOOKED
from glowmcu.kernels.kernel import Cost, Target
from glowmcu.kernels.selection.select import BodyPlan, Selection, code_bytes, select_kernels
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.planner import aligned, plan_memory
from glowmcu.ops.control_flow import If, Loop
from glowmcu.ops.delegate import Delegate, EthosU

#: A call, and in a loop whether to go on.
_TRIP_CYCLES = 15.0


@dataclass(frozen=True)
class BodyPlanner:
    """Plans the bodies of each node once; `target` and `rounding` are those of the whole graph."""

    target: Target
    rounding: Rounding
    _known: dict[Node, Selection] = field(default_factory=dict, repr=False)

    def with_bodies(self, selections: Mapping[Node, Selection]) -> dict[Node, Selection]:
        """The selections, of which those of branches and loops know their bodies."""
        return {node: self._planned(node, chosen) for node, chosen in selections.items()}

    def _planned(self, node: Node, chosen: Selection) -> Selection:
        op = node.op
        if not isinstance(op, If | Loop | Delegate):
            return chosen
        if node not in self._known:
            if isinstance(op, Delegate):
                self._known[node] = _with_region(op, chosen, self._plan_region(op))
                return self._known[node]
            if isinstance(op, If):
                plans = tuple(
                    self._plan(body.graph, frozenset(body.graph.inputs))
                    for body in (op.then, op.otherwise)
                )
            else:
                plans = (self._plan_trip(op),)
            self._known[node] = _with_plans(node, chosen, plans)
        return self._known[node]

    def _plan_trip(self, op: Loop) -> BodyPlan:
        """Rows of scanned operands are read where they are if all kernels may read them there."""
        graph = with_carried(op.body.graph, op.carried, op.first_carried)
        rows, others = graph.arguments[: op.scanned], graph.arguments[op.scanned :]
        chosen = self._selected(graph)
        align = max((item.operand_align for item in chosen.values()), default=1)
        aligned_rows = (value for value in rows if value.type.size_bytes % align == 0)
        return self._plan(graph, frozenset((*aligned_rows, *others)), chosen)

    def _plan_region(self, op: Delegate) -> BodyPlan:
        """By kernels of any core, which are those that hooks have the parameters of."""
        graph = op.body.graph.replace(rounding=self.rounding)
        found = select_kernels(graph, Target(core("generic"), Goal.SIZE))
        chosen = {node: _stand_in(op, item) for node, item in found.items()}
        plan = self._plan(graph, frozenset(graph.inputs), chosen, not isinstance(op, EthosU))
        program = plan.program
        outside = {program.root(buffer)[0] for buffer in program.outputs}
        ends = [program.offsets[buffer] + buffer.size_bytes
                for buffer in program.lives if buffer not in outside]  # fmt: skip
        return replace(plan, arena_bytes=max(ends, default=0))

    def _plan(
        self, graph: Graph, external: frozenset[Value],
        chosen: dict[Node, Selection] | None = None, apart: bool = False,
    ) -> BodyPlan:  # fmt: skip
        chosen = chosen or self._selected(graph)
        plan = plan_memory(build_program(graph, chosen, external=external), apart=apart)
        return BodyPlan(plan.program, chosen, plan.arena_bytes)

    def _selected(self, graph: Graph) -> dict[Node, Selection]:
        return self.with_bodies(select_kernels(graph.replace(rounding=self.rounding), self.target))


def _stand_in(op: Delegate, chosen: Selection) -> Selection:
    """The kernel that has a layer's hook, and tensors where the accelerator wants them: a hook may
    write its result before it has read all operands.
    """
    if isinstance(op, EthosU):
        return chosen
    hooked = HOOKED[type(chosen.node.op)]
    if chosen.kernel_name != hooked:
        variant = next(item for item in chosen.possible if item.name == hooked)
        chosen = chosen.exchanged(variant)
    align = max(chosen.code.operand_align, op.align)
    return replace(chosen, code=replace(chosen.code, operand_align=align, overlaps={}))


def _with_region(op: Delegate, chosen: Selection, plan: BodyPlan) -> Selection:
    """Cycles are those of the accelerator, constants what it reads."""
    kernels = list(plan.selections.values())
    flash = chosen.cost.flash_bytes or sum(item.cost.flash_bytes for item in kernels)
    scratch = max(8, aligned(plan.arena_bytes, 8), chosen.cost.scratch_bytes)
    align = max(chosen.code.operand_align, *(run.operand_align for run in plan.program.runs))
    code = replace(chosen.code, scratch_bytes=scratch, operand_align=align)
    cost = replace(chosen.cost, flash_bytes=flash, scratch_bytes=scratch)
    return replace(chosen, cost=cost, code=code, bodies=(plan,))


def _with_plans(node: Node, chosen: Selection, plans: tuple[BodyPlan, ...]) -> Selection:
    own = chosen.cost
    cycles = [sum(item.cost.cycles for item in plan.selections.values()) for plan in plans]
    trips = node.op.trips if isinstance(node.op, Loop) and not node.op.is_conditional else 1
    kernels = [item for plan in plans for item in plan.selections.values()]
    flash = sum(item.cost.flash_bytes for item in kernels)
    # A branch may give constants alone, if no byte is needed.
    scratch = max(8, *(aligned(plan.arena_bytes, 8) for plan in plans))
    cost = Cost(
        own.cycles + (trips or 1) * (_TRIP_CYCLES + max(cycles)),
        own.code_bytes,
        flash,
        scratch,
        own.layer_code_bytes + code_bytes(kernels),
    )
    align = max(run.operand_align for plan in plans for run in plan.program.runs)
    code = replace(chosen.code, scratch_bytes=scratch, operand_align=align)
    return replace(chosen, cost=cost, code=code, bodies=plans)
