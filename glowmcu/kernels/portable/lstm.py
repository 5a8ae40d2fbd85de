"""Portable kernels of `lstm`: a loop over the steps, in which a step's result is what the next one
reads as the hidden state, so that no scratch is needed.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from glowmcu.errors import ExitCode, error
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.bounds import bound_note, largest_offset_input
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_float
from glowmcu.kernels.kernel import (
    ConstantArray,
    Cost,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.ops import wide_sigmoid
from glowmcu.ops.fixed_point import Requantization
from glowmcu.ops.lstm import Lstm, LstmShape
from glowmcu.ops.wide import ACCUMULATOR_END

#: Operands that are pointers: the sequence and the states.
POINTERS = (0, 4, 5)
_INT32_END = 2**31


def lstm_shape(site: Site) -> LstmShape:
    """Sizes of the layer."""
    op = site.node.op
    assert isinstance(op, Lstm)
    return op.shape(site.signature.inputs)


def shape_fields(site: Site) -> tuple[Field, ...]:
    """Sizes, and the elements between batch items and between steps."""
    op, shape = site.node.op, lstm_shape(site)
    assert isinstance(op, Lstm)
    batch, step = (1, shape.batches) if op.time_major else (shape.steps, 1)
    return (
        Field("batches", shape.batches),
        Field("steps", shape.steps),
        Field("depth", shape.depth),
        Field("units", shape.units),
        Field("x_batch", batch * shape.depth),
        Field("x_step", step * shape.depth),
        Field("out_batch", batch * shape.units),
        Field("out_step", step * shape.units),
    )


def cell_fields(site: Site) -> tuple[Field, ...]:
    """A `glowmcu_lstm_cell`."""
    op, signature = site.node.op, site.signature
    assert isinstance(op, Lstm)
    argument, (cell_min, cell_max) = op.cell_argument(signature), op.cell_limits(signature)
    hidden = signature.inputs[4]
    return (
        _scale_field("forget", op.forget_requantization(signature)),
        _scale_field("input", op.input_requantization(signature)),
        _scale_field("output", op.output_requantization(signature)),
        Field(
            "cell",
            Parameters(
                "glowmcu_sigmoid_scale",
                (Field("multiplier", argument.multiplier), Field("shift", argument.shift)),
            ),
        ),
        Field("cell_min", cell_min),
        Field("cell_max", cell_max),
        Field("out_zero_point", hidden.zero_point),
        Field("out_min", hidden.element.limits[0]),
        Field("out_max", hidden.element.limits[1]),
        Field(
            "sigmoid",
            ConstantArray("sigmoid", wide_sigmoid.SIGMOID, "sigmoid(i / 24) - 1/2, Q0.16"),
        ),
    )


def _scale_field(name: str, scale: Requantization) -> Field:
    fields = (
        Field("multiplier", int(scale.multipliers[0])),
        Field("shift", int(scale.shifts[0])),
    )
    return Field(name, Parameters("glowmcu_lstm_scale", fields))


def gate_weights(site: Site) -> tuple[Array, Array]:
    """Of x and of the hidden state, each (4 units, inputs)."""
    units = lstm_shape(site).units
    return constant(site, 1).reshape(4 * units, -1), constant(site, 2).reshape(4 * units, -1)


def folded_biases(site: Site) -> Array:
    """int32 (2, 4 units): what sums over stored values start from. Raises GM502."""
    folded, bias = [], constant(site, 3).reshape(-1).astype(np.int64)
    for operand, weights in zip((0, 4), gate_weights(site), strict=True):
        own = bias if operand == 0 else np.zeros_like(bias)
        wide = weights.astype(np.int64)
        first = own - site.signature.inputs[operand].zero_point * wide.sum(axis=1)
        magnitude = np.abs(wide).sum(axis=1)
        _expect_bound(site, np.abs(first) + 128 * magnitude, _INT32_END)
        folded.append(first)
    return np.stack(folded).astype(np.int32)


def _expect_bound(site: Site, magnitudes: Array, end: int) -> int:
    bound = int(magnitudes.max())
    if bound >= end:
        raise error(
            "GM502",
            f"{site.node.op.name}: an accumulator can reach {bound}, and must stay below {end}",
            f'{site.node.source} "{site.node.name}"',
            "is the bias quantized with scale input_scale * weight_scale? re-quantize the model",
            ExitCode.UNSUPPORTED,
        )
    return bound


def sum_bound(site: Site) -> int:
    """Greatest |accumulator| of any gate."""
    bias = np.abs(constant(site, 3).reshape(-1).astype(np.int64))
    bounds = []
    for operand, weights in zip((0, 4), gate_weights(site), strict=True):
        reach = largest_offset_input(site.signature.inputs[operand])
        sums = np.abs(weights.astype(np.int64)).sum(axis=1) * reach
        bounds.append(int((sums + (bias if operand == 0 else 0)).max()))
    return max(bounds)


def _scales(site: Site) -> ConstantArray:
    """[2][4][2]: multiplier and shift."""
    op = site.node.op
    assert isinstance(op, Lstm)
    both = [op.gate_requantization(site.signature, operand) for operand in (0, 4)]
    pairs = [np.stack([each.multipliers, each.shifts], axis=1) for each in both]
    return ConstantArray("scales", np.stack(pairs).astype(np.int32), "multiplier, shift")


def _constants(site: Site, biases: Array) -> tuple[Field, ...]:
    weights, recurrent = gate_weights(site)
    return (
        Field("biases", ConstantArray("bias", biases)),
        Field("weights", ConstantArray("weights", weights, "gates i, f, g, o, then OI")),
        Field("recurrent", ConstantArray("recurrent", recurrent, "gates i, f, g, o, then OI")),
    )


class _Portable(Kernel):
    """Base: weights as the graph has them; any core."""

    #: Cycles of a product, and of what follows a unit's sums.
    each: tuple[float, float]
    code_bytes: int
    element: ElementType

    def accepts(self, site: Site, target: Target) -> bool:
        is_own = site.signature.inputs[0].element is self.element
        return is_own and is_constant(site, 1, 2, 3)

    def cost(self, site: Site, target: Target) -> Cost:
        shape = lstm_shape(site)
        macs, outputs = site.node.macs, shape.batches * shape.steps * shape.units
        flash = sum(site.signature.inputs[n].size_bytes for n in (1, 2, 3))
        return Cost(self.each[0] * macs + self.each[1] * outputs, self.code_bytes, flash + 700)


@kernel("lstm.portable", Lstm)
class PortableLstm(_Portable):
    """int8, a gate at a time."""

    each, code_bytes, element = (5.0, 700.0), 760, ElementType.I8

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        shape = lstm_shape(site)
        units = shape.batches * shape.steps * shape.units
        return {"call": 1.0, "unit": units, "product": site.node.macs}

    def generate(self, site: Site, target: Target) -> KernelCode:
        fields = (
            Field("shape", Parameters("glowmcu_lstm_shape", shape_fields(site))),
            Field("cell", Parameters("glowmcu_lstm_cell", cell_fields(site))),
            Field("scales", _scales(site)),
            *_constants(site, folded_biases(site)),
        )
        return KernelCode(
            function="glowmcu_lstm_s8",
            operands=POINTERS,
            header="glowmcu_lstm.h",
            parameters=Parameters("glowmcu_lstm", fields),
            notes=(bound_note(site.node.macs, sum_bound(site)),),
        )


@kernel("lstm.portable_s16", Lstm)
class WideLstm(_Portable):
    """int16, a gate at a time."""

    each, code_bytes, element = (6.0, 900.0), 900, ElementType.I16

    def generate(self, site: Site, target: Target) -> KernelCode:
        bound = _expect_bound(site, np.array([sum_bound(site)]), ACCUMULATOR_END)
        fields = (
            Field("shape", Parameters("glowmcu_lstm_shape", shape_fields(site))),
            Field("cell", Parameters("glowmcu_lstm_cell", cell_fields(site))),
            Field("scales", _scales(site)),
            *_constants(site, constant(site, 3)),
        )
        return KernelCode(
            function="glowmcu_lstm_s16",
            operands=POINTERS,
            header="glowmcu_lstm_s16.h",
            parameters=Parameters("glowmcu_lstm_wide", fields),
            notes=(f"{site.node.macs:,} MACs; |acc| <= {bound:,} < 2^47".replace(",", " "),),
        )


@kernel("lstm.portable_f32", Lstm)
class RealLstm(_Portable):
    """Real numbers, a gate at a time."""

    each, code_bytes, element = (9.0, 900.0), 800, ElementType.F32

    def accepts(self, site: Site, target: Target) -> bool:
        return is_float(site) and is_constant(site, 1, 2, 3)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return KernelCode(
            function="glowmcu_lstm_f32",
            operands=POINTERS,
            header="glowmcu_lstm_f32.h",
            parameters=real_parameters(site, *_constants(site, constant(site, 3))),
        )


def real_parameters(site: Site, *weights: Field) -> Parameters:
    """A `glowmcu_lstm_real` with these biases, weights and recurrent weights."""
    op = site.node.op
    assert isinstance(op, Lstm)
    clip = Field("cell_clip", max(float(op.cell_clip), 0.0))
    return Parameters("glowmcu_lstm_real", (*shape_fields(site), clip, *weights))
