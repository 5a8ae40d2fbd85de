"""What the kernels of 16-bit activations share: accumulator bounds and the struct that rescales."""

from __future__ import annotations

import numpy as np

from glowmcu.errors import ExitCode, error
from glowmcu.ir.kernel_code import ConstantArray, Field, Parameters
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.kernels.kernel import Site
from glowmcu.ops.fixed_point import Requantization
from glowmcu.ops.wide import ACCUMULATOR_END, WideRequantization

#: As libjit's `GLOWMCU_WIDE_BLOCK`: this many products fit into int32 whatever they are.
WIDE_BLOCK = 511
_LARGEST_INPUT = 2**15
_INT32_END = 2**31


def is_wide(site: Site) -> bool:
    """Whether the result has 16 bits."""
    return site.signature.output.element is ElementType.I16


def wide_scale(
    site: Site, weights: Array, bias: Array, scale: Requantization, clamp: tuple[int, int]
) -> tuple[Field, str]:
    """A `glowmcu_wide_scale`, and the proof for the comment; `weights` is (channels, taps)."""
    wide = isinstance(scale, WideRequantization)
    note = _bound_note(site, weights, bias, wide)
    narrow = bias.astype(np.int32)
    fits = bool((narrow == bias).all())
    unit = "Q15" if wide else "Q31"
    fields = (
        Field("wide", int(wide)),
        Field("per_channel", int(len(scale.multipliers) > 1)),
        Field("clamp_min", clamp[0]),
        Field("clamp_max", clamp[1]),
        Field("bias", ConstantArray("bias", narrow) if fits else None),
        Field("wide_bias", None if fits else ConstantArray("bias", bias)),
        Field("multipliers", ConstantArray("multipliers", scale.multipliers, unit)),
        Field("shifts", ConstantArray("shifts", scale.shifts.astype(np.int8), "left positive")),
    )
    return Field("scale", Parameters("glowmcu_wide_scale", fields)), note


def _bound_note(site: Site, weights: Array, bias: Array, wide: bool) -> str:
    """The comment's line of the bound. Raises GM502 when int64 accumulators exceed 2^47."""
    magnitude = np.abs(weights.astype(np.int64)).sum(axis=1) * _LARGEST_INPUT
    # Python integers: a hostile bias may be the least int64.
    bound = max((int(m) + abs(int(b)) for m, b in zip(magnitude, bias, strict=True)), default=0)
    macs = f"{site.node.macs:,} MACs; |acc| <= {bound:,}".replace(",", " ")
    if bound < _INT32_END:
        return f"{macs} < 2^31"
    if not wide:
        return f"{macs}: beyond int32 it wraps, as the reference's does"
    if bound < ACCUMULATOR_END:
        return f"{macs} < 2^47"
    raise error(
        "GM502",
        f"{site.node.op.name}: an accumulator can reach {bound}, beyond 48 bits",
        f'{site.node.source} "{site.node.name}"',
        "is the bias quantized with scale input_scale * weight_scale? re-quantize the model",
        ExitCode.UNSUPPORTED,
    )
