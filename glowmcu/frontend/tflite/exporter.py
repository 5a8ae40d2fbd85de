"""From the graph IR back to a `.tflite` file: one function an operator, as importing has it.

What TFLite cannot say in one operator (padding that is neither SAME nor VALID, a clamp that is no
activation) is said in two that give the same bytes. Operators of ours alone (tables, stacks) are
made by lowering: export graphs before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from glowmcu.discovery import enter, import_members
from glowmcu.errors import ExitCode, GlowmcuError, Problem
from glowmcu.frontend.tflite.activation_range import fused_clamp
from glowmcu.frontend.tflite.compress_weights import compressed_weights
from glowmcu.frontend.tflite.importer import Unsupported
from glowmcu.frontend.tflite.schema import schema_enum
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_options import OptionValue
from glowmcu.frontend.tflite.writer_tables import TensorRef
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Constant, Operation
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.matmul import FullyConnected

ExportFunction = Callable[["Export", Node], None]
_EXPORTERS: dict[type[Operation], ExportFunction] = {}


def exporter(*operations: type[Operation]) -> Callable[[ExportFunction], ExportFunction]:
    """Decorator: this function exports nodes of `operations`."""

    def register(function: ExportFunction) -> ExportFunction:
        for operation in operations:
            enter(_EXPORTERS, operation, function, "an exporter of")
        return function

    return register


@cache
def load_exporters() -> Mapping[type[Operation], ExportFunction]:
    """All exporters by operator class."""
    import_members("glowmcu.frontend.tflite")
    return dict(_EXPORTERS)


def export_tflite(
    graph: Graph,
    description: str = "",
    packs_weights: bool = True,
    compresses_weights: bool = False,
) -> bytes:
    """The graph as a `.tflite` file; the same bytes for the same graph. It `packs_weights` that fit
    four bits, which not everyone reads, and `compresses_weights` for TensorFlow Lite Micro's
    DECODE, which nobody else has.

    Raises GM194 with all nodes that TFLite has no operator for.
    """
    state = Export(graph, description, packs_weights, compresses_weights)
    problems: list[Problem] = []
    for node in graph.nodes:
        if isinstance(node.op, Constant):
            continue
        function = load_exporters().get(type(node.op))
        try:
            if function is None:
                raise Unsupported(
                    "GM194", f"{node.op.name} cannot be written as TFLite",
                    "the model can be compiled all the same: glowmcu compile",
                )  # fmt: skip
            function(state, node)
        except Unsupported as cause:
            problems.append(cause.problem(f'{graph.name}, node "{node.name}"'))
    if problems:
        raise GlowmcuError(problems, ExitCode.UNSUPPORTED)
    return state.finish()


class Export:
    """A graph on its way into a file: what exporters read from and write to."""

    def __init__(
        self, graph: Graph, description: str, packs_weights: bool, compresses_weights: bool
    ) -> None:
        self.graph = graph
        self._packs_weights, self._compresses_weights = packs_weights, compresses_weights
        self.builder = ModelBuilder(description)
        self._refs: dict[Value, TensorRef] = {}
        self._compressed: dict[Value, tuple[TensorRef, TensorRef] | None] = {}
        for value in graph.inputs:
            scale, zero_point, _ = _quantization(value.type)
            self._refs[value] = self.builder.input(
                value.name, value.type.shape, _dtype(value.type), scale, zero_point
            )

    def ref(self, value: Value) -> TensorRef:
        """The file's tensor for an operand or a result."""
        if value not in self._refs:
            data = self.graph.constant_data(value)
            self._refs[value] = (
                self.inner(value.type, value.name)
                if data is None
                else self.builder.constant(value.name, data, *_quantization(value.type))
            )
        return self._refs[value]

    def weights(self, node: Node) -> TensorRef:
        """The file's tensor for the second operand of an int8 layer: two to a byte where all of it
        is -8..7 and nobody else reads it. TensorFlow Lite Micro's FULLY_CONNECTED takes those of
        one scale alone. Else, where that is asked for, what DECODE makes right before the layer.
        """
        value = node.inputs[1]
        data = self.graph.constant_data(value)
        if data is None or value in self._refs:
            return self.ref(value)
        if self._fit_four_bits(node, value, data):
            self._refs[value] = self.builder.constant(
                value.name, data, *_quantization(value.type), dtype="int4"
            )
        elif self._compresses_weights and value.type.element is ElementType.I8:
            return self._decoded(value, data)
        return self.ref(value)

    def _fit_four_bits(self, node: Node, value: Value, data: Array) -> bool:
        is_int8 = {each.type.element for each in node.inputs[:2]} == {ElementType.I8}
        readers = [each for each in self.graph.nodes if value in each.inputs]
        is_read = not (isinstance(node.op, FullyConnected) and _is_per_channel(value.type))
        is_own = readers == [node] and value not in self.graph.outputs
        if not (self._packs_weights and is_int8 and is_read and is_own and data.size):
            return False
        return bool(data.min() >= -8 and data.max() <= 7)

    def _decoded(self, value: Value, data: Array) -> TensorRef:
        """The weights that a DECODE makes of compressed ones; as they are if that is no longer."""
        if value not in self._compressed:
            found = compressed_weights(data, value.type)
            self._compressed[value] = (
                None
                if found is None
                else (
                    self._bytes(found.encoded, f"{value.name}/encoded"),
                    self._bytes(found.ancillary, f"{value.name}/ancillary"),
                )
            )
        pair = self._compressed[value]
        if pair is None:
            return self.ref(value)
        decoded = self.inner(value.type, value.name)
        self.builder.custom_op("TFLM_DECODE", pair, [decoded])
        return decoded

    def _bytes(self, data: bytes, name: str) -> TensorRef:
        return self.builder.constant(name, np.frombuffer(data, np.uint8))

    def inner(self, type_: TensorType, name: str) -> TensorRef:
        """A tensor that an operator writes."""
        return self.builder.tensor(name, type_.shape, _dtype(type_), *_quantization(type_))

    def integers(self, values: object, name: str) -> TensorRef:
        """A constant of int32: axes, shapes, paddings."""
        return self.builder.constant(name, np.asarray(values, np.int32))

    def scalar(self, value: float, type_: TensorType, name: str) -> TensorRef:
        """A constant of one stored value with the type and quantization of `type_`."""
        data: Array = np.full((), value, type_.element.numpy)
        return self.builder.constant(name, data, *_quantization(type_))

    def emit(
        self, node: Node, kind: str, operands: list[TensorRef], **options: OptionValue
    ) -> None:
        """The builtin operator `kind` in place of the node."""
        self.builder.op(kind, operands, [self.ref(value) for value in node.outputs], options)

    def emit_clamped(
        self, node: Node, kind: str, operands: list[TensorRef], **options: OptionValue
    ) -> None:
        """As `emit`, with the operator's `clamp` as a fused activation, or else behind it."""
        clamp: tuple[float, float] | None = getattr(node.op, "clamp", None)
        type_ = node.output.type
        activation = _activation(clamp, type_)
        if activation is not None:
            self.emit(node, kind, operands, fused_activation_function=activation, **options)
            return
        assert clamp is not None
        whole, lower = (self.inner(type_, f"{node.name}/{part}") for part in ("whole", "lower"))
        self.builder.op(kind, operands, [whole], options)
        low, high = (self.scalar(bound, type_, f"{node.name}/bound") for bound in clamp)
        self.builder.op("MAXIMUM", [whole, low], [lower])
        self.builder.op("MINIMUM", [lower, high], [self.ref(node.output)])

    def finish(self) -> bytes:
        for value in self.graph.outputs:
            self.builder.output(self.ref(value))
        return self.builder.finish()


def _activation(clamp: tuple[float, float] | None, type_: TensorType) -> str | None:
    """The fused activation that clamps results of `type_` so; None if there is none."""
    numbers = schema_enum("ActivationFunctionType")
    for name in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1"):
        if fused_clamp(numbers[name], type_) == clamp:
            return name
    full = not type_.element.is_float and clamp == type_.element.limits
    return "NONE" if full else None


def _is_per_channel(type_: TensorType) -> bool:
    return type_.quantization is not None and type_.quantization.axis is not None


def _dtype(type_: TensorType) -> str:
    return str(type_.element.numpy)


def _quantization(type_: TensorType) -> tuple[list[float] | float | None, list[int] | int, int]:
    """Scale, zero point and axis as `ModelBuilder` takes them."""
    found = type_.quantization
    if found is None:
        return None, 0, 0
    if found.axis is None:
        return found.scales[0], found.zero_points[0], 0
    return list(found.scales), list(found.zero_points), found.axis
