"""From the float graph to StableHLO's text, generic form: one function an operator.

Tensors keep their order of axes (NHWC, weights OHWI), which StableHLO's dimension numbers can say.
Source: StableHLO specification (https://openxla.org/stablehlo/spec).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from glowmcu.discovery import enter, import_members
from glowmcu.errors import ExitCode, GlowmcuError, Problem
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Constant, Operation
from glowmcu.ir.text.attribute_text import AttributePrinter, braced
from glowmcu.ir.text.syntax import print_function, print_operation
from glowmcu.ir.text.type_text import print_type
from glowmcu.ir.types import ElementType, Shape, TensorType, element_type_of
from glowmcu.lazy_dataclass import dataclass

ExportFunction = Callable[["Export", Node], None]
_EXPORTERS: dict[type[Operation], ExportFunction] = {}
#: Operators whose exporters take booleans, too.
_OF_BOOL: set[type[Operation]] = set()
_HEADER = "// StableHLO, float32; written by GlowMCU.\n"
_COMPILED = "the model can be compiled all the same: glowmcu compile"
_F32 = ElementType.F32


def exporter(
    *operations: type[Operation], of_bool: bool = False
) -> Callable[[ExportFunction], ExportFunction]:
    """Decorator: this function exports nodes of `operations`, of float32 or (`of_bool`) bool."""

    def register(function: ExportFunction) -> ExportFunction:
        for operation in operations:
            enter(_EXPORTERS, operation, function, "a StableHLO exporter of")
            if of_bool:
                _OF_BOOL.add(operation)
        return function

    return register


@cache
def load_exporters() -> Mapping[type[Operation], ExportFunction]:
    """All exporters by operator class."""
    import_members("glowmcu.frontend.stablehlo")
    return dict(_EXPORTERS)


@dataclass(frozen=True, eq=False)
class Ref:
    """A value of the text: its name without `%`."""

    name: str
    type: TensorType

    @property
    def shape(self) -> Shape:
        return self.type.shape


class Export:
    """A graph on its way into StableHLO: what exporters read from and write to."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.lines: list[str] = []
        self._refs: dict[Value, Ref] = {}
        self._constants: dict[tuple[bytes, Shape, str], Ref] = {}
        self._constant_lines: list[str] = []

    def argument(self, value: Value) -> Ref:
        """An argument of the function."""
        self._refs[value] = Ref(f"arg{len(self._refs)}", _float_type(value.type))
        return self._refs[value]

    def ref(self, value: Value) -> Ref:
        """The text's value for an operand."""
        if value not in self._refs:
            data = self.graph.constant_data(value)
            assert data is not None, value.name
            self._refs[value] = self.constant(data)
        return self._refs[value]

    def refs(self, node: Node) -> list[Ref]:
        """All operands of a node."""
        return [self.ref(value) for value in node.inputs]

    def bind(self, value: Value, ref: Ref) -> None:
        """`ref` is the result `value` of a node."""
        assert ref.type == TensorType(value.type.shape, value.type.element), value.name
        self._refs[value] = ref

    def constant(self, data: Array) -> Ref:
        """The same value for the same numbers."""
        type_ = TensorType(data.shape, element_type_of(data.dtype))
        key = data.tobytes(), data.shape, type_.element.value
        if key not in self._constants:
            ref = self._constants[key] = Ref(f"c{len(self._constants)}", type_)
            values = {"value": AttributePrinter(None).array(data, "")}
            line = print_operation(
                [ref.name], "stablehlo.constant", [], values, [], [print_type(type_)]
            )
            self._constant_lines.append(line)
        return self._constants[key]

    def number(self, value: float, shape: Shape = ()) -> Ref:
        """A float32; one in each element of `shape`."""
        scalar = self.constant(np.array(value, np.float32))
        return scalar if shape == () else self.broadcast(scalar, shape, ())

    def emit(
        self,
        name: str,
        operands: Sequence[Ref],
        shape: Shape,
        element: ElementType = _F32,
        region: str = "",
        **attributes: str,
    ) -> Ref:
        """An operation, with attributes as text, and its result."""
        result = Ref(str(len(self.lines)), TensorType(shape, element))
        used = ", ".join(f"%{ref.name}" for ref in operands)
        types = ", ".join(print_type(ref.type) for ref in operands)
        parts = [f'%{result.name} = "stablehlo.{name}"({used})']
        parts += [f"({region})"] if region else []
        parts += [braced(attributes)] if attributes else []
        self.lines.append(f"{' '.join(parts)} : ({types}) -> ({print_type(result.type)})")
        return result

    def unary(self, name: str, x: Ref) -> Ref:
        """An element-wise operation."""
        return self.emit(name, [x], x.shape)

    def binary(self, name: str, a: Ref, b: Ref | float) -> Ref:
        """An element-wise operation of two, which broadcast as numpy's do."""
        b = b if isinstance(b, Ref) else self.number(b)
        shape = np.broadcast_shapes(a.shape, b.shape)
        return self.emit(name, [self.aligned(a, shape), self.aligned(b, shape)], shape)

    def aligned(self, x: Ref, shape: Shape) -> Ref:
        """`x` broadcast to `shape`, axes counted from the last."""
        axes = tuple(range(len(shape) - len(x.shape), len(shape)))
        return x if x.shape == shape else self.broadcast(x, shape, axes)

    def broadcast(self, x: Ref, shape: Shape, axes: tuple[int, ...]) -> Ref:
        """Axis i of `x` becomes axis `axes[i]`."""
        return self.emit(
            "broadcast_in_dim", [x], shape, x.type.element, broadcast_dimensions=integers(axes)
        )

    def reshape(self, x: Ref, shape: Shape) -> Ref:
        """The same elements under another shape."""
        return x if x.shape == shape else self.emit("reshape", [x], shape)

    def less(self, a: Ref, b: Ref | float) -> Ref:
        """Where a < b, as booleans."""
        b = self.aligned(b if isinstance(b, Ref) else self.number(b), a.shape)
        return self.compare("LT", a, b)

    def compare(self, direction: str, a: Ref, b: Ref) -> Ref:
        """Of operands of one shape, as booleans."""
        return self.emit(
            "compare", [a, b], a.shape, ElementType.BOOL,
            comparison_direction=f"#stablehlo<comparison_direction {direction}>",
        )  # fmt: skip

    def select(self, where: Ref, then: Ref, otherwise: Ref) -> Ref:
        """Element by element."""
        operands = [where, self.aligned(then, where.shape), self.aligned(otherwise, where.shape)]
        return self.emit("select", operands, where.shape, then.type.element)

    def clamp(self, x: Ref, limits: tuple[float, float] | None) -> Ref:
        """Between two numbers."""
        if limits is None:
            return x
        low, high = (self.number(limit) for limit in limits)
        return self.emit("clamp", [low, x, high], x.shape)

    def reduce(self, name: str, x: Ref, axes: tuple[int, ...], start: float) -> Ref:
        """`add`, `maximum`, … along `axes`, which go."""
        shape = tuple(size for axis, size in enumerate(x.shape) if axis not in axes)
        operands = [x, self.number(start)]
        return self.emit(
            "reduce", operands, shape, region=reduction(name), dimensions=integers(axes)
        )

    def text(self, name: str, arguments: Sequence[Ref], results: Sequence[Ref]) -> str:
        """The module."""
        types = [print_type(ref.type) for ref in results]
        returned = [ref.name for ref in results]
        end = print_operation([], "func.return", returned, {}, types, [])
        pairs = [(ref.name, print_type(ref.type)) for ref in arguments]
        body = [*self._constant_lines, *self.lines, end]
        return _HEADER + print_function(name, pairs, types, body, {})


def integers(numbers: Sequence[int]) -> str:
    """`array<i64: 1, 2>`."""
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


def pairs(amounts: Sequence[tuple[int, int]]) -> str:
    """`dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>`."""
    listed = ", ".join(f"[{before}, {after}]" for before, after in amounts)
    return f"dense<[{listed}]> : tensor<{len(amounts)}x2xi64>"


def reduction(name: str) -> str:
    """The region of a reduction: a op b."""
    return (
        "{ ^bb0(%a: tensor<f32>, %b: tensor<f32>): "
        f'%r = "stablehlo.{name}"(%a, %b) : (tensor<f32>, tensor<f32>) -> (tensor<f32>) '
        '"stablehlo.return"(%r) : (tensor<f32>) -> () }'
    )


def _float_type(type_: TensorType) -> TensorType:
    if type_.element is not _F32:
        is_stored = type_.element in (ElementType.I8, ElementType.I16, ElementType.UI8)
        raise Unsupported(
            "GM155", f"it is {type_}, and StableHLO is written for float32",
            "int8 graphs go to --format tosa" if is_stored else _COMPILED,
        )  # fmt: skip
    return type_


def export_stablehlo(graph: Graph) -> str:
    """The graph as a module; states are its last arguments and results.

    Raises GM155 with all nodes that have no form.
    """
    state = Export(graph)
    problems: list[Problem] = []
    if graph.rates:
        message = "stages with rates of their own are no part of StableHLO"
        raise GlowmcuError([Problem("GM155", message, graph.name)], ExitCode.UNSUPPORTED)
    arguments: list[Ref] = []
    refused: set[Value] = set()
    for value in graph.inputs:
        try:
            arguments.append(state.argument(value))
        except Unsupported as cause:
            problems.append(cause.problem(f'{graph.name}, input "{value.name}"'))
            refused.add(value)
    for node in graph.nodes:
        if isinstance(node.op, Constant):
            continue
        try:
            if refused.isdisjoint(node.inputs):
                _export_node(state, node)
                continue
        except Unsupported as cause:
            problems.append(cause.problem(f'{graph.name}, node "{node.name}"'))
        refused.update(node.outputs)
    if problems:
        raise GlowmcuError(problems, ExitCode.UNSUPPORTED)
    return state.text("main", arguments, [state.ref(value) for value in graph.outputs])


def _export_node(state: Export, node: Node) -> None:
    function = load_exporters().get(type(node.op))
    if function is None:
        raise Unsupported("GM155", f"{node.op.name} cannot be written as StableHLO", _COMPILED)
    # Of constants the exporter knows what they are for: indices are integers.
    computed = (value for value in node.inputs if state.graph.constant_data(value) is None)
    for value in (*computed, *node.outputs):
        if type(node.op) not in _OF_BOOL or value.type.element is not ElementType.BOOL:
            _float_type(value.type)
    function(state, node)
