"""The back end of Arm's Ethos-U: regions go through Vela, which decides what of them it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glowmcu.delegation.back_end import Lowered, Refused, RegionCost, border_bytes
from glowmcu.delegation.vela import Vela, VelaEnded
from glowmcu.delegation.vela_file import VelaRegion, left_on_core, read_region
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.exporter import export_tflite
from glowmcu.ir.body import body_of
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Constant, Rounding
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.delegate import Delegate, EthosU
from glowmcu.ops.elementwise import Add

#: What C functions and macros of all of them begin with.
PREFIX = "ethos_u"
#: Cycles of the driver around a call: registers, an interrupt, its handler. A guess.
_CALL_CYCLES = 1500.0
#: Bytes that the core copies in a cycle, into and out of the memory of the device.
_COPIED_PER_CYCLE = 2.0
_ALIGN = 16


@dataclass(frozen=True)
class EthosUBackEnd:
    """An Ethos-U that runs at the core's clock."""

    vela: Vela

    @property
    def name(self) -> str:
        return self.vela.accelerator

    @property
    def estimated_by(self) -> str:
        return "Vela"

    def refusal(self, node: Node, graph: Graph) -> str:
        if graph.rounding is not Rounding.DOUBLE:
            return f"{self.name} rounds as TensorFlow Lite Micro does (--rounding double)"
        types = [*(v.type for v in node.inputs if graph.constant_data(v) is None),
                 *(v.type for v in node.outputs)]  # fmt: skip
        if any(type_.element is not ElementType.I8 for type_ in types):
            return f"{self.name} is given int8, and this has others"
        alone = _alone(graph, node)
        if not alone.inputs:
            return "it has no operand that is computed"
        try:
            export_tflite(alone)
        except GlowmcuError as cause:
            return cause.problems[0].message
        return ""

    def lowered(self, region: Graph) -> Lowered | Refused:
        named, nodes = _named(region)
        try:
            output = self.vela.compiled(_file(named))
        except VelaEnded as cause:
            failing = self._failing_alone(region)
            if not failing:
                raise
            return Refused(dict.fromkeys(failing, f"Vela fails for it: {cause.how}"))
        try:
            left = left_on_core(output.data, self.vela.command)
        except GlowmcuError as cause:
            raise self.vela.failed(cause.problems[0].message) from cause
        if left:
            why = {name: output.refused.get(name, "Vela leaves it to the core") for name in left}
            known = {nodes[name]: f"Vela: {text}" for name, text in why.items() if name in nodes}
            if not known:
                raise self.vela.failed(f"it left {left[0]!r} to the core, which is no operator")
            return Refused(known)
        try:
            found = read_region(output.data, self.vela.command)
            op = self._operator(region, named, found)
        except (GlowmcuError, ValueError, KeyError) as cause:
            raise self.vela.failed(f"its file is not understood: {cause}") from cause
        cycles = round(self._cost(region, output.cycles).cycles)
        return Lowered(replace(op, cycles=cycles), (found.commands, found.constants))

    def _failing_alone(self, region: Graph) -> list[Node]:
        """Nodes that Vela ends for; none if it ends for anything, or for all of them only."""
        if not self._survives(_nothing_special()):
            return []
        return [
            node
            for node in region.nodes
            if not isinstance(node.op, Constant) and not self._survives(_alone(region, node))
        ]

    def _survives(self, graph: Graph) -> bool:
        try:
            self.vela.compiled(_file(_named(graph)[0]))
        except VelaEnded:
            return False
        return True

    def _operator(self, region: Graph, named: Graph, found: VelaRegion) -> EthosU:
        """Raises ValueError for places outside of the memory, KeyError for tensors without one."""
        inputs = tuple(found.inputs[value.name] for value in named.inputs)
        outputs = tuple(found.outputs[value.name] for value in named.outputs)
        pairs = zip((*inputs, *outputs), (*named.inputs, *named.outputs), strict=True)
        for offset, value in pairs:
            if offset + value.type.size_bytes > found.scratch_bytes:
                raise ValueError(f"{value.name} is not in {found.scratch_bytes} bytes")
        return EthosU(
            body_of(region), self.name, PREFIX, align=_ALIGN, weights_align=_ALIGN,
            scratch_bytes=found.scratch_bytes, input_offsets=inputs, output_offsets=outputs,
        )  # fmt: skip

    def cost(self, region: Graph, op: Delegate) -> RegionCost:
        around = self._cost(region, 0).transfer
        return RegionCost(op.cycles - around, around)

    def _cost(self, region: Graph, cycles: int) -> RegionCost:
        return RegionCost(cycles, _CALL_CYCLES + border_bytes(region) / _COPIED_PER_CYCLE)


def _file(graph: Graph) -> bytes:
    """Weights of four bits as int8: Vela 5.2 ends with a division by zero for packed ones."""
    return export_tflite(graph, packs_weights=False)


def _nothing_special() -> Graph:
    """What every Vela compiles."""
    type_ = TensorType((1, 4, 4, 8), ElementType.I8, Quantization((0.5,), (0,)))
    x, y = Value(type_, "x"), Value(type_, "y")
    return Graph("region", (x,), (Node(Add(), (x, x), (y,), "y"),), (y,))


def _alone(graph: Graph, node: Node) -> Graph:
    constants = [graph.producers[v] for v in node.inputs if graph.constant_data(v) is not None]
    inputs = tuple(dict.fromkeys(v for v in node.inputs if graph.constant_data(v) is None))
    return Graph("region", inputs, (*constants, node), node.outputs, graph.rounding)


def _named(region: Graph) -> tuple[Graph, dict[str, Node]]:
    """The region with names of its own, which no model has chosen, and its nodes by their first
    result's.
    """
    values: dict[Value, Value] = {}

    def named(items: Sequence[Value]) -> tuple[Value, ...]:
        for value in items:
            values.setdefault(value, Value(value.type, f"t{len(values)}"))
        return tuple(values[value] for value in items)

    inputs, nodes, by_name = named(region.inputs), list[Node](), dict[str, Node]()
    for node in region.nodes:
        operands, results = named(node.inputs), named(node.outputs)
        nodes.append(replace(node, inputs=operands, outputs=results, name=results[0].name))
        if not isinstance(node.op, Constant):
            by_name[results[0].name] = node
    graph = Graph("region", inputs, tuple(nodes), named(region.outputs), region.rounding)
    return graph, by_name
