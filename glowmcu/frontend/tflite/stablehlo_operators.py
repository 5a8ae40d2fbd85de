"""STABLEHLO_COMPOSITE, _REDUCE_WINDOW and _SCATTER: what converters of PyTorch and JAX
leave in a file where TensorFlow Lite has no operator of its own.

Source: StableHLO specification (https://openxla.org/stablehlo/spec).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.control_flow import bind_results, result_name, write_out
from glowmcu.frontend.tflite.gather import expect_places
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.activation import Neg
from glowmcu.ops.elementwise import Mul
from glowmcu.ops.padding import Pad
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.scatter import Combine, ScatterNd
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose

#: What a subgraph does that is one operator on both of its inputs.
_COMBINATIONS = {
    "ADD": Combine.ADD, "MUL": Combine.MUL, "MAXIMUM": Combine.MAX, "MINIMUM": Combine.MIN,
    "STABLEHLO_ADD": Combine.ADD, "STABLEHLO_MULTIPLY": Combine.MUL,
    "STABLEHLO_MAXIMUM": Combine.MAX, "STABLEHLO_MINIMUM": Combine.MIN,
}  # fmt: skip
#: What a reduction begins with.
_NEUTRAL = {Combine.ADD: 0.0, Combine.MAX: -math.inf, Combine.MIN: math.inf}


@importer("STABLEHLO_COMPOSITE")
def import_composite(state: Import, op: OperatorRecord) -> None:
    """What a name stands for: the subgraph that the file has for it."""
    number = op.options(tflite.StableHLOCompositeOptions).DecompositionSubgraphIndex()
    operands = [state.value(op, position) for position in range(len(op.inputs))]
    bind_results(state, op, write_out(state, op, number, operands, result_name(state, op)))


@dataclass(frozen=True)
class _Window:
    """Along one axis; of an axis that has none, the default."""

    size: int = 1
    stride: int = 1
    dilation: int = 1
    edges: tuple[int, int] = (0, 0)


@importer("STABLEHLO_REDUCE_WINDOW")
def import_reduce_window(state: Import, op: OperatorRecord) -> None:
    """Sums, maxima or minima of windows along two axes at most."""
    x = state.value(op, 0)
    options = op.options(tflite.StablehloReduceWindowOptions)
    combine = _combination(state, op, options.BodySubgraphIndex())
    windows = _windows(op, options, x)
    axes = [axis for axis, window in enumerate(windows) if window != _Window()]
    if len(axes) > 2 or x.type.element is not ElementType.F32 or combine not in _NEUTRAL:
        raise Unsupported(
            "GM105", f"{op.name}: windows along axes {axes} of {x.type}, {combine.value} of each",
            "sums, maxima and minima of float32 along one or two axes are supported",
        )  # fmt: skip
    start = state.constant(op, 1, "what a reduction begins with")
    if start.size != 1 or start.reshape(-1)[0] != _NEUTRAL[combine]:
        raise Unsupported("GM105", f"{op.name}: {combine.value} that begins with {start.tolist()}")
    others = [axis for axis in range(x.type.rank) if axis not in axes]
    # Channels are what lies behind the windows in memory.
    channels = [axis for axis in others if all(axis > each for each in axes)]
    order = (*(axis for axis in others if axis not in channels), *axes, *channels)
    turned = state.emit_inner(op, Transpose(order), [x], x.type)
    sizes = [turned.type.shape[order.index(axis)] for axis in axes]
    depth = math.prod(x.type.shape[axis] for axis in channels)
    picture = (*sizes, *(1,) * (2 - len(axes)), depth)
    count = x.type.element_count // max(math.prod(picture), 1)
    image = state.emit_inner(op, Reshape((count, *picture)), [turned], x.type)
    reduced = _reduced(state, op, image, combine, [windows[axis] for axis in axes])
    found = dict(zip(axes, reduced.type.shape[1:], strict=False))
    shape = tuple(found.get(axis, x.type.shape[axis]) for axis in order)
    flat = state.emit_inner(op, Reshape(shape), [reduced], x.type)
    state.emit(op, Transpose(order).inverse, [flat])


def _windows(op: OperatorRecord, options: Any, x: Value) -> list[_Window]:
    """Of each axis. Raises Unsupported for lists of other lengths and numbers without a meaning."""
    rank = x.type.rank
    lists = [
        _integers(options, name) or (1,) * rank
        for name in ("WindowDimensions", "WindowStrides", "WindowDilations", "BaseDilations")
    ]
    edges = _integers(options, "Padding") or (0,) * (2 * rank)
    alike = all(len(each) == rank for each in lists) and len(edges) == 2 * rank
    if not alike or min(min(each) for each in lists) < 1 or min(edges) < 0 or max(lists[3]) > 1:
        raise Unsupported(
            "GM105", f"{op.name}: windows, strides and distances {lists} with edges {edges} "
            f"on {x.type}", "windows lie on the tensor as it is, with edges of 0 or more elements",
        )  # fmt: skip
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [_Window(*each) for each in zip(*lists[:3], pairs, strict=True)]


def _reduced(
    state: Import, op: OperatorRecord, image: Value, combine: Combine, windows: Sequence[_Window]
) -> Value:
    """Of an image, rows first; what lies outside does not count."""
    rows, columns = (*windows, *(_Window(),) * (2 - len(windows)))
    kernel, strides = (rows.size, columns.size), (rows.stride, columns.stride)
    edges = (rows.edges[0], columns.edges[0], rows.edges[1], columns.edges[1])
    dilations = (rows.dilation, columns.dilation)
    type_ = image.type
    if combine is Combine.ADD:
        padded = Pad(((0, 0), rows.edges, columns.edges, (0, 0)))
        wide = state.emit_inner(op, padded, [image], type_)
        mean = AveragePool2D(kernel, strides, dilations=dilations)
        means = state.emit_inner(op, mean, [wide], type_)
        count = state.add_constant(np.array(math.prod(kernel), np.float32), f"{means.name}/count")
        return state.emit_inner(op, Mul(), [means, count], type_)
    most = MaxPool2D(kernel, strides, edges, dilations=dilations)
    if combine is Combine.MAX:
        return state.emit_inner(op, most, [image], type_)
    negative = state.emit_inner(op, Neg(), [image], type_)
    return state.emit_inner(op, Neg(), [state.emit_inner(op, most, [negative], type_)], type_)


@importer("STABLEHLO_SCATTER")
def import_scatter(state: Import, op: OperatorRecord) -> None:
    """Whole slices, or elements, at coordinates; coordinates that are computed are clamped."""
    x, indices, updates = (state.value(op, position) for position in range(3))
    options = op.options(tflite.StablehloScatterOptions)
    combine = _combination(state, op, options.UpdateComputationSubgraphIndex())
    scattered = _integers(options, "ScatterDimsToOperandDims")
    windows = _integers(options, "UpdateWindowDims")
    kept = [axis for axis in range(x.type.rank) if axis not in scattered]
    last = options.IndexVectorDim()
    shape = indices.type.shape
    depth = 1 if last == len(shape) else shape[last] if 0 <= last < len(shape) else 0
    slices = tuple(
        updates.type.shape[axis] for axis in windows if 0 <= axis < updates.type.rank
    )  # fmt: skip
    is_whole = slices == tuple(x.type.shape[axis] for axis in kept) and len(windows) == len(kept)
    inserted = sorted(_integers(options, "InsertedWindowDims"))
    if not is_whole or sorted(set(scattered)) != inserted or len(scattered) != depth or not depth:
        raise Unsupported(
            "GM105",
            f"{op.name}: {updates.type} into axes {list(scattered)} of {x.type} at {indices.type}",
            "elements, or slices that are whole along all other axes, can be scattered",
        )
    order = (*scattered, *kept)
    places = _coordinates(state, op, indices, last)
    if places in state.builder.known:
        sizes = tuple(x.type.shape[axis] for axis in scattered)
        expect_places(op, state.builder.known[places], sizes)
    batch = [axis for axis in range(updates.type.rank) if axis not in windows]
    moved = state.emit_inner(op, Transpose((*batch, *windows)), [updates], updates.type)
    target = state.emit_inner(op, Transpose(order), [x], x.type)
    result = state.emit_inner(op, ScatterNd(combine), [target, places, moved], x.type)
    state.emit(op, Transpose(order).inverse, [result])


def _coordinates(state: Import, op: OperatorRecord, indices: Value, last: int) -> Value:
    """With the axis `last` of the coordinates behind all others, where there is one."""
    rank = indices.type.rank
    if last == rank:
        return state.emit_inner(op, Reshape((*indices.type.shape, 1)), [indices], indices.type)
    order = (*(axis for axis in range(rank) if axis != last), last)
    return state.emit_inner(op, Transpose(order), [indices], indices.type)


def _combination(state: Import, op: OperatorRecord, number: int) -> Combine:
    """What subgraph `number` makes of its two inputs. Raises Unsupported unless it is one
    operator, or gives the second one.
    """
    body = state.model.subgraph(number)
    names = [each.name for each in body.operators]
    if not names and body.outputs == body.inputs[1:2]:
        return Combine.REPLACE
    if len(names) == 1 and names[0] in _COMBINATIONS:
        (only,) = body.operators
        if set(only.inputs) == set(body.inputs) and only.outputs == body.outputs:
            return _COMBINATIONS[names[0]]
    raise Unsupported(
        "GM105", f"{op.name}: two elements become one by {', '.join(names) or 'nothing'}",
        f"one of {', '.join(_COMBINATIONS)} is supported",
    )  # fmt: skip


def _integers(options: Any, name: str) -> tuple[int, ...]:
    """A vector of the options, empty where the file has none."""
    if getattr(options, f"{name}Length")() == 0:
        return ()
    return tuple(int(each) for each in getattr(options, f"{name}AsNumpy")())
