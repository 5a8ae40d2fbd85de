"""Accumulator bounds, proved from the actual weights: no input can make an accumulator overflow.

|bias + sum((x - x_zp) * w)| <= |bias| + sum(|w|) * max(x_max - x_zp, x_zp - x_min), for any order
of summation and any subset of the taps (padding leaves taps out).
"""

from __future__ import annotations

import numpy as np

from glowmcu.errors import ExitCode, error
from glowmcu.ir.operation import Array
from glowmcu.ir.types import TensorType
from glowmcu.kernels.kernel import Site

_INT32_END = 2**31


def largest_offset_input(type_: TensorType) -> int:
    """max |x - zero_point| over all stored x."""
    lowest, highest = type_.element.limits
    return max(highest - type_.zero_point, type_.zero_point - lowest)


def accumulator_bound(site: Site, weights: Array, bias: Array) -> int:
    """Greatest |accumulator| of any channel; `weights` is (channels, taps).

    Raises GM502 when it does not stay inside int32.
    """
    magnitude = weights.sum(axis=1, where=weights > 0, dtype=np.int64)
    magnitude -= weights.sum(axis=1, where=weights < 0, dtype=np.int64)
    largest = largest_offset_input(site.signature.inputs[0])
    bound = int((magnitude * largest + np.abs(bias.astype(np.int64))).max(initial=0))
    if bound >= _INT32_END:
        raise error(
            "GM502",
            f"{site.node.op.name}: an accumulator can reach {bound}, beyond int32",
            f'{site.node.source} "{site.node.name}"',
            "is the bias quantized with scale input_scale * weight_scale? re-quantize the model",
            ExitCode.UNSUPPORTED,
        )
    return bound


def bound_note(macs: int, bound: int) -> str:
    """The line that the generated comment carries."""
    return f"{macs:,} MACs; |acc| <= {bound:,} < 2^31".replace(",", " ")
