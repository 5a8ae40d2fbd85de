"""conv_2d of 3x3, stride 1, by exact integer Winograd F(2x2, 3x3) on cores with DSP instructions.

    4 * Y = A' ((G g G') * (B' d B)) A, with G twice the usual one, so that all is integer

16 products of int16 replace 36, for 3.6 times the flash. Source: Lavin and Gray, Fast Algorithms
for Convolutional Neural Networks, arXiv 1509.09308. See glowmcu_conv_2d_winograd.h.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from glowmcu.ir.function_names import specialized
from glowmcu.ir.operation import Array
from glowmcu.ir.types import Shape
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant
from glowmcu.kernels.common.overlap import ahead_overlaps
from glowmcu.kernels.dsp.convolution.macro_calls import tile_calls
from glowmcu.kernels.dsp.convolution.pixel_pairs import channel_order, pair_form
from glowmcu.kernels.dsp.convolution.rows import TURNS_CODE_BYTES, is_plain_int8_conv
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
)
from glowmcu.kernels.requantization.forms import Form, FormKind, requantization_task
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D

Words = npt.NDArray[np.int32]

#: Twice Winograd's: integers.
_G = np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]], np.int32)
#: One place's products are a straight line of that many steps of two channels at most.
_MOST_STEPS = 32
_PLACES = 16
#: Channels that are transformed together: whole groups.
_CHANNELS_AT_ONCE = 64
#: Input rows under two output rows, and their distance.
_ROWS, _ADVANCE = 4, 2
#: Cycles of a Cortex-M4: two channels in, four out, one place of two tiles; what a group of four
#: channels out costs beside that; a channel in and all of two tiles; a value widened; a turn.
_STEP, _TRANSFORM, _TILES, _VALUE, _TURN = 16.0, 98.0, 80.0, 1.9, 300.0
_GROUP = {FormKind.FLOOR: 1050.0, FormKind.TWO_SIDED: 1120.0, FormKind.LITERAL: 1180.0}
#: Results are four times the sums, so that these must stay below a quarter of int32.
_MOST_SUM = 2**29


@dataclass(frozen=True)
class TileWalk:
    """Pairs of tiles over the output; `pitch` and `left` count int16 values."""

    channels: int
    tile_pairs: int
    turns: int
    left: int
    pitch: int

    @property
    def window_bytes(self) -> int:
        return 2 * _ROWS * self.pitch

    @property
    def scratch_bytes(self) -> int:
        """The window and the transformed values of two tiles."""
        return self.window_bytes + 2 * _PLACES * 2 * self.channels


def tile_walk(site: Site) -> TileWalk:
    """Sizes of a layer's walk."""
    op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
    assert isinstance(op, Conv2D)
    pairs = -(-out.shape[2] // 4)
    columns = max(4 * pairs + 2, op.padding[1] + x.shape[2])
    channels = x.shape[3]
    return TileWalk(
        channels, pairs, -(-out.shape[1] // 2), op.padding[1] * channels, columns * channels
    )


def transformed(weights: Array) -> Array:
    """G g G' of OHWI weights: (channels out, 16 places, channels in), within int16."""
    wide = weights.astype(np.int32)
    product: Array = np.einsum("ay,oyxc,bx->oabc", _G, wide, _G)
    assert np.abs(product).max(initial=0) < 2**15
    places: Array = product.reshape(len(weights), _PLACES, -1)
    return places


def group_stream(form: Form, weights: Array) -> Words:
    """The constants of all groups of four channels, (groups, words)."""
    order = channel_order(len(weights))
    parts = [
        _groups(form, weights, order[start : start + _CHANNELS_AT_ONCE])
        for start in range(0, len(order), _CHANNELS_AT_ONCE)
    ]
    return np.concatenate(parts)


def stream_bytes(form: Form, weights: Shape) -> int:
    """What the stream takes for OHWI weights of this shape."""
    channel_words = _PLACES * weights[3] // 2 + len(_form_constants(form))
    return 4 * -(-weights[0] // 4) * (4 * channel_words + _PLACES)


def _groups(form: Form, weights: Array, order: Int64Array) -> Words:
    """Those of the channels in `order`."""
    places = transformed(weights[order])
    quads = places.reshape(*places.shape[:2], -1, 4)[..., [0, 2, 1, 3]]
    halves = (quads.reshape(len(order) // 4, 4, _PLACES, -1, 2) & 0xFFFF).astype(np.uint32)
    words = halves[..., 0] | (halves[..., 1] << np.uint32(16))
    inner = words.transpose(0, 2, 3, 1).reshape(len(words), _PLACES, -1)
    more = np.ones((len(words), _PLACES, 1), np.uint32)
    more[:, -1] = 0
    stream = np.concatenate([inner, more], axis=2).reshape(len(words), -1)
    ends = np.stack(_form_constants(form), axis=1)[order].reshape(len(words), -1)
    tail = (ends & 0xFFFFFFFF).astype(np.uint32)
    return np.concatenate([stream, tail], axis=1).view(np.int32)


def _form_constants(form: Form) -> tuple[Int64Array, ...]:
    """One channel's constants, in the stream's order."""
    if form.kind is FormKind.FLOOR:
        return form.addend, form.multiplier
    if form.kind is FormKind.TWO_SIDED:
        return 4 * form.start, form.addend, form.multiplier, form.step
    return 4 * form.start, form.multiplier, form.step, form.shifts


def layer_form(site: Site) -> Form | None:
    """The exact form, None if there is none or where four times a sum exceeds int32."""
    task = requantization_task(site)
    form = pair_form(task)
    sums = np.abs(np.stack([task.low, task.high]) + task.bias).max(initial=0)
    raw = 128 * np.abs(constant(site, 1).astype(np.int32)).sum(axis=(1, 2, 3)).max(initial=0)
    return form if max(sums, raw) < _MOST_SUM else None


#: Of a function, of an input channel in it.
_CODE_BYTES, _CHANNEL_CODE = 890, 27


@kernel("conv_2d.winograd_dsp", Conv2D)
class WinogradConv2D(Kernel):
    """Two tiles of 2x2 outputs by four channels; more flash and scratch, fewer products."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or not is_plain_int8_conv(site):
            return False
        op, (_, weights, _) = site.node.op, site.signature.inputs
        assert isinstance(op, Conv2D)
        out_channels, *kernel, channels = weights.shape
        is_3x3 = kernel == [3, 3] and tuple(op.strides) == tuple(op.dilations) == (1, 1)
        if not is_3x3 or channels % 4 or channels > 2 * _MOST_STEPS or out_channels < 4:
            return False
        return layer_form(site) is not None

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        """Its cycles on a Cortex-M4: few shapes are apart enough to fit more than their sum."""
        walk = tile_walk(site)
        form = layer_form(site)
        assert form is not None
        tiles = walk.tile_pairs * walk.turns
        groups = tiles * -(-site.signature.output.shape[3] // 4)
        cycles = (
            _STEP * groups * _PLACES * walk.channels // 2
            + _GROUP[form.kind] * groups
            + (_TRANSFORM * walk.channels + _TILES) * tiles
            + (_VALUE * _ADVANCE * walk.pitch + _TURN) * walk.turns
        )
        return {"cycle of an M4": cycles * site.signature.inputs[0].shape[0]}

    def flash_bytes(self, site: Site, target: Target) -> int:
        form = layer_form(site)
        assert form is not None
        return stream_bytes(form, site.signature.inputs[1].shape)

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return tile_walk(site).scratch_bytes

    def code_key(self, site: Site, target: Target) -> str:
        form = layer_form(site)
        assert form is not None
        return _function(tile_walk(site), form)

    def cost(self, site: Site, target: Target) -> Cost:
        (cycles,) = self.work(site, target).values()
        return Cost(
            cycles,
            _CODE_BYTES + _CHANNEL_CODE * site.signature.inputs[0].shape[3],
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
            around="conv_2d_turns",
            around_bytes=TURNS_CODE_BYTES,
        )

    def generate(self, site: Site, target: Target) -> KernelCode:
        walk, form = tile_walk(site), layer_form(site)
        assert form is not None
        weights = constant(site, 1)
        calls = tile_calls(form.kind, form.postshift, walk.channels // 2)
        stream = group_stream(form, weights)
        bound = accumulator_bound(site, weights.reshape(len(weights), -1), constant(site, 2))
        return KernelCode(
            function=_function(walk, form),
            operands=(0,),
            template="dsp/convolution/conv_2d_winograd_dsp.c.j2",
            view={
                "headers": ("glowmcu_conv_2d_winograd.h",),
                **in_statements("glowmcu_conv_2d_winograd.h", calls, target),
                "form": form.kind.value,
                "shift": form.postshift,
                "words": walk.channels // 2,
                "pitch": walk.pitch,
            },
            parameters=Parameters("glowmcu_conv_2d_rows", _fields(site, walk, form, stream)),
            rows=site.signature.output.shape[1],
            batches=site.signature.inputs[0].shape[0],
            overlaps=ahead_overlaps(site.node.op, site.signature, rows_at_once=2),
            scratch_bytes=walk.scratch_bytes,
            notes=(bound_note(site.node.macs, bound),),
            weight_passes=walk.tile_pairs * walk.turns * site.signature.inputs[0].shape[0],
        )


def _function(walk: TileWalk, form: Form) -> str:
    shift = f"shift {form.postshift}" if form.postshift else ""
    sizes = f"{walk.channels} channels", f"pitch {walk.pitch}"
    return specialized("winograd", *sizes, form.kind.fact, shift)


def _fields(site: Site, walk: TileWalk, form: Form, stream: Words) -> tuple[Field, ...]:
    op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
    assert isinstance(op, Conv2D)
    clamp_min, clamp_max = form.clamp or (-128, 127)
    comment = "a group: weights of 16 places, requantization"
    return (
        Field("in_height", x.shape[1]),
        Field("in_row", x.shape[2] * x.shape[3]),
        Field("in_zero_point", x.zero_point),
        Field("shuffled", 1),
        Field("pitch", walk.pitch),
        Field("left", walk.left),
        Field("window_rows", _ROWS),
        Field("kernel_rows", 3),
        Field("stride_y", 1),
        Field("pad_top", op.padding[0]),
        Field("out_width", out.shape[2]),
        Field("out_channels", out.shape[3]),
        Field("pixel_values", walk.channels),
        Field("across", 0),
        Field("clamp_min", clamp_min),
        Field("clamp_max", clamp_max),
        Field("stream", ConstantArray("stream", stream.reshape(-1), comment)),
        Field("stream_words", stream.size),
        Field("group_words", stream.shape[1]),
    )
