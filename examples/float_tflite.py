"""Layers of a float32 `.tflite`, appended one by one; NHWC, shapes worked out here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from glowmcu.frontend.tflite.writer import ModelBuilder, TensorRef


def values(tensor: torch.Tensor) -> npt.NDArray[np.float32]:
    """A parameter as a contiguous array."""
    return np.ascontiguousarray(tensor.detach().numpy())


def add_conv(
    model: ModelBuilder,
    name: str,
    x: TensorRef,
    weights: torch.Tensor,
    bias: torch.Tensor,
    *,
    row_stride: int = 1,
    padding: str = "VALID",
) -> TensorRef:
    """CONV_2D and ReLU with torch's OIHW weights; only rows have a stride."""
    w = model.constant(f"{name}/weights", values(weights.permute(0, 2, 3, 1)))
    b = model.constant(f"{name}/bias", values(bias))
    kernel_rows, kernel_columns = (1, 1) if padding == "SAME" else w.shape[1:3]
    _, rows, columns, _ = x.shape
    shape = (1, (rows - kernel_rows) // row_stride + 1, columns - kernel_columns + 1, w.shape[0])
    y = model.tensor(name, shape, "float32")
    options: dict[str, int | str] = {
        "padding": padding,
        "stride_h": row_stride,
        "stride_w": 1,
        "fused_activation_function": "RELU",
    }
    model.op("CONV_2D", [x, w, b], [y], options)
    return y


def add_depthwise(
    model: ModelBuilder, name: str, x: TensorRef, weights: torch.Tensor, bias: torch.Tensor
) -> TensorRef:
    """DEPTHWISE_CONV_2D without padding, with torch's C1HW weights of a grouped convolution."""
    w = model.constant(f"{name}/weights", values(weights.permute(1, 2, 3, 0)), axis=3)
    b = model.constant(f"{name}/bias", values(bias))
    _, rows, columns, depth = x.shape
    shape = (1, rows - w.shape[1] + 1, columns - w.shape[2] + 1, depth)
    y = model.tensor(name, shape, "float32")
    options: dict[str, int | str] = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    model.op("DEPTHWISE_CONV_2D", [x, w, b], [y], {**options, "depth_multiplier": 1})
    return y


def add_row_max_pool(model: ModelBuilder, name: str, x: TensorRef, rows: int) -> TensorRef:
    """MAX_POOL_2D over blocks of rows."""
    _, height, width, depth = x.shape
    y = model.tensor(name, (1, height // rows, width, depth), "float32")
    window = {"filter_height": rows, "filter_width": 1, "stride_h": rows, "stride_w": 1}
    model.op("MAX_POOL_2D", [x], [y], {"padding": "VALID", **window})
    return y


def add_image_mean(model: ModelBuilder, name: str, x: TensorRef) -> TensorRef:
    """MEAN over rows and columns: (1, depth)."""
    axes = model.constant(f"{name}/axes", np.array([1, 2], np.int32))
    y = model.tensor(name, (1, x.shape[3]), "float32")
    model.op("MEAN", [x, axes], [y], {"keep_dims": False})
    return y


def add_reshape(model: ModelBuilder, name: str, x: TensorRef, shape: Sequence[int]) -> TensorRef:
    """RESHAPE."""
    target = model.constant(f"{name}/shape", np.array(shape, np.int32))
    y = model.tensor(name, shape, "float32")
    model.op("RESHAPE", [x, target], [y], {"new_shape": list(shape)})
    return y


def add_dense(
    model: ModelBuilder, name: str, x: TensorRef, weights: torch.Tensor, bias: torch.Tensor
) -> TensorRef:
    """FULLY_CONNECTED with (outputs, inputs) weights."""
    w = model.constant(f"{name}/weights", values(weights))
    b = model.constant(f"{name}/bias", values(bias))
    y = model.tensor(name, (1, w.shape[0]), "float32")
    model.op("FULLY_CONNECTED", [x, w, b], [y])
    return y


def add_softmax(model: ModelBuilder, name: str, x: TensorRef) -> TensorRef:
    """SOFTMAX."""
    y = model.tensor(name, x.shape, "float32")
    model.op("SOFTMAX", [x], [y], {"beta": 1.0})
    return y


def add_logistic(model: ModelBuilder, name: str, x: TensorRef) -> TensorRef:
    """LOGISTIC."""
    y = model.tensor(name, x.shape, "float32")
    model.op("LOGISTIC", [x], [y])
    return y
