"""lstm on cores with DSP instructions: all gates of two units are a block of a packed matrix.

What a step multiplies x with is one stream of constants, and the hidden state with another, since
both products are rescaled before they are added. The matrices go through the loop of
`fully_connected.direct_dsp`; see lstm_assembly.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.types import ElementType
from glowmcu.kernels.bounds import bound_note
from glowmcu.kernels.convolution import is_constant
from glowmcu.kernels.dense_stream import PACKED_SCALE, BlockLayout, DenseStream
from glowmcu.kernels.fully_connected_direct_assembly import FOUR, walk
from glowmcu.kernels.fully_connected_direct_dsp import DIRECT_CHANNELS, rest_first
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
from glowmcu.kernels.lstm import (
    POINTERS,
    folded_biases,
    gate_weights,
    lstm_shape,
    shape_fields,
    sum_bound,
)
from glowmcu.kernels.lstm_assembly import products_assembly
from glowmcu.kernels.requantization import Form, FormKind
from glowmcu.ops import wide_sigmoid
from glowmcu.ops.fixed_point import Requantization
from glowmcu.ops.lstm import Lstm

_INT32_END = 2**31
#: So many make a function of a layer's own worth its code.
_MANY_STEPS = 8
#: Channels of a part of the stream: libjit's GLOWMCU_LSTM_BLOCKS blocks.
_PART = 8 * DIRECT_CHANNELS
#: Of the table, beyond which sigmoid is 1.
_ENTRIES = 256


@dataclass(frozen=True, eq=False)
class Products:
    """One of the two matrices: its stream and how each gate's sums become int16."""

    parts: tuple[DenseStream, ...]
    depth: int
    multipliers: Array
    #: To the left where positive.
    shifts: Array
    #: Whether shifts are part of the code.
    built_in: bool

    @property
    def layout(self) -> BlockLayout:
        """Of blocks."""
        return self.parts[0].layout

    @property
    def words(self) -> npt.NDArray[np.int32]:
        """The stream."""
        return np.concatenate([part.words() for part in self.parts])

    @property
    def size_bytes(self) -> int:
        """Of the stream."""
        return sum(part.size_bytes for part in self.parts)

    @property
    def shifts_left(self) -> tuple[bool, ...]:
        """For each gate."""
        return tuple(bool(shift >= 0) for shift in self.shifts)

    @property
    def function(self) -> str:
        """Name of the row function."""
        gates = "".join(
            ("l" if shift >= 0 else "r") + (str(abs(int(shift))) if self.built_in else "")
            for shift in self.shifts
        )
        wide = "_wide" if self.layout.wide else ""
        return f"glowmcu_lstm_row_{gates}{wide}"

    @property
    def view(self) -> dict[str, object]:
        """What the template of the row function needs."""
        layout, left = self.layout, self.shifts_left
        return {
            "row": self.function,
            "assembly": products_assembly(layout, self.shifts.tolist(), self.built_in),
            "wide": layout.wide,
            "left": sum(int(is_left) << gate for gate, is_left in enumerate(left)),
        }

    def field(self, name: str) -> Field:
        """A `glowmcu_lstm_products`."""
        way = walk(self.depth, self.layout)
        fields = (
            Field("stream", ConstantArray(f"{name}_stream", self.words, _STREAM)),
            Field("first_round", way.first_round),
            Field("end_round", way.end_round),
            Field("entry", way.entry),
            Field("jump", way.jump),
            Field("scales", ConstantArray(f"{name}_scales", self._scales(), "gates i, f, g, o")),
            Field("depth", self.depth),
            Field("part_words", self.parts[0].size_bytes // 4),
        )
        return Field(name, Parameters("glowmcu_lstm_products", fields))

    def _scales(self) -> npt.NDArray[np.int32]:
        words: list[int] = []
        for multiplier, shift in zip(self.multipliers, self.shifts, strict=True):
            right = -int(shift)
            if shift >= 0:
                words += [int(multiplier), int(shift) + 1]
            else:
                words += [int(multiplier), 1 << (right - 1), right]
        return np.array(words, np.int32)


_STREAM = "for blocks see glowmcu_lstm_dsp.h"


@kernel("lstm.dsp", Lstm)
class LstmDsp(Kernel):
    """int8, two units at a time."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or not is_constant(site, 1, 2, 3):
            return False
        is_short = site.signature.inputs[0].element is ElementType.I8
        return is_short and site.rounding is Rounding.DOUBLE and _is_exact(site)

    def cost(self, site: Site, target: Target) -> Cost:
        shape, both = lstm_shape(site), _both(site)
        steps = shape.batches * shape.steps
        blocks = steps * (shape.units + 1) // 2
        flash = sum(each.size_bytes for each in both) + 4 * _ENTRIES + 200
        return Cost(
            1.25 * site.node.macs + 500.0 * blocks + 200.0 * steps, 1500, flash,
            code_key=_function(site),
        )  # fmt: skip

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, signature = site.node.op, site.signature
        assert isinstance(op, Lstm)
        both, argument = _both(site), op.cell_argument(signature)
        cell_min, cell_max = op.cell_limits(signature)
        cell = (Field("multiplier", argument.multiplier), Field("shift", argument.shift))
        zero_point = signature.inputs[4].zero_point
        fields = (
            both[0].field("input"),
            both[1].field("past"),
            Field("shape", Parameters("glowmcu_lstm_shape", shape_fields(site))),
            _right("added", op.input_requantization(signature), 0),
            _right("result", op.output_requantization(signature), zero_point),
            Field("cell", Parameters("glowmcu_sigmoid_scale", cell)),
            Field("cell_min", cell_min),
            Field("cell_max", cell_max),
            Field("sigmoid", ConstantArray("sigmoid_pairs", _table(), "sigmoid(i / 24) - 1/2")),
        )
        return KernelCode(
            function=_function(site),
            operands=POINTERS,
            template="lstm_dsp.c.j2",
            view={
                "headers": ("glowmcu_lstm_dsp.h",),
                "input": both[0].view,
                "past": both[1].view,
            },
            parameters=Parameters("glowmcu_lstm_paired", fields),
            notes=(bound_note(site.node.macs, sum_bound(site)),),
        )


def _function(site: Site) -> str:
    names = [each.function.removeprefix("glowmcu_lstm_row_") for each in _both(site)]
    return f"glowmcu_lstm_dsp_{'_'.join(names)}"


def _right(name: str, scale: Requantization, zero_point: int) -> Field:
    shift = -int(scale.shifts[0])
    fields = (
        Field("multiplier", int(scale.multipliers[0])),
        Field("step", (zero_point << shift) + (1 << (shift - 1))),
        Field("shift", shift),
    )
    return Field(name, Parameters("glowmcu_lstm_right", fields))


def _table() -> npt.NDArray[np.uint32]:
    """Words of neighbours in the table; the last one has itself."""
    entries = wide_sigmoid.SIGMOID.astype(np.int64) & 0xFFFF
    words: npt.NDArray[np.uint32] = (entries | (np.append(entries[1:], entries[-1]) << 16)).astype(
        np.uint32
    )
    return words


def _is_exact(site: Site) -> bool:
    """Whether products of 32 bits compute all rescalings."""
    op = site.node.op
    assert isinstance(op, Lstm)
    added = op.input_requantization(site.signature)
    result = op.output_requantization(site.signature)
    if not _has_room(added, 0) or not _has_room(result, site.signature.inputs[4].zero_point):
        return False
    for operand, bound in zip((0, 4), _bounds(site), strict=True):
        scale = op.gate_requantization(site.signature, operand)
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
def _both(site: Site) -> tuple[Products, Products]:
    """Of x and of the hidden state."""
    op, units = site.node.op, lstm_shape(site).units
    assert isinstance(op, Lstm)
    made = []
    for operand, weights, bias, bound in zip(
        (0, 4), gate_weights(site), folded_biases(site), _bounds(site), strict=True
    ):
        scale = op.gate_requantization(site.signature, operand)
        rows = rest_first(_by_pairs(weights.astype(np.int32), units))
        starts = _by_pairs(bias.astype(np.int64).reshape(-1, 1), units)[:, 0]
        packed = PACKED_SCALE * rows[0::2] + rows[1::2]
        wide = bool(packed.min() < -(2**15)) or bound >= _INT32_END // PACKED_SCALE
        layout = BlockLayout(FormKind.LITERAL, wide, DIRECT_CHANNELS, uniform=True)
        zeros = np.zeros_like(starts)
        parts = []
        for first in range(0, len(rows), _PART):
            part = slice(first, first + _PART)
            none = zeros[part]
            form = Form(FormKind.LITERAL, 0, 0, starts[part], none, none, none, none, None)
            parts.append(DenseStream(form, layout, rows[part]))
        made.append(
            Products(
                tuple(parts),
                weights.shape[1],
                scale.multipliers,
                scale.shifts,
                lstm_shape(site).steps >= _MANY_STEPS,
            )
        )
    return made[0], made[1]


def _by_pairs(rows: Array, units: int) -> Array:
    """(4 units, n) to the order of blocks: a gate of two units, then the next gate."""
    gates = np.pad(rows.reshape(4, units, -1), ((0, 0), (0, units % 2), (0, 0)))
    pairs = gates.reshape(4, -1, 2, gates.shape[2]).swapaxes(0, 1)
    return np.ascontiguousarray(pairs).reshape(-1, gates.shape[2])


assert DIRECT_CHANNELS == 2 * FOUR, "a block is four gates of two units"
