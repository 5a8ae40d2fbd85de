"""Scales of weights that have few steps: a channel's largest weights may be cut off.

With 15 steps the step itself is the error: a scale below max|w| / 7 makes all weights finer and
cuts off a few. Of fixed shares of that scale each channel takes the one of least squared error of
the layer's output on the samples, e H e' (`rounding.py`), or of the weights without samples.
Source: Banner et al. 2019, arXiv 1810.05723; Nagel et al. 2021, arXiv 2106.08295, section 3.1.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.graph import Node
from glowmcu.ir.operation import Array
from glowmcu.quant.convert import LayerConstants
from glowmcu.quant.linear_layers import weights_matrix
from glowmcu.quant.schemas import power_of_two_above
from glowmcu.quant.weights import Floats, along

#: Shares of the scale that cuts nothing off; of equal errors the first is taken.
_SHARES = tuple(1.0 - 0.025 * step for step in range(25))


def clipped_scales(
    node: Node, layer: LayerConstants, outer: Array | None, power_of_two: bool = False
) -> Floats:
    """The scales of `layer`, float32, none above what they are and none below `least_scales`.

    `outer` is H of the layer's rows `(groups, k, k)`, None for the weights' own error.
    """
    best, least = layer.scales, _errors(node, layer, layer.scales, outer)
    for share in _SHARES[1:]:
        scales = layer.scales.astype(np.float64) * share
        if power_of_two:
            scales = np.array([power_of_two_above(scale) for scale in scales])
        tried = scales.astype(np.float32)
        if layer.least_scales is not None:
            tried = np.where(tried < layer.least_scales, layer.scales, tried)
        errors = _errors(node, layer, tried, outer)
        best = np.where(errors < least, tried, best)
        least = np.minimum(errors, least)
    return best


def _errors(node: Node, layer: LayerConstants, scales: Floats, outer: Array | None) -> Array:
    """Squared error of each channel, or of all in one where they share a scale."""
    real = weights_matrix(node, layer.weights.astype(np.float64))
    steps = scales_matrix(node, layer, scales)
    error = np.clip(np.rint(real / steps), -layer.most, layer.most) * steps - real
    seen = error if outer is None else error @ outer
    channels: Array = np.einsum("gok,gok->go", seen, error).reshape(-1)
    return channels if len(scales) > 1 else channels.sum(keepdims=True)


def scales_matrix(node: Node, layer: LayerConstants, scales: Floats | None = None) -> Array:
    """The scale of every weight, float64 `(groups, outputs, k)`: the layer's, or others."""
    given = layer.scales if scales is None else scales
    shaped = along(given, layer.axis, layer.weights.ndim).astype(np.float64)
    matrix: Array = weights_matrix(node, np.broadcast_to(shaped, layer.weights.shape))
    return matrix
