"""AveragePool, MaxPool, LpPool and their global kinds, on one to three spatial axes.

Pooling of every kind goes an axis at a time: three axes are a pool over the last two and one over
the first. Its windows clipped to the image are products of the axes' own, so means agree too.
"""

from __future__ import annotations

import math

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.spatial import (
    Spatial,
    as_image,
    bind_image,
    explicit_pads,
    extents,
    image_padding,
    pair,
    reshaped,
    spatial_attribute,
)
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Padding, Pair
from glowmcu.ops.padding import Pad
from glowmcu.ops.pooling import AveragePool2D, LpPool2D, MaxPool2D, MaxPoolIndices2D
from glowmcu.ops.transpose import Transpose


@dataclass(frozen=True)
class Window:
    """Windows along each spatial axis."""

    kernel: Spatial
    strides: Spatial
    dilations: Spatial
    before: Spatial
    after: Spatial

    def axes(self, first: int, end: int) -> Window:
        """The windows of some of the axes."""
        parts = (self.kernel, self.strides, self.dilations, self.before, self.after)
        return Window(*(part[first:end] for part in parts))


@importer("AveragePool", "MaxPool", "LpPool")
def import_pool(state: Import, op: NodeRecord) -> None:
    """`count_include_pad` becomes a pad in front."""
    x = state.value(op, 0)
    sizes = x.type.shape[2:]
    kernel = op.integers("kernel_shape") or ()
    if not 1 <= len(sizes) <= 3 or len(kernel) != len(sizes) or min(kernel) < 1:
        raise Unsupported("GM105", f"{op.kind}: a kernel of {kernel} on {x.type}")
    strides, dilations = (spatial_attribute(op, n, len(sizes)) for n in ("strides", "dilations"))
    before, after = explicit_pads(op, sizes, kernel, strides, dilations)
    window = Window(kernel, strides, dilations, before, after)
    if op.flag("ceil_mode"):
        window = rounded_up(window, sizes)
    if op.kind == "AveragePool" and op.flag("count_include_pad") and any(before + after):
        paddings = ((0, 0), (0, 0), *zip(before, after, strict=True))
        x = state.add(op, Pad(paddings), [x])
        extra = tuple(new - old for new, old in zip(window.after, after, strict=True))
        window = Window(kernel, strides, dilations, (0,) * len(kernel), extra)
    if len(op.outputs) > 1 and op.outputs[1]:
        _import_with_indices(state, op, x, window)
    else:
        _bind_pooled(state, op, x, window)


def rounded_up(window: Window, sizes: Spatial) -> Window:
    """`ceil_mode`: a last window may reach beyond the padding, if it starts before its end."""
    after = []
    spans = extents(window.kernel, window.dilations)
    for axis, (size, span) in enumerate(zip(sizes, spans, strict=True)):
        before, stride = window.before[axis], window.strides[axis]
        reach = size + before + window.after[axis]
        count = -(-(reach - span) // stride) + 1
        if (count - 1) * stride >= size + before:
            count -= 1
        after.append(max((count - 1) * stride + span - size - before, window.after[axis]))
    return Window(
        window.kernel, window.strides, window.dilations, window.before, tuple(after)
    )  # fmt: skip


@importer("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def import_global_pool(state: Import, op: NodeRecord) -> None:
    """One window, as large as the image."""
    x = state.value(op, 0)
    sizes = x.type.shape[2:]
    if not 1 <= len(sizes) <= 3 or min(sizes) < 1:
        raise Unsupported("GM105", f"{op.kind} on {x.type}: expected 1 to 3 spatial axes")
    ones, zeros = (1,) * len(sizes), (0,) * len(sizes)
    _bind_pooled(state, op, x, Window(sizes, ones, ones, zeros, zeros))


def _bind_pooled(state: Import, op: NodeRecord, x: Value, window: Window) -> None:
    if x.type.rank < 5:
        image = _pooled(state, op, as_image(state, op, x), window)
        bind_image(state, op, image, x.type.rank)
        return
    n, channels, depth, height, width = x.type.shape
    planes = n * channels
    image = reshaped(state, op, x, (planes * depth, height, width, 1))
    flat = _pooled(state, op, image, window.axes(1, 3))
    out_hw = flat.type.shape[1:3]
    slabs = reshaped(state, op, flat, (planes, depth, math.prod(out_hw), 1))
    row = Window((1,), (1,), (1,), (0,), (0,))
    pooled = _pooled(state, op, slabs, _stacked(window.axes(0, 1), row))
    shape = (n, channels, pooled.type.shape[1], *out_hw)
    state.bind(op, [reshaped(state, op, pooled, shape)])


def _stacked(first: Window, second: Window) -> Window:
    return Window(
        first.kernel + second.kernel,
        first.strides + second.strides,
        first.dilations + second.dilations,
        first.before + second.before,
        first.after + second.after,
    )


def _pooled(state: Import, op: NodeRecord, image: Value, window: Window) -> Value:
    """The pool of an NHWC image."""
    kernel, strides, dilations = map(pair, (window.kernel, window.strides, window.dilations))
    padding = image_padding(window.before, window.after)
    pool = _operation(op, kernel, strides, padding, dilations)
    return state.add(op, pool, [image], quantization=image.type.quantization)


def _operation(
    op: NodeRecord, kernel: Pair, strides: Pair, padding: Padding, dilations: Pair
) -> Operation:
    if op.kind.endswith("LpPool"):
        order = op.integer("p", 2)
        return LpPool2D(kernel, strides, padding, dilations=dilations, order=order)
    if op.kind.endswith("MaxPool"):
        return MaxPool2D(kernel, strides, padding, dilations=dilations)
    return AveragePool2D(kernel, strides, padding, dilations=dilations)


def _import_with_indices(state: Import, op: NodeRecord, x: Value, window: Window) -> None:
    """MaxPool's second result: where in the whole NC… tensor the largest element stands."""
    if x.type.rank == 5:
        raise Unsupported("GM105", "MaxPool with indices on three spatial axes is not supported")
    kernel, strides, dilations = map(pair, (window.kernel, window.strides, window.dilations))
    padding = image_padding(window.before, window.after)
    indices = MaxPoolIndices2D(
        kernel, strides, padding, dilations=dilations,
        by_column=op.flag("storage_order"),
    )  # fmt: skip
    image = as_image(state, op, x)
    found = state.add(op, indices, [image], ElementType.I64)
    results = [
        _as_operand(state, op, result, x.type.rank)
        for result in (_pooled(state, op, image, window), found)
    ]
    state.bind(op, results)


def _as_operand(state: Import, op: NodeRecord, image: Value, rank: int) -> Value:
    """NHWC as NCHW, or NCL for rank 3."""
    n, height, width, channels = image.type.shape
    moved = state.add(op, Transpose((0, 3, 1, 2)), [image])
    return moved if rank == 4 else reshaped(state, op, moved, (n, channels, height * width))
