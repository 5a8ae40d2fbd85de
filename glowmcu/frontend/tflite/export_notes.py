"""What a `.tflite` cannot hold of a graph, though it has every layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected


def notes_on_export(graph: Graph) -> tuple[str, ...]:
    """Sentences for whoever has the graph written as `.tflite`."""
    rounded = [node.name for node in graph.nodes if _is_rounded(node)]
    if not rounded:
        return ()
    layers = "a layer" if len(rounded) == 1 else f"{len(rounded)} layers"
    return (
        f"scales of the weights of {layers} ({rounded[0][:120]!r}) are no float32, as uint8 and "
        "TOSA have them; the file holds the nearest, and single results may be a step off those of "
        "a bundle of the original",
    )


def _is_rounded(node: Node) -> bool:
    """Whether a layer is another one with weights of a scale of float32."""
    if not isinstance(node.op, Conv2D | DepthwiseConv2D | FullyConnected):
        return False
    signature, weights = node.signature, node.inputs[1].type
    if weights.quantization is None or node.inputs[0].type.quantization is None:
        return False
    scales = tuple(float(np.float32(scale)) for scale in weights.quantization.scales)
    if scales == weights.quantization.scales:
        return False
    stored = replace(weights, quantization=replace(weights.quantization, scales=scales))
    x, _, *others = signature.inputs
    own = node.op.requantization(signature)
    found = node.op.requantization(replace(signature, inputs=(x, stored, *others)))
    same = own.multipliers.tobytes() == found.multipliers.tobytes()
    return not same or own.shifts.tobytes() != found.shifts.tobytes()
