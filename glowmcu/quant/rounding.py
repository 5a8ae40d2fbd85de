"""Weights and biases that know the data: adaptive rounding and bias correction.

The layer's error on the samples is, for each output, e H e' with e = (stored * scale - w) and
H = mean(x x'), x being what the output is made of. Adaptive rounding lowers it by coordinate
descent over the stored integers: from the nearest ones, one column at a time, the change that is
best given all others. (AdaRound trains a soft rounding by gradients towards the same aim; on layers
of this size the direct search needs no learning rate.) Bias correction takes the mean error e
mean(x) off the bias; with it, rounding only has to look at the variance.
Source: Nagel et al. 2019, arXiv 1906.04721 (bias correction); 2020, arXiv 2004.10568 (AdaRound).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.quant.clipping import clipped_scales, scales_matrix
from glowmcu.quant.convert import LayerConstants, Refinement, nearest
from glowmcu.quant.int8_partition import Rules
from glowmcu.quant.linear_layers import is_linear, rows_of, weights_matrix, weights_of_matrix
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profile import Profile, TensorProfile, profiled_values
from glowmcu.quant.profiling import run_samples
from glowmcu.quant.samples import Samples
from glowmcu.quant.schemas import INT4_MAX, Schema

#: Enough for the moments of a layer's input.
_MOST_SAMPLES = 256
_ROWS_A_RUN = 4096
_LONGEST_ROW = 4096
#: Sums of squares of what is below stay within float32.
_LARGEST_IN_SINGLE = 1e15
_SWEEPS = 8
#: Added to H's diagonal, as a share of its mean: directions that no sample showed still count.
_LEAST_DAMPING = 1e-2


@dataclass(frozen=True, eq=False)
class Moments:
    """Of `count` rows: mean `(groups, k)` and mean of the outer product `(groups, k, k)`."""

    count: int
    mean: Array
    outer: Array

    @property
    def covariance(self) -> Array:
        centred: Array = self.outer - self.mean[:, :, np.newaxis] * self.mean[:, np.newaxis, :]
        return centred


class _Gathering:
    """Moments in the making."""

    def __init__(self) -> None:
        self.count = 0
        self.sums: Array | None = None
        self.products: Array | None = None

    def add(self, rows: Array) -> None:
        """Further rows, `(groups, n, k)`."""
        sums = rows.sum(axis=1, dtype=np.float64)
        if np.abs(rows).max(initial=0) > _LARGEST_IN_SINGLE:
            rows = rows.astype(np.float64)
        products = (rows.transpose(0, 2, 1) @ rows).astype(np.float64)
        self.count += rows.shape[1]
        self.sums = sums if self.sums is None else self.sums + sums
        self.products = products if self.products is None else self.products + products

    def finish(self) -> Moments:
        assert self.sums is not None and self.products is not None
        return Moments(self.count, self.sums / self.count, self.products / self.count)


def layer_moments(graph: Graph, nodes: Sequence[Node], samples: Samples) -> dict[Node, Moments]:
    """Moments of the rows of linear `nodes` in the float graph, over the samples."""
    gathered = {node: _Gathering() for node in nodes}
    readers: dict[Value, list[Node]] = {}
    for node in nodes:
        readers.setdefault(node.inputs[0], []).append(node)

    def visit(_: Node | None, values: Sequence[Value], arrays: Sequence[Array]) -> None:
        for value, array in zip(values, arrays, strict=True):
            for node in readers.get(value, []):
                gathered[node].add(rows_of(node, array, _ROWS_A_RUN))

    for _ in run_samples(graph, samples.first(_MOST_SAMPLES), visit):
        pass
    return {node: item.finish() for node, item in gathered.items()}


def refinement_for(
    graph: Graph,
    rules: Rules,
    options: QuantizationOptions,
    profile: Profile,
    samples: Samples | None,
) -> Refinement:
    """Scales of four-bit weights, rounding and bias correction as `options` ask.

    Means come from the samples where rounding goes through them, or else from the profile.
    """
    linear = [node for node in rules if is_linear(node) and _row_length(node) <= _LONGEST_ROW]
    gathered: Mapping[Node, Moments] = {}
    if options.adaptive_rounding:
        assert samples is not None
        gathered = layer_moments(graph, linear, samples)
    names = profiled_values(graph)
    power2 = options.calibration.schema is Schema.SYMMETRIC_WITH_POWER2_SCALE

    def refine(node: Node, layer: LayerConstants) -> tuple[Array, LayerConstants]:
        moments, error = gathered.get(node), None
        if moments is not None:
            error = moments.covariance if options.bias_correction else moments.outer
        if layer.most == INT4_MAX:
            layer = replace(layer, scales=clipped_scales(node, layer, error, power2))
        stored, _ = nearest(node, layer)
        if moments is not None:
            assert error is not None
            stored = round_adaptively(node, layer, stored, error, moments.count)
        x = names.get(node.inputs[0])
        if options.bias_correction and x is not None and is_linear(node):
            mean = _mean_row(node, profile.tensors[x]) if moments is None else moments.mean
            layer = replace(layer, bias=corrected_bias(node, layer, stored, mean))
        return stored, layer

    return refine


def _mean_row(node: Node, tensor: TensorProfile) -> Array:
    """Mean of the layer's rows `(groups, k)`, every place inside having its channel's mean."""
    channels = np.float32(tensor.mean) if tensor.channels is None else tensor.channels.mean
    x = np.broadcast_to(channels, node.inputs[0].type.shape)
    mean: Array = rows_of(node, x, _ROWS_A_RUN).mean(axis=1, dtype=np.float64)
    return mean


def _row_length(node: Node) -> int:
    weights = node.inputs[1].type
    return int(weights_matrix(node, np.empty(weights.shape, np.int8)).shape[2])


def round_adaptively(
    node: Node, layer: LayerConstants, stored: Array, outer: Array, count: int
) -> Array:
    """Stored weights with less error than `stored` on data of the moments `outer`."""
    real = weights_matrix(node, layer.weights.astype(np.float64))
    start = weights_matrix(node, stored).astype(np.float64)
    scales = scales_matrix(node, layer)
    found = np.stack(
        [
            _descend(
                real[group] / scales[group], start[group], _damped(outer[group], count), layer.most
            )
            for group in range(len(real))
        ]
    )
    return weights_of_matrix(node, found.astype(np.int8))


def _damped(outer: Array, count: int) -> Array:
    """`outer` plus what it may be wrong by: few rows say little about many directions."""
    size = len(outer)
    share = max(_LEAST_DAMPING, size / count)
    ridge = max(share * float(np.trace(outer)) / size, 1e-30)
    damped: Array = outer + ridge * np.eye(size)
    return damped


def _descend(target: Array, start: Array, outer: Array, most: int) -> Array:
    """Integers near `target` (outputs, k) of least e H e', at most `most`, from `start` on."""
    stored: Array = start.copy()
    gradient = (stored - target) @ outer
    for _ in range(_SWEEPS):
        changed = False
        for column in range(stored.shape[1]):
            wanted = stored[:, column] - np.rint(gradient[:, column] / outer[column, column])
            step = np.clip(wanted, -most, most) - stored[:, column]
            if step.any():
                changed = True
                stored[:, column] += step
                gradient += step[:, np.newaxis] * outer[column]
        if not changed:
            break
    return stored


def corrected_bias(node: Node, layer: LayerConstants, stored: Array, mean: Array) -> Array:
    """The bias that leaves no error in the mean of any output."""
    assert layer.bias is not None
    error = weights_matrix(node, stored) * scales_matrix(node, layer)
    error -= weights_matrix(node, layer.weights.astype(np.float64))
    shift = np.einsum("gok,gk->go", error, mean).reshape(-1)
    return np.asarray(layer.bias - shift)
