"""lstm on cores with DSP instructions: all gates of two units are a block of a packed matrix.

What a step multiplies x with is a block of constants, and the hidden state with the next, since
both products are rescaled before they are added. A step is one function of assembly, which has all
shifts of the layer in its code; see lstm_assembly.py.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from glowmcu.ir.function_names import specialized
from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.bounds import bound_note
from glowmcu.kernels.common.layer_fields import is_constant
from glowmcu.kernels.dsp.dense.direct import DIRECT_CHANNELS, rest_first
from glowmcu.kernels.dsp.dense.direct_assembly import FOUR, ROUND_FOURS, walk
from glowmcu.kernels.dsp.dense.stream import PACKED_SCALE, BlockLayout, DenseStream
from glowmcu.kernels.dsp.lstm_assembly import GATES, LONG_ROUND_FOURS, StepCode, step_assembly
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
    once_a_site,
)
from glowmcu.kernels.portable.lstm import (
    POINTERS,
    folded_biases,
    gate_weights,
    lstm_shape,
    shape_fields,
    sum_bound,
)
from glowmcu.kernels.requantization.forms import Form, FormKind
from glowmcu.ops import wide_sigmoid
from glowmcu.ops.fixed_point import Requantization
from glowmcu.ops.lstm import Lstm

_INT32_END, _INT16_MAX = 2**31, 2**15 - 1
#: Entries of each half of the table of lines, beyond which sigmoid is 1 or 0.
_ENTRIES = 256
#: Bytes of code: of one of a round's fours, and of all that is no round.
_FOUR_CODE, _CODE = 134, 1250
#: Long rounds of both products from which on their code pays.
_LONG_ROUNDS = 2


@kernel("lstm.dsp", Lstm)
class LstmDsp(Kernel):
    """int8, two units at a time."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or not is_constant(site, 1, 2, 3):
            return False
        is_short = site.signature.inputs[0].element is ElementType.I8
        return is_short and site.rounding is Rounding.DOUBLE and _is_exact(site)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        shape, code = lstm_shape(site), _code(site)
        steps = shape.batches * shape.steps
        blocks = steps * ((shape.units + 1) // 2)
        fours = [-(-inputs // FOUR) for inputs in (shape.depth, shape.units)]
        return {
            "step": steps,
            "block": blocks,
            "round": blocks * sum(-(-each // code.round_fours) for each in fours),
            "four wide" if code.layout.wide else "four": blocks * sum(fours),
        }

    def cost(self, site: Site, target: Target) -> Cost:
        flash = _stream(site).nbytes + 6 * 2 * _ENTRIES + 200
        rounds = _code(site).round_fours * _FOUR_CODE
        return Cost(2.0 * site.node.macs, _CODE + rounds, flash, code_key=_function(site))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, signature, code = site.node.op, site.signature, _code(site)
        assert isinstance(op, Lstm)
        shape = lstm_shape(site)
        intercepts, slopes = sigmoid_lines()
        fields = (
            Field("stream", ConstantArray("stream", _stream(site), _STREAM)),
            _walk("input", shape.depth, code.layout, code.round_fours),
            _walk("past", shape.units, code.layout, code.round_fours),
            Field("scales", ConstantArray("scales", _scales(site), "gates i, f, g, o, twice")),
            Field("intercepts", ConstantArray("sigmoid_intercepts", intercepts, _LINES)),
            Field("slopes", ConstantArray("sigmoid_slopes", slopes, _LINES)),
            _right("added", op.input_requantization(signature), 0),
            _right("result", op.output_requantization(signature), signature.inputs[4].zero_point),
            Field("room", 0x10001 * (_INT16_MAX - op.cell_limits(signature)[1])),
            Field("shape", Parameters("glowmcu_lstm_shape", shape_fields(site))),
        )
        gates = ", ".join(map(str, (*code.input_shifts, *code.past_shifts)))
        others = (code.added_shift, code.result_shift, code.cell_shift)
        flags = (int(code.layout.wide), int(code.clips))
        return KernelCode(
            function=_function(site),
            operands=POINTERS,
            template="dsp/lstm_dsp.c.j2",
            view={
                "headers": ("glowmcu_lstm_dsp.h",),
                "assembly": step_assembly(code),
                "shifts": f"{{{gates}}}, {', '.join(map(str, (*others, *flags)))}",
            },
            parameters=Parameters("glowmcu_lstm_paired", fields),
            notes=(bound_note(site.node.macs, sum_bound(site)),),
        )


_STREAM = "for blocks see glowmcu_lstm_dsp.h"
_LINES = "see glowmcu_lstm_dsp.h"


def _function(site: Site) -> str:
    return specialized("lstm", *_code(site).facts)


def _walk(name: str, depth: int, layout: BlockLayout, round_fours: int) -> Field:
    way = walk(depth, layout, round_fours)
    fields = (
        Field("first_round", way.first_round),
        Field("end_round", way.end_round),
        Field("entry", way.entry),
        Field("jump", way.jump),
    )
    return Field(name, Parameters("glowmcu_lstm_walk", fields))


def _scales(site: Site) -> npt.NDArray[np.int32]:
    """Of x, then of the hidden state: a gate's multiplier, and the half that a shift drops."""
    words: list[int] = []
    for scale in _gate_scales(site):
        for multiplier, shift in zip(scale.multipliers, scale.shifts, strict=True):
            words.append(int(multiplier))
            if shift < 0:
                words.append(1 << (-int(shift) - 1))
    return np.array(words, np.int32)


def _right(name: str, scale: Requantization, zero_point: int) -> Field:
    shift = -int(scale.shifts[0])
    fields = (
        Field("multiplier", int(scale.multipliers[0])),
        Field("step", (zero_point << shift) + (1 << (shift - 1))),
    )
    return Field(name, Parameters("glowmcu_lstm_right", fields))


def sigmoid_lines() -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int16]]:
    """Intercepts and slopes: sigmoid between two entries, Q0.31 with half of Q0.15 for rounding.

    Below 0 it is the complement, whose last bit of Q0.25 counts. Slopes are modulo 2^16.
    """
    values: Array = wide_sigmoid.SIGMOID.astype(np.int64)
    rises: Array = np.append(np.diff(values), 0)
    starts = (values - rises * np.arange(_ENTRIES)) * 2**9
    lines = np.concatenate([-starts[::-1] - 1, starts]) + 2**24 + 2**9
    slopes = np.concatenate([rises[::-1], rises])
    halves = (slopes * 64).astype(np.uint16).view(np.int16)
    return (lines * 64 & 0xFFFFFFFF).astype(np.uint32), halves


@once_a_site
def _code(site: Site) -> StepCode:
    """What of the layer is part of the code."""
    op, signature, shape = site.node.op, site.signature, lstm_shape(site)
    assert isinstance(op, Lstm)
    of_x, of_hidden = (tuple(map(int, scale.shifts)) for scale in _gate_scales(site))
    argument = op.cell_argument(signature)
    is_long = min(shape.depth, shape.units) >= _LONG_ROUNDS * LONG_ROUND_FOURS * FOUR
    return StepCode(
        layout=_layout(site),
        input_shifts=of_x,
        past_shifts=of_hidden,
        added_shift=-int(op.input_requantization(signature).shifts[0]),
        result_shift=-int(op.output_requantization(signature).shifts[0]),
        cell_shift=(argument.multiplier // 3).bit_length() - 1 - argument.shift,
        clips=op.cell_limits(signature) != ElementType.I16.limits,
        odd=shape.units % 2 == 1,
        round_fours=LONG_ROUND_FOURS if is_long else ROUND_FOURS,
    )


def _gate_scales(site: Site) -> tuple[Requantization, Requantization]:
    """Of sums over x and over the hidden state."""
    op = site.node.op
    assert isinstance(op, Lstm)
    return (
        op.gate_requantization(site.signature, 0),
        op.gate_requantization(site.signature, 4),
    )


def _is_exact(site: Site) -> bool:
    """Whether products of 32 bits compute all rescalings."""
    op = site.node.op
    assert isinstance(op, Lstm)
    if op.cell_limits(site.signature)[1] < 1:
        return False
    added = op.input_requantization(site.signature)
    result = op.output_requantization(site.signature)
    if not _has_room(added, 0) or not _has_room(result, site.signature.inputs[4].zero_point):
        return False
    for scale, bound in zip(_gate_scales(site), _bounds(site), strict=True):
        if int(scale.shifts.min()) < -30:
            return False
        if bound << (max(int(scale.shifts.max()), 0) + 1) >= _INT32_END:
            return False
    return True


def _has_room(scale: Requantization, zero_point: int) -> bool:
    """Whether a product of int16 is shifted to the right, and the zero point fits beside it."""
    right = -int(scale.shifts[0])
    if not 1 <= right <= 30:
        return False
    step = (abs(zero_point) << right) + (1 << (right - 1))
    return step + int(scale.multipliers[0]) // 2 + 2 < _INT32_END


@once_a_site
def _bounds(site: Site) -> tuple[int, int]:
    """What no sum of either matrix exceeds, nor one on its way."""
    biases = np.abs(folded_biases(site).astype(np.int64))
    weights = gate_weights(site)
    sizes = (np.abs(each.astype(np.int64)).sum(axis=1) for each in weights)
    of_x, of_hidden = (int((bias + 128 * n).max()) for bias, n in zip(biases, sizes, strict=True))
    return of_x, of_hidden


@once_a_site
def _rows(site: Site) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Weights (4 units, inputs) in the order of blocks and what sums start from, of x and of the
    hidden state.
    """
    units = lstm_shape(site).units
    of_x, of_hidden = (
        (
            rest_first(_by_pairs(weights.astype(np.int32), units)),
            _by_pairs(bias.astype(np.int64).reshape(-1, 1), units)[:, 0],
        )
        for weights, bias in zip(gate_weights(site), folded_biases(site), strict=True)
    )
    return of_x, of_hidden


@once_a_site
def _layout(site: Site) -> BlockLayout:
    """Of blocks, both matrices' alike."""
    packed = (PACKED_SCALE * rows[0::2] + rows[1::2] for rows, _ in _rows(site))
    fit = all(each.min() >= -(2**15) for each in packed)
    wide = not fit or max(_bounds(site)) >= _INT32_END // PACKED_SCALE
    return BlockLayout(FormKind.LITERAL, wide, DIRECT_CHANNELS, uniform=True)


@once_a_site
def _stream(site: Site) -> npt.NDArray[np.int32]:
    """Blocks of x and of the hidden state in turn, with what follows each."""
    blocks = []
    for place, (rows, starts) in enumerate(_rows(site)):
        none = np.zeros_like(starts)
        form = Form(FormKind.LITERAL, 0, 0, starts, none, none, none, none, None)
        stream = DenseStream(form, _layout(site), rows)
        words = stream.words().reshape(stream.blocks, -1)[::-1].copy()
        words[:, -1] = place
        blocks.append(words)
    blocks[1][-1, -1] = -1
    return np.ascontiguousarray(np.concatenate(blocks, axis=1)).reshape(-1)


def _by_pairs(rows: Array, units: int) -> Array:
    """(4 units, n) to the order of blocks: a gate of two units, then the next gate."""
    gates = np.pad(rows.reshape(4, units, -1), ((0, 0), (0, units % 2), (0, 0)))
    pairs = gates.reshape(4, -1, 2, gates.shape[2]).swapaxes(0, 1)
    return np.ascontiguousarray(pairs).reshape(-1, gates.shape[2])


assert DIRECT_CHANNELS == 2 * GATES, "a block is four gates of two units"
