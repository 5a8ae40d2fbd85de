"""Macros of assembly: one meaning a name, told from others by its first 31 characters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from glowmcu.ir.assembly_macros import Assembly, Macro, calls
from glowmcu.kernels.dsp.convolution.chunks_assembly import chunks_assembly
from glowmcu.kernels.dsp.dense.direct_assembly import row_assembly as direct
from glowmcu.kernels.dsp.dense.few_inputs_assembly import FewShape, few_inputs_assembly
from glowmcu.kernels.dsp.dense.straight_assembly import straight_assembly
from glowmcu.kernels.dsp.dense.stream import BlockLayout
from glowmcu.kernels.dsp.depthwise.near_taps_assembly import window_assembly
from glowmcu.kernels.dsp.depthwise.planes_assembly import PlaneShape, planes_assembly
from glowmcu.kernels.dsp.depthwise.row_shape import RowShape
from glowmcu.kernels.helium.straight_assembly import StraightCode
from glowmcu.kernels.helium.straight_assembly import straight_assembly as straight
from glowmcu.kernels.requantization.forms import Form, FormKind

_SIDES = ((False, True), (False, True))


def _rows() -> Iterator[RowShape]:
    """Widths with all columns that there are, and each epilogue."""
    kinds = (FormKind.FLOOR, FormKind.LITERAL)
    for kind, clamped, far, multiplier in product(kinds, *_SIDES, (1, 2)):
        for width, stride, pad in product((1, 2, 3, 4, 19, 20), (1, 2), (0, 1)):
            out_width = (width + 2 * pad - 3) // stride + 1
            if out_width > 0:
                near = RowShape(width, out_width, 4, stride, pad, True, kind, 11, clamped)
                yield RowShape(**{**vars(near), "is_far": far, "multiplier": multiplier})


def _macros() -> Iterator[Macro]:
    for row in _rows():
        plane = PlaneShape(row, row.stride, lacks_above=True, lacks_below=True, unrolled=False)
        yield from (call.macro for call in calls(planes_assembly(plane)))


def _others() -> Iterator[Assembly]:
    """Loops of convolutions: both layouts, all ends, inputs that are few."""
    for kind, wide, shift in product(FormKind, (False, True), (11, 12)):
        layout = BlockLayout(kind, wide, 4)
        yield chunks_assembly(layout, 64, (0, 4), shift)
        yield straight_assembly(layout, 40, shift)
        yield direct(replace(layout, channels=8), shift)
    none = np.zeros(4, np.int64)
    for kind, clamp in product((FormKind.FLOOR, FormKind.LITERAL), (None, (-3, 4))):
        form = Form(kind, 8, 11, none, none, none, none, none, clamp)
        yield window_assembly(form, (0, 4, 8, 12))
    for depth in range(1, 9):
        yield few_inputs_assembly(FewShape(depth, 16, 4, False, 12))
    for (rows, row_blocks), preshift in product(((1, 1), (1, 8), (3, 3)), (-1, 0, 11)):
        for clamped, partial in product(*_SIDES):
            yield straight(StraightCode(rows, row_blocks, 16, preshift, clamped, partial))


def test_macros_differ_within_31_characters() -> None:
    macros = {*_macros(), *(call.macro for lines in _others() for call in calls(lines))}
    assert len(macros) > 70
    assert len({macro.name[:31] for macro in macros}) == len(macros)
