"""What nodes of gradients in fixed point compute, and the real numbers that it stands for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from glowmcu.gradient.fixed.builder import FixedBuilder, FixedGradient
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.types import Shape


def values_in(build: FixedBuilder, known: dict[Value, Array]) -> dict[Value, Array]:
    for node in build.nodes:
        assert node.type_fault is None
        inputs = [known[value] for value in node.inputs]
        results = node.op.evaluate(inputs, node.signature, Rounding.DOUBLE)
        known.update(zip(node.outputs, results, strict=True))
    return known


def meant(found: FixedGradient, known: Mapping[Value, Array], shape: Shape) -> Array:
    exponent, peak = (int(number) for number in known[found.common])
    numbers = known[found.numbers].astype(np.float64)
    assert np.abs(numbers).max(initial=0) <= peak <= 2**14
    return np.broadcast_to(numbers * 2.0**exponent * found.scale, shape)
