"""What importers of spatial operators share: padding, layout, one to three axes."""

from __future__ import annotations

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import Shape
from glowmcu.ops.convolution import window_extent
from glowmcu.ops.shape import Reshape

Spatial = tuple[int, ...]
_END = 2**15


def spatial_attribute(op: NodeRecord, name: str, axes: int) -> Spatial:
    """`strides` or `dilations`: one entry a spatial axis, 1 by default."""
    values = op.integers(name) or (1,) * axes
    if len(values) != axes or not all(1 <= value < _END for value in values):
        raise Unsupported("GM105", f"{op.kind}: {name} {values} do not fit {axes} spatial axes")
    return values


def extents(kernel: Spatial, dilations: Spatial) -> Spatial:
    """Positions that a dilated kernel spans along each axis."""
    return tuple(map(window_extent, kernel, dilations))


def explicit_pads(
    op: NodeRecord, sizes: Spatial, kernel: Spatial, strides: Spatial, dilations: Spatial
) -> tuple[Spatial, Spatial]:
    """Padding before and after each spatial axis, `auto_pad` resolved."""
    axes = len(sizes)
    mode = auto_pad(op)
    if mode == "VALID":
        return (0,) * axes, (0,) * axes
    if mode != "NOTSET":
        spans = extents(kernel, dilations)
        totals = tuple(
            max((-(-size // stride) - 1) * stride + span - size, 0)
            for size, stride, span in zip(sizes, strides, spans, strict=True)
        )
        return halves(totals, larger_after=mode == "SAME_UPPER")
    pads = op.integers("pads") or (0,) * (2 * axes)
    if len(pads) != 2 * axes or not all(0 <= pad < _END for pad in pads):
        raise Unsupported("GM105", f"{op.kind}: pads {pads} do not fit {axes} spatial axes")
    return pads[:axes], pads[axes:]


def auto_pad(op: NodeRecord) -> str:
    """NOTSET, VALID, SAME_UPPER or SAME_LOWER."""
    mode = op.text("auto_pad", "NOTSET") or "NOTSET"
    if mode not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise Unsupported("GM105", f"{op.kind}: auto_pad {mode} is unknown")
    return mode


def halves(totals: Spatial, larger_after: bool) -> tuple[Spatial, Spatial]:
    """Totals split in two; the odd one goes after, or before."""
    small = tuple(total // 2 for total in totals)
    large = tuple(total - total // 2 for total in totals)
    return (small, large) if larger_after else (large, small)


def as_image(state: Import, op: NodeRecord, x: Value) -> Value:
    """NCHW or NCL as NHWC; a single spatial axis becomes a height of 1."""
    if x.type.rank == 3:
        n, channels, length = x.type.shape
        x = reshaped(state, op, x, (n, channels, 1, length))
    if x.type.rank != 4:
        raise Unsupported("GM105", f"{op.kind} on {x.type}: one or two spatial axes are supported")
    return state.to_nhwc(op, x)


def bind_image(state: Import, op: NodeRecord, value: Value, rank: int) -> None:
    """Bind the operator's result: NHWC `value` as NCHW, or NCL where the operand had rank 3."""
    if rank == 4:
        state.from_nhwc(op, value)
        return
    n, _, length, channels = value.type.shape
    state.from_nhwc(op, reshaped(state, op, value, (n, length, channels)))


def reshaped(state: Import, op: NodeRecord, x: Value, shape: Shape) -> Value:
    """`x` in another shape, its quantization kept; `x` itself if it has that shape."""
    if x.type.shape == shape:
        return x
    return state.add(op, Reshape(shape), [x], quantization=x.type.quantization)


def image_padding(before: Spatial, after: Spatial) -> tuple[int, int, int, int]:
    """Top, left, bottom, right."""
    return (*pair(before, 0), *pair(after, 0))


def pair(values: Spatial, missing: int = 1) -> tuple[int, int]:
    """Height and width; a single spatial axis is the width."""
    height, width = (missing, *values)[-2:]
    return height, width
