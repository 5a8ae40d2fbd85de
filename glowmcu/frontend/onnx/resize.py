"""Resize and Upsample: what TensorFlow Lite knows as its operators, everything else by tables.

Bilinear and nearest resizing of images become the operators that have int8 kernels too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.frontend.onnx.axes import integers, positive_axis
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.interpolation import (
    LARGEST_SIZE,
    Axis,
    Interpolation,
    nearest_indices,
    outside,
)
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, Shape
from glowmcu.ops.comparison import Select
from glowmcu.ops.gather import Gather
from glowmcu.ops.quantization import Dequantize, Quantize
from glowmcu.ops.resampling import Resample
from glowmcu.ops.resize import ResizeBilinear, ResizeNearestNeighbor, nearest_sources

Axes = dict[int, Axis]
_IMAGE_AXES = {2, 3}
_FLAGS = ((False, False), (True, False), (False, True), (True, True))


@importer("Resize", "Upsample")
def import_resize(state: Import, op: NodeRecord) -> None:
    """Before opset 11 coordinates are asymmetric; nearest then is the element before, and behind
    where Resize shrinks an axis, as in onnxruntime: ONNX itself leaves that open.
    """
    x = state.value(op, 0)
    is_old = op.kind == "Upsample" or state.opset < 11
    coordinates = "asymmetric" if is_old else op.text(
        "coordinate_transformation_mode", "half_pixel"
    )  # fmt: skip
    axes = _upsampled_axes(state, op, x) if is_old else _resized_axes(state, op, x)
    if coordinates != "tf_crop_and_resize":
        axes = {place: Axis(a.in_size, a.out_size, a.scale) for place, a in axes.items()}
    axes = {place: axis for place, axis in axes.items() if not axis.is_identity}
    mode = op.text("mode", "nearest")
    if mode == "nearest":
        _bind_nearest(state, op, x, axes, coordinates)
    elif mode in ("linear", "cubic"):
        stored = x.type.quantization
        if stored is None:
            _bind_interpolated(state, op, x, axes, coordinates)
            return
        # Of what QuantizeLinear made: onnxruntime's quantizer leaves such an operator on bytes.
        x = state.add(op, Dequantize(), [x], ElementType.F32)
        real = replace(op, outputs=(f"{op.outputs[0]}/real",))
        _bind_interpolated(state, real, x, axes, coordinates)
        element = state.value(op, 0).type.element
        result = state.named_value(real.outputs[0])
        state.emit(op, Quantize(half_even=True), [result], element, stored)
    else:
        raise Unsupported("GM105", f"{op.kind}: mode {mode} is unknown")


def _upsampled_axes(state: Import, op: NodeRecord, x: Value) -> Axes:
    """Scales of all axes: an attribute in opset 7, else the second operand."""
    if state.has(op, 1):
        scales = state.constant(op, 1, "scales").reshape(-1).tolist()
    else:
        given = op.attributes.get("scales") or ()
        scales = [float(scale) for scale in given]
    return _scaled(op, x.type.shape, tuple(range(x.type.rank)), scales)


def _resized_axes(state: Import, op: NodeRecord, x: Value) -> Axes:
    """Scales or sizes of all axes, or of those that are named."""
    shape, rank = x.type.shape, x.type.rank
    named = op.integers("axes")
    places = tuple(range(rank)) if named is None else tuple(
        positive_axis(op, axis, rank) for axis in named
    )  # fmt: skip
    if _given(state, op, 2):
        scales = state.constant(op, 2, "scales").reshape(-1).tolist()
        axes = _scaled(op, shape, places, scales)
    else:
        sizes = integers(state, op, 3, "sizes", "sizes")
        if sizes is None or len(sizes) != len(places):
            raise Unsupported("GM106", f"{op.kind}: sizes {sizes} for {len(places)} axes")
        axes = _sized(op, shape, places, sizes)
    if not _given(state, op, 1):
        return axes
    roi = state.constant(op, 1, "its region of interest").reshape(-1).tolist()
    if len(roi) != 2 * len(places):
        raise Unsupported("GM106", f"{op.kind}: a region of {len(roi)} for {len(places)} axes")
    ends = zip(roi[: len(places)], roi[len(places) :], strict=True)
    return {
        place: Axis(axes[place].in_size, axes[place].out_size, axes[place].scale, end)
        for place, end in zip(places, ends, strict=True)
    }


def _given(state: Import, op: NodeRecord, position: int) -> bool:
    """Whether an operand is there; an empty tensor stands for one that is left out."""
    return state.has(op, position) and state.value(op, position).type.element_count > 0


def _scaled(op: NodeRecord, shape: Shape, places: Shape, scales: list[float]) -> Axes:
    if len(scales) != len(places) or not all(0 < scale < LARGEST_SIZE for scale in scales):
        raise Unsupported("GM106", f"{op.kind}: scales {scales} for {len(places)} axes")
    return {
        place: _checked(op, shape[place], int(np.floor(shape[place] * scale)), scale)
        for place, scale in zip(places, scales, strict=True)
    }


def _sized(op: NodeRecord, shape: Shape, places: Shape, sizes: tuple[int, ...]) -> Axes:
    policy = op.text("keep_aspect_ratio_policy", "stretch")
    pairs = [(size, max(shape[place], 1)) for place, size in zip(places, sizes, strict=True)]
    scales = [float(np.float32(size) / np.float32(old)) for size, old in pairs]
    if policy != "stretch":
        if policy not in ("not_larger", "not_smaller"):
            raise Unsupported("GM105", f"{op.kind}: keep_aspect_ratio_policy {policy} is unknown")
        common = min(scales) if policy == "not_larger" else max(scales)
        scales = [common] * len(scales)
        sizes = tuple(int(np.floor(common * old + 0.5)) for _, old in pairs)
    return {
        place: _checked(op, shape[place], size, scale)
        for place, size, scale in zip(places, sizes, scales, strict=True)
    }


def _checked(op: NodeRecord, in_size: int, out_size: int, scale: float) -> Axis:
    if not (1 <= in_size <= LARGEST_SIZE and 1 <= out_size <= LARGEST_SIZE):
        raise Unsupported(
            "GM106", f"{op.kind}: {in_size} to {out_size}; sizes must be 1 to {LARGEST_SIZE}"
        )
    return Axis(in_size, out_size, scale)


def _rounding(state: Import, op: NodeRecord, axis: Axis) -> str:
    """How the position of a result becomes that of the nearest element."""
    if op.kind == "Upsample" or state.opset < 11:
        return "ceil" if op.kind == "Resize" and axis.scale < 1 else "floor"
    return op.text("nearest_mode", "round_prefer_floor")


def _bind_nearest(state: Import, op: NodeRecord, x: Value, axes: Axes, coordinates: str) -> None:
    tables = {
        place: nearest_indices(axis, coordinates, _rounding(state, op, axis))
        for place, axis in axes.items()
    }
    beyond: dict[int, Array] = {}
    if coordinates == "tf_crop_and_resize":
        beyond = {place: outside(axis, coordinates) for place, axis in axes.items()}
    is_inside = not any(each.any() for each in beyond.values())
    if is_inside and x.type.rank == 4 and tables.keys() <= _IMAGE_AXES and tables:
        size = tuple(axes[place].out_size if place in axes else x.type.shape[place]
                     for place in (2, 3))  # fmt: skip
        for flags in _FLAGS:
            if _is_nearest_neighbor(x.type.shape, size, tables, flags):
                operation = ResizeNearestNeighbor((size[0], size[1]), *flags)
                state.from_nhwc(op, state.add(op, operation, [state.to_nhwc(op, x)]))
                return
    for place, table in tables.items():
        x = state.add(op, Gather(place), [x, state.add_constant(table, "places")])
    for place, each in beyond.items():
        x = _extrapolated(state, op, x, place, each)
    state.bind(op, [x])


def _extrapolated(state: Import, op: NodeRecord, x: Value, place: int, beyond: Array) -> Value:
    """`x` with one value in all places of an axis that are `beyond` the input."""
    if not beyond.any():
        return x
    rank, element, stored = x.type.rank, x.type.element, x.type.quantization
    value = np.array(op.number("extrapolation_value", 0.0)).astype(element.numpy)
    fill = state.builder.add_constant(value.reshape((1,) * rank), "extrapolation", stored)
    mask = state.add_constant(beyond.reshape(-1, *(1,) * (rank - place - 1)), "beyond")
    return state.add(op, Select(), [mask, fill, x], element, stored)


def _is_nearest_neighbor(
    shape: Shape, size: Shape, tables: dict[int, Array], flags: tuple[bool, bool]
) -> bool:
    """Whether TensorFlow Lite's operator with these flags takes the same elements."""
    return all(
        np.array_equal(
            nearest_sources(shape[place], size[place - 2], *flags),
            tables.get(place, np.arange(shape[place])),
        )
        for place in (2, 3)
    )


def _bind_interpolated(
    state: Import, op: NodeRecord, x: Value, axes: Axes, coordinates: str
) -> None:
    cubic = op.text("mode", "") == "cubic"
    crops = coordinates == "tf_crop_and_resize"
    how = Interpolation(
        cubic_a=op.number("cubic_coeff_a", -0.75) if cubic else None,
        antialias=op.flag("antialias"),
        exclude_outside=op.flag("exclude_outside"),
        extrapolation=op.number("extrapolation_value", 0.0) if crops else None,
    )
    bilinear = None if cubic or how.antialias or how.exclude_outside else (
        _bilinear(x, axes, coordinates)
    )  # fmt: skip
    if bilinear is not None:
        state.from_nhwc(op, state.add(op, bilinear, [state.to_nhwc(op, x)]))
        return
    # What shrinks most goes first: less is left for the others.
    for place, axis in sorted(axes.items(), key=lambda item: item[1].scale):
        x = state.add(op, Resample(place, *how.tables(axis, coordinates)), [x])
    state.bind(op, [x])


def _bilinear(x: Value, axes: Axes, coordinates: str) -> ResizeBilinear | None:
    """TensorFlow Lite's operator where it means the same."""
    exact = all(axis.is_exact for axis in axes.values())
    is_image = x.type.rank == 4 and x.type.element.is_float and bool(axes)
    if not is_image or not axes.keys() <= _IMAGE_AXES or not exact:
        return None
    height, width = (
        axes[place].out_size if place in axes else x.type.shape[place] for place in (2, 3)
    )
    if coordinates == "align_corners":
        return ResizeBilinear((height, width), align_corners=True)
    if coordinates == "asymmetric":
        return ResizeBilinear((height, width))
    centred = coordinates in ("half_pixel", "half_pixel_symmetric") or (
        coordinates == "pytorch_half_pixel" and min(height, width) > 1
    )
    return ResizeBilinear((height, width), half_pixel_centers=True) if centred else None
