"""Kernels of `recurrence` on integers: all gates of a step are one matrix, two rows at a time.

What is in front of the gates waits in scratch as int16, so that the hidden state goes on in place.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from glowmcu.errors import ExitCode, error
from glowmcu.ir.operation import Array
from glowmcu.kernels.common.bounds import bound_note
from glowmcu.kernels.common.layer_fields import constant, is_constant
from glowmcu.kernels.kernel import (
    ConstantArray,
    Cost,
    Kernel,
    KernelCode,
    Site,
    Target,
    kernel,
    once_a_site,
)
from glowmcu.kernels.portable.recurrence import recurrence_of, step_count, strides
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops import wide_sigmoid
from glowmcu.ops.fixed_point import Requantization
from glowmcu.ops.recurrence import CellKind, Recurrence
from glowmcu.ops.recurrence_integers import StepScales, step_scales

_INT32_END = 2**31


@dataclass(frozen=True)
class CellView:
    """A `glowmcu_recurrence_cell`: multipliers with shifts."""

    state: tuple[int, int]
    shown: tuple[int, int]
    out_zero_point: int


@kernel("recurrence.portable", Recurrence)
class PortableRecurrence(Kernel):
    """int8 with a hidden state of int16; any core."""

    suffix: ClassVar[str] = ""
    #: Cycles of a product with the input and with the hidden state.
    each: ClassVar[tuple[float, float]] = (4.5, 4.5)
    #: Of a layer without a reset gate.
    code_bytes: ClassVar[int] = 1000

    def accepts(self, site: Site, target: Target) -> bool:
        return not site.signature.output.element.is_float and is_constant(site, 1, 2, 3)

    def scratch_bytes(self, site: Site, target: Target) -> int:
        op, shape = recurrence_of(site)
        return 2 * shape.units * (4 if op.kind is CellKind.GRU else 1)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, shape = recurrence_of(site)
        steps = step_count(site)
        rows = steps * shape.units * shape.gates
        hidden = "wide" if _bounds(site)[1] >= _INT32_END else "hidden"
        return {
            "call": 1.0, "step": steps, "row": rows, f"unit {op.kind.value}": steps * shape.units,
            "mac input": rows * shape.depth, f"mac {hidden}": rows * shape.units,
        }  # fmt: skip

    def cost(self, site: Site, target: Target) -> Cost:
        op, shape = recurrence_of(site)
        outputs = shape.directions * shape.batches * shape.steps * shape.units
        rows = outputs * shape.gates
        cycles = self.each[0] * rows * shape.depth + self.each[1] * rows * shape.units
        flash = sum(data.nbytes for data in site.constants if data is not None) + 5 * rows + 512
        code_bytes = self.code_bytes + (380 if op.kind is CellKind.GRU else 0)
        return Cost(
            cycles + 90.0 * rows + 60.0 * outputs, 0, flash,
            self.scratch_bytes(site, target), layer_code_bytes=code_bytes,
        )  # fmt: skip

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, shape = recurrence_of(site)
        scales, bounds = _scales(site), _bounds(site)
        if bounds[0] >= _INT32_END:
            raise error(
                "GM502",
                f"{op.name}: a sum can reach {bounds[0]}, and must stay below {_INT32_END}",
                f'{site.node.source} "{site.node.name}"',
                "are the layer's biases far beyond its products? train it with smaller ones",
                ExitCode.UNSUPPORTED,
            )
        is_wide = bounds[1] >= _INT32_END
        pairs = (
            f"glowmcu_recurrence_pair_s8{self.suffix}",
            f"glowmcu_recurrence_pair_{'wide' if is_wide else f's16{self.suffix}'}",
        )
        operands = [0] + [
            op.position(name) for name in ("hidden", "lengths") if name in op.operands
        ]
        view: dict[str, Any] = {
            "kind": op.kind.value,
            "shape": shape,
            **strides(op, shape),
            "reversed": op.reversed,
            "batch_first": op.batch_first,
            "resets_after": op.resets_after,
            "has_initial": op.has_initial,
            "has_lengths": op.has_lengths,
            "cell": CellView(
                _pair(scales.state), _pair(scales.shown), site.signature.output.zero_point
            ),
            "pair_x": pairs[0],
            "pair_h": pairs[1],
            "sigmoid": ConstantArray(
                "sigmoid", wide_sigmoid.SIGMOID, "sigmoid(i / 24) - 1/2, Q0.16"
            ),
            **_products("x", constant(site, 1), _input_bias(site), scales.inputs),
            **_products(
                "h", constant(site, 2) if is_wide else self.ordered(constant(site, 2)),
                _recurrent_bias(site), scales.recurrent,
            ),
            "headers": ("glowmcu_recurrence_s8.h", *(f"{pair}.h" for pair in pairs)),
        }  # fmt: skip
        note = bound_note(site.node.macs, max(bounds)) if not is_wide else "wide sums saturate"
        return KernelCode(
            "", tuple(operands), template="portable/recurrence_s8.c.j2", view=view,
            scratch_bytes=self.scratch_bytes(site, target), notes=(note,),
        )  # fmt: skip

    def ordered(self, weights: Array) -> Array:
        """Recurrent weights as the products read them."""
        return weights


@kernel("recurrence.dsp", Recurrence)
class DspRecurrence(PortableRecurrence):
    """The same with two products an instruction."""

    suffix: ClassVar[str] = "_dsp"
    each: ClassVar[tuple[float, float]] = (2.2, 2.4)
    code_bytes: ClassVar[int] = 1110

    def accepts(self, site: Site, target: Target) -> bool:
        return target.core.has_dsp and super().accepts(site, target)

    def ordered(self, weights: Array) -> Array:
        """Of each four the two in the middle are exchanged."""
        whole = weights.shape[1] & ~3
        fours = weights[:, :whole].reshape(len(weights), -1, 4)[:, :, [0, 2, 1, 3]]
        return np.concatenate([fours.reshape(len(weights), -1), weights[:, whole:]], axis=1)


def _pair(scale: Requantization) -> tuple[int, int]:
    return int(scale.multipliers[0]), int(scale.shifts[0])


def _scales(site: Site) -> StepScales:
    op, _ = recurrence_of(site)
    return step_scales(*op.integer_types(site.signature))


def _input_bias(site: Site) -> Array:
    """What sums over stored inputs start from, int64."""
    zero_point = site.signature.inputs[0].zero_point
    totals = constant(site, 1).astype(np.int64).sum(axis=1)
    bias: Array = constant(site, 3).astype(np.int64) - zero_point * totals
    return bias


def _recurrent_bias(site: Site) -> Array | None:
    op, _ = recurrence_of(site)
    return constant(site, op.position("recurrent_bias")) if op.resets_after else None


@once_a_site
def _bounds(site: Site) -> tuple[int, int]:
    """What no sum of either product exceeds, nor one on its way."""
    sizes = [np.abs(constant(site, n).astype(np.int64)).sum(axis=1) for n in (1, 2)]
    bias = _recurrent_bias(site)
    kept = 0 if bias is None else np.abs(bias.astype(np.int64))
    of_x = np.abs(_input_bias(site)) + 128 * sizes[0]
    return int(of_x.max()), int((kept + 32768 * sizes[1]).max())


def _products(
    name: str, weights: Array, bias: Array | None, scale: Requantization
) -> dict[str, Any]:
    """Arrays of one of the two matrices."""
    start = None if bias is None else ConstantArray(f"{name}_bias", bias.astype(np.int32))
    return {
        f"{name}_weights": ConstantArray(f"{name}_weights", weights, "gates, then OI"),
        f"{name}_bias": start,
        f"{name}_multipliers": ConstantArray(f"{name}_multipliers", scale.multipliers, "Q31"),
        f"{name}_shifts": ConstantArray(f"{name}_shifts", scale.shifts.astype(np.int8), "left"),
        f"is_{name}_by_row": len(scale.multipliers) > 1,
    }
