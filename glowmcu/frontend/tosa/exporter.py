"""From the graph IR to TOSA 1.0, integer profile: one function an operator, with the same bytes.

Every function says in TOSA's operators exactly what the operator's `evaluate` computes, and proves
or computes that it does; where TOSA has no such form it raises Unsupported GM155.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from glowmcu.discovery import enter, import_members
from glowmcu.errors import ExitCode, GlowmcuError, Problem
from glowmcu.frontend.tosa.records import (
    Attribute,
    GraphNote,
    Origin,
    Ref,
    TosaFunction,
    TosaOp,
    outside,
    signless,
)
from glowmcu.frontend.tosa.rescaling import Factors
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import FIXED_ROUNDING, Graph, Node, Value
from glowmcu.ir.operation import Array, Constant, Operation, Rounding
from glowmcu.ir.types import ElementType, Shape, TensorType, element_type_of
from glowmcu.ops.quantization import Requantize

ExportFunction = Callable[["Export", Node], None]
_EXPORTERS: dict[type[Operation], ExportFunction] = {}
#: A hint where nothing can be changed.
COMPILED = "the model can be compiled all the same: glowmcu compile"
#: Tensors of other types have no form here.
_ELEMENTS = (
    ElementType.I8, ElementType.UI8, ElementType.I16, ElementType.I32, ElementType.BOOL,
)  # fmt: skip


def exporter(*operations: type[Operation]) -> Callable[[ExportFunction], ExportFunction]:
    """Decorator: this function exports nodes of `operations`."""

    def register(function: ExportFunction) -> ExportFunction:
        for operation in operations:
            enter(_EXPORTERS, operation, function, "a TOSA exporter of")
        return function

    return register


@cache
def load_exporters() -> Mapping[type[Operation], ExportFunction]:
    """All exporters by operator class."""
    import_members("glowmcu.frontend.tosa")
    return dict(_EXPORTERS)


class Export:
    """A graph on its way into TOSA: what exporters read from and write to."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.operations: list[TosaOp] = []
        self._refs: dict[Value, Ref] = {}
        self._constants: dict[tuple[bytes, Shape, str, bool], Ref] = {}
        #: Of the node at hand: constants that stand under another shape.
        self._reshaped: dict[Value, Ref] = {}

    def argument(self, value: Value) -> Ref:
        """An argument of the function, of the value's elements."""
        _expect_element(value.type)
        self._refs[value] = Ref(signless(value.type))
        return self._refs[value]

    def ref_of_argument(self, value: Value) -> Ref:
        """The same argument each time."""
        return self._refs.get(value) or self.argument(value)

    def ref(self, value: Value) -> Ref:
        """TOSA's value for an operand."""
        if value not in self._refs:
            self._refs[value] = self.constant(self.data(value))
        return self._refs[value]

    def data(self, value: Value) -> Array:
        """Numbers of a constant operand; Unsupported where it is none."""
        data = self.graph.constant_data(value)
        if data is None:
            raise Unsupported("GM155", f"{value.name[:120]!r} must be a constant")
        return data

    def reshaped(self, value: Value, shape: Shape) -> Ref:
        """A constant operand under another shape."""
        self._reshaped[value] = self.constant(self.data(value).reshape(shape))
        return self._reshaped[value]

    def rounding(self, node: Node) -> Rounding:
        """How the node rounds."""
        return node.op.rounding_in(self.graph.rounding)

    def bind(self, value: Value, ref: Ref) -> None:
        """`ref` is the result `value` of a node."""
        assert ref.type == signless(value.type), value.name
        self._refs[value] = ref

    def constant(self, data: Array) -> Ref:
        """The same value for the same numbers."""
        element = element_type_of(data.dtype)
        key = data.tobytes(), data.shape, element.value, False
        return self._constants.setdefault(key, Ref(TensorType(data.shape, element), data))

    def scalar(self, number: int, element: ElementType, rank: int = 1) -> Ref:
        """One number as a tensor of this rank: zero points, shifts, factors that broadcast."""
        return self.constant(np.full((1,) * rank, number, element.numpy))

    def zero_point(self, number: int, element: ElementType) -> Ref:
        """A zero point operand; Unsupported where the element type cannot hold it."""
        low, high = element.limits
        if not low <= number <= high:
            raise Unsupported("GM155", f"zero point {number} is no {element.value}")
        return self.scalar(number, element)

    def shape(self, sizes: tuple[int, ...]) -> Ref:
        """A `!tosa.shape`."""
        data = np.array(sizes, np.int64)
        key = data.tobytes(), data.shape, "i64", True
        ref = Ref(TensorType(data.shape, ElementType.I64), data, is_shape=True)
        return self._constants.setdefault(key, ref)

    def emit(
        self,
        name: str,
        operands: list[Ref],
        shape: Shape,
        element: ElementType,
        **attributes: Attribute,
    ) -> Ref:
        """An operation and its result."""
        result = Ref(TensorType(shape, element))
        self.operations.append(TosaOp(name, tuple(operands), (result,), attributes))
        return result

    def reshape(self, x: Ref, shape: Shape) -> Ref:
        """`x` under another shape; itself if it has that."""
        if x.type.shape == shape:
            return x
        return self.emit("reshape", [x, self.shape(shape)], shape, x.type.element)

    def rescale(
        self,
        x: Ref,
        factors: Factors,
        zero_points: tuple[int, int],
        element: ElementType,
        unsigned: tuple[bool, bool] = (False, False),
    ) -> Ref:
        """RESCALE with zero points of operand and result; `unsigned` says of which bytes have no
        sign.
        """
        elements = x.type.element, element
        points = [
            self.zero_point(point - 256 if is_unsigned and point > 127 else point, of)
            for point, of, is_unsigned in zip(zero_points, elements, unsigned, strict=True)
        ]
        operands = [x, self.constant(factors.multipliers), self.constant(factors.shifts), *points]
        return self.emit(
            "rescale", operands, x.type.shape, element, scale32=True,
            rounding_mode=factors.rounding, per_channel=factors.per_channel,
            input_unsigned=unsigned[0], output_unsigned=unsigned[1],
        )  # fmt: skip

    def clamp(self, x: Ref, limits: tuple[int, int]) -> Ref:
        """CLAMP, but for the whole range."""
        if limits == x.type.element.limits:
            return x
        least, most = limits
        return self.emit(
            "clamp", [x], x.type.shape, x.type.element, min_val=least, max_val=most,
            nan_mode="PROPAGATE",
        )  # fmt: skip

    def export_node(self, node: Node) -> None:
        """Operations of one node, the last with its origin. Raises Unsupported."""
        function = load_exporters().get(type(node.op))
        if function is None:
            raise Unsupported(
                "GM155", f"{node.op.name} cannot be written as TOSA",
                COMPILED,
            )  # fmt: skip
        for value in (*node.inputs, *node.outputs):
            _expect_element(value.type)
            if value.type.element is ElementType.UI8 and not isinstance(node.op, Requantize):
                raise Unsupported(
                    "GM155", "TOSA has bytes without a sign in RESCALE alone", COMPILED
                )
        start = len(self.operations)
        self._reshaped = {}
        function(self, node)
        self._finish_node(node, start)

    def _finish_node(self, node: Node, start: int) -> None:
        made = {ref for op in self.operations[start:] for ref in op.results}
        for value in node.outputs:
            # Every result is an operation's own, so that the node can be found again.
            if self._refs[value] not in made:
                found = self._refs[value]
                whole = self.emit("identity", [found], value.type.shape, found.type.element)
                self._refs[value] = whole
        group = tuple(self.operations[start:])
        places = {ref: number for number, op in enumerate(group) for ref in op.results}
        reads = outside(group)
        last = group[-1]
        origin = Origin(
            len(group),
            tuple(reads.index(self._reshaped.get(v) or self.ref(v)) for v in node.inputs),
            tuple(places[self._refs[value]] for value in node.outputs),
            node,
        )
        self.operations[-1] = TosaOp(
            last.name, last.operands, last.results, last.attributes, origin
        )


def _expect_element(type_: TensorType) -> None:
    if type_.element.is_float:
        raise Unsupported(
            "GM155", "it computes on real numbers, and TOSA's integer profile has none",
            "quantize the model first: --profile or --samples; float graphs go to --format "
            "stablehlo",
        )  # fmt: skip
    if type_.element not in _ELEMENTS:
        raise Unsupported("GM155", f"TOSA's integer profile has no {type_.element.value}", COMPILED)


def export_function(graph: Graph) -> TosaFunction:
    """The graph in TOSA's operators; states are its last arguments and results.

    Raises GM155 with all nodes that have no form.
    """
    state = Export(graph)
    problems: list[Problem] = []
    if graph.rates:
        message = "stages with rates of their own are no part of TOSA"
        raise GlowmcuError([Problem("GM155", message, graph.name)], ExitCode.UNSUPPORTED)
    arguments = []
    for value in graph.inputs:
        try:
            arguments.append(state.argument(value))
        except Unsupported as cause:
            problems.append(cause.problem(f'{graph.name}, input "{value.name}"'))
    refused = set(graph.inputs[len(arguments) :]) if problems else set()
    for node in graph.nodes:
        if isinstance(node.op, Constant) or not refused.isdisjoint(node.inputs):
            refused.update(() if isinstance(node.op, Constant) else node.outputs)
            continue
        try:
            state.export_node(node)
        except Unsupported as cause:
            problems.append(cause.problem(f'{graph.name}, node "{node.name}"'))
            refused.update(node.outputs)
    if problems:
        raise GlowmcuError(problems, ExitCode.UNSUPPORTED)
    results = tuple(state.ref(value) for value in graph.outputs)
    note = GraphNote(
        graph.name,
        graph.rounding,
        tuple(value.name for value in graph.inputs),
        tuple(value.type for value in graph.inputs),
        tuple(item.initial for item in graph.states),
        {key: text for key, text in graph.metadata.items() if key != FIXED_ROUNDING},
    )
    return TosaFunction("main", tuple(arguments), tuple(state.operations), results, note)
