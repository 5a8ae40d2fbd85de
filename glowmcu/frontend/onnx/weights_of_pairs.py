"""Constants that stand behind a pair, as integers again, however importers have turned them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.frontend.onnx.pair_forms import PAIRED, around_zero, form_of
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.quantization import Dequantize
from glowmcu.ops.wide import INT16_MAX

_BYTES = (ElementType.I8, ElementType.UI8)
#: What sums of products have room for beside it.
_LARGEST_BIAS = {ElementType.I32: 2**30, ElementType.I64: 2**46}
#: Of a weight that int8 around zero does not hold, in steps of the file: 1.5 times as far as it.
_FARTHEST = 190


def centred(
    real: Array, quantization: Quantization, axis: int
) -> tuple[Array, Quantization] | None:
    """int8 around zero for the same weights, as kernels of convolutions take them.

    Exact wherever int8 holds the distances to the zero point; a channel that reaches farther takes
    a wider step. None if that were half as wide again, or weights are no steps of their pair.
    """
    along, count = [1] * real.ndim, real.shape[axis]
    along[axis] = count
    scales = np.broadcast_to(np.array(quantization.scales, np.float32), count)
    offsets = np.rint(real / scales.reshape(along))
    if not np.array_equal(offsets.astype(np.float32) * scales.reshape(along), real):
        return None
    others = tuple(i for i in range(real.ndim) if i != axis)
    farthest = np.where(offsets == -128, 127, np.abs(offsets)).max(axis=others, initial=127)
    if (farthest > _FARTHEST).any():
        return None
    steps = farthest / 127
    stored = np.rint(offsets / steps.reshape(along)).astype(np.int8)
    wider = (scales * steps).astype(np.float32)
    numbers = tuple(float(scale) for scale in wider)
    if len(set(numbers)) == 1:
        return stored, Quantization(numbers[:1], (0,))
    return stored, Quantization(numbers, (0,) * count, axis)


def recovered(real: Array, quantization: Quantization) -> tuple[Array, bool]:
    """int8 that stands for the real numbers, and whether it does so exactly."""
    along = [1] * real.ndim
    if quantization.axis is not None:
        along[quantization.axis] = -1
    scales = np.array(quantization.scales, np.float32).reshape(along)
    points = np.array(quantization.zero_points).reshape(along)
    offsets = np.rint(real / scales)
    stored = np.clip(offsets + points, -128, 127).astype(np.int8)
    again = (stored.astype(np.int64) - points).astype(np.float32) * scales
    return stored, bool(np.array_equal(again, real))


class Refused(Exception):
    """An operator stays float."""


class PairConstants:
    """Constants of a graph by the values that operators read. Each method raises Refused."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._pairs = {
            node.output.name: node
            for node in graph.nodes
            if isinstance(node.op, Dequantize) and graph.constant_data(node.inputs[0]) is not None
        }

    def activation(self, value: Value) -> tuple[Array, Quantization]:
        """A constant in the place of an activation, as its own pair stores it."""
        source = self._pairs.get(value.name)
        if source is None or source.output is not value:
            raise Refused
        x = source.inputs[0]
        if x.type.element not in PAIRED or x.type.quantization is None:
            raise Refused
        if x.type.quantization.per_channel:
            raise Refused
        form = form_of(x.type)
        return form.stored(self._real(value)), form.quantization

    def weights(
        self, value: Value, axis: int | None, around_zero: bool
    ) -> tuple[Array, Quantization]:
        """int8 by the parameters of their pair; those of several channels lie along `axis`."""
        source = self._pairs.get(value.name)
        if source is None or source.inputs[0].type.element not in _BYTES:
            raise Refused
        real, quantization = self._real(value), form_of(source.inputs[0].type).quantization
        if quantization.per_channel:
            if axis is None or real.shape[axis] != len(quantization.scales):
                raise Refused
            quantization = replace(quantization, axis=axis)
        if any(quantization.zero_points) and around_zero:
            found = None if axis is None else centred(real, quantization, axis)
            if found is None:
                raise Refused
            return found
        stored, exact = recovered(real, quantization)
        if not exact:
            raise Refused
        return stored, quantization

    def bias(self, value: Value, x: TensorType, weights: TensorType) -> tuple[Array, Quantization]:
        """At the product of the scales of operand and weights: int32, or int64 for 16 bits."""
        assert weights.quantization is not None
        scales = np.array(weights.quantization.scales) * x.scale
        element = ElementType.I64 if x.element is ElementType.I16 else ElementType.I32
        stored = np.rint(self._real(value).astype(np.float64) / scales)
        if np.abs(stored).max(initial=0.0) > _LARGEST_BIAS[element]:
            raise Refused
        numbers = tuple(float(np.float32(scale)) for scale in scales)
        axis = 0 if len(numbers) > 1 else None
        quantization = Quantization(numbers, (0,) * len(numbers), axis)
        return stored.astype(element.numpy), quantization

    def wide(self, value: Value) -> tuple[Array, Quantization]:
        """Any constant as int16 around zero."""
        real = self._real(value)
        most = float(np.abs(real).max(initial=0.0)) or 1.0
        form = around_zero(most / INT16_MAX)
        return form.stored(real), form.quantization

    def real(self, value: Value) -> Array | None:
        """Data of a float constant, be it the result of its own pair; None for anything else."""
        source = self._pairs.get(value.name)
        if source is None or source.output is not value:
            return self._graph.constant_data(value)
        data = self._graph.constant_data(source.inputs[0])
        assert data is not None
        (real,) = source.op.evaluate([data], source.signature, self._graph.rounding)
        return real

    def _real(self, value: Value) -> Array:
        data = self.real(value)
        if data is None:
            raise Refused
        return data
