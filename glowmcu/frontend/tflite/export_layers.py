"""Layers with weights or windows, back to TFLite: convolutions, products, poolings."""

from __future__ import annotations

from glowmcu.frontend.tflite.exporter import Export, exporter
from glowmcu.frontend.tflite.importer import Unsupported
from glowmcu.frontend.tflite.writer_options import OptionValue
from glowmcu.frontend.tflite.writer_tables import TensorRef
from glowmcu.ir.graph import Node
from glowmcu.ir.types import TensorType
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D, Padding, Pair, same_padding
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.real import FLOAT_MAX


@exporter(Conv2D, DepthwiseConv2D)
def export_convolution(state: Export, node: Node) -> None:
    """Padding beside SAME and VALID becomes a PAD with real zeros."""
    op = node.op
    assert isinstance(op, Conv2D | DepthwiseConv2D)
    x, weights, bias = node.inputs
    padding = padding_name(x.type, weights.type.shape[1:3], op.strides, op.dilations, op.padding)
    image = state.ref(x)
    if padding is None:
        zero = 0 if x.type.quantization is None else x.type.zero_point
        image, padding = _padded(state, node, op.padding, zero), "VALID"
    options: dict[str, OptionValue] = {
        "padding": padding,
        "stride_h": op.strides[0],
        "stride_w": op.strides[1],
        "dilation_h_factor": op.dilations[0],
        "dilation_w_factor": op.dilations[1],
    }
    kind = "CONV_2D"
    if isinstance(op, DepthwiseConv2D):
        kind = "DEPTHWISE_CONV_2D"
        options["depth_multiplier"] = weights.type.shape[3] // x.type.shape[3]
    state.emit_clamped(node, kind, [image, state.weights(node), state.ref(bias)], **options)


def padding_name(
    x: TensorType, kernel: tuple[int, ...], strides: Pair, dilations: Pair, padding: Padding
) -> str | None:
    """SAME or VALID where either means `padding`."""
    if not any(padding):
        return "VALID"
    top, bottom = same_padding(x.shape[1], kernel[0], strides[0], dilations[0])
    left, right = same_padding(x.shape[2], kernel[1], strides[1], dilations[1])
    return "SAME" if padding == (top, left, bottom, right) else None


def _padded(state: Export, node: Node, padding: Padding, value: float) -> TensorRef:
    """The node's image with `value` around it."""
    x = node.inputs[0]
    top, left, bottom, right = padding
    n, height, width, channels = x.type.shape
    type_ = x.type.with_shape((n, height + top + bottom, width + left + right, channels))
    padded = state.inner(type_, f"{node.name}/padded")
    around = state.integers([(0, 0), (top, bottom), (left, right), (0, 0)], f"{node.name}/padding")
    filling = state.scalar(value, x.type, f"{node.name}/filling")
    # TensorFlow Lite reads the filling of PADV2 as one element.
    state.builder.op("PADV2", [state.ref(x), around, filling], [padded])
    return padded


@exporter(FullyConnected)
def export_fully_connected(state: Export, node: Node) -> None:
    """Any rank: the leading axes stay."""
    x, _, *bias = node.inputs
    operands = [state.ref(x), state.weights(node), *map(state.ref, bias)]
    keep = node.output.type.rank != 2
    state.emit_clamped(node, "FULLY_CONNECTED", operands, keep_num_dims=keep)


@exporter(BatchMatMul)
def export_batch_matmul(state: Export, node: Node) -> None:
    """Operands as they are."""
    op = node.op
    assert isinstance(op, BatchMatMul)
    operands = [state.ref(value) for value in node.inputs]
    state.emit(node, "BATCH_MATMUL", operands, adj_x=op.adj_x, adj_y=op.adj_y)


@exporter(AveragePool2D, MaxPool2D)
def export_pooling(state: Export, node: Node) -> None:
    """A maximum may be padded by hand; a mean counts its padding then, so that is refused."""
    op = node.op
    assert isinstance(op, AveragePool2D | MaxPool2D)
    x = node.inputs[0]
    padding = padding_name(x.type, op.kernel, op.strides, (1, 1), op.padding)
    image = state.ref(x)
    if padding is None:
        if isinstance(op, AveragePool2D):
            raise Unsupported("GM194", f"average_pool_2d padded by {op.padding} is not TFLite's")
        lowest = -FLOAT_MAX if x.type.element.is_float else x.type.element.limits[0]
        image, padding = _padded(state, node, op.padding, lowest), "VALID"
    kind = "MAX_POOL_2D" if isinstance(op, MaxPool2D) else "AVERAGE_POOL_2D"
    state.emit_clamped(
        node, kind, [image], padding=padding, stride_h=op.strides[0], stride_w=op.strides[1],
        filter_height=op.kernel[0], filter_width=op.kernel[1],
    )  # fmt: skip
