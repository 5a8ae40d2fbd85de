"""Layers -> `.tflite`, in float32 or in int8, without a converter.

int8 as the TFLite quantization specification has it: x = scale * (q - zero_point); activations
asymmetric, one scale a tensor; weights symmetric in -127..127, one scale an output channel; bias
int32 with scale s_in * s_w. A ReLU costs nothing: its output's range starts at 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from examples.digits.network import Floats, Layer, activations
from glowmcu.frontend.tflite.writer import ModelBuilder, TensorRef

IMAGE_SHAPE = (1, 8, 8, 1)
SOFTMAX_SCALE = 1 / 256
SOFTMAX_ZERO_POINT = -128


@dataclass(frozen=True)
class Quantization:
    """Scale and zero point of an int8 tensor."""

    scale: float
    zero_point: int

    @staticmethod
    def of_range(low: float, high: float) -> Quantization:
        """The finest one that holds `low` to `high`, and 0 exactly (padding is made of zeros)."""
        low, high = min(low, 0.0), max(high, 0.0)
        scale = float(np.float32((high - low) / 255))
        return Quantization(scale, int(np.clip(np.round(-128 - low / scale), -128, 127)))

    def quantize(self, values: Floats) -> npt.NDArray[np.int8]:
        """Nearest int8, saturated."""
        return np.clip(np.round(values / self.scale) + self.zero_point, -128, 127).astype(np.int8)


PIXELS = Quantization.of_range(0.0, 1.0)


def calibrate(layers: list[Layer], images: Floats) -> list[Quantization]:
    """One quantization a layer, from the range of its outputs on the images."""
    outputs = activations(layers, images)
    return [Quantization.of_range(float(y.min()), float(y.max())) for y in outputs]


def write_float(layers: list[Layer]) -> bytes:
    """The float32 model."""
    model = ModelBuilder("handwritten digits, 8 x 8 pixels in 0..1, float32")
    x = model.input("pixels", IMAGE_SHAPE, "float32")
    for layer in layers:
        w = model.constant(f"{layer.name}/weights", layer.weights)
        b = model.constant(f"{layer.name}/bias", layer.bias)
        x = _add_layer(model, layer, x, w, b, None)
    y = model.tensor("scores", x.shape, "float32")
    return _finish(model, x, y)


def write_int8(layers: list[Layer], ranges: list[Quantization]) -> bytes:
    """The int8 model; `ranges` are those of `calibrate`."""
    model = ModelBuilder("handwritten digits, 8 x 8 pixels in 0..1, int8")
    x = model.input("pixels", IMAGE_SHAPE, "int8", PIXELS.scale, PIXELS.zero_point)
    for layer, output in zip(layers, ranges, strict=True):
        scales = _weight_scales(layer)
        w = _int8_weights(model, layer, scales)
        b = _int32_bias(model, layer, x.scale[0] * scales.astype(np.float64))
        x = _add_layer(model, layer, x, w, b, output)
    y = model.tensor("scores", x.shape, "int8", SOFTMAX_SCALE, SOFTMAX_ZERO_POINT)
    return _finish(model, x, y)


def _weight_scales(layer: Layer) -> Floats:
    """A scale an output channel; one in all for a fully connected layer, as converters do."""
    axes = tuple(a for a in range(layer.weights.ndim) if a != layer.channel_axis)
    largest = np.abs(layer.weights).max(axis=axes)
    if layer.kind == "FULLY_CONNECTED":
        largest = np.full_like(largest, largest.max())
    return (np.where(largest > 0, largest, 1.0) / 127).astype(np.float32)


def _int8_weights(model: ModelBuilder, layer: Layer, scales: Floats) -> TensorRef:
    shape = [1] * layer.weights.ndim
    shape[layer.channel_axis] = -1
    values = np.clip(np.round(layer.weights / scales.reshape(shape)), -127, 127).astype(np.int8)
    is_per_tensor = layer.kind == "FULLY_CONNECTED"
    stored = scales[:1] if is_per_tensor else scales
    return model.constant(f"{layer.name}/weights", values, stored.tolist(), 0, layer.channel_axis)


def _int32_bias(model: ModelBuilder, layer: Layer, scales: npt.NDArray[np.float64]) -> TensorRef:
    values = np.round(layer.bias / scales)
    assert np.abs(values).max() < 2**31, f"bias of {layer.name} does not fit int32"
    stored = scales[:1] if layer.kind == "FULLY_CONNECTED" else scales
    return model.constant(f"{layer.name}/bias", values.astype(np.int32), stored.tolist())


def _add_layer(
    model: ModelBuilder,
    layer: Layer,
    x: TensorRef,
    w: TensorRef,
    b: TensorRef,
    output: Quantization | None,
) -> TensorRef:
    """Appends the layer; before the fully connected one the image is averaged to a vector."""
    if layer.kind == "FULLY_CONNECTED":
        x = _add_average(model, x)
        y = _result(model, layer.name, (1, len(layer.bias)), x, output)
        model.op("FULLY_CONNECTED", [x, w, b], [y])
        return y
    rows, columns = (-(-size // layer.stride) for size in x.shape[1:3])
    y = _result(model, layer.name, (1, rows, columns, len(layer.bias)), x, output)
    options: dict[str, int | str] = {
        "padding": "SAME",
        "stride_w": layer.stride,
        "stride_h": layer.stride,
        "fused_activation_function": "RELU",
    }
    if layer.kind == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = 1
    model.op(layer.kind, [x, w, b], [y], options)
    return y


def _add_average(model: ModelBuilder, x: TensorRef) -> TensorRef:
    """Average over the image, then a reshape to (1, channels); neither changes the scale."""
    same = Quantization(x.scale[0], x.zero_point[0]) if x.scale else None
    _, rows, columns, depth = x.shape
    pooled = _result(model, "average", (1, 1, 1, depth), x, same)
    window = {"filter_width": columns, "filter_height": rows, "stride_w": 1, "stride_h": 1}
    model.op("AVERAGE_POOL_2D", [x], [pooled], {"padding": "VALID", **window})
    flat = _result(model, "features", (1, depth), x, same)
    shape = model.constant("features/shape", np.array([1, depth], np.int32))
    model.op("RESHAPE", [pooled, shape], [flat], {"new_shape": [1, depth]})
    return flat


def _result(
    model: ModelBuilder,
    name: str,
    shape: tuple[int, ...],
    x: TensorRef,
    output: Quantization | None,
) -> TensorRef:
    if output is None:
        return model.tensor(name, shape, x.dtype)
    return model.tensor(name, shape, x.dtype, output.scale, output.zero_point)


def _finish(model: ModelBuilder, logits: TensorRef, scores: TensorRef) -> bytes:
    model.op("SOFTMAX", [logits], [scores], {"beta": 1.0})
    model.output(scores)
    return model.finish()
