"""Seeds for mutants: small models that between them use every family of operators.

One input feeds many operators side by side, so that a single wrong word has many importers behind
it, and shapes, axes and paddings stand as constants in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef
from tests.ops.test_circular_buffer import streaming_model
from tests.support.control_flow_models import RandomModel
from tests.support.detection_models import DetectionCase, detection_model
from tests.support.signal_models import front_end

QUANTIZATION = (0.05, -3)


class _Fan:
    """A model whose operators all hang on one int8 input and all give an output."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.model = ModelBuilder()
        self.shape = tuple(shape)
        self.x = self.model.input("x", shape, "int8", *QUANTIZATION)
        self.count = 0

    def ints(self, *values: Any) -> TensorRef:
        self.count += 1
        return self.model.constant(f"c{self.count}", np.array(values, np.int32))

    def weights(self, *shape: int, channels: int = 0, axis: int = 0) -> TensorRef:
        self.count += 1
        data = (np.arange(np.prod(shape)).reshape(shape) * 7 % 255 - 127).astype(np.int8)
        scale: Any = np.linspace(0.01, 0.02, channels) if channels else 0.01
        return self.model.constant(f"c{self.count}", data, scale, 0, axis)

    def add(
        self,
        kind: str,
        shape: Sequence[int],
        *others: TensorRef | None,
        options: Mapping[str, Any] | None = None,
        dtype: str = "int8",
        quantization: tuple[Any, ...] = QUANTIZATION,
        results: int = 1,
        first: bool = True,
    ) -> _Fan:
        self.count += 1
        quantized = quantization if dtype in ("int8", "uint8") else ()
        outs = [
            self.model.tensor(f"y{self.count}_{i}", shape, dtype, *quantized)
            for i in range(results)
        ]
        self.model.op(kind, [self.x, *others] if first else others, outs, dict(options or {}))
        for out in outs:
            self.model.output(out)
        return self

    def finish(self) -> bytes:
        return self.model.finish()


def convolution() -> bytes:
    fan = _Fan((1, 5, 6, 4))
    strided = {"padding": "VALID", "stride_h": 1, "stride_w": 2}
    dilated = {"dilation_h_factor": 1, "dilation_w_factor": 1}
    weights = fan.weights(3, 2, 3, 4, channels=3)
    fan.add("CONV_2D", (1, 4, 2, 3), weights, fan.ints(1, 2, 3), options={**strided, **dilated})
    weights = fan.weights(1, 3, 3, 8, channels=8, axis=3)
    options = {**dilated, "padding": "SAME", "stride_h": 1, "stride_w": 1, "depth_multiplier": 2}
    fan.add("DEPTHWISE_CONV_2D", (1, 5, 6, 8), weights, fan.ints(*range(8)), options=options)
    model, size = fan.model, fan.ints(1, 10, 12, 2)
    y = model.tensor("up", (1, 10, 12, 2), "int8", *QUANTIZATION)
    upsample = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    model.op("TRANSPOSE_CONV", [size, fan.weights(2, 3, 3, 4, channels=2), fan.x], [y], upsample)
    model.output(y)
    return fan.finish()


def matmul() -> bytes:
    fan = _Fan((2, 6))
    fan.add("FULLY_CONNECTED", (2, 3), fan.weights(3, 6), fan.ints(5, 6, 7))
    fan.add("FULLY_CONNECTED", (2, 4), fan.weights(4, 6, channels=4), None)
    return fan.add("BATCH_MATMUL", (2, 3), fan.weights(6, 3)).finish()


def pooling() -> bytes:
    fan = _Fan((1, 6, 6, 3))
    options = {
        "padding": "VALID", "stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2
    }  # fmt: skip
    fan.add("AVERAGE_POOL_2D", (1, 3, 3, 3), options=options)
    same = {**options, "padding": "SAME", "fused_activation_function": "RELU6"}
    return fan.add("MAX_POOL_2D", (1, 3, 3, 3), options=same).finish()


def elementwise() -> bytes:
    fan = _Fan((2, 3, 4))
    for kind in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE"):
        fan.add(kind, (2, 3, 4), fan.weights(3, 1))
    for kind in ("GREATER", "EQUAL"):
        fan.add(kind, (2, 3, 4), fan.weights(4), dtype="bool")
    return fan.add("PRELU", (2, 3, 4), fan.weights(1, 4)).finish()


def functions() -> bytes:
    fan = _Fan((2, 5))
    for kind in ("RELU", "RELU6", "LEAKY_RELU", "HARD_SWISH", "ELU", "ABS", "NEG"):
        fan.add(kind, (2, 5), options={"alpha": 0.1} if kind == "LEAKY_RELU" else None)
    fan.add("LOGISTIC", (2, 5), quantization=(1 / 256, -128))
    fan.add("TANH", (2, 5), quantization=(1 / 128, 0))
    fan.add("QUANTIZE", (2, 5), dtype="uint8", quantization=(0.05, 125))
    return fan.add("DEQUANTIZE", (2, 5), dtype="float32").finish()


def normalization() -> bytes:
    fan = _Fan((2, 5))
    fan.add("SOFTMAX", (2, 5), options={"beta": 1.0}, quantization=(1 / 256, -128))
    fan.add("LOG_SOFTMAX", (2, 5), quantization=(16 / 256, 127))
    return fan.add("L2_NORMALIZATION", (2, 5), quantization=(1 / 128, 0)).finish()


def reshaping() -> bytes:
    fan = _Fan((1, 4, 6))
    fan.add("RESHAPE", (6, 4), fan.ints(6, -1)).add("SQUEEZE", (4, 6))
    fan.add("EXPAND_DIMS", (1, 1, 4, 6), fan.ints(1))
    fan.add("TRANSPOSE", (6, 1, 4), fan.ints(2, 0, 1))
    fan.add("TILE", (2, 4, 12), fan.ints(2, 1, 2))
    return fan.add("BROADCAST_TO", (3, 4, 6), fan.ints(3, 4, 6)).finish()


def slicing() -> bytes:
    fan = _Fan((1, 4, 6))
    fan.add("SLICE", (1, 2, 3), fan.ints(0, 1, 2), fan.ints(1, 2, 3))
    bounds = (fan.ints(0, 3, 1), fan.ints(1, 0, 6), fan.ints(1, -1, 2))
    fan.add("STRIDED_SLICE", (3, 3), *bounds, options={"shrink_axis_mask": 1})
    fan.add("PAD", (1, 6, 7), fan.ints((0, 0), (1, 1), (0, 1)))
    fan.add("MIRROR_PAD", (1, 6, 7), fan.ints((0, 0), (1, 1), (0, 1)))
    axis = fan.ints(2)
    return fan.add(
        "SPLIT", (1, 4, 3), axis, fan.x, options={"num_splits": 2}, results=2, first=False
    ).finish()


def joining() -> bytes:
    fan = _Fan((2, 3))
    fan.add("CONCATENATION", (4, 3), fan.x, options={"axis": 0})
    fan.add("PACK", (2, 2, 3), fan.x, options={"values_count": 2, "axis": 1})
    return fan.add("UNPACK", (3,), options={"num": 2, "axis": 0}, results=2).finish()


def space() -> bytes:
    fan = _Fan((1, 4, 4, 4))
    fan.add("SPACE_TO_DEPTH", (1, 2, 2, 16), options={"block_size": 2})
    fan.add("DEPTH_TO_SPACE", (1, 8, 8, 1), options={"block_size": 2})
    pads = fan.ints((0, 0), (0, 0))
    fan.add("SPACE_TO_BATCH_ND", (4, 2, 2, 4), fan.ints(2, 2), pads)
    for kind in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        fan.add(kind, (1, 8, 8, 4), fan.ints(8, 8))
    return fan.finish()


def reduction() -> bytes:
    fan = _Fan((1, 4, 4, 3))
    for kind in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"):
        fan.add(kind, (1, 1, 1, 3), fan.ints(1, 2), options={"keep_dims": True})
    fan.add("ARG_MAX", (1, 4, 4), fan.ints(-1), options={"output_type": "INT32"}, dtype="int32")
    return fan.add("GATHER", (1, 2, 4, 3), fan.ints(3, 0), options={"axis": 1}).finish()


def rare() -> bytes:
    """Operators that few models have; some with further inputs."""
    fan = _Fan((1, 4, 4, 3))
    model, shape = fan.model, fan.shape
    fan.add("ADD_N", shape, fan.x, fan.x)
    fan.add("DYNAMIC_UPDATE_SLICE", shape, fan.weights(1, 2, 1, 3), fan.ints(0, 1, 2, 0))
    fan.add("REVERSE_SEQUENCE", shape, fan.ints(3), options={"seq_dim": 1, "batch_dim": 0})
    lengths = model.input("lengths", (1,), "int64")
    fan.add("REVERSE_SEQUENCE", shape, lengths, options={"seq_dim": 2, "batch_dim": 0})
    rows, real = model.input("rows", (2,), "int32"), model.input("real", shape, "float32")
    table = fan.weights(5, 3)
    fan.add("EMBEDDING_LOOKUP", (2, 3), rows, table, dtype="float32", first=False)
    fan.add("BROADCAST_ARGS", (3,), rows, fan.ints(1, 4, 1), dtype="int32", first=False)
    window = {"padding": "SAME", "stride_h": 2, "stride_w": 1, "filter_height": 2,
              "filter_width": 3}  # fmt: skip
    options = {**window, "fused_activation_function": "RELU"}
    fan.add("L2_POOL_2D", (1, 2, 4, 3), real, options=options, dtype="float32", first=False)
    return fan.finish()


def strides_in_time() -> bytes:
    return streaming_model((2, 1))


def fast_detection() -> bytes:
    return detection_model(DetectionCase(per_box=2))


def regular_detection() -> bytes:
    return detection_model(DetectionCase(regular=True, per_class=3, dtype="uint8"))


def signals() -> bytes:
    return front_end()


def control_flow() -> bytes:
    """Branches and loops inside of each other, and variables."""
    return RandomModel(94, with_variables=True).data()


OPERATOR_MODELS: dict[str, Callable[[], bytes]] = {
    function.__name__: function
    for function in (
        convolution, matmul, pooling, elementwise, functions, normalization, reshaping, slicing,
        joining, space, reduction, rare, strides_in_time, fast_detection, regular_detection,
        signals, control_flow,
    )
}  # fmt: skip
