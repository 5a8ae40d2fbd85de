"""Kernels and plans for the bodies of branches and loops: programs in a scratch of their own.

The graph around sees an instruction with operands, results and scratch. The scratch is the arena of
the body, at one offset; only one branch runs, so that both lie in the same bytes. A body reads its
operands where they are. What a loop carries are states of its body, updated in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from glowmcu.ir.body import with_carried
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Rounding
from glowmcu.kernels.kernel import Cost, Target
from glowmcu.kernels.selection.select import BodyPlan, Selection, code_bytes, select_kernels
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.planner import aligned, plan_memory
from glowmcu.ops.control_flow import If, Loop

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
        if not isinstance(op, If | Loop):
            return chosen
        if node not in self._known:
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

    def _plan(
        self, graph: Graph, external: frozenset[Value], chosen: dict[Node, Selection] | None = None
    ) -> BodyPlan:
        chosen = chosen or self._selected(graph)
        plan = plan_memory(build_program(graph, chosen, external=external))
        return BodyPlan(plan.program, chosen, plan.arena_bytes)

    def _selected(self, graph: Graph) -> dict[Node, Selection]:
        return self.with_bodies(select_kernels(graph.replace(rounding=self.rounding), self.target))


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
