"""Where a gradient in fixed point begins: the loss, and the last value that it is a gradient of."""

from __future__ import annotations

from glowmcu.errors import ExitCode, error
from glowmcu.gradient.fixed.builder import FixedBuilder, FixedGradient, is_stored
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Operation, OperationError
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.learning.stage import FLAG, Names
from glowmcu.ops.block_gradient import BITS, SHARED, gradient_type
from glowmcu.ops.cast import Cast
from glowmcu.ops.loss_gradient import CrossEntropyGradient, SquaredErrorGradient
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize
from glowmcu.ops.shape import Reshape
from glowmcu.training import Loss, Training


@dataclass(frozen=True)
class FixedLoss:
    """`arguments` of the loss, that which asks for learning last; `loss` f32[1]; `gradient` is that
    of `of`.
    """

    arguments: tuple[Value, ...]
    loss: Value
    of: Value
    gradient: FixedGradient


def fixed_loss(
    build: FixedBuilder,
    graph: Graph,
    result: Value,
    training: Training,
    names: Names,
    file_name: str,
) -> FixedLoss:
    """Of one of the graph's results. Raises GM362."""
    behind = _stored(graph, result)
    if training.loss is Loss.CROSS_ENTROPY:
        softmax = graph.producers.get(behind)
        beta = 1.0
        if softmax is not None and isinstance(softmax.op, Softmax):
            behind, beta = _stored(graph, softmax.inputs[0]), softmax.op.beta
        _expect(behind, file_name)
        label = Value(FLAG, names.new("label"))
        op: Operation = CrossEntropyGradient(behind.type.scale * beta)
        given, scale, unit = (behind, label), behind.type.scale * beta, 2.0**-16
        arguments: tuple[Value, ...] = (label,)
    else:
        _expect(behind, file_name)
        count = behind.type.element_count
        target = Value(TensorType(result.type.shape, ElementType.F32), names.new("target"))
        op = SquaredErrorGradient()
        stored = build.add_typed(Quantize(), (target,), behind.type.with_shape(result.type.shape))
        given = behind, build.typed_reshape(stored, behind.type.shape)
        unit = behind.type.scale**2 / count
        scale, arguments = 2.0 * unit, (target, Value(FLAG, names.new("learn")))
    try:
        op.infer([value.type for value in given])
        types = gradient_type(behind.type.shape), SHARED, FLAG
        numbers, common, loss = build.add_all(op, given, types)
        fault = build.nodes[-1].type_fault
        if fault is not None:
            raise fault
    except OperationError as cause:
        raise error(
            "GM362", f"{training.loss.value} does not fit {result.name!r}: {cause}", file_name,
            "--loss squared-error compares any output with a target", ExitCode.UNSUPPORTED,
        ) from cause  # fmt: skip
    real = build.scaled(build.add(Cast(), loss), unit)
    return FixedLoss(arguments, real, behind, FixedGradient(numbers, common, scale, BITS))


def _stored(graph: Graph, value: Value) -> Value:
    """What is stored in int8 before an output becomes real, uint8 or of another shape."""
    maker = graph.producers.get(value)
    while maker is not None and (
        isinstance(maker.op, Reshape | Dequantize) or _moves_zero_point(maker)
    ):
        value = maker.inputs[0]
        maker = graph.producers.get(value)
    return value


def _moves_zero_point(maker: Node) -> bool:
    """Whether every number stays, as between int8 and uint8: `--io uint8`."""
    if not isinstance(maker.op, Requantize):
        return False
    (before,), (after,) = maker.inputs, maker.outputs
    if not is_stored(before):
        return False
    moved = after.type.element.limits[0] - before.type.element.limits[0]
    return (
        after.type.scale == before.type.scale
        and after.type.zero_point - before.type.zero_point == moved
    )


def _expect(value: Value, file_name: str) -> None:
    if not is_stored(value):
        raise error(
            "GM362",
            f"learning in fixed point compares scores of int8, and {value.name!r} is {value.type}",
            file_name,
            "--train-numbers float32 learns in real numbers",
            ExitCode.UNSUPPORTED,
        )
