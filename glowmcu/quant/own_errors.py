"""A layer's own error: between the quantized layer and the float layer on the same stored operands.

Sites are the tensors of the float graph that become integers somewhere, each with what makes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from glowmcu.ir.graph import Node, Value, evaluate_node
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.quant.masked_ranges import masked_ranges
from glowmcu.quant.ranges import Range
from glowmcu.quant.side_by_side import SideBySide, Tensors, real_values, stored_values

#: A float tensor, what stands for it, and who made that; None is a mere conversion.
Site = tuple[Value, Value, Node | None]


def sites_of(both: SideBySide) -> list[Site]:
    """All sites, in the graph's order."""
    found: list[Site] = []
    for made, origin in zip(both.quantized.inputs, both.reference.inputs, strict=True):
        if origin.type.element is ElementType.F32 and made.type.quantization is not None:
            found.append((origin, made, None))
    found += [
        (both.origins[node.inputs[0]], node.output, None) for node in both.added_quantizations
    ]
    for first, second in both.pairs:
        found += [
            (origin, made, second)
            for origin, made in zip(first.outputs, second.outputs, strict=True)
            if origin.type.element is ElementType.F32
        ]
    return found


def masked_of(lanes: SideBySide, real: Tensors) -> dict[Value, Range]:
    """Float tensors that a mask forbids some numbers of, with the range that matters of each."""

    def measured(value: Value) -> Range:
        array = real[value]
        return (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)

    return masked_ranges(lanes.reference, measured)


def reached(want: Array, matters: Range | None, type_: TensorType) -> Array:
    """What of float numbers `type_` can be held to: those beyond what matters are saturated on
    purpose, and so the nearest that it has is as good.
    """
    if matters is None or type_.quantization is None:
        return want
    is_kept = (want >= matters[0]) & (want <= matters[1])
    return np.where(is_kept, want, np.clip(want, *limits_of(type_))).astype(want.dtype)


def limits_of(type_: TensorType) -> Range:
    low, high = type_.element.limits
    return (low - type_.zero_point) * type_.scale, (high - type_.zero_point) * type_.scale


def own_errors(
    lanes: SideBySide, real: Tensors, stored: Tensors
) -> Iterator[tuple[Value, Value, Array, Array]]:
    """For each site: the float tensor, what stands for it, its values when isolated, and the float
    tensor with the layer's own error.
    """
    found: dict[Node, list[tuple[Array, Array]]] = {}
    masked = masked_of(lanes, real)
    for origin, made, node in sites_of(lanes):
        if node is None:
            got = real_values(stored_values(real[origin], made.type), made.type)
            yield origin, made, got, got
            continue
        if node not in found:
            found[node] = alone(lanes, node, real, stored, masked)
        got, wrong = found[node][node.outputs.index(made)]
        yield origin, made, got, real[origin] + wrong


def alone(
    lanes: SideBySide,
    node: Node,
    real: Tensors,
    stored: Tensors,
    masked: Mapping[Value, Range],
) -> list[tuple[Array, Array]]:
    """For each result of the quantized `node` on exact operands: its values, and its own error."""
    counterpart = lanes.reference.producers[lanes.origins[node.output]]
    operands, exact = [], []
    for value, origin in zip(node.inputs, counterpart.inputs, strict=True):
        plain = real[origin]
        if lanes.reference.constant_data(origin) is not None:
            operands.append(stored[value])
        elif origin.type.element is ElementType.F32:
            operands.append(stored_values(plain, value.type))
            plain = real_values(operands[-1], value.type)
        else:
            operands.append(plain)
        exact.append(plain)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        made = evaluate_node(node, operands, lanes.quantized.rounding)
        wanted = evaluate_node(counterpart, exact, lanes.reference.rounding)
    results = []
    for array, exact_result, value in zip(made, wanted, node.outputs, strict=True):
        got = real_values(array, value.type)
        want = reached(exact_result, masked.get(lanes.origins[value]), value.type)
        results.append((got, got - want if got.dtype == want.dtype == np.float32 else got))
    return results
