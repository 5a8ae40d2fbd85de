"""conv_2d on cores with DSP instructions: any kernel, stride, padding and dilation, ungrouped.

Input rows are widened once into a window of int16 rows; two output pixels and four channels are
computed at a time from one stream of constants. See glowmcu_conv_2d_rows.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from glowmcu.goals import Goal
from glowmcu.ir.function_names import specialized
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_int8
from glowmcu.kernels.common.overlap import ahead_overlaps
from glowmcu.kernels.dsp.convolution.macro_calls import pair_calls
from glowmcu.kernels.dsp.convolution.pixel_pairs import (
    PairStream,
    needs_wide,
    pair_form,
)
from glowmcu.kernels.dsp.convolution.row_window import RowWindow, row_window
from glowmcu.kernels.dsp.order.macros import in_statements
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
from glowmcu.kernels.requantization.forms import FormKind, requantization_task
from glowmcu.ops.convolution import Conv2D

#: Cycles that a byte of the window counts as, if it saves moving rows.
_WINDOW_WEIGHT = {Goal.BALANCED: 10.0, Goal.SPEED: 2.0}
#: Cycles to move a word of a row that stays in the window.
_MOVE_CYCLES = 2.9


def is_ungrouped(site: Site) -> bool:
    """Whether every output channel reads all input channels."""
    x, weights = site.signature.inputs[:2]
    return x.shape[3] == weights.shape[3]


def is_plain_int8_conv(site: Site) -> bool:
    """An ungrouped int8 convolution whose weights are known."""
    is_stored_int8 = site.signature.inputs[0].element is ElementType.I8
    return is_constant(site, 1, 2) and is_int8(site) and is_stored_int8 and is_ungrouped(site)


def window_of(site: Site) -> RowWindow:
    """The walk over the input."""
    op = site.node.op
    assert isinstance(op, Conv2D)
    return row_window(op, site.signature, site.by_rows)


def rows_of(site: Site, window: RowWindow, goal: Goal) -> int:
    """Rows of the window, not more than the limit has room for, if it can be."""
    if site.by_rows:
        return window.least_rows
    rows = window_rows(window, goal)
    if site.scratch_limit is not None:
        advance = window.rows_at_once * window.strides[0]
        while rows > window.least_rows and window.scratch_bytes(rows) > site.scratch_limit:
            rows -= advance
    return rows


def window_rows(window: RowWindow, goal: Goal) -> int:
    """Rows of the window: the fewer, the more often those that stay are moved to its start."""
    weight = _WINDOW_WEIGHT.get(goal)
    advance = window.rows_at_once * window.strides[0]
    kept = window.least_rows - advance
    if weight is None or kept <= 0:
        return window.least_rows
    turns = -(-window.out_rows // window.rows_at_once)
    move = _MOVE_CYCLES * kept * window.pitch / 2

    def total(extra: int) -> float:
        moves = -(-turns // (extra + 1)) - 1
        return moves * move + weight * 2 * window.pitch * extra * advance

    return window.least_rows + advance * min(range(turns), key=total)


def row_chunks(window: RowWindow, weights: Array) -> Array:
    """Weights OHWI as (channels, chunks, steps, 2), zeros where a chunk is not full."""
    chunk = window.chunk
    values = weights.reshape(-1, window.segment_values)
    if window.shuffled:
        values = values.reshape(-1, 4)[:, [0, 2, 1, 3]].reshape(-1, window.segment_values)
    room = window.parts * chunk.values - window.segment_values
    segments = np.pad(values, ((0, 0), (0, room))).reshape(
        len(weights), -1, chunk.rows * chunk.segments, chunk.values
    )
    even = chunk.values // 2 * 2
    inside = segments[..., :even].reshape(*segments.shape[:2], -1)
    ends = segments[..., even:].reshape(*segments.shape[:2], -1)
    if ends.shape[2] % 2:
        ends = np.pad(ends, ((0, 0), (0, 0), (0, 1)))
    return np.concatenate([inside, ends], axis=2).reshape(*segments.shape[:2], -1, 2)


@once_a_site
def stream_of(site: Site, window: RowWindow) -> PairStream | None:
    """The layer's constants, None if no requantization form is exact."""
    task = requantization_task(site)
    form = pair_form(task)
    if form is None:
        return None
    weights = constant(site, 1)
    wide = needs_wide(form, task, weights)
    return PairStream(form, wide, weights, partial(row_chunks, window), window.ways)


#: What a group of four channels costs beside its products, in that of the shortest form.
_FORM_WEIGHT = {FormKind.FLOOR: 1.0, FormKind.TWO_SIDED: 1.4, FormKind.LITERAL: 1.65}
#: What widening a value costs where order matters, in that of four that may be shuffled.
_ORDERED_WEIGHT = 1.35


@kernel("conv_2d.rows_dsp", Conv2D)
class RowsConv2D(Kernel):
    """Two pixels by four channels from widened input rows, SMLAD on packed weights."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or not is_plain_int8_conv(site):
            return False
        return window_of(site).fits and pair_form(requantization_task(site)) is not None

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        window = window_of(site)
        stream = stream_of(site, window)
        assert stream is not None
        groups = window.pairs * stream.groups
        rows = min(window.in_rows, window.out_rows * window.strides[0])
        if site.by_rows:
            rows = min(
                window.in_rows, (window.out_rows - 1) * window.strides[0] + window.kernel_rows
            )
        chunks = len(window.chunk_places)
        runs = 2 if site.signature.output.shape[3] % 4 else 1
        values = rows * window.in_columns * window.channels
        steps = groups * chunks * window.chunk.steps
        of_an_image = {
            "step": steps,
            "joined step": groups * chunks * window.chunk.joined_steps,
            "wide step": steps if stream.wide else 0,
            "chunk": groups * chunks if chunks > 1 else 0,
            "group by form": groups * _FORM_WEIGHT[stream.form.kind],
            "pair": window.pairs * runs,
            "value": values * (1.0 if window.shuffled else _ORDERED_WEIGHT),
            "row": window.out_rows + (_rows_more(window) if site.by_rows else 0.0),
            "call": 1,
        }
        images = site.signature.inputs[0].shape[0]
        return {name: images * amount for name, amount in of_an_image.items()}

    def scratch_bytes(self, site: Site, target: Target) -> int:
        window = window_of(site)
        return window.scratch_bytes(rows_of(site, window, target.goal))

    def flash_bytes(self, site: Site, target: Target) -> int:
        stream = stream_of(site, window_of(site))
        assert stream is not None
        return stream.nbytes

    def code_key(self, site: Site, target: Target) -> str:
        window = window_of(site)
        stream = stream_of(site, window)
        assert stream is not None
        return _function(window, stream)

    def cost(self, site: Site, target: Target) -> Cost:
        work = self.work(site, target)
        cycles = sum(_CYCLES[name] * amount for name, amount in work.items())
        return Cost(
            cycles,
            _CODE_BYTES + _STEP_CODE * window_of(site).chunk.steps,
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
            around="conv_2d_turns",
            around_bytes=TURNS_CODE_BYTES,
        )

    def generate(self, site: Site, target: Target) -> KernelCode:
        window = window_of(site)
        stream = stream_of(site, window)
        assert stream is not None
        weights = constant(site, 1)
        bound = accumulator_bound(site, weights.reshape(len(weights), -1), constant(site, 2))
        rows = rows_of(site, window, target.goal)
        return KernelCode(
            function=_function(window, stream),
            operands=(0,),
            template="dsp/convolution/conv_2d_rows_dsp.c.j2",
            view=_view(window, stream, target),
            parameters=Parameters("glowmcu_conv_2d_rows", _fields(site, window, stream, rows)),
            rows=window.out_rows,
            batches=site.signature.inputs[0].shape[0],
            overlaps=ahead_overlaps(site.node.op, site.signature, window.rows_at_once),
            scratch_bytes=window.scratch_bytes(rows),
            notes=(bound_note(site.node.macs, bound),),
            weight_passes=window.pairs * site.signature.inputs[0].shape[0],
        )


#: Parts of the cycles of a row: to load another row into the window and to pad it.
_LOADED_ROW = 0.75


def _rows_more(window: RowWindow) -> float:
    """What a single row takes beside a layer's, in such: it loads all rows that it sees."""
    return _LOADED_ROW * max(window.kernel_rows - window.strides[0], 0)


#: Cycles of each amount of work on a Cortex-M4, until the layer is calibrated.
_CYCLES = {
    "step": 15.3,
    "joined step": 8.0,
    "wide step": 1.0,
    "chunk": 5.0,
    "group by form": 56.0,
    "pair": 50.0,
    "value": 1.1,
    "row": 205.0,
    "call": 200.0,
}


#: Of a function, of a step in it, of the C that walks over the image: rows and Winograd share it.
_CODE_BYTES, _STEP_CODE, TURNS_CODE_BYTES = 190, 54, 1400


def _function(window: RowWindow, stream: PairStream) -> str:
    return specialized(
        "rows",
        f"{window.distance} apart",
        f"chunks of {window.chunk.name}",
        "loop" if window.ways else "",
        "wide" if stream.wide else "",
        stream.form.kind.fact,
        f"shift {stream.shift}" if stream.shift else "",
    )


def _view(window: RowWindow, stream: PairStream, target: Target) -> dict[str, object]:
    loops, offsets = bool(window.ways), window.chunk.offsets
    calls = pair_calls(stream.form.kind, stream.shift, stream.wide, window.distance, loops, offsets)
    return {
        "headers": ("glowmcu_conv_2d_rows.h",),
        **in_statements("glowmcu_pixel_pairs.h", calls, target),
        "form": stream.kind,
        "shift": stream.shift,
        "wide": stream.wide,
        "distance": window.distance,
        "loops": loops,
        "offsets": offsets,
    }


def _fields(site: Site, window: RowWindow, stream: PairStream, rows: int) -> tuple[Field, ...]:
    op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
    assert isinstance(op, Conv2D)
    clamp_min, clamp_max = stream.form.clamp or (-128, 127)
    comment = "a group: start, weights, requantization"
    return (
        Field("in_height", window.in_rows),
        Field("in_row", window.in_columns * window.channels),
        Field("in_zero_point", x.zero_point),
        Field("shuffled", int(window.shuffled)),
        Field("pitch", window.pitch),
        Field("left", window.left),
        Field("window_rows", rows),
        Field("kernel_rows", window.kernel_rows),
        Field("stride_y", op.strides[0]),
        Field("pad_top", op.padding[0]),
        Field("out_width", window.out_columns),
        Field("out_channels", out.shape[3]),
        Field("pixel_values", window.pixel_values),
        Field("across", window.across),
        Field("clamp_min", clamp_min),
        Field("clamp_max", clamp_max),
        Field("stream", ConstantArray("stream", stream.words().view(np.int32), comment)),
        Field("stream_words", stream.nbytes // 4),
        Field("group_words", stream.group_words),
    )
